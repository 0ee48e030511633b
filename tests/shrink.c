/*
 * shrink.c - see shrink.h. Delta debugging: Zeller and Hildebrandt, "Simplifying and isolating failure-
 * inducing input" (2002), in its greedy form: take away a part, keep what is left if it still fails, with
 * ever smaller parts.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "shrink.h"
#include "bits.h"
#include "mm.h"
#include "stage_file.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct shrinker {
    struct trace *trace; /* the shortest failing one so far, in the form that normalise() gives */
    const struct engine_options *options;
    struct engine_result *result;
    size_t runs;
    double deadline;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- One try ---- */

/*
 * Each block gets an id of its own, 1, 2, ..., and operation n stands on line n. Then any operations can be
 * left out: without its malloc, a realloc becomes one, and a free does nothing.
 */
static void normalise(struct trace *trace)
{
    enum { NONE = 0 };
    struct trace renamed = {.ops = NULL};
    uint32_t *id = calloc(trace->slots + 1, sizeof *id), ids = 0; /* by slot: the id of its live block */
    if (id == NULL)
        abort();
    for (size_t i = 0; i < trace->count; i++) {
        struct trace_op op = trace->ops[i];
        uint32_t *mine = op.slot == TRACE_NULL ? NULL : &id[op.slot];
        bool frees = op.kind == TRACE_FREE || (op.kind == TRACE_REALLOC && op.bytes == 0 && *mine != NONE);
        bool gives = !frees && op.kind != TRACE_TOUCH;
        if (mine != NULL && *mine == NONE && gives)
            *mine = ++ids;
        op.slot = mine == NULL || *mine == NONE ? TRACE_NULL : *mine - 1;
        if (mine != NULL && frees)
            *mine = NONE;
        op.line = (uint32_t)renamed.count + 1;
        if (op.slot != TRACE_NULL || op.kind != TRACE_TOUCH)
            trace_add(&renamed, op);
    }
    for (size_t slot = 0; slot < renamed.slots; slot++)
        renamed.ids[slot] = slot + 1;
    free(id);
    trace_release(trace);
    *trace = renamed;
}

static struct trace copy_of(const struct trace *trace)
{
    struct trace copy = {.weight = trace->weight};
    for (size_t i = 0; i < trace->count; i++)
        trace_add(&copy, trace->ops[i]);
    return copy;
}

/* Does it fail in the same way? Then it is the new trace, cut after the failure. Takes the candidate over. */
static bool try(struct shrinker *s, struct trace candidate)
{
    struct engine_options options = *s->options;
    options.from = 0;
    options.every = 1 + candidate.count / 1000;
    struct engine_result result;
    normalise(&candidate);
    s->runs++;
    engine_run_exactly(&candidate, &options, &result);
    bool same = result.failure.fault == s->result->failure.fault &&
                result.failure.detail == s->result->failure.detail;
    if (same) {
        candidate.count = result.failure.op + 1;
        trace_release(s->trace);
        *s->trace = candidate;
        *s->result = result;
    } else {
        trace_release(&candidate);
    }
    return same;
}

static bool has_time(const struct shrinker *s) { return now() < s->deadline; }

/* ---- Operations ---- */

/* In which group an operation is: with all those on the same block, or alone. */
static size_t group_of(const struct trace *trace, size_t op, bool by_block)
{
    uint32_t slot = trace->ops[op].slot;
    return !by_block ? op : slot == TRACE_NULL ? trace->slots : slot;
}

static struct trace without(const struct trace *trace, size_t from, size_t to, bool by_block)
{
    struct trace rest = {.ops = NULL};
    for (size_t i = 0; i < trace->count; i++) {
        size_t group = group_of(trace, i, by_block);
        if (group < from || group >= to)
            trace_add(&rest, trace->ops[i]);
    }
    return rest;
}

/* Leave out as many groups as can be. Returns whether any could. */
static bool leave_out(struct shrinker *s, bool by_block)
{
    bool any = false;
    size_t groups = by_block ? s->trace->slots + 1 : s->trace->count;
    for (size_t part = (groups + 1) / 2; part > 0; part /= 2) {
        for (size_t from = 0; from < groups && has_time(s);) {
            struct trace candidate = without(s->trace, from, from + part, by_block);
            if (candidate.count < s->trace->count && candidate.count > 0 && try(s, candidate)) {
                any = true;
                groups = by_block ? s->trace->slots + 1 : s->trace->count;
            } else {
                from += part;
            }
        }
    }
    return any;
}

/* ---- Sizes ---- */

static bool try_op(struct shrinker *s, size_t i, struct trace_op op)
{
    struct trace candidate = copy_of(s->trace);
    candidate.ops[i] = op;
    return try(s, candidate);
}

/*
 * The smallest value of a field that fails, if the failing ones are all above some border: then by
 * bisection.
 */
static bool smaller(struct shrinker *s, size_t i, size_t offset_of_field)
{
    size_t bytes, good = 0;
    memcpy(&bytes, (char *)&s->trace->ops[i] + offset_of_field, sizeof bytes);
    bool any = false;
    for (size_t next = 0; good < bytes && i < s->trace->count && has_time(s);
         next = good + (bytes - good) / 2) {
        struct trace_op op = s->trace->ops[i];
        memcpy((char *)&op + offset_of_field, &next, sizeof next);
        if (try_op(s, i, op)) {
            bytes = next;
            any = true;
        } else {
            good = next + 1;
        }
    }
    return any;
}

/* malloc instead of another kind of allocation. */
static bool plainer(struct shrinker *s, size_t i)
{
    struct trace_op op = s->trace->ops[i];
    size_t bytes = op.bytes;
    if (op.kind == TRACE_CALLOC && __builtin_mul_overflow(op.count, op.bytes, &bytes))
        return false;
    if (op.kind != TRACE_CALLOC && op.kind != TRACE_ALIGNED && op.kind != TRACE_REALLOC)
        return false;
    for (size_t k = 0; k < i; k++)
        if (op.kind == TRACE_REALLOC && s->trace->ops[k].slot == op.slot)
            return false;
    return try_op(s, i, (struct trace_op){.kind = TRACE_MALLOC, .slot = op.slot, .bytes = bytes});
}

static bool simplify(struct shrinker *s)
{
    bool any = false;
    for (size_t i = 0; i < s->trace->count && has_time(s); i++) {
        any |= plainer(s, i);
        if (i < s->trace->count && s->trace->ops[i].kind == TRACE_CALLOC)
            any |= smaller(s, i, offsetof(struct trace_op, count));
        if (i < s->trace->count)
            any |= smaller(s, i, offsetof(struct trace_op, bytes));
    }
    return any;
}

/* Returns whether it helped: then a next round may too. */
static bool shrink_once(struct shrinker *s)
{
    bool any = leave_out(s, true);
    any |= leave_out(s, false);
    any |= simplify(s);
    return any;
}

size_t shrink(
    struct trace *trace, const struct engine_options *options, struct engine_result *result, double seconds)
{
    struct engine_options quick = *options;
    quick.hang_seconds = options->hang_seconds < 0.05 ? options->hang_seconds : 0.05;
    struct shrinker s = {.trace = trace, .options = &quick, .result = result, .deadline = now() + seconds};
    trace->count = result->failure.op + 1;
    if (!try(&s, copy_of(trace)))
        return s.runs;
    while (shrink_once(&s) && has_time(&s)) {
    }
    return s.runs;
}

/* ---- The C program ---- */

/* The operations before this one include one on the same block. */
static bool has_block(const struct trace *trace, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (trace->ops[i].slot != TRACE_NULL && trace->ops[k].slot == trace->ops[i].slot)
            return true;
    return false;
}

static unsigned number_of(const struct trace_op *op) { return (unsigned)op->slot + 1; }

static size_t bytes_given(const struct trace_op *op)
{
    size_t bytes = op->bytes;
    if (op->kind == TRACE_CALLOC && __builtin_mul_overflow(op->count, op->bytes, &bytes))
        bytes = SIZE_MAX;
    return op->kind == TRACE_FREE ? 0 : bytes;
}

/* The value that fills a block. */
static unsigned fill_of(uint32_t slot) { return 1 + (unsigned)slot % 255; }

static bool is_invalid(const struct trace_op *op)
{
    return op->kind == TRACE_ALIGNED && !is_power_of_two(op->alignment);
}

static void write_call(FILE *out, const struct trace *trace, size_t i)
{
    static const char *const names[] = {
        ['a'] = "malloc", ['c'] = "calloc", ['m'] = "aligned_alloc", ['r'] = "realloc", ['f'] = "free"};
    const struct trace_op *op = &trace->ops[i];
    fprintf(out, "front_%s(a", names[(unsigned char)op->kind]);
    if (op->kind == TRACE_CALLOC || op->kind == TRACE_ALIGNED)
        fprintf(out, ", %zu", op->count);
    if (op->kind == TRACE_REALLOC || op->kind == TRACE_FREE)
        fprintf(out, has_block(trace, i) ? ", p%u" : ", NULL", number_of(op));
    if (op->kind != TRACE_FREE)
        fprintf(out, op->bytes > MM_MAX_PAYLOAD ? ", SIZE_MAX - %zu" : ", %zu",
            op->bytes > MM_MAX_PAYLOAD ? SIZE_MAX - op->bytes : op->bytes);
    fprintf(out, ");\n");
}

/*
 * One line, and one to fill the block that it gives. An operation that gets no memory leaves its variable
 * alone.
 */
static void write_op(FILE *out, const struct trace *trace, size_t i, bool is_given, bool fill)
{
    const struct trace_op *op = &trace->ops[i];
    bool is_new = !has_block(trace, i);
    fprintf(out, "    ");
    if (is_given)
        fprintf(out, "%sp%u = ", is_new ? "unsigned char *" : "", number_of(op));
    write_call(out, trace, i);
    if (fill && is_given && bytes_given(op) != 0)
        fprintf(out, "    memset(p%u, %u, %zu);\n", number_of(op), fill_of(op->slot), bytes_given(op));
}

/* Bytes 0 .. bytes-1 of a block must have a value. */
static void write_loop(FILE *out, unsigned number, size_t bytes, unsigned value)
{
    fprintf(
        out, "    for (size_t i = 0; i < %zu; i++)\n        assert(p%u[i] == %u);\n", bytes, number, value);
}

/* The bytes of a block as the operations before `end` left it. */
static size_t bytes_before(const struct trace *trace, size_t end, uint32_t slot)
{
    for (size_t i = end; i-- > 0;)
        if (trace->ops[i].slot == slot)
            return bytes_given(&trace->ops[i]);
    return 0;
}

/* Blocks that are live after the last operation. */
static size_t blocks_at_end(const struct trace *trace)
{
    size_t blocks = 0;
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_op *op = &trace->ops[i];
        bool was_there = has_block(trace, i);
        bool frees = was_there && (op->kind == TRACE_FREE || (op->kind == TRACE_REALLOC && op->bytes == 0));
        blocks += !was_there && op->kind != TRACE_FREE;
        blocks -= frees;
    }
    return blocks;
}

/* What must hold after the last operation, and does not. */
static void write_assertion(FILE *out, const struct trace *trace, const struct engine_failure *f)
{
    size_t last = trace->count - 1;
    const struct trace_op *op = &trace->ops[last];
    unsigned p = number_of(op), other = (unsigned)f->other + 1;
    size_t bytes = bytes_given(op), kept;
    switch (f->fault) {
    case ENGINE_DAMAGED:
        write_loop(out, (unsigned)f->slot + 1, bytes_before(trace, trace->count, f->slot), fill_of(f->slot));
        break;
    case ENGINE_LOST:
        kept = bytes_before(trace, last, op->slot);
        write_loop(out, p, kept < bytes ? kept : bytes, fill_of(op->slot));
        break;
    case ENGINE_NOT_ZERO:
        write_loop(out, p, bytes, 0);
        break;
    case ENGINE_OVERLAP:
        kept = bytes_before(trace, last, f->other);
        fprintf(out, "    assert(p%u + %zu <= p%u || p%u + %zu <= p%u);\n", p, bytes == 0 ? 1 : bytes, other,
            other, kept == 0 ? 1 : kept, p);
        break;
    case ENGINE_MISALIGNED:
        fprintf(out, "    assert((uintptr_t)p%u %% %d == 0);\n", p, f->detail);
        break;
    case ENGINE_OUTSIDE:
        fprintf(out, "    assert(memory_contains(p%u) && memory_contains(p%u + %zu));\n", p, p,
            bytes == 0 ? 0 : bytes - 1);
        break;
    case ENGINE_SMALL:
        fprintf(out, "    assert(front_usable_size(a, p%u) >= %zu);\n", p, bytes);
        break;
    case ENGINE_ANSWER:
        if (f->detail == ENGINE_ERRNO)
            fprintf(out, "    assert(errno == %s);\n", is_invalid(op) ? "EINVAL" : "ENOMEM");
        else
            fprintf(out, "    assert(p%u %s NULL);\n", p, f->detail == ENGINE_NULL ? "!=" : "==");
        break;
    case ENGINE_LEAK:
    case ENGINE_MISSING:
        fprintf(out, "    size_t used = 0;\n    a->walk(count_used, &used);\n    assert(used == %zu);\n",
            blocks_at_end(trace));
        break;
    default:
        fprintf(out, "    assert(a->check().invariant == 0);\n");
    }
}

void shrink_write_program(FILE *out, const char *file, const struct trace *trace,
    const struct engine_options *options, const struct engine_result *result)
{
    const struct engine_failure *f = &result->failure;
    struct engine_options blind = *options;
    blind.blind = true;
    struct engine_result unfilled;
    engine_run(trace, &blind, &unfilled);
    bool fill = unfilled.failure.fault != f->fault || unfilled.failure.op != f->op;

    fprintf(out,
        "// gcc -g -Icommon -DMM_VALIDATE=%d %s %s common/{count,memory,misuse}.c -o fail && ./fail\n",
        mm_allocator.detects_damage, file, stage_file);
    fprintf(out, "#include \"front.h\"\n#include <assert.h>\n\n");
    if (f->fault == ENGINE_LEAK || f->fault == ENGINE_MISSING)
        fprintf(out, "static bool count_used(const struct mm_block *b, void *used)\n{\n"
                     "    *(size_t *)used += b->state == MM_USED;\n    return true;\n}\n\n");
    fprintf(out, "int main(void)\n{\n    const struct mm_allocator *a = &mm_allocator;\n");
    if (result->refused != 0)
        fprintf(out, "    memory_set_limit(%zu);\n", options->limit_bytes);
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_op *op = &trace->ops[i];
        bool is_last = i + 1 == trace->count;
        bool frees =
            op->kind == TRACE_FREE || (op->kind == TRACE_REALLOC && op->bytes == 0 && has_block(trace, i));
        bool is_given = !frees && !is_invalid(op) && bytes_given(op) <= options->limit_bytes;
        if (op->kind != TRACE_TOUCH)
            write_op(out, trace, i,
                is_given || (is_last && f->fault == ENGINE_ANSWER && op->kind != TRACE_FREE),
                fill && !is_last);
    }
    write_assertion(out, trace, f);
    fprintf(out, "}\n");
}

/* ---- All of it ---- */

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    return file;
}

void shrink_report(FILE *out, const char *name, struct trace *trace, const struct engine_options *options,
    struct engine_result *result, const char *save)
{
    enum { SECONDS = 30, PATH_BYTES = 512 };
    size_t operations = trace->count;
    engine_report(out, name, trace, options, result);
    size_t runs = shrink(trace, options, result, SECONDS);
    fprintf(out, "\nShrunk from %zu to %zu operations, in %zu runs:\n\n", operations, trace->count, runs);
    trace_write(trace, out);
    fprintf(out, "\n");
    engine_report(out, NULL, trace, options, result);

    char program[PATH_BYTES], short_trace[PATH_BYTES];
    snprintf(program, sizeof program, "%s.c", save == NULL ? "fail" : save);
    snprintf(short_trace, sizeof short_trace, "%s.trace", save == NULL ? "fail" : save);
    fprintf(out, "\nThe same as a C program:\n\n");
    shrink_write_program(out, program, trace, options, result);
    if (save == NULL)
        return;
    FILE *file = open_file(short_trace);
    trace_write(trace, file);
    fclose(file);
    file = open_file(program);
    shrink_write_program(file, program, trace, options, result);
    fclose(file);
    fprintf(out, "\nSaved as %s and %s\n", short_trace, program);
}
