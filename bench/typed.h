/* typed.h - what was typed for a benchmark: checked before anything is measured, and else a line that says what to type. */
#ifndef BENCH_TYPED_H
#define BENCH_TYPED_H

/* The number of NAME=TEXT, from 1 to `most`. Exits with 2 if it is none. */
unsigned long typed_number(const char *name, const char *text, unsigned long most, unsigned long example);

/* Exits with 2 if the file of WHAT=PATH cannot be written (NULL: none is asked for). */
void check_writable(const char *what, const char *path);

#endif
