/* stats.c - the benchmark's statistics: bench/stats.h, against published tables and by simulation. */
#include "../bench/stats.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/*
 * Ranks of the 95 % interval for the median, as printed in tables of the sign test (for instance Conover, Practical
 * Nonparametric Statistics, table A3: the quantile of the binomial at p = 1/2 that leaves at most 2.5 % below).
 */
Test(stats, ranks_are_those_of_the_sign_test)
{
    static const size_t table[][2] = {
        {0, 0},
        {1, 0},
        {5, 0},
        {6, 1},
        {8, 1},
        {9, 2},
        {11, 2},
        {12, 3},
        {15, 4},
        {17, 5},
        {20, 6},
        {25, 8},
        {30, 10},
        {40, 14},
        {50, 18},
        {100, 40},
        {1000, 469},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        cr_expect_eq(interval_rank(table[i][0]), table[i][1], "%zu samples: rank %zu, should be %zu",
            table[i][0], interval_rank(table[i][0]), table[i][1]);
    cr_expect_eq(FEWEST_SAMPLES, 6, "the fewest samples with a rank");
}

/* P(B < k) for B binomial(n, 1/2), added up from Pascal's triangle, not from logarithms. */
static double binomial_below(size_t n, size_t k)
{
    double row[64] = {1};
    for (size_t i = 1; i <= n; i++)
        for (size_t j = i; j > 0; j--)
            row[j] += row[j - 1];
    double sum = 0;
    for (size_t j = 0; j < k; j++)
        sum += row[j];
    return sum / pow(2, (double)n);
}

Test(stats, rank_is_the_largest_that_keeps_95_percent)
{
    for (size_t n = FEWEST_SAMPLES; n < 60; n++) {
        size_t rank = interval_rank(n);
        cr_expect(
            2 * binomial_below(n, rank) <= 0.05, "%zu samples: rank %zu keeps less than 95 %%", n, rank);
        cr_expect(2 * binomial_below(n, rank + 1) > 0.05, "%zu samples: rank %zu would do too", n, rank + 1);
    }
}

Test(stats, median_and_interval_of_known_samples)
{
    double odd[] = {9, 1, 8, 2, 7, 3, 6, 4, 5}, even[] = {4, 1, 3, 2};
    struct estimate e = estimate(odd, 9);
    cr_expect_eq(e.samples, 9);
    cr_expect_eq(e.median, 5);
    cr_expect_eq(e.low, 2, "the second smallest, not %g", e.low);
    cr_expect_eq(e.high, 8, "the second largest, not %g", e.high);
    e = estimate(even, 4);
    cr_expect_eq(e.median, 2.5);
    cr_expect(isnan(e.low) && isnan(e.high), "4 samples have no interval, not %g .. %g", e.low, e.high);
    cr_expect(isnan(estimate(even, 0).median), "no samples have no median");
}

Test(stats, ties_and_what_is_missing)
{
    double ties[] = {2, 2, 2, 2, 2, 2}, half[] = {1, 1, 1, 2, 2, 2, 2, 2};
    struct estimate e = estimate(ties, 6);
    cr_expect(e.median == 2 && e.low == 2 && e.high == 2, "six equal samples: %g .. %g", e.low, e.high);
    e = estimate(half, 8);
    cr_expect(e.median == 2 && e.low == 1 && e.high == 2, "median %g in %g .. %g", e.median, e.low, e.high);

    for (size_t n = 1; n <= FEWEST_SAMPLES; n++) {
        double samples[] = {6, 5, 4, 3, 2, 1};
        e = estimate(samples, n);
        cr_expect_eq(e.samples, n);
        cr_expect_eq(e.median, 6.5 - (double)n / 2);
        cr_expect_eq(!isnan(e.low) && !isnan(e.high), n == FEWEST_SAMPLES, "%zu samples", n);
    }

    double holes[] = {NAN, 3, NAN, 1, 2, NAN}, none[] = {NAN, NAN};
    e = estimate(holes, 6);
    cr_expect(e.samples == 3 && e.median == 2 && isnan(e.low), "%zu samples, median %g", e.samples, e.median);
    cr_expect_eq(verdict(e), TOO_FEW);
    cr_expect(isnan(estimate(none, 2).median), "of nothing that is known there is no median");
}

static double next_uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005 + 1442695040888963407;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* The interval must hold the true median in 95 % of all experiments, also for a distribution as skewed as times are. */
Test(stats, interval_holds_the_true_median_as_often_as_promised)
{
    enum { EXPERIMENTS = 20000 };
    uint64_t state = 1;
    for (size_t n = 6; n <= 40; n += 17) {
        int held = 0;
        for (int i = 0; i < EXPERIMENTS; i++) {
            double samples[40];
            for (size_t j = 0; j < n; j++)
                samples[j] = 1 / (1 - next_uniform(&state)); /* Pareto: the median is 2, there is no mean */
            struct estimate e = estimate(samples, n);
            held += e.low <= 2 && 2 <= e.high;
        }
        cr_expect(held >= 0.945 * EXPERIMENTS, "%zu samples: held in %d of %d", n, held, EXPERIMENTS);
        cr_expect(held <= 0.985 * EXPERIMENTS, "%zu samples: needlessly wide, held in %d of %d", n, held,
            EXPERIMENTS);
    }
}

Test(stats, verdict_only_where_the_interval_excludes_one)
{
    cr_expect_eq(verdict((struct estimate){9, 0.5, 0.4, 0.99}), BELOW);
    cr_expect_eq(verdict((struct estimate){9, 1.5, 1.01, 2}), ABOVE);
    cr_expect_eq(verdict((struct estimate){9, 0.9, 0.8, 1.1}), NO_DIFFERENCE);
    cr_expect_eq(verdict((struct estimate){9, 1, 1, 1}), NO_DIFFERENCE);
    cr_expect_eq(verdict((struct estimate){5, 0.001, NAN, NAN}), TOO_FEW, "however small it is");
}

Test(stats, geometric_mean_of_known_numbers)
{
    double x[] = {1, 10, 100}, inverse[] = {0.25, 4}, missing[] = {1, NAN};
    cr_expect_float_eq(geometric_mean(x, 3), 10, 1e-12);
    cr_expect_float_eq(geometric_mean(inverse, 2), 1, 1e-12);
    cr_expect(isnan(geometric_mean(missing, 2)), "with a number missing there is no mean");
    cr_expect(isnan(geometric_mean(x, 0)), "of nothing there is no mean");
}
