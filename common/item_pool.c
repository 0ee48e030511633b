/*
 * item_pool.c - see item_pool.h.
 *
 * An item is cut from the newest chunk by moving one pointer. A freed item goes to the one free list, its
 * link kept in the item itself.
 *
 *       0       16     16 + item_bytes
 *       | links | item | item | item | ... | not used yet |      a chunk
 */
#include "item_pool.h"
#include "bits.h"

struct item {
    struct item *next; /* in the free list, while the item is free */
};

static const size_t LARGEST = CHUNK_BYTES - sizeof(struct chunk);

/* Invariant: next <= end, and whole items fit between them. */
struct item_pool {
    struct chunk_source source;
    struct item *free_list;
    size_t item_bytes;
    char *next; /* the next item is cut here ... */
    char *end; /* ... up to here */
};

/* The pool lies at the start of its first chunk. */
static struct chunk *first_chunk(struct item_pool *pool) { return (struct chunk *)pool - 1; }

struct item_pool *item_pool_create(struct chunk_source source, size_t item_bytes)
{
    if (item_bytes == 0 || item_bytes > LARGEST) {
        errno = EINVAL;
        return NULL;
    }
    struct chunk *first = chunk_take(&source, FIRST_CHUNK_BYTES);
    if (first == NULL)
        return NULL;
    struct item_pool *pool = (struct item_pool *)(first + 1);
    *pool = (struct item_pool){.source = source};
    pool->item_bytes = round_up(item_bytes, sizeof(struct item));
    pool->next = (char *)pool + round_up(sizeof *pool, MM_ALIGNMENT);
    pool->end = (char *)first + FIRST_CHUNK_BYTES;
    return pool;
}

/* The next item of a chunk; of a new one if the newest is used up. */
static struct item *cut_item(struct item_pool *pool)
{
    if ((size_t)(pool->end - pool->next) < pool->item_bytes) {
        struct chunk *c = chunk_add(first_chunk(pool), &pool->source, CHUNK_BYTES);
        if (c == NULL)
            return NULL;
        pool->next = (char *)(c + 1);
        pool->end = (char *)c + CHUNK_BYTES;
    }
    struct item *item = (struct item *)pool->next;
    pool->next += pool->item_bytes;
    return item;
}

void *item_pool_alloc(struct item_pool *pool)
{
    struct item *item = pool->free_list;
    if (item == NULL)
        return cut_item(pool);
    pool->free_list = item->next;
    return item;
}

void item_pool_free(struct item_pool *pool, void *item)
{
    struct item *freed = item;
    if (freed == NULL)
        return;
    freed->next = pool->free_list;
    pool->free_list = freed;
}

void item_pool_destroy(struct item_pool *pool)
{
    if (pool != NULL)
        chunks_give_back(first_chunk(pool), &pool->source);
}
