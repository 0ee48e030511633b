/* run.h - run a trace, or anything else on the stage, in a process of its own: it may crash, or never end. */
#ifndef RUN_H
#define RUN_H

#include "engine.h"

/* How a process ended. */
struct run_end {
    int status; /* as waitpid() gives it; 0: all is well */
    bool hung; /* nothing happened any more, so it was ended */
    char message[512]; /* the first line that it wrote to stderr */
};

/*
 * Call work() in a new process, where what it allocates and changes is lost, except in shared memory. It
 * shows by progress->beats that it gets on: when nothing happens for `hang_seconds` of processor time, or
 * 20 times that in real time, it is ended. *progress is readable afterwards, until the next call.
 */
struct run_end run_apart(void (*work)(struct engine_progress *progress, void *context), void *context,
    double hang_seconds, const struct engine_progress **progress);

/*
 * Memory, zeroed, that a process started by run_apart() shares with this one. Ends the program if there is
 * none.
 */
void *run_shared(size_t bytes);

struct run_result {
    struct engine_failure failure;
    struct engine_totals totals;
};

void run_trace(const struct trace *trace, const struct engine_options *options, struct run_result *result);

/* Like run_trace, but a failure is run again so that the first operation that did harm is known. */
void run_exactly(const struct trace *trace, const struct engine_options *options, struct run_result *result);

/*
 * The failure in words, and the heap before and after the operation. `name` is the trace's file; NULL if it
 * has none.
 */
void run_report(FILE *out, const char *name, const struct trace *trace, const struct engine_options *options,
    const struct run_result *result);

#endif
