/*
 * count.c - counted work of a stage on one workload or trace: what the exercises in docs/ rest on.
 *
 *     make stage=2 count workload=seq
 *     make count trace=docs/examples/merge.trace
 *
 * The numbers are the same on every machine. Built from the counting build of a stage; prints one row.
 */
#include "count.h"
#include "front.h"
#include "memory.h"
#include "trace.h"
#include "workloads.h"
#include <inttypes.h>
#include <stdlib.h>

static size_t calls, live_bytes, peak_live_bytes;

static void *counted_malloc(size_t bytes)
{
    calls++;
    return front_malloc(&mm_allocator, bytes);
}

static void counted_free(void *payload)
{
    calls++;
    front_free(&mm_allocator, payload);
}

static void *counted_realloc(void *payload, size_t bytes)
{
    calls++;
    return front_realloc(&mm_allocator, payload, bytes);
}

static void *counted_calloc(size_t n, size_t bytes)
{
    calls++;
    return front_calloc(&mm_allocator, n, bytes);
}

struct slot {
    void *payload;
    size_t bytes; /* asked for */
};

static void hold(struct slot *slot, void *payload, size_t bytes)
{
    live_bytes += bytes - slot->bytes;
    *slot = (struct slot){payload, bytes};
    if (live_bytes > peak_live_bytes)
        peak_live_bytes = live_bytes;
}

static void run_op(struct slot *slot, const struct trace_op *op)
{
    switch ((enum trace_kind)op->kind) {
    case TRACE_MALLOC:
        hold(slot, counted_malloc(op->bytes), op->bytes);
        break;
    case TRACE_CALLOC:
        hold(slot, counted_calloc(op->count, op->bytes), op->count * op->bytes);
        break;
    case TRACE_ALIGNED:
        calls++;
        hold(slot, front_aligned_alloc(&mm_allocator, op->alignment, op->bytes), op->bytes);
        break;
    case TRACE_REALLOC:
        hold(slot, counted_realloc(slot->payload, op->bytes), op->bytes);
        break;
    case TRACE_FREE:
        counted_free(slot->payload);
        hold(slot, NULL, 0);
        break;
    case TRACE_TOUCH:
        memset(slot->payload, 1, op->bytes);
        break;
    }
}

static void run_trace(const char *path)
{
    struct trace trace = {0};
    char error[TRACE_ERROR_BYTES];
    if (!trace_read(&trace, path, error)) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    struct slot *slots = calloc(trace.slots + 1, sizeof *slots); /* one more for free(NULL) */
    if (slots == NULL)
        abort();
    for (size_t i = 0; i < trace.count; i++) {
        const struct trace_op *op = &trace.ops[i];
        run_op(&slots[op->slot == TRACE_NULL ? trace.slots : op->slot], op);
    }
    free(slots);
    trace_release(&trace);
}

int main(int argc, char **argv)
{
    static const struct calls to_stage = {counted_malloc, counted_free, counted_realloc, counted_calloc};
    if (argc != 3)
        return 1;
    int workload = strcmp(argv[1], "workload") == 0 ? workload_by_name(argv[2]) : -1;
    if (strcmp(argv[1], "trace") == 0) {
        run_trace(argv[2]);
    } else if (workload >= 0) {
        workloads[workload].run(&to_stage);
    } else {
        fprintf(stderr, "workload=%s does not exist; pick one of:", argv[2]);
        for (size_t i = 0; i < WORKLOADS; i++)
            fprintf(stderr, " %s", workloads[i].name);
        fprintf(stderr, "\n");
        return 1;
    }
    printf("%d %-14s %6zu %10" PRIu64 " %10" PRIu64 " %7" PRIu64 " %7" PRIu64 " %6" PRIu64 " %8" PRIu64 " %9zu",
        mm_allocator.stage, mm_allocator.name, calls, mm_counts.searched, mm_counts.validated, mm_counts.splits,
        mm_counts.merges, mm_counts.grows, mm_counts.copied, memory.peak_bytes);
    if (peak_live_bytes > 0)
        printf(" %8zu %5.1f %%", peak_live_bytes, 100.0 * (double)peak_live_bytes / (double)memory.peak_bytes);
    printf("\n");
    return 0;
}
