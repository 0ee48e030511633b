/* program.c - see program.h. */
#include "program.h"
#include "bits.h"
#include "mm.h"
#include "stage_file.h"
#include <stdlib.h>

struct program {
    FILE *out;
    const struct trace *trace;
    const struct engine_failure *failure;
    size_t limit_bytes;
    bool fill; /* it fails only if the payloads are written to */
    size_t *bytes; /* by slot: what its block was asked for, NO_BLOCK if there is none */
    bool *declared; /* by slot: its variable p1, p2, ... */
    size_t kept; /* bytes of the block that the last operation was given */
};

static const size_t NO_BLOCK = SIZE_MAX;

static unsigned number_of(uint32_t slot) { return (unsigned)slot + 1; }

/* The value that fills a block. */
static unsigned fill_of(uint32_t slot) { return 1 + (unsigned)slot % 255; }

/* All that an operation asks for; NO_BLOCK if that overflows. */
static size_t bytes_of(const struct trace_op *op)
{
    size_t bytes = op->bytes;
    if (op->kind == TRACE_CALLOC && __builtin_mul_overflow(op->count, op->bytes, &bytes))
        return NO_BLOCK;
    return bytes;
}

static bool is_valid(const struct trace_op *op)
{
    return op->kind != TRACE_ALIGNED || is_power_of_two(op->alignment);
}

/* ---- Operations ---- */

static void write_call(const struct program *p, const struct trace_op *op, bool has_block)
{
    static const char *const names[] = {[TRACE_MALLOC] = "malloc",
        [TRACE_CALLOC] = "calloc",
        [TRACE_ALIGNED] = "aligned_alloc",
        [TRACE_REALLOC] = "realloc",
        [TRACE_FREE] = "free"};
    fprintf(p->out, "front_%s(a", names[(unsigned char)op->kind]);
    if (op->kind == TRACE_CALLOC || op->kind == TRACE_ALIGNED)
        fprintf(p->out, ", %zu", op->count);
    if ((op->kind == TRACE_REALLOC || op->kind == TRACE_FREE) && has_block)
        fprintf(p->out, ", p%u", number_of(op->slot));
    else if (op->kind == TRACE_REALLOC || op->kind == TRACE_FREE)
        fprintf(p->out, ", NULL");
    if (op->kind != TRACE_FREE && op->bytes > PTRDIFF_MAX)
        fprintf(p->out, ", SIZE_MAX - %zu", SIZE_MAX - op->bytes);
    else if (op->kind != TRACE_FREE)
        fprintf(p->out, ", %zu", op->bytes);
    fprintf(p->out, ");\n");
}

/*
 * A line; and one to fill the block. What gets no memory leaves its variable alone, unless that is the
 * mistake.
 */
static void write_op(struct program *p, size_t i)
{
    const struct trace_op *op = &p->trace->ops[i];
    bool is_last = i + 1 == p->trace->count, has_slot = op->slot != TRACE_NULL;
    bool has_block = has_slot && p->bytes[op->slot] != NO_BLOCK;
    bool gives = !trace_frees(op) && is_valid(op) && bytes_of(op) <= p->limit_bytes;
    if (is_last)
        p->kept = has_block ? p->bytes[op->slot] : 0;
    fprintf(p->out, "    ");
    if (gives || (is_last && op->kind != TRACE_FREE && p->failure->fault == ENGINE_ANSWER)) {
        fprintf(p->out, "%sp%u = ", p->declared[op->slot] ? "" : "unsigned char *", number_of(op->slot));
        p->declared[op->slot] = true;
    }
    write_call(p, op, has_block);
    if (gives && p->fill && !is_last && bytes_of(op) != 0)
        fprintf(p->out, "    memset(p%u, %u, %zu);\n", number_of(op->slot), fill_of(op->slot), bytes_of(op));
    if (has_slot && (gives || trace_frees(op)))
        p->bytes[op->slot] = gives ? bytes_of(op) : NO_BLOCK;
}

/* ---- What must hold at the end ---- */

/* The first bytes of a block have a value. */
static void write_loop(const struct program *p, uint32_t slot, size_t bytes, unsigned value)
{
    fprintf(p->out, "    for (size_t i = 0; i < %zu; i++)\n        assert(p%u[i] == %u);\n", bytes,
        number_of(slot), value);
}

/* An empty payload has a place of its own too. */
static size_t room_of(size_t bytes) { return bytes == 0 ? 1 : bytes; }

static size_t count_blocks(const struct program *p)
{
    size_t blocks = 0;
    for (size_t slot = 0; slot < p->trace->slots; slot++)
        blocks += p->bytes[slot] != NO_BLOCK;
    return blocks;
}

static void write_assertion(const struct program *p)
{
    const struct engine_failure *f = p->failure;
    const struct trace_op *op = &p->trace->ops[p->trace->count - 1];
    unsigned number = number_of(op->slot), other = number_of(f->other);
    size_t bytes = bytes_of(op);
    switch (f->fault) {
    case ENGINE_DAMAGED:
        write_loop(p, f->slot, p->bytes[f->slot], fill_of(f->slot));
        break;
    case ENGINE_LOST:
        write_loop(p, op->slot, p->kept < bytes ? p->kept : bytes, fill_of(op->slot));
        break;
    case ENGINE_NOT_ZERO:
        write_loop(p, op->slot, bytes, 0);
        break;
    case ENGINE_OVERLAP:
        fprintf(p->out, "    assert(p%u + %zu <= p%u || p%u + %zu <= p%u);\n", number, room_of(bytes), other,
            other, room_of(p->bytes[f->other]), number);
        break;
    case ENGINE_MISALIGNED:
        fprintf(p->out, "    assert((uintptr_t)p%u %% %d == 0);\n", number, f->detail);
        break;
    case ENGINE_OUTSIDE:
        fprintf(p->out, "    assert(memory_contains(p%u) && memory_contains(p%u + %zu));\n", number, number,
            room_of(bytes) - 1);
        break;
    case ENGINE_BEYOND:
        fprintf(p->out, "    assert(memory.start[%zu] == 0);\n", f->offset);
        break;
    case ENGINE_SMALL:
        fprintf(p->out, "    assert(front_usable_size(a, p%u) >= %zu);\n", number, bytes);
        break;
    case ENGINE_ANSWER:
        if (f->detail == ENGINE_ERRNO)
            fprintf(p->out, "    assert(errno == %s);\n", is_valid(op) ? "ENOMEM" : "EINVAL");
        else
            fprintf(p->out, "    assert(p%u %s NULL);\n", number, f->detail == ENGINE_NULL ? "!=" : "==");
        break;
    case ENGINE_LEAK:
    case ENGINE_MISSING:
        fprintf(p->out, "    size_t used = 0;\n    a->walk(count_used, &used);\n    assert(used == %zu);\n",
            count_blocks(p));
        break;
    default:
        fprintf(p->out, "    assert(a->check().invariant == 0);\n");
    }
}

/* ---- All of it ---- */

static void write_head(const struct program *p, const char *file, bool limited)
{
    static const char count_used[] = "static bool count_used(const struct mm_block *b, void *used)\n{\n"
                                     "    *(size_t *)used += b->state == MM_USED;\n    return true;\n}\n\n";
    bool counts = p->failure->fault == ENGINE_LEAK || p->failure->fault == ENGINE_MISSING;
    fprintf(p->out,
        "// gcc -g -Icommon -DMM_VALIDATE=%d %s %s common/{count,memory,misuse}.c -o build/fail && "
        "build/fail\n",
        mm_allocator.detects_damage, file, stage_file);
    fprintf(p->out, "#include \"front.h\"\n#include <assert.h>\n\n%s", counts ? count_used : "");
    fprintf(p->out, "int main(void)\n{\n    const struct mm_allocator *a = &mm_allocator;\n");
    if (limited)
        fprintf(p->out, "    memory_set_limit(%zu);\n", p->limit_bytes);
}

/* Without the bytes in the payloads, does it fail just the same? */
static bool fails_unfilled(
    const struct trace *trace, const struct engine_options *options, const struct engine_failure *failure)
{
    struct engine_options blind = *options;
    blind.blind = true;
    struct run_result result;
    run_trace(trace, &blind, &result);
    return result.failure.fault == failure->fault && result.failure.op == failure->op;
}

void program_write(FILE *out, const char *file, const struct trace *trace,
    const struct engine_options *options, const struct run_result *result)
{
    struct program p = {.out = out, .trace = trace, .failure = &result->failure};
    p.limit_bytes = options->limit_bytes;
    p.fill = !fails_unfilled(trace, options, &result->failure);
    p.bytes = calloc(trace->slots + 1, sizeof *p.bytes);
    p.declared = calloc(trace->slots + 1, sizeof *p.declared);
    if (p.bytes == NULL || p.declared == NULL)
        abort();
    for (size_t slot = 0; slot < trace->slots; slot++)
        p.bytes[slot] = NO_BLOCK;
    /* Whether an operation gets memory depends on the limit. */
    write_head(&p, file, result->totals.refused != 0 || result->failure.fault == ENGINE_ANSWER);
    for (size_t i = 0; i < trace->count; i++)
        if (trace->ops[i].kind != TRACE_TOUCH)
            write_op(&p, i);
    write_assertion(&p);
    fprintf(out, "}\n");
    free(p.bytes);
    free(p.declared);
}
