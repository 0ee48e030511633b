/*
 * preload_calls.c - a program that makes every call that a preload library exports, first with one thread, then
 * while there are others. It prints one line, and exits with 1 at the first answer that is wrong.
 */
#define _GNU_SOURCE /* memalign and the like */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void must(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "preload_calls: wrong answer: %s\n", what);
    _exit(1);
}

static int is_aligned(const void *p, size_t alignment) { return p != NULL && (uintptr_t)p % alignment == 0; }

static int is_filled(const unsigned char *p, size_t bytes, unsigned char with)
{
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != with)
            return 0;
    return 1;
}

/* Write to all of it, and give it back. */
static void use(void *p)
{
    memset(p, 0xa5, malloc_usable_size(p));
    free(p);
}

static void plain_calls(void)
{
    unsigned char *p = malloc(1000);
    must(is_aligned(p, 16) && malloc_usable_size(p) >= 1000, "malloc(1000)");
    memset(p, 7, 1000);
    p = realloc(p, 50000);
    must(is_aligned(p, 16) && is_filled(p, 1000, 7), "realloc(p, 50000)");
    p = reallocarray(p, 10, 9);
    must(is_aligned(p, 16) && is_filled(p, 90, 7), "reallocarray(p, 10, 9)");
    use(p);
    p = calloc(100, 10);
    must(is_aligned(p, 16) && is_filled(p, 1000, 0), "calloc(100, 10)");
    use(p);
    p = realloc(NULL, 10);
    must(is_aligned(p, 16), "realloc(NULL, 10)");
    must(realloc(p, 0) == NULL, "realloc(p, 0)");
    p = malloc(0);
    must(p != NULL, "malloc(0)");
    free(p);
    free(NULL);
    must(malloc_usable_size(NULL) == 0, "malloc_usable_size(NULL)");
}

static void aligned_calls(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t alignment = 32; alignment <= 16384; alignment *= 4) {
        void *p = aligned_alloc(alignment, 3 * alignment), *q = memalign(alignment, 100), *r = NULL;
        must(is_aligned(p, alignment), "aligned_alloc");
        must(is_aligned(q, alignment), "memalign");
        must(posix_memalign(&r, alignment, 5000) == 0 && is_aligned(r, alignment), "posix_memalign");
        use(q);
        use(p);
        use(r);
    }
    void *p = valloc(100), *q = pvalloc(page + 1);
    must(is_aligned(p, page), "valloc(100)");
    must(is_aligned(q, page) && malloc_usable_size(q) >= 2 * page, "pvalloc of a page and a byte");
    use(p);
    use(q);
}

static void refused_calls(void)
{
    const volatile size_t huge = SIZE_MAX - 100; /* volatile: the compiler would warn */
    void *p = malloc(100), *r = &p;
    errno = 0;
    must(malloc(huge) == NULL && errno == ENOMEM, "malloc of too much");
    errno = 0;
    must(calloc(huge / 2, 4) == NULL && errno == ENOMEM, "calloc of too much");
    errno = 0;
    must(realloc(p, huge) == NULL && errno == ENOMEM, "realloc to too much");
    errno = 0;
    must(reallocarray(p, huge, 8) == NULL && errno == ENOMEM, "reallocarray to too much");
    errno = 0;
    must(pvalloc(huge) == NULL && errno == ENOMEM, "pvalloc of too much");
    must(posix_memalign(&r, 3, 100) == EINVAL && r == &p, "posix_memalign to 3");
    must(posix_memalign(&r, 64, huge) == ENOMEM && r == &p, "posix_memalign of too much");
    use(p);
}

/* Over a stage, what was allocated so far lies in its heap. */
static void heap_was_used(void)
{
    size_t (*peak_heap_bytes)(void);
    *(void **)&peak_heap_bytes = dlsym(RTLD_DEFAULT, "mm_peak_heap_bytes");
    size_t bytes = peak_heap_bytes == NULL ? 0 : peak_heap_bytes();
    must(bytes == 0 || bytes >= 50000, "mm_peak_heap_bytes()"); /* 0: it does not say */
}

static void *all_calls(void *unused)
{
    (void)unused;
    for (int round = 0; round < 20; round++) {
        plain_calls();
        aligned_calls();
        refused_calls();
    }
    return NULL;
}

int main(void)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    all_calls(NULL);
    heap_was_used();
    for (int i = 0; i < THREADS; i++)
        must(pthread_create(&threads[i], NULL, all_calls, NULL) == 0, "pthread_create");
    all_calls(NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    puts("every call answers as it should");
    return 0;
}
