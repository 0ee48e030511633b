/* pool.c - the two pools: their payloads, what they take from their source, that they give it all back. */
#include "pool.h"
#include "bits.h"
#include "item_pool.h"
#include "pattern.h"
#include "used.h"
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>

/* ---- A source that counts, hands out dirty memory, and fails on demand ---- */

enum { DIRT = 0xa5 };

static size_t taken, given_back, failing; /* failing: the number of the call that fails; 0: none does */

static void *take(size_t bytes)
{
    if (++taken == failing) {
        taken--;
        failing = 0;
        return NULL;
    }
    void *memory = malloc(bytes);
    cr_assert_not_null(memory);
    return memset(memory, DIRT, bytes);
}

static void give_back(void *memory)
{
    given_back++;
    free(memory);
}

static const struct chunk_source source = {take, give_back};

static size_t chunks_held(void) { return taken - given_back; }

static void fail_next(void) { failing = taken + 1; }

static uint64_t next_random(void)
{
    static uint64_t x = 88172645463325252;
    x ^= x << 13;
    x ^= x >> 7;
    return x ^= x << 17;
}

/* ---- The general pool ---- */

enum { LIVE = 200, STEPS = 20000 };

/* Blocks of all sizes come and go; each keeps what was written to it. */
Test(pool, payloads_are_aligned_and_apart)
{
    struct pool *pool = pool_create(source);
    void *payloads[LIVE] = {NULL};
    size_t sizes[LIVE] = {0};
    for (uint64_t step = 0; step < STEPS; step++) {
        size_t i = next_random() % LIVE;
        if (payloads[i] != NULL) {
            cr_assert_eq(pattern_difference(payloads[i], sizes[i], i), sizes[i], "block %zu was changed", i);
            pool_free(pool, payloads[i]);
        }
        sizes[i] = next_random() % (step % 10 == 0 ? 200000 : 1200);
        payloads[i] = pool_alloc(pool, sizes[i]);
        cr_assert(is_aligned(payloads[i], MM_ALIGNMENT), "%zu bytes", sizes[i]);
        pattern_fill(payloads[i], sizes[i], i);
    }
    for (size_t i = 0; i < LIVE; i++)
        cr_assert_eq(pattern_difference(payloads[i], sizes[i], i), sizes[i], "block %zu was changed", i);
    pool_destroy(pool);
    cr_assert_eq(chunks_held(), 0);
}

/* The sizes around which something changes: a block's 16 bytes, the largest of the free lists, a chunk. */
Test(pool, every_size_up_to_a_chunk)
{
    struct pool *pool = pool_create(source);
    static void *payloads[2 * CHUNK_BYTES];
    size_t step = 1;
    for (size_t bytes = 0; bytes < 2 * CHUNK_BYTES; bytes += step) {
        payloads[bytes] = pool_alloc(pool, bytes);
        pattern_fill(payloads[bytes], bytes, bytes);
        step = bytes < 1100 ? 1 : bytes < CHUNK_BYTES - 64 ? 997 : bytes < CHUNK_BYTES + 64 ? 1 : 997;
    }
    for (size_t bytes = 0; bytes < 2 * CHUNK_BYTES; bytes++)
        if (payloads[bytes] != NULL)
            cr_assert_eq(pattern_difference(payloads[bytes], bytes, bytes), bytes, "%zu bytes", bytes);
    pool_destroy(pool);
    cr_assert_eq(chunks_held(), 0);
}

Test(pool, a_freed_block_serves_the_next_of_its_size)
{
    struct pool *pool = pool_create(source);
    void *p = pool_alloc(pool, 100);
    pool_free(pool, p);
    cr_assert_neq(pool_alloc(pool, 130), p, "130 bytes do not fit in the block of 100");
    cr_assert_eq(pool_alloc(pool, 100), p);
    cr_assert_neq(pool_alloc(pool, 100), p, "it is in use again");
    pool_destroy(pool);
}

Test(pool, building_again_takes_no_more_memory)
{
    struct pool *pool = pool_create(source);
    static void *payloads[10000];
    size_t held = 0;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 10000; i++)
            payloads[i] = pool_alloc(pool, i % 500);
        cr_assert(round == 0 || chunks_held() == held);
        held = chunks_held();
        for (size_t i = 0; i < 10000; i++)
            pool_free(pool, payloads[i]);
    }
    pool_destroy(pool);
}

Test(pool, a_large_block_goes_back_when_freed)
{
    struct pool *pool = pool_create(source);
    void *before = pool_alloc(pool, 1 << 20), *p = pool_alloc(pool, 1 << 20),
         *after = pool_alloc(pool, 1 << 20);
    size_t held = chunks_held();
    pool_free(pool, p);
    cr_assert_eq(chunks_held(), held - 1);
    pool_free(pool, before);
    pool_free(pool, after);
    cr_assert_eq(chunks_held(), held - 3);
    pool_destroy(pool);
    cr_assert_eq(chunks_held(), 0);
}

Test(pool, destroying_costs_a_call_per_chunk)
{
    struct pool *pool = pool_create(source);
    for (int i = 0; i < 65536; i++)
        pool_alloc(pool, 24); /* 32 with its header */
    size_t held = chunks_held();
    cr_assert_leq(held, 65536 * 32 / (CHUNK_BYTES - 64) + 1);
    pool_destroy(pool);
    cr_assert_eq(given_back, held);
}

Test(pool, out_of_memory)
{
    fail_next();
    errno = 0;
    cr_assert_null(pool_create(source));
    cr_assert_eq(errno, ENOMEM);

    struct pool *pool = pool_create(source);
    char *kept = pool_alloc(pool, 1000);
    pattern_fill(kept, 1000, 1);
    for (size_t bytes = 1000; bytes <= 100000; bytes *= 10) {
        void *p;
        errno = 0;
        fail_next();
        while ((p = pool_alloc(pool, bytes)) != NULL)
            ;
        cr_assert_eq(errno, ENOMEM);
        cr_assert_not_null(pool_alloc(pool, bytes), "the pool is usable again when there is memory");
    }
    cr_assert_eq(pattern_difference(kept, 1000, 1), 1000);
    pool_destroy(pool);
    cr_assert_eq(chunks_held(), 0);
}

Test(pool, impossible_sizes)
{
    struct pool *pool = pool_create(source);
    size_t held = chunks_held();
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 8, SIZE_MAX / 2 + 1, MM_MAX_PAYLOAD};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        errno = 0;
        cr_assert_null(pool_alloc(pool, sizes[i]), "%zu bytes", sizes[i]);
        cr_assert_eq(errno, ENOMEM);
    }
    cr_assert_eq(chunks_held(), held, "the source was not even asked");
    pool_destroy(pool);
}

Test(pool, null_is_let_pass)
{
    struct pool *pool = pool_create(source);
    pool_free(pool, NULL);
    pool_destroy(pool);
    pool_destroy(NULL);
    cr_assert_eq(chunks_held(), 0);
}

Test(pool, a_double_free_aborts, .signal = SIGABRT)
{
    struct pool *pool = pool_create(source);
    void *p = pool_alloc(pool, 100);
    pool_free(pool, p);
    pool_free(pool, p);
}

/* ---- The item pool ---- */

Test(item_pool, items_are_aligned_and_apart)
{
    const size_t sizes[] = {
        1, 8, 12, 16, 24, 40, 48, 100, 1000, 4096, 30000, CHUNK_BYTES - sizeof(struct chunk)};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct item_pool *pool = item_pool_create(source, sizes[s]);
        void *items[LIVE] = {NULL};
        for (size_t step = 0; step < 10 * LIVE; step++) {
            size_t i = next_random() % LIVE;
            if (items[i] != NULL) {
                cr_assert_eq(
                    pattern_difference(items[i], sizes[s], i), sizes[s], "an item of %zu bytes", sizes[s]);
                item_pool_free(pool, items[i]);
            }
            items[i] = item_pool_alloc(pool);
            cr_assert(is_aligned(items[i], sizes[s] % MM_ALIGNMENT == 0 ? MM_ALIGNMENT : sizeof(void *)));
            pattern_fill(items[i], sizes[s], i);
        }
        for (size_t i = 0; i < LIVE; i++)
            if (items[i] != NULL)
                cr_assert_eq(
                    pattern_difference(items[i], sizes[s], i), sizes[s], "an item of %zu bytes", sizes[s]);
        item_pool_destroy(pool);
        cr_assert_eq(chunks_held(), 0);
    }
}

Test(item_pool, the_item_freed_last_is_used_first)
{
    struct item_pool *pool = item_pool_create(source, 24);
    void *a = item_pool_alloc(pool), *b = item_pool_alloc(pool);
    item_pool_free(pool, a);
    item_pool_free(pool, b);
    cr_assert_eq(item_pool_alloc(pool), b);
    cr_assert_eq(item_pool_alloc(pool), a);
    item_pool_destroy(pool);
}

/* No headers: a chunk is full of items. */
Test(item_pool, an_item_costs_its_own_bytes)
{
    enum { ITEMS = 100000, ITEM_BYTES = 8 };
    struct item_pool *pool = item_pool_create(source, ITEM_BYTES);
    for (int i = 0; i < ITEMS; i++)
        item_pool_alloc(pool);
    size_t per_chunk = (CHUNK_BYTES - sizeof(struct chunk)) / ITEM_BYTES;
    cr_assert_leq(chunks_held(), 1 + (ITEMS + per_chunk - 1) / per_chunk);
    size_t held = chunks_held();
    item_pool_destroy(pool);
    cr_assert_eq(given_back, held);
}

Test(item_pool, out_of_memory)
{
    fail_next();
    errno = 0;
    cr_assert_null(item_pool_create(source, 24));
    cr_assert_eq(errno, ENOMEM);

    struct item_pool *pool = item_pool_create(source, 24);
    void *first = item_pool_alloc(pool);
    errno = 0;
    fail_next();
    while (item_pool_alloc(pool) != NULL)
        ;
    cr_assert_eq(errno, ENOMEM);
    item_pool_free(pool, first);
    cr_assert_eq(item_pool_alloc(pool), first, "what was freed needs no memory");
    cr_assert_not_null(item_pool_alloc(pool), "the pool is usable again when there is memory");
    item_pool_destroy(pool);
    cr_assert_eq(chunks_held(), 0);
}

Test(item_pool, impossible_sizes)
{
    const size_t sizes[] = {0, CHUNK_BYTES, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        errno = 0;
        cr_assert_null(item_pool_create(source, sizes[i]), "items of %zu bytes", sizes[i]);
        cr_assert_eq(errno, EINVAL);
    }
    cr_assert_eq(taken, 0);
}

Test(item_pool, null_is_let_pass)
{
    struct item_pool *pool = item_pool_create(source, 24);
    item_pool_free(pool, NULL);
    item_pool_destroy(pool);
    item_pool_destroy(NULL);
    cr_assert_eq(chunks_held(), 0);
}

/* ---- Both, over a stage ---- */

Test(pools, over_a_stage)
{
    struct chunk_source stage = {mm_allocator.malloc, mm_allocator.free};
    struct pool *pool = pool_create(stage);
    struct item_pool *items = item_pool_create(stage, 24);
    for (size_t i = 0; i < 10000; i++) {
        pattern_fill(pool_alloc(pool, i), i, i);
        pattern_fill(item_pool_alloc(items), 24, i);
    }
    cr_assert_gt(used_blocks(), 2);
    cr_assert_eq(mm_allocator.check().invariant, 0, "a pool wrote outside of its chunks");
    pool_destroy(pool);
    item_pool_destroy(items);
    cr_assert_eq(mm_allocator.check().invariant, 0);
    cr_assert_eq(used_blocks(), 0);
}
