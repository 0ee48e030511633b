/*
 * generate.h - traces made from bytes: random ones for the random test, the fuzzer's for the fuzzer.
 *
 * Every string of bytes is a trace, four bytes an operation, and a small change of the bytes is a small
 * change of the trace: what libFuzzer needs to find its way.
 */
#ifndef GENERATE_H
#define GENERATE_H

#include "trace.h"

enum {
    GENERATE_OP_BYTES = 4,
    GENERATE_SLOTS = 256,
};

/* Adds the operations that the bytes stand for to an empty trace. */
void generate_from_bytes(struct trace *trace, const uint8_t *bytes, size_t count);

/* Adds `operations` random ones to an empty trace. The same seed gives the same trace on every machine. */
void generate_random(struct trace *trace, uint64_t seed, size_t operations);

#endif
