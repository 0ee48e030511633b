/*
 * growth.c - what a call costs against the number of blocks there are: 100 to a million, on one allocator.
 *
 *     growth NAME LIBRARY live|free SECONDS    prints lines of CSV: NAME,live|free,BLOCKS,NANOSECONDS,VISITS,NOTE
 *
 *   live   so many blocks of 64 bytes are live; the cost of a malloc(64) and free beside them
 *   free   so many blocks of mixed sizes are free, parted by live ones; the cost of a malloc that only 1 in 33 of
 *          them can serve, those freed first and, by address, last: the worst for a search that takes the
 *          first that fits
 *
 * Compiled twice: with a stage's counting build linked in it counts the blocks that malloc, free and validation
 * look at (LIBRARY is ignored); else it times the malloc in LIBRARY, preloaded, or the system's. The next number
 * of blocks is left out, with a note, if it would take longer than SECONDS by the pace so far.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "count.h"
#include "workloads.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if MM_COUNT
#include "front.h"
#endif

enum {
    MOST_BLOCKS = 1000000,
    CLASSES = 33, /* sizes of the free blocks: 64, 80, ..., 576 */
    SMALLEST = 64,
    STEP = 16,
    LARGEST = SMALLEST + (CLASSES - 1) * STEP,
    CALLS = 1000, /* measured */
    HANGS = 10, /* times as long as SECONDS on the wall, and it is stopped */
};

static struct calls tested;
static void *blocks[MOST_BLOCKS], *taken[CALLS];

struct cost {
    double ns, visits; /* of one call, or of one malloc and free */
};

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- The allocator ---- */

#if MM_COUNT

static void *stage_malloc(size_t bytes) { return front_malloc(&mm_allocator, bytes); }
static void stage_free(void *p) { front_free(&mm_allocator, p); }

static void find_allocator(const char *library)
{
    (void)library;
    tested.malloc = stage_malloc;
    tested.free = stage_free;
}

static double visits(void) { return (double)(mm_counts.searched + mm_counts.validated); }

#else

static void find_allocator(const char *library)
{
    void *handle = dlopen(strcmp(library, "system") == 0 ? NULL : library, RTLD_NOW);
    if (handle == NULL) {
        fprintf(stderr, "growth: %s\n", dlerror());
        exit(1);
    }
    *(void **)&tested.malloc = dlsym(handle, "malloc");
    *(void **)&tested.free = dlsym(handle, "free");
}

static double visits(void) { return 0; }

#endif

static void *allocate(size_t bytes)
{
    void *p = tested.malloc(bytes);
    if (p == NULL) {
        fprintf(stderr, "growth: malloc(%zu) returned NULL\n", bytes);
        exit(1);
    }
    return p;
}

/* What reading the clock costs: a part of each time, and no small one where three calls are timed. */
static double clock_ns(void)
{
    double least = 1e9;
    for (int i = 0; i < 100; i++) {
        double start = cpu_ns(), ns = cpu_ns() - start;
        least = ns < least ? ns : least;
    }
    return least;
}

static double ns_since(double start)
{
    double ns = cpu_ns() - start - clock_ns();
    return ns > 1 ? ns : 1;
}

/* ---- The two situations ---- */

static struct cost beside_live_blocks(size_t n)
{
    for (size_t i = 0; i < n; i++)
        blocks[i] = allocate(64);
    size_t pairs = CALLS;
    tested.free(allocate(64)); /* the heap may grow for it */
    double seen = visits(), start = cpu_ns(), ns = 0;
    size_t done = 0;
    do { /* at least so many, and for 2 ms; stage 1 needs that for one pair of a hundred thousand blocks */
        for (size_t i = 0; i < pairs; i++)
            tested.free(allocate(64));
        done += pairs;
        ns = cpu_ns() - start;
    } while (ns < 2e6 && !MM_COUNT);
    return (struct cost){ns / (double)done, (visits() - seen) / (double)done};
}

/*
 * Ordered by size, the smallest first; freed from the largest on, so that the large ones end up last in a list
 * that puts what is freed in front. Each malloc takes away one that fits; only so many are measured.
 */
static struct cost among_free_blocks(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        blocks[i] = allocate(SMALLEST + i * CLASSES / n * STEP);
        allocate(16);
    }
    for (size_t i = n; i-- > 0;)
        tested.free(blocks[i]);
    size_t fitting = n / CLASSES, calls = fitting < 100 ? fitting : 100;
    double seen = visits(), start = cpu_ns();
    for (size_t i = 0; i < calls; i++)
        taken[i] = allocate(LARGEST);
    double ns = ns_since(start);
    return (struct cost){ns / (double)calls, (visits() - seen) / (double)calls};
}

/* ---- Running ---- */

struct report {
    struct cost cost;
    double seconds; /* in all, to make the blocks too */
};

/* In a process of its own: a fresh heap. Returns how it ended, as waitpid() says it: 0 if all is well. */
static int run(struct cost (*situation)(size_t), size_t n, unsigned limit, struct report *report)
{
    int ends[2], status;
    if (pipe(ends) != 0)
        exit(1);
    pid_t child = fork();
    if (child == 0) {
        alarm(HANGS * limit);
        double start = cpu_ns();
        report->cost = situation(n);
        report->seconds = (cpu_ns() - start) * 1e-9;
        _exit(write(ends[1], report, sizeof *report) != sizeof *report);
    }
    close(ends[1]);
    bool whole = child > 0 && read(ends[0], report, sizeof *report) == sizeof *report;
    close(ends[0]);
    if (child < 0 || waitpid(child, &status, 0) < 0)
        exit(1);
    return whole ? 0 : status;
}

static void say_failure(const char *name, const char *kind, size_t n, unsigned limit, int status)
{
    char why[80] = "failed";
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        snprintf(why, sizeof why, "was stopped after %u s", HANGS * limit);
    else if (WIFSIGNALED(status))
        snprintf(why, sizeof why, "failed: %s", strsignal(WTERMSIG(status)));
    fprintf(stderr, "growth: %s, %zu %s blocks: %s\n", name, n, kind, why);
    printf("%s,%s,%zu,,,%s\n", name, kind, n, why);
}

/*
 * A line for each of a few repetitions, of which readers take the quickest: what other programs do adds time and
 * never takes any away. Returns the seconds of one, or -1 if it failed.
 */
static double repeat(
    const char *name, const char *kind, struct cost (*situation)(size_t), size_t n, unsigned limit)
{
    double seconds = 0;
    for (int i = 0; i == 0 || (i < 15 && !MM_COUNT && seconds * i < 0.3); i++) {
        struct report r;
        int status = run(situation, n, limit, &r);
        if (status != 0) {
            say_failure(name, kind, n, limit, status);
            return -1;
        }
        seconds = i == 0 || r.seconds < seconds ? r.seconds : seconds;
        if (MM_COUNT)
            printf("%s,%s,%zu,,%.6g,\n", name, kind, n, r.cost.visits);
        else
            printf("%s,%s,%zu,%.6g,,\n", name, kind, n, r.cost.ns);
        fflush(stdout);
    }
    return seconds;
}

int main(int argc, char **argv)
{
    static const size_t numbers[] = {100, 300, 1000, 3000, 10000, 30000, 100000, 300000, MOST_BLOCKS};
    if (argc != 5)
        return 2;
    find_allocator(argv[2]);
    struct cost (*situation)(size_t) = strcmp(argv[3], "live") == 0 ? beside_live_blocks : among_free_blocks;
    unsigned limit = (unsigned)atoi(argv[4]);
    double before = 0, last = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double expected = before > 0 ? last * (last / before) : 0;
        if (expected > limit) {
            printf("%s,%s,%zu,,,would take %.1f s\n", argv[1], argv[3], numbers[i], expected);
            break;
        }
        before = last;
        last = repeat(argv[1], argv[3], situation, numbers[i], limit);
        if (last < 0)
            return 1;
    }
    return 0;
}
