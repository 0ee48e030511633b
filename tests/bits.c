/* bits.c - the helpers of bits.h against their definitions, everywhere that matters. */
#include "bits.h"
#include "lab.h"

TestSuite(bits, .init = lab_begin, .timeout = 120);

Test(bits, round_up_is_the_least_multiple)
{
    for (size_t multiple = 1; multiple <= 4096; multiple *= 2) {
        for (size_t x = 0; x < 10000; x++) {
            size_t up = round_up(x, multiple);
            lab_require(up % multiple == 0 && up >= x && up - x < multiple, "round_up(%zu, %zu) is %zu", x,
                multiple, up);
        }
        size_t largest = SIZE_MAX - multiple + 1;
        lab_require(round_up(largest, multiple) == largest, "round_up(%zu, %zu)", largest, multiple);
    }
}

Test(bits, alignment_is_divisibility)
{
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2)
        for (uintptr_t address = 0; address < 10000; address++)
            lab_require(is_aligned((void *)address, alignment) == (address % alignment == 0),
                "is_aligned(%zu, %zu)", (size_t)address, alignment);
}

static bool is_a_power(size_t x)
{
    size_t power = 1;
    while (power < x && power <= SIZE_MAX / 2)
        power *= 2;
    return power == x;
}

Test(bits, powers_of_two)
{
    for (size_t x = 0; x < 100000; x++)
        lab_require(is_power_of_two(x) == is_a_power(x), "is_power_of_two(%zu)", x);
    for (unsigned k = 2; k < 64; k++) {
        size_t power = (size_t)1 << k;
        lab_require(is_power_of_two(power), "2^%u", k);
        lab_require(
            !is_power_of_two(power - 1) && !is_power_of_two(power + 1), "2^%u - 1 and 2^%u + 1", k, k);
    }
    lab_require(!is_power_of_two(SIZE_MAX), "2^64 - 1");
}

Test(bits, floor_log2_is_the_highest_bit)
{
    for (size_t x = 1; x < 100000; x++) {
        unsigned log = floor_log2(x);
        lab_require((size_t)1 << log <= x && x < (size_t)2 << log, "floor_log2(%zu) is %u", x, log);
    }
    for (unsigned k = 1; k < 64; k++) {
        size_t power = (size_t)1 << k;
        lab_require(floor_log2(power) == k && floor_log2(power - 1) == k - 1, "floor_log2 around 2^%u", k);
    }
    lab_require(floor_log2(SIZE_MAX) == 63, "floor_log2(2^64 - 1)");
}

enum { BITS = 192 };

Test(bits, a_bitmap_is_an_array_of_bools)
{
    uint64_t map[BITS / 64] = {0};
    bool is_set[BITS] = {false};
    for (unsigned step = 0; step < 4 * BITS; step++) {
        unsigned i = step * 37 % BITS; /* all of them, out of order: set, set again, cleared, cleared again */
        is_set[i] = step < 2 * BITS;
        (step < 2 * BITS ? bit_set : bit_clear)(map, i);
        for (unsigned k = 0; k < BITS; k++)
            lab_require(bit_test(map, k) == is_set[k], "after %u steps, bit %u", step + 1, k);
    }
}

static unsigned first_from(const uint64_t *map, unsigned i)
{
    while (i < BITS && !bit_test(map, i))
        i++;
    return i;
}

/* All maps of up to two bits, and their complements, from every place on. */
Test(bits, bit_next_finds_the_first_from_there)
{
    for (unsigned one = 0; one < BITS; one++) {
        for (unsigned other = one; other < BITS; other++) {
            uint64_t map[BITS / 64] = {0};
            bit_set(map, one);
            bit_set(map, other);
            unsigned interesting[] = {
                0, one, one + 1, other, other + 1, 63, 64, 65, 127, 128, BITS - 1, BITS};
            for (size_t i = 0; i < sizeof interesting / sizeof *interesting; i++)
                lab_require(bit_next(map, BITS, interesting[i]) == first_from(map, interesting[i]),
                    "bits %u and %u, from %u on", one, other, interesting[i]);
        }
    }
    uint64_t empty[BITS / 64] = {0};
    for (unsigned i = 0; i <= BITS; i++)
        lab_require(bit_next(empty, BITS, i) == BITS, "no bit is set, from %u on", i);
}
