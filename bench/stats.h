/*
 * stats.h - what the benchmark claims, and how sure it is.
 *
 * Times on a shared machine have no distribution that one could name, so everything rests on ranks: the
 * median, and a confidence interval for it whose ends are two of the samples. It holds for any distribution
 * (W. J. Conover, Practical Nonparametric Statistics, 3rd ed., 1999, section 3.2; H. A. David and H. N. Nagaraja,
 * Order Statistics, 3rd ed., 2003, section 7.1).
 */
#ifndef BENCH_STATS_H
#define BENCH_STATS_H

#include <stdbool.h>
#include <stddef.h>

/* At least this many samples are needed before any two of them enclose the median with 95 % confidence. */
enum { FEWEST_SAMPLES = 6 };

struct estimate {
    size_t samples;
    double median; /* NaN if there are no samples */
    double low, high; /* of the 95 % interval; NaN with fewer than FEWEST_SAMPLES */
};

enum verdict {
    TOO_FEW, /* no interval, no verdict */
    BELOW, /* the whole interval is below 1 */
    ABOVE, /* the whole interval is above 1 */
    NO_DIFFERENCE, /* 1 is inside */
};

/* Sorts the samples. What is not a number is no sample. */
struct estimate estimate(double *samples, size_t n);

/* The k for which the k-th smallest and the k-th largest of n samples enclose the median; 0: n is too small. */
size_t interval_rank(size_t n);

/* What an estimated ratio says. */
enum verdict verdict(struct estimate ratio);

/* Of positive numbers; NaN if there are none. */
double geometric_mean(const double *x, size_t n);

#endif
