/*
 * record_program.c - a program whose calls of malloc are known: what bench/record_test.sh records.
 *
 * Sizes tell the calls apart. Nothing here uses stdio, which would allocate too.
 */
#define _GNU_SOURCE /* memalign, reallocarray, close_range */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *before_main, *until_exit;

__attribute__((constructor)) static void start(void) { before_main = malloc(1001); }

static void at_exit(void) { free(until_exit); }

/* Every call once, and each answer that is special. */
static void known(void)
{
    until_exit = malloc(2001);
    atexit(at_exit);
    free(before_main);
    free(malloc(0));
    void *zeroed = calloc(3, 70);
    void *aligned = aligned_alloc(64, 640);
    void *page = memalign(4096, 100);
    void *posix = NULL;
    if (posix_memalign(&posix, 32, 33) != 0 || posix_memalign(&posix, 3, 33) != EINVAL)
        _exit(1);
    void *grown = realloc(NULL, 50);
    grown = realloc(grown, 5000);
    grown = reallocarray(grown, 3, 7);
    char *copy = strdup("ten bytes");
    free(NULL);
    volatile size_t too_much = PTRDIFF_MAX;
    if (malloc(too_much) != NULL || calloc(too_much, 9) != NULL || reallocarray(copy, too_much, 9) != NULL)
        _exit(1);
    free(zeroed);
    free(page);
    if (realloc(aligned, 0) != NULL)
        _exit(1);
    free(posix);
    free(grown);
    free(copy);
}

static void many(size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(malloc(77));
}

/* Blocks wander between threads by way of these places. */
enum { THREADS = 4, CALLS = 50000, PLACES = 64 };
static _Atomic(void *) places[PLACES];

static void *exchange(void *seed)
{
    uint32_t random = (uint32_t)(uintptr_t)seed;
    for (int i = 0; i < CALLS; i++) {
        random = random * 1664525 + 1013904223;
        void *mine = malloc(100 + random / 65536 % 100);
        void *other = atomic_exchange(&places[random / 65536 % PLACES], mine);
        if (other != NULL && random >> 31 != 0)
            other = realloc(other, 300);
        free(other);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t ids[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        if (pthread_create(&ids[i], NULL, exchange, (void *)(i + 1)) != 0)
            _exit(1);
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < PLACES; i++)
        free(places[i]);
}

/* The child inherits a block and frees it; so does the parent, which keeps it until the child is gone. */
static void forks(void)
{
    void *inherited = malloc(3001);
    pid_t child = fork();
    if (child == 0) {
        free(inherited);
        many(20000);
        free(malloc(3002));
        _exit(0);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        _exit(1);
    free(inherited);
    free(malloc(3003));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "known") == 0) {
        known();
    } else if (strcmp(mode, "killed") == 0) {
        many(100000);
        raise(SIGKILL);
    } else if (strcmp(mode, "closed") == 0) {
        if (chdir("/") != 0 || close_range(3, ~0U, 0) != 0)
            return 1;
        many(100000);
    } else if (strcmp(mode, "exec") == 0) {
        many(10);
        execv(argv[0], (char *[]){argv[0], "closed", NULL});
        return 1;
    } else if (strcmp(mode, "threads") == 0) {
        threads();
    } else if (strcmp(mode, "forks") == 0) {
        forks();
    } else {
        return 2;
    }
    return 0;
}
