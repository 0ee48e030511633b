/* used.h - how many of a stage's blocks are in use, by a walk over its heap. */
#ifndef TESTS_USED_H
#define TESTS_USED_H

#include "mm.h"

static inline bool add_if_used(const struct mm_block *block, void *used)
{
    *(size_t *)used += block->state == MM_USED;
    return true;
}

static inline size_t used_blocks(void)
{
    size_t used = 0;
    mm_allocator.walk(add_if_used, &used);
    return used;
}

#endif
