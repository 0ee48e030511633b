/*
 * trace_bench.c - `make bench suite=traces`: traces of real programs on every allocator, speed and
 * utilisation.
 *
 *     trace_bench [OPTIONS] ALLOCATOR... -- TRACE...
 *
 * Each trace on each allocator runs in a process of its own (trace_cell.c), the allocators in turn within a
 * round, so that the ratio to the system's malloc is one of times measured close to each other.
 */
#define _GNU_SOURCE
#include "bench.h"
#include "bits.h"
#include "run.h"
#include "trace.h"
#include "trace_cell.h"
#include "typed.h"
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TRACES_MAX = 64, COLUMNS_MAX = 16, ROUNDS_LIMIT = 100 };

/* Requests of this size and over are left out: they must fail on every machine, and mean to. */
static const size_t HOPELESS_BYTES = (size_t)1 << 40;

struct loaded {
    char name[40];
    FILE *file; /* for the cells */
    size_t ops; /* steps, as they run */
    size_t blocks, bytes; /* asked for in all */
    size_t peak_payload; /* bytes */
    uint32_t *lines; /* of the steps, for messages */
    const char *path;
    bool scores_speed, scores_space;
};

/* One trace on one allocator. */
struct result {
    double ns[ROUNDS_LIMIT]; /* for one run; NaN: not in this round */
    size_t heap; /* bytes; 0: not known */
    bool exact; /* `heap` is what the stage says, else by how much resident memory grew */
    bool slow; /* its one run took so long that it is not repeated */
    char mark[12]; /* what the table shows instead of a figure */
    char failure[300]; /* empty, or why it failed */
};

struct column {
    char name[40]; /* of the table */
    char library[300];
    char program[300];
    char version[80];
    struct result results[TRACES_MAX];
};

static struct loaded traces[TRACES_MAX];
static struct column columns[COLUMNS_MAX];
static int trace_count, column_count, reference = -1;
static size_t rounds; /* done */
static double elsewhere; /* processors that other programs kept busy meanwhile */

static const char *directory = "build", *csv_file, *json_file, *commit, *flags;
static size_t rounds_wanted = FEWEST_SAMPLES;
static unsigned limit_seconds = 10; /* of processor time, for a cell */
static unsigned long long cell_ns = 20000000; /* repeat a trace for so long */
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

/* ---- Loading traces ---- */

/* bench/traces/perl.trace.gz: perl. */
static void name_of(const char *path, char *name, size_t bytes)
{
    const char *slash = strrchr(path, '/');
    snprintf(name, bytes, "%s", slash == NULL ? path : slash + 1);
    for (const char *const *end = (const char *const[]){".gz", ".trace", ".rep", ".script", NULL};
         *end != NULL; end++) {
        size_t length = strlen(name), cut = strlen(*end);
        if (length > cut && strcmp(name + length - cut, *end) == 0)
            name[length - cut] = '\0';
    }
}

static size_t total_bytes(const struct trace_op *op)
{
    size_t bytes = op->bytes;
    if (op->kind == TRACE_CALLOC && __builtin_mul_overflow(op->count, op->bytes, &bytes))
        return SIZE_MAX;
    return op->kind == TRACE_FREE ? 0 : bytes;
}

/* Turns operations into steps; finds out what is live, and how much at most. */
static struct trace_file prepare(struct loaded *l, const struct trace *trace, struct step *steps)
{
    struct trace_file about = {.slots = trace->slots + 1};
    size_t *live = calloc(about.slots, sizeof *live), live_bytes = 0; /* by slot: payload bytes */
    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_op *op = &trace->ops[i];
        size_t bytes = total_bytes(op);
        if (bytes >= HOPELESS_BYTES || (op->kind == TRACE_ALIGNED && !is_power_of_two(op->alignment)))
            continue;
        uint32_t slot = op->slot == TRACE_NULL ? 0 : op->slot + 1;
        struct step *s = &steps[about.steps];
        *s = (struct step){.bytes = bytes, .slot = slot, .kind = op->kind};
        if (op->kind == TRACE_ALIGNED)
            s->alignment_log2 = (uint8_t)floor_log2(op->alignment);
        l->lines[about.steps] = op->line;
        if (op->kind != TRACE_TOUCH) {
            live_bytes += bytes - live[slot];
            live[slot] = bytes;
            l->blocks += op->kind != TRACE_FREE;
            l->bytes += bytes;
        } else if (s->bytes > live[slot]) {
            s->bytes = live[slot];
        }
        if (live_bytes > l->peak_payload) {
            l->peak_payload = live_bytes;
            about.peak_step = about.steps;
        }
        about.steps++;
    }
    free(live);
    return about;
}

static void load(const char *path)
{
    char error[TRACE_ERROR_BYTES];
    struct trace trace;
    if (trace_count == TRACES_MAX)
        fail("more than %d traces; type only=\"NAME NAME\" to pick some", TRACES_MAX);
    if (!trace_read(&trace, path, error))
        fail("%s", error);
    struct loaded *l = &traces[trace_count++];
    struct step *steps = calloc(trace.count, sizeof *steps);
    l->path = path;
    l->lines = calloc(trace.count, sizeof *l->lines);
    l->file = tmpfile();
    if (steps == NULL || l->lines == NULL || l->file == NULL)
        fail("%s: %s", path, strerror(errno));
    name_of(path, l->name, sizeof l->name);
    struct trace_file about = prepare(l, &trace, steps);
    if (fwrite(&about, sizeof about, 1, l->file) != 1 ||
        fwrite(steps, sizeof *steps, about.steps, l->file) != about.steps || fflush(l->file) != 0)
        fail("%s: cannot hand it to the cells: %s", path, strerror(errno));
    l->ops = about.steps;
    l->scores_speed = trace.weight == 1 || trace.weight == 3;
    l->scores_space = trace.weight == 1 || trace.weight == 2;
    free(steps);
    trace_release(&trace);
}

/* ---- One cell ---- */

static int run_cell(
    const struct column *c, const struct loaded *l, const char *mode, char *output, size_t bytes)
{
    char ns[24], seconds[24], file[24], program[300], library[300], what[16];
    snprintf(ns, sizeof ns, "%llu", cell_ns);
    snprintf(seconds, sizeof seconds, "%u", limit_seconds);
    snprintf(program, sizeof program, "%s", c->program);
    snprintf(library, sizeof library, "%s", c->library);
    snprintf(what, sizeof what, "%s", mode);
    snprintf(file, sizeof file, "%d", l == NULL ? -1 : fileno(l->file));
    bool preload = strchr(c->library, '.') != NULL;
    /* The cell stops itself, by processor time; this alarm is for one that does not get as far as that. */
    return run_program((char *[]){program, library, what, file, ns, seconds, NULL},
        preload ? c->library : NULL, limit_seconds, output, bytes);
}

/* ">10 s", or how it died; in words for below the table. */
static void note_failure(struct result *r, const struct loaded *l, int status, char *output)
{
    size_t step;
    output[strcspn(output, "\n")] = '\0';
    if (sscanf(output, "stopped %zu", &step) == 1) {
        snprintf(r->mark, sizeof r->mark, ">%u s", limit_seconds);
        snprintf(r->failure, sizeof r->failure, "more than %u s: stopped after %.0f %% of the operations",
            limit_seconds, 100.0 * (double)step / (double)l->ops);
    } else if (sscanf(output, "null %zu", &step) == 1) {
        snprintf(r->mark, sizeof r->mark, "NULL");
        snprintf(r->failure, sizeof r->failure, "%s:%u: it got no memory", l->path, l->lines[step]);
    } else if (WIFSIGNALED(status)) {
        int number = WTERMSIG(status);
        snprintf(r->mark, sizeof r->mark, "%s", signal_name(number));
        snprintf(r->failure, sizeof r->failure, "%s. %.200s", strsignal(number), output);
    } else {
        snprintf(r->mark, sizeof r->mark, "failed");
        snprintf(r->failure, sizeof r->failure, "%.200s", output);
    }
}

/* Where the allocator does not say how large its heap was, the growth of resident memory must do. */
static void measure_space(const struct column *c, const struct loaded *l, struct result *r)
{
    char output[4096];
    int status = run_cell(c, l, "space", output, sizeof output);
    if (interrupted || (status == 0 && sscanf(output, "ok %zu", &r->heap) == 1))
        return;
    note_failure(r, l, status, output);
}

static void measure(struct column *c, int trace, size_t round)
{
    char output[4096];
    unsigned long long runs, ns;
    size_t steps, heap;
    char warm[8];
    struct result *r = &c->results[trace];
    const struct loaded *l = &traces[trace];
    r->ns[round] = NAN;
    if (r->failure[0] != '\0' || r->slow || interrupted)
        return;
    int status = run_cell(c, l, "speed", output, sizeof output);
    if (interrupted)
        return;
    bool whole = sscanf(output, "ok %zu %llu %llu %zu %7s", &steps, &runs, &ns, &heap, warm) == 5;
    if (status != 0 || !whole || steps != l->ops) {
        note_failure(r, l, status, output);
        return;
    }
    r->ns[round] = (double)ns / (double)runs;
    r->slow = strcmp(warm, "cold") == 0;
    if (round > 0 || strcmp(c->library, "harness") == 0)
        return;
    r->heap = heap;
    r->exact = heap != 0;
    if (!r->exact)
        measure_space(c, l, r);
}

/* The first round is the longest: what is slow is not repeated. */
static void show_cell(int cell, int cells, double seconds, double last_round, const char *allocator)
{
    char doing[120];
    double left = last_round * ((double)(rounds_wanted - rounds) - (double)cell / cells);
    if (rounds == 0)
        left = cell == 0 ? 0 : seconds * (cells - cell) / cell;
    snprintf(
        doing, sizeof doing, "round %zu   %s: %s", rounds + 1, traces[cell / column_count].name, allocator);
    show_progress(seconds / (seconds + left), left, doing);
}

static void run_rounds(void)
{
    double start = seconds_now(), last_round = 0;
    int cells = trace_count * column_count;
    busy_elsewhere();
    for (rounds = 0; rounds < rounds_wanted && !interrupted; rounds++) {
        double round_start = seconds_now();
        for (int cell = 0; cell < cells; cell++) {
            struct column *c = &columns[(cell + (int)rounds) % column_count];
            show_cell(cell, cells, seconds_now() - start, last_round, c->name);
            measure(c, cell / column_count, rounds);
        }
        last_round = seconds_now() - round_start;
    }
    clear_progress();
    elsewhere = busy_elsewhere();
}

/* ---- Figures ---- */

/* Median of the operations per second. */
static double speed(const struct column *c, int trace)
{
    double samples[ROUNDS_LIMIT];
    size_t n = 0;
    for (size_t round = 0; round < rounds; round++)
        if (!isnan(c->results[trace].ns[round]))
            samples[n++] = c->results[trace].ns[round];
    return (double)traces[trace].ops * 1e9 / estimate(samples, n).median;
}

/* The time as a multiple of the reference's in the same round. */
static struct estimate time_ratio(const struct column *c, int trace)
{
    double samples[ROUNDS_LIMIT];
    size_t n = 0;
    for (size_t round = 0; round < rounds; round++) {
        double x = c->results[trace].ns[round] / columns[reference].results[trace].ns[round];
        if (!isnan(x))
            samples[n++] = x;
    }
    return estimate(samples, n);
}

/* Peak payload by peak heap. Resident memory that was there before the trace can make it more than 1. */
static double utilisation(const struct column *c, int trace)
{
    size_t heap = c->results[trace].heap;
    return heap == 0 ? (double)NAN : fmin(1, (double)traces[trace].peak_payload / (double)heap);
}

static bool finished(const struct column *c, int trace) { return !isnan(speed(c, trace)); }

/* The geometric mean, over the traces that it finished, of its speed to the reference's in the same round. */
static struct estimate relative_speed(const struct column *c)
{
    double samples[ROUNDS_LIMIT];
    size_t n = 0;
    for (size_t round = 0; round < rounds; round++) {
        double ratios[TRACES_MAX];
        size_t count = 0;
        for (int t = 0; t < trace_count; t++)
            if (finished(c, t))
                ratios[count++] = columns[reference].results[t].ns[round] / c->results[t].ns[round];
        double mean = geometric_mean(ratios, count);
        if (!isnan(mean))
            samples[n++] = mean;
    }
    return estimate(samples, n);
}

struct scores {
    int traces; /* finished, and so scored */
    double utilisation; /* mean */
    double total_speed, harmonic_speed,
        geometric_ratio; /* operations per second; the last to the reference */
    double classic, newer, geometric;
};

/* To 0..1; what is not known stays so. */
static double clamp(double x) { return isnan(x) ? x : fmin(1, fmax(0, x)); }

/* The three formulas in use elsewhere; docs/traces.md has them with their sources. */
static struct scores score(const struct column *c)
{
    struct scores s = {0};
    const struct column *ref = &columns[reference];
    double u_sum = 0, ln_u = 0, ln_t = 0, ops = 0, seconds = 0, inverse = 0;
    double ref_seconds = 0, ref_inverse = 0;
    int space_traces = 0, speed_traces = 0;
    for (int t = 0; t < trace_count; t++) {
        double u = utilisation(c, t), speed_here = speed(c, t), speed_there = speed(ref, t);
        if (isnan(speed_here) || isnan(speed_there))
            continue;
        s.traces++;
        if (traces[t].scores_space && !isnan(u)) {
            space_traces++;
            u_sum += u;
            ln_u += log(u);
        }
        if (traces[t].scores_speed) {
            speed_traces++;
            ops += (double)traces[t].ops;
            seconds += (double)traces[t].ops / speed_here;
            ref_seconds += (double)traces[t].ops / speed_there;
            inverse += 1 / speed_here;
            ref_inverse += 1 / speed_there;
            ln_t += log(fmin(1, speed_here / speed_there));
        }
    }
    s.utilisation = u_sum / space_traces;
    s.total_speed = ops / seconds;
    s.harmonic_speed = speed_traces / inverse;
    s.classic = 100 * (0.60 * s.utilisation + 0.40 * fmin(1, ref_seconds / seconds));
    s.newer = 60 * clamp((s.utilisation - 0.55) / 0.19) + 40 * clamp((ref_inverse / inverse - 0.50) / 0.40);
    s.geometric = 100 * exp(0.5 * ln_u / space_traces + 0.5 * ln_t / speed_traces);
    return s;
}

/* ---- Tables ---- */

static void print_names(const char *first)
{
    printf("%s%-14s %8s %9s", colour("\033[1m"), first, "calls", "peak KiB");
    for (int i = 0; i < column_count; i++)
        printf(" %9s", columns[i].name);
    printf("%s\n", colour("\033[0m"));
}

static void print_trace_name(int t)
{
    printf("%-14.14s %8zu %9.0f", traces[t].name, traces[t].ops, (double)traces[t].peak_payload / 1024);
}

/* `-` for what is not known. */
static void print_figure(int width, int decimals, double x)
{
    if (isnan(x))
        printf(" %*s", width, "-");
    else
        printf(" %*.*f", width, decimals, x);
}

static void print_speeds(void)
{
    print_names("Mops/s");
    for (int t = 0; t < trace_count; t++) {
        print_trace_name(t);
        for (int i = 0; i < column_count; i++) {
            double mops = speed(&columns[i], t) * 1e-6;
            const char *mark = columns[i].results[t].mark;
            if (isnan(mops))
                printf(" %9s", mark[0] == '\0' ? "-" : mark);
            else
                printf(" %9.*f", mops < 0.1 ? 4 : mops < 10 ? 2 : 1, mops);
        }
        putchar('\n');
    }
}

static void print_utilisations(void)
{
    print_names("utilisation %");
    for (int t = 0; t < trace_count; t++) {
        print_trace_name(t);
        for (int i = 0; i < column_count; i++) {
            double percent = 100 * utilisation(&columns[i], t);
            if (isnan(percent))
                printf(" %9s", "-");
            else
                printf(" %8.1f%s", percent, columns[i].results[t].exact ? " " : "~");
        }
        putchar('\n');
    }
    puts("Peak payload by peak heap; ~ is by the growth of resident memory, every payload written to.");
}

static void print_scores(void)
{
    printf("%s%-14s %7s %9s %11s %8s %8s %8s %9s%s\n", colour("\033[1m"), "allocator", "traces", "speed",
        "interval", "mean U %", "classic", "newer", "geometric", colour("\033[0m"));
    for (int i = 0; i < column_count; i++) {
        const struct column *c = &columns[i];
        char interval[40] = "";
        struct estimate e = relative_speed(c);
        struct scores s = score(c);
        if (!isnan(e.low))
            snprintf(interval, sizeof interval, "%.2f-%.2f", e.low, e.high);
        if (s.traces == 0 || strcmp(c->library, "harness") == 0)
            continue;
        printf("%-14s %3d/%-3d", c->name, s.traces, trace_count);
        print_figure(9, 3, e.median);
        printf(" %11s", interval);
        print_figure(8, 1, 100 * s.utilisation);
        print_figure(8, 1, s.classic);
        print_figure(8, 1, s.newer);
        print_figure(9, 1, s.geometric);
        putchar('\n');
    }
    puts("Speed: geometric mean, over the traces that finished, of calls per second to system's in the same "
         "round,\n"
         "with the 95 % interval of its median. Scores, 0 to 100, count those traces only; T_ref is system.");
}

static void print_failures(void)
{
    for (int i = 0; i < column_count; i++)
        for (int t = 0; t < trace_count; t++)
            if (columns[i].results[t].failure[0] != '\0')
                printf("%s on %s: %s\n", columns[i].name, traces[t].name, columns[i].results[t].failure);
}

static void print_warnings(void)
{
    if (interrupted)
        puts("Warning: interrupted; the tables hold what was measured until then.");
    if (cell_ns == 0)
        puts("Warning: a dry run: everything ran once, cold, and the speeds say nothing.");
    else if (elsewhere > 0.25)
        printf("Warning: other programs kept %.1f of %ld processors busy; close them and measure again.\n",
            elsewhere, processors());
}

static void print_tables(void)
{
    char machine[500], when[40];
    machine_line(machine, sizeof machine);
    date(when, sizeof when);
    printf("%s\n%s, flags %s, commit %s, %s, %zu rounds\n", machine, compiler(), or_unknown(flags),
        or_unknown(commit), when, rounds);
    const char *separator = "";
    for (int i = 0; i < column_count; i++)
        if (columns[i].version[0] != '\0') {
            printf("%s%s %s", separator, columns[i].name, columns[i].version);
            separator = ", ";
        }
    puts("\n");
    print_speeds();
    putchar('\n');
    print_utilisations();
    putchar('\n');
    print_scores();
    putchar('\n');
    print_failures();
    print_warnings();
}

/* ---- Files ---- */

static void print_csv_file(FILE *out)
{
    fputs("trace,allocator,calls,peak_payload_bytes,rounds,mops,heap_bytes,utilisation,heap_is,failure,ratio,"
          "ratio_low,ratio_high\n",
        out);
    for (int t = 0; t < trace_count; t++)
        for (int i = 0; i < column_count; i++) {
            const struct result *r = &columns[i].results[t];
            struct estimate ratio_here = time_ratio(&columns[i], t);
            fprintf(out, "%s,%s,%zu,%zu,%zu,%.6g,%zu,%.6g,%s,%s,%.6g,%.6g,%.6g\n", traces[t].name,
                columns[i].name, traces[t].ops, traces[t].peak_payload, rounds, speed(&columns[i], t) * 1e-6,
                r->heap, utilisation(&columns[i], t), r->exact ? "exact" : "resident", r->mark,
                ratio_here.median, ratio_here.low, ratio_here.high);
        }
}

static void json_result(FILE *out, const struct column *c, int t)
{
    const struct result *r = &c->results[t];
    fputs("    {", out);
    json_string(out, "trace", traces[t].name);
    fputs(", ", out);
    json_string(out, "allocator", c->name);
    fputs(", ", out);
    json_number(out, "mops", speed(c, t) * 1e-6);
    fprintf(out, ", \"heap_bytes\": %zu, ", r->heap);
    json_string(out, "heap_is", r->exact ? "exact" : "resident");
    fputs(", ", out);
    json_number(out, "utilisation", utilisation(c, t));
    fputs(", ", out);
    json_string(out, "failure", r->failure);
    fputs(", \"ns_by_round\": [", out);
    for (size_t round = 0; round < rounds; round++)
        fprintf(out, isnan(r->ns[round]) ? "%snull" : "%s%.9g", round == 0 ? "" : ", ", r->ns[round]);
    fputs("]}", out);
}

static void json_scores(FILE *out, const struct column *c)
{
    struct scores s = score(c);
    struct estimate e = relative_speed(c);
    fputs("    {", out);
    json_string(out, "allocator", c->name);
    fputs(", ", out);
    json_string(out, "version", c->version);
    fprintf(out, ", \"traces\": %d, ", s.traces);
    json_number(out, "speed", e.median);
    fputs(", ", out);
    json_number(out, "speed_low", e.low);
    fputs(", ", out);
    json_number(out, "speed_high", e.high);
    fputs(", ", out);
    json_number(out, "utilisation", s.utilisation);
    fputs(", ", out);
    json_number(out, "classic", s.classic);
    fputs(", ", out);
    json_number(out, "newer", s.newer);
    fputs(", ", out);
    json_number(out, "geometric", s.geometric);
    fputs("}", out);
}

static void print_json_file(FILE *out)
{
    json_head(out, "traces", commit, flags);
    fprintf(out, ",\n  \"rounds\": %zu,\n  \"interrupted\": %s,\n  \"traces\": [", rounds,
        interrupted ? "true" : "false");
    for (int t = 0; t < trace_count; t++) {
        fputs(t == 0 ? "\n    {" : ",\n    {", out);
        json_string(out, "name", traces[t].name);
        fprintf(out, ", \"calls\": %zu, \"blocks\": %zu, \"bytes\": %zu, \"peak_payload_bytes\": %zu}",
            traces[t].ops, traces[t].blocks, traces[t].bytes, traces[t].peak_payload);
    }
    fputs("\n  ],\n  \"scores\": [", out);
    for (int i = 0; i < column_count; i++) {
        fputs(i == 0 ? "\n" : ",\n", out);
        json_scores(out, &columns[i]);
    }
    fputs("\n  ],\n  \"cells\": [", out);
    for (int t = 0; t < trace_count; t++)
        for (int i = 0; i < column_count; i++) {
            fputs(t == 0 && i == 0 ? "\n" : ",\n", out);
            json_result(out, &columns[i], t);
        }
    fputs("\n  ]\n}\n", out);
}

static void save(const char *path, void (*print)(FILE *))
{
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (file != NULL)
        print(file);
    if (path != NULL && (file == NULL || fclose(file) != 0))
        fail("%s: %s", path, strerror(errno));
}

/* What the traces are like, as the table in bench/traces/README.md has it. */
static void print_list(void)
{
    puts("| trace | calls | peak live bytes | mean request, bytes |\n|---|---|---|---|");
    for (int t = 0; t < trace_count; t++)
        printf("| %s | %zu | %zu | %.0f |\n", traces[t].name, traces[t].ops, traces[t].peak_payload,
            (double)traces[t].bytes / (double)traces[t].blocks);
}

/* ---- The command line ---- */

static struct column *add_column(const char *name, const char *library)
{
    if (column_count == COLUMNS_MAX)
        fail("more than %d allocators; type stages=\"1 2 system\" to pick some", COLUMNS_MAX);
    struct column *c = &columns[column_count++];
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->library, sizeof c->library, "%s", library);
    snprintf(c->program, sizeof c->program, "%s/bench/trace_cell", directory);
    return c;
}

/* A stage is called by its number here: the columns are narrow. */
static void add_named(const char *name)
{
    char library[300], shown[40];
    bool is_library = strcmp(name, "system") != 0 && strcmp(name, "harness") != 0;
    snprintf(library, sizeof library, is_library ? "%s/lib%s.so" : "%.0s%s", directory, name);
    snprintf(shown, sizeof shown, "%s", name);
    if (name[0] >= '1' && name[0] <= '9')
        snprintf(shown, sizeof shown, "stage %d", atoi(name));
    struct column *c = add_column(shown, library);
    if (strcmp(name, "system") == 0) {
        reference = column_count - 1;
        system_version(c->version, sizeof c->version);
    }
}

/* A peer that is not installed is left out, visibly. */
static void add_peer(const struct peer *peer)
{
    char output[512];
    struct column *c = add_column(peer->name, peer->library);
    if (strcmp(peer->name, "musl") == 0)
        snprintf(c->program, sizeof c->program, "%s/bench/trace_cell-musl", directory);
    package_version(peer->package, c->version, sizeof c->version);
    if (run_cell(c, NULL, "probe", output, sizeof output) == 0)
        return;
    left_out(peer, output);
    memset(c, 0, sizeof *c);
    column_count--;
}

/* Is this trace among the names that only= lists? Each name that is found is blotted out. */
static bool is_chosen(char *only, const char *path)
{
    char name[40];
    if (only == NULL)
        return true;
    name_of(path, name, sizeof name);
    size_t length = strlen(name);
    for (char *found = only; (found = strstr(found, name)) != NULL; found++)
        if ((found == only || found[-1] == ' ') && (found[length] == ' ' || found[length] == '\0')) {
            memset(found, ' ', length);
            return true;
        }
    return false;
}

static void load_traces(char **paths, int count, char *only)
{
    for (int i = 0; i < count; i++)
        if (is_chosen(only, paths[i]))
            load(paths[i]);
    char *left = only == NULL ? NULL : strtok(only, " ");
    if (left != NULL)
        fail("only=%s: there is no such trace; make list-traces lists them", left);
    if (trace_count == 0)
        fail("no traces: traces=DIR takes a directory of .trace, .rep or .script files, .gz or not");
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"build", required_argument, NULL, 'b'},
        {"rounds", required_argument, NULL, 'r'},
        {"limit", required_argument, NULL, 'l'},
        {"peers", required_argument, NULL, 'p'},
        {"only", required_argument, NULL, 'o'},
        {"csv", required_argument, NULL, 'c'},
        {"json", required_argument, NULL, 'j'},
        {"commit", required_argument, NULL, 'g'},
        {"flags", required_argument, NULL, 'F'},
        {"dry-run", no_argument, NULL, 'd'},
        {"list", no_argument, NULL, 'L'},
        {NULL, 0, NULL, 0},
    };
    char *peer_names = NULL, *only = NULL;
    bool list = false;
    int option;
    while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1)
        switch (option) {
        case 'b':
            directory = optarg;
            break;
        case 'r':
            rounds_wanted = typed_number("rounds", optarg, ROUNDS_LIMIT, 6);
            break;
        case 'l':
            limit_seconds = (unsigned)typed_number("limit", optarg, 3600, 6);
            break;
        case 'p':
            peer_names = optarg;
            break;
        case 'o':
            only = optarg;
            break;
        case 'c':
            csv_file = optarg;
            break;
        case 'j':
            json_file = optarg;
            break;
        case 'g':
            commit = optarg;
            break;
        case 'F':
            flags = optarg;
            break;
        case 'd':
            rounds_wanted = 1;
            cell_ns = 0;
            break;
        case 'L':
            list = true;
            break;
        default:
            fail("type make help for what can be asked of the benchmark");
        }
    for (; optind < argc && strcmp(argv[optind], "--") != 0; optind++)
        add_named(argv[optind]);
    if (optind < argc)
        optind++;
    load_traces(argv + optind, argc - optind, only);
    if (list) {
        print_list();
        return 0;
    }
    if (reference < 0)
        add_named("system");
    if (peer_names != NULL)
        for_each_peer(peer_names, add_peer);

    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_interrupt}, NULL);
    sigaction(SIGTERM, &(struct sigaction){.sa_handler = on_interrupt}, NULL);
    check_writable("csv", csv_file);
    check_writable("json", json_file);
    run_rounds();
    print_tables();
    save(csv_file, print_csv_file);
    save(json_file, print_json_file);
    return interrupted ? 128 + interrupted : 0;
}
