/* report.c - see bench.h. Allocators are rows, workloads are columns: a hundred characters hold any number of peers. */
#define _DEFAULT_SOURCE
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Figures ---- */

struct estimate milliseconds(const struct bench *b, int allocator, int w)
{
    double samples[ROUNDS_MAX];
    size_t n = 0;
    for (size_t round = 0; round < b->rounds; round++)
        if (!isnan(b->allocators[allocator].ns[w][round]))
            samples[n++] = b->allocators[allocator].ns[w][round] * 1e-6;
    return estimate(samples, n);
}

struct estimate ratio(const struct bench *b, int over, int under, int w)
{
    double samples[ROUNDS_MAX];
    size_t n = 0;
    for (size_t round = 0; round < b->rounds; round++) {
        double r = b->allocators[over].ns[w][round] / b->allocators[under].ns[w][round];
        if (!isnan(r))
            samples[n++] = r;
    }
    return estimate(samples, n);
}

struct estimate mean_ratio(const struct bench *b, int over, int under, int n)
{
    double samples[ROUNDS_MAX];
    size_t count = 0;
    for (size_t round = 0; round < b->rounds; round++) {
        double ratios[WORKLOADS];
        size_t chosen = 0;
        for (int w = 0; w < n; w++)
            if (b->chosen[w])
                ratios[chosen++] = b->allocators[over].ns[w][round] / b->allocators[under].ns[w][round];
        double mean = geometric_mean(ratios, chosen);
        if (!isnan(mean))
            samples[count++] = mean;
    }
    return estimate(samples, count);
}

static int chosen_below(const struct bench *b, int n)
{
    int chosen = 0;
    for (int w = 0; w < n; w++)
        chosen += b->chosen[w];
    return chosen;
}

/* The sum of the medians; NaN if one is missing. */
static double total(const struct bench *b, int allocator, int n)
{
    double sum = 0;
    for (int w = 0; w < n; w++)
        if (b->chosen[w])
            sum += milliseconds(b, allocator, w).median;
    return sum;
}

static bool is_limit(const struct allocator *a)
{
    return strcmp(a->name, "bump") == 0 || strcmp(a->name, "freelist") == 0;
}

static bool is_harness(const struct allocator *a) { return strcmp(a->name, "harness") == 0; }

/* ---- Cells of a table ---- */

enum { NAME_WIDTH = 16, WIDTH = 8 };

static const char *colour(const char *escape)
{
    static int on = -1;
    if (on < 0)
        on = isatty(STDOUT_FILENO) && getenv("NO_COLOR") == NULL;
    return on ? escape : "";
}

static const char *plain(void) { return colour("\033[0m"); }
static const char *dim(void) { return colour("\033[2m"); }
static const char *bold(void) { return colour("\033[1m"); }

/* Three digits that count: 0.0123, 1.23, 12.3, 123, 1234. */
static void format(char *out, size_t bytes, double x)
{
    int decimals = x >= 100 ? 0 : x >= 10 ? 1 : x >= 1 ? 2 : x >= 0.1 ? 3 : 4;
    snprintf(out, bytes, "%.*f", decimals, x);
}

static void print_milliseconds(const struct bench *b, int allocator, int w)
{
    char text[32];
    const struct cell *cell = &b->allocators[allocator].cells[w];
    double ms = milliseconds(b, allocator, w).median;
    if (cell->failure[0] != '\0' || isnan(ms))
        snprintf(text, sizeof text, "%s", cell->failure[0] != '\0' ? cell->mark : "-");
    else
        format(text, sizeof text, ms);
    printf("%*s", WIDTH, text);
}

/* A ratio with its verdict: coloured, `~` for no difference seen, `?` for too few rounds to tell. */
static void print_ratio(struct estimate e, bool high_is_good)
{
    char text[32] = "-";
    const char *mark = " ", *tint = "";
    if (!isnan(e.median)) {
        snprintf(text, sizeof text, "%.*f",
            e.median >= 100   ? 0
            : e.median >= 10  ? 1
            : e.median >= 0.1 ? 2
                              : 3,
            e.median);
        enum verdict v = verdict(e);
        mark = v == NO_DIFFERENCE ? "~" : v == TOO_FEW ? "?" : " ";
        if (v == ABOVE || v == BELOW)
            tint = colour((v == ABOVE) == high_is_good ? "\033[32m" : "\033[31m");
    }
    printf("%s%*s%s%s", tint, WIDTH - 1, text, mark, *tint == '\0' ? "" : plain());
}

/* How far the ends of the interval are from the median, the farther one. */
static void print_spread(struct estimate e)
{
    char text[32] = "";
    if (!isnan(e.low)) {
        double percent = 100 * fmax(e.high / e.median - 1, 1 - e.low / e.median);
        snprintf(text, sizeof text, percent < 9.5 ? "%.1f%%" : "%.0f%%", percent);
    }
    int width = WIDTH - 2;
    if (text[0] == '\0')
        printf("%*s", WIDTH, "");
    else
        printf("%*s±%s ", width - (int)strlen(text), "", text);
}

static void print_head(const struct bench *b, const char *title, const char *last)
{
    printf("\n%s%s%s\n%-*s", bold(), title, plain(), NAME_WIDTH, "");
    for (int w = 0; w < WORKLOADS; w++)
        if (b->chosen[w])
            printf("%*s ", WIDTH - 1, workloads[w].name);
    printf("%s\n", last);
}

/* ---- The tables ---- */

static void print_times(const struct bench *b)
{
    print_head(b, "Milliseconds for one run of the workload (median)", "");
    for (int i = 0; i < b->count; i++) {
        printf("%-*s", NAME_WIDTH - 1, b->allocators[i].name);
        for (int w = 0; w < WORKLOADS; w++)
            if (b->chosen[w])
                print_milliseconds(b, i, w);
        puts("");
    }
}

/* A row of ratios, and below it their spread. */
static void print_ratios(const struct bench *b, const char *name, int over, int under, bool high_is_good)
{
    printf("%-*s", NAME_WIDTH, name);
    for (int w = 0; w < WORKLOADS; w++)
        if (b->chosen[w])
            print_ratio(ratio(b, over, under, w), high_is_good);
    if (high_is_good)
        print_ratio(mean_ratio(b, over, under, SEVEN), high_is_good);
    printf("\n%s%-*s", dim(), NAME_WIDTH, "");
    for (int w = 0; w < WORKLOADS; w++)
        if (b->chosen[w])
            print_spread(ratio(b, over, under, w));
    if (high_is_good)
        print_spread(mean_ratio(b, over, under, SEVEN));
    printf("%s\n", plain());
}

static void print_against_system(const struct bench *b)
{
    print_head(b, "Time as a multiple of the system's malloc (below 1: faster)", "");
    for (int i = 0; i < b->count; i++)
        if (i != b->system)
            print_ratios(b, b->allocators[i].name, i, b->system, false);
}

static int by_name(const struct bench *b, const char *name)
{
    for (int i = 0; i < b->count; i++)
        if (name != NULL && strcmp(b->allocators[i].name, name) == 0)
            return i;
    return -1;
}

/* "my2 over 1-implicit-list", short enough for the column. */
static void print_speedup(const struct bench *b, int before, int after)
{
    char name[90];
    snprintf(name, sizeof name, "%.*s over %.*s", (int)strcspn(b->allocators[after].name, "-"),
        b->allocators[after].name, (int)strcspn(b->allocators[before].name, "-"), b->allocators[before].name);
    print_ratios(b, name, before, after, true);
}

static int stage_number(const struct bench *b, int stage)
{
    for (int i = 0; i < b->count; i++)
        if (b->allocators[i].stage == stage)
            return i;
    return -1;
}

static void print_speedups(const struct bench *b)
{
    int focus = by_name(b, b->focus);
    if (focus >= 0) {
        print_head(b, "This phase's speed-up: the other's time as a multiple of its own", "geo.mean");
        for (int v = 0; b->versus[v] != NULL; v++)
            if (by_name(b, b->versus[v]) >= 0)
                print_speedup(b, by_name(b, b->versus[v]), focus);
        return;
    }
    bool any = false;
    for (int stage = 2; stage < ALLOCATORS_MAX; stage++) {
        int before = stage_number(b, stage - 1), after = stage_number(b, stage);
        if (before < 0 || after < 0)
            continue;
        if (!any)
            print_head(b, "Each phase's speed-up: the time of the stage before as a multiple of this one's",
                "geo.mean");
        any = true;
        print_speedup(b, before, after);
    }
}

static void print_rank(const struct bench *b, int place, int i)
{
    const struct allocator *a = &b->allocators[i];
    struct estimate seven = mean_ratio(b, i, b->system, SEVEN), ten = mean_ratio(b, i, b->system, WORKLOADS);
    char ms[32] = "-", interval[40] = "", place_text[8] = "";
    if (!isnan(total(b, i, SEVEN)))
        format(ms, sizeof ms, total(b, i, SEVEN));
    if (!isnan(seven.low) && i != b->system)
        snprintf(interval, sizeof interval, "%.*f .. %.*f", seven.low >= 100 ? 0 : 2, seven.low,
            seven.high >= 100 ? 0 : 2, seven.high);
    if (place > 0)
        snprintf(place_text, sizeof place_text, "%d", place);
    printf("%2s %-*s", place_text, NAME_WIDTH, a->name);
    print_ratio(seven, false);
    printf(" %-16s", interval);
    print_ratio(ten, false);
    printf(" %9s %7zu   %s\n", ms, a->rounds,
        a->version[0] != '\0' ? a->version
        : is_limit(a)         ? "a limit, not an allocator"
        : is_harness(a)       ? "the workloads with no allocator"
                              : "");
}

static void print_ranking(const struct bench *b)
{
    int seven = chosen_below(b, SEVEN), all = chosen_below(b, WORKLOADS), order[ALLOCATORS_MAX], ranked = 0;
    if (seven == 0)
        return;
    printf("\n%sRanking by the geometric mean of that multiple over the %d workload%s%s", bold(), seven,
        seven == 1 ? "" : "s", plain());
    printf("%s\n", seven == SEVEN ? " (without the three harder ones)" : "");
    printf("   %-*s%7s  %-16s%5s %d %9s %8s\n", NAME_WIDTH, "", "mean", "95 % interval", "all", all,
        "total ms", "rounds");
    for (int i = 0; i < b->count; i++) {
        double mean = mean_ratio(b, i, b->system, SEVEN).median;
        if (isnan(mean) || is_harness(&b->allocators[i]))
            continue;
        int at = ranked++;
        for (; at > 0 && mean_ratio(b, order[at - 1], b->system, SEVEN).median > mean; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int place = 0; place < ranked; place++)
        print_rank(b, place + 1, order[place]);
    for (int i = 0; i < b->count; i++)
        if (isnan(mean_ratio(b, i, b->system, SEVEN).median) || is_harness(&b->allocators[i]))
            print_rank(b, 0, i);
}

/* ---- What to know when reading them ---- */

static void machine_line(char *out, size_t bytes)
{
    char cpu[200], system[200];
    cpu_model(cpu, sizeof cpu);
    kernel(system, sizeof system);
    snprintf(out, bytes, "%s, %ld processors, %s", cpu, processors(), system);
}

static void date(char *out, size_t bytes)
{
    time_t now = time(NULL);
    strftime(out, bytes, "%Y-%m-%d %H:%M", localtime(&now));
}

static const char *or_unknown(const char *text) { return text == NULL || text[0] == '\0' ? "unknown" : text; }

static void print_header(const struct bench *b)
{
    char machine[500], when[40];
    machine_line(machine, sizeof machine);
    date(when, sizeof when);
    printf("%salloclab: the comparison%s   %s   commit %s\n", bold(), plain(), when, or_unknown(b->commit));
    printf("%s\n%s, %s\n", machine, compiler(), or_unknown(b->flags));
}

static void print_notes(const struct bench *b)
{
    printf("\nEach cell is a process of its own, the allocators in turn within each round; ratios are taken "
           "within a"
           "\nround. ±: the 95 %% interval of the median, by ranks (Conover 1999, 3.2). ~ no difference "
           "seen: 1 is"
           "\ninside the interval. ? fewer than %d rounds: no verdict.\n",
        FEWEST_SAMPLES);
    for (int i = 0; i < b->count; i++)
        if (is_harness(&b->allocators[i]))
            puts("harness: what the workload itself costs, and so a part of every row.");
    for (int i = 0; i < b->count; i++) {
        const struct allocator *a = &b->allocators[i];
        char slow[120] = "";
        for (int w = 0; w < WORKLOADS; w++)
            if (a->cells[w].slow)
                snprintf(slow + strlen(slow), sizeof slow - strlen(slow), " %s", workloads[w].name);
        if (a->rounds < b->rounds)
            printf("%s is slow: %zu rounds of %zu.\n", a->name, a->rounds, b->rounds);
        if (slow[0] != '\0')
            printf("%s ran once in each round, cold, on:%s.\n", a->name, slow);
        for (int w = 0; w < WORKLOADS; w++)
            if (a->cells[w].failure[0] != '\0')
                printf("%s on %s: %s\n", a->name, workloads[w].name, a->cells[w].failure);
    }
    printf("%zu rounds in %.0f s.\n", b->rounds, b->seconds);
}

/* Each says what to do. */
static void print_warnings(const struct bench *b)
{
    char frequency[60];
    governor(frequency, sizeof frequency);
    if (b->interrupted)
        puts("Warning: interrupted; the tables hold what was measured until then.");
    if (b->dry)
        puts("Warning: a dry run: everything ran once, cold, and the times say nothing.");
    if (b->elsewhere > 0.1)
        printf("Warning: other programs kept %.1f of %ld processors busy; close them and measure again.\n",
            b->elsewhere, processors());
    if (frequency[0] != '\0' && strcmp(frequency, "performance") != 0)
        printf("Warning: the frequency governor is `%s`; type sudo cpupower frequency-set -g performance.\n",
            frequency);
    if (b->rounds < FEWEST_SAMPLES && !b->dry)
        printf("Warning: %zu rounds give no verdict; type make bench rounds=%d or more.\n", b->rounds,
            FEWEST_SAMPLES);
}

void print_report(const struct bench *b)
{
    print_header(b);
    print_times(b);
    print_against_system(b);
    print_speedups(b);
    print_ranking(b);
    print_notes(b);
    print_warnings(b);
}

/* ---- For programs ---- */

static const char *verdict_words(const struct estimate *e)
{
    static const char *const words[] = {"too few rounds", "faster", "slower", "no difference seen"};
    return words[verdict(*e)];
}

void print_csv(const struct bench *b, FILE *out)
{
    fprintf(out,
        "allocator,workload,rounds,calls,ms,ms_low,ms_high,ns_per_call,ratio,ratio_low,ratio_high,verdict\n");
    for (int i = 0; i < b->count; i++)
        for (int w = 0; w < WORKLOADS; w++) {
            const struct cell *cell = &b->allocators[i].cells[w];
            struct estimate ms = milliseconds(b, i, w), r = ratio(b, i, b->system, w);
            if (!b->chosen[w])
                continue;
            fprintf(out, "%s,%s,%zu,%llu,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%s\n", b->allocators[i].name,
                workloads[w].name, ms.samples, cell->calls, ms.median, ms.low, ms.high,
                ms.median * 1e6 / (double)cell->calls, r.median, r.low, r.high,
                cell->failure[0] != '\0' ? cell->mark : verdict_words(&r));
        }
}

static void json_string(FILE *out, const char *key, const char *text)
{
    fprintf(out, "\"%s\": \"", key);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++)
        fprintf(out, *c == '"' || *c == '\\' ? "\\%c" : *c < 32 ? "\\u%04x" : "%c", *c);
    fputc('"', out);
}

static void json_number(FILE *out, const char *key, double x)
{
    fprintf(out, isnan(x) ? "\"%s\": null" : "\"%s\": %.9g", key, x);
}

static void json_estimate(FILE *out, const char *key, struct estimate e)
{
    fprintf(out, "\"%s\": {", key);
    json_number(out, "median", e.median);
    fputs(", ", out);
    json_number(out, "low", e.low);
    fputs(", ", out);
    json_number(out, "high", e.high);
    fputs("}", out);
}

static void json_cell(FILE *out, const struct bench *b, int i, int w)
{
    const struct allocator *a = &b->allocators[i];
    struct estimate r = ratio(b, i, b->system, w);
    fputs("    {", out);
    json_string(out, "allocator", a->name);
    fputs(", ", out);
    json_string(out, "workload", workloads[w].name);
    fprintf(out, ", \"calls\": %llu, ", a->cells[w].calls);
    json_estimate(out, "milliseconds", milliseconds(b, i, w));
    fputs(", ", out);
    json_estimate(out, "ratio", r);
    fputs(", ", out);
    json_string(out, "verdict", verdict_words(&r));
    fputs(", ", out);
    json_string(out, "failure", a->cells[w].failure);
    fputs(", \"ns_by_round\": [", out);
    for (size_t round = 0; round < b->rounds; round++) {
        double ns = a->ns[w][round];
        fprintf(out, isnan(ns) ? "%snull" : "%s%.9g", round == 0 ? "" : ", ", ns);
    }
    fputs("]}", out);
}

void print_json(const struct bench *b, FILE *out)
{
    char machine[500], when[40];
    machine_line(machine, sizeof machine);
    date(when, sizeof when);
    fputs("{\n  ", out);
    json_string(out, "date", when);
    fputs(",\n  ", out);
    json_string(out, "machine", machine);
    fputs(",\n  ", out);
    json_string(out, "compiler", compiler());
    fputs(",\n  ", out);
    json_string(out, "flags", or_unknown(b->flags));
    fputs(",\n  ", out);
    json_string(out, "commit", or_unknown(b->commit));
    fprintf(out, ",\n  \"rounds\": %zu,\n  ", b->rounds);
    json_number(out, "seconds", b->seconds);
    fputs(",\n  ", out);
    json_number(out, "processors_busy_elsewhere", b->elsewhere);
    fprintf(out, ",\n  \"dry\": %s,\n  \"interrupted\": %s,\n  \"allocators\": [", b->dry ? "true" : "false",
        b->interrupted ? "true" : "false");
    for (int i = 0; i < b->count; i++) {
        fputs(i == 0 ? "\n    {" : ",\n    {", out);
        json_string(out, "name", b->allocators[i].name);
        fputs(", ", out);
        json_string(out, "version", b->allocators[i].version);
        fprintf(out, ", \"rounds\": %zu, ", b->allocators[i].rounds);
        json_estimate(out, "geometric_mean_of_seven", mean_ratio(b, i, b->system, SEVEN));
        fputs(", ", out);
        json_estimate(out, "geometric_mean_of_ten", mean_ratio(b, i, b->system, WORKLOADS));
        fputs("}", out);
    }
    fputs("\n  ],\n  \"cells\": [", out);
    bool first = true;
    for (int i = 0; i < b->count; i++)
        for (int w = 0; w < WORKLOADS; w++)
            if (b->chosen[w]) {
                fputs(first ? "\n" : ",\n", out);
                first = false;
                json_cell(out, b, i, w);
            }
    fputs("\n  ]\n}\n", out);
}
