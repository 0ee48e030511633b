/*
 * Stage 5: compact boundary tags. Chapter: docs/stage-5.md
 *
 * Idea:  size and flags share one word. The next block starts where this one ends; the one before is found if it is
 *        free, by a flag here and its footer, its size once more (Knuth's boundary tags, with the footer optional).
 * Limit: one heap and one lock for all threads; memory never goes back to the system.
 * Next:  stage 6 gives each thread a cache of its own.
 *
 *       0              8             16
 *       | size + flags | payload ...                               a used block
 *       | size + flags | next_free   | prev_free | ...    | size | a free block
 *
 * Changed: struct block and the functions that know its layout; MIN_BLOCK; find_fit; heap.waiting; mm_check.
 */
#include "mm.h"

#ifndef MM_VALIDATE
#define MM_VALIDATE 0 /* do not check the whole heap in each call; make validate=1: do */
#endif

/*
 * Invariants, checked by mm_check():
 *   I1   the blocks tile the heap: next_block(b) == b + block_size(b), from its first byte to its last
 *   I2   block_size(b) is a multiple of 16 and at least MIN_BLOCK
 *   I3   every header is intact; here only the end marker's can be told: QUICK, of size 0
 *   I4   no two neighbours are both free
 *   I5   prev_block(next_block(b)) == b; here for a free b: its footer repeats its size
 *   I6   the free lists hold exactly the free blocks but the last and the smallest: b->next_free->prev_free == b
 *   I7   a free block is in the list of its own size class
 *   I8   a bit of the bitmap is set if and only if its list is not empty
 *   I9   the quick bins hold exactly the blocks marked QUICK, each in the bin of its size
 *   I10  PREV_USED in a block says whether the block before it is used
 */
struct block {
    size_t header; /* size of the whole block + flags */
    struct block *next_free; /* links, while the block is free; else the payload starts here */
    struct block *prev_free;
};

enum {
    HEADER = offsetof(struct block, next_free),
    MIN_BLOCK = 16, /* header, footer: without room for links, it is in no list while it is free */
    BINS = 128, /* quick bins, and classes of one size: of the sizes below BINS * 16 */
    CLASSES = 256, /* 128 more, 4 for each doubling */
    TRIES = 8, /* blocks of the request's own class that malloc looks at */
};

static struct heap {
    struct block *lists[CLASSES], *bins[BINS]; /* the free lists and the quick bins */
    size_t waiting; /* bytes in the quick bins */
    uint64_t non_empty[CLASSES / 64]; /* the bitmap of the free lists */
    struct block *top; /* the last block of the heap, while it is free: in no list, taken if no other fits */
} heap;

#include "stage.h"

/* Flags of a header. A block in a quick bin stays USED, so that its neighbours do not absorb it. */
static const size_t USED = 1, PREV_USED = 2, QUICK = 4, FLAGS = 15;

/* ---- Blocks ---- */

static size_t block_size(const struct block *b) { return b->header & ~FLAGS; }
static bool is_free(const struct block *b) { return (b->header & USED) == 0; }

static enum mm_state block_state(const struct block *b)
{
    return is_free(b) ? MM_FREE : (b->header & QUICK) != 0 ? MM_QUICK : MM_USED;
}

/* The header after b: the next block's, or the end marker. */
static struct block *after(const struct block *b) { return (struct block *)((char *)b + block_size(b)); }
static size_t *footer(const struct block *b) { return (size_t *)after(b) - 1; }

static struct block *first_block(void) { return heap_start(); }
static struct block *next_block(const struct block *b) { return after(b) == heap_end() ? NULL : after(b); }
static struct block *free_after(const struct block *b) { return is_free(after(b)) ? after(b) : NULL; }

static struct block *free_before(const struct block *b)
{
    return (b->header & PREV_USED) != 0 ? NULL : (struct block *)((char *)b - ((const size_t *)b)[-1]);
}
static struct block *free_last(void) { return heap.top; }

/* Here and below a block's own header comes last, so that the compiler need not read it again. */
static void set_used(struct block *b)
{
    after(b)->header |= PREV_USED;
    b->header |= USED;
}

static void set_free(struct block *b)
{
    after(b)->header &= ~PREV_USED;
    *footer(b) = block_size(b);
    b->header &= ~USED;
}

static void set_quick(struct block *b) { b->header |= QUICK; }
static void clear_quick(struct block *b) { b->header &= ~QUICK; }

static void absorb(struct block *b, struct block *next)
{
    size_t bytes = block_size(next);
    next->header = 0; /* no longer a block: a second free of it can be told */
    b->header += bytes;
    count(&mm_counts.merges, 1);
}

static struct block *split(struct block *b, size_t bytes)
{
    struct block *rest = (struct block *)((char *)b + bytes);
    size_t header = b->header;
    b->header = bytes | (header & FLAGS);
    rest->header = ((header & ~FLAGS) - bytes) | USED | PREV_USED;
    count(&mm_counts.splits, 1);
    return rest;
}

static struct block *append_block(size_t bytes)
{
    char *grown = memory_grow(bytes);
    if (grown == NULL)
        return NULL;
    struct block *b = (struct block *)(grown == memory.start ? grown + EDGE : grown - EDGE);
    /* The block before is used: grow_heap() takes the last block if it is free. */
    b->header = (size_t)((char *)heap_end() - (char *)b) | USED | PREV_USED;
    after(b)->header = USED | PREV_USED | QUICK; /* the end marker; QUICK, so that nobody can free it */
    return b;
}

/* ---- Free lists: one for each size class ---- */

static unsigned class_of(size_t bytes)
{
    if (bytes < BINS * MM_ALIGNMENT)
        return (unsigned)(bytes / MM_ALIGNMENT);
    unsigned log2 = floor_log2(bytes); /* at least 11 */
    return BINS + (log2 - 11) * 4 + (unsigned)(bytes >> (log2 - 2)) % 4;
}

static void list_insert(struct block *b)
{
    if (next_block(b) == NULL) {
        heap.top = b;
        return;
    }
    if (block_size(b) == MIN_BLOCK)
        return; /* it waits for a neighbour to be merged with */
    unsigned list = class_of(block_size(b));
    b->prev_free = NULL;
    b->next_free = heap.lists[list];
    if (b->next_free != NULL)
        b->next_free->prev_free = b;
    heap.lists[list] = b;
    bit_set(heap.non_empty, list);
}

static inline struct block *list_remove(struct block *b)
{
    if (b == heap.top) {
        heap.top = NULL;
        return b;
    }
    if (block_size(b) == MIN_BLOCK)
        return b;
    unsigned list = class_of(block_size(b));
    *(b->prev_free != NULL ? &b->prev_free->next_free : &heap.lists[list]) = b->next_free;
    if (b->next_free != NULL)
        b->next_free->prev_free = b->prev_free;
    if (heap.lists[list] == NULL)
        bit_clear(heap.non_empty, list);
    return b;
}

/* Best fit among TRIES blocks of the request's own class; any block of a larger class; the top. O(1). */
static struct block *find_fit(size_t bytes)
{
    unsigned list = class_of(bytes);
    struct block *b = heap.lists[list];
    struct block *best = NULL;
    for (int tries = TRIES; b != NULL && tries != 0; b = b->next_free, tries--) {
        count(&mm_counts.searched, 1);
        if (block_size(b) == bytes)
            return b;
        if (block_size(b) > bytes && (best == NULL || block_size(b) < block_size(best)))
            best = b;
    }
    if (best != NULL)
        return best;
    count(&mm_counts.searched, 1);
    list = bit_next(heap.non_empty, CLASSES, list + 1);
    b = list < CLASSES ? heap.lists[list] : heap.top;
    return b != NULL && block_size(b) >= bytes ? b : NULL;
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

/* ---- Quick bins: freed blocks kept as they are, for the next malloc of the same size (Weinstock 1976) ---- */
/* A block of at least `bytes`, at most `most`; NULL if there is none. O(1) when they are the same. */
static inline struct block *quick_take(size_t bytes, size_t most)
{
    for (; bytes <= most && bytes < BINS * MM_ALIGNMENT; bytes += MM_ALIGNMENT) {
        struct block *b = heap.bins[bytes / MM_ALIGNMENT];
        if (b != NULL) {
            heap.bins[bytes / MM_ALIGNMENT] = b->next_free;
            heap.waiting -= bytes;
            clear_quick(b);
            return b;
        }
    }
    return NULL;
}

/* No, if b is large; or could be merged into the top, and its bin has another block. */
static bool quick_put(struct block *b)
{
    size_t bin = block_size(b) / MM_ALIGNMENT;
    if (bin >= BINS || (after(b) == heap.top && heap.bins[bin] != NULL))
        return false;
    heap.waiting += bin * MM_ALIGNMENT;
    set_quick(b);
    b->next_free = heap.bins[bin];
    heap.bins[bin] = b;
    return true;
}

static bool reclaim(void)
{
    size_t released = 0;
    for (size_t bytes = MIN_BLOCK; bytes < BINS * MM_ALIGNMENT; bytes += MM_ALIGNMENT)
        for (; heap.bins[bytes / MM_ALIGNMENT] != NULL; released++)
            release(quick_take(bytes, bytes));
    return released != 0;
}

/* ---- The interface ---- */

static struct block *take_block(size_t bytes)
{
    struct block *b = quick_take(bytes, bytes);
    if (b != NULL)
        return b;
    if (bytes >= BINS * MM_ALIGNMENT && heap.waiting > 4 * PAGE)
        reclaim(); /* merged they may fit, and small blocks in the way of large ones go */
    if ((b = find_fit(bytes)) != NULL)
        take_free(b);
    else if ((b = quick_take(bytes, SIZE_MAX)) == NULL)
        b = reclaim() ? take_block(bytes) : grow_heap(bytes);
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
    if (!quick_put(b))
        release(b);
}

static struct mm_fault mm_check(void)
{
    size_t free_blocks = 0, waiting = 0;
    struct block *before = NULL;
    for (struct block *b = first_block(); b != NULL; before = b, b = next_block(b)) {
        count(&mm_counts.validated, 1);
        size_t room = (size_t)((char *)heap_end() - (char *)b);
        if (block_size(b) % MM_ALIGNMENT != 0 || block_size(b) < MIN_BLOCK || block_size(b) > room)
            return fault(2, b, "its size is impossible");
        if (((b->header & PREV_USED) == 0) != (before != NULL && is_free(before)))
            return fault(10, b, "its PREV_USED flag is wrong");
        if (before != NULL && is_free(before) && is_free(b))
            return fault(4, b, "it and the block before it are both free: not coalesced");
        if (is_free(b) && *footer(b) != block_size(b))
            return fault(5, b, "its footer does not repeat its size");
        bool listed = b != heap.top && block_size(b) != MIN_BLOCK;
        free_blocks += (is_free(b) && listed) || block_state(b) == MM_QUICK;
        waiting += block_state(b) == MM_QUICK ? block_size(b) : 0;
    }
    if (before != NULL && after(before)->header != (USED | QUICK | (is_free(before) ? 0 : PREV_USED)))
        return fault(3, after(before), "the end marker is damaged, or its PREV_USED flag is wrong");

    for (unsigned list = 0; list < CLASSES; list++) {
        struct block *prev = NULL;
        for (struct block *b = heap.lists[list]; b != NULL; prev = b, b = b->next_free) {
            if (!memory_contains(b) || !is_free(b) || b->prev_free != prev || free_blocks-- == 0)
                return fault(6, prev, "a link of its free list is wrong");
            if (class_of(block_size(b)) != list)
                return fault(7, b, "it is in the free list of another size class");
        }
        if ((heap.lists[list] != NULL) != bit_test(heap.non_empty, list))
            return fault(8, heap.lists[list], "the bitmap disagrees with its free list");
    }
    for (unsigned bin = 0; bin < BINS; bin++)
        for (struct block *b = heap.bins[bin]; b != NULL; b = b->next_free)
            if (!memory_contains(b) || block_state(b) != MM_QUICK || class_of(block_size(b)) != bin ||
                free_blocks-- == 0)
                return fault(9, b, "it does not belong in its quick bin");
    if (free_blocks != 0)
        return fault(6, heap_start(), "a free block is in no list");
    if (waiting != heap.waiting)
        return fault(9, heap_start(), "the bytes that wait in quick bins are counted wrong");
    return (struct mm_fault){0, 0, "sound"};
}

static void mm_walk_lists(mm_visitor *visit, void *context)
{
    bool more = true;
    for (int list = 0; list < CLASSES + BINS; list++) {
        struct block *b = list < CLASSES ? heap.lists[list] : heap.bins[list - CLASSES];
        for (; b != NULL && more; b = b->next_free)
            more = visit_block(b, list, visit, context);
    }
}

const struct mm_allocator mm_allocator = {
    .name = "boundary-tags",
    .stage = 5,
    .header_bytes = HEADER,
    .least_listed = MIN_REST,
    .detects_inside_block = false,
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
