/* generate.c - see generate.h. */
#include "generate.h"
#include "mm.h"
#include <stdbool.h>

/* One of 16 ranges, and a place in it. Most sizes are small, as in real programs; some lie at a border. */
static size_t size_from(uint8_t range, uint8_t place)
{
    size_t power = (size_t)16 << place % 9; /* 16 .. 4096 */
    switch (range % 16) {
    case 0:
        return place % 4;
    case 1: /* up to 16 bytes around a power of two, and around the payload that fills a block of that size */
    case 2:
        return power - 16 + place / 8;
    case 3:
        return power - 40 + (power < 40 ? 40 : 0) + (place / 9) % 2;
    case 4:
    case 5:
        return (size_t)place * 4;
    case 6:
    case 7:
        return (size_t)place * 16 + range / 16;
    case 8:
        return place < 64 ? (size_t)place << 10 : place;
    case 9: /* no memory for that: around the largest size that a stage is asked for, and the largest of all */
        if (place < 16)
            return MM_MAX_PAYLOAD + 1024 - (size_t)place * 128;
        return place < 24 ? SIZE_MAX - (size_t)(place - 16) * 8 : place;
    default:
        return place;
    }
}

static struct trace_op op_from(const uint8_t *bytes, bool *live)
{
    struct trace_op op = {.slot = bytes[1], .bytes = size_from(bytes[2], bytes[3])};
    unsigned choice = bytes[0] % 16;
    bool was_live = live[op.slot];
    live[op.slot] = true;
    if (was_live && choice < 10) {
        live[op.slot] = false;
        op.kind = TRACE_FREE;
        op.bytes = 0;
    } else if (was_live) {
        op.kind = TRACE_REALLOC;
        live[op.slot] = op.bytes != 0;
    } else if (choice < 9) {
        op.kind = TRACE_MALLOC;
    } else if (choice < 12) {
        op.kind = TRACE_CALLOC;
        op.count = bytes[0] / 16;
    } else if (choice < 14) {
        op.kind = TRACE_ALIGNED;
        op.alignment = (size_t)1 << bytes[0] / 16; /* 1 .. 32768 */
    } else if (choice < 15) {
        op.kind = TRACE_REALLOC; /* of NULL: allocates */
    } else {
        live[op.slot] = false;
        op = (struct trace_op){.kind = TRACE_FREE, .slot = TRACE_NULL};
    }
    return op;
}

static void add_from(struct trace *trace, const uint8_t *bytes, bool *live)
{
    struct trace_op op = op_from(bytes, live);
    op.line = (uint32_t)trace->count + 1;
    trace_add(trace, op);
}

void generate_from_bytes(struct trace *trace, const uint8_t *bytes, size_t count)
{
    bool live[GENERATE_SLOTS] = {false};
    for (size_t i = 0; i + GENERATE_OP_BYTES <= count; i += GENERATE_OP_BYTES)
        add_from(trace, bytes + i, live);
}

/* SplitMix64, by Guy Steele, Doug Lea and Christine Flood (2014). */
static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

void generate_random(struct trace *trace, uint64_t seed, size_t operations)
{
    bool live[GENERATE_SLOTS] = {false};
    for (size_t i = 0; i < operations; i++) {
        uint64_t random = next_random(&seed);
        uint8_t bytes[GENERATE_OP_BYTES];
        for (size_t k = 0; k < GENERATE_OP_BYTES; k++)
            bytes[k] = (uint8_t)(random >> 8 * k);
        add_from(trace, bytes, live);
    }
}
