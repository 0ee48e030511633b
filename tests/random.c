/*
 * random.c - random operations against a model, everything checked after each; a failure is shrunk.
 * make test seed=7 runs other ones, make stress many more.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "generate.h"
#include "shrink.h"
#include <criterion/criterion.h>
#include <stdlib.h>

enum { OPERATIONS = 10000 };

Test(random, operations_against_a_model, .timeout = 120)
{
    const char *text = getenv("seed");
    unsigned long long seed = text == NULL ? 1 : strtoull(text, NULL, 10);
    cr_log_info("seed=%llu", seed);
    struct trace trace = {.ops = NULL};
    generate_random(&trace, seed, OPERATIONS);
    struct run_result result;
    run_exactly(&trace, &engine_defaults, &result);
    if (result.failure.fault == ENGINE_SOUND)
        return;
    char *message = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&message, &size);
    cr_assert(out != NULL);
    fprintf(out, "random operations failed; again with seed=%llu\n", seed);
    shrink_report(out, NULL, &trace, &engine_defaults, &result, NULL);
    fclose(out);
    cr_assert_fail("%s", message);
}
