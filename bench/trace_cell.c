/*
 * trace_cell.c - one trace on one allocator, in this process alone.
 *
 *     trace_cell LIBRARY speed FILE NANOSECONDS SECONDS    prints: ok STEPS RUNS NANOSECONDS HEAP cold|warm
 *     trace_cell LIBRARY space FILE NANOSECONDS SECONDS    prints: ok HEAP
 *     trace_cell LIBRARY probe FILE NANOSECONDS SECONDS    prints: ok
 *
 * LIBRARY as in cell.c. HEAP is the largest heap in bytes: with `speed` what a stage itself says, exactly,
 * and 0 where nobody says it; with `space` by how much the resident memory grew, every payload written to.
 * The steps come by an open file, FILE its descriptor; nothing here allocates, so that the heap is the
 * trace's alone.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "trace_cell.h"
#include "trace.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const uint64_t SLOW_NS = 500000000; /* a run this long is not repeated */
static const uint64_t BATCH_NS =
    200000; /* short runs are repeated for so long between two looks at the clock */

enum {
    SAMPLES = 64, /* of the resident memory, in one run */
    CHUNK = 1024, /* steps between two notes of how far a run is */
};

static struct {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    size_t (*peak_heap)(void); /* a stage's own; NULL: the allocator does not say */
} tested;

static const struct trace_file *file;
static const struct step *steps;
static char **slots;
static volatile size_t at; /* the step that a run is at */

static _Noreturn void fail(const char *what)
{
    dprintf(STDOUT_FILENO, "%s\n", what);
    _exit(1);
}

/* Processor time, as in cell.c. */
static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t limit_ns; /* of processor time */
static long ticks_left; /* until a process that just waits is stopped too */

/*
 * Looks now and then whether the limit is reached. A timer of processor time would do it without looking, but
 * while one is set Linux counts that time by ticks only, which is far too coarse for what is measured here.
 */
static void on_tick(int signal_number)
{
    (void)signal_number;
    if (now() < limit_ns && ticks_left-- > 0)
        return;
    /* dprintf() would call malloc, which may be where it hangs. */
    char text[40];
    int length = snprintf(text, sizeof text, "stopped %zu\n", at);
    _exit(write(STDOUT_FILENO, text, (size_t)length) == length);
}

static void set_limit(long seconds)
{
    struct itimerval tick = {{0, 100000}, {0, 100000}};
    limit_ns = (uint64_t)seconds * 1000000000;
    ticks_left = 100 * seconds; /* ten times as long on the wall */
    signal(SIGALRM, on_tick);
    setitimer(ITIMER_REAL, &tick, NULL);
}

/* ---- The harness's own cost: every block is the same buffer ---- */

static char buffer[64];

static void *no_malloc(size_t bytes) { return (void)bytes, buffer; }
static void *no_calloc(size_t count, size_t bytes) { return (void)count, (void)bytes, buffer; }
static void *no_realloc(void *p, size_t bytes) { return (void)p, (void)bytes, buffer; }
static void no_free(void *p) { (void)p; }

/* Few traces need aligned_alloc: an allocator without it gets no memory from it. */
static void *missing(size_t alignment, size_t bytes) { return (void)alignment, (void)bytes, NULL; }

static void find_allocator(const char *library)
{
    if (strcmp(library, "harness") == 0) {
        tested.malloc = no_malloc;
        tested.calloc = tested.aligned_alloc = no_calloc;
        tested.realloc = no_realloc;
        tested.free = no_free;
        return;
    }
    void *handle = strcmp(library, "system") == 0 ? RTLD_DEFAULT : dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL && strcmp(library, "system") != 0)
        fail(dlerror());
    *(void **)&tested.malloc = dlsym(handle, "malloc");
    *(void **)&tested.calloc = dlsym(handle, "calloc");
    *(void **)&tested.aligned_alloc = dlsym(handle, "aligned_alloc");
    *(void **)&tested.realloc = dlsym(handle, "realloc");
    *(void **)&tested.free = dlsym(handle, "free");
    *(void **)&tested.peak_heap = dlsym(handle, "mm_peak_heap_bytes");
    if (tested.malloc == NULL || tested.calloc == NULL || tested.realloc == NULL || tested.free == NULL)
        fail("no malloc, calloc, realloc and free in it");
    if (tested.aligned_alloc == NULL)
        tested.aligned_alloc = missing;
}

/* ---- Running a trace ---- */

static void map_trace(int descriptor)
{
    struct stat about;
    if (fstat(descriptor, &about) != 0)
        fail("no trace is open");
    file = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
    if (file == MAP_FAILED)
        fail("the trace cannot be mapped");
    steps = (const struct step *)(file + 1);
    slots =
        mmap(NULL, file->slots * sizeof *slots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (slots == MAP_FAILED)
        fail("no memory for the slots");
    memset(slots, 0, file->slots * sizeof *slots);
}

static _Noreturn void fail_step(const struct step *s)
{
    dprintf(STDOUT_FILENO, "null %zu\n", (size_t)(s - steps));
    _exit(1);
}

/* The first byte of each new block is written: a program would write more. With `fill`, every byte. */
static inline void run_steps(const struct step *s, const struct step *end, bool fill)
{
    for (; s < end; s++) {
        char **slot = &slots[s->slot], *p;
        switch (s->kind) {
        case TRACE_FREE:
            tested.free(*slot);
            *slot = NULL;
            continue;
        case TRACE_TOUCH:
            if (*slot != NULL)
                memset(*slot, 1, s->bytes);
            continue;
        case TRACE_REALLOC:
            p = tested.realloc(*slot, s->bytes);
            if (p == NULL && s->bytes == 0) {
                *slot = NULL;
                continue;
            }
            break;
        case TRACE_CALLOC:
            p = tested.calloc(1, s->bytes);
            break;
        case TRACE_ALIGNED:
            p = tested.aligned_alloc((size_t)1 << s->alignment_log2, s->bytes);
            break;
        default:
            p = tested.malloc(s->bytes);
            break;
        }
        if (p == NULL)
            fail_step(s);
        *slot = p;
        if (fill)
            memset(p, 1, s->bytes);
        else if (s->bytes > 0)
            *(volatile char *)p = 1;
    }
}

/* What the trace leaves allocated goes before the next run. */
static void free_leftovers(void)
{
    for (size_t i = 0; i < file->slots; i++) {
        tested.free(slots[i]);
        slots[i] = NULL;
    }
}

/* The time of so many runs, without the freeing of what the last one leaves. */
static uint64_t timed_runs(uint64_t runs)
{
    uint64_t start = now();
    for (uint64_t i = 0; i < runs; i++) {
        if (i > 0)
            free_leftovers();
        for (at = 0; at < file->steps; at += CHUNK)
            run_steps(steps + at, steps + (at + CHUNK < file->steps ? at + CHUNK : file->steps), false);
    }
    return now() - start;
}

static void measure_speed(uint64_t wanted_ns)
{
    /* The first run finds the heap's size and warms up; it counts only where the allocator is slow. */
    uint64_t ns = timed_runs(1), runs = 1, batch = 1 + BATCH_NS / (ns + 1);
    bool slow = ns >= SLOW_NS || wanted_ns == 0;
    size_t heap = tested.peak_heap == NULL ? 0 : tested.peak_heap();
    free_leftovers();
    if (!slow)
        for (ns = 0, runs = 0; ns < wanted_ns; runs += batch) {
            ns += timed_runs(batch);
            free_leftovers();
        }
    dprintf(STDOUT_FILENO, "ok %zu %llu %llu %zu %s\n", file->steps, (unsigned long long)runs,
        (unsigned long long)ns, heap, slow ? "cold" : "warm");
}

/* ---- Resident memory ---- */

/*
 * Memory of this process that is no file's, in bytes: heap, stack and data. smaps_rollup counts page by page;
 * the other files of /proc give sums that are exact only now and then. 0: not known, there is no such file.
 */
static size_t resident_bytes(void)
{
    char text[2048];
    int rollup = open("/proc/self/smaps_rollup", O_RDONLY);
    if (rollup < 0)
        return 0;
    ssize_t length = read(rollup, text, sizeof text - 1);
    close(rollup);
    text[length < 0 ? 0 : length] = '\0';
    const char *line = strstr(text, "\nAnonymous:");
    return line == NULL ? 0 : (size_t)strtoull(line + strlen("\nAnonymous:"), NULL, 10) * 1024;
}

static void measure_space(void)
{
    resident_bytes(); /* whatever that touches the first time */
    size_t before = resident_bytes(), most = before, stride = file->steps / SAMPLES + 1;
    for (size_t from = 0; from < file->steps;) {
        size_t to = from + stride - from % stride;
        if (from <= file->peak_step && file->peak_step < to)
            to = file->peak_step + 1;
        if (to > file->steps)
            to = file->steps;
        run_steps(steps + from, steps + to, true);
        size_t resident = resident_bytes();
        most = resident > most ? resident : most;
        from = to;
    }
    dprintf(STDOUT_FILENO, "ok %zu\n", most - before);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        fail("usage: trace_cell LIBRARY speed|space|probe FILE NANOSECONDS SECONDS");
    find_allocator(argv[1]);
    if (strcmp(argv[2], "probe") == 0) {
        dprintf(STDOUT_FILENO, "ok\n");
        return 0;
    }
    set_limit(atol(argv[5]));
    map_trace(atoi(argv[3]));
    if (strcmp(argv[2], "space") == 0)
        measure_space();
    else
        measure_speed(strtoull(argv[4], NULL, 10));
    return 0;
}
