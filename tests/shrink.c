/*
 * shrink.c - see shrink.h. Delta debugging: Zeller and Hildebrandt, "Simplifying and isolating failure-
 * inducing input" (2002), in its greedy form: take away a part, keep what is left if it still fails, with
 * ever smaller parts.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "shrink.h"
#include "program.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct shrinker {
    struct trace *trace; /* the shortest failing one so far, in the form that normalise() gives */
    const struct engine_options *options;
    struct run_result *result;
    size_t runs;
    double deadline;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- One try ---- */

/*
 * Each block gets an id of its own, 1, 2, ..., and operation n stands on line n. Then any operations can be
 * left out: without its malloc, a realloc becomes one, and a free does nothing.
 */
static void normalise(struct trace *trace)
{
    enum { NONE = 0 };
    struct trace renamed = {.ops = NULL};
    uint32_t *id = calloc(trace->slots + 1, sizeof *id), ids = 0; /* by slot: the id of its live block */
    if (id == NULL)
        abort();
    for (size_t i = 0; i < trace->count; i++) {
        struct trace_op op = trace->ops[i];
        uint32_t *mine = op.slot == TRACE_NULL ? NULL : &id[op.slot];
        bool has_block = mine != NULL && *mine != NONE;
        if (!has_block && trace_frees(&op))
            op.kind = TRACE_FREE;
        else if (!has_block && op.kind != TRACE_TOUCH)
            *mine = ++ids;
        op.slot = mine == NULL || *mine == NONE ? TRACE_NULL : *mine - 1;
        if (mine != NULL && trace_frees(&op))
            *mine = NONE;
        op.line = (uint32_t)renamed.count + 1;
        if (op.slot != TRACE_NULL || op.kind != TRACE_TOUCH)
            trace_add(&renamed, op);
    }
    for (size_t slot = 0; slot < renamed.slots; slot++)
        renamed.ids[slot] = slot + 1;
    free(id);
    trace_release(trace);
    *trace = renamed;
}

static struct trace copy_of(const struct trace *trace)
{
    struct trace copy = {.weight = trace->weight};
    for (size_t i = 0; i < trace->count; i++)
        trace_add(&copy, trace->ops[i]);
    return copy;
}

/* Does it fail in the same way? Then it is the new trace, cut after the failure. Takes the candidate over. */
static bool try(struct shrinker *s, struct trace candidate)
{
    struct engine_options options = *s->options;
    options.from = 0;
    options.every = 1 + candidate.count / 1000;
    struct run_result result;
    normalise(&candidate);
    s->runs++;
    run_exactly(&candidate, &options, &result);
    bool same = result.failure.fault == s->result->failure.fault &&
                result.failure.detail == s->result->failure.detail;
    if (same) {
        candidate.count = result.failure.op + 1;
        trace_release(s->trace);
        *s->trace = candidate;
        *s->result = result;
    } else {
        trace_release(&candidate);
    }
    return same;
}

static bool has_time(const struct shrinker *s) { return now() < s->deadline; }

/* ---- Operations ---- */

/* In which group an operation is: with all those on the same block, or alone. */
static size_t group_of(const struct trace *trace, size_t op, bool by_block)
{
    uint32_t slot = trace->ops[op].slot;
    return !by_block ? op : slot == TRACE_NULL ? trace->slots : slot;
}

static struct trace without(const struct trace *trace, size_t from, size_t to, bool by_block)
{
    struct trace rest = {.ops = NULL};
    for (size_t i = 0; i < trace->count; i++) {
        size_t group = group_of(trace, i, by_block);
        if (group < from || group >= to)
            trace_add(&rest, trace->ops[i]);
    }
    return rest;
}

/* Leave out as many groups as can be. Returns whether any could. */
static bool leave_out(struct shrinker *s, bool by_block)
{
    bool any = false;
    size_t groups = by_block ? s->trace->slots + 1 : s->trace->count;
    for (size_t part = (groups + 1) / 2; part > 0; part /= 2) {
        for (size_t from = 0; from < groups && has_time(s);) {
            struct trace candidate = without(s->trace, from, from + part, by_block);
            bool is_less = candidate.count < s->trace->count && candidate.count > 0;
            if (!is_less)
                trace_release(&candidate);
            if (is_less && try(s, candidate)) {
                any = true;
                groups = by_block ? s->trace->slots + 1 : s->trace->count;
            } else {
                from += part;
            }
        }
    }
    return any;
}

/* ---- Sizes ---- */

static bool try_op(struct shrinker *s, size_t i, struct trace_op op)
{
    struct trace candidate = copy_of(s->trace);
    candidate.ops[i] = op;
    return try(s, candidate);
}

/*
 * The smallest value of a field that fails, if the failing ones are all above some border: then by
 * bisection.
 */
static bool smaller(struct shrinker *s, size_t i, size_t offset_of_field)
{
    size_t bytes, good = 0;
    memcpy(&bytes, (char *)&s->trace->ops[i] + offset_of_field, sizeof bytes);
    bool any = false;
    for (size_t next = 0; good < bytes && i < s->trace->count && has_time(s);
         next = good + (bytes - good) / 2) {
        struct trace_op op = s->trace->ops[i];
        memcpy((char *)&op + offset_of_field, &next, sizeof next);
        if (try_op(s, i, op)) {
            bytes = next;
            any = true;
        } else {
            good = next + 1;
        }
    }
    return any;
}

/* malloc instead of another kind of allocation. */
static bool plainer(struct shrinker *s, size_t i)
{
    struct trace_op op = s->trace->ops[i];
    size_t bytes = op.bytes;
    if (op.kind == TRACE_CALLOC && __builtin_mul_overflow(op.count, op.bytes, &bytes))
        return false;
    if (op.kind != TRACE_CALLOC && op.kind != TRACE_ALIGNED && op.kind != TRACE_REALLOC)
        return false;
    for (size_t k = 0; k < i; k++)
        if (op.kind == TRACE_REALLOC && s->trace->ops[k].slot == op.slot)
            return false;
    return try_op(s, i, (struct trace_op){.kind = TRACE_MALLOC, .slot = op.slot, .bytes = bytes});
}

static bool simplify(struct shrinker *s)
{
    bool any = false;
    for (size_t i = 0; i < s->trace->count && has_time(s); i++) {
        any |= plainer(s, i);
        if (i < s->trace->count && s->trace->ops[i].kind == TRACE_CALLOC)
            any |= smaller(s, i, offsetof(struct trace_op, count));
        if (i < s->trace->count)
            any |= smaller(s, i, offsetof(struct trace_op, bytes));
    }
    return any;
}

/* Returns whether it helped: then a next round may too. */
static bool shrink_once(struct shrinker *s)
{
    bool any = leave_out(s, true);
    any |= leave_out(s, false);
    any |= simplify(s);
    return any;
}

size_t shrink(
    struct trace *trace, const struct engine_options *options, struct run_result *result, double seconds)
{
    struct engine_options quick = *options;
    quick.hang_seconds = options->hang_seconds < 0.05 ? options->hang_seconds : 0.05;
    struct shrinker s = {.trace = trace, .options = &quick, .result = result, .deadline = now() + seconds};
    trace->count = result->failure.op + 1;
    if (!try(&s, copy_of(trace)))
        return s.runs;
    while (shrink_once(&s) && has_time(&s)) {
    }
    return s.runs;
}

/* ---- All of it ---- */

static FILE *open_file(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    return file;
}

void shrink_report(FILE *out, const char *name, struct trace *trace, const struct engine_options *options,
    struct run_result *result, const char *save)
{
    enum { SECONDS = 30, PATH_BYTES = 512 };
    size_t operations = trace->count;
    if (name != NULL)
        run_report(out, name, trace, options, result);
    fprintf(out, "%sShrinking %zu operations ...", name != NULL ? "\n" : "", operations);
    fflush(out);
    size_t runs = shrink(trace, options, result, SECONDS);
    fprintf(out, " to %zu, in %zu runs:\n\n", trace->count, runs);
    trace_write(trace, out);
    fprintf(out, "\n");
    run_report(out, NULL, trace, options, result);

    char program[PATH_BYTES], short_trace[PATH_BYTES];
    snprintf(program, sizeof program, "%s.c", save == NULL ? "fail" : save);
    snprintf(short_trace, sizeof short_trace, "%s.trace", save == NULL ? "fail" : save);
    fprintf(out, "\nThe same as a C program:\n\n");
    program_write(out, program, trace, options, result);
    if (save == NULL)
        return;
    FILE *file = open_file(short_trace);
    trace_write(trace, file);
    fclose(file);
    file = open_file(program);
    program_write(file, program, trace, options, result);
    fclose(file);
    fprintf(out, "\nSaved as %s and %s\n", short_trace, program);
}
