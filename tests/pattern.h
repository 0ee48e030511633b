/*
 * pattern.h - what tests write into payloads: every byte depends on a key and on its offset, so that a byte
 * that is lost, moved or taken from another block does not go unseen.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Words of a payload grow by a constant from a start that the key scatters, so that loops over them are fast. */
static inline uint64_t pattern_start(uint64_t key)
{
    uint64_t start = (key + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (start ^ start >> 32) * UINT64_C(0xd6e8feb86659fd93);
}

static const uint64_t PATTERN_STEP = 0x8c7f0aac97c4aa2f;

static inline void pattern_fill(void *payload, size_t bytes, uint64_t key)
{
    char *to = payload;
    uint64_t word = pattern_start(key);
    for (size_t left = bytes / sizeof word; left > 0; left--, to += sizeof word, word += PATTERN_STEP)
        memcpy(to, &word, sizeof word);
    memcpy(to, &word, bytes % sizeof word);
}

/* The offset of the first byte that is not as pattern_fill() left it; `bytes` if all are. */
static inline size_t pattern_difference(const void *payload, size_t bytes, uint64_t key)
{
    const unsigned char *from = payload;
    uint64_t word = pattern_start(key), found, differences = 0;
    for (size_t i = 0; i < bytes / sizeof word; i++) {
        memcpy(&found, from + i * sizeof word, sizeof word);
        differences |= found ^ (word + i * PATTERN_STEP);
    }
    size_t tail = bytes - bytes % sizeof word;
    found = word + tail / sizeof word * PATTERN_STEP;
    if (differences == 0 && memcmp(from + tail, &found, bytes - tail) == 0)
        return bytes;
    for (size_t i = 0; i < bytes; i++) {
        uint64_t expected = word + i / sizeof word * PATTERN_STEP;
        if (from[i] != ((const unsigned char *)&expected)[i % sizeof word])
            return i;
    }
    return bytes;
}

#endif
