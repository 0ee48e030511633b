/*
 * pool.c - see pool.h.
 *
 * A block is cut from the newest chunk by moving one pointer. A freed block goes to the free list of its
 * exact size and is never merged or split: what merging would win, pool_destroy() wins all at once. A block
 * too large for the free lists is a chunk of its own.
 *
 *       0       16       24
 *       | links | header | payload ... | header | payload ... | not used yet |      a chunk
 */
#include "pool.h"
#include "bits.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A block starts at 8 modulo 16, so that its payload is aligned. */
struct block {
    size_t header; /* size of the whole block, a multiple of 16, + USED */
    struct block *next; /* in its free list, while it is free; else the payload starts here */
};

enum {
    HEADER = offsetof(struct block, next),
    USED = 1,
    LARGEST = 1024, /* the largest block that free lists keep */
    START = sizeof(struct chunk) + HEADER, /* where the first block of a chunk is */
};

/*
 * Invariants:
 *   next <= end, and both are 8 modulo 16, for blocks are cut from next on
 *   a block in free_lists[i] has the size 16 * i, and is not USED
 */
struct pool {
    struct chunk_source source;
    char *next; /* the next block is cut here ... */
    char *end; /* ... up to here */
    struct block *free_lists[LARGEST / MM_ALIGNMENT + 1];
};

static_assert(sizeof(struct pool) + START + LARGEST <= FIRST_CHUNK_BYTES, "else no block fits the first");

/* The pool lies at the start of its first chunk. */
static struct chunk *first_chunk(struct pool *pool) { return (struct chunk *)pool - 1; }

struct pool *pool_create(struct chunk_source source)
{
    struct chunk *first = chunk_take(&source, FIRST_CHUNK_BYTES);
    if (first == NULL)
        return NULL;
    struct pool *pool = (struct pool *)(first + 1);
    memset(pool, 0, sizeof *pool);
    pool->source = source;
    pool->next = (char *)pool + round_up(sizeof *pool, MM_ALIGNMENT) + HEADER;
    pool->end = (char *)first + FIRST_CHUNK_BYTES - HEADER;
    return pool;
}

static struct block *large_block(struct pool *pool, size_t bytes)
{
    struct chunk *c = chunk_add(first_chunk(pool), &pool->source, START + bytes);
    return c == NULL ? NULL : (struct block *)((char *)c + START);
}

/* The next block of a chunk; of a new one if the newest has too little left, which is lost: under LARGEST. */
static struct block *cut_block(struct pool *pool, size_t bytes)
{
    if ((size_t)(pool->end - pool->next) < bytes) {
        struct chunk *c = chunk_add(first_chunk(pool), &pool->source, CHUNK_BYTES);
        if (c == NULL)
            return NULL;
        pool->next = (char *)c + START;
        pool->end = (char *)c + CHUNK_BYTES - HEADER;
    }
    struct block *b = (struct block *)pool->next;
    pool->next += bytes;
    return b;
}

void *pool_alloc(struct pool *pool, size_t payload_bytes)
{
    if (payload_bytes > MM_MAX_PAYLOAD - START - HEADER) {
        errno = ENOMEM;
        return NULL;
    }
    size_t bytes = round_up(payload_bytes + HEADER, MM_ALIGNMENT);
    struct block *b = bytes <= LARGEST ? pool->free_lists[bytes / MM_ALIGNMENT] : NULL;
    if (b != NULL)
        pool->free_lists[bytes / MM_ALIGNMENT] = b->next;
    else if ((b = bytes <= LARGEST ? cut_block(pool, bytes) : large_block(pool, bytes)) == NULL)
        return NULL;
    b->header = bytes | USED;
    return (char *)b + HEADER;
}

void pool_free(struct pool *pool, void *payload)
{
    if (payload == NULL)
        return;
    struct block *b = (struct block *)((char *)payload - HEADER);
    if ((b->header & USED) == 0) {
        fputs("pool_free: this block is free already, or is not from a pool\n", stderr);
        abort();
    }
    b->header &= ~(size_t)USED;
    if (b->header > LARGEST) {
        chunk_give_back((struct chunk *)((char *)b - START), &pool->source);
        return;
    }
    b->next = pool->free_lists[b->header / MM_ALIGNMENT];
    pool->free_lists[b->header / MM_ALIGNMENT] = b;
}

void pool_destroy(struct pool *pool)
{
    if (pool != NULL)
        chunks_give_back(first_chunk(pool), &pool->source);
}
