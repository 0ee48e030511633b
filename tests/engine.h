/*
 * engine.h - runs a trace on the stage, and checks after each operation that the stage did what malloc
 * promises.
 *
 * The engine keeps a model of what every block must be. After an operation it checks
 *   - what the operation returned: aligned, inside the heap, large enough, apart from all live payloads;
 *     zeroed if by calloc, the old bytes kept if by realloc; NULL only where there was no memory, with the
 *     right errno;
 *   - all invariants (check()), every byte of every live payload, that the used blocks are exactly the live
 *     ones, and that nothing was written past the heap's end.
 * It stops at the first operation after which something does not hold, and says in words what.
 *
 * The model lives in the system's memory: nothing is ever allocated from the heap under test.
 */
#ifndef ENGINE_H
#define ENGINE_H

#include "layout.h"
#include "trace.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum engine_fault {
    ENGINE_SOUND,
    ENGINE_INVARIANT, /* detail: its number */
    ENGINE_DAMAGED, /* a live payload was written to */
    ENGINE_LOST, /* realloc did not keep the bytes */
    ENGINE_NOT_ZERO, /* calloc did not zero them */
    ENGINE_OVERLAP, /* memory that belongs to a live block was given out */
    ENGINE_MISALIGNED, /* detail: the alignment asked for */
    ENGINE_OUTSIDE, /* not, or not all, inside the heap */
    ENGINE_BEYOND, /* the stage wrote past the heap's end */
    ENGINE_SMALL, /* malloc_usable_size is less than was asked for, or more than the block */
    ENGINE_ANSWER, /* NULL without a reason, or not NULL; detail: an enum engine_answer */
    ENGINE_LEAK, /* a used block that nobody owns */
    ENGINE_MISSING, /* a live block that is not among the used ones */
    ENGINE_REPORT, /* the stage reported a misuse where there was none; detail: the number of the code */
    ENGINE_CRASH, /* detail: the signal */
    ENGINE_HANG,
};

enum engine_answer {
    ENGINE_NULL = 1, /* NULL, though the memory source was not asked or did not refuse */
    ENGINE_NOT_NULL, /* a pointer where there is none to give: realloc(p, 0), no power of two */
    ENGINE_ERRNO, /* NULL with the wrong errno */
};

struct engine_failure {
    enum engine_fault fault;
    int detail;
    size_t op; /* index of the operation in the trace */
    uint32_t slot; /* of the block that it is about, if it is about one */
    uint32_t other; /* ENGINE_OVERLAP: of the block that has the memory already */
    size_t offset; /* of the bad byte: in the payload, for ENGINE_BEYOND in the heap */
    char words[1600]; /* what happened, some lines */
};

struct engine_options {
    size_t every; /* check the whole heap after each so many operations ... */
    size_t from; /* ... but never before this one (index) */
    size_t limit_bytes; /* of the heap */
    double hang_seconds; /* of processor time that an operation may take */
    bool blind; /* leave the payloads alone: neither write nor check them */
    bool brief; /* keep no history: quick, for runs that are run again in full when they fail */
};

/* Checks after each operation; the heap may grow to 1 GiB. */
extern const struct engine_options engine_defaults;

/* How far an engine is, for whoever watches it from another process. */
struct engine_progress {
    volatile size_t op;
    volatile uint64_t beats; /* grows as long as anything happens */
    volatile enum { ENGINE_BEFORE, ENGINE_CALL, ENGINE_CHECK, ENGINE_WALK, ENGINE_FILL } phase;
};

struct engine;

/*
 * The trace may change while the engine is open, but not grow in operations or slots. `progress` may be
 * NULL.
 */
struct engine *engine_open(
    const struct trace *trace, const struct engine_options *options, struct engine_progress *progress);
void engine_close(struct engine *e);

/* Start again with an empty heap. */
void engine_reset(struct engine *e);

/* Run operation number `op`. False: something does not hold, see *failure. */
bool engine_step(struct engine *e, size_t op, bool check_all, struct engine_failure *failure);

struct engine_totals {
    size_t refused; /* operations that got no memory */
    size_t peak_payload_bytes; /* most bytes asked for and live at once */
    size_t peak_heap_bytes;
};

struct engine_totals engine_totals(const struct engine *e);

/* The heap as it is now, with the blocks named by their ids. */
void engine_layout(const struct engine *e, struct layout *layout);

#endif
