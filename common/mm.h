/*
 * mm.h - the one interface that every stage implements.
 *
 * A stage is one file, stages/N-name/mm.c. It defines static functions called mm_malloc, mm_free, ...
 * and exports one symbol: the table `mm_allocator` at its end. Tests, benchmark and the preload library
 * know a stage by that table alone.
 *
 * Words used everywhere in the lab:
 *   heap          the one contiguous region that the memory source (memory.h) hands to a stage
 *   block         a piece of the heap: header, then payload (then, in stage 5, a footer while free)
 *   header        what the allocator must remember about a block, just before its payload
 *   payload       the bytes that belong to the caller while the block is used
 *   free list     a linked list of the free blocks, its links kept in their payloads
 *   size class    a range of block sizes that share one free list
 *   quick bin     a list of freed blocks of one exact size that were not coalesced, so as to be reused quickly
 *   split         cut a free block that is too large: the first part is used, the rest stays free
 *   coalesce      merge a free block with free neighbours into one larger block
 *   utilisation   peak payload bytes asked for / peak heap bytes
 *
 * Sizes are in bytes. `payload_bytes` is what a caller asks for, `block_bytes` is header and rounding included.
 * An offset is a distance in bytes from the start of the heap: the same in each run, unlike an address.
 */
#ifndef MM_H
#define MM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Every payload is aligned to this: alignof(max_align_t) on x86-64 and arm64. SSE code relies on it. */
enum { MM_ALIGNMENT = 16 };

enum mm_state {
    MM_USED, /* its payload belongs to a caller */
    MM_FREE, /* coalesced, and in a free list if the stage has one */
    MM_QUICK, /* freed, but waiting uncoalesced in a quick bin (stages 4 and up) */
    MM_NO_BLOCK, /* no block starts here, or its header is damaged; a walk never reports it */
};

/* A block as the walkers below report it. */
struct mm_block {
    size_t offset; /* of the header, from the start of the heap */
    size_t block_bytes; /* header, payload and all */
    const void *payload; /* where a caller's bytes are or would be */
    enum mm_state state;
    int list; /* number of the free list or quick bin; -1 from walk() */
};

/* Called for each block; returns whether to go on. */
typedef bool mm_visitor(const struct mm_block *block, void *context);

/*
 * What check() found. `invariant` is the number of the first invariant that does not hold, as numbered at
 * the top of the stage (I1, I2, ...; a number means the same in every stage), or 0 when the heap is sound.
 */
struct mm_fault {
    int invariant;
    size_t offset; /* of the block where it was seen */
    const char *what; /* in words, static */
};

/* Ways in which a caller can misuse the heap. Each has a section in docs/faults.md. */
enum mm_misuse {
    MM_DOUBLE_FREE = 1, /* E01 */
    MM_INSIDE_BLOCK = 2, /* E02: malloc never returned this pointer */
    MM_OUTSIDE_HEAP = 3, /* E03 */
    MM_MISALIGNED = 4, /* E04 */
    MM_HEADER_DAMAGED = 5, /* E05: somebody wrote past the end of a payload */
    MM_MISUSE_KINDS = 5,
};

/*
 * The functions of a stage have simple preconditions, because front.h has dealt with the rest: sizes are 0 to
 * MM_MAX_PAYLOAD (realloc: from 1), pointers are not NULL. They return NULL only when the memory source has no
 * more memory; then errno is ENOMEM and the heap is as it was before.
 */
struct mm_allocator {
    const char *name; /* the idea, as in the folder's name: "implicit-list" */
    int stage; /* 1 .. 6 */
    size_t header_bytes; /* metadata of a used block */
    size_t least_listed; /* free blocks of fewer bytes are in no list; 0: all are */
    bool thread_safe; /* several threads may call it at once; else preload.c puts a lock around it */
    bool own_checks; /* malloc takes any size and free takes NULL: a short way need not check twice */

    /* Which misuse a call reports. Every stage reports a plain double free, and pointers that lie outside the
     * heap or are not aligned. */
    bool detects_inside_block; /* a pointer into the middle of a block (E02) */
    bool detects_damage; /* a header overwritten by the block before it (E05) */

    void (*init)(void); /* forget every block; call memory_reset() first. A zeroed stage needs no init. */
    void *(*malloc)(size_t payload_bytes);
    void (*free)(void *payload);
    void *(*realloc)(void *payload, size_t payload_bytes); /* NULL: the old block is untouched */
    void *(*aligned_alloc)(size_t alignment, size_t payload_bytes); /* a power of two over MM_ALIGNMENT */
    void *(*calloc)(size_t payload_bytes); /* NULL: malloc, and clear it */
    size_t (*usable_size)(const void *payload); /* at least what was asked for */
    struct mm_fault (*check)(void); /* all invariants: O(blocks) */
    void (*walk)(mm_visitor *visit, void *context); /* all blocks, in address order */
    void (*walk_lists)(mm_visitor *visit, void *context); /* free lists; NULL if there are none */
    void (*before_fork)(void); /* if thread_safe: no other thread may hold a lock while the process forks */
    void (*after_fork)(void);
};

extern const struct mm_allocator mm_allocator;

/* The largest payload, more than any heap here has room for: sums of sizes up to it cannot overflow. */
static const size_t MM_MAX_PAYLOAD = ((size_t)1 << 42) - 4096;

#endif
