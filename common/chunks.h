/*
 * chunks.h - what the two pools stand on: memory in large pieces, all of it given back at once.
 *
 * Words:
 *   chunk    a large piece of memory that a pool took from its source, with two links at its start
 *   source   where chunks come from and go back to: malloc and free of any allocator
 *
 * A pool takes from an allocator and not from memory.h: the heap there belongs to one stage and only grows,
 * while a pool must be able to give its memory back, and a program has many pools.
 */
#ifndef MM_CHUNKS_H
#define MM_CHUNKS_H

#include "mm.h"
#include <assert.h>
#include <errno.h>

/* Memory aligned to 16, or NULL. A stage's table has two functions that fit, and so does the C library. */
struct chunk_source {
    void *(*take)(size_t bytes);
    void (*give_back)(void *memory);
};

/* All chunks of a pool are in a ring, whose first one holds the pool itself. */
struct chunk {
    struct chunk *next;
    struct chunk *prev;
};

/* A pool for three things should not cost 64 KiB; a chunk of 128 KiB glibc would map and unmap each time. */
enum { FIRST_CHUNK_BYTES = 4096, CHUNK_BYTES = 65536 };

static_assert(sizeof(struct chunk) % MM_ALIGNMENT == 0, "else what follows would not be aligned");

/* A chunk in a ring of its own; `bytes` counts struct chunk too. NULL: no memory, errno is ENOMEM. */
static inline struct chunk *chunk_take(const struct chunk_source *source, size_t bytes)
{
    struct chunk *c = source->take(bytes);
    if (c == NULL)
        errno = ENOMEM;
    else
        c->next = c->prev = c;
    return c;
}

/* One more chunk in the ring of `first`. */
static inline struct chunk *chunk_add(struct chunk *first, const struct chunk_source *source, size_t bytes)
{
    struct chunk *c = chunk_take(source, bytes);
    if (c != NULL) {
        c->prev = first;
        c->next = first->next;
        c->prev->next = c->next->prev = c;
    }
    return c;
}

static inline void chunk_give_back(struct chunk *c, const struct chunk_source *source)
{
    c->prev->next = c->next;
    c->next->prev = c->prev;
    source->give_back(c);
}

/* The whole ring; the source may be on record in its first chunk, which therefore goes last. */
static inline void chunks_give_back(struct chunk *first, const struct chunk_source *source)
{
    while (first->next != first)
        chunk_give_back(first->next, source);
    source->give_back(first);
}

#endif
