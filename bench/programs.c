/*
 * programs.c - make bench suite=programs: real programs over each allocator.
 *
 *     programs-run --build=FOLDER [--rounds=N] [--peers=NAMES] [--only=PROGRAMS] [--csv=FILE] [--json=FILE]
 *                  [--limit=SECONDS] [--dry-run] STAGE...
 *
 * bench/programs.sh knows the programs and their inputs. In each round each program runs once over each allocator, which
 * take turns; its processor time and its peak resident memory are the kernel's (wait4), and its output must be that over
 * the system's malloc, to the byte. Stages 1 and 2, whose calls cost O(blocks), get small inputs, and so a table and a
 * system row of their own. A dry run gives everybody small inputs, once.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "run.h"
#include "typed.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRAMS_MAX = 16, ROUNDS = 6, LIMIT = 60 };

enum size { FULL, SMALL, SIZES };
static const char *const size_names[SIZES] = {"full", "small"};

struct run {
    double seconds, kib;
};

struct row {
    struct preload over;
    enum size size;
    struct run runs[PROGRAMS_MAX][ROUNDS_MAX];
    char failure[PROGRAMS_MAX][16]; /* for the table; such a cell is not run again */
};

static struct {
    const char *build, *csv, *only;
    size_t rounds;
    unsigned limit;
    bool dry;
    char programs[PROGRAMS_MAX][16];
    bool missing[PROGRAMS_MAX];
    unsigned long long calls[SIZES][PROGRAMS_MAX];
    int program_count, row_count;
    struct row rows[ALLOCATORS_MAX];
} suite = {.rounds = ROUNDS, .limit = LIMIT};

static volatile sig_atomic_t interrupted;

static void interrupt(int number) { interrupted = number; }

/* ---- One run ---- */

static void path_of(char *path, size_t bytes, const char *what, int program, enum size size)
{
    snprintf(path, bytes, "%s/bench/programs/%s-%s.%s", suite.build, suite.programs[program],
        size_names[size], what);
}

static _Noreturn void become(int program, enum size size, const char *library, const char *output)
{
    char inputs[400];
    snprintf(inputs, sizeof inputs, "%s/bench/programs", suite.build);
    int file = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0)
        _exit(127);
    setenv("OVER", library, 1);
    alarm(suite.limit);
    execlp("sh", "sh", "bench/programs.sh", "run", suite.programs[program], size_names[size], inputs,
        (char *)NULL);
    _exit(127);
}

/* Returns the status that wait4() gives. */
static int run_once(int program, enum size size, const char *library, const char *output, struct run *run)
{
    struct rusage usage;
    int status;
    pid_t child = fork();
    if (child == 0)
        become(program, size, library, output);
    while (child < 0 || wait4(child, &status, 0, &usage) < 0) {
        if (child < 0 || errno != EINTR) {
            perror("programs");
            exit(2);
        }
    }
    run->seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                   (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    run->kib = (double)usage.ru_maxrss;
    return status;
}

static bool same_file(const char *a, const char *b)
{
    FILE *one = fopen(a, "r"), *other = fopen(b, "r");
    bool same = one != NULL && other != NULL;
    for (int c = 0; same && c != EOF;) {
        c = getc(one);
        same = c == getc(other);
    }
    if (one != NULL)
        fclose(one);
    if (other != NULL)
        fclose(other);
    return same;
}

static void first_line(const char *path, char *line, size_t bytes)
{
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(line, (int)bytes, file) == NULL)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
}

/* What the program writes over the system's malloc, and its number of calls. Not installed: says so. */
static void expect(int program, enum size size)
{
    char expected[400], counted[400], number[400], library[400];
    struct run run;
    path_of(expected, sizeof expected, "expected", program, size);
    path_of(counted, sizeof counted, "counted", program, size);
    path_of(number, sizeof number, "calls", program, size);
    snprintf(library, sizeof library, "%s/bench/libcalls.so", suite.build);
    int status = run_once(program, size, "", expected, &run);
    if (status != 0) {
        char line[200];
        first_line(expected, line, sizeof line);
        fprintf(stderr, "%s is skipped: %s\n", suite.programs[program],
            line[0] != '\0' ? line : "it fails over the system's malloc");
        suite.missing[program] = true;
        return;
    }
    remove(number);
    setenv("CALLS_FILE", number, 1);
    run_once(program, size, library, counted, &run);
    unsetenv("CALLS_FILE");
    FILE *file = fopen(number, "r");
    unsigned long long calls;
    while (file != NULL && fscanf(file, "%llu", &calls) == 1)
        if (calls > suite.calls[size][program])
            suite.calls[size][program] = calls;
    if (file != NULL)
        fclose(file);
    if (suite.calls[size][program] == 0) {
        fprintf(stderr, "%s is skipped: it does not call the C library's malloc\n", suite.programs[program]);
        suite.missing[program] = true;
    }
}

static void measure(struct row *row, int program, size_t round)
{
    char expected[400], output[400];
    struct run run = {NAN, NAN};
    path_of(expected, sizeof expected, "expected", program, row->size);
    path_of(output, sizeof output, row->over.name, program, row->size);
    int status = run_once(program, row->size, row->over.library, output, &run);
    if (interrupted)
        return;
    if (status == 0 && same_file(expected, output)) {
        row->runs[program][round] = run;
        remove(output);
        return;
    }
    char *failure = row->failure[program];
    if (status == 0)
        snprintf(failure, sizeof row->failure[program], "differs");
    else
        failure_mark(status, failure, sizeof row->failure[program]);
    fprintf(stderr, "%s over %s: %s; its output is in %s\n", suite.programs[program], row->over.name,
        status == 0 ? "another output than over the system's malloc" : failure, output);
}

/* ---- Tables ---- */

static double seconds_of(const struct run *run) { return run->seconds; }
static double kib_of(const struct run *run) { return run->kib; }

static const struct row *system_row(enum size size)
{
    for (int i = 0; i < suite.row_count; i++)
        if (suite.rows[i].over.library[0] == '\0' && suite.rows[i].size == size)
            return &suite.rows[i];
    return NULL;
}

static bool has_run(const struct row *row, int program, size_t round)
{
    return !isnan(row->runs[program][round].seconds);
}

/* Of what `what` says, as a multiple of the system's in the same round; of the figure itself if `over` is NULL. */
static struct estimate figure(
    const struct row *row, const struct row *over, int program, double (*what)(const struct run *))
{
    double x[ROUNDS_MAX];
    size_t n = 0;
    for (size_t r = 0; r < suite.rounds; r++)
        if (has_run(row, program, r) && (over == NULL || has_run(over, program, r)))
            x[n++] = what(&row->runs[program][r]) / (over == NULL ? 1 : what(&over->runs[program][r]));
    return estimate(x, n);
}

static bool has_failed(const struct row *row)
{
    for (int p = 0; p < suite.program_count; p++)
        if (row->failure[p][0] != '\0')
            return true;
    return false;
}

/* The geometric mean over the programs, with the interval that the rounds' means give. */
static struct estimate mean_figure(
    const struct row *row, const struct row *over, double (*what)(const struct run *))
{
    double means[ROUNDS_MAX];
    size_t n = 0;
    if (has_failed(row))
        return estimate(means, 0);
    for (size_t r = 0; r < suite.rounds; r++) {
        double x[PROGRAMS_MAX];
        size_t count = 0, wanted = 0;
        for (int p = 0; p < suite.program_count; p++) {
            wanted += !suite.missing[p];
            if (!suite.missing[p] && has_run(row, p, r) && has_run(over, p, r))
                x[count++] = what(&row->runs[p][r]) / what(&over->runs[p][r]);
        }
        if (count > 0 && count == wanted)
            means[n++] = geometric_mean(x, count);
    }
    return estimate(means, n);
}

static void heading(const char *title, const char *last)
{
    printf("\n%s\n%-16s", title, "");
    for (int p = 0; p < suite.program_count; p++)
        if (!suite.missing[p])
            printf("%8s", suite.programs[p]);
    printf("%8s\n", last);
}

static void ratios(enum size size, const char *title, double (*what)(const struct run *))
{
    const struct row *over = system_row(size);
    heading(title, "mean");
    for (int i = 0; i < suite.row_count; i++) {
        const struct row *row = &suite.rows[i];
        if (row->size != size || row == over)
            continue;
        printf("%-16s", row->over.name);
        for (int p = 0; p < suite.program_count; p++) {
            struct estimate e = figure(row, over, p, what);
            if (suite.missing[p])
                continue;
            if (row->failure[p][0] != '\0')
                printf("%8s", row->failure[p]);
            else if (e.samples == 0)
                printf("%8s", "-");
            else
                printf("%7.2f%s", e.median,
                    verdict(e) == NO_DIFFERENCE ? "~"
                    : verdict(e) == TOO_FEW     ? "?"
                                                : " ");
        }
        struct estimate mean = mean_figure(row, over, what);
        if (mean.samples == 0)
            printf("%8s", "-");
        else
            printf("%8.2f", mean.median);
        if (!isnan(mean.low))
            printf("  %.2f..%.2f", mean.low, mean.high);
        printf("\n");
    }
}

static void tables(void)
{
    for (enum size size = FULL; size < SIZES; size++) {
        const struct row *over = system_row(size);
        if (over == NULL)
            continue;
        heading(size == FULL ? "The programs over the system's malloc"
                             : "With small inputs, over the system's malloc",
            "");
        printf("%-16s", "milliseconds");
        for (int p = 0; p < suite.program_count; p++)
            if (!suite.missing[p])
                printf("%8.1f", figure(over, NULL, p, seconds_of).median * 1e3);
        printf("\n%-16s", "peak MiB");
        for (int p = 0; p < suite.program_count; p++)
            if (!suite.missing[p])
                printf("%8.1f", figure(over, NULL, p, kib_of).median / 1024);
        printf("\n%-16s", "1000 calls");
        for (int p = 0; p < suite.program_count; p++)
            if (!suite.missing[p])
                printf("%8.1f", (double)suite.calls[size][p] / 1000);
        printf("\n");
        ratios(size, "Processor time as a multiple of the system's (below 1: faster)", seconds_of);
        ratios(size, "Peak resident memory as a multiple of the system's (below 1: smaller)", kib_of);
    }
    printf("\nAll of a program's time and memory are in it, of which malloc is a part. Every output was "
           "compared\n"
           "with that over the system's malloc. ~ no difference seen  ? no verdict: fewer than %d rounds. "
           "Behind\n"
           "the mean: its 95 %% interval, by ranks over the rounds.\n",
        FEWEST_SAMPLES);
}

/* A line for each run; the same as JSON is bench's work (--rows). */
static void write_csv(void)
{
    FILE *out = fopen(suite.csv, "w");
    if (out == NULL)
        return;
    fprintf(out, "allocator,program,size,round,calls,seconds,peak_kib,failure\n");
    for (int i = 0; i < suite.row_count; i++)
        for (int p = 0; p < suite.program_count; p++)
            for (size_t r = 0; r < suite.rounds; r++) {
                const struct row *row = &suite.rows[i];
                bool failed = row->failure[p][0] != '\0' && r == 0;
                if (has_run(row, p, r))
                    fprintf(out, "%s,%s,%s,%zu,%llu,%.6f,%.0f,\n", row->over.name, suite.programs[p],
                        size_names[row->size], r + 1, suite.calls[row->size][p], row->runs[p][r].seconds,
                        row->runs[p][r].kib);
                else if (failed)
                    fprintf(out, "%s,%s,%s,%zu,%llu,,,%s\n", row->over.name, suite.programs[p],
                        size_names[row->size], r + 1, suite.calls[row->size][p], row->failure[p]);
            }
    fclose(out);
}

/* ---- The command line ---- */

static void add_row(const char *name, const char *library, enum size size)
{
    struct row *row = &suite.rows[suite.row_count];
    row->over = next_preload((size_t)suite.row_count++, name, library);
    row->size = size;
    for (int p = 0; p < PROGRAMS_MAX; p++)
        for (size_t r = 0; r < ROUNDS_MAX; r++)
            row->runs[p][r] = (struct run){NAN, NAN};
}

static void add_peer(const struct peer *peer)
{
    if (can_preload(peer))
        add_row(peer->name, peer->library, suite.dry ? SMALL : FULL);
}

static bool is_slow(const char *stage)
{
    return strspn(stage, "12") == 1 || strcmp(stage, "my1") == 0 || strcmp(stage, "my2") == 0;
}

static void add_stages(char **names)
{
    bool slow = suite.dry, quick = false;
    for (char **name = names; *name != NULL; name++)
        if (is_slow(*name))
            slow = true;
        else
            quick = quick || !suite.dry;
    if (quick)
        add_row("system", "", FULL);
    if (slow)
        add_row("system", "", SMALL);
    for (; *names != NULL; names++) {
        char library[300];
        snprintf(library, sizeof library, "%s/lib%s.so", suite.build, *names);
        add_row(*names, library, suite.dry || is_slow(*names) ? SMALL : FULL);
    }
}

static bool is_chosen(const char *program)
{
    char list[200], name[20];
    snprintf(list, sizeof list, " %s ", suite.only);
    for (char *c = list; *c != '\0'; c++)
        *c = *c == ',' ? ' ' : *c;
    snprintf(name, sizeof name, " %s ", program);
    return suite.only == NULL || strstr(list, name) != NULL;
}

static void find_programs(void)
{
    char output[4096], command[] = "exec sh bench/programs.sh list";
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", command, NULL};
    run_program(argv, NULL, 10, output, sizeof output);
    for (char *name = strtok(output, " \n"); name != NULL && suite.program_count < PROGRAMS_MAX;
         name = strtok(NULL, " \n"))
        if (is_chosen(name))
            snprintf(suite.programs[suite.program_count++], sizeof suite.programs[0], "%s", name);
    if (suite.program_count == 0) {
        fprintf(
            stderr, "only=%s is none of the programs; sh bench/programs.sh list tells them\n", suite.only);
        exit(2);
    }
}

static void make_inputs(void)
{
    char output[4096], command[500];
    snprintf(command, sizeof command, "exec sh bench/programs.sh inputs '%s/bench/programs'", suite.build);
    char *argv[] = {(char *)"/bin/sh", (char *)"-c", command, NULL};
    if (run_program(argv, NULL, 60, output, sizeof output) != 0) {
        fprintf(stderr, "programs: the inputs cannot be written: %s\n", output);
        exit(2);
    }
}

static void options(int argc, char **argv)
{
    static const struct option names[] = {{"build", required_argument, NULL, 'b'},
        {"rounds", required_argument, NULL, 'r'}, {"peers", required_argument, NULL, 'p'},
        {"only", required_argument, NULL, 'o'}, {"csv", required_argument, NULL, 'c'},
        {"json", required_argument, NULL, 'j'}, {"limit", required_argument, NULL, 'l'},
        {"dry-run", no_argument, NULL, 'd'}, {0}};
    const char *peers = NULL;
    for (int option; (option = getopt_long(argc, argv, "", names, NULL)) != -1;)
        switch (option) {
        case 'b':
            suite.build = optarg;
            break;
        case 'p':
            peers = optarg;
            break;
        case 'o':
            suite.only = optarg;
            break;
        case 'c':
            suite.csv = optarg;
            break;
        case 'd':
            suite.dry = true;
            break;
        case 'r':
            suite.rounds = typed_number("rounds", optarg, ROUNDS_MAX, ROUNDS);
            break;
        case 'l':
            suite.limit = (unsigned)typed_number("limit", optarg, 3600, LIMIT);
            break;
        case 'j':
            check_writable("json", optarg); /* bench writes it, with --rows */
            break;
        default:
            exit(2);
        }
    if (suite.dry)
        suite.rounds = 1;
    check_writable("csv", suite.csv);
    add_stages(argv + optind);
    if (peers != NULL)
        for_each_peer(peers, add_peer);
}

int main(int argc, char **argv)
{
    options(argc, argv);
    find_programs();
    make_inputs();
    sigaction(SIGINT, &(struct sigaction){.sa_handler = interrupt}, NULL);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = interrupt}, NULL);
    for (int p = 0; p < suite.program_count; p++)
        for (enum size size = FULL; size < SIZES && !suite.missing[p]; size++)
            if (system_row(size) != NULL)
                expect(p, size);

    char machine[512];
    machine_line(machine, sizeof machine);
    printf("%s\n", machine);
    busy_elsewhere();
    double started = seconds_now();
    int rows = suite.row_count;
    for (size_t round = 0; round < suite.rounds && !interrupted; round++)
        for (int p = 0; p < suite.program_count; p++)
            for (int i = 0; i < rows && !interrupted; i++) {
                struct row *row = &suite.rows[(i + (int)round) % rows];
                double done = ((double)round + ((double)p + i / (double)rows) / suite.program_count) /
                              (double)suite.rounds;
                show_progress(
                    done, done == 0 ? 0 : (seconds_now() - started) * (1 - done) / done, row->over.name);
                if (!suite.missing[p] && row->failure[p][0] == '\0')
                    measure(row, p, round);
            }
    clear_progress();
    tables();
    if (suite.csv != NULL)
        write_csv();
    double elsewhere = busy_elsewhere();
    if (elsewhere > 0.3)
        printf(
            "Warning: other programs kept %.1f processors busy; stop them and measure again.\n", elsewhere);
    if (interrupted) {
        printf("Warning: interrupted; the tables hold what was measured until then.\n");
        return 128 + interrupted;
    }
    for (int i = 0; i < rows; i++)
        if (has_failed(&suite.rows[i]))
            return 1;
    return 0;
}
