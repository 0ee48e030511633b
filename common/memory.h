/*
 * memory.h - the memory source: the only code in the lab that asks the operating system for memory.
 *
 * One heap per process, contiguous, that only grows: the model of sbrk(). Address space is reserved once,
 * pages are committed as the heap grows, so growing never moves anything. Fresh memory reads as zero.
 */
#ifndef MM_MEMORY_H
#define MM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEMORY_ALIGNMENT = 65536 };

struct memory {
    char *start; /* NULL until the first growth; aligned to MEMORY_ALIGNMENT */
    size_t bytes; /* size of the heap now */
    size_t peak_bytes;
    size_t growths; /* calls of memory_grow() that succeeded */
    size_t attempts; /* all calls of memory_grow() */
};

extern struct memory memory;

/* Grow the heap by `bytes`, a multiple of 16. Returns the start of the new part, or NULL with errno ENOMEM. O(1). */
void *memory_grow(size_t bytes);

/*
 * A part of the heap, whole pages, whose contents are not needed: the system may have the memory until they are
 * written to again. Yes: it reads as zero now. No: nothing happened.
 */
bool memory_release(void *start, size_t bytes);

/*
 * Zeroed memory apart from the heap, for what a stage must know about it: so many bytes for each `unit` bytes that
 * the heap can ever have. What is not touched costs address space only. It is never given back. NULL: no memory.
 */
void *memory_table(size_t unit, size_t bytes);

/* Sets errno to ENOMEM and returns NULL. */
void *memory_refuse(void);

/* Empty the heap, and zero what was used of it. The limits below are lifted. */
void memory_reset(void);

/* Refuse to grow beyond this many bytes in all. SIZE_MAX: no limit. */
void memory_set_limit(size_t bytes);

/* Refuse the k-th call of memory_grow() from now (1: the next one), that one only. 0: none. */
void memory_fail_growth(size_t k);

/* Is this byte inside the heap? */
static inline bool memory_contains(const void *p)
{
    return (uintptr_t)p - (uintptr_t)memory.start < memory.bytes;
}

static inline size_t memory_offset(const void *p) { return (size_t)((uintptr_t)p - (uintptr_t)memory.start); }

#endif
