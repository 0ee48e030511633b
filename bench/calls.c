/*
 * calls.c - a library to preload: counts a program's calls of malloc, calloc, realloc and free, and adds a line with the
 * number to the file that $CALLS_FILE names when the program exits. It passes everything on to glibc's own malloc.
 */
#define _POSIX_C_SOURCE 200809L /* dprintf */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Of glibc: its malloc under names that nobody replaces. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void __libc_free(void *old);

static atomic_ullong calls;

static void one_more(void) { atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed); }

void *malloc(size_t bytes)
{
    one_more();
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    one_more();
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    one_more();
    return __libc_realloc(old, bytes);
}

void free(void *old)
{
    if (old != NULL)
        one_more();
    __libc_free(old);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("CALLS_FILE");
    int file = path == NULL ? -1 : open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (file >= 0)
        dprintf(file, "%llu\n", atomic_load(&calls));
}
