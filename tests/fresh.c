/* fresh.c - calloc leaves alone what is fresh from the system, and nothing else. */
#include "lab.h"

enum { LARGE = 1000000, TAIL = 3000, LITTLE = 4 * FRONT_TRACES };

TestSuite(fresh, .init = lab_begin, .timeout = 30);

/* What calloc zeroed to make this block; the lab checks that all of it is zero, and then fills it. */
static size_t cleared_for(int name, size_t bytes)
{
    mm_counts.cleared = 0;
    lab_calloc(name, 1, bytes);
    return mm_counts.cleared;
}

/* A stage that several threads may call cannot tell which growth is whose. */
static void skip_if_thread_safe(void)
{
    if (mm_allocator.thread_safe)
        cr_skip("calloc clears everything in a stage that is thread-safe");
}

Test(fresh, calloc_leaves_fresh_memory_alone)
{
    skip_if_thread_safe();
    for (int name = A; name <= D; name++) {
        size_t cleared = cleared_for(name, LARGE);
        lab_require(cleared <= LITTLE, "the heap grew for these %d bytes: %zu were cleared, not %d at most",
            LARGE, cleared, LITTLE);
    }
}

Test(fresh, calloc_clears_memory_that_was_used)
{
    char *used = lab_calloc(A, 1, LARGE);
    lab_malloc(B, 1);
    lab_free(A);
    size_t cleared = cleared_for(C, LARGE);
    lab_require(lab_payload(C) == used, "A was free and just as large as C: C should be in its place");
    lab_require(cleared == LARGE, "reused memory: %zu bytes were cleared, not %d", cleared, LARGE);
}

/* The block starts in the free, dirty end of the heap, and the heap grows for the rest of it. */
Test(fresh, calloc_clears_the_used_part_of_a_block)
{
    skip_if_thread_safe();
    for (size_t bytes = TAIL; bytes < (size_t)TAIL + 5000; bytes += 8) {
        lab_begin();
        lab_malloc(A, 1);
        lab_malloc(B, TAIL);
        lab_free(B);
        size_t heap = memory.bytes, cleared = cleared_for(C, bytes);
        bool grew = memory.bytes > heap;
        lab_require(
            cleared <= (grew ? heap + LITTLE : bytes), "%zu of %zu bytes were cleared", cleared, bytes);
    }
}

/* Sizes around those at which calloc starts to leave something alone. */
Test(fresh, calloc_zeroes_whatever_the_heap_has_seen)
{
    for (size_t bytes = 1; bytes < 1000; bytes++) {
        if (bytes % 100 == 1)
            lab_begin();
        lab_calloc((int)bytes, 1, bytes);
        if (bytes % 3 == 0 && lab_payload((int)bytes - 1) != NULL)
            lab_free((int)bytes - 1);
        if (bytes % 7 == 0)
            lab_aligned_alloc(LAB_NAMES - 1 - (int)bytes, 256, bytes);
    }
}
