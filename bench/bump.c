/* bump.c - the limit `bump`; see limit.h. Before each payload stands its size, for realloc. */
#include "limit.h"

static size_t *size_of(void *payload) { return (size_t *)payload - 1; }

void *malloc(size_t bytes)
{
    char *block = bytes > MOST_BYTES ? NULL : take_fresh(round_up(bytes + WORD, 16));
    if (block == NULL)
        return NULL;
    *(size_t *)block = bytes;
    return block + WORD;
}

void free(void *payload) { (void)payload; }

void *realloc(void *payload, size_t bytes)
{
    if (payload != NULL && bytes <= *size_of(payload))
        return payload;
    void *moved = malloc(bytes);
    return moved == NULL || payload == NULL ? moved : memcpy(moved, payload, *size_of(payload));
}

/* Between two runs of a workload nothing is live but what was before the first: start again from there. */
EXPORT void bench_restart(void);

void bench_restart(void)
{
    static char *first;
    if (first == NULL)
        first = top;
    top = first;
}
