/*
 * stage.h - the part of a stage that no chapter is about. A stage includes it right after its `struct block`.
 *
 * First the seams: the functions that a stage must define, the same names in every stage. Only they know how
 * a block is laid out and how free blocks are kept. Then what can be written once in terms of the seams:
 * the checks of a caller's pointer, realloc, aligned_alloc, walking the heap.
 *
 * Expects from the stage: struct block; `heap`, a struct with all its state, valid when zeroed; HEADER and
 * MIN_BLOCK, in bytes; MM_VALIDATE, 0 or 1.
 */
#ifndef MM_STAGE_H
#define MM_STAGE_H

#include "bits.h"
#include "count.h"
#include "memory.h"
#include "misuse.h"
#include "mm.h"
#include <assert.h>
#include <string.h>

enum {
    PAGE = 4096, /* the heap grows by no less */
    EDGE = 8, /* bytes left out at either end of the heap: blocks start at 8 modulo 16 */
    /* A smaller rest is not cut off: it would have no room for links, and not be found again. */
    MIN_REST = (sizeof(struct block) + MM_ALIGNMENT - 1) / MM_ALIGNMENT * MM_ALIGNMENT,
};

static_assert(HEADER % MM_ALIGNMENT == EDGE, "else a payload would not be aligned");
static_assert(MIN_BLOCK % MM_ALIGNMENT == 0, "else the next payload would not be aligned");
static_assert(MIN_BLOCK >= sizeof(struct block) || MIN_BLOCK >= 2 * HEADER,
    "else the links of a free block would not fit, nor a footer like its header");

/* ---- The seams: a stage defines these ---- */

static size_t block_size(const struct block *b); /* in bytes, header included */
static enum mm_state block_state(const struct block *b); /* O(1); b may be any place of the heap */
static struct block *first_block(void); /* NULL while the heap is empty */
static struct block *next_block(const struct block *b); /* in address order; NULL after the last */
static struct block *free_after(const struct block *b); /* the next block if it is free, else NULL */
static struct block *free_last(void); /* the last block if it is free, else NULL */

/* A free block becomes a used one of the same size: it leaves its free list. Returns it. */
static struct block *take_free(struct block *b);

/* [ b ][ after ] => [ ---- b ---- ]. Neither is in a free list. */
static void absorb(struct block *b, struct block *after);

/* [ ---- b ---- ] => [ b: bytes ][ rest ]. All three are used. Returns the rest. */
static struct block *split(struct block *b, size_t bytes);

/* A used block becomes free and is merged with the neighbours that are free. */
static void release(struct block *b);

/* Merge the freed blocks that wait unmerged, and say whether there were any: done before the heap grows. */
static bool reclaim(void);

/* A used block of `bytes` or a little more from what is free, or from a larger heap. NULL: no memory. */
static struct block *take_block(size_t bytes);

/* A used block made of `bytes` more memory at the end of the heap. NULL: no memory. */
static struct block *append_block(size_t bytes);

static void mm_free(void *old);
static struct mm_fault mm_check(void);

/* ---- Payloads ---- */

static inline void *payload(const struct block *b) { return (char *)b + HEADER; }

static inline struct block *block_of(const void *payload)
{
    return (struct block *)((char *)payload - HEADER);
}

/* The size of the block that a payload needs. */
static inline size_t block_bytes_for(size_t payload_bytes)
{
    size_t bytes = round_up(payload_bytes + HEADER, MM_ALIGNMENT);
    return bytes < MIN_BLOCK ? MIN_BLOCK : bytes;
}

/* Where the first block starts; NULL while the heap is empty. */
static inline void *heap_start(void) { return memory.bytes == 0 ? NULL : memory.start + EDGE; }

/* Where the last block ends. */
static inline void *heap_end(void) { return memory.start + memory.bytes - EDGE; }

/* ---- Misuse ---- */

static inline struct mm_fault fault(int invariant, const void *where, const char *what)
{
    return (struct mm_fault){invariant, memory_contains(where) ? memory_offset(where) : 0, what};
}

/* With validation on, each call starts with a check of the whole heap: O(blocks). */
static inline void validate(const char *call)
{
    if (!MM_VALIDATE)
        return;
    struct mm_fault found = mm_check();
    if (found.invariant != 0)
        mm_report_fault(call, found);
}

/* The used block whose payload a caller gave; a report and abort() if the pointer is not one. */
static inline struct block *checked_block(const void *payload, const char *call)
{
    validate(call);
    struct block *b = block_of(payload);
    if (!is_aligned(payload, MM_ALIGNMENT) || !memory_contains(b) || block_state(b) != MM_USED)
        mm_report_pointer(&mm_allocator, call, payload);
    return b;
}

/* ---- Growing ---- */

/*
 * A used block of at least `bytes` at the end of the heap, which grows for it: by a page or more, but by whole
 * blocks of this size, so that a series of them leaves no splinter at the end of each page. NULL: no memory.
 */
static inline struct block *grow_heap(size_t bytes)
{
    size_t wanted = bytes * (PAGE / bytes + 1);
    struct block *tail = free_last();
    if (tail == NULL)
        return append_block(heap_start() == NULL ? wanted + 2 * EDGE : wanted);
    size_t missing = wanted - block_size(tail);
    take_free(tail);
    struct block *b = append_block(missing < MIN_BLOCK ? MIN_BLOCK : missing); /* room for its header */
    if (b == NULL) {
        release(tail);
        return NULL;
    }
    absorb(tail, b);
    return tail;
}

/* ---- realloc and its kin ---- */

/* Cut a used block down to `bytes` and release the rest, if the rest can be found again. */
static inline void trim(struct block *b, size_t bytes)
{
    if (block_size(b) - bytes >= MIN_REST)
        release(split(b, bytes));
}

static size_t mm_usable_size(const void *payload)
{
    return block_size(checked_block(payload, "malloc_usable_size")) - HEADER;
}

/* Make a used block `bytes` large where it is, if what follows it allows. */
static bool extend(struct block *b, size_t bytes)
{
    struct block *after = free_after(b);
    size_t room = block_size(b) + (after == NULL ? 0 : block_size(after));
    bool at_end = next_block(after == NULL ? b : after) == NULL;
    if (room < bytes && !at_end)
        return false;
    if (room < bytes)
        reclaim(); /* as before any growth; what follows b is as it was */
    struct block *taken = room < bytes ? grow_heap(bytes - block_size(b)) : take_free(after);
    if (taken == NULL)
        return false;
    absorb(b, taken);
    return true;
}

/* In place if the block is, or can be made, large enough; else to a new block. */
static void *mm_realloc(void *old, size_t payload_bytes)
{
    struct block *b = checked_block(old, "realloc");
    size_t bytes = block_bytes_for(payload_bytes);
    if (block_size(b) >= bytes || extend(b, bytes)) {
        trim(b, bytes);
        return old;
    }
    struct block *moved = take_block(bytes);
    if (moved == NULL)
        return NULL;
    size_t kept = block_size(b) - HEADER;
    memcpy(payload(moved), old, kept);
    count(&mm_counts.copied, kept);
    mm_free(old);
    return payload(moved);
}

/* Take a block large enough to hold an aligned one, then release what lies before and after that one. */
static void *mm_aligned_alloc(size_t alignment, size_t payload_bytes)
{
    validate("aligned_alloc");
    size_t bytes = block_bytes_for(payload_bytes);
    struct block *b = take_block(bytes + alignment + MIN_BLOCK);
    if (b == NULL)
        return NULL;
    size_t gap = round_up((uintptr_t)payload(b), alignment) - (uintptr_t)payload(b);
    while (gap != 0 && gap < MIN_BLOCK)
        gap += alignment;
    if (gap != 0) {
        struct block *before = b;
        b = split(before, gap);
        release(before);
    }
    trim(b, bytes);
    return payload(b);
}

static void mm_init(void) { memset(&heap, 0, sizeof heap); }

/* ---- Walking ---- */

static inline bool visit_block(const struct block *b, int list, mm_visitor *visit, void *context)
{
    struct mm_block block = {memory_offset(b), block_size(b), payload(b), block_state(b), list};
    return visit(&block, context);
}

static void mm_walk(mm_visitor *visit, void *context)
{
    bool more = true;
    for (const struct block *b = first_block(); b != NULL && more; b = next_block(b))
        more = visit_block(b, -1, visit, context);
}

#endif
