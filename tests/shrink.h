/*
 * shrink.h - from a trace that fails to the shortest one that still fails in the same way, and to a C
 * program.
 */
#ifndef SHRINK_H
#define SHRINK_H

#include "engine.h"

/*
 * Shrinks `trace` in place; *result, the failure of its run, becomes that of the shrunk trace. Returns how
 * many runs it took. Stops where it is after `seconds`.
 */
size_t shrink(
    struct trace *trace, const struct engine_options *options, struct engine_result *result, double seconds);

/*
 * A C program that does what the trace does and stops where it goes wrong. `file`: its name, for its first
 * comment.
 */
void shrink_write_program(FILE *out, const char *file, const struct trace *trace,
    const struct engine_options *options, const struct engine_result *result);

/*
 * A trace has failed: say how, shrink it, and print the shrunk trace and the program. With `save`, they are
 * written to save.trace and save.c too. Shrinks `trace` in place.
 */
void shrink_report(FILE *out, const char *name, struct trace *trace, const struct engine_options *options,
    struct engine_result *result, const char *save);

#endif
