/* bench.c - see bench.h. Fills the table: every cell in a process of its own, the allocators in turn. */
#define _GNU_SOURCE
#include "bench.h"
#include "run.h"
#include "typed.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the command line says. */
static const char *directory = "build"; /* where the libraries and this program's own files are */
static const char *csv_file, *json_file;
static const char *old_file, *new_file; /* results to compare, instead of measuring */
static const char *rows_file; /* another suite's CSV, for JSON */
static const char *suite_file; /* whose suite is asked for */
static size_t rounds_wanted; /* 0: as many as fit into budget_seconds */
static double budget_seconds = 75;
static unsigned cell_seconds = 10; /* then a cell is stopped */
static unsigned long long cell_ns = 10000000; /* repeat a workload for so long */

static struct bench bench;
static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number) { interrupted = signal_number; }

static _Noreturn void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(2);
}

/* ---- One cell ---- */

/* Runs cell.c. Returns the status that waitpid() gave. */
static int run_cell_program(struct allocator *a, const char *workload, char *output, size_t bytes)
{
    char ns[24], name[16];
    snprintf(ns, sizeof ns, "%llu", cell_ns);
    snprintf(name, sizeof name, "%s", workload);
    bool preload = strchr(a->library, '.') != NULL;
    return run_program((char *[]){a->program, a->library, name, ns, NULL}, preload ? a->library : NULL,
        cell_seconds, output, bytes);
}

static void note_failure(struct cell *cell, int status, char *output)
{
    output[strcspn(output, "\n")] = '\0';
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        snprintf(cell->mark, sizeof cell->mark, "timeout");
        snprintf(cell->failure, sizeof cell->failure, "stopped after %u s", cell_seconds);
    } else if (WIFSIGNALED(status)) {
        snprintf(cell->mark, sizeof cell->mark, "%s", signal_name(WTERMSIG(status)));
        snprintf(cell->failure, sizeof cell->failure, "%s. %.150s", strsignal(WTERMSIG(status)), output);
    } else {
        snprintf(cell->mark, sizeof cell->mark, "failed");
        snprintf(cell->failure, sizeof cell->failure, "%.150s", output);
    }
}

static void run_cell(struct allocator *a, int w, size_t round)
{
    static char output[4096];
    unsigned long long calls, runs, ns;
    char warm[8];
    struct cell *cell = &a->cells[w];
    a->ns[w][round] = NAN;
    if (cell->failure[0] != '\0' || interrupted)
        return;

    double start = seconds_now();
    int status = run_cell_program(a, workloads[w].name, output, sizeof output);
    a->seconds += seconds_now() - start;
    if (interrupted)
        return;
    const char *result = strstr(output, "ok ");
    if (status == 0 && result != NULL &&
        sscanf(result, "ok %llu %llu %llu %7s", &calls, &runs, &ns, warm) == 4) {
        cell->calls = calls;
        cell->slow = strcmp(warm, "cold") == 0 && !bench.dry;
        a->ns[w][round] = (double)ns / (double)runs;
    } else {
        note_failure(cell, status, output);
    }
}

/* ---- The rounds ---- */

static double start_time;

static double elapsed(void) { return seconds_now() - start_time; }

static double seconds_per_round(const struct allocator *a) { return a->seconds / (double)a->rounds; }

/* Rounds that an allocator can afford if it gets an equal share of the time. */
static double affordable_rounds(const struct allocator *a)
{
    return budget_seconds / bench.count / seconds_per_round(a);
}

static bool is_slow(const struct allocator *a) { return affordable_rounds(a) < FEWEST_SAMPLES; }

/*
 * Does an allocator take part in the round that is about to start? All do in the first, and in each if their
 * number is given. Else a slow one, for which an equal share of the time is not enough, takes part in
 * FEWEST_SAMPLES rounds, or in fewer if all the slow ones together would take more than 60 % of the time for
 * that. These are spread over the whole time, as the machine's own drift is.
 */
static bool takes_part(const struct allocator *a)
{
    if (bench.rounds == 0 || rounds_wanted != 0 || !is_slow(a))
        return true;
    double seconds = 0;
    for (int i = 0; i < bench.count; i++)
        if (is_slow(&bench.allocators[i]))
            seconds += FEWEST_SAMPLES * seconds_per_round(&bench.allocators[i]);
    double rounds = FEWEST_SAMPLES * fmin(1, 0.6 * budget_seconds / seconds);
    return (double)a->rounds < rounds * elapsed() / budget_seconds &&
           elapsed() + seconds_per_round(a) < budget_seconds;
}

/* How long the next round will take. The first cannot be told. */
static double next_round_seconds(void)
{
    double seconds = 0;
    for (int i = 0; i < bench.count && bench.rounds != 0; i++)
        if (takes_part(&bench.allocators[i]))
            seconds += seconds_per_round(&bench.allocators[i]);
    return seconds;
}

static void show_round(int w, const char *allocator)
{
    double done = elapsed() / budget_seconds, left = budget_seconds - elapsed();
    if (rounds_wanted != 0) {
        done = ((double)bench.rounds + w / (double)WORKLOADS) / (double)rounds_wanted;
        left = done > 0 ? elapsed() / done - elapsed() : 0;
    }
    char doing[100];
    snprintf(doing, sizeof doing, "round %zu   %s: %s", bench.rounds + 1, workloads[w].name, allocator);
    show_progress(done, left, doing);
}

static void run_round(void)
{
    bool taking_part[ALLOCATORS_MAX];
    for (int i = 0; i < bench.count; i++)
        taking_part[i] = takes_part(&bench.allocators[i]);

    for (int w = 0; w < WORKLOADS; w++)
        for (int i = 0; i < bench.count; i++) {
            int turn = (int)(((size_t)i + bench.rounds) % (size_t)bench.count);
            struct allocator *a = &bench.allocators[turn];
            a->ns[w][bench.rounds] = NAN;
            if (!bench.chosen[w] || !taking_part[turn])
                continue;
            show_round(w, a->name);
            run_cell(a, w, bench.rounds);
        }
    for (int i = 0; i < bench.count; i++)
        bench.allocators[i].rounds += taking_part[i];
    bench.rounds++;
}

static bool another_round(void)
{
    if (interrupted || bench.rounds == ROUNDS_MAX)
        return false;
    if (rounds_wanted != 0)
        return bench.rounds < rounds_wanted;
    return bench.rounds == 0 || elapsed() + next_round_seconds() < budget_seconds;
}

static void run_rounds(void)
{
    start_time = seconds_now();
    busy_elsewhere();
    while (another_round())
        run_round();
    clear_progress();
    bench.seconds = elapsed();
    bench.elsewhere = busy_elsewhere();
    bench.interrupted = interrupted != 0;
}

/* ---- The command line ---- */

static struct allocator *add(const char *name)
{
    if (bench.count == ALLOCATORS_MAX)
        fail("more than %d allocators; type stages=\"1 2 system\" to pick some", ALLOCATORS_MAX);
    struct allocator *a = &bench.allocators[bench.count++];
    snprintf(a->name, sizeof a->name, "%s", name);
    snprintf(a->program, sizeof a->program, "%s/bench/cell", directory);
    return a;
}

static void add_named(const char *name)
{
    struct allocator *a = add(name);
    bool limit = strcmp(name, "bump") == 0 || strcmp(name, "freelist") == 0;
    if (strcmp(name, "system") == 0 || strcmp(name, "harness") == 0)
        snprintf(a->library, sizeof a->library, "%s", name);
    else
        snprintf(a->library, sizeof a->library, "%s/%slib%s.so", directory, limit ? "bench/" : "", name);
    if (strcmp(name, "system") == 0) {
        bench.system = bench.count - 1;
        system_version(a->version, sizeof a->version);
    }
    a->stage = atoi(name);
}

/* A peer that is not installed is left out, visibly. */
static void add_peer(const struct peer *peer)
{
    char output[512];
    struct allocator *a = add(peer->name);
    snprintf(a->library, sizeof a->library, "%s", peer->library);
    if (strcmp(peer->name, "musl") == 0)
        snprintf(a->program, sizeof a->program, "%s/bench/cell-musl", directory);
    package_version(peer->package, a->version, sizeof a->version);
    if (run_cell_program(a, "probe", output, sizeof output) == 0)
        return;
    left_out(peer, output);
    memset(a, 0, sizeof *a);
    bench.count--;
}

/* Calls `take` for each name in a list with spaces or commas between. */
static void for_each_name(const char *names, void (*take)(const char *name))
{
    char name[40];
    while (*(names += strspn(names, " ,")) != '\0') {
        size_t length = strcspn(names, " ,");
        snprintf(name, sizeof name, "%.*s", (int)length, names);
        take(name);
        names += length;
    }
}

static void take_workload(const char *name)
{
    int w = workload_by_name(name);
    if (w >= 0) {
        bench.chosen[w] = true;
        return;
    }
    fprintf(stderr, "only=%s does not exist; pick from:", name);
    for (int i = 0; i < WORKLOADS; i++)
        fprintf(stderr, " %s", workloads[i].name);
    fail("");
}

static const char *dry_run, *interrupted_text, *rounds_text, *seconds_text, *limit_text, *only_text,
    *peers_text;

static const struct option {
    const char *name;
    const char **value;
} options[] = {
    {"build", &directory}, /* where this program's own parts are, and the stages' libraries */
    {"only", &only_text}, /* workloads */
    {"rounds", &rounds_text}, /* this many, instead of as many as fit into: */
    {"seconds", &seconds_text}, /* */
    {"limit", &limit_text}, /* seconds, after which a cell is stopped */
    {"peers", &peers_text}, /* mallocs from elsewhere, or all */
    {"csv", &csv_file}, /* files to write */
    {"json", &json_file}, /* */
    {"dry-run", &dry_run}, /* 1: everything once */
    {"focus", &bench.focus}, /* the stage in question, */
    {"before", &bench.before}, /* the one before it, */
    {"reference", &bench.reference}, /* and, for a student's own, the finished one */
    {"commit", &bench.commit}, /* for the header */
    {"flags", &bench.flags}, /* */
    {"old", &old_file}, /* compare these results, */
    {"new", &new_file}, /* with these; measure nothing */
    {"suite-of", &suite_file}, /* which suite wrote this? */
    {"title", &bench.title}, /* the name of another suite, */
    {"rows", &rows_file}, /* and its CSV: print its header, write it as JSON; measure nothing */
    {"interrupted", &interrupted_text}, /* 1: that suite was */
};

/* --name=value, or the name of an allocator. */
static void parse_argument(const char *argument)
{
    if (strncmp(argument, "--", 2) != 0) {
        add_named(argument);
        return;
    }
    size_t length = strcspn(argument += 2, "=");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strlen(options[i].name) == length && strncmp(argument, options[i].name, length) == 0) {
            *options[i].value = argument[length] == '=' ? argument + length + 1 : "1";
            return;
        }
    fail("--%s is unknown; type make help for what can be asked of the benchmark", argument);
}

static void parse(int argc, char **argv)
{
    bench.system = -1;
    for (int i = 1; i < argc; i++)
        parse_argument(argv[i]);
    if (rounds_text != NULL)
        rounds_wanted = typed_number("rounds", rounds_text, ROUNDS_MAX, 20);
    if (seconds_text != NULL)
        budget_seconds = (double)typed_number("seconds", seconds_text, 86400, 20);
    if (limit_text != NULL)
        cell_seconds = (unsigned)typed_number("limit", limit_text, 3600, 20);
    if (dry_run != NULL) {
        bench.dry = true;
        rounds_wanted = 1;
        cell_ns = 0;
    }
    for (int w = 0; w < WORKLOADS; w++)
        bench.chosen[w] = only_text == NULL;
    if (only_text != NULL)
        for_each_name(only_text, take_workload);
    if (bench.system < 0)
        add_named("system");
    if (peers_text != NULL)
        for_each_peer(peers_text, add_peer);
}

static void save(const char *path, void (*print)(const struct bench *, FILE *))
{
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (path != NULL && file == NULL)
        fail("%s: %s", path, strerror(errno));
    if (file == NULL)
        return;
    print(&bench, file);
    if (fclose(file) != 0)
        fail("%s: %s", path, strerror(errno));
}

static int save_rows(void)
{
    FILE *file = json_file == NULL ? NULL : fopen(json_file, "w");
    if (file == NULL)
        fail("%s: %s", json_file == NULL ? "json" : json_file, strerror(errno));
    bench.interrupted = interrupted_text != NULL;
    print_header(&bench, bench.title);
    int status = print_rows(rows_file, &bench, file);
    return fclose(file) == 0 ? status : 2;
}

int main(int argc, char **argv)
{
    parse(argc, argv);
    if (old_file != NULL && new_file != NULL)
        return compare_files(old_file, new_file);
    if (suite_file != NULL)
        return print_suite_of(suite_file);
    if (rows_file != NULL)
        return save_rows();
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_interrupt}, NULL);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_interrupt}, NULL);
    check_writable("csv", csv_file);
    check_writable("json", json_file);
    run_rounds();
    print_report(&bench);
    save(csv_file, print_csv);
    save(json_file, print_json);
    for (int i = 0; i < bench.count; i++)
        for (int w = 0; w < WORKLOADS; w++)
            if (bench.allocators[i].cells[w].failure[0] != '\0')
                return 1;
    return interrupted ? 128 + interrupted : 0;
}
