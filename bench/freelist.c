/* freelist.c - the limit `freelist`; see limit.h. Before each payload stands the number of its class. */
#include "limit.h"

/* Classes 1 .. 64 are blocks of 16 times that; above, class 64 + k holds blocks of 1024 << k. */
enum { EXACT = 64, CLASSES = EXACT + 54 };

static void *lists[CLASSES];

static size_t class_of(size_t block_bytes)
{
    return block_bytes <= 1024 ? (block_bytes + 15) / 16 : EXACT - 9 + floor_log2(block_bytes - 1);
}

static size_t bytes_of(size_t size_class)
{
    return size_class <= EXACT ? size_class * 16 : (size_t)1024 << (size_class - EXACT);
}

static size_t *class_word(void *payload) { return (size_t *)payload - 1; }

void *malloc(size_t bytes)
{
    if (bytes > MOST_BYTES)
        return NULL;
    size_t size_class = class_of(bytes + WORD);
    void *payload = lists[size_class];
    if (payload != NULL) {
        lists[size_class] = *(void **)payload;
        return payload;
    }
    char *block = take_fresh(bytes_of(size_class));
    if (block == NULL)
        return NULL;
    *(size_t *)block = size_class;
    return block + WORD;
}

void free(void *payload)
{
    if (payload == NULL)
        return;
    size_t size_class = *class_word(payload);
    *(void **)payload = lists[size_class];
    lists[size_class] = payload;
}

void *realloc(void *payload, size_t bytes)
{
    size_t room = payload == NULL ? 0 : bytes_of(*class_word(payload)) - WORD;
    if (bytes <= room)
        return payload;
    void *moved = malloc(bytes);
    if (moved != NULL && payload != NULL) {
        memcpy(moved, payload, room);
        free(payload);
    }
    return moved;
}
