/*
 * guard.h - tell AddressSanitizer or Valgrind which bytes of the heap a caller may touch: live payloads, as large
 * as was asked for, and nothing else. Then they report a caller's use after free, or an overrun by one byte, with
 * their own report, over any stage.
 *
 * Only preload.c uses it. In the usual build the guarded_ functions are those of front.h and cost nothing. With
 * -DMM_GUARD=1 they mark for AddressSanitizer (manual poisoning), with 2 for Valgrind (client requests). The
 * stage itself must not be instrumented: it may touch everything.
 */
#ifndef MM_GUARD_H
#define MM_GUARD_H

#include "front.h"

#ifndef MM_GUARD
#define MM_GUARD 0
#endif

#if MM_GUARD == 1

#include <sanitizer/asan_interface.h>

static inline void guard_forbid(const void *p, size_t bytes) { __asan_poison_memory_region(p, bytes); }
static inline void guard_allow(const void *p, size_t bytes) { __asan_unpoison_memory_region(p, bytes); }
static inline void guard_freed(const void *p, size_t usable) { guard_forbid(p, usable); }
static inline void guard_enter(void) {}
static inline void guard_leave(void) {}

#elif MM_GUARD == 2

#include <valgrind/memcheck.h>

static inline void guard_forbid(const void *p, size_t bytes) { VALGRIND_MAKE_MEM_NOACCESS(p, bytes); }
static inline void guard_allow(const void *p, size_t bytes) { VALGRIND_MALLOCLIKE_BLOCK(p, bytes, 0, 1); }
static inline void guard_freed(const void *p, size_t usable)
{
    (void)usable;
    VALGRIND_FREELIKE_BLOCK(p, 0);
}
/* What the stage does with its headers is its own business. */
static inline void guard_enter(void) { VALGRIND_DISABLE_ERROR_REPORTING; }
static inline void guard_leave(void) { VALGRIND_ENABLE_ERROR_REPORTING; }

#else

static inline void guard_forbid(const void *p, size_t bytes) { (void)p, (void)bytes; }
static inline void guard_allow(const void *p, size_t bytes) { (void)p, (void)bytes; }
static inline void guard_freed(const void *p, size_t usable) { (void)p, (void)usable; }
static inline void guard_enter(void) {}
static inline void guard_leave(void) {}

#endif

static size_t guard_heap_bytes; /* how much of the heap was marked so far */
static bool guard_is_on; /* AddressSanitizer itself calls malloc before it can mark */

#if MM_GUARD
static bool guard_allow_used(const struct mm_block *block, void *context)
{
    (void)context;
    if (block->state == MM_USED)
        guard_allow(block->payload, mm_allocator.usable_size(block->payload));
    return true;
}

/* From now on mark; of what was allocated before, all that is usable is allowed. */
__attribute__((constructor)) static void guard_start(void)
{
    guard_enter();
    if (memory.bytes != 0)
        guard_forbid(memory.start, memory.bytes);
    guard_heap_bytes = memory.bytes;
    mm_allocator.walk(guard_allow_used, NULL);
    guard_is_on = true;
    guard_leave();
}
#endif

/* The end of a call: what the heap grew by is nobody's, the payload is the caller's. */
static inline void *guard_given(void *payload, size_t bytes)
{
    if (guard_is_on && memory.bytes > guard_heap_bytes) {
        guard_forbid(memory.start + guard_heap_bytes, memory.bytes - guard_heap_bytes);
        guard_heap_bytes = memory.bytes;
    }
    guard_leave();
    if (guard_is_on && payload != NULL)
        guard_allow(payload, bytes);
    return payload;
}

static inline void *guarded_malloc(const struct mm_allocator *a, size_t bytes)
{
    guard_enter();
    return guard_given(front_malloc(a, bytes), bytes);
}

static inline void guarded_free(const struct mm_allocator *a, void *payload)
{
    guard_enter();
    size_t usable = guard_is_on ? front_usable_size(a, payload) : 0;
    front_free(a, payload);
    guard_leave();
    if (guard_is_on && payload != NULL)
        guard_freed(payload, usable);
}

static inline void *guarded_calloc(const struct mm_allocator *a, size_t count, size_t bytes)
{
    guard_enter();
    return guard_given(front_calloc(a, count, bytes), count * bytes);
}

/* The old block stays the caller's if there is no memory. */
static inline void *guarded_realloc(const struct mm_allocator *a, void *payload, size_t bytes)
{
    guard_enter();
    size_t usable = guard_is_on ? front_usable_size(a, payload) : 0;
    void *moved = front_realloc(a, payload, bytes);
    if (guard_is_on && payload != NULL && (moved != NULL || bytes == 0))
        guard_freed(payload, usable);
    return guard_given(moved, bytes);
}

static inline void *guarded_aligned_alloc(const struct mm_allocator *a, size_t alignment, size_t bytes)
{
    guard_enter();
    return guard_given(front_aligned_alloc(a, alignment, bytes), bytes);
}

static inline int guarded_posix_memalign(
    const struct mm_allocator *a, void **out, size_t alignment, size_t bytes)
{
    guard_enter();
    int error = front_posix_memalign(a, out, alignment, bytes);
    guard_given(error == 0 ? *out : NULL, bytes);
    return error;
}

#endif
