/*
 * record.c - writes down each call of malloc and its kin that a program makes: `make record` preloads it.
 *
 * Each call is made and logged under one lock, so that the log is a serial history that really happened: no
 * address is given out in it before it was freed. The log is a file mapped into memory, shared: nothing is
 * lost when the program ends by _exit, exec or a signal, nothing needs to be flushed, and no file descriptor
 * stays open. Nothing here allocates, and the calls go straight to glibc's own names for its malloc, so that
 * there is no dlsym that could call malloc before it is found.
 *
 * Each process image has a log of its own. The log of a forked process refers to its parent's, for it
 * inherits the parent's heap; a process made by exec starts afresh.
 *
 * Limits: glibc only; not for programs that bring a malloc of their own (said when they start) or are linked
 * statically. A process made by a bare clone(), around fork(), would write into its parent's log.
 */
#define _GNU_SOURCE /* MAP_POPULATE, RTLD_NEXT, strerrordesc_np */
#include "record.h"
#include "bits.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* glibc's malloc under the names that nothing interposes. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *payload, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *payload);

#define EXPORT __attribute__((visibility("default")))

/* ---- The log ---- */

enum {
    WINDOW_BYTES = RECORD_WINDOW_WORDS * sizeof(uint64_t),
    CALL_WORDS = 3, /* the longest call */
    PATH_BYTES = 4096,
};

static struct {
    uint64_t *window; /* the part of the file that is mapped; NULL: no log is open */
    size_t used; /* words of the window */
    size_t windows; /* how many there were before this one */
    char path[PATH_BYTES]; /* absolute, for the program may change its directory */
    char parent[RECORD_NAME_BYTES];
    uint64_t inherited_words;
    bool off; /* nothing is recorded, or nothing any more */
} record;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(void) { pthread_mutex_lock(&mutex); }
static void unlock(void) { pthread_mutex_unlock(&mutex); }

/* Without allocating: the lock may be held. */
static void complain(const char *subject, const char *what)
{
    char line[PATH_BYTES + 256];
    int length = snprintf(line, sizeof line, "record: %s: %s\n", subject, what);
    if (length > 0)
        (void)!write(STDERR_FILENO, line, (size_t)length);
}

/* Map window `k` of the open file, which grows for it. The disk blocks are taken now: no SIGBUS later. */
static uint64_t *map_window(int file, size_t k)
{
    off_t offset = (off_t)(k * WINDOW_BYTES);
    do {
        errno = posix_fallocate(file, offset, WINDOW_BYTES);
    } while (errno == EINTR);
    if (errno != 0)
        return NULL;
    void *window = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, offset);
    return window == MAP_FAILED ? NULL : window;
}

/* The file is opened again for each window: a descriptor kept would change the numbers of the program's. */
static uint64_t *map_next_window(void)
{
    int file = open(record.path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return NULL;
    uint64_t *window = map_window(file, record.windows + 1);
    close(file);
    return window;
}

/* Make the file PID.K in the directory that the environment names: K counts the images that exec made. */
static int create_file(void)
{
    const char *directory = getenv(RECORD_VARIABLE);
    if (directory == NULL)
        return -1;
    int file = -1;
    for (unsigned k = 0; file < 0 && (k == 0 || errno == EEXIST); k++) {
        snprintf(record.path, sizeof record.path, "%s/%ld.%u", directory, (long)getpid(), k);
        file = open(record.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    if (file < 0)
        complain(record.path, strerrordesc_np(errno));
    return file;
}

static bool open_log(void)
{
    int file = create_file();
    if (file < 0)
        return false;
    record.window = map_window(file, 0);
    if (record.window == NULL)
        complain(record.path, strerrordesc_np(errno));
    close(file);
    if (record.window == NULL)
        return false;
    record.windows = 0;
    record.used = RECORD_HEADER_WORDS;

    struct record_header *header = (struct record_header *)record.window;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    header->started_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    prctl(PR_GET_NAME, header->program);
    memcpy(header->parent, record.parent, sizeof header->parent);
    header->inherited_words = record.inherited_words;
    memcpy(header->magic, RECORD_MAGIC, sizeof header->magic);
    return true;
}

/* The window is full. Go on in the next, or never again if the disk is full. */
static void turn_window(void)
{
    uint64_t *next = map_next_window();
    if (next == NULL)
        complain(record.path, strerrordesc_np(errno));
    record.off = next == NULL;
    record.window[record.used] = next == NULL ? RECORD_LOST : RECORD_SKIP;
    munmap(record.window, WINDOW_BYTES);
    record.window = next;
    record.windows++;
    record.used = 0;
}

/* Have a window with room for a call. False: nothing is recorded. */
static bool make_room(void)
{
    if (record.off)
        return false;
    int saved = errno;
    if (record.window == NULL)
        record.off = !open_log();
    else
        turn_window();
    errno = saved;
    return !record.off;
}

/*
 * The lock is held. `words` is how many of the three count. The first is written last: a process may be
 * killed at any time, and a call that is not whole must read as the end.
 */
static inline void append(
    enum record_kind kind, const void *address, size_t words, uint64_t second, uint64_t third)
{
    bool room = record.window != NULL && record.used < RECORD_WINDOW_WORDS - CALL_WORDS;
    if (!room && !make_room())
        return;
    uint64_t *call = &record.window[record.used];
    if (words > 1)
        call[1] = second;
    if (words > 2)
        call[2] = third;
    atomic_signal_fence(memory_order_release);
    call[0] = (uintptr_t)address | kind;
    record.used += words;
}

/* ---- The life of a process ---- */

/* The child's log starts where the parent's stands now; its file is made when there is something to write. */
static void start_in_child(void)
{
    if (record.window != NULL) {
        const char *name = strrchr(record.path, '/') + 1;
        memset(record.parent, 0, sizeof record.parent);
        memcpy(record.parent, name, strnlen(name, sizeof record.parent - 1));
        record.inherited_words = record.windows * RECORD_WINDOW_WORDS + record.used;
        munmap(record.window, WINDOW_BYTES);
        record.window = NULL;
    }
    unlock();
}

/* Is the program's malloc the one of this file, and glibc's the next after it? */
static bool is_between(void)
{
    void *first = dlsym(RTLD_DEFAULT, "malloc"), *next = dlsym(RTLD_NEXT, "malloc");
    void *(*own)(size_t) = malloc, *(*glibc)(size_t) = __libc_malloc;
    return memcmp(&first, &own, sizeof first) == 0 && memcmp(&next, &glibc, sizeof next) == 0;
}

__attribute__((constructor)) static void start(void)
{
    if (getenv(RECORD_VARIABLE) != NULL && !is_between()) {
        char name[RECORD_NAME_BYTES] = "";
        prctl(PR_GET_NAME, name);
        complain(
            name, "it brings its own malloc, which cannot be recorded; record a program that uses libc's");
        _exit(2);
    }
    pthread_atfork(lock, unlock, start_in_child);
}

/* ---- malloc and its kin ---- */

EXPORT void *malloc(size_t bytes)
{
    lock();
    void *result = __libc_malloc(bytes);
    if (result != NULL)
        append(RECORD_MALLOC, result, 2, bytes, 0);
    else
        append(RECORD_FAILED, NULL, 1, 0, 0);
    unlock();
    return result;
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    lock();
    void *result = __libc_calloc(count, bytes);
    if (result != NULL)
        append(RECORD_CALLOC, result, 3, count, bytes);
    else
        append(RECORD_FAILED, NULL, 1, 0, 0);
    unlock();
    return result;
}

EXPORT void free(void *payload)
{
    lock();
    append(RECORD_FREE, payload, 1, 0, 0);
    __libc_free(payload);
    unlock();
}

/* realloc(p, 0) frees p and returns NULL: that is no failure. */
EXPORT void *realloc(void *payload, size_t bytes)
{
    lock();
    void *result = __libc_realloc(payload, bytes);
    if (result != NULL || (payload != NULL && bytes == 0))
        append(RECORD_REALLOC, payload, 3, (uintptr_t)result, bytes);
    else
        append(RECORD_FAILED, NULL, 1, 0, 0);
    unlock();
    return result;
}

EXPORT void *reallocarray(void *payload, size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(payload, total);
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
    lock();
    void *result = __libc_memalign(alignment, bytes);
    if (result != NULL)
        append(RECORD_ALIGNED, result, 3, alignment, bytes);
    else
        append(RECORD_FAILED, NULL, 1, 0, 0);
    unlock();
    return result;
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (!is_power_of_two(alignment) || alignment % sizeof(void *) != 0)
        return EINVAL;
    int saved = errno;
    void *result = memalign(alignment, bytes);
    errno = saved;
    if (result == NULL)
        return ENOMEM;
    *out = result;
    return 0;
}

EXPORT void *valloc(size_t bytes) { return memalign((size_t)sysconf(_SC_PAGESIZE), bytes); }

EXPORT void *pvalloc(size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    return memalign(page, bytes > PTRDIFF_MAX ? bytes : round_up(bytes, page));
}
