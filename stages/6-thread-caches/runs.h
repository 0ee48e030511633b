/*
 * runs.h - the lower half of stage 6: the heap as units of 16 KiB, and runs of them. mm.c is the upper half.
 *
 * A run is one or more units side by side: a large block, a slab (one unit, cut into small blocks by mm.c), or free.
 * Best fit over lists by size; a run that becomes free is merged with its free neighbours at once. What is known of
 * a unit stands in a table of its own, so that no payload can run over into it, and blocks are aligned to UNIT.
 *
 * Whoever calls one of these functions holds the lock of mm.c.
 */
#ifndef STAGE_6_RUNS_H
#define STAGE_6_RUNS_H

#include "bits.h"
#include "count.h"
#include "memory.h"
#include "mm.h"
#include <assert.h>
#include <errno.h>

enum {
    UNIT = 16384,
    UNITS = 1 << 22, /* of the largest heap: 64 GiB */
    RUN_LISTS = 64, /* list i: free runs of i + 1 units; the last: all that are longer */
    GROWTH_SHARE = 32, /* call reclaim() when the heap has grown by this part since the last time */
    LOOK_UNITS = 1024, /* see what can be given back to the system after no fewer were taken and freed */
    KEEP_UNITS = 64, /* free units that are kept */
    HUGE_UNITS = 2048, /* a block from 32 MiB on is given back at once, as in glibc */
};

static_assert(MEMORY_ALIGNMENT % UNIT == 0, "else units would not be aligned");

enum kind { INSIDE, FREE_RUN, LARGE, SLAB }; /* INSIDE: not the first unit of a run */

/* What is known of 16 KiB of the heap. Links: a free run in the list of its size, a slab with blocks to give in that
 * of its class. */
struct unit {
    struct unit *next;
    struct unit *prev;
    struct block *free; /* a slab's free blocks that are in no magazine */
    uint32_t units; /* size of the run, in its first unit; of a free one in its last too */
    uint16_t used; /* a slab's blocks that are anywhere else */
    uint16_t cut; /* a slab's blocks that were ever used: the first ones */
    uint8_t size_class; /* of a slab */
    uint8_t kind;
    bool zero; /* the run reads as zero; of a large block: when it was taken */
};

static struct runs {
    char *start; /* of the heap */
    struct unit *units; /* the table */
    size_t count; /* units of the heap */
    struct unit *lists[RUN_LISTS];
    uint64_t non_empty; /* the bitmap of the lists */
    size_t reclaimed; /* `count` when reclaim() was last called */
    size_t free; /* units in free runs */
    size_t dirty; /* those of them that may hold memory of the system */
    size_t idle; /* the least that `free` was since the last look */
    size_t moved; /* units taken and freed since then */
} runs;

static struct unit *units_end(void) { return runs.units + runs.count; }
static size_t unit_number(const void *p) { return ((uintptr_t)p - (uintptr_t)runs.start) / UNIT; }
static struct unit *unit_of(const void *p) { return &runs.units[unit_number(p)]; }
static char *start_of(const struct unit *u) { return runs.start + (size_t)(u - runs.units) * UNIT; }
static size_t run_bytes(const struct unit *u) { return (size_t)u->units * UNIT; }

/* mm.c coalesces the small blocks that wait in lists; whole units may become free. */
static void reclaim(void);

/* ---- Lists ---- */

static void unit_insert(struct unit **list, struct unit *u)
{
    u->prev = NULL;
    u->next = *list;
    if (u->next != NULL)
        u->next->prev = u;
    *list = u;
}

static void unit_remove(struct unit **list, struct unit *u)
{
    *(u->prev != NULL ? &u->prev->next : list) = u->next;
    if (u->next != NULL)
        u->next->prev = u->prev;
}

static unsigned run_list(size_t units) { return (unsigned)(units < RUN_LISTS ? units : RUN_LISTS) - 1; }

/* A used run becomes a free one, not merged yet. */
static void run_insert(struct unit *u, size_t units)
{
    struct unit *last = u + units - 1;
    unsigned list = run_list(units);
    u->units = last->units = (uint32_t)units;
    u->kind = last->kind = FREE_RUN;
    unit_insert(&runs.lists[list], u);
    bit_set(&runs.non_empty, list);
    runs.free += units;
    runs.dirty += u->zero ? 0 : units;
}

/* A free run becomes a used one, of no kind yet. */
static void run_remove(struct unit *u)
{
    unsigned list = run_list(u->units);
    unit_remove(&runs.lists[list], u);
    if (runs.lists[list] == NULL)
        bit_clear(&runs.non_empty, list);
    u->kind = u[u->units - 1].kind = INSIDE;
    runs.free -= u->units;
    runs.dirty -= u->zero ? 0 : u->units;
}

/* Best fit; NULL if there is none. O(1) below RUN_LISTS units, else O(runs that long). */
static struct unit *find_run(size_t units)
{
    unsigned list = bit_next(&runs.non_empty, RUN_LISTS, run_list(units));
    struct unit *best = NULL;
    for (struct unit *u = list < RUN_LISTS ? runs.lists[list] : NULL; u != NULL; u = u->next) {
        count(&mm_counts.searched, 1);
        if (u->units >= units && (best == NULL || u->units < best->units))
            best = u;
        if (list < RUN_LISTS - 1)
            break; /* all in this list are of one size */
    }
    return best;
}

/* ---- Freeing ---- */

/*
 * Give units back to the system: as many as nobody needed since the last look, in which time each unit of the heap
 * could have been taken and freed. So memory that a program needs again and again stays.
 */
static void release_idle(void)
{
    size_t released = KEEP_UNITS + runs.free - runs.dirty;
    for (int list = RUN_LISTS - 1; list >= 0; list--) {
        for (struct unit *u = runs.lists[list]; u != NULL && released < runs.idle; u = u->next) {
            if (u->zero || !memory_release(start_of(u), run_bytes(u)))
                continue;
            u->zero = true;
            runs.dirty -= u->units;
            released += u->units;
        }
    }
    runs.idle = runs.free;
    runs.moved = 0;
}

/* [ u ][ next ] => [ ---- u ---- ], all of them used. Returns the size. */
static size_t join(struct unit *u, size_t units, struct unit *next)
{
    u->zero = u->zero && next->zero;
    next->kind = INSIDE;
    count(&mm_counts.merges, 1);
    return units + next->units;
}

/* A used run of this size becomes free: [ before ][ u ][ after ] => [ -------- before -------- ] */
static void merge_run(struct unit *u, size_t units)
{
    struct unit *after = u + units;
    u->units = (uint32_t)units;
    u->kind = INSIDE;
    if (after < units_end() && after->kind == FREE_RUN) {
        run_remove(after);
        u->units = (uint32_t)join(u, units, after);
    }
    if (u > runs.units && u[-1].kind == FREE_RUN) {
        struct unit *before = u - u[-1].units;
        run_remove(before);
        before->units = (uint32_t)join(before, before->units, u);
        u = before;
    }
    run_insert(u, u->units);
}

/* What a caller gives back. */
static void free_run(struct unit *u)
{
    runs.moved += u->units;
    merge_run(u, u->units);
    if (runs.moved >= LOOK_UNITS && runs.moved >= 2 * runs.count)
        release_idle();
}

/* Cut a used run: [ -------- u -------- ] => [ u: units ][ rest: free ] */
static void trim_run(struct unit *u, size_t units)
{
    size_t rest = u->units - units;
    if (rest == 0)
        return;
    u->units = (uint32_t)units;
    u[units].zero = u->zero;
    merge_run(u + units, rest);
    count(&mm_counts.splits, 1);
}

/* ---- Taking ---- */

/* A used run at the heap's end, which grows as far as its last run is not free, or too short. NULL: no memory. */
static struct unit *grow_heap(size_t units)
{
    if (runs.units == NULL && (runs.units = memory_table(UNIT, sizeof(struct unit))) == NULL)
        return NULL;
    struct unit *end = units_end(), *u = end;
    if (u > runs.units && u[-1].kind == FREE_RUN)
        u -= u[-1].units;
    if (memory_grow((units - (size_t)(end - u)) * UNIT) == NULL)
        return NULL;
    if (runs.start == NULL)
        runs.start = memory.start;
    runs.count = memory.bytes / UNIT;
    if (u == end)
        u->zero = true;
    else
        run_remove(u);
    u->units = (uint32_t)units;
    return u;
}

/* A used run of this size, of no kind yet. NULL: no memory. */
static struct unit *take_run(size_t units)
{
    int saved = errno;
    runs.moved += units;
    struct unit *u = find_run(units);
    if (u == NULL && runs.count > runs.reclaimed + runs.reclaimed / GROWTH_SHARE) {
        reclaim();
        u = find_run(units);
    }
    if (u == NULL && (u = grow_heap(units)) != NULL)
        return u;
    if (u == NULL) {
        reclaim(); /* the last resort */
        u = find_run(units);
        if (u == NULL && (u = grow_heap(units)) == NULL)
            return NULL;
        errno = saved;
    }
    if (u->kind == FREE_RUN)
        run_remove(u);
    trim_run(u, units);
    if (runs.free < runs.idle)
        runs.idle = runs.free;
    return u;
}

/* The same, but its start is aligned: to a power of two over UNIT. */
static struct unit *take_aligned_run(size_t units, size_t alignment)
{
    struct unit *before = take_run(units + alignment / UNIT - 1);
    if (before == NULL)
        return NULL;
    uintptr_t start = (uintptr_t)start_of(before);
    size_t gap = (round_up(start, alignment) - start) / UNIT;
    struct unit *u = before + gap;
    u->units = before->units - (uint32_t)gap;
    u->zero = before->zero;
    if (gap != 0)
        merge_run(before, gap);
    trim_run(u, units);
    return u;
}

/* Make a used run so many units large where it is; whether what follows it, and memory, allow that. */
static bool resize_run(struct unit *u, size_t units)
{
    struct unit *after = u + u->units;
    u->zero = false;
    if (units > u->units) {
        size_t more = units - u->units;
        size_t room = after < units_end() && after->kind == FREE_RUN ? after->units : 0;
        runs.moved += more;
        if (room >= more)
            run_remove(after);
        else if (after + room != units_end() || (after = grow_heap(more)) == NULL)
            return false;
        u->units += after->units;
    }
    trim_run(u, units);
    return true;
}

#endif
