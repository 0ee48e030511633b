/* contract.c - what malloc promises, row by row of docs/contract.md. */
#include "lab.h"

TestSuite(contract, .init = lab_begin, .timeout = 120);

/* Sizes that no allocator can serve: over PTRDIFF_MAX, and those that wrap around when rounded up. */
static const size_t TOO_LARGE[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 8, SIZE_MAX - 15, SIZE_MAX - 16,
    SIZE_MAX - 47, SIZE_MAX - 48, SIZE_MAX - 4096, SIZE_MAX / 2 + 2, (size_t)PTRDIFF_MAX + 1};
enum { TOO_LARGE_COUNT = sizeof TOO_LARGE / sizeof *TOO_LARGE };

/* Some blocks in use, some free, so that a refusal has something to spoil. */
static void some_blocks(void)
{
    lab_malloc(A, 100);
    lab_malloc(B, LAB_LARGE);
    lab_malloc(C, 100);
    lab_malloc(D, LAB_LARGE);
    lab_malloc(E, 100);
    lab_free(B);
    lab_free(C);
    lab_may_run_out(true);
}

/* The heap still serves: a refusal must not be the end. */
static void still_usable(void)
{
    lab_may_run_out(false);
    lab_malloc(G, 200);
    lab_free_all();
}

Test(contract, malloc_0_is_a_block_of_its_own)
{
    char *a = lab_malloc(A, 0), *b = lab_malloc(B, 0), *c = lab_malloc(C, 100);
    lab_require(a != b && a != c && b != c, "two calls of malloc(0) must return two different pointers");
    lab_free(A);
    lab_free(C);
    lab_free(B);
}

Test(contract, free_null_does_nothing)
{
    lab_free(A);
    lab_malloc(A, 100);
    lab_free(B);
}

Test(contract, free_keeps_errno)
{
    for (size_t bytes = 0; bytes < 5000; bytes += 700) {
        lab_malloc(A, bytes);
        lab_free(A); /* checks it, as every lab_free() does */
    }
}

Test(contract, realloc_null_is_malloc)
{
    lab_realloc(A, 100);
    lab_realloc(B, 0);
    lab_require(lab_payload(B) != NULL, "realloc(NULL, 0) is malloc(0): not NULL");
    lab_free(A);
    lab_free(B);
}

Test(contract, realloc_to_0_frees)
{
    lab_malloc(A, LAB_LARGE);
    lab_malloc(B, LAB_LARGE);
    lab_realloc(A, 0);
    lab_realloc(B, 0);
    lab_require(lab_blocks(MM_USED) == 0, "realloc(p, 0) frees p: no block may be left in use");
}

Test(contract, malloc_refuses_what_is_too_large)
{
    some_blocks();
    for (size_t i = 0; i < TOO_LARGE_COUNT; i++)
        lab_require(
            lab_malloc(F, TOO_LARGE[i]) == NULL, "malloc(%zu) is more than PTRDIFF_MAX", TOO_LARGE[i]);
    still_usable();
}

Test(contract, malloc_refuses_what_memory_cannot_hold)
{
    some_blocks();
    size_t heap_bytes = memory.bytes;
    for (size_t bytes = MM_MAX_PAYLOAD - 100; bytes <= MM_MAX_PAYLOAD; bytes++)
        lab_require(lab_malloc(F, bytes) == NULL, "no machine has %zu bytes", bytes);
    for (size_t bytes = (size_t)1 << 62; bytes >= (size_t)1 << 48; bytes /= 2)
        lab_require(lab_malloc(F, bytes) == NULL, "no machine has %zu bytes", bytes);
    lab_require(memory.bytes == heap_bytes, "a refusal must leave the heap as large as it was");
    still_usable();
}

Test(contract, realloc_that_fails_keeps_the_block)
{
    some_blocks();
    for (size_t i = 0; i < TOO_LARGE_COUNT; i++) {
        lab_require(lab_realloc(A, TOO_LARGE[i]) == NULL, "%zu bytes are over PTRDIFF_MAX", TOO_LARGE[i]);
        lab_require(lab_realloc(F, TOO_LARGE[i]) == NULL, "%zu bytes are over PTRDIFF_MAX", TOO_LARGE[i]);
    }
    lab_require(lab_realloc(A, MM_MAX_PAYLOAD) == NULL, "no machine has %zu bytes", MM_MAX_PAYLOAD);
    lab_require(lab_realloc(E, MM_MAX_PAYLOAD) == NULL, "no machine has %zu bytes", MM_MAX_PAYLOAD);
    lab_require(lab_payload(A) != NULL && lab_payload(E) != NULL, "the old block stays");
    still_usable();
}

Test(contract, calloc_refuses_a_product_that_overflows)
{
    static const size_t factors[][2] = {{SIZE_MAX / 2 + 1, 2}, {2, SIZE_MAX / 2 + 1}, {SIZE_MAX, SIZE_MAX},
        {(size_t)1 << 32, (size_t)1 << 32}, {SIZE_MAX / 16 + 2, 16}, {3, SIZE_MAX / 3 + 1}, {1, SIZE_MAX},
        {(size_t)1 << 60, 32}, {SIZE_MAX / 2, 2}};
    some_blocks();
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        lab_require(lab_calloc(F, factors[i][0], factors[i][1]) == NULL,
            "calloc(%zu, %zu) must return NULL: the product does not fit", factors[i][0], factors[i][1]);
    still_usable();
}

Test(contract, reallocarray_refuses_a_product_that_overflows)
{
    some_blocks();
    errno = 0;
    void *moved = front_realloc(&mm_allocator, lab_payload(A), front_product(SIZE_MAX / 2 + 1, 2));
    lab_require(moved == NULL && errno == ENOMEM,
        "reallocarray(A, 2^63, 2) must return NULL, with ENOMEM: the product does not fit");
    lab_check();
    moved = front_realloc(&mm_allocator, NULL, front_product(SIZE_MAX, 3));
    lab_require(moved == NULL, "reallocarray(NULL, 2^64-1, 3) must return NULL: the product does not fit");
    still_usable();
}

Test(contract, reallocarray_multiplies)
{
    lab_malloc(A, 100);
    lab_note("p = reallocarray(NULL, 30, 7)");
    char *moved = front_realloc(&mm_allocator, NULL, front_product(30, 7));
    lab_require(moved != NULL && front_usable_size(&mm_allocator, moved) >= 210, "30 times 7 bytes: 210");
    memset(moved, 1, 210);
    lab_note("p = reallocarray(p, 300, 7)");
    moved = front_realloc(&mm_allocator, moved, front_product(300, 7));
    lab_require(moved != NULL && moved[0] == 1 && moved[209] == 1, "reallocarray keeps the bytes");
    lab_note("free(p)");
    front_free(&mm_allocator, moved);
    lab_check();
}

Test(contract, calloc_of_nothing_can_be_freed)
{
    lab_calloc(A, 0, 100);
    lab_calloc(B, 100, 0);
    lab_require(lab_payload(A) != NULL && lab_payload(B) != NULL, "calloc of 0 bytes is malloc(0): not NULL");
    lab_free_all();
}

Test(contract, calloc_zeroes_memory_that_is_reused)
{
    for (size_t bytes = 1; bytes < 3000; bytes += bytes < 100 ? 1 : 97) {
        lab_malloc(A, bytes); /* filled by the lab */
        lab_malloc(B, bytes);
        lab_free(A);
        lab_calloc(C, 1, bytes);
        lab_calloc(D, bytes, 1);
        lab_free(B);
        lab_free(C);
        lab_calloc(A, 2, bytes); /* in merged memory, with old headers in its middle */
        lab_free_all();
    }
}

Test(contract, aligned_alloc_aligns)
{
    int name = 0;
    for (size_t alignment = 1; alignment <= 65536; alignment *= 2) {
        for (size_t bytes = 0; bytes < 300; bytes += 99)
            lab_aligned_alloc(name++, alignment, bytes);
        lab_aligned_alloc(name++, alignment, 3 * alignment);
    }
    lab_free_all();
    lab_require(lab_blocks(MM_USED) == 0, "all of it can be freed");
}

Test(contract, aligned_memory_is_like_any_other)
{
    lab_aligned_alloc(A, 256, 100);
    lab_malloc(B, 100);
    lab_realloc(A, 50);
    lab_realloc(A, 5000);
    lab_realloc(A, 10);
    lab_aligned_alloc(C, 4096, LAB_LARGE);
    lab_realloc(C, 2 * LAB_LARGE);
    lab_free_all();
}

Test(contract, aligned_alloc_refuses_what_is_no_power_of_two)
{
    static const size_t alignments[] = {0, 3, 6, 12, 24, 48, 100, 4095, 4097, SIZE_MAX};
    some_blocks();
    for (size_t i = 0; i < sizeof alignments / sizeof *alignments; i++) {
        errno = 0;
        void *payload = front_aligned_alloc(&mm_allocator, alignments[i], 100);
        lab_require(payload == NULL && errno == EINVAL,
            "aligned_alloc(%zu, 100) must return NULL, with EINVAL", alignments[i]);
    }
    lab_check();
    still_usable();
}

Test(contract, aligned_alloc_refuses_what_is_too_large)
{
    some_blocks();
    for (size_t alignment = 16; alignment <= (size_t)1 << 20; alignment *= 16)
        for (size_t i = 0; i < TOO_LARGE_COUNT; i++)
            lab_require(lab_aligned_alloc(F, alignment, TOO_LARGE[i]) == NULL,
                "aligned_alloc(%zu, %zu) is over PTRDIFF_MAX", alignment, TOO_LARGE[i]);
    for (size_t alignment = (size_t)1 << 63; alignment >= (size_t)1 << 48; alignment /= 2)
        lab_require(lab_aligned_alloc(F, alignment, 100) == NULL, "no machine can align to %zu", alignment);
    for (size_t bytes = MM_MAX_PAYLOAD - 200; bytes <= MM_MAX_PAYLOAD; bytes += 25)
        lab_require(lab_aligned_alloc(F, 64, bytes) == NULL, "no machine has %zu bytes", bytes);
    still_usable();
}

Test(contract, posix_memalign_answers_with_its_result)
{
    void *const mark = &mm_counts;
    void *out = mark;
    errno = EXDEV;
    static const size_t wrong[] = {0, 1, 2, 4, 7, 24, 100};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        lab_require(front_posix_memalign(&mm_allocator, &out, wrong[i], 100) == EINVAL,
            "posix_memalign with alignment %zu must return EINVAL", wrong[i]);
    lab_require(front_posix_memalign(&mm_allocator, &out, 64, SIZE_MAX) == ENOMEM,
        "posix_memalign of 2^64-1 bytes must return ENOMEM");
    lab_require(out == mark, "a posix_memalign that fails must leave the caller's pointer alone");
    lab_require(errno == EXDEV, "posix_memalign must leave errno alone");
    lab_require(front_posix_memalign(&mm_allocator, &out, 64, 100) == 0,
        "posix_memalign with alignment 64 must return 0");
    lab_require(is_aligned(out, 64), "aligned to 64");
    front_free(&mm_allocator, out);
}

Test(contract, usable_size_of_null_is_0)
{
    lab_require(front_usable_size(&mm_allocator, NULL) == 0, "malloc_usable_size(NULL) is 0");
}

Test(contract, success_leaves_errno_alone)
{
    errno = EXDEV;
    lab_note("p = malloc(100)");
    void *p = front_malloc(&mm_allocator, 100);
    lab_note("p = realloc(p, 100000)");
    p = front_realloc(&mm_allocator, p, 100000);
    lab_note("calloc(10, 1000)");
    void *q = front_calloc(&mm_allocator, 10, 1000);
    lab_require(
        errno == EXDEV, "a call that succeeds has no error to report, also when the heap grew for it");
    front_free(&mm_allocator, p);
    front_free(&mm_allocator, q);
}
