/* memory.c - the memory source, and what stages do when it refuses. */
#include "lab.h"
#include <stdlib.h>
#include <sys/resource.h>

TestSuite(memory, .init = lab_begin, .timeout = 120);

/* ---- The source ---- */

static bool is_zero(const char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != 0)
            return false;
    return true;
}

Test(memory, the_heap_grows_in_one_piece)
{
    char *first = memory_grow(4096), *second = memory_grow(48), *third = memory_grow((size_t)3 << 20);
    lab_require(is_aligned(first, 4096), "the heap starts at a page");
    lab_require(second == first + 4096 && third == second + 48, "each part starts where the last one ended");
    lab_require(
        memory.start == first && memory.bytes == 4096 + 48 + ((size_t)3 << 20), "its size is the sum");
    lab_require(memory.growths == 3 && memory.attempts == 3, "three growths");
    lab_require(is_zero(first, memory.bytes), "fresh memory is zero");
    memset(first, 1, memory.bytes);
}

Test(memory, reset_empties_the_heap_and_zeroes_it)
{
    for (size_t bytes = 4096; bytes <= (size_t)4 << 20; bytes *= 32) {
        char *start = memory_grow(bytes);
        memset(start, 1, bytes);
        memory_reset();
        lab_require(memory.bytes == 0 && memory.peak_bytes == 0 && memory.attempts == 0, "nothing is left");
        lab_require(memory_grow(bytes) == start && is_zero(start, bytes), "the same memory, and zero");
        memory_reset();
    }
}

Test(memory, a_limit_is_kept_to_the_byte)
{
    memory_set_limit(8192);
    lab_require(memory_grow(8192 + 16) == NULL && errno == ENOMEM, "more than the limit: NULL and ENOMEM");
    lab_require(
        memory.bytes == 0 && memory.growths == 0 && memory.attempts == 1, "a refusal changes nothing");
    errno = 0;
    lab_require(memory_grow(8192) != NULL && errno == 0, "up to the limit");
    lab_require(memory_grow(16) == NULL, "no more");
    memory_set_limit(SIZE_MAX);
    lab_require(memory_grow(16) != NULL, "no limit any more");
    memory_set_limit(16);
    memory_reset();
    lab_require(memory_grow(4096) != NULL, "a reset lifts the limit");
}

Test(memory, one_growth_can_be_made_to_fail)
{
    for (size_t k = 1; k <= 5; k++) {
        memory_reset();
        memory_grow(16);
        memory_fail_growth(k);
        for (size_t i = 1; i <= 7; i++)
            lab_require((memory_grow(16) == NULL) == (i == k),
                "of seven growths the %zu-th fails, not the %zu-th", k, i);
    }
    memory_fail_growth(2);
    memory_fail_growth(0);
    lab_require(memory_grow(16) != NULL && memory_grow(16) != NULL && memory_grow(16) != NULL, "none fails");
}

Test(memory, no_growth_wraps_around)
{
    memory_grow(4096);
    static const size_t sizes[] = {
        SIZE_MAX - 15, SIZE_MAX - 4095, (size_t)1 << 63, (size_t)1 << 62, (size_t)1 << 48};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        lab_require(memory_grow(sizes[i]) == NULL && errno == ENOMEM, "no machine has %zu bytes", sizes[i]);
    lab_require(memory.bytes == 4096, "the heap is as it was");
}

Test(memory, released_pages_read_as_zero)
{
    char *start = memory_grow(16 * 4096);
    memset(start, 1, 16 * 4096);
    errno = EXDEV;
    lab_require(memory_release(start + 4096, 8 * 4096), "the system takes whole pages");
    lab_require(errno == EXDEV, "errno stays");
    lab_require(is_zero(start + 4096, 8 * 4096), "what was released reads as zero");
    lab_require(start[4095] == 1 && start[9 * 4096] == 1, "what lies around it stays");
    lab_require(memory.bytes == 16 * 4096, "the heap is as large as it was");
    memset(start, 2, 16 * 4096);
    lab_require(!memory_release(start + 1, 4096) && start[1] == 2 && errno == EXDEV, "no page starts there");
}

/* Something for each MiB that the heap can ever have, wherever the heap ends. */
Test(memory, a_table_is_apart_from_the_heap)
{
    enum { UNIT = 1 << 20 };
    uint64_t *table = memory_table(UNIT, sizeof *table);
    lab_require(table != NULL && memory.bytes == 0 && !memory_contains(table), "no part of the heap");
    char *heap = memory_grow((size_t)8 << 20);
    for (size_t i = 0; i <= memory.bytes / UNIT; i++) {
        lab_require(table[i] == 0, "zero at first");
        table[i] = i;
    }
    lab_require(is_zero(heap, memory.bytes), "the heap is none of its business");
    errno = 0;
    lab_require(
        memory_table(16, (size_t)1 << 20) == NULL && errno == ENOMEM, "no machine has room for such a table");
}

Test(memory, contains_knows_the_heaps_ends)
{
    lab_require(!memory_contains(&memory) && !memory_contains(NULL), "outside");
    char *start = memory_grow(4096);
    lab_require(memory_contains(start) && memory_contains(start + 4095), "the first byte and the last");
    lab_require(!memory_contains(start - 1) && !memory_contains(start + 4096), "the bytes around");
    lab_require(memory_offset(start + 100) == 100, "an offset counts from the start");
}

#ifndef LAB_SANITIZED /* AddressSanitizer needs a lot of address space itself */

/* In a process of its own, in which nothing is reserved yet. The hard limit stays, so that it can be lifted. */
static void set_limit(int resource, rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(resource, &limit);
    limit.rlim_cur = bytes == RLIM_INFINITY ? limit.rlim_max : bytes;
    setrlimit(resource, &limit);
}

static void must(bool holds)
{
    if (!holds)
        abort();
}

/* A system that has little address space to give (ulimit -v) gives what it has. */
static void grow_in_1_gib(void)
{
    set_limit(RLIMIT_AS, (rlim_t)1 << 30);
    must(memory_grow(4096) != NULL && memory_grow((size_t)8 << 20) != NULL);
    memset(memory.start, 1, memory.bytes);
    errno = 0;
    must(memory_grow((size_t)2 << 30) == NULL && errno == ENOMEM);
    set_limit(RLIMIT_AS, RLIM_INFINITY);
}

static void grow_in_nothing(void)
{
    set_limit(RLIMIT_AS, 0);
    errno = 0;
    must(memory_grow(4096) == NULL && errno == ENOMEM && memory.bytes == 0);
    must(front_malloc(&mm_allocator, 100) == NULL);
    set_limit(RLIMIT_AS, RLIM_INFINITY);
    must(front_malloc(&mm_allocator, 100) != NULL);
}

/* Address space there is, but no memory behind it. */
static void grow_without_data(void)
{
    must(memory_grow(4096) != NULL);
    set_limit(RLIMIT_DATA, 4096); /* not 0: Linux then takes the hard limit, for the sake of Valgrind */
    errno = 0;
    must(memory_grow((size_t)8 << 20) == NULL && errno == ENOMEM && memory.bytes == 4096);
    set_limit(RLIMIT_DATA, RLIM_INFINITY);
    must(memory_grow((size_t)8 << 20) != NULL);
}

Test(memory, little_address_space_is_enough)
{
    lab_require(lab_commit(grow_in_1_gib).signal == 0, "a heap of 8 MiB with 1 GiB of address space");
}

Test(memory, no_address_space_is_no_crash)
{
    lab_require(lab_commit(grow_in_nothing).signal == 0, "NULL while there is no address space, then a heap");
}

Test(memory, no_memory_behind_the_address_space)
{
    lab_require(
        lab_commit(grow_without_data).signal == 0, "NULL while no page can be had, then the heap grows");
}

#endif

/* ---- Stages without memory ---- */

enum { ROUNDS = 60, WHOLE = LAB_NAMES - 1 };

/* Operations of each kind that make the heap grow again and again. */
static void work(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        size_t bytes = (size_t)(i * 997 % 3000);
        if (i % 5 == 0)
            lab_calloc(i, 3, bytes);
        else if (i % 5 == 1)
            lab_aligned_alloc(i, 64, bytes);
        else
            lab_malloc(i, bytes);
        if (i % 3 == 2)
            lab_realloc(i - 1, 4 * bytes + 1);
        if (i % 4 == 3)
            lab_free(i - 2);
        if (i % 10 == 9)
            lab_realloc(i, 9000); /* the last block, or near it */
    }
}

/* Everything was freed: then the heap can be had as one block, without growing. */
static void nothing_was_lost(void)
{
    lab_free_all();
    memory_set_limit(memory.bytes);
    lab_note("(all is free, the heap has %zu bytes and may not grow)", memory.bytes);
    lab_malloc(WHOLE, memory.bytes - mm_allocator.header_bytes - MM_ALIGNMENT);
    lab_free(WHOLE);
    memory_set_limit(SIZE_MAX);
}

Test(memory, every_growth_may_fail)
{
    size_t attempts = SIZE_MAX;
    for (size_t k = 1; k <= attempts; k++) {
        lab_begin(); /* and the time starts anew */
        memory_fail_growth(k);
        lab_may_run_out(true);
        work();
        attempts = memory.attempts;
        lab_may_run_out(false);
        nothing_was_lost();
        if (k % 8 == 1) {
            work();
            nothing_was_lost();
        }
    }
    lab_require(attempts > 10, "the heap grew %zu times only: this test tests nothing", attempts);
}

/* As many blocks as fit, three times over. */
static int fill_up(size_t bytes)
{
    int count = 0;
    lab_may_run_out(true);
    while (lab_malloc(count, bytes) != NULL)
        count++;
    lab_may_run_out(false);
    return count;
}

Test(memory, a_full_heap_can_be_filled_again)
{
    static const size_t sizes[] = {1, 100, 2000, 5000};
    bool units = mm_allocator.header_bytes == 0; /* of 16 KiB: they hold many small blocks */
    for (size_t i = units ? 1 : 0; i < sizeof sizes / sizeof *sizes; i++) {
        lab_begin();
        size_t limit = units ? 32768 : 8192 + 8 * sizes[i] / 16 * 16;
        memory_set_limit(limit);
        int first = fill_up(sizes[i]);
        lab_require(first > 3, "%zu bytes have room for more than %d blocks of %zu", limit, first, sizes[i]);
        for (int round = 0; round < 2; round++) {
            for (int name = 0; name < first; name += 2)
                lab_free(name);
            lab_free_all();
            int again = fill_up(sizes[i]);
            lab_require(again >= first, "first there was room for %d blocks of %zu bytes, now for %d", first,
                sizes[i], again);
        }
        lab_free_all();
        nothing_was_lost();
    }
}

Test(memory, realloc_in_a_full_heap)
{
    memory_set_limit(mm_allocator.header_bytes == 0 ? 65536 : 32768);
    int count = fill_up(1000);
    lab_may_run_out(true);
    for (int name = 0; name < count; name += 3) {
        lab_require(lab_realloc(name, 20000) == NULL, "a full heap has no room for 20000 bytes");
        lab_realloc(name, 500);
        lab_realloc(name, 900);
    }
    lab_require(lab_calloc(count, 1, 20000) == NULL, "a full heap has no room for 20000 bytes");
    lab_require(lab_aligned_alloc(count, 256, 20000) == NULL, "a full heap has no room for 20000 bytes");
    lab_may_run_out(false);
    lab_free_all();
    lab_malloc(A, 20000);
    lab_realloc(A, 30000);
}

/* What the heap grew by is zero already; what lies before it may not be. */
Test(memory, calloc_across_the_old_end_of_the_heap)
{
    for (size_t bytes = 16; bytes < 40000; bytes += bytes / 3 + 16) {
        lab_begin();
        lab_malloc(A, 3000);
        lab_malloc(B, 3000);
        lab_use_up(C);
        lab_free_all(); /* all of the heap was written to */
        lab_malloc(A, 3000);
        lab_calloc(B, 1, bytes);
        lab_calloc(C, 2, bytes);
        lab_free_all();
    }
}
