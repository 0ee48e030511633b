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

enum { SHORT_NAME_WIDTH = 12 };

const char *colour(const char *escape)
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

/* Two decimals will do for a ratio: 0.012, 0.12, 1.23, 12.3, 123. */
static void format_ratio(char *out, size_t bytes, double x)
{
    int decimals = x >= 100 ? 0 : x >= 10 ? 1 : x >= 0.1 ? 2 : 3;
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

void print_ratio(struct estimate e, bool high_is_good)
{
    char text[32] = "-";
    const char *mark = " ", *tint = "";
    if (!isnan(e.median)) {
        format_ratio(text, sizeof text, e.median);
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

void print_head(const bool *chosen, const char *title, int name_width, const char *last)
{
    printf("\n%s%s%s\n%-*s", bold(), title, plain(), name_width, "");
    for (int w = 0; w < WORKLOADS; w++)
        if (chosen[w])
            printf("%*s ", WIDTH - 1, workloads[w].name);
    printf("%s\n", last);
}

/* ---- The tables ---- */

static void print_times(const struct bench *b)
{
    print_head(
        b->chosen, "Milliseconds of processor time for one run of the workload (median)", NAME_WIDTH, "");
    for (int i = 0; i < b->count; i++) {
        printf("%-*s", NAME_WIDTH - 1, b->allocators[i].name);
        for (int w = 0; w < WORKLOADS; w++)
            if (b->chosen[w])
                print_milliseconds(b, i, w);
        puts("");
    }
}

/* A row of ratios, and below it their spread. With the mean of the seven at the end, if asked for. */
static void print_ratios(
    const struct bench *b, const char *name, int name_width, int over, int under, bool speedup)
{
    struct estimate mean = mean_ratio(b, over, under, SEVEN);
    printf("%-*s", name_width, name);
    for (int w = 0; w < WORKLOADS; w++)
        if (b->chosen[w])
            print_ratio(ratio(b, over, under, w), speedup);
    if (speedup)
        print_ratio(mean, speedup);
    puts("");
    if (b->allocators[over].rounds < FEWEST_SAMPLES || b->allocators[under].rounds < FEWEST_SAMPLES)
        return;
    printf("%s%-*s", dim(), name_width, "");
    for (int w = 0; w < WORKLOADS; w++)
        if (b->chosen[w])
            print_spread(ratio(b, over, under, w));
    if (speedup)
        print_spread(mean);
    printf("%s\n", plain());
}

static void print_against_system(const struct bench *b)
{
    print_head(b->chosen, "Time as a multiple of the system's malloc (below 1: faster)", NAME_WIDTH, "");
    for (int i = 0; i < b->count; i++)
        if (i != b->system)
            print_ratios(b, b->allocators[i].name, NAME_WIDTH, i, b->system, false);
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
    print_ratios(b, name, SHORT_NAME_WIDTH, before, after, true);
}

static int stage_number(const struct bench *b, int stage)
{
    for (int i = 0; i < b->count; i++)
        if (b->allocators[i].stage == stage)
            return i;
    return -1;
}

/* "3-no-validation is faster than system on: seq fill", and so on. */
static void print_verdicts(const struct bench *b, int over, int under)
{
    static const char *const beginnings[] = {
        [TOO_FEW] = "too few rounds for a verdict on",
        [BELOW] = "faster on",
        [ABOVE] = "slower on",
        [NO_DIFFERENCE] = "no difference seen on",
    };
    printf("%s against %s:", b->allocators[over].name, b->allocators[under].name);
    for (enum verdict v = TOO_FEW; v <= NO_DIFFERENCE; v++) {
        const char *beginning = beginnings[v];
        for (int w = 0; w < WORKLOADS; w++) {
            struct estimate e = ratio(b, over, under, w);
            if (!b->chosen[w] || e.samples == 0 || verdict(e) != v)
                continue;
            if (beginning != NULL)
                printf("\n    %s:", beginning);
            beginning = NULL;
            printf(" %s", workloads[w].name);
        }
    }
    puts("");
}

static void print_phase(const struct bench *b, int focus, int before, int reference)
{
    if (before >= 0 || reference >= 0)
        print_head(b->chosen, "This phase's speed-up: the other's time as a multiple of its own",
            SHORT_NAME_WIDTH, "  mean");
    if (before >= 0)
        print_speedup(b, before, focus);
    if (reference >= 0)
        print_speedup(b, reference, focus);
    puts("");
    if (before >= 0)
        print_verdicts(b, focus, before);
    if (reference >= 0)
        print_verdicts(b, focus, reference);
    print_verdicts(b, focus, b->system);
}

static void print_phases(const struct bench *b)
{
    bool any = false;
    for (int stage = 2; stage < ALLOCATORS_MAX; stage++) {
        int before = stage_number(b, stage - 1), after = stage_number(b, stage);
        if (before < 0 || after < 0)
            continue;
        if (!any)
            print_head(b->chosen,
                "Each phase's speed-up: the time of the stage before as a multiple of its own",
                SHORT_NAME_WIDTH, "  mean");
        any = true;
        print_speedup(b, before, after);
    }
}

static const char *what_it_is(const struct allocator *a)
{
    return is_limit(a) ? "a limit, not an allocator" : is_harness(a) ? "the workloads alone" : a->version;
}

static void print_rank(const struct bench *b, int place, int i)
{
    const struct allocator *a = &b->allocators[i];
    struct estimate seven = mean_ratio(b, i, b->system, SEVEN);
    char ms[32] = "-", low[32], high[32], interval[80] = "", place_text[8] = "";
    if (!isnan(total(b, i, SEVEN)))
        format(ms, sizeof ms, total(b, i, SEVEN));
    if (!isnan(seven.low) && i != b->system) {
        format_ratio(low, sizeof low, seven.low);
        format_ratio(high, sizeof high, seven.high);
        snprintf(interval, sizeof interval, "%s .. %s", low, high);
    }
    if (place > 0)
        snprintf(place_text, sizeof place_text, "%d", place);
    printf("%2s  %-*s%8s", place_text, NAME_WIDTH, a->name, ms);
    if (i == b->system)
        printf("%7.2f  %16s%7.2f ", 1.0, "", 1.0);
    else {
        print_ratio(seven, false);
        printf("  %-14s", interval);
        print_ratio(mean_ratio(b, i, b->system, WORKLOADS), false);
    }
    printf(" %6zu%s%s\n", a->rounds, what_it_is(a)[0] == '\0' ? "" : "   ", what_it_is(a));
}

/* The harness is no competitor, and who failed somewhere has no place. */
static bool is_ranked(const struct bench *b, int i)
{
    return !is_harness(&b->allocators[i]) && !isnan(mean_ratio(b, i, b->system, SEVEN).median);
}

static void print_ranking(const struct bench *b)
{
    int order[ALLOCATORS_MAX], ranked = 0;
    if (chosen_below(b, SEVEN) == 0)
        return;
    for (int i = 0; i < b->count; i++) {
        if (!is_ranked(b, i))
            continue;
        int at = ranked++;
        double mean = mean_ratio(b, i, b->system, SEVEN).median;
        for (; at > 0 && mean_ratio(b, order[at - 1], b->system, SEVEN).median > mean; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    char over[40] = "the seven workloads";
    if (chosen_below(b, SEVEN) < SEVEN)
        snprintf(over, sizeof over, "%d of the seven workloads", chosen_below(b, SEVEN));
    printf("\n%sRanking by the geometric mean of these multiples over %s%s\n", bold(), over, plain());
    printf("%-*s%8s%7s   %-14s%7s %7s\n", NAME_WIDTH + 4, "", "total ms", "mean", "95 % interval", "all",
        "rounds");
    for (int place = 0; place < ranked; place++)
        print_rank(b, place + 1, order[place]);
    for (int i = 0; i < b->count; i++)
        if (!is_ranked(b, i))
            print_rank(b, 0, i);
}

/* ---- What to know when reading them ---- */

void print_header(const struct bench *b, const char *title)
{
    char machine[500], when[40];
    machine_line(machine, sizeof machine);
    date(when, sizeof when);
    printf("%salloclab: %s%s   %s   commit %s\n", bold(), title, plain(), when, or_unknown(b->commit));
    printf("%s\n%s, %s\n", machine, compiler(), or_unknown(b->flags));
}

/* Where and why an allocator's row is not like the others. */
static void print_exceptions(const struct bench *b, const struct allocator *a)
{
    if (a->rounds < b->rounds)
        printf("%s is slow: %zu rounds of %zu.\n", a->name, a->rounds, b->rounds);
    bool any = false;
    for (int w = 0; w < WORKLOADS; w++)
        if (a->cells[w].slow) {
            if (!any)
                printf("%s ran these once in each round, not warmed up:", a->name);
            printf(" %s", workloads[w].name);
            any = true;
        }
    if (any)
        puts("");
    for (int w = 0; w < WORKLOADS; w++)
        if (a->cells[w].failure[0] != '\0')
            printf("%s on %s: %s\n", a->name, workloads[w].name, a->cells[w].failure);
}

static void print_notes(const struct bench *b)
{
    printf(
        "\nEach cell is a process of its own, the allocators in turn within each round, and ratios are taken"
        "\nwithin a round. The harness is what a workload itself costs: a part of every row. ± is the 95 %%"
        "\ninterval of the median, by ranks (Conover 1999, 3.2).  ~ no difference seen: 1 is inside it."
        "\n? no verdict: fewer than %d rounds.  Rounds: %zu, in %.0f s.\n",
        FEWEST_SAMPLES, b->rounds, b->seconds);
    for (int i = 0; i < b->count; i++)
        print_exceptions(b, &b->allocators[i]);
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
    bool any = false;
    for (int i = 0; i < b->count && !b->dry; i++)
        if (b->allocators[i].rounds < FEWEST_SAMPLES) {
            printf("%s %s", any ? "," : "Warning: no verdict on", b->allocators[i].name);
            any = true;
        }
    if (any)
        printf("; type make bench rounds=%d.\n", FEWEST_SAMPLES);
}

void print_report(const struct bench *b)
{
    print_header(b, b->title == NULL ? "the comparison" : b->title);
    print_times(b);
    print_against_system(b);
    int focus = by_name(b, b->focus), before = by_name(b, b->before), reference = by_name(b, b->reference);
    if (focus < 0)
        print_phases(b);
    else
        print_phase(b, focus, before, reference);
    print_ranking(b);
    print_notes(b);
    print_warnings(b);
}
