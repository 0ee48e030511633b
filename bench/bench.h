/*
 * bench.h - the comparison of allocators: what its parts share.
 *
 *   bench.c      the command line, and the rounds that fill the table
 *   cell.c       a program of its own: one workload on one allocator, timed
 *   workloads.c  the workloads
 *   peers.c      mallocs from elsewhere, and which of them are installed
 *   typed.c      what was typed: numbers, files to write
 *   machine.c    what must be known of the machine to judge a time
 *   run.c        runs cells in processes of their own, shows how far it is
 *   stats.c      medians, intervals, verdicts
 *   report.c     the tables
 *   export.c     the same as CSV and JSON
 *   csv.c        reads what print_csv() and the other suites write
 *   compare.c    the results of two runs
 *   limit.h      the two limits, bump.c and freelist.c
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include "stats.h"
#include "workloads.h"
#include <stdbool.h>
#include <stdio.h>

enum {
    ALLOCATORS_MAX = 32,
    ROUNDS_MAX = 1000,
    SEVEN = 7, /* the first workloads, on which the ranking rests */
};

/* What became of a cell. */
struct cell {
    unsigned long long calls; /* of the allocator, in one run of the workload */
    char failure[200]; /* empty, or why it failed: it is not run again */
    char mark[8]; /* the same for the table: "SEGV", "timeout" */
    bool slow; /* its first run is what was timed */
};

struct allocator {
    char name[40];
    char version[80];
    char library[300]; /* for cell.c */
    char program[300]; /* which cell.c */
    int stage; /* 1 ..; 0: not a numbered stage */
    size_t rounds; /* it took part in */
    double seconds; /* they took */
    struct cell cells[WORKLOADS];
    double ns[WORKLOADS][ROUNDS_MAX]; /* for one run of the workload; NaN: not in this round */
};

struct bench {
    struct allocator allocators[ALLOCATORS_MAX];
    int count;
    int system; /* which of them is the system's malloc */
    bool chosen[WORKLOADS];
    size_t rounds;
    double seconds; /* all of them took */
    bool dry; /* everything ran once: the times say nothing */
    bool interrupted;
    double elsewhere; /* processors that other programs kept busy meanwhile; NaN: not known */
    const char *focus; /* the stage in question; NULL: all of them */
    const char *before; /* the stage before it, or NULL */
    const char *reference; /* of a student's own stage, the finished one, or NULL */
    const char *title; /* of another suite; NULL: the workloads */
    const char *commit, *flags;
};

static inline const char *or_unknown(const char *text)
{
    return text == NULL || text[0] == '\0' ? "unknown" : text;
}

/* Median and interval of the milliseconds for one run of workload w. */
struct estimate milliseconds(const struct bench *b, int allocator, int w);

/* Median and interval of the ratio of two allocators' times within each round. */
struct estimate ratio(const struct bench *b, int over, int under, int w);

/* The same of the geometric means over the first `n` workloads, those chosen. */
struct estimate mean_ratio(const struct bench *b, int over, int under, int n);

void print_report(const struct bench *b);

/* What was measured, when and where: the first lines of every report. */
void print_header(const struct bench *b, const char *title);
void print_csv(const struct bench *b, FILE *out);
void print_json(const struct bench *b, FILE *out);

/*
 * The beginning of every suite's JSON, the brace included: suite, date, machine, compiler, flags, commit. In export.c, as
 * all of these.
 */
void json_head(FILE *out, const char *suite, const char *commit, const char *flags);

/* A CSV file as JSON: the head, and each line as an object. Returns an exit status. */
int print_rows(const char *path, const struct bench *b, FILE *out);

/* "key": "text", and "key": 1.5 or null. */
void json_string(FILE *out, const char *key, const char *text);
void json_number(FILE *out, const char *key, double x);

/* Prints what changed between two files that a suite wrote; which suite wrote one. They return an exit status. */
int compare_files(const char *old_path, const char *new_path);
int print_suite_of(const char *path);

/* ---- Parts of tables, in report.c ---- */

enum { NAME_WIDTH = 16, WIDTH = 8 }; /* columns of a table, in characters */

/* The escape if stdout is a terminal and NO_COLOR is not set, else "". */
const char *colour(const char *escape);

/* A ratio with its verdict: coloured, `~` for no difference seen, `?` for too few rounds to tell. */
void print_ratio(struct estimate e, bool high_is_good);

/* A title, and below it the names of the workloads chosen. */
void print_head(const bool *chosen, const char *title, int name_width, const char *last);

/* ---- peers.c ---- */

struct peer {
    const char *name;
    const char *library;
    const char *package; /* of Debian; asked for the version too. NULL: given by its path */
};

/*
 * Calls `take` for each in a list with spaces or commas between: a peer's name, `all`, or NAME=PATH for any
 * other library that exports malloc. Says what to type and exits if there is no such peer or file.
 */
void for_each_peer(const char *names, void (*take)(const struct peer *peer));

/* Says that a peer does not run, and so is left out; one given by its path was asked for: exits. */
void left_out(const struct peer *peer, const char *why);

/* A malloc for suites that do nothing but preload it. */
struct preload {
    char name[40];
    char library[300]; /* "": the system's malloc */
};

/* The next of a suite that has `count` already. Exits, saying what to type, if that is too many. */
struct preload next_preload(size_t count, const char *name, const char *library);

/* Can it be preloaded into any program? If not, it is left out, and that said. */
bool can_preload(const struct peer *peer);

/* The version of a Debian package, or "" if it is not known. */
void package_version(const char *package, char *version, size_t bytes);

/* ---- machine.c ---- */

void system_version(char *out, size_t bytes);
void cpu_model(char *out, size_t bytes);
void kernel(char *out, size_t bytes);
const char *compiler(void);
long processors(void);

/* The frequency governor, or "" if it cannot be read. */
void governor(char *out, size_t bytes);

/* Processors kept busy by other programs since the last call; NaN if it cannot be told. */
double busy_elsewhere(void);

double seconds_now(void);

/* All of it that a reader of a table needs, in one line; and the time of day. */
void machine_line(char *out, size_t bytes);
void date(char *out, size_t bytes);

#endif
