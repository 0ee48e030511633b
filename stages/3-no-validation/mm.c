/*
 * Stage 3: no validation. Chapter: docs/stage-3.md
 *
 * Idea:  the check of the whole heap is for debugging: it leaves the calls, behind a compile-time switch. What
 *        can be told in O(1) from the pointer and its own header is still checked in each call.
 * Limit: malloc walks the free list until a block fits: n free blocks that do not fit cost O(n).
 * Next:  stage 4 sorts the free blocks by size.
 *
 *       0      8         16      24     32     40          48
 *       | size | is_free | magic | prev | next | payload ...              a used block
 *       | size | is_free | magic | prev | next | next_free | prev_free |  a free block
 *
 * Changed: MM_VALIDATE is 0.
 */
#include "mm.h"

#ifndef MM_VALIDATE
#define MM_VALIDATE 0 /* do not check the whole heap in each call; make validate=1: do */
#endif

/*
 * Invariants, checked by mm_check():
 *   I1   the blocks tile the heap: next_block(b) == b + block_size(b), from its first byte to its last
 *   I2   block_size(b) is a multiple of 16 and at least MIN_BLOCK
 *   I3   every header is intact: its magic number says so
 *   I4   no two neighbours are both free
 *   I5   prev_block(next_block(b)) == b
 *   I6   the free lists hold exactly the free blocks: b->next_free->prev_free == b
 */
struct block {
    size_t size; /* of the whole block, header included */
    uint64_t is_free; /* 1 or 0 */
    uint64_t magic; /* says that this is a header, and of what */
    struct block *prev; /* the list of all blocks, in address order */
    struct block *next;
    struct block *next_free; /* links, while the block is free; else the payload starts here */
    struct block *prev_free;
};

enum {
    HEADER = offsetof(struct block, next_free),
    MIN_BLOCK = 64,
};

static struct heap {
    struct block *last; /* the end of the list of all blocks */
    struct block *free_list;
} heap;

#include "stage.h"

static const uint64_t MAGIC = 0xa110c1abb10c4ed5, MERGED = 0xdeadb10c6e46ed15;

/* ---- Blocks ---- */

static size_t block_size(const struct block *b) { return b->size; }
static bool is_free(const struct block *b) { return b->is_free != 0; }

static enum mm_state block_state(const struct block *b)
{
    return b->magic != MAGIC ? MM_NO_BLOCK : is_free(b) ? MM_FREE : MM_USED;
}

static struct block *first_block(void) { return heap_start(); }
static struct block *next_block(const struct block *b) { return b->next; }
static struct block *free_or_null(struct block *b) { return b != NULL && is_free(b) ? b : NULL; }
static struct block *free_after(const struct block *b) { return free_or_null(b->next); }
static struct block *free_before(const struct block *b) { return free_or_null(b->prev); }
static struct block *free_last(void) { return free_or_null(heap.last); }

static void set_used(struct block *b) { b->is_free = 0; }
static void set_free(struct block *b) { b->is_free = 1; }

/* What points back to b in the list of all blocks. */
static struct block **back_link(struct block *b) { return b->next == NULL ? &heap.last : &b->next->prev; }

static void absorb(struct block *b, struct block *next)
{
    b->size += next->size;
    b->next = next->next;
    *back_link(b) = b;
    next->magic = MERGED; /* no longer a block: a second free of it can be told */
    count(&mm_counts.merges, 1);
}

static struct block *split(struct block *b, size_t bytes)
{
    struct block *rest = (struct block *)((char *)b + bytes);
    *rest = (struct block){.size = b->size - bytes, .magic = MAGIC, .prev = b, .next = b->next};
    b->size = bytes;
    b->next = rest;
    *back_link(rest) = rest;
    count(&mm_counts.splits, 1);
    return rest;
}

static struct block *append_block(size_t bytes)
{
    char *grown = memory_grow(bytes);
    if (grown == NULL)
        return NULL;
    struct block *b = (struct block *)(grown == memory.start ? grown + EDGE : grown - EDGE);
    *b = (struct block){.size = (size_t)((char *)heap_end() - (char *)b), .magic = MAGIC, .prev = heap.last};
    *(heap.last == NULL ? &heap.last : &heap.last->next) = b;
    heap.last = b;
    return b;
}

/* ---- The free list ---- */

/* Last in, first out: what was freed last is likely to be in the processor's cache. O(1). */
static void list_insert(struct block *b)
{
    b->prev_free = NULL;
    b->next_free = heap.free_list;
    if (b->next_free != NULL)
        b->next_free->prev_free = b;
    heap.free_list = b;
}

static inline struct block *list_remove(struct block *b)
{
    *(b->prev_free != NULL ? &b->prev_free->next_free : &heap.free_list) = b->next_free;
    if (b->next_free != NULL)
        b->next_free->prev_free = b->prev_free;
    return b;
}

/* ---- Finding and freeing ---- */

/* First fit: the first free block that is large enough; NULL if there is none. O(free blocks). */
static struct block *find_fit(size_t bytes)
{
    for (struct block *b = heap.free_list; b != NULL; b = b->next_free) {
        count(&mm_counts.searched, 1);
        if (block_size(b) >= bytes)
            return b;
    }
    return NULL;
}

static inline struct block *take_free(struct block *b)
{
    list_remove(b);
    set_used(b);
    return b;
}

static inline struct block *coalesce(struct block *b)
{
    struct block *next = free_after(b);
    if (next != NULL)
        absorb(b, list_remove(next));
    struct block *before = free_before(b);
    if (before != NULL) {
        absorb(list_remove(before), b);
        b = before;
    }
    return b;
}

static inline void release(struct block *b)
{
    b = coalesce(b);
    set_free(b);
    list_insert(b);
}

static bool reclaim(void) { return false; } /* free blocks are merged at once: nothing waits */

/* ---- The interface ---- */

static struct block *take_block(size_t bytes)
{
    struct block *b = find_fit(bytes);
    b = b != NULL ? take_free(b) : grow_heap(bytes);
    if (b != NULL)
        trim(b, bytes);
    return b;
}

static void *mm_malloc(size_t payload_bytes)
{
    validate("malloc");
    struct block *b = take_block(block_bytes_for(payload_bytes));
    return b == NULL ? NULL : payload(b);
}

static void mm_free(void *old)
{
    struct block *b = checked_block(old, "free");
    release(b);
}

static struct mm_fault mm_check(void)
{
    size_t free_blocks = 0;
    void *expected = heap_start();
    struct block *before = NULL;
    for (struct block *b = first_block(); b != NULL; before = b, b = next_block(b)) {
        count(&mm_counts.validated, 1);
        if (b != expected)
            return fault(1, before, "no block starts where it ends");
        if (block_state(b) == MM_NO_BLOCK)
            return fault(3, b, "its header is overwritten");
        size_t room = (size_t)((char *)heap_end() - (char *)b);
        if (block_size(b) % MM_ALIGNMENT != 0 || block_size(b) < MIN_BLOCK || block_size(b) > room)
            return fault(2, b, "its size is impossible");
        if (b->prev != before)
            return fault(5, b, "its link to the block before it is wrong");
        if (before != NULL && is_free(before) && is_free(b))
            return fault(4, b, "it and the block before it are both free: not coalesced");
        free_blocks += is_free(b);
        expected = (char *)b + block_size(b);
    }
    if (expected != NULL && expected != heap_end())
        return fault(1, before, "no block starts where it ends");

    struct block *prev = NULL;
    for (struct block *b = heap.free_list; b != NULL; prev = b, b = b->next_free) {
        if (!memory_contains(b) || !is_free(b) || b->prev_free != prev || free_blocks-- == 0)
            return fault(6, prev, "a link of its free list is wrong");
    }
    if (free_blocks != 0)
        return fault(6, heap_start(), "a free block is in no list");
    return (struct mm_fault){0, 0, "sound"};
}

static void mm_walk_lists(mm_visitor *visit, void *context)
{
    bool more = true;
    for (struct block *b = heap.free_list; b != NULL && more; b = b->next_free)
        more = visit_block(b, 0, visit, context);
}

const struct mm_allocator mm_allocator = {
    .name = "no-validation",
    .stage = 3,
    .header_bytes = HEADER,
    .detects_inside_block = true,
    .detects_damage = MM_VALIDATE,
    .init = mm_init,
    .malloc = mm_malloc,
    .free = mm_free,
    .realloc = mm_realloc,
    .aligned_alloc = mm_aligned_alloc,
    .usable_size = mm_usable_size,
    .check = mm_check,
    .walk = mm_walk,
    .walk_lists = mm_walk_lists,
};
