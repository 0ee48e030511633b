/*
 * layout.h - the heap as a person wants to see it when an operation went wrong: as text, and as a picture.
 *
 * A layout is taken through the stage's table alone (check, walk, walk_lists), and taking it survives a
 * damaged heap: it ends at the block where the damage was seen, and says so.
 *
 *     struct layout before = {0}, after = {0};
 *     layout_take(&before);
 *     mm_allocator.free(p);
 *     layout_take(&after);
 *     layout_print(stderr, &before, &after);
 *
 *     offset  8        1096     2184     3272
 *     before  [A 1088] [B 1088] (1088)   [D 1088]
 *     after   [A 1088] (2176           ) [D 1088]
 *     changed          ^^^^^^^^^^^^^^^^^
 *     lists   before: 2184; after: 1096
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "mm.h"
#include <stdio.h>

enum { LAYOUT_NAME_BYTES = 12 };

struct layout_block {
    struct mm_block block;
    char name[LAYOUT_NAME_BYTES]; /* "" if it has none */
    bool listed; /* for callers that compare blocks and free lists; false at first */
};

/* Starts as {0}; can be taken again and again; layout_drop() gives its memory back. */
struct layout {
    struct layout_block *blocks; /* all blocks, in address order */
    size_t block_count;
    struct layout_block *listed; /* the free blocks, list by list */
    size_t listed_count;
    size_t heap_bytes;
    struct mm_fault fault; /* what check() found; .invariant is 0 in a sound heap */
    const char *cut; /* why this is not the whole heap, in words; NULL if it is */
    size_t block_room, listed_room;
};

/* Look at the heap as it is now. Counts no work in mm_counts. O(blocks). */
void layout_take(struct layout *layout);

/* The block in which this payload lies; NULL if there is none. O(log blocks). */
struct layout_block *layout_block_of(const struct layout *layout, const void *payload);

/* The block of this payload is shown under this name. O(log blocks). */
void layout_name(struct layout *layout, const void *payload, const char *name);

/* "used 64, free 96, quick 48, used 32": the blocks from offset `from` on; what does not fit becomes "...". */
void layout_text(const struct layout *layout, size_t from, char *text, size_t size);

/* The picture above: what lies near a change, or near a fault; all that fits on a line if there is neither.
 * `before` may be NULL. */
void layout_print(FILE *out, const struct layout *before, const struct layout *after);

void layout_drop(struct layout *layout);

#endif
