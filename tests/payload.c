/* payload.c - the caller's bytes: where they lie, and that nobody but the caller changes them. */
#include "lab.h"

TestSuite(payload, .init = lab_begin, .timeout = 120);

Test(payload, aligned_at_every_size)
{
    /* Eight blocks live at a time, so that they start at many different places. */
    for (size_t bytes = 0; bytes <= 4096; bytes++) {
        int name = (int)(bytes % 8);
        if (lab_is_live(name))
            lab_free(name);
        lab_malloc(name, bytes);
    }
}

Test(payload, large_sizes)
{
    for (size_t bytes = 4096; bytes <= (size_t)1 << 24; bytes *= 2) {
        lab_malloc(A, bytes - 1);
        lab_malloc(B, bytes);
        lab_free(A);
        lab_malloc(C, bytes + 1);
        lab_free_all();
    }
}

Test(payload, many_pages_for_one_block)
{
    lab_malloc(A, 10);
    lab_malloc(B, 100000);
    lab_malloc(C, 10);
    lab_malloc(D, 50000);
    lab_free(B);
    lab_malloc(E, 99000);
    lab_free_all();
}

/* The smallest blocks, side by side: the links of a free list must fit into them. */
Test(payload, smallest_blocks)
{
    for (int name = 0; name < 40; name++)
        lab_malloc(name, (size_t)name % 3);
    for (int name = 0; name < 40; name += 2)
        lab_free(name);
    for (int name = 1; name < 40; name += 2)
        lab_free(name);
    for (int name = 0; name < 40; name++)
        lab_malloc(name, (size_t)name % 3);
    lab_free_all();
}

/* From every size to every other, with neighbours that must not be touched, the heap's end far and near. */
Test(payload, realloc_from_every_size_to_every_size)
{
    static const size_t sizes[] = {
        1, 8, 15, 16, 17, 24, 25, 40, 41, 56, 57, 100, 500, 990, 1000, 1001, 1024, 1500, 4000, 4096, 9000};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    for (int from = 0; from < SIZES; from++) {
        for (int to = 0; to < SIZES; to++) {
            for (int place = 0; place < 3; place++) {
                lab_malloc(A, 100);
                lab_malloc(B, sizes[from]);
                if (place > 0)
                    lab_malloc(C, place == 1 ? 100 : LAB_LARGE);
                if (place == 2) {
                    lab_malloc(D, 100);
                    lab_free(C);
                }
                lab_realloc(B, sizes[to]);
                lab_free_all();
            }
        }
    }
}

Test(payload, realloc_one_byte_at_a_time)
{
    lab_malloc(A, 0);
    lab_malloc(B, 100);
    for (size_t bytes = 1; bytes <= 1200; bytes++)
        lab_realloc(A, bytes);
    for (size_t bytes = 1200; bytes >= 1; bytes--)
        lab_realloc(A, bytes);
}

/* Two buffers that grow in turn, as two vectors do. */
Test(payload, realloc_in_turn)
{
    for (size_t bytes = 16; bytes <= 16384; bytes += bytes / 2) {
        lab_realloc(A, bytes);
        lab_realloc(B, bytes);
    }
    lab_free(A);
    lab_realloc(B, 20000);
    lab_free(B);
}

Test(payload, usable_size_belongs_to_the_caller)
{
    /* lab_malloc() writes all of it, then checks the heap; here it must not be wasteful either. */
    for (size_t bytes = 0; bytes < 2000; bytes += 13) {
        lab_malloc(A, bytes);
        size_t usable = front_usable_size(&mm_allocator, lab_payload(A));
        size_t block = lab_block_bytes(A);
        lab_require(usable + mm_allocator.header_bytes <= block,
            "a block of %zu bytes cannot have %zu usable ones", block, usable);
        lab_require(block <= bytes + mm_allocator.header_bytes + (bytes < 1024 ? 64 : bytes / 8),
            "%zu bytes for a payload of %zu: too many", block, bytes);
        lab_free(A);
    }
}
