/*
 * pattern.h - what tests write into payloads: every byte depends on a key and on its offset, so that a byte
 * that is lost, moved or taken from another block does not go unseen.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Word i of a payload. Two keys never share a run of words, shifted or not (for keys below 2^32). */
static inline uint64_t pattern_word(uint64_t key, size_t i)
{
    uint64_t word = ((key << 32) + i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return word ^ word >> 32;
}

static inline void pattern_fill(void *payload, size_t bytes, uint64_t key)
{
    char *to = payload;
    size_t words = bytes / sizeof(uint64_t);
    for (size_t i = 0; i < words; i++) {
        uint64_t word = pattern_word(key, i);
        memcpy(to + i * sizeof word, &word, sizeof word);
    }
    uint64_t last = pattern_word(key, words);
    memcpy(to + words * sizeof last, &last, bytes % sizeof last);
}

/* The offset of the first byte that is not as pattern_fill() left it; `bytes` if all are. */
static inline size_t pattern_difference(const void *payload, size_t bytes, uint64_t key)
{
    const char *from = payload;
    for (size_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        uint64_t expected = pattern_word(key, done / sizeof expected), found = expected;
        size_t n = bytes - done < sizeof found ? bytes - done : sizeof found;
        memcpy(&found, from + done, n);
        for (size_t i = 0; found != expected; i++)
            if (from[done + i] != ((const char *)&expected)[i])
                return done + i;
    }
    return bytes;
}

#endif
