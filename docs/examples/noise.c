/* Measures one thing 101 times: 10,000 pairs of malloc and free. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RUNS = 101, PAIRS = 10000 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static double ns[RUNS];
    double sum = 0;
    for (int run = 0; run < RUNS; run++) {
        double start = now_ns();
        for (int i = 0; i < PAIRS; i++) {
            void *volatile p = malloc(64);
            free(p);
        }
        ns[run] = (now_ns() - start) / PAIRS;
        sum += ns[run];
    }
    qsort(ns, RUNS, sizeof ns[0], ascending);
    printf("ns per pair: minimum %.2f, median %.2f, mean %.2f, 95th percentile %.2f, maximum %.2f\n", ns[0],
        ns[RUNS / 2], sum / RUNS, ns[RUNS * 95 / 100], ns[RUNS - 1]);
    return 0;
}
