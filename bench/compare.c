/*
 * compare.c - see bench.h. What changed between two runs of a suite, from the CSV files that both wrote.
 *
 * Two runs share no rounds, and the machine may have changed between them. So of times each allocator's ratio to
 * the system's malloc is compared, which was measured in the same rounds. A change is claimed only where
 * the intervals of both runs do not meet: stricter than a test at 5 % (N. Schenker and J. F. Gentleman, "On Judging
 * the Significance of Differences by Examining the Overlap Between Confidence Intervals", The American
 * Statistician 55(3), 2001). What is counted has no spread: there any difference is a change.
 */
#include "bench.h"
#include "csv.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One thing that a suite measured. What is counted has an interval without width. */
struct figure {
    char who[40], what[100]; /* the allocator, and on what */
    struct estimate value;
};

struct results {
    const struct suite *suite;
    bool ablation, instructions; /* of two suites that write alike, it is the second */
    size_t count;
    struct figure *figures;
};

struct suite {
    const char *name;
    const char *first_columns[2], *third_column;
    const char *title; /* of what is compared */
    void (*take)(struct results *r, const struct csv *csv); /* takes one line */
    void (*finish)(struct results *r); /* NULL, or what is left to do when all lines are read */
};

static struct figure *find(const struct results *r, const char *who, const char *what)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->figures[i].who, who) == 0 && strcmp(r->figures[i].what, what) == 0)
            return &r->figures[i];
    return NULL;
}

static struct figure *add(struct results *r, const char *who, const char *what, struct estimate value)
{
    struct figure *more = realloc(r->figures, (r->count + 1) * sizeof *more);
    if (more == NULL) {
        fputs("no memory\n", stderr);
        exit(2);
    }
    r->figures = more;
    struct figure *f = &r->figures[r->count++];
    snprintf(f->who, sizeof f->who, "%s", who);
    snprintf(f->what, sizeof f->what, "%s", what);
    f->value = value;
    return f;
}

static struct estimate exactly(double x) { return (struct estimate){1, x, x, x}; }

/* ---- The suites ---- */

static struct estimate estimate_in(const struct csv *csv, const char *name)
{
    char low[40], high[40];
    snprintf(low, sizeof low, "%s_low", name);
    snprintf(high, sizeof high, "%s_high", name);
    return (struct estimate){(size_t)csv_number(csv, "rounds"), csv_number(csv, name), csv_number(csv, low),
        csv_number(csv, high)};
}

static void take_workload_line(struct results *r, const struct csv *csv)
{
    const char *who = csv_text(csv, "allocator");
    r->ablation = r->ablation || strstr(who, "+check") != NULL;
    add(r, who, csv_text(csv, "workload"), estimate_in(csv, strcmp(who, "system") == 0 ? "ms" : "ratio"));
}

static void take_trace_line(struct results *r, const struct csv *csv)
{
    char what[100];
    const char *who = csv_text(csv, "allocator"), *trace = csv_text(csv, "trace");
    snprintf(what, sizeof what, "%s: time", trace);
    if (strcmp(who, "system") != 0)
        add(r, who, what, estimate_in(csv, "ratio"));
    snprintf(what, sizeof what, "%s: heap/payload", trace);
    if (strcmp(csv_text(csv, "heap_is"), "exact") == 0)
        add(r, who, what, exactly(1 / csv_number(csv, "utilisation")));
}

static void take_space_line(struct results *r, const struct csv *csv)
{
    if (csv_number(csv, "done") >= 1)
        add(r, csv_text(csv, "allocator"), csv_text(csv, "load"),
            exactly(csv_number(csv, "heap") / csv_number(csv, "payload")));
}

static void take_growth_line(struct results *r, const struct csv *csv)
{
    char what[100];
    snprintf(what, sizeof what, "%s %s blocks", csv_text(csv, "blocks"), csv_text(csv, "blocks_are"));
    if (!isnan(csv_number(csv, "visits")))
        add(r, csv_text(csv, "allocator"), what, exactly(csv_number(csv, "visits")));
}

static void take_count_line(struct results *r, const struct csv *csv)
{
    char what[100];
    const char *counter = csv_text(csv, "counter");
    r->instructions = r->instructions || strcmp(counter, "instructions") == 0;
    snprintf(what, sizeof what, "%s: %s", csv_text(csv, "workload"), counter);
    add(r, csv_text(csv, "allocator"), what, exactly(csv_number(csv, "amount") / csv_number(csv, "calls")));
}

/* Of instructions, what the workload itself needs is subtracted. */
static void subtract_harness(struct results *r)
{
    for (size_t i = 0; i < r->count; i++) {
        const struct figure *harness = find(r, "harness", r->figures[i].what);
        if (r->instructions && harness != NULL && harness != &r->figures[i])
            r->figures[i].value = exactly(r->figures[i].value.median - harness->value.median);
    }
}

/* The samples of one figure, until the last line is read: a line is one sample. */
struct series {
    char who[40], what[100];
    size_t samples;
    double values[ROUNDS_MAX];
};

static struct series *series;
static size_t series_count;

static struct series *find_series(const char *who, const char *what)
{
    for (size_t i = 0; i < series_count; i++)
        if (strcmp(series[i].who, who) == 0 && strcmp(series[i].what, what) == 0)
            return &series[i];
    return NULL;
}

static void add_sample(const char *who, const char *what, double value)
{
    struct series *s = find_series(who, what);
    if (s == NULL) {
        series = realloc(series, (series_count + 1) * sizeof *series);
        if (series == NULL)
            exit(2);
        s = &series[series_count++];
        snprintf(s->who, sizeof s->who, "%s", who);
        snprintf(s->what, sizeof s->what, "%s", what);
        s->samples = 0;
    }
    if (s->samples < ROUNDS_MAX)
        s->values[s->samples++] = value;
}

static void take_classic_line(struct results *r, const struct csv *csv)
{
    char what[100];
    const char *part = csv_text(csv, "part");
    (void)r;
    if (strcmp(part, "faults") == 0)
        return;
    snprintf(what, sizeof what, "%s, %s, %s", csv_text(csv, "comparison"), csv_text(csv, "variant"), part);
    add_sample(csv_text(csv, "allocator"), what, csv_number(csv, "nanoseconds") / csv_number(csv, "count"));
}

static void take_program_line(struct results *r, const struct csv *csv)
{
    char what[100];
    (void)r;
    if (csv_text(csv, "failure")[0] != '\0')
        return;
    snprintf(what, sizeof what, "%s %s: time", csv_text(csv, "program"), csv_text(csv, "size"));
    add_sample(csv_text(csv, "allocator"), what, csv_number(csv, "seconds"));
    snprintf(what, sizeof what, "%s %s: memory", csv_text(csv, "program"), csv_text(csv, "size"));
    add_sample(csv_text(csv, "allocator"), what, csv_number(csv, "peak_kib"));
}

static void take_thread_line(struct results *r, const struct csv *csv)
{
    (void)r;
    add_sample(
        csv_text(csv, "allocator"), csv_text(csv, "workload"), 1 / csv_number(csv, "operations_per_second"));
}

/* Rounds run each allocator once: the samples of the same number belong together. */
static void divide_by_system(struct results *r)
{
    for (size_t i = 0; i < series_count; i++) {
        double ratios[ROUNDS_MAX];
        size_t n = 0;
        const struct series *s = &series[i], *system = find_series("system", s->what);
        if (system == NULL || system == s)
            continue;
        for (size_t k = 0; k < s->samples && k < system->samples; k++)
            if (system->values[k] > 0)
                ratios[n++] = s->values[k] / system->values[k];
        add(r, s->who, s->what, estimate(ratios, n));
    }
    free(series);
    series = NULL;
    series_count = 0;
}

static const struct suite suites[] = {
    {"workloads", {"allocator", "workload"}, "rounds", "Time as a multiple of the system's malloc",
        take_workload_line, NULL},
    {"traces", {"trace", "allocator"}, "calls",
        "Time as a multiple of the system's malloc; peak heap as a multiple of peak payload, where it is "
        "exact",
        take_trace_line, NULL},
    {"classics", {"comparison", "allocator"}, "variant", "Time as a multiple of the system's malloc",
        take_classic_line, divide_by_system},
    {"programs", {"allocator", "program"}, "size",
        "Processor time and peak memory as a multiple of the system's malloc", take_program_line,
        divide_by_system},
    {"threads", {"allocator", "workload"}, "round",
        "Time for an operation as a multiple of the system's malloc", take_thread_line, divide_by_system},
    {"counts", {"allocator", "workload"}, "calls", "Counted work per call", take_count_line,
        subtract_harness},
    {"space", {"allocator", "load"}, "calls", "Peak heap as a multiple of payload", take_space_line, NULL},
    {"growth", {"allocator", "blocks_are"}, "blocks", "Blocks looked at (of times this suite claims nothing)",
        take_growth_line, NULL},
};

/* ---- Reading ---- */

static bool is_of(const struct suite *suite, const struct csv *csv)
{
    return strcmp(csv->names[0], suite->first_columns[0]) == 0 &&
           strcmp(csv->names[1], suite->first_columns[1]) == 0 && csv->columns > 2 &&
           strcmp(csv->names[2], suite->third_column) == 0;
}

static bool read_results(const char *path, struct results *r)
{
    struct csv csv;
    if (!csv_open(&csv, path))
        return false;
    for (size_t i = 0; i < sizeof suites / sizeof *suites; i++)
        if (is_of(&suites[i], &csv))
            r->suite = &suites[i];
    if (r->suite == NULL)
        fprintf(stderr, "%s:%d: not a result; name a CSV file that make bench wrote\n", path, csv.number);
    else
        while (csv_next(&csv))
            r->suite->take(r, &csv);
    fclose(csv.file);
    if (r->suite == NULL || csv.damaged)
        return false;
    if (r->count == 0 && series_count == 0) {
        fprintf(stderr, "%s: nothing was measured in it; measure again\n", path);
        return false;
    }
    if (r->suite->finish != NULL)
        r->suite->finish(r);
    return true;
}

static const char *suite_name(const struct results *r)
{
    return r->ablation ? "ablation" : r->instructions ? "instructions" : r->suite->name;
}

int print_suite_of(const char *path)
{
    struct results r = {0};
    if (!read_results(path, &r))
        return 2;
    puts(suite_name(&r));
    return 0;
}

/* ---- Comparing ---- */

/* Of two numbers known by their intervals; its interval excludes 1 exactly if theirs do not meet. */
static struct estimate quotient(struct estimate x, struct estimate y)
{
    if (x.median == y.median && x.low == y.low && x.high == y.high && x.low == x.high)
        return exactly(1); /* 0 by 0 too */
    return (struct estimate){x.samples, x.median / y.median, x.low / y.high, x.high / y.low};
}

static void print_change(const struct figure *old, const struct figure *new, struct estimate change)
{
    printf("%-18s %-44s %11.5g %11.5g ", old->who, old->what, old->value.median, new->value.median);
    if (isfinite(change.median))
        print_ratio(change, false);
    puts("");
}

/* A line for each figure that changed, and how many did not. */
static void print_changes(const struct results *old, const struct results *new)
{
    size_t found[NO_DIFFERENCE + 1] = {0}, missing = 0;
    for (size_t i = 0; i < old->count; i++) {
        const struct figure *f = &old->figures[i], *now = find(new, f->who, f->what);
        if (now == NULL) {
            missing++;
            continue;
        }
        struct estimate change = quotient(now->value, f->value);
        enum verdict v = verdict(change);
        if (found[BELOW] + found[ABOVE] == 0 && (v == BELOW || v == ABOVE))
            printf("\n%-18s %-44s %11s %11s %*s\n", "", "", "old", "new", WIDTH, "new/old");
        found[v]++;
        if (v == BELOW || v == ABOVE)
            print_change(f, now, change);
    }
    printf("\n%zu compared: %zu less now, %zu more now, %zu without a change seen", old->count - missing,
        found[BELOW], found[ABOVE], found[NO_DIFFERENCE]);
    if (found[TOO_FEW] > 0)
        printf(", %zu without a verdict: too few rounds; type rounds=%d", found[TOO_FEW], FEWEST_SAMPLES);
    puts(".");
    if (missing > 0)
        printf("%zu are in the old results only.\n", missing);
}

/*
 * Ratios cancel a machine that is slower all over. They do not cancel one whose caches others use now: that costs each
 * allocator its own share. So where the system's own time has moved, so may the ratios without any cause in the code.
 */
static void warn_of_machine(const struct results *old, const struct results *new)
{
    double moved[WORKLOADS];
    size_t n = 0;
    for (int w = 0; w < WORKLOADS; w++) {
        const struct figure *before = find(old, "system", workloads[w].name);
        const struct figure *now = find(new, "system", workloads[w].name);
        double x = before == NULL || now == NULL ? (double)NAN : now->value.median / before->value.median;
        if (!isnan(x))
            moved[n++] = x;
    }
    double mean = geometric_mean(moved, n);
    if (mean > 1.1 || mean < 1 / 1.1)
        printf("Warning: the system's malloc, which is the same, took %.2f times as long as in the old run:\n"
               "another machine or another load, which alone can move ratios. Measure both anew, one right\n"
               "after the other.\n",
            mean);
}

/* The workloads are few enough for a table. */
static void print_matrix(const struct results *old, const struct results *new)
{
    bool chosen[WORKLOADS] = {false};
    for (int w = 0; w < WORKLOADS; w++)
        for (size_t i = 0; i < old->count; i++)
            chosen[w] = chosen[w] || (strcmp(old->figures[i].what, workloads[w].name) == 0 &&
                                         !isnan(old->figures[i].value.median));
    print_head(
        chosen, "Time as a multiple of the system's malloc: new / old (below 1: faster now)", NAME_WIDTH, "");
    for (size_t i = 0; i < old->count; i++) {
        const char *who = old->figures[i].who;
        bool first = i == 0 || strcmp(who, old->figures[i - 1].who) != 0, there = false;
        for (size_t j = 0; j < new->count; j++)
            there = there || strcmp(new->figures[j].who, who) == 0;
        if (!first || !there)
            continue;
        printf("%-*s", NAME_WIDTH, who);
        for (int w = 0; w < WORKLOADS; w++) {
            const struct figure *before = find(old, who, workloads[w].name);
            const struct figure *now = find(new, who, workloads[w].name);
            if (chosen[w])
                print_ratio(before == NULL || now == NULL ? (struct estimate){0, NAN, NAN, NAN}
                                                          : quotient(now->value, before->value),
                    false);
        }
        puts("");
    }
    puts("\nsystem: its milliseconds, new / old. ~ no change seen: the intervals of old and new meet. ? too "
         "few rounds.");
    warn_of_machine(old, new);
}

/* Allocators that only the old run had: their names, with what to type. */
static void print_absent(const struct results *old, const struct results *new)
{
    bool any = false;
    for (size_t i = 0; i < old->count; i++) {
        bool known = false;
        for (size_t j = 0; j < i; j++)
            known = known || strcmp(old->figures[j].who, old->figures[i].who) == 0;
        for (size_t j = 0; j < new->count; j++)
            known = known || strcmp(new->figures[j].who, old->figures[i].who) == 0;
        if (known)
            continue;
        printf("%s %s", any ? "," : "Not in the new results:", old->figures[i].who);
        any = true;
    }
    if (any)
        puts("; stages= and peers= bring them.");
}

int compare_files(const char *old_path, const char *new_path)
{
    static struct results old, new;
    if (!read_results(old_path, &old) || !read_results(new_path, &new))
        return 2;
    if (strcmp(suite_name(&old), suite_name(&new)) != 0) {
        fprintf(stderr, "%s is of the suite %s, %s of %s; name two of the same suite\n", old_path,
            suite_name(&old), new_path, suite_name(&new));
        return 2;
    }
    printf("old: %s\nnew: %s\n", old_path, new_path);
    if (old.suite == &suites[0]) {
        print_matrix(&old, &new);
    } else {
        printf("\n%s%s%s\n", colour("\033[1m"), old.suite->title, colour("\033[0m"));
        print_changes(&old, &new);
    }
    print_absent(&old, &new);
    return 0;
}
