/* stats.c - see stats.h. */
#include "stats.h"
#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/*
 * The number of samples below the median is binomial with p = 1/2, so the k-th smallest and the k-th largest
 * fail to enclose it with probability 2 P(B < k) = 2 (C(n,0) + ... + C(n,k-1)) / 2^n: the largest k for which
 * that is at most 5 %. Summed from the logarithms, since 2^n soon leaves the range of double.
 */
size_t interval_rank(size_t n)
{
    double outside = 0, log_term = -(double)n * log(2); /* of C(n,0) / 2^n */
    for (size_t k = 0; k < n; k++) {
        outside += 2 * exp(log_term);
        if (outside > 0.05)
            return k;
        log_term += log((double)(n - k)) - log((double)(k + 1));
    }
    return 0;
}

struct estimate estimate(double *samples, size_t n)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++)
        if (!isnan(samples[i]))
            samples[known++] = samples[i];
    n = known;
    struct estimate e = {n, NAN, NAN, NAN};
    if (n == 0)
        return e;
    qsort(samples, n, sizeof *samples, by_value);
    e.median = (samples[(n - 1) / 2] + samples[n / 2]) / 2;
    size_t rank = interval_rank(n);
    if (rank != 0) {
        e.low = samples[rank - 1];
        e.high = samples[n - rank];
    }
    return e;
}

enum verdict verdict(struct estimate ratio)
{
    if (isnan(ratio.low) || isnan(ratio.high))
        return TOO_FEW;
    return ratio.high < 1 ? BELOW : ratio.low > 1 ? ABOVE : NO_DIFFERENCE;
}

double geometric_mean(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += log(x[i]);
    return n == 0 ? (double)NAN : exp(sum / (double)n);
}
