/*
 * counts.c - counted work of one stage on every workload, each on a fresh heap: the same on every machine.
 *
 *     counts NAME          prints a line of CSV for each workload and counter: NAME,WORKLOAD,CALLS,COUNTER,AMOUNT
 *     counts NAME header   prints the bytes of a header
 *
 * Built from the counting build of a stage, called through its table.
 */
#include "count.h"
#include "front.h"
#include "memory.h"
#include "workloads.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static uint64_t calls;

static void *counted_malloc(size_t bytes) { return calls++, front_malloc(&mm_allocator, bytes); }
static void counted_free(void *payload) { calls++, front_free(&mm_allocator, payload); }
static void *counted_realloc(void *payload, size_t bytes)
{
    return calls++, front_realloc(&mm_allocator, payload, bytes);
}
static void *counted_calloc(size_t n, size_t bytes) { return calls++, front_calloc(&mm_allocator, n, bytes); }

static void print(const char *name, const char *workload, const char *counter, uint64_t amount)
{
    printf("%s,%s,%" PRIu64 ",%s,%" PRIu64 "\n", name, workload, calls, counter, amount);
}

static void run(const char *name, const struct workload *w)
{
    memory_reset();
    mm_allocator.init();
    mm_counts = (struct mm_counts){0};
    calls = 0;
    w->run(&(struct calls){counted_malloc, counted_free, counted_realloc, counted_calloc});
    print(name, w->name, "searched", mm_counts.searched);
    print(name, w->name, "validated", mm_counts.validated);
    print(name, w->name, "splits", mm_counts.splits);
    print(name, w->name, "merges", mm_counts.merges);
    print(name, w->name, "growths", mm_counts.grows);
    print(name, w->name, "copied", mm_counts.copied);
    print(name, w->name, "cleared", mm_counts.cleared);
    print(name, w->name, "heap", memory.peak_bytes);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    if (argc > 2 && strcmp(argv[2], "header") == 0) {
        printf("%zu\n", mm_allocator.header_bytes);
        return 0;
    }
    for (int w = 0; w < WORKLOADS; w++)
        run(argv[1], &workloads[w]);
    return 0;
}
