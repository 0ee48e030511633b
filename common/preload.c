/*
 * preload.c - a stage as the malloc of a whole program: LD_PRELOAD=build/lib5-boundary-tags.so ls
 *
 * Compiled once for each stage, with -DMM_STAGE_FILE='"stages/.../mm.c"', so that policy (front.h) and
 * mechanism (the stage) are inlined into one function each. The benchmark opens the same file.
 *
 * Safe before main and when the dynamic loader calls calloc first, because a zeroed stage needs no init and
 * nothing here calls dlsym. Safe with threads: one lock around a stage that has none, which a process of a
 * single thread skips, as glibc does. Safe across fork: the lock is held while the process forks.
 */
#define _GNU_SOURCE /* pthread_atfork, memalign and the like */
#include "front.h"
#include MM_STAGE_FILE
#include <pthread.h>
#include <unistd.h>

#if defined(__GLIBC__) && defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define SINGLE_THREADED __libc_single_threaded
#endif
#endif
#ifndef SINGLE_THREADED
#define SINGLE_THREADED false
#endif

#define EXPORT __attribute__((visibility("default")))

static const struct mm_allocator *const stage = &mm_allocator;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

/* Returns whether it locked: a process may get its second thread between a call's start and its end. */
static inline bool enter(void)
{
    if (stage->thread_safe || SINGLE_THREADED)
        return false;
    lock();
    return true;
}

static inline void leave(bool locked)
{
    if (locked)
        unlock();
}

__attribute__((constructor)) static void survive_fork(void) { pthread_atfork(lock, unlock, unlock); }

EXPORT void *malloc(size_t bytes)
{
    bool locked = enter();
    void *payload = front_malloc(stage, bytes);
    leave(locked);
    return payload;
}

EXPORT void free(void *payload)
{
    bool locked = enter();
    front_free(stage, payload);
    leave(locked);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    bool locked = enter();
    void *payload = front_calloc(stage, count, bytes);
    leave(locked);
    return payload;
}

EXPORT void *realloc(void *payload, size_t bytes)
{
    bool locked = enter();
    void *moved = front_realloc(stage, payload, bytes);
    leave(locked);
    return moved;
}

EXPORT void *reallocarray(void *payload, size_t count, size_t bytes)
{
    bool locked = enter();
    void *moved = front_reallocarray(stage, payload, count, bytes);
    leave(locked);
    return moved;
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    bool locked = enter();
    void *payload = front_aligned_alloc(stage, alignment, bytes);
    leave(locked);
    return payload;
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    bool locked = enter();
    int error = front_posix_memalign(stage, out, alignment, bytes);
    leave(locked);
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
    bool locked = enter();
    size_t bytes = front_usable_size(stage, payload);
    leave(locked);
    return bytes;
}
