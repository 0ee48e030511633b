/*
 * pool.h - a general memory pool: memory of any size, all of which can be given back in one call.
 *
 * For things that die together: the nodes of a list, the parse of a file, what one request needed.
 * pool_destroy() gives back everything at a cost per chunk instead of per thing. item_pool.h is its sibling
 * for things of one size. Chapter: docs/pools.md
 *
 * Not safe for use by several threads at once: give each thread a pool.
 */
#ifndef MM_POOL_H
#define MM_POOL_H

#include "chunks.h"

struct pool;

/* A pool over this source, for instance {malloc, free}. NULL: no memory, errno is ENOMEM. */
struct pool *pool_create(struct chunk_source source);

/* Memory aligned to 16, 8 bytes more than asked and rounded up. NULL: no memory, errno is ENOMEM. O(1). */
void *pool_alloc(struct pool *pool, size_t bytes);

/* Back to the pool, for the next pool_alloc() of that size; NULL is let pass. A double free aborts. O(1). */
void pool_free(struct pool *pool, void *payload);

/* Everything that came from this pool, and the pool: back to the source. NULL is let pass. O(chunks). */
void pool_destroy(struct pool *pool);

#endif
