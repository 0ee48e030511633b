/* shrink.h - from a trace that fails to the shortest one that still fails in the same way. */
#ifndef SHRINK_H
#define SHRINK_H

#include "run.h"

/*
 * Shrinks `trace` in place; *result, the failure of its run, becomes that of the shrunk trace. Returns how
 * many runs it took. Stops where it is after `seconds`.
 */
size_t shrink(
    struct trace *trace, const struct engine_options *options, struct run_result *result, double seconds);

/*
 * A trace has failed: say how, shrink it, and print the shrunk trace and the program. Without a `name`, the
 * failure of the shrunk trace is all that is said. With `save`, they are written to save.trace and save.c
 * too. Shrinks `trace` in place.
 */
void shrink_report(FILE *out, const char *name, struct trace *trace, const struct engine_options *options,
    struct run_result *result, const char *save);

#endif
