/* blocks.c - how blocks are cut, merged and moved: each test says what the heap must look like. */
#include "lab.h"
#include <stdio.h>

static void begin(void)
{
    lab_begin();
    if (mm_allocator.header_bytes == 0)
        cr_skip("blocks without headers are not split and merged one by one");
}

TestSuite(blocks, .init = begin, .timeout = 120);

/*
 * `count` blocks of one size, A, B, ..., side by side from the heap's start, and a fence behind them that stays in
 * use. Nothing else is free. Returns their size in bytes.
 */
static size_t neighbours(int count, size_t payload_bytes)
{
    for (int name = 0; name <= count; name++)
        lab_malloc(name, payload_bytes);
    lab_use_up(count + 1);
    for (int name = 1; name <= count; name++)
        lab_require(
            (char *)lab_payload(name) - (char *)lab_payload(name - 1) == (ptrdiff_t)lab_block_bytes(A),
            "blocks that an empty heap gives out one after the other should be neighbours");
    return lab_block_bytes(A);
}

/* The payload that fills a block of this size. */
static size_t payload_of(size_t block_bytes) { return block_bytes - mm_allocator.header_bytes; }

static size_t min_block(void)
{
    lab_malloc(H, 1);
    size_t bytes = lab_block_bytes(H);
    lab_begin();
    return bytes;
}

/* The smallest rest of a block that is cut off. */
static size_t min_rest(void)
{
    size_t bytes = min_block();
    return bytes < mm_allocator.least_listed ? mm_allocator.least_listed : bytes;
}

/* ---- The four cases of merging ---- */

Test(blocks, free_between_used_merges_with_none)
{
    size_t n = neighbours(3, LAB_LARGE);
    lab_free(B);
    lab_expect("used %zu, free %zu, used %zu", n, n, n);
}

Test(blocks, free_merges_with_the_block_after)
{
    size_t n = neighbours(3, LAB_LARGE);
    lab_free(C);
    lab_free(B);
    lab_expect("used %zu, free %zu, used %zu", n, 2 * n, n);
}

Test(blocks, free_merges_with_the_block_before)
{
    size_t n = neighbours(3, LAB_LARGE);
    lab_free(A);
    lab_free(B);
    lab_expect("free %zu, used %zu, used %zu", 2 * n, n, n);
}

Test(blocks, free_merges_with_both)
{
    size_t n = neighbours(3, LAB_LARGE);
    lab_free(A);
    lab_free(C);
    lab_expect("free %zu, used %zu, free %zu, used %zu", n, n, n, n);
    lab_free(B);
    lab_expect("free %zu, used %zu", 3 * n, n);
}

/* "used 2096, free 4192, ...": neighbours that are free are one block. */
static void expect_merged(const bool *is_free, int count, size_t bytes)
{
    char text[256];
    int length = 0;
    for (int i = 0, k; i < count; i = k) {
        for (k = i + 1; is_free[i] && k < count && is_free[k];)
            k++;
        length += snprintf(text + length, sizeof text - (size_t)length, "%s%s %zu", i == 0 ? "" : ", ",
            is_free[i] ? "free" : "used", (size_t)(k - i) * bytes);
    }
    lab_expect("%s, used %zu", text, bytes);
}

Test(blocks, merging_in_every_order)
{
    enum { COUNT = 4, ORDERS = 4 * 3 * 2 };
    for (int order = 0; order < ORDERS; order++) {
        lab_begin();
        size_t n = neighbours(COUNT, LAB_LARGE);
        bool is_free[COUNT] = {false};
        for (int left = COUNT, code = order; left > 0; code /= left, left--) {
            int name = A, skip = code % left; /* the skip-th of those still in use */
            while (is_free[name] || skip-- > 0)
                name++;
            is_free[name] = true;
            lab_free(name);
            expect_merged(is_free, COUNT, n);
        }
    }
}

Test(blocks, merging_at_the_heaps_end)
{
    lab_malloc(A, LAB_LARGE);
    lab_malloc(B, LAB_LARGE);
    size_t n = lab_block_bytes(A);
    lab_free(B);
    lab_require(lab_blocks(MM_FREE) == 1, "B and the rest of the heap should be one free block");
    lab_free(A);
    lab_require(lab_blocks(MM_FREE) == 1 && lab_blocks(MM_USED) == 0, "the heap should be one free block");
    lab_malloc(C, LAB_LARGE);
    lab_expect("used %zu", n);
}

/* ---- Splitting ---- */

/* A block of 2n bytes is free; a block smaller by `rest` is taken from it. */
static void split_off(size_t rest, size_t least)
{
    lab_begin();
    size_t n = neighbours(2, LAB_LARGE);
    lab_free(A);
    lab_free(B);
    lab_malloc(H, payload_of(2 * n) - rest);
    if (rest < least)
        lab_expect("used %zu, used %zu", 2 * n, n);
    else
        lab_expect("used %zu, free %zu, used %zu", 2 * n - rest, rest, n);
}

Test(blocks, split_at_every_size)
{
    size_t least = min_rest();
    for (size_t rest = 0; rest <= 4 * least; rest += MM_ALIGNMENT)
        split_off(rest, least);
    for (size_t rest = 1024; rest < 1500; rest += 208)
        split_off(rest, least);
}

Test(blocks, exact_fit_leaves_the_other_free_blocks)
{
    size_t n = neighbours(5, LAB_LARGE);
    lab_free(B);
    lab_free(D);
    lab_malloc(H + 100, LAB_LARGE);
    lab_malloc(H + 101, LAB_LARGE);
    lab_expect("used %zu, used %zu, used %zu, used %zu, used %zu", n, n, n, n, n);
}

Test(blocks, the_rest_of_a_split_serves_the_next)
{
    size_t n = neighbours(4, LAB_LARGE);
    lab_free(A);
    lab_free(B);
    lab_free(C);
    lab_malloc(H + 100, LAB_LARGE);
    lab_malloc(H + 101, LAB_LARGE);
    lab_malloc(H + 102, LAB_LARGE);
    lab_expect("used %zu, used %zu, used %zu, used %zu", n, n, n, n);
}

/* ---- Growing the heap ---- */

Test(blocks, heap_grows_from_its_free_end)
{
    lab_malloc(A, LAB_LARGE);
    lab_malloc(B, LAB_LARGE);
    lab_free(B);
    size_t a = lab_block_bytes(A), heap_bytes = memory.bytes;
    lab_malloc(C, 5 * heap_bytes);
    lab_expect("used %zu, used %zu", a, lab_block_bytes(C));
}

Test(blocks, heap_does_not_grow_while_a_block_fits)
{
    neighbours(6, LAB_LARGE);
    size_t heap_bytes = memory.bytes;
    for (int round = 0; round < 3; round++) {
        for (int name = A; name < 6; name += 2)
            lab_free(name);
        for (int name = A; name < 6; name += 2)
            lab_malloc(name, LAB_LARGE - (size_t)(300 * round));
        for (int name = A; name < 6; name++)
            lab_free(name);
        lab_malloc(A, 6 * LAB_LARGE);
        lab_free(A);
        for (int name = A; name < 6; name++)
            lab_malloc(name, LAB_LARGE);
    }
    lab_require(memory.bytes == heap_bytes,
        "what was free was enough, but the heap grew from %zu to %zu bytes", heap_bytes, memory.bytes);
}

Test(blocks, one_block_again_and_again_needs_no_more_memory)
{
    lab_malloc(A, 1);
    size_t heap_bytes = memory.bytes;
    for (size_t bytes = 0; bytes < 1000; bytes++) {
        lab_malloc(B, bytes);
        lab_free(B);
    }
    lab_require(memory.bytes == heap_bytes,
        "one block of up to 1000 bytes at a time: the heap grew from %zu to %zu", heap_bytes, memory.bytes);
}

/* A block that fits is found, though there are many in front of it that do not. */
Test(blocks, a_block_that_fits_is_found_behind_many_that_do_not)
{
    enum { SMALLER = 40 };
    lab_malloc(0, 4 * LAB_LARGE);
    for (int name = 1; name <= 2 * SMALLER; name++)
        lab_malloc(name, LAB_LARGE);
    lab_use_up(2 * SMALLER + 1);
    lab_free(0);
    /* Every other one stays in use, so that none are merged. */
    for (int name = 2; name <= 2 * SMALLER; name += 2)
        lab_free(name);
    size_t heap_bytes = memory.bytes;
    lab_malloc(0, 4 * LAB_LARGE);
    lab_require(memory.bytes == heap_bytes,
        "a free block of just this size was there, but the heap grew from %zu to %zu bytes", heap_bytes,
        memory.bytes);
}

/* ---- realloc ---- */

Test(blocks, realloc_shrinks_in_place)
{
    size_t n = neighbours(2, LAB_LARGE);
    void *before = lab_payload(A);
    lab_require(lab_realloc(A, payload_of(n / 2 / 16 * 16)) == before, "to shrink, a block need not move");
    lab_expect("used %zu, free %zu, used %zu", n / 2 / 16 * 16, n - n / 2 / 16 * 16, n);
    lab_require(mm_counts.copied == 0, "nothing needs to be copied");
}

Test(blocks, realloc_that_shrinks_merges_the_rest_with_the_block_after)
{
    size_t n = neighbours(3, LAB_LARGE);
    lab_free(B);
    lab_realloc(A, payload_of(n - 512));
    lab_expect("used %zu, free %zu, used %zu", n - 512, n + 512, n);
    lab_realloc(A, payload_of(n - 528)); /* the rest is too small for a block, but what follows is free */
    lab_require(lab_blocks(MM_FREE) == 1, "the rest belongs to the free block after it, or stays with A");
}

Test(blocks, realloc_that_shrinks_by_little_keeps_the_block)
{
    size_t least = min_rest(), n = neighbours(2, LAB_LARGE);
    for (size_t less = MM_ALIGNMENT; less < least; less += MM_ALIGNMENT) {
        lab_realloc(A, payload_of(n) - less);
        lab_expect("used %zu, used %zu", n, n);
    }
    lab_realloc(A, payload_of(n) - least);
    lab_expect("used %zu, free %zu, used %zu", n - least, least, n);
}

Test(blocks, realloc_shrinks_to_the_smallest_block)
{
    size_t least = min_block(), n = neighbours(2, LAB_LARGE);
    lab_realloc(A, 1);
    lab_expect("used %zu, free %zu, used %zu", least, n - least, n);
    lab_realloc(A, 2);
    lab_expect("used %zu, free %zu, used %zu", least, n - least, n);
}

Test(blocks, realloc_grows_into_the_block_after)
{
    size_t n = neighbours(3, LAB_LARGE);
    void *before = lab_payload(A);
    lab_free(B);
    lab_require(lab_realloc(A, payload_of(n + 512)) == before, "there is room behind A: it need not move");
    lab_expect("used %zu, free %zu, used %zu", n + 512, n - 512, n);
    lab_realloc(A, payload_of(2 * n));
    lab_expect("used %zu, used %zu", 2 * n, n);
    lab_require(mm_counts.copied == 0, "nothing needs to be copied");
}

Test(blocks, realloc_that_leaves_too_little_takes_the_whole_block_after)
{
    size_t least = min_rest();
    for (size_t rest = MM_ALIGNMENT; rest <= least; rest += MM_ALIGNMENT) {
        lab_begin();
        size_t n = neighbours(3, LAB_LARGE);
        lab_free(B);
        lab_realloc(A, payload_of(2 * n - rest));
        if (rest < least)
            lab_expect("used %zu, used %zu", 2 * n, n);
        else
            lab_expect("used %zu, free %zu, used %zu", 2 * n - rest, rest, n);
    }
}

Test(blocks, realloc_grows_the_last_block_with_the_heap)
{
    lab_malloc(A, LAB_LARGE);
    lab_malloc(B, LAB_LARGE);
    void *before = lab_payload(B);
    lab_require(
        lab_realloc(B, 3 * memory.bytes) == before, "behind the last block there is room: the heap can grow");
    lab_use_up(C);
    int last = C;
    while (lab_is_live(last + 1))
        last++;
    if (!lab_is_live(last))
        last = B;
    before = lab_payload(last);
    lab_require(lab_realloc(last, 2 * memory.bytes) == before, "no free block, but the heap can grow");
    lab_require(mm_counts.copied == 0, "nothing needs to be copied");
}

Test(blocks, realloc_moves_where_there_is_no_room)
{
    size_t n = neighbours(3, LAB_LARGE);
    lab_realloc(A, 2 * LAB_LARGE);
    lab_expect("free %zu, used %zu, used %zu", n, n, n);
    lab_require(mm_counts.copied >= LAB_LARGE, "all of A had to be copied");
    lab_require(mm_counts.copied <= payload_of(n),
        "A had %zu bytes, but realloc copied %zu: who owned the rest?", payload_of(n),
        (size_t)mm_counts.copied);
    lab_realloc(B, 2 * LAB_LARGE);
    lab_expect("free %zu, used %zu", 2 * n, n);
}

Test(blocks, realloc_that_needs_no_more_does_nothing)
{
    size_t n = neighbours(2, LAB_LARGE);
    lab_realloc(A, payload_of(n));
    lab_realloc(A, LAB_LARGE);
    lab_expect("used %zu, used %zu, used %zu", n, n, n);
    lab_require(mm_counts.copied == 0, "nothing needs to be copied");
}

/* ---- aligned_alloc ---- */

Test(blocks, aligned_alloc_frees_what_lies_around)
{
    size_t least = min_rest();
    for (size_t alignment = 32; alignment <= 4096; alignment *= 2) {
        for (size_t shift = 0; shift < 160; shift += 16) {
            lab_begin();
            lab_malloc(
                A, 2048 + shift); /* so that the aligned payload starts at many distances from its block */
            size_t heap_bytes = memory.bytes;
            lab_aligned_alloc(B, alignment, 100);
            lab_require(lab_block_bytes(B) < round_up(100 + mm_allocator.header_bytes, 16) + least,
                "aligned_alloc(%zu, 100) must give back what it does not need", alignment);
            lab_require(
                memory.bytes <= heap_bytes + 2 * alignment + 3 * 4096, "it grew the heap by far too much");
            lab_free_all();
        }
    }
}

Test(blocks, the_gap_before_an_aligned_block_merges)
{
    lab_malloc(A, LAB_LARGE);
    lab_aligned_alloc(B, 4096, LAB_LARGE);
    lab_malloc(C, LAB_LARGE);
    lab_free(A);
    lab_require(lab_payload(B) > lab_payload(C) || lab_blocks(MM_FREE) <= 2,
        "A and the gap before B are neighbours: one free block");
    lab_free(C);
    lab_free(B);
    lab_require(lab_blocks(MM_FREE) == 1, "all of it should be one free block");
}

/* ---- Quick bins (stages 4 and up) ---- */

static void needs_quick_bins(void)
{
    if (mm_allocator.stage < 4)
        cr_skip("stage %d has no quick bins", mm_allocator.stage);
}

Test(blocks, a_small_block_waits_unmerged)
{
    needs_quick_bins();
    size_t n = neighbours(4, 64);
    lab_free(B);
    lab_free(C);
    lab_expect("used %zu, quick %zu, quick %zu, used %zu", n, n, n, n);
}

Test(blocks, a_waiting_block_is_given_out_again)
{
    needs_quick_bins();
    size_t n = neighbours(4, 64);
    lab_free(B);
    lab_free(C);
    lab_malloc(B, 64);
    lab_malloc(C, 60);
    lab_expect("used %zu, used %zu, used %zu, used %zu", n, n, n, n);
    lab_require(mm_counts.merges == 0, "no merging for small blocks");
}

Test(blocks, waiting_blocks_merge_before_the_heap_grows)
{
    needs_quick_bins();
    size_t n = neighbours(8, 64), heap_bytes = memory.bytes;
    for (int name = B; name <= G; name++)
        lab_free(name);
    lab_require(lab_blocks(MM_QUICK) == 6, "six small blocks should wait in their quick bin");
    lab_malloc(B, payload_of(6 * n));
    lab_expect("used %zu, used %zu, used %zu", n, 6 * n, n);
    lab_require(memory.bytes == heap_bytes, "what waits is enough, the heap need not grow");
}

Test(blocks, waiting_blocks_merge_before_realloc_grows_the_heap)
{
    needs_quick_bins();
    size_t n = neighbours(8, 64);
    lab_free(B);
    lab_free(C);
    int last = 8; /* the fence, or what uses up the heap behind it */
    while (lab_is_live(last + 1))
        last++;
    lab_realloc(last, 3 * memory.bytes);
    lab_require(mm_counts.copied == 0, "the last block grows where it is");
    lab_expect("used %zu, free %zu, used %zu", n, 2 * n, n);
}

Test(blocks, blocks_of_every_size_merge_before_the_heap_grows)
{
    size_t least = min_block();
    for (size_t block = least; block <= LAB_LARGE + 64; block += MM_ALIGNMENT) {
        lab_begin();
        size_t n = neighbours(4, payload_of(block));
        size_t heap_bytes = memory.bytes;
        for (int name = A; name < 4; name++)
            lab_free(name);
        lab_malloc(A, payload_of(4 * n));
        lab_require(memory.bytes == heap_bytes,
            "four neighbours of %zu bytes are free, but for one of %zu the heap grew from %zu to %zu bytes",
            n, 4 * n, heap_bytes, memory.bytes);
    }
}

Test(blocks, blocks_of_every_small_size_are_reused)
{
    for (size_t bytes = 0; bytes < 2 * LAB_LARGE; bytes += 16) {
        lab_malloc(A, bytes);
        lab_malloc(B, 1);
        size_t heap_bytes = memory.bytes;
        lab_free(A);
        lab_malloc(A, bytes);
        lab_require(memory.bytes == heap_bytes,
            "malloc(%zu) should take the block that was freed, of just this size; the heap grew instead",
            bytes);
        lab_free(A);
        lab_free(B);
    }
}
