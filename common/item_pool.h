/*
 * item_pool.h - a memory pool for items of one size, all of which can be given back in one call.
 *
 * Its sibling pool.h serves any size. Here the pool knows the size, so that an item needs no header: it costs
 * its own bytes and nothing else, but nothing can tell a double free. Chapter: docs/pools.md
 *
 * Not safe for use by several threads at once: give each thread a pool.
 */
#ifndef MM_ITEM_POOL_H
#define MM_ITEM_POOL_H

#include "chunks.h"

struct item_pool;

/*
 * A pool of items of this size (at most a chunk's), over this source, for instance {malloc, free}. An item
 * takes its size rounded up to a multiple of 8, and is aligned for any type of that size.
 * NULL: no memory (errno ENOMEM), or a size of 0 or too large (errno EINVAL).
 */
struct item_pool *item_pool_create(struct chunk_source source, size_t item_bytes);

/* NULL: no memory, errno is ENOMEM. O(1). */
void *item_pool_alloc(struct item_pool *pool);

/* Back to the pool, for the next item_pool_alloc(); NULL is let pass. O(1). */
void item_pool_free(struct item_pool *pool, void *item);

/* All items, and the pool: back to the source. NULL is let pass. O(chunks). */
void item_pool_destroy(struct item_pool *pool);

#endif
