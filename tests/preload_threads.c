/*
 * preload_threads.c - a program with threads and forks, to be run over a stage as its malloc: three threads allocate,
 * grow, check and free blocks, some of them handed on to another thread, while the main thread forks children that
 * allocate at once. It prints one line, and exits with 1 at the first byte that is not as it was written.
 */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, SLOTS = 64, CHILDREN = 20 };

static int rounds;
static _Atomic(unsigned char *) handed_on; /* its first byte is the pattern, the next two the size */

static void must(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "preload_threads: %s\n", what);
    _exit(1);
}

static unsigned char *make(size_t bytes, unsigned char pattern)
{
    unsigned char *p = malloc(bytes);
    must(p != NULL, "no memory");
    memset(p, pattern, bytes);
    p[1] = (unsigned char)(bytes & 255);
    p[2] = (unsigned char)(bytes >> 8);
    return p;
}

static void check_and_free(unsigned char *p)
{
    size_t bytes = p[1] + 256U * p[2];
    for (size_t i = 3; i < bytes; i++)
        must(p[i] == p[0], "a block has changed");
    free(p);
}

static void *work(void *argument)
{
    uint32_t random = (uint32_t)(uintptr_t)argument * 2654435761U + 1;
    unsigned char *slots[SLOTS] = {0};
    for (int i = 0; i < rounds; i++) {
        random = random * 1664525U + 1013904223U;
        unsigned char **slot = &slots[random >> 8 & (SLOTS - 1)];
        if (*slot != NULL)
            check_and_free(*slot);
        *slot = make(3 + (random >> 16) % 3000, (unsigned char)random);
        if (i % 16 == 0) {
            *slot = atomic_exchange(&handed_on, *slot);
            if (*slot == NULL)
                *slot = make(3, 1);
        }
    }
    for (int i = 0; i < SLOTS; i++)
        if (slots[i] != NULL)
            check_and_free(slots[i]);
    return NULL;
}

int main(int count, char **arguments)
{
    rounds = count > 1 ? atoi(arguments[1]) : 20000;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        must(pthread_create(&threads[i], NULL, work, (void *)i) == 0, "no thread");
    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();
        must(child >= 0, "no child");
        if (child == 0) {
            for (size_t bytes = 3; bytes < 3000; bytes += 100)
                check_and_free(make(bytes, 7));
            _exit(0);
        }
        int status;
        must(waitpid(child, &status, 0) == child && status == 0, "a child failed");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    check_and_free(atomic_load(&handed_on));
    printf("%d threads, %d rounds, %d children: every byte as written\n", THREADS, rounds, CHILDREN);
    return 0;
}
