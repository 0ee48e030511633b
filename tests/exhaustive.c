/*
 * exhaustive.c - make exhaustive: every sequence of up to 6 operations on a stage, checked after each
 * operation. Most mistakes in an allocator show within a few operations on a few blocks, if the sizes are
 * at the borders.
 *
 * Operations are malloc, calloc and free, and realloc to each size and to 0, on blocks of 4 or 5 sizes (see
 * find_sizes()). Sequences that cannot differ from another one are left out:
 *   - An operation names a live block or, to allocate, the lowest free id: which ids blocks have is no
 *     matter.
 *   - calloc, and realloc to 0, come last only. front.h makes them of the stage's malloc and free, so what
 *     comes after them is as after these; and the payload's bytes are overwritten anyway.
 *   - realloc of NULL is left out: front.h calls malloc.
 *
 * A heap cannot be copied (it holds addresses, and the stage has variables of its own), so each sequence
 * starts on an empty heap with the operations of its parent, which were checked there and are not checked
 * again.
 */
#include "memory.h"
#include "mm.h"
#include "run.h"
#include "shrink.h"
#include "stage_file.h"
#include <stdlib.h>
#include <string.h>

enum { SIZES = 5, MAX_DEPTH = 10, DEFAULT_DEPTH = 6 };

/* In shared memory: it tells how far the search was if it crashed. */
struct search {
    size_t sizes[SIZES], size_count;
    size_t depth;
    size_t length; /* of the sequence that is being run */
    struct trace_op ops[MAX_DEPTH];
    uint64_t sequences[MAX_DEPTH + 1]; /* that were run, by length */
    bool failed;
    struct engine *engine;
    size_t done; /* operations that the heap has seen */
};

/* ---- Sizes ---- */

static bool visit_first(const struct mm_block *block, void *context)
{
    *(struct mm_block *)context = *block;
    return false;
}

/* The heap's first block. */
static struct mm_block first_block(void)
{
    struct mm_block block = {.state = MM_NO_BLOCK};
    mm_allocator.walk(visit_first, &block);
    return block;
}

static void empty_heap(void)
{
    memory_reset();
    mm_allocator.init();
}

/* Does a block of this size, freed before a used one, wait in a quick bin instead of being merged? */
static bool goes_to_bin(struct search *s, size_t payload_bytes)
{
    s->ops[0] = (struct trace_op){.kind = TRACE_MALLOC, .slot = 0, .bytes = payload_bytes};
    s->ops[1] = (struct trace_op){.kind = TRACE_MALLOC, .slot = 1, .bytes = payload_bytes};
    s->ops[2] = (struct trace_op){.kind = TRACE_FREE, .slot = 0};
    s->length = 3;
    empty_heap();
    void *p = mm_allocator.malloc(payload_bytes);
    mm_allocator.malloc(payload_bytes);
    mm_allocator.free(p);
    return first_block().state == MM_QUICK;
}

/* Sizes at the borders of this stage; measured, so that they fit a student's stage too. */
static void find_sizes(struct search *s)
{
    enum { LARGEST_BIN = 1 << 16, USUAL_CLASS = 1024, PAGE = 4096 };
    goes_to_bin(s, 0);
    size_t header = mm_allocator.header_bytes, least = first_block().block_bytes;
    s->sizes[0] = least - header; /* fills the smallest block */
    s->sizes[1] = least - header + 1; /* needs the next larger one */
    size_t rest = least < mm_allocator.least_listed ? mm_allocator.least_listed : least;
    s->sizes[2] = least + rest - header; /* can be split for the first, and just not for the second */
    s->sizes[3] = USUAL_CLASS - header;
    if (goes_to_bin(s, 0)) /* then one in a block of the smallest size that goes to no bin */
        for (size_t bytes = s->sizes[2]; bytes < LARGEST_BIN && goes_to_bin(s, bytes); bytes += MM_ALIGNMENT)
            s->sizes[3] = bytes + MM_ALIGNMENT;
    s->sizes[4] = PAGE - header;
    s->size_count = SIZES;
    if (header == 0) /* small blocks are not split then: the third size is at no border */
        s->sizes[2] = s->sizes[--s->size_count];
}

/* ---- The search ---- */

/* Run the sequence that ends in operation number `at`. */
static bool run(struct search *s, size_t at, struct trace_op op)
{
    struct engine_failure failure;
    s->ops[at] = op;
    s->length = at + 1;
    if (s->done != at) {
        engine_reset(s->engine);
        for (size_t i = 0; i < at; i++)
            engine_step(s->engine, i, false, &failure);
    }
    s->done = at + 1;
    s->sequences[at + 1]++;
    s->failed = !engine_step(s->engine, at, true, &failure);
    return !s->failed;
}

/*
 * Every sequence that starts with the first `at` operations, after which the blocks in `live` (bits) are
 * live.
 */
static bool explore(struct search *s, size_t at, unsigned live)
{
    if (at == s->depth)
        return true;
    uint32_t id = 0;
    while ((live >> id & 1) != 0)
        id++;
    for (size_t i = 0; i < s->size_count; i++) {
        struct trace_op op = {.kind = TRACE_MALLOC, .slot = id, .bytes = s->sizes[i]};
        if (!run(s, at, op) || !explore(s, at + 1, live | 1U << id))
            return false;
        op.kind = TRACE_CALLOC;
        op.count = 1;
        if (!run(s, at, op))
            return false;
    }
    for (id = 0; id < at; id++) {
        if ((live >> id & 1) == 0)
            continue;
        struct trace_op op = {.kind = TRACE_FREE, .slot = id};
        if (!run(s, at, op) || !explore(s, at + 1, live & ~(1U << id)))
            return false;
        op.kind = TRACE_REALLOC;
        if (!run(s, at, op))
            return false;
        for (size_t i = 0; i < s->size_count; i++) {
            op.bytes = s->sizes[i];
            if (!run(s, at, op) || !explore(s, at + 1, live))
                return false;
        }
    }
    return true;
}

static void trace_of(const struct search *s, size_t length, struct trace *trace)
{
    for (size_t i = 0; i < length; i++) {
        trace_add(trace, s->ops[i]);
        trace->ops[i].line = (uint32_t)i + 1;
    }
}

static void search_all(struct engine_progress *progress, void *context)
{
    struct search *s = context;
    size_t depth = s->depth;
    find_sizes(s);
    uint64_t ids[MAX_DEPTH] = {0};
    struct trace trace = {.ops = s->ops, .count = depth, .ids = ids, .slots = depth};
    struct engine_options options = engine_defaults;
    options.limit_bytes = (size_t)1 << 24;
    options.brief = true;
    s->engine = engine_open(&trace, &options, progress);
    s->done = SIZE_MAX; /* find_sizes() used the heap */
    /* The short ones first, so that a failure is as short as it can be. */
    bool good = true;
    for (s->depth = 1; good && s->depth <= depth; s->depth++) {
        memset(s->sequences, 0, sizeof s->sequences);
        good = explore(s, 0, 0);
    }
}

/* ---- Reporting ---- */

static int report_failure(const struct search *s, const char *save)
{
    printf("%s fails on a sequence of %zu operations\n", stage_file, s->length);
    struct trace trace = {.ops = NULL};
    trace_of(s, s->length, &trace);
    struct run_result result;
    run_trace(&trace, &engine_defaults, &result);
    if (result.failure.fault == ENGINE_SOUND)
        printf("run alone it does not: the stage does not forget everything when its init is called\n");
    else
        shrink_report(stdout, NULL, &trace, &engine_defaults, &result, save);
    trace_release(&trace);
    return 1;
}

int main(int argc, char **argv)
{
    size_t depth = argc > 1 ? strtoul(argv[1], NULL, 10) : DEFAULT_DEPTH;
    if (depth < 1 || depth > MAX_DEPTH) {
        fprintf(stderr, "depth=%s is not a number of operations from 1 to %d; type depth=7\n", argv[1],
            MAX_DEPTH);
        return 2;
    }
    struct search *s = run_shared(sizeof *s);
    s->depth = depth;
    const struct engine_progress *progress;
    struct run_end end = run_apart(search_all, s, engine_defaults.hang_seconds, &progress);
    if (end.status != 0 || s->failed)
        return report_failure(s, argc > 2 ? argv[2] : NULL);
    uint64_t all = 0;
    for (size_t length = 1; length <= depth; length++)
        all += s->sequences[length];
    printf("%s: all %llu sequences of up to %zu operations are good; sizes", stage_file,
        (unsigned long long)all, depth);
    for (size_t i = 0; i < s->size_count; i++)
        printf(" %zu", s->sizes[i]);
    printf("\n");
    return 0;
}
