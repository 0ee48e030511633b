/*
 * threads.c - make bench suite=threads: allocators under several threads at once.
 *
 *     threads cell WORKLOAD THREADS MILLISECONDS
 *             one cell, over this process's malloc; prints: ok OPERATIONS NANOSECONDS
 *     threads --build=FOLDER --csv=FILE [--json=FILE] [--rounds=N] [--threads=N] [--milliseconds=N] [--peers=NAMES]
 *             STAGE...
 *             the table, and a line of CSV for each sample
 *
 * The workloads are of the kinds that papers on allocators use; written anew, so not comparable with theirs:
 *   larson      each thread replaces random blocks of 8 to 512 bytes; after a while a new thread takes them over
 *               (Larson and Krishnan, "Memory allocation for long-running server applications", ISMM 1998)
 *   threadtest  each thread allocates 10,000 blocks of 64 bytes and frees them, again and again
 *               (Berger, McKinley, Blumofe and Wilson, "Hoard", ASPLOS 2000)
 *   prodcons    half of the threads allocate blocks, the other half free them
 *   crossfree   each thread allocates blocks, and frees those that the thread beside it allocated
 * In the last two, up to 8 batches of 1,000 blocks are on their way, so that no thread waits for each batch: else
 * the figure would tell how long the system takes to wake one up.
 *
 * A malloc and a free are one operation each. The time is that on the wall: the threads run side by side.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "run.h"
#include "typed.h"
#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS_MAX = 64,
    BATCH = 1000,
    RING = 8,
    LARSON_SLOTS = 1000,
    LARSON_STEPS = 100000,
    TEST_BLOCKS = 10000
};

static atomic_bool stopping;

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
    struct worker *partner; /* prodcons, crossfree: who frees what this one allocates */
    void *slots[TEST_BLOCKS]; /* prodcons, crossfree: a ring of batches */
    _Alignas(64) atomic_uint posted; /* batches for the partner to free; */
    _Alignas(64) atomic_uint freed; /* of which it has freed so many */
};
static_assert(RING * BATCH <= TEST_BLOCKS, "else the ring has no room");

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

/* A batch for the partner to free. No: the ring is full. */
static bool allocate_batch(struct worker *w)
{
    unsigned posted = atomic_load_explicit(&w->posted, memory_order_relaxed);
    if (posted - atomic_load_explicit(&w->freed, memory_order_acquire) == RING)
        return false;
    for (void **slot = w->slots + posted % RING * BATCH, **end = slot + BATCH; slot < end; slot++)
        *slot = touched(malloc(16 + next_random(&w->random) % 241));
    w->operations += BATCH;
    atomic_store_explicit(&w->posted, posted + 1, memory_order_release);
    return true;
}

/* A batch that the partner allocated. No: there is none. */
static bool free_batch(struct worker *w)
{
    struct worker *from = w->partner;
    unsigned freed = atomic_load_explicit(&from->freed, memory_order_relaxed);
    if (freed == atomic_load_explicit(&from->posted, memory_order_acquire))
        return false;
    for (void **slot = from->slots + freed % RING * BATCH, **end = slot + BATCH; slot < end; slot++)
        free(*slot);
    w->operations += BATCH;
    atomic_store_explicit(&from->freed, freed + 1, memory_order_release);
    return true;
}

static void pass_batches(struct worker *w, bool allocates, bool frees)
{
    for (unsigned idle = 0; !atomic_load_explicit(&stopping, memory_order_relaxed);) {
        bool allocated = allocates && allocate_batch(w), freed = frees && free_batch(w);
        idle = allocated || freed ? 0 : idle + 1;
        if (idle % 1024 == 1023)
            sched_yield(); /* if there are more threads than processors */
    }
}

static void *prodcons(void *argument)
{
    struct worker *w = argument;
    pass_batches(w, w->number % 2 == 0, w->number % 2 != 0);
    return NULL;
}

static void *crossfree(void *argument)
{
    pass_batches(argument, true, true);
    return NULL;
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
    if (k == KINDS || threads < 2 || threads > THREADS_MAX || threads % 2 != 0)
        return 2;
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

/* ---- The rounds ---- */

struct row {
    struct preload over;
    double rates[KINDS][ROUNDS_MAX]; /* million operations per second; NaN: not measured */
    char failure[KINDS][16]; /* for the table; such a cell is not run again */
};

static struct {
    char *program, *threads, *milliseconds;
    const char *build, *csv;
    char csv_new[400]; /* it becomes `csv` when it is whole */
    FILE *out;
    size_t rounds, row_count;
    struct row rows[ALLOCATORS_MAX];
} suite = {.threads = (char *)"2", .milliseconds = (char *)"300", .rounds = 6};

static volatile sig_atomic_t interrupted;

static void interrupt(int number) { interrupted = number; }

static void measure(struct row *row, int kind, size_t round)
{
    char output[4096], name[16];
    unsigned long long operations, ns;
    unsigned limit = 60 + (unsigned)atoi(suite.milliseconds) / 1000;
    snprintf(name, sizeof name, "%s", kinds[kind].name);
    char *argv[] = {suite.program, (char *)"cell", name, suite.threads, suite.milliseconds, NULL};
    int status = run_program(
        argv, row->over.library[0] == '\0' ? NULL : row->over.library, limit, output, sizeof output);
    const char *result = strstr(output, "ok ");
    if (status == 0 && result != NULL && sscanf(result, "ok %llu %llu", &operations, &ns) == 2) {
        row->rates[kind][round] = (double)operations * 1e3 / (double)ns;
        return;
    }
    if (interrupted)
        return;
    char *failure = row->failure[kind];
    failure_mark(status, failure, sizeof row->failure[kind]);
    clear_progress();
    fprintf(
        stderr, "%s over %s: %s %.*s\n", name, row->over.name, failure, (int)strcspn(output, "\n"), output);
}

static void measure_rounds(void)
{
    double started = seconds_now();
    size_t cells = suite.rounds * KINDS * suite.row_count;
    for (size_t cell = 0; cell < cells && !interrupted; cell++) {
        size_t round = cell / (KINDS * suite.row_count);
        int kind = (int)(cell / suite.row_count % KINDS);
        struct row *row = &suite.rows[(cell + round) % suite.row_count];
        double done = (double)cell / (double)cells;
        show_progress(done, cell == 0 ? 0 : (seconds_now() - started) * (1 - done) / done, row->over.name);
        if (row->failure[kind][0] == '\0')
            measure(row, kind, round);
    }
    clear_progress();
}

/* ---- The table ---- */

/* Of the rates, or of their ratios to the system's in the same round. */
static struct estimate figure(const struct row *row, int kind, bool to_system)
{
    double x[ROUNDS_MAX];
    for (size_t r = 0; r < suite.rounds; r++)
        x[r] = row->rates[kind][r] / (to_system ? suite.rows[0].rates[kind][r] : 1);
    return estimate(x, suite.rounds);
}

static void print_cell(const struct row *row, int kind)
{
    struct estimate rate = figure(row, kind, false);
    if (row->failure[kind][0] != '\0' || rate.samples == 0) {
        printf("%18s ", row->failure[kind][0] != '\0' ? row->failure[kind] : "-");
        return;
    }
    printf("%11.*f", rate.median < 1 ? 3 : 1, rate.median);
    if (row == suite.rows)
        printf("%*s ", WIDTH - 1, "1.00");
    else
        print_ratio(figure(row, kind, true), true);
}

static void print_table(void)
{
    printf("Million operations per second, %s threads (median of %s%zu rounds; × is to %s, within a round)\n"
           "%-18s",
        suite.threads, interrupted ? "up to " : "", suite.rounds, suite.rows[0].over.name, "");
    for (int k = 0; k < KINDS; k++)
        printf("%12s %6s", kinds[k].name, "×");
    printf("\n");
    for (size_t i = 0; i < suite.row_count; i++) {
        printf("%-18s", suite.rows[i].over.name);
        for (int k = 0; k < KINDS; k++)
            print_cell(&suite.rows[i], k);
        printf("\n");
    }
    printf("~ no difference seen  ? no verdict: fewer than %d rounds\n", FEWEST_SAMPLES);
}

/* A line for each sample; the same as JSON is bench's work (--rows). */
static void write_csv(void)
{
    fprintf(suite.out, "allocator,workload,round,threads,operations_per_second\n");
    for (size_t i = 0; i < suite.row_count; i++)
        for (int k = 0; k < KINDS; k++)
            for (size_t r = 0; r < suite.rounds; r++)
                if (!isnan(suite.rows[i].rates[k][r]))
                    fprintf(suite.out, "%s,%s,%zu,%s,%.0f\n", suite.rows[i].over.name, kinds[k].name, r + 1,
                        suite.threads, suite.rows[i].rates[k][r] * 1e6);
    if (fclose(suite.out) != 0 || rename(suite.csv_new, suite.csv) != 0) {
        fprintf(stderr, "csv=%s: %s\n", suite.csv, strerror(errno));
        exit(2);
    }
}

/* ---- The command line ---- */

static void add_row(const char *name, const char *library)
{
    struct row *row = &suite.rows[suite.row_count];
    row->over = next_preload(suite.row_count++, name, library);
    for (int k = 0; k < KINDS; k++)
        for (size_t r = 0; r < ROUNDS_MAX; r++)
            row->rates[k][r] = NAN;
}

static void add_peer(const struct peer *peer)
{
    if (can_preload(peer))
        add_row(peer->name, peer->library);
}

static void options(int argc, char **argv)
{
    static const struct option names[] = {{"build", required_argument, NULL, 'b'},
        {"csv", required_argument, NULL, 'c'}, {"json", required_argument, NULL, 'j'},
        {"rounds", required_argument, NULL, 'r'}, {"threads", required_argument, NULL, 't'},
        {"milliseconds", required_argument, NULL, 'm'}, {"peers", required_argument, NULL, 'p'}, {0}};
    const char *peers = "";
    suite.program = argv[0];
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;)
        switch (option) {
        case 'b':
            suite.build = optarg;
            break;
        case 'c':
            suite.csv = optarg;
            break;
        case 'j':
            check_writable("json", optarg); /* bench writes it, with --rows */
            break;
        case 'r':
            suite.rounds = typed_number("rounds", optarg, ROUNDS_MAX, 6);
            break;
        case 't':
            if (typed_number("threads", optarg, THREADS_MAX, 2) % 2 != 0) {
                fprintf(stderr,
                    "threads=%s is not an even number from 2 to %d; type for instance threads=2\n", optarg,
                    THREADS_MAX);
                exit(2);
            }
            suite.threads = optarg;
            break;
        case 'm':
            typed_number("milliseconds", optarg, 60000, 300);
            suite.milliseconds = optarg;
            break;
        case 'p':
            peers = optarg;
            break;
        default:
            exit(2);
        }
    if (suite.build == NULL || suite.csv == NULL) {
        fprintf(stderr, "threads needs --build= and --csv=; type make bench suite=threads\n");
        exit(2);
    }
    add_row("system", "");
    for (char **name = argv + optind; *name != NULL; name++) {
        char library[300];
        snprintf(library, sizeof library, "%s/lib%s.so", suite.build, *name);
        add_row(*name, library);
    }
    for_each_peer(peers, add_peer);
    snprintf(suite.csv_new, sizeof suite.csv_new, "%s.new", suite.csv);
    suite.out = fopen(suite.csv_new, "w");
    if (suite.out == NULL) {
        fprintf(stderr, "csv=%s: %s\n", suite.csv, strerror(errno));
        exit(2);
    }
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "cell") == 0)
        return run_cell(argv[2], atoi(argv[3]), atol(argv[4]));
    options(argc, argv);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = interrupt}, NULL);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = interrupt}, NULL);
    char machine[512];
    machine_line(machine, sizeof machine);
    printf("%s\n", machine);
    fflush(stdout);
    busy_elsewhere();
    measure_rounds();
    double elsewhere = busy_elsewhere();
    print_table();
    write_csv();
    if (elsewhere > 0.3)
        printf(
            "Warning: other programs kept %.1f processors busy; stop them and measure again.\n", elsewhere);
    if (interrupted) {
        printf("Warning: interrupted; the table holds what was measured until then.\n");
        return 128 + interrupted;
    }
    for (size_t i = 0; i < suite.row_count; i++)
        for (int k = 0; k < KINDS; k++)
            if (suite.rows[i].failure[k][0] != '\0')
                return 1;
    return 0;
}
