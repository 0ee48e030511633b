/* memory.c - see memory.h. Linux and macOS: mmap to reserve, mprotect to commit. */
#if defined(__APPLE__)
#define _DARWIN_C_SOURCE
#else
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#endif
#include "memory.h"
#include "bits.h"
#include "count.h"
#include "mm.h"
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

struct memory memory;

/* Address space to reserve: tried first, then halved while the system refuses (ulimit -v, small machines). */
static const size_t RESERVE_BYTES = (size_t)64 << 30;
static const size_t RESERVE_LEAST_BYTES = (size_t)1 << 20;

/* Pages are committed in steps of this, so that few growths are system calls. */
static const size_t COMMIT_BYTES = (size_t)1 << 20;

static size_t reserved, committed;
static size_t limit = SIZE_MAX;
static size_t failing_attempt; /* 0: none */

static void reserve(void)
{
    for (size_t bytes = RESERVE_BYTES; bytes >= RESERVE_LEAST_BYTES; bytes /= 2) {
        void *start = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (start != MAP_FAILED) {
            memory.start = (char *)round_up((uintptr_t)start, MEMORY_ALIGNMENT);
            reserved = bytes - (size_t)(memory.start - (char *)start);
            return;
        }
    }
}

static bool commit(size_t bytes)
{
    if (bytes <= committed)
        return true;
    size_t wanted = round_up(bytes, COMMIT_BYTES);
    if (wanted > reserved)
        wanted = reserved;
    if (mprotect(memory.start + committed, wanted - committed, PROT_READ | PROT_WRITE) != 0)
        return false;
    committed = wanted;
    return true;
}

void *memory_grow(size_t bytes)
{
    int saved = errno; /* growing may try and fail inside; a growth that succeeds leaves errno alone */
    if (memory.start == NULL)
        reserve();
    memory.attempts++;
    if (memory.attempts == failing_attempt || reserved < memory.bytes || bytes > reserved - memory.bytes ||
        memory.bytes + bytes > limit || !commit(memory.bytes + bytes))
        return memory_refuse();
    char *grown = memory.start + memory.bytes;
    memory.bytes += bytes;
    if (memory.bytes > memory.peak_bytes)
        memory.peak_bytes = memory.bytes;
    memory.growths++;
    count(&mm_counts.grows, 1);
    errno = saved;
    return grown;
}

bool memory_release(void *start, size_t bytes)
{
    int saved = errno;
#if defined(__linux__)
    bool released = madvise(start, bytes, MADV_DONTNEED) == 0;
#else
    bool released = mmap(start, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                        0) != MAP_FAILED;
#endif
    errno = saved;
    return released;
}

void *memory_table(size_t unit, size_t bytes)
{
    int saved = errno;
    if (memory.start == NULL)
        reserve();
    void *table = mmap(NULL, (reserved / unit + 1) * bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED)
        return memory_refuse();
    errno = saved;
    return table;
}

void *memory_refuse(void)
{
    errno = ENOMEM;
    return NULL;
}

void memory_reset(void)
{
    if (memory.bytes <= COMMIT_BYTES) {
        if (memory.bytes != 0)
            memset(memory.start, 0, memory.bytes);
    } else if (mmap(memory.start, committed, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED) {
        committed = 0;
    } else {
        memset(memory.start, 0, memory.bytes);
    }
    memory.bytes = memory.peak_bytes = 0;
    memory.growths = memory.attempts = 0;
    limit = SIZE_MAX;
    failing_attempt = 0;
}

void memory_set_limit(size_t bytes) { limit = bytes; }

void memory_fail_growth(size_t k) { failing_attempt = k == 0 ? 0 : memory.attempts + k; }
