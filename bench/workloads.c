/* workloads.c - see workloads.h. */
#include "workloads.h"
#include <stdint.h>
#include <string.h>

/* Called through a volatile pointer: gcc turns a memset of constant size into `rep stosq`, slower than libc's. */
static void *(*volatile fill)(void *, int, size_t) = memset;

/* The compiler must believe that somebody reads what p points to. */
static inline void *used(void *p)
{
    __asm__ volatile("" : "+r"(p) : : "memory");
    return p;
}

/* SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. */
struct generator {
    uint64_t state;
};

static inline uint32_t random_bits(struct generator *g)
{
    uint64_t z = g->state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (uint32_t)(z >> 32);
}

/* 0 .. n - 1, without a division. */
static inline uint32_t random_below(struct generator *g, uint32_t n)
{
    return (uint32_t)((uint64_t)random_bits(g) * n >> 32);
}

static void free_all(const struct calls *calls, void **slots, size_t n)
{
    for (size_t i = 0; i < n; i++)
        calls->free(slots[i]);
}

static void free_every_other(const struct calls *calls, void **slots, size_t n)
{
    for (size_t i = 0; i < n; i += 2)
        calls->free(slots[i]);
}

static void allocate(const struct calls *calls, void **slots, size_t n, size_t stride, size_t bytes)
{
    for (size_t i = 0; i < n; i += stride)
        slots[i] = used(calls->malloc(bytes));
}

static void run_seq(const struct calls *calls)
{
    enum { BLOCKS = 10000 };
    static void *slots[BLOCKS];
    allocate(calls, slots, BLOCKS, 1, 64);
    free_all(calls, slots, BLOCKS);
}

static void run_random(const struct calls *calls)
{
    enum { STEPS = 100000, SLOTS = 1000 };
    static void *slots[SLOTS];
    struct generator g = {1};
    for (int step = 0; step < STEPS; step++) {
        void **slot = &slots[random_below(&g, SLOTS)];
        if (*slot != NULL) {
            calls->free(*slot);
            *slot = NULL;
        } else {
            *slot = used(calls->malloc(16 + random_below(&g, 512)));
        }
    }
    free_all(calls, slots, SLOTS);
    memset(slots, 0, sizeof slots);
}

static void run_fill(const struct calls *calls)
{
    for (int i = 0; i < 10000; i++) {
        void *p = calls->malloc(1024);
        fill(p, 0x5a, 1024);
        calls->free(used(p));
    }
}

static void run_large(const struct calls *calls)
{
    enum { BLOCKS = 100 };
    static void *slots[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        slots[i] = calls->malloc(8192);
        fill(slots[i], 0, 8192);
        used(slots[i]);
    }
    free_all(calls, slots, BLOCKS);
}

static void run_frag(const struct calls *calls)
{
    enum { BLOCKS = 1000 };
    static void *slots[BLOCKS];
    allocate(calls, slots, BLOCKS, 1, 128);
    free_every_other(calls, slots, BLOCKS);
    allocate(calls, slots, BLOCKS, 2, 64);
    free_all(calls, slots, BLOCKS);
}

static void run_realloc(const struct calls *calls)
{
    for (int i = 0; i < 1000; i++) {
        void *p = used(calls->malloc(64));
        p = used(calls->realloc(p, 256));
        p = used(calls->realloc(p, 1024));
        p = used(calls->realloc(p, 128));
        calls->free(p);
    }
}

/* Each step is one of four calls on a random slot; malloc and calloc first free what the slot holds. */
static inline void mixed(const struct calls *calls, uint32_t doublings, uint32_t most_words)
{
    enum { STEPS = 100000, SLOTS = 500 };
    static void *slots[SLOTS];
    struct generator g = {2};
    for (int step = 0; step < STEPS; step++) {
        void **slot = &slots[random_below(&g, SLOTS)];
        switch (random_below(&g, 4)) {
        case 0:
            calls->free(*slot);
            *slot = used(calls->malloc((size_t)16 << random_below(&g, doublings)));
            break;
        case 1:
            calls->free(*slot);
            *slot = NULL;
            break;
        case 2:
            *slot = used(calls->realloc(*slot, (size_t)16 << random_below(&g, doublings)));
            break;
        default:
            calls->free(*slot);
            *slot = used(calls->calloc(1 + random_below(&g, most_words), 4));
        }
    }
    free_all(calls, slots, SLOTS);
    memset(slots, 0, sizeof slots);
}

static void run_mixed(const struct calls *calls) { mixed(calls, 8, 256); }
static void run_mixed_large(const struct calls *calls) { mixed(calls, 10, 2048); }

static void run_holes(const struct calls *calls)
{
    enum { BLOCKS = 5000 };
    static void *slots[BLOCKS];
    allocate(calls, slots, BLOCKS, 1, 64);
    free_every_other(calls, slots, BLOCKS);
    allocate(calls, slots, BLOCKS, 2, 192);
    free_all(calls, slots, BLOCKS);
}

static void run_buffers(const struct calls *calls)
{
    enum { STEP = 32 };
    char *buffers[2] = {NULL, NULL};
    for (size_t bytes = STEP; bytes <= LARGEST_REQUEST; bytes += STEP)
        for (int i = 0; i < 2; i++) {
            buffers[i] = calls->realloc(buffers[i], bytes);
            memset(buffers[i] + bytes - STEP, 1, STEP);
            used(buffers[i]);
        }
    calls->free(buffers[0]);
    calls->free(buffers[1]);
}

static void run_pair(const struct calls *calls)
{
    for (int i = 0; i < 1000; i++)
        calls->free(used(calls->malloc(64)));
}

static void run_seq_small(const struct calls *calls)
{
    enum { BLOCKS = 500 };
    static void *slots[BLOCKS];
    allocate(calls, slots, BLOCKS, 1, 64);
    free_all(calls, slots, BLOCKS);
}

const struct workload small_workloads[SMALL_WORKLOADS] = {
    {"pair", "1,000 x malloc(64) and free: the least that an allocator can do", true, run_pair},
    {"seq500", "500 x malloc(64), then free all in order", true, run_seq_small},
};

const struct workload workloads[WORKLOADS] = {
    {"seq", "10,000 x malloc(64), then free all in order", false, run_seq},
    {"random", "100,000 steps over 1,000 slots: free a full one, else malloc(16..527)", false, run_random},
    {"fill", "10,000 x malloc(1024), fill it, free", false, run_fill},
    {"large", "100 x malloc(8192), fill with zeros; then free all", false, run_large},
    {"frag", "1,000 x malloc(128), free every other, 500 x malloc(64) into the holes", false, run_frag},
    {"realloc", "1,000 x malloc(64), realloc to 256, to 1024, to 128, free", false, run_realloc},
    {"mixed", "100,000 x one of malloc, free, realloc, calloc over 500 slots, up to 2 KB", false, run_mixed},
    {"holes", "5,000 x malloc(64), free every other, 2,500 x malloc(192): no hole fits", true, run_holes},
    {"buffers", "two buffers that grow in turn by 32 bytes up to 16 KB", true, run_buffers},
    {"mixed8k", "the mixed one up to 8 KB", true, run_mixed_large},
};

int workload_by_name(const char *name)
{
    for (int w = 0; w < WORKLOADS; w++)
        if (strcmp(workloads[w].name, name) == 0)
            return w;
    return -1;
}
