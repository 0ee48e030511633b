/*
 * space.c - where the bytes of one stage's heap are, at the moment when most of them are a caller's.
 *
 *     space NAME SECONDS TRACE...    prints a line of CSV for each trace; `space` alone prints the columns' names
 *
 * Exact: the heap is walked block by block, and every byte of it is in one column. The stage is called through
 * its table, so that nothing but the trace is in its heap; without validation, which changes no layout. A
 * stage that needs more than SECONDS of processor time for a trace is stopped, and the heap is taken as it is then.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "front.h"
#include "trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Requests of this size and over must fail, and mean to. */
static const size_t HOPELESS_BYTES = (size_t)1 << 40;

enum { LOOKS = 256 }; /* operations between two looks at the clock */

struct slot {
    char *payload;
    size_t bytes; /* asked for */
};

/* The heap in bytes, by what they are for. Their sum is the largest heap. */
struct split {
    size_t payload;
    size_t header;
    size_t rounding; /* to a multiple of 16 */
    size_t minimum; /* to the smallest block that there can be */
    size_t unsplit; /* of a larger block, kept whole */
    size_t holes; /* free blocks */
    size_t quick; /* blocks in quick bins */
    size_t end; /* the last block while it is free, and what is left out at the ends of the heap */
    size_t later; /* by which the heap grew after that moment */
};

struct survey {
    const struct slot *live; /* those live, by address */
    size_t count, met;
    size_t smallest_block;
    size_t blocks_bytes, last_bytes; /* all blocks; the last one if it is free, else 0 */
    struct split split;
};

static _Noreturn void fail(const char *name, const char *what)
{
    fprintf(stderr, "space: %s: %s\n", name, what);
    exit(1);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- What the blocks are ---- */

static bool survey_block(const struct mm_block *block, void *context)
{
    struct survey *s = context;
    struct split *to = &s->split;
    s->blocks_bytes += block->block_bytes;
    s->last_bytes = block->state == MM_FREE ? block->block_bytes : 0;
    if (block->state == MM_FREE) {
        to->holes += block->block_bytes;
    } else if (block->state == MM_QUICK) {
        to->quick += block->block_bytes;
    } else {
        size_t header = mm_allocator.header_bytes;
        if (s->met == s->count || s->live[s->met].payload != block->payload)
            return false;
        size_t asked = s->live[s->met++].bytes, rounded = round_up(asked + header, MM_ALIGNMENT);
        size_t least = rounded < s->smallest_block ? s->smallest_block : rounded;
        to->payload += asked;
        to->header += header;
        to->rounding += rounded - asked - header;
        to->minimum += least - rounded;
        to->unsplit += block->block_bytes - least;
        return block->block_bytes >= least;
    }
    return true;
}

static int by_address(const void *a, const void *b)
{
    const char *x = ((const struct slot *)a)->payload, *y = ((const struct slot *)b)->payload;
    return (x > y) - (x < y);
}

static struct split survey(const char *name, const struct slot *slots, size_t count, size_t smallest_block)
{
    struct slot *live = calloc(count + 1, sizeof *live);
    if (live == NULL)
        fail(name, "no memory");
    struct survey s = {.live = live, .smallest_block = smallest_block};
    for (size_t i = 0; i < count; i++)
        if (slots[i].payload != NULL)
            live[s.count++] = slots[i];
    qsort(live, s.count, sizeof *live, by_address);
    mm_allocator.walk(survey_block, &s);
    if (s.met != s.count)
        fail(name, "a walk of the heap does not meet the blocks that are live, or one is too small");
    free(live);
    s.split.holes -= s.last_bytes;
    s.split.end = s.last_bytes + (memory.bytes - s.blocks_bytes);
    return s.split;
}

/* ---- Running a trace ---- */

static bool is_hopeless(const struct trace_op *op)
{
    size_t bytes = op->kind == TRACE_CALLOC ? front_product(op->count, op->bytes) : op->bytes;
    return bytes >= HOPELESS_BYTES || (op->kind == TRACE_ALIGNED && !is_power_of_two(op->alignment));
}

static void *call(struct slot *slot, const struct trace_op *op)
{
    switch ((enum trace_kind)op->kind) {
    case TRACE_CALLOC:
        return front_calloc(&mm_allocator, op->count, op->bytes);
    case TRACE_ALIGNED:
        return front_aligned_alloc(&mm_allocator, op->alignment, op->bytes);
    case TRACE_REALLOC:
        return front_realloc(&mm_allocator, slot->payload, op->bytes);
    default:
        return front_malloc(&mm_allocator, op->bytes);
    }
}

/* Returns by how much the live payload changes; with `slot` holding a payload it is also done. */
static size_t step(const char *name, struct slot *slot, const struct trace_op *op, bool really)
{
    size_t before = slot->bytes;
    if (op->kind == TRACE_TOUCH || is_hopeless(op))
        return 0;
    slot->bytes = trace_frees(op) ? 0 : op->kind == TRACE_CALLOC ? op->count * op->bytes : op->bytes;
    if (!really)
        return slot->bytes - before;
    if (trace_frees(op)) {
        front_free(&mm_allocator, slot->payload);
        slot->payload = NULL;
    } else if ((slot->payload = call(slot, op)) == NULL) {
        fail(name, "it got no memory");
    }
    return slot->bytes - before;
}

static struct slot *slot_of(struct slot *slots, const struct trace *trace, const struct trace_op *op)
{
    return &slots[op->slot == TRACE_NULL ? trace->slots : op->slot];
}

/* The operation after which the live payload is largest. */
static size_t peak_operation(const struct trace *trace, struct slot *slots)
{
    size_t live = 0, most = 0, peak = 0;
    for (size_t i = 0; i < trace->count; i++) {
        live += step("", slot_of(slots, trace, &trace->ops[i]), &trace->ops[i], false);
        if (live > most) {
            most = live;
            peak = i;
        }
    }
    return peak;
}

static size_t smallest_block(void)
{
    memory_reset();
    mm_allocator.init();
    return mm_allocator.usable_size(mm_allocator.malloc(0)) + mm_allocator.header_bytes;
}

static void print(const char *name, const char *path, size_t calls, double done, const struct split *s)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    printf("%s,%.*s,%zu,%.3f,%zu,%zu,%zu,%zu,%zu,%zu,%zu,%zu,%zu,%zu\n", name, (int)strcspn(base, "."), base,
        calls, done, memory.peak_bytes, s->payload, s->header, s->rounding, s->minimum, s->unsplit, s->holes,
        s->quick, s->end, s->later);
    fflush(stdout);
}

static size_t sum(const struct split *s)
{
    return s->payload + s->header + s->rounding + s->minimum + s->unsplit + s->holes + s->quick + s->end +
           s->later;
}

static void run(const char *name, double seconds, const char *path)
{
    char error[TRACE_ERROR_BYTES];
    struct trace trace = {0};
    if (!trace_read(&trace, path, error))
        fail(name, error);
    struct slot *slots = calloc(trace.slots + 1, sizeof *slots);
    if (slots == NULL)
        fail(path, "no memory");
    size_t smallest = smallest_block(), peak = peak_operation(&trace, slots), i;
    memset(slots, 0, (trace.slots + 1) * sizeof *slots);
    memory_reset();
    mm_allocator.init();

    struct split split = {0};
    double start = cpu_seconds();
    bool stopped = false;
    for (i = 0; i < trace.count && !stopped; i++) {
        step(name, slot_of(slots, &trace, &trace.ops[i]), &trace.ops[i], true);
        stopped = i % LOOKS == 0 && cpu_seconds() - start > seconds;
        if (i == peak || (stopped && i < peak)) {
            split = survey(name, slots, trace.slots + 1, smallest);
            split.later = memory.bytes;
        }
    }
    split.later = memory.bytes - split.later;
    if (sum(&split) != memory.peak_bytes)
        fail(name, "the parts of the heap are not the whole");
    print(name, path, trace.count, (double)i / (double)trace.count, &split);
    free(slots);
    trace_release(&trace);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        puts("allocator,load,calls,done,heap,payload,header,rounding,minimum,unsplit,holes,quick,end,later");
    for (int i = 3; i < argc; i++)
        run(argv[1], atof(argv[2]), argv[i]);
    return 0;
}
