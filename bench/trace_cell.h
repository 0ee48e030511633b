/*
 * trace_cell.h - how trace_bench.c hands a trace to trace_cell.c: an open file that the cell maps, so that
 * nobody parses text, or allocates, in the process that is measured.
 */
#ifndef BENCH_TRACE_CELL_H
#define BENCH_TRACE_CELL_H

#include <stddef.h>
#include <stdint.h>

/* One operation; left out are those that must fail: sizes that no machine has, odd alignments. */
struct step {
    size_t bytes;
    uint32_t slot;
    char kind; /* enum trace_kind; free(NULL) is a free of slot 0, always NULL */
    uint8_t alignment_log2;
};

/* The file: this, then the steps. */
struct trace_file {
    size_t steps, slots;
    size_t peak_step; /* after this one the live payload is largest */
};

#endif
