/* replay.c - run a trace on a stage: make stage=N replay, shrink, show; and random ones: make stress. */
#define _POSIX_C_SOURCE 200809L /* isatty */
#include "generate.h"
#include "run.h"
#include "shrink.h"
#include "stage_file.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void stop(const char *line)
{
    fprintf(stderr, "%s\n", line);
    exit(2);
}

/* How often the whole heap is checked unless told: each time, or in a long trace about 2,000 times. */
static size_t default_every(const struct trace *trace)
{
    enum { LONG = 20000, CHECKS = 2000 };
    return trace->count <= LONG ? 1 : trace->count / CHECKS;
}

static int replay(const char *file, const struct trace *trace, const struct engine_options *options)
{
    struct run_result result;
    run_exactly(trace, options, &result);
    if (result.failure.fault != ENGINE_SOUND) {
        run_report(stdout, file, trace, options, &result);
        return 1;
    }
    printf("%s: %zu operations, all good on %s", file, trace->count, stage_file);
    if (options->every > 1)
        printf("; the whole heap checked after each %zu, every=1 for each", options->every);
    printf("\n");
    if (result.totals.peak_heap_bytes != 0)
        printf("utilisation %.1f %%: peak payload %zu of peak heap %zu bytes\n",
            100.0 * (double)result.totals.peak_payload_bytes / (double)result.totals.peak_heap_bytes,
            result.totals.peak_payload_bytes, result.totals.peak_heap_bytes);
    if (result.totals.refused != 0)
        printf("%zu operations got no memory, rightly: the heap may grow to %zu bytes here\n",
            result.totals.refused, options->limit_bytes);
    return 0;
}

static int shrink_trace(
    const char *file, struct trace *trace, const struct engine_options *options, const char *save)
{
    struct run_result result;
    run_exactly(trace, options, &result);
    if (result.failure.fault == ENGINE_SOUND) {
        printf("%s: nothing to shrink, it is all good on %s\n", file, stage_file);
        return 0;
    }
    shrink_report(stdout, file, trace, options, &result, save);
    return 1;
}

/* The heap after each `step` operations, and what changed in it since it was shown last. */
static int show(
    const char *file, const struct trace *trace, const struct engine_options *options, size_t step)
{
    struct run_result result;
    run_exactly(trace, options, &result);
    bool failed = result.failure.fault != ENGINE_SOUND;
    size_t end = failed ? result.failure.op : trace->count;
    struct engine *e = engine_open(trace, options, NULL);
    struct engine_failure failure;
    struct layout layouts[2] = {{0}, {0}};
    for (size_t i = 0; i < end; i++) {
        engine_step(e, i, false, &failure);
        if ((i + 1) % step != 0 && i + 1 != end)
            continue;
        char text[TRACE_TEXT_BYTES];
        struct layout *before = &layouts[0], *after = &layouts[1];
        engine_layout(e, after);
        printf("%s%zu: %s\n", i == 0 ? "" : "\n", i + 1, trace_op_text(trace, &trace->ops[i], text));
        layout_print(stdout, before, after);
        struct layout shown = *after;
        *after = *before;
        *before = shown;
    }
    if (failed) {
        printf("\n");
        run_report(stdout, file, trace, options, &result);
    }
    layout_drop(&layouts[0]);
    layout_drop(&layouts[1]);
    engine_close(e);
    return failed;
}

/* Random operations, in heaps of 100,000 each. */
static int stress(uint64_t seed, size_t operations, const char *save)
{
    enum { EACH = 100000, EVERY = 20 };
    struct engine_options options = engine_defaults;
    options.every = EVERY;
    for (size_t done = 0; done < operations; done += EACH, seed++) {
        struct trace trace = {.ops = NULL};
        generate_random(&trace, seed, operations - done < EACH ? operations - done : EACH);
        struct run_result result;
        run_exactly(&trace, &options, &result);
        if (isatty(STDERR_FILENO))
            fprintf(stderr, "\r%s: %3zu %%\r", stage_file, 100 * done / operations);
        if (result.failure.fault != ENGINE_SOUND) {
            printf(
                "%s: random operations failed; again with seed=%llu\n", stage_file, (unsigned long long)seed);
            shrink_report(stdout, NULL, &trace, &options, &result, save);
            return 1;
        }
        trace_release(&trace);
    }
    printf("%s: %zu random operations, all good\n", stage_file, operations);
    return 0;
}

/* ---- Arguments ---- */

static const char usage[] = "usage: replay replay|shrink|show TRACE [every=K] [step=K] [save=PATH]\n"
                            "       replay decode FILE\n"
                            "       replay random SEED OPERATIONS\n"
                            "       replay stress SEED OPERATIONS SAVE";

/* "every=12"; anything but a number from 1 on ends the program. */
static bool number_argument(const char *argument, const char *name, size_t *number)
{
    size_t length = strlen(name);
    if (strncmp(argument, name, length) != 0 || argument[length] != '=')
        return false;
    char *end;
    unsigned long long value = strtoull(argument + length + 1, &end, 10);
    if (value == 0 || *end != '\0' || argument[length + 1] == '-') {
        fprintf(
            stderr, "%s is not a number from 1 on; type %s=10 for every tenth operation\n", argument, name);
        exit(2);
    }
    *number = (size_t)value;
    return true;
}

/* The trace that the bytes of a file stand for: what the fuzzer saved. */
static void decode(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        perror(path);
        exit(2);
    }
    struct trace trace = {.ops = NULL};
    generate_from_bytes(&trace, bytes, fread(bytes, 1, sizeof bytes, in));
    fclose(in);
    trace_write(&trace, stdout);
    trace_release(&trace);
}

static void print_random(const char *seed, const char *operations)
{
    struct trace trace = {.ops = NULL};
    generate_random(&trace, strtoull(seed, NULL, 10), strtoull(operations, NULL, 10));
    trace_write(&trace, stdout);
    trace_release(&trace);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        stop(usage);
    const char *command = argv[1], *file = argv[2];
    if (strcmp(command, "decode") == 0) {
        decode(file);
        return 0;
    }
    if (strcmp(command, "random") == 0 && argc == 4) {
        print_random(argv[2], argv[3]);
        return 0;
    }
    if (strcmp(command, "stress") == 0 && argc == 5)
        return stress(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10), argv[4]);
    struct trace trace;
    char error[TRACE_ERROR_BYTES];
    if (!trace_read(&trace, file, error))
        stop(error);
    struct engine_options options = engine_defaults;
    options.every = default_every(&trace);
    size_t step = 1;
    const char *save = NULL;
    for (int i = 3; i < argc; i++) {
        if (strncmp(argv[i], "save=", 5) == 0)
            save = argv[i] + 5;
        else if (!number_argument(argv[i], "every", &options.every) &&
                 !number_argument(argv[i], "step", &step))
            stop(usage);
    }
    int status;
    if (strcmp(command, "replay") == 0)
        status = replay(file, &trace, &options);
    else if (strcmp(command, "shrink") == 0)
        status = shrink_trace(file, &trace, &options, save);
    else if (strcmp(command, "show") == 0)
        status = show(file, &trace, &options, step);
    else
        stop(usage);
    trace_release(&trace);
    return status;
}
