/*
 * fuzz.c - make stage=N fuzz: libFuzzer looks for a trace on which the stage fails.
 *
 * Each input is a trace (generate.h), run and checked in this process on an empty heap. libFuzzer changes
 * the inputs that reach new code of the stage. The first failure stops it; make fuzz then shrinks what it
 * saved.
 */
#include "engine.h"
#include "generate.h"
#include <stdlib.h>

enum { MOST_OPERATIONS = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static struct engine *open_engine(struct trace *trace)
{
    for (uint32_t slot = 0; slot < GENERATE_SLOTS; slot++)
        trace_add(trace, (struct trace_op){.kind = TRACE_FREE, .slot = slot});
    struct engine_options options = engine_defaults;
    options.limit_bytes = (size_t)1 << 26;
    return engine_open(trace, &options, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static struct trace trace;
    static struct engine *engine;
    if (engine == NULL)
        engine = open_engine(&trace);
    trace.count = 0;
    if (count > MOST_OPERATIONS * GENERATE_OP_BYTES)
        count = MOST_OPERATIONS * GENERATE_OP_BYTES;
    generate_from_bytes(&trace, bytes, count);
    engine_reset(engine);
    struct engine_failure failure;
    for (size_t i = 0; i < trace.count; i++) {
        /* What is wrong mostly stays wrong; the shrinker finds the operation. */
        bool check_all = i % 8 == 7 || i + 1 == trace.count;
        if (!engine_step(engine, i, check_all, &failure)) {
            fprintf(stderr, "%s\n", failure.words);
            abort();
        }
    }
    return 0;
}
