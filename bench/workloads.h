/*
 * workloads.h - what the benchmark asks of an allocator: seven workloads and three harder ones.
 *
 * Each is the same sequence of calls in every run and on every machine: the generator is seeded, and inlined,
 * since libc's rand() costs more than the allocators that are compared. Each frees all that it allocates.
 */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include <stdbool.h>
#include <stddef.h>

/* Every allocator is called through these: what is compared is called alike, and the compiler sees no malloc. */
struct calls {
    void *(*malloc)(size_t);
    void (*free)(void *);
    void *(*realloc)(void *, size_t);
    void *(*calloc)(size_t, size_t);
};

struct workload {
    const char *name; /* at most 7 characters, for the table */
    const char *what;
    bool harder; /* not one of the seven that the ranking rests on */
    void (*run)(const struct calls *calls);
};

enum { WORKLOADS = 10, LARGEST_REQUEST = 16384 };
extern const struct workload workloads[WORKLOADS];

/* Two more, so small that the slowest stages bear them where everything takes fifty times as long. */
enum { SMALL_WORKLOADS = 2 };
extern const struct workload small_workloads[SMALL_WORKLOADS];

/* The number of the workload with this name; -1 if there is none. */
int workload_by_name(const char *name);

#endif
