/*
 * count.h - counted work: the same on every machine, so exercises and grades rest on it.
 *
 * Only a build with -DMM_COUNT=1 counts; in the timed build these functions are empty.
 */
#ifndef MM_COUNT_H
#define MM_COUNT_H

#include <stddef.h>
#include <stdint.h>

#ifndef MM_COUNT
#define MM_COUNT 0
#endif

struct mm_counts {
    uint64_t searched; /* blocks that malloc looked at to find one that fits */
    uint64_t validated; /* blocks that check() looked at, in the calls themselves when validation is on */
    uint64_t splits;
    uint64_t merges; /* pairs of blocks merged */
    uint64_t grows; /* times that the heap grew */
    uint64_t copied; /* payload bytes moved by realloc */
    uint64_t cleared; /* payload bytes zeroed by calloc */
    uint64_t locks; /* times that a stage took its lock, or need not as there was one thread */
};

extern struct mm_counts mm_counts;

static inline void count(uint64_t *counter, uint64_t n)
{
#if MM_COUNT
    *counter += n;
#else
    (void)counter;
    (void)n;
#endif
}

#endif
