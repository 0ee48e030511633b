/*
 * threads.c - make bench suite=threads: allocators under several threads at once.
 *
 *     threads cell WORKLOAD THREADS MILLISECONDS    one cell, over this process's malloc; prints: ok OPERATIONS NANOSECONDS
 *     threads ROUNDS THREADS MILLISECONDS NAME=LIBRARY...    the table; LIBRARY is preloaded, none for the system's malloc
 *
 * The workloads are of the kinds that papers on allocators use; written anew, so not comparable with theirs:
 *   larson      each thread replaces random blocks of 8 to 512 bytes; after a while a new thread takes them over
 *               (Larson and Krishnan, "Memory allocation for long-running server applications", ISMM 1998)
 *   threadtest  each thread allocates 10,000 blocks of 64 bytes and frees them, again and again
 *               (Berger, McKinley, Blumofe and Wilson, "Hoard", ASPLOS 2000)
 *   prodcons    half of the threads allocate blocks, the other half free them
 *   crossfree   each thread allocates 1,000 blocks, and frees those that the thread beside it allocated
 *
 * A malloc and a free are one operation each. The time is that on the wall: the threads run side by side.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "run.h"
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64, BATCH = 1000, LARSON_SLOTS = 1000, LARSON_STEPS = 100000, TEST_BLOCKS = 10000 };

static atomic_bool stopping;

static void nap(long nanoseconds) { nanosleep(&(struct timespec){0, nanoseconds}, NULL); }

/* xorshift64: Marsaglia, "Xorshift RNGs", 2003. */
static inline uint32_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)(*state >> 32);
}

/* The compiler must believe that somebody reads the block; and its first byte is written. */
static inline void *touched(void *p)
{
    if (p == NULL)
        abort();
    *(volatile char *)p = 1;
    return p;
}

struct worker {
    pthread_t thread;
    int number;
    uint64_t random;
    uint64_t operations;
    struct worker *partner; /* prodcons: who frees what this one allocates; crossfree: the thread beside */
    _Atomic(void **) mail; /* a batch for this one to free; NULL: the last one is done */
    void *slots[TEST_BLOCKS];
};

/* ---- The workloads ---- */

static void *larson_thread(void *argument)
{
    struct worker *w = argument;
    for (int step = 0; step < LARSON_STEPS; step++) {
        void **slot = &w->slots[next_random(&w->random) % LARSON_SLOTS];
        free(*slot);
        *slot = touched(malloc(8 + next_random(&w->random) % 505));
    }
    w->operations += 2 * LARSON_STEPS;
    return NULL;
}

/* One thread after the other; each goes on with the blocks of the one before. */
static void *larson(void *argument)
{
    struct worker *w = argument;
    while (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
        pthread_t next;
        if (pthread_create(&next, NULL, larson_thread, w) != 0)
            abort();
        pthread_join(next, NULL);
    }
    return NULL;
}

static void *threadtest(void *argument)
{
    struct worker *w = argument;
    while (!atomic_load_explicit(&stopping, memory_order_relaxed)) {
        for (int i = 0; i < TEST_BLOCKS; i++)
            w->slots[i] = touched(malloc(64));
        for (int i = 0; i < TEST_BLOCKS; i++)
            free(w->slots[i]);
        w->operations += 2 * TEST_BLOCKS;
    }
    return NULL;
}

/* Wait until the mailbox is empty, put the batch in. No: the end has come. */
static bool post(struct worker *to, void **batch)
{
    for (unsigned spins = 0; atomic_load_explicit(&to->mail, memory_order_acquire) != NULL; spins++) {
        if (atomic_load_explicit(&stopping, memory_order_relaxed))
            return false;
        if (spins % 1024 == 1023)
            nap(1000);
    }
    atomic_store_explicit(&to->mail, batch, memory_order_release);
    return true;
}

static void **receive(struct worker *w)
{
    void **batch;
    for (unsigned spins = 0; (batch = atomic_load_explicit(&w->mail, memory_order_acquire)) == NULL;
         spins++) {
        if (atomic_load_explicit(&stopping, memory_order_relaxed))
            return NULL;
        if (spins % 1024 == 1023)
            nap(1000);
    }
    return batch;
}

static void allocate_batch(struct worker *w, void **batch)
{
    for (int i = 0; i < BATCH; i++)
        batch[i] = touched(malloc(16 + next_random(&w->random) % 241));
    w->operations += BATCH;
}

static void free_batch(struct worker *w, void **batch)
{
    for (int i = 0; i < BATCH; i++)
        free(batch[i]);
    w->operations += BATCH;
}

/* Two batches: one is filled while the other is freed. */
static void *produce(void *argument)
{
    struct worker *w = argument;
    for (int turn = 0;; turn ^= 1) {
        allocate_batch(w, w->slots + turn * BATCH);
        if (!post(w->partner, w->slots + turn * BATCH))
            return NULL;
    }
}

static void *consume(void *argument)
{
    struct worker *w = argument;
    for (void **batch; (batch = receive(w)) != NULL;) {
        free_batch(w, batch);
        atomic_store_explicit(&w->mail, NULL, memory_order_release);
    }
    return NULL;
}

static void *prodcons(void *argument)
{
    struct worker *w = argument;
    return w->number % 2 == 0 ? produce(w) : consume(w);
}

static void *crossfree(void *argument)
{
    struct worker *w = argument;
    for (int turn = 0;; turn ^= 1) {
        allocate_batch(w, w->slots + turn * BATCH);
        if (!post(w->partner, w->slots + turn * BATCH))
            return NULL;
        void **batch = receive(w);
        if (batch == NULL)
            return NULL;
        free_batch(w, batch);
        atomic_store_explicit(&w->mail, NULL, memory_order_release);
    }
}

static const struct {
    const char *name;
    void *(*run)(void *worker);
} kinds[] = {
    {"larson", larson}, {"threadtest", threadtest}, {"prodcons", prodcons}, {"crossfree", crossfree}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- A cell ---- */

static uint64_t wall_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int run_cell(const char *kind, int threads, long milliseconds)
{
    static struct worker workers[THREADS_MAX];
    uint64_t operations = 0;
    int k = 0;
    while (k < KINDS && strcmp(kinds[k].name, kind) != 0)
        k++;
    if (k == KINDS || threads < 2 || threads > THREADS_MAX || threads % 2 != 0) {
        dprintf(STDOUT_FILENO, "threads: no such workload, or not an even number of 2 to %d threads\n",
            THREADS_MAX);
        return 2;
    }
    uint64_t start = wall_ns();
    for (int i = 0; i < threads; i++) {
        workers[i].number = i;
        workers[i].random = 88172645463325252 + (uint64_t)i;
        workers[i].partner = &workers[i ^ 1];
        if (pthread_create(&workers[i].thread, NULL, kinds[k].run, &workers[i]) != 0)
            abort();
    }
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
    atomic_store(&stopping, true);
    for (int i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        operations += workers[i].operations;
    }
    dprintf(STDOUT_FILENO, "ok %llu %llu\n", (unsigned long long)operations,
        (unsigned long long)(wall_ns() - start));
    return 0;
}

/* ---- The table ---- */

struct row {
    const char *name;
    const char *library; /* "": the system's malloc */
    bool missing;
    double rates[KINDS][ROUNDS_MAX]; /* million operations per second */
};

static struct row rows[ALLOCATORS_MAX];

static void measure(struct row *row, char *program, int kind, size_t round, char *threads, char *milliseconds)
{
    char output[4096], name[16];
    unsigned long long operations, ns;
    snprintf(name, sizeof name, "%s", kinds[kind].name);
    char *argv[] = {program, "cell", name, threads, milliseconds, NULL};
    int status = run_program(argv, row->library[0] == '\0' ? NULL : row->library, 60, output, sizeof output);
    const char *result = strstr(output, "ok ");
    row->rates[kind][round] = NAN;
    if (strstr(output, "cannot be preloaded") != NULL)
        row->missing = true;
    else if (status == 0 && result != NULL && sscanf(result, "ok %llu %llu", &operations, &ns) == 2)
        row->rates[kind][round] = (double)operations * 1e3 / (double)ns;
    else
        fprintf(stderr, "%s, %s: failed: %s\n", row->name, name, output);
}

/* Returns whether every cell has a result. */
static bool print_table(size_t count, size_t rounds, const char *threads)
{
    bool complete = true;
    printf(
        "Million operations per second, %s threads (median of %zu rounds; × is to %s, within a round)\n%-18s",
        threads, rounds, rows[0].name, "");
    for (int k = 0; k < KINDS; k++)
        printf("%12s %6s", kinds[k].name, "×");
    printf("\n");
    for (size_t i = 0; i < count; i++) {
        printf("%-18s", rows[i].name);
        for (int k = 0; k < KINDS && !rows[i].missing; k++) {
            double rates[ROUNDS_MAX], ratios[ROUNDS_MAX];
            size_t n = 0;
            for (size_t r = 0; r < rounds; r++)
                if (!isnan(rows[i].rates[k][r]) && !isnan(rows[0].rates[k][r])) {
                    rates[n] = rows[i].rates[k][r];
                    ratios[n++] = rows[i].rates[k][r] / rows[0].rates[k][r];
                }
            complete = complete && n == rounds;
            printf("%12.1f %6.2f", estimate(rates, n).median, estimate(ratios, n).median);
        }
        printf("%s\n", rows[i].missing ? "not installed; make setup-peers brings it" : "");
    }
    return complete;
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "cell") == 0)
        return run_cell(argv[2], atoi(argv[3]), atol(argv[4]));
    size_t rounds = argc < 5 ? 0 : strtoul(argv[1], NULL, 10), count = argc < 5 ? 0 : (size_t)argc - 4;
    if (rounds == 0 || rounds > ROUNDS_MAX || count > ALLOCATORS_MAX) {
        fprintf(stderr, "usage: threads ROUNDS THREADS MILLISECONDS NAME=LIBRARY..., rounds 1 to %d\n",
            ROUNDS_MAX);
        return 2;
    }
    for (size_t i = 0; i < count; i++) {
        char *equals = strchr(argv[i + 4], '=');
        rows[i] = (struct row){.name = argv[i + 4], .library = equals == NULL ? "" : equals + 1};
        if (equals != NULL)
            *equals = '\0';
    }
    char machine[512];
    machine_line(machine, sizeof machine);
    printf("%s\n", machine);
    busy_elsewhere();
    for (size_t round = 0; round < rounds; round++)
        for (int k = 0; k < KINDS; k++)
            for (size_t i = 0; i < count; i++) {
                struct row *row = &rows[(i + round) % count];
                double done = ((double)round + k / (double)KINDS) / (double)rounds;
                show_progress(done, 0, row->name);
                if (!row->missing)
                    measure(row, argv[0], k, round, argv[2], argv[3]);
            }
    clear_progress();
    return print_table(count, rounds, argv[2]) ? 0 : 1;
}
