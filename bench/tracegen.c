/*
 * tracegen.c - writes traces made to be hard: `tracegen NAME` to stdout, `tracegen` lists the names.
 *
 * Each attacks one idea of the ladder, so that a stage that has the idea and one that has not fall apart.
 * They are the same on every machine. bench/traces/README.md says what each costs which stage. Besides, it
 * writes the loads of `make bench suite=space`.
 */
#include "bits.h"
#include "trace.h"
#include <stdlib.h>
#include <string.h>

static struct trace trace;

static void add_malloc(uint32_t slot, size_t bytes)
{
    trace_add(&trace, (struct trace_op){.kind = TRACE_MALLOC, .slot = slot, .bytes = bytes});
}

static void add_realloc(uint32_t slot, size_t bytes)
{
    trace_add(&trace, (struct trace_op){.kind = TRACE_REALLOC, .slot = slot, .bytes = bytes});
}

static void add_free(uint32_t slot)
{
    trace_add(&trace, (struct trace_op){.kind = TRACE_FREE, .slot = slot});
}

/* SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
static size_t random_below(size_t n)
{
    static uint64_t state = 2024;
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (size_t)((z ^ z >> 31) % n);
}

/*
 * Against a search, first fit above all: thousands of free blocks in front, in address order and in the order
 * in which they were freed, each too small for what is asked for, so that each malloc looks at all of them.
 */
static void first_fit(void)
{
    enum { HOLES = 2000, ROUNDS = 6, SMALL = 64, LARGE = 400 };
    for (uint32_t i = 0; i < HOLES; i++) {
        add_malloc(i, SMALL);
        add_malloc(HOLES + i, 16); /* stays, and keeps the small ones from merging */
    }
    for (uint32_t i = 0; i < HOLES; i++) {
        add_malloc(2 * HOLES + i, LARGE);
        add_malloc(3 * HOLES + i, 16);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < HOLES; i++)
            add_free(2 * HOLES + i);
        for (uint32_t i = 0; i < HOLES; i++)
            add_free(i);
        for (uint32_t i = 0; i < HOLES; i++)
            add_malloc(2 * HOLES + i, LARGE);
        for (uint32_t i = 0; i < HOLES; i++)
            add_malloc(i, SMALL);
    }
}

/*
 * Against a free list that serves the block freed last: a large block is freed, a small one that stays is cut
 * from it, and the next large one no longer fits there. Every round leaves a splinter a little too small. A
 * policy that prefers the smallest block that fits cuts all the small ones from the first splinter.
 */
static void splinters(void)
{
    enum { ROUNDS = 5000, LARGE = 1000, SMALL = 24 };
    for (uint32_t i = 0; i < ROUNDS; i++) {
        add_malloc(i, LARGE);
        add_malloc(ROUNDS + i, SMALL); /* stays, and keeps the large ones from merging */
    }
    for (uint32_t i = 0; i < ROUNDS; i++) {
        add_free(i);
        add_malloc(2 * ROUNDS + i, SMALL);
        add_malloc(i, LARGE);
    }
}

/*
 * Against size classes: every request is a byte over a power of two, where classes have their borders, and
 * what is free is of the size just below it.
 */
static void class_borders(void)
{
    enum { BLOCKS = 6000, ROUNDS = 4, SMALLEST = 5, SIZES = 8 }; /* 32 .. 4096 bytes */
    for (size_t round = 0; round < ROUNDS; round++)
        for (uint32_t i = 0; i < BLOCKS; i++) {
            /* A third of the blocks stay, and part the others. */
            if (round > 0 && i % 3 == 0)
                continue;
            if (round > 0)
                add_free(i);
            add_malloc(i, ((size_t)1 << (SMALLEST + random_below(SIZES))) + 1 + 16 * round);
        }
}

/*
 * Many buffers that grow in turn, a little at a time, as in a program that reads many files: the neighbour is
 * always in the way, so realloc copies, and leaves holes that only smaller buffers would fit.
 */
static void growing(void)
{
    enum { BUFFERS = 64, STEPS = 600, STEP = 48 };
    for (size_t step = 1; step <= STEPS; step++)
        for (uint32_t i = 0; i < BUFFERS; i++)
            add_realloc(i, step * STEP);
}

/*
 * Robson's adversary against first fit: no allocator without moving blocks can do with less than about
 * M (1/2 log2 n) for M live bytes in blocks of up to n, and this is the program that shows it.
 *
 * Step i frees all blocks but those that cover an address that is f modulo 2^i, f chosen so that the most
 * is wasted between those that stay, and then allocates blocks of 2^i: none of them fits between two that
 * stayed. (J. M. Robson, "Bounds for some functions concerning dynamic storage allocation", J. ACM 21(3),
 * 1974; an upper bound stands in J. ACM 18(3), 1971. Knuth, The Art of Computer Programming, vol. 1, section
 * 2.5.)
 *
 * A program that is recorded cannot look at addresses, so those are of a model of a first fit without
 * headers.
 */
enum {
    LIVE_UNITS = 16384,
    LARGEST_LOG2 = 8,
    MODEL_UNITS = LIVE_UNITS * LARGEST_LOG2,
    UNIT_BYTES = 64,
    HEADER_BYTES =
        8, /* of the allocators most like the model: a block of stage 5 is a whole number of units */
};

struct object {
    size_t unit, units; /* address and size in the model; size 0: not live */
};

static struct object objects[MODEL_UNITS];
static size_t object_count, live_units;
static bool occupied[MODEL_UNITS];

/* Does the object cover an address that is f modulo n? */
static bool covers(const struct object *o, size_t f, size_t n)
{
    return (f + n - o->unit % n) % n < o->units;
}

static size_t first_free_run(size_t units)
{
    size_t run = 0;
    for (size_t at = 0; at < MODEL_UNITS; at++) {
        run = occupied[at] ? 0 : run + 1;
        if (run == units)
            return at + 1 - units;
    }
    return MODEL_UNITS;
}

static bool add_object(size_t units)
{
    size_t at = first_free_run(units);
    if (at == MODEL_UNITS || object_count == MODEL_UNITS)
        return false;
    memset(&occupied[at], true, units);
    live_units += units;
    objects[object_count] = (struct object){at, units};
    add_malloc((uint32_t)object_count++, units * UNIT_BYTES - HEADER_BYTES);
    return true;
}

static void remove_object(size_t number)
{
    struct object *o = &objects[number];
    memset(&occupied[o->unit], false, o->units);
    live_units -= o->units;
    o->units = 0;
    add_free((uint32_t)number);
}

/* What blocks of n units would leave unused between the objects that cover f modulo n. */
static size_t waste(size_t f, size_t n)
{
    size_t units = 0;
    for (size_t i = 0; i < object_count; i++)
        if (objects[i].units != 0 && covers(&objects[i], f, n))
            units += n - objects[i].units;
    return units;
}

static void robson(void)
{
    size_t f = 0;
    while (live_units < LIVE_UNITS)
        add_object(1);
    for (unsigned step = 1; step <= LARGEST_LOG2; step++) {
        size_t n = (size_t)1 << step;
        if (waste(f + n / 2, n) > waste(f, n))
            f += n / 2;
        for (size_t i = 0; i < object_count; i++)
            if (objects[i].units != 0 && !covers(&objects[i], f, n))
                remove_object(i);
        while (live_units + n <= LIVE_UNITS && add_object(n))
            continue;
    }
}

/* ---- Loads whose space is measured: not hard, but of a kind that is easy to reason about ---- */

static void live(uint32_t blocks)
{
    for (uint32_t i = 0; i < blocks; i++)
        add_malloc(i, 16 + random_below(49));
}

static void live_10k(void) { live(10000); }
static void live_100k(void) { live(100000); }
static void live_1m(void) { live(1000000); }

static size_t uniform_bytes(void) { return 1 + random_below(512); }

/* 16 .. 8191, each doubling as likely as the others. */
static size_t log_bytes(void)
{
    size_t least = (size_t)16 << random_below(9);
    return least + random_below(least);
}

/* 5,000 blocks live, and then one after the other, picked at random, gives way to a new one. */
static void churn(size_t (*bytes)(void))
{
    enum { BLOCKS = 5000, STEPS = 100000 };
    for (uint32_t i = 0; i < BLOCKS; i++)
        add_malloc(i, bytes());
    for (int step = 0; step < STEPS; step++) {
        uint32_t slot = (uint32_t)random_below(BLOCKS);
        add_free(slot);
        add_malloc(slot, bytes());
    }
}

static void uniform(void) { churn(uniform_bytes); }
static void logarithmic(void) { churn(log_bytes); }

static const struct {
    const char *name;
    void (*generate)(void);
} generators[] = {
    {"live-10k", live_10k},
    {"live-100k", live_100k},
    {"live-1m", live_1m},
    {"uniform", uniform},
    {"log", logarithmic},
    {"first-fit", first_fit},
    {"splinters", splinters},
    {"class-borders", class_borders},
    {"growing", growing},
    {"robson", robson},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof generators / sizeof *generators; i++)
        if (argc < 2) {
            puts(generators[i].name);
        } else if (strcmp(argv[1], generators[i].name) == 0) {
            generators[i].generate();
            return trace_write(&trace, stdout) ? 0 : 1;
        }
    if (argc >= 2)
        fprintf(stderr, "tracegen: there is no trace %s; tracegen alone lists them\n", argv[1]);
    return argc < 2 ? 0 : 2;
}
