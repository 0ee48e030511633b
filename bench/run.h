/* run.h - running the cells of a benchmark, each in a process of its own, and showing how far it is. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include <stddef.h>

/*
 * Runs a program with a library preloaded (NULL: with none) until it ends, or SIGALRM comes after so many
 * seconds. What it writes, to stderr too, is in `output`. Returns its status as waitpid() gives it.
 */
int run_program(char *const *argv, const char *library, unsigned seconds, char *output, size_t bytes);

/* "SEGV" for SIGSEGV. */
const char *signal_name(int number);

/* How a program failed, for a table: "timeout" after SIGALRM, "SEGV", "exit 3". Precondition: its status is not 0. */
void failure_mark(int status, char *mark, size_t bytes);

/* A bar with the time left and what is being done, on a terminal only; `done` is 0 to 1. */
void show_progress(double done, double seconds_left, const char *doing);
void clear_progress(void);

#endif
