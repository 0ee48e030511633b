/* program.h - a failing trace as a C program, to be pasted into a file and run under a debugger. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include "run.h"

/*
 * Write a program that does what the trace does, then asserts what does not hold after its last operation.
 * The trace is as shrink() leaves it: each block has an id of its own, and the last operation is the one
 * that fails. `file`: the program's name, for the command in its first comment.
 */
void program_write(FILE *out, const char *file, const struct trace *trace,
    const struct engine_options *options, const struct run_result *result);

#endif
