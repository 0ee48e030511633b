/*
 * preload.c - a stage as the malloc of a whole program: LD_PRELOAD=build/lib5-boundary-tags.so ls
 *
 * Compiled once for each stage, with -DMM_STAGE_FILE='"stages/.../mm.c"', so that policy (front.h) and
 * mechanism (the stage) are inlined into one function each. The benchmark opens the same file.
 *
 * Safe before main and when the dynamic loader calls calloc first, because a zeroed stage needs no init and
 * nothing here calls dlsym. Safe with threads: one lock around a stage that has none, which a process of a
 * single thread skips, as glibc does. Safe across fork: the lock, or a stage's own, is held while the process forks.
 */
#define _GNU_SOURCE /* pthread_atfork, memalign and the like */
#include "guard.h"
#include "single.h"
#include MM_STAGE_FILE
#include <pthread.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static const struct mm_allocator *const stage = &mm_allocator;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(void)
{
    if (!stage->thread_safe)
        pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    if (!stage->thread_safe)
        pthread_mutex_unlock(&mutex);
}

/* Can no other thread be in the stage? Then there is no need to lock. */
static inline bool alone(void) { return stage->thread_safe || single_threaded(); }

__attribute__((constructor)) static void survive_fork(void)
{
    void (*hold)(void) = stage->thread_safe ? stage->before_fork : lock;
    void (*let_go)(void) = stage->thread_safe ? stage->after_fork : unlock;
    pthread_atfork(hold, let_go, let_go);
}

/* ---- With the lock; apart from the functions below, to keep those short for a process of one thread ---- */

#define APART static __attribute__((noinline))

APART void *locked_malloc(size_t bytes)
{
    lock();
    void *payload = guarded_malloc(stage, bytes);
    unlock();
    return payload;
}

APART void locked_free(void *payload)
{
    lock();
    guarded_free(stage, payload);
    unlock();
}

APART void *locked_calloc(size_t count, size_t bytes)
{
    lock();
    void *payload = guarded_calloc(stage, count, bytes);
    unlock();
    return payload;
}

APART void *locked_realloc(void *payload, size_t bytes)
{
    lock();
    void *moved = guarded_realloc(stage, payload, bytes);
    unlock();
    return moved;
}

/* ---- malloc and its kin ---- */

EXPORT void *malloc(size_t bytes) { return alone() ? guarded_malloc(stage, bytes) : locked_malloc(bytes); }

EXPORT void free(void *payload)
{
    if (alone())
        guarded_free(stage, payload);
    else
        locked_free(payload);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    return alone() ? guarded_calloc(stage, count, bytes) : locked_calloc(count, bytes);
}

EXPORT void *realloc(void *payload, size_t bytes)
{
    return alone() ? guarded_realloc(stage, payload, bytes) : locked_realloc(payload, bytes);
}

EXPORT void *reallocarray(void *payload, size_t count, size_t bytes)
{
    return realloc(payload, front_product(count, bytes));
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    lock();
    void *payload = guarded_aligned_alloc(stage, alignment, bytes);
    unlock();
    return payload;
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    lock();
    int error = guarded_posix_memalign(stage, out, alignment, bytes);
    unlock();
    return error;
}

/* The three below are old relatives that some programs still call. */
EXPORT void *memalign(size_t alignment, size_t bytes) { return aligned_alloc(alignment, bytes); }

EXPORT void *valloc(size_t bytes) { return aligned_alloc((size_t)sysconf(_SC_PAGESIZE), bytes); }

EXPORT void *pvalloc(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return aligned_alloc(page, bytes > MM_MAX_PAYLOAD ? bytes : round_up(bytes, page));
}

EXPORT size_t malloc_usable_size(void *payload)
{
    lock();
    size_t bytes = front_usable_size(stage, payload);
    unlock();
    return bytes;
}

/* For the benchmark: the largest size that the heap had so far, exactly; 0 if the stage gives memory back, or leaves
 * parts of its heap untouched: then what is resident tells more. */
EXPORT size_t mm_peak_heap_bytes(void);
size_t mm_peak_heap_bytes(void) { return stage->thread_safe ? 0 : memory.peak_bytes; }
