/*
 * cell.c - one cell of the benchmark's table: one workload on one allocator, in this process alone.
 *
 *     cell LIBRARY WORKLOAD NANOSECONDS    prints: ok CALLS RUNS NANOSECONDS cold|warm
 *     cell LIBRARY probe                   prints: from PATH
 *     cell LIBRARY instructions WORKLOAD...    prints for each: ran WORKLOAD PID CALLS
 *
 * The last is for callgrind, told to collect inside counted_run() alone: a child for each workload, warmed up
 * by one run.
 *
 * LIBRARY is `system`, `harness` (no allocator at all, only what the workload itself costs), or a library that
 * exports malloc. The runner preloads that library, which all can bear (jemalloc as packaged cannot be loaded
 * later: its thread-local storage is static); dlopen() then finds it loaded. Where preloading means
 * nothing, dlopen() loads it. Either way all are called through the same four pointers.
 */
#define _GNU_SOURCE /* dladdr */
#include "workloads.h"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A run this long is not repeated, and its first run counts: nothing is left that warming up would change. */
static const uint64_t SLOW_NS = 50000000;

/* The clock is read about this often, so that reading it is no part of the result. */
static const uint64_t BATCH_NS = 200000;

static _Noreturn void fail(const char *what, const char *detail)
{
    dprintf(STDOUT_FILENO, "%s%s\n", what, detail == NULL ? "" : detail);
    _exit(1);
}

/*
 * Processor time of this process, not the time on the wall: the same while the process runs undisturbed, and
 * free of the time in which another program had the processor.
 */
static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- The harness's own cost: every block is the same buffer ---- */

static char buffer[LARGEST_REQUEST];

static void *no_malloc(size_t bytes) { return (void)bytes, buffer; }
static void no_free(void *p) { (void)p; }
static void *no_realloc(void *p, size_t bytes) { return (void)p, (void)bytes, buffer; }
static void *no_calloc(size_t count, size_t bytes) { return (void)count, (void)bytes, buffer; }

/* ---- The first run: warms up, counts the calls, and fails if the allocator does not allocate ---- */

static struct calls tested;
static size_t calls_made;

static void *checked(void *p, const char *call, size_t bytes)
{
    calls_made++;
    if (p == NULL)
        fail(call, " returned NULL");
    ((volatile char *)p)[0] = ((volatile char *)p)[bytes - 1] = 0;
    return p;
}

static void *first_malloc(size_t bytes) { return checked(tested.malloc(bytes), "malloc", bytes); }
static void *first_calloc(size_t n, size_t bytes)
{
    return checked(tested.calloc(n, bytes), "calloc", n * bytes);
}
static void first_free(void *p) { calls_made++, tested.free(p); }

static void *first_realloc(void *p, size_t bytes)
{
    void *moved = tested.realloc(p, bytes);
    calls_made++;
    if (moved == NULL)
        fail("realloc returned NULL", NULL);
    return moved;
}

/* ---- Finding the allocator ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

static const char *file_of(void *const *function)
{
    Dl_info info;
    return dladdr(*function, &info) == 0 ? "?" : info.dli_fname;
}

/* Pointers to functions are fetched as POSIX shows it for dlsym(). */
static void find_calls(void *handle)
{
    *(void **)&tested.malloc = dlsym(handle, "malloc");
    *(void **)&tested.free = dlsym(handle, "free");
    *(void **)&tested.realloc = dlsym(handle, "realloc");
    *(void **)&tested.calloc = dlsym(handle, "calloc");
    if (tested.malloc == NULL || tested.free == NULL || tested.realloc == NULL || tested.calloc == NULL)
        fail("no malloc, free, realloc and calloc in it", NULL);
}

static void (*restart)(void); /* the limit `bump` never frees: it starts again between runs */

static void find_allocator(const char *library)
{
    if (strcmp(library, "harness") == 0) {
        tested = (struct calls){no_malloc, no_free, no_realloc, no_calloc};
    } else if (strcmp(library, "system") == 0) {
        find_calls(RTLD_DEFAULT);
    } else {
        void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        if (handle == NULL)
            fail(dlerror(), NULL);
        find_calls(handle);
        *(void **)&restart = dlsym(handle, "bench_restart");
        if (strcmp(base_name(file_of((void **)&tested.malloc)), base_name(library)) != 0)
            fail("malloc comes from ", file_of((void **)&tested.malloc));
    }
}

static const struct workload *find_workload(const char *name)
{
    int number = workload_by_name(name);
    for (int w = 0; w < SMALL_WORKLOADS; w++)
        if (strcmp(small_workloads[w].name, name) == 0)
            return &small_workloads[w];
    if (number < 0)
        fail("no such workload: ", name);
    return &workloads[number];
}

static void first_run(const struct workload *w)
{
    if (restart != NULL)
        restart();
    w->run(&(struct calls){first_malloc, first_free, first_realloc, first_calloc});
}

/* ---- Instructions ---- */

__attribute__((noinline)) void counted_run(const struct workload *w);
void counted_run(const struct workload *w) { w->run(&tested); }

static void count_instructions(const struct workload *w)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        first_run(w);
        if (restart != NULL)
            restart();
        counted_run(w);
        dprintf(STDOUT_FILENO, "ran %s %ld %zu\n", w->name, (long)getpid(), calls_made);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        fail("it failed on ", w->name);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        fail("usage: cell LIBRARY WORKLOAD NANOSECONDS", NULL);
    find_allocator(argv[1]);
    if (strcmp(argv[2], "probe") == 0) {
        dprintf(STDOUT_FILENO, "from %s\n", file_of((void **)&tested.malloc));
        return 0;
    }
    if (strcmp(argv[2], "instructions") == 0) {
        for (int i = 3; i < argc; i++)
            count_instructions(find_workload(argv[i]));
        return 0;
    }
    if (argc != 4)
        fail("usage: cell LIBRARY WORKLOAD NANOSECONDS", NULL);
    const struct workload *w = find_workload(argv[2]);
    uint64_t wanted_ns = strtoull(argv[3], NULL, 10);

    uint64_t start = now();
    first_run(w);
    unsigned long long ns = now() - start, runs = 1;

    bool warm = ns < SLOW_NS && wanted_ns != 0;
    if (warm) {
        uint64_t batch = 1 + BATCH_NS / (ns + 1);
        runs = 0;
        start = now();
        do {
            for (uint64_t i = 0; i < batch; i++, runs++) {
                if (restart != NULL)
                    restart();
                w->run(&tested);
            }
        } while ((ns = now() - start) < wanted_ns);
    }
    dprintf(STDOUT_FILENO, "ok %zu %llu %llu %s\n", calls_made, runs, ns, warm ? "warm" : "cold");
    return 0;
}
