/*
 * front.h - the policy of malloc and its kin, the same in front of every stage.
 *
 * What the standards say of size 0, NULL, overflow and errno stands here once, so that a stage has simple
 * preconditions. docs/contract.md compares C11, C23, POSIX and glibc row by row. Everything is inline: where
 * the table is known at compile time (preload.c) the stage's function is inlined and costs no second call.
 */
#ifndef MM_FRONT_H
#define MM_FRONT_H

#include "bits.h"
#include "count.h"
#include "memory.h"
#include "mm.h"
#include <errno.h>
#include <string.h>

/* malloc(0) is a pointer of its own that can be freed, as in glibc: it takes a minimum block. */
static inline void *front_malloc(const struct mm_allocator *a, size_t bytes)
{
    if (!a->own_checks && bytes > MM_MAX_PAYLOAD)
        return memory_refuse();
    return a->malloc(bytes);
}

/* free keeps errno, as POSIX 2024 asks. */
static inline void front_free(const struct mm_allocator *a, void *payload)
{
    if (a->own_checks || payload != NULL)
        a->free(payload);
}

/* count * bytes; when that overflows a size that no malloc grants. */
static inline size_t front_product(size_t count, size_t bytes)
{
    size_t product;
    return __builtin_mul_overflow(count, bytes, &product) ? SIZE_MAX : product;
}

/* How far into a free block, from either end, or from where the heap ended, a stage may write. */
enum { FRONT_TRACES = 64 };

/*
 * Clear a payload that malloc just returned; before that call the heap was `heap_bytes` large. What the heap
 * grew by since is fresh from the system, so it is zero already, but for traces of the stage (glibc does so
 * at the end of its heap). With several threads the growth may be another's: clear all.
 */
static inline void front_clear(const struct mm_allocator *a, void *payload, size_t bytes, size_t heap_bytes)
{
    size_t start = memory_offset(payload);
    size_t fresh = (start > heap_bytes ? start : heap_bytes) + FRONT_TRACES;
    if (a->thread_safe || !memory_contains(payload) || fresh + FRONT_TRACES > start + bytes) {
        memset(payload, 0, bytes);
        count(&mm_counts.cleared, bytes);
    } else {
        memset(payload, 0, fresh - start);
        memset((char *)payload + bytes - FRONT_TRACES, 0, FRONT_TRACES);
        count(&mm_counts.cleared, fresh - start + FRONT_TRACES);
    }
}

/* Zeroed, also where the memory is reused. */
static inline void *front_calloc(const struct mm_allocator *a, size_t count, size_t bytes)
{
    size_t total = front_product(count, bytes);
    if (a->calloc != NULL)
        return a->calloc(total);
    size_t heap_bytes = a->thread_safe ? 0 : memory.bytes;
    void *payload = front_malloc(a, total);
    if (payload != NULL)
        front_clear(a, payload, total, heap_bytes);
    return payload;
}

/* realloc(p, 0) frees p and returns NULL, as in glibc. (C23 makes it undefined: do not rely on it.) */
static inline void *front_realloc(const struct mm_allocator *a, void *payload, size_t bytes)
{
    if (payload == NULL)
        return front_malloc(a, bytes);
    if (bytes == 0) {
        a->free(payload);
        return NULL;
    }
    if (bytes > MM_MAX_PAYLOAD)
        return memory_refuse();
    return a->realloc(payload, bytes);
}

/* The alignment must be a power of two, else errno is EINVAL; the size need not be a multiple of it (C17). */
static inline void *front_aligned_alloc(const struct mm_allocator *a, size_t alignment, size_t bytes)
{
    if (!is_power_of_two(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    if (alignment <= MM_ALIGNMENT)
        return front_malloc(a, bytes);
    if (bytes > MM_MAX_PAYLOAD || alignment > MM_MAX_PAYLOAD / 4 || bytes > MM_MAX_PAYLOAD - 2 * alignment)
        return memory_refuse();
    return a->aligned_alloc(alignment, bytes);
}

/* Returns 0, EINVAL or ENOMEM; errno and *out stay as they were unless it returns 0. */
static inline int front_posix_memalign(
    const struct mm_allocator *a, void **out, size_t alignment, size_t bytes)
{
    if (!is_power_of_two(alignment) || alignment % sizeof(void *) != 0)
        return EINVAL;
    int saved = errno;
    void *payload = front_aligned_alloc(a, alignment, bytes);
    errno = saved;
    if (payload == NULL)
        return ENOMEM;
    *out = payload;
    return 0;
}

/* 0 for NULL. */
static inline size_t front_usable_size(const struct mm_allocator *a, const void *payload)
{
    return payload == NULL ? 0 : a->usable_size(payload);
}

#endif
