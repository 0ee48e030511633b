/* bits.h - arithmetic on sizes, and bitmaps. tests/bits.c checks each against its definition. */
#ifndef MM_BITS_H
#define MM_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* x rounded up to a multiple of `multiple`. Preconditions: a power of two; no overflow. */
static inline size_t round_up(size_t x, size_t multiple) { return (x + multiple - 1) & ~(multiple - 1); }

static inline bool is_aligned(const void *p, size_t alignment)
{
    return ((uintptr_t)p & (alignment - 1)) == 0;
}

static inline bool is_power_of_two(size_t x) { return x != 0 && (x & (x - 1)) == 0; }

/* The number of the highest bit set: log2(x) rounded down. Precondition: x > 0. */
static inline unsigned floor_log2(size_t x) { return 63U - (unsigned)__builtin_clzll(x); }

/* A bitmap is an array of 64-bit words; bit i is bit i % 64 of word i / 64. */
static inline bool bit_test(const uint64_t *map, unsigned i) { return (map[i / 64] >> i % 64 & 1) != 0; }
static inline void bit_set(uint64_t *map, unsigned i) { map[i / 64] |= UINT64_C(1) << i % 64; }
static inline void bit_clear(uint64_t *map, unsigned i) { map[i / 64] &= ~(UINT64_C(1) << i % 64); }

/* The first bit set from bit `i` on; `bits`, the bitmap's size and a multiple of 64, if there is none. O(bits / 64). */
static inline unsigned bit_next(const uint64_t *map, unsigned bits, unsigned i)
{
    for (; i < bits; i = (i / 64 + 1) * 64) {
        uint64_t word = map[i / 64] >> i % 64;
        if (word != 0)
            return i + (unsigned)__builtin_ctzll(word);
    }
    return bits;
}

#endif
