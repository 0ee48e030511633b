/*
 * limit.h - what the two limits have in common: allocators that leave out most of an allocator's work, to show
 * how far the best are from the floor. Not for use: one thread only, and memory is given up with a light heart.
 *
 *   bump       takes the next bytes, never frees: the shortest malloc there can be
 *   freelist   one list of freed blocks for each size class: no splitting, no merging, no checks
 *
 * Expects nothing; gives them fresh memory, blocks with one word before the payload, and calloc.
 */
#ifndef BENCH_LIMIT_H
#define BENCH_LIMIT_H

#include "bits.h"
#include "memory.h"
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { WORD = sizeof(size_t) };

static const size_t CHUNK = (size_t)1 << 20, MOST_BYTES = PTRDIFF_MAX / 2;

static char *top, *end; /* memory not handed out yet; top is 8 modulo 16 */

/* The next `bytes`, a multiple of 16; NULL: no memory. */
static inline char *take_fresh(size_t bytes)
{
    if (bytes > (size_t)(end - top)) {
        char *grown = memory_grow(round_up(bytes, CHUNK) + CHUNK);
        if (grown == NULL)
            return NULL;
        if (top == NULL)
            top = grown + WORD;
        end = memory.start + memory.bytes - WORD;
    }
    char *block = top;
    top += bytes;
    return block;
}

EXPORT void *malloc(size_t bytes);
EXPORT void free(void *payload);
EXPORT void *calloc(size_t n, size_t bytes);
EXPORT void *realloc(void *payload, size_t bytes);

void *calloc(size_t n, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(n, bytes, &total))
        return NULL;
    void *payload = malloc(total);
    return payload == NULL ? NULL : memset(payload, 0, total);
}

#endif
