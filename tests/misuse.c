/* misuse.c - one test for each crime: what the stage says of it, to the letter, and that it ends the program. */
#include "lab.h"
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

TestSuite(misuse, .init = lab_begin, .timeout = 120);

/* ---- The crimes: set the victim, then commit one ---- */

static void *victim;

static void free_it(void) { front_free(&mm_allocator, victim); }
static void realloc_it(void) { front_realloc(&mm_allocator, victim, 100); }
static void measure_it(void) { front_usable_size(&mm_allocator, victim); }
static void malloc_more(void) { front_malloc(&mm_allocator, 100); }
static void calloc_more(void) { front_calloc(&mm_allocator, 10, 10); }
static void aligned_alloc_more(void) { front_aligned_alloc(&mm_allocator, 64, 100); }

struct crime {
    void (*commit)(void);
    const char *call; /* as the report names it */
};

/* What takes a pointer. */
static const struct crime WITH_POINTER[] = {
    {free_it, "free"}, {realloc_it, "realloc"}, {measure_it, "malloc_usable_size"}};
enum { WITH_POINTER_COUNT = sizeof WITH_POINTER / sizeof *WITH_POINTER };

/* ---- The verdict ---- */

/* The report is "alloclab: " + this + "; see docs/faults.md", and the process aborts. */
static void __attribute__((format(printf, 2, 3))) expect(struct lab_report report, const char *format, ...)
{
    char words[512], expected[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    snprintf(expected, sizeof expected, "alloclab: %s; see docs/faults.md\n", words);
    lab_require(report.signal != 0, "the crime went unnoticed; the stage should say\n  %s", expected);
    lab_require(strcmp(report.text, expected) == 0, "the stage should say\n  %sbut it says\n  %s", expected,
        report.text[0] == '\0' ? "(nothing)" : report.text);
    lab_require(report.signal == SIGABRT, "a report ends in abort(), here in signal %d", report.signal);
}

/* "at offset 48 (address 0x...), in the free block at offset 8 of 64 bytes" */
static const char *place(const void *p, char text[160])
{
    static const char *const states[] = {"used", "free", "free (in a quick bin)"};
    struct layout now = {0};
    layout_take(&now);
    const struct layout_block *b = layout_block_of(&now, p);
    int n = snprintf(text, 160, "at offset %zu (address 0x...)", memory_offset(p));
    if (b != NULL)
        snprintf(text + n, (size_t)(160 - n), ", in the %s block at offset %zu of %zu bytes",
            states[b->block.state], b->block.offset, b->block.block_bytes);
    layout_drop(&now);
    return text;
}

/* ---- E01: double free ---- */

static void expect_double_free(void *p, const char *what)
{
    char text[160];
    victim = p;
    for (size_t i = 0; i < WITH_POINTER_COUNT; i++)
        expect(lab_commit(WITH_POINTER[i].commit), "E01 %s: %s already (double free): %s",
            WITH_POINTER[i].call, what, place(p, text));
}

Test(misuse, double_free)
{
    for (size_t bytes = 1; bytes < 10000; bytes *= 10) {
        lab_malloc(A, 100);
        lab_malloc(B, bytes);
        lab_malloc(C, 100);
        void *p = lab_payload(B);
        lab_free(B);
        expect_double_free(p, "this block is free");
        lab_free_all();
    }
}

Test(misuse, double_free_of_the_last_block)
{
    lab_malloc(A, LAB_LARGE);
    void *p = lab_payload(A);
    lab_free(A);
    expect_double_free(p, "this block is free");
}

Test(misuse, double_free_with_other_calls_between)
{
    lab_malloc(A, LAB_LARGE);
    lab_malloc(B, LAB_LARGE);
    lab_malloc(C, LAB_LARGE);
    void *p = lab_payload(A);
    lab_free(A);
    lab_malloc(D, 4 * LAB_LARGE);
    lab_free(C);
    lab_realloc(B, 10);
    expect_double_free(p, "this block is free");
}

Test(misuse, double_free_after_realloc_moved_the_block)
{
    lab_malloc(A, LAB_LARGE);
    lab_malloc(B, 100);
    void *p = lab_payload(A);
    lab_realloc(A, 8 * LAB_LARGE);
    expect_double_free(p, "this block is free");
}

/* What was a block is the middle of a larger free one now. */
Test(misuse, double_free_after_merging)
{
    if (mm_allocator.header_bytes == 0)
        cr_skip("small blocks do not merge one by one");
    lab_malloc(A, LAB_LARGE);
    lab_malloc(B, LAB_LARGE);
    lab_malloc(C, LAB_LARGE);
    lab_malloc(D, 100);
    void *a = lab_payload(A), *b = lab_payload(B), *c = lab_payload(C);
    lab_free(A);
    lab_free(B);
    expect_double_free(b, "this is free memory");
    lab_free(C);
    expect_double_free(c, "this is free memory");
    expect_double_free(a, "this block is free");
}

/* ---- E02: inside a block ---- */

Test(misuse, pointer_into_a_block)
{
    if (!mm_allocator.detects_inside_block)
        cr_skip("this stage cannot tell");
    char text[160];
    lab_malloc(A, 1000);
    lab_malloc(B, LAB_LARGE);
    for (size_t offset = 16; offset < 1000; offset += 16 * 13) {
        victim = (char *)lab_payload(A) + offset;
        for (size_t i = 0; i < WITH_POINTER_COUNT; i++)
            expect(lab_commit(WITH_POINTER[i].commit),
                "E02 %s: pointer into a block, not to its payload's start: %s", WITH_POINTER[i].call,
                place(victim, text));
    }
}

Test(misuse, pointer_to_the_heaps_first_byte)
{
    if (mm_allocator.header_bytes == 0)
        cr_skip("the first byte is a payload's");
    char text[160];
    lab_malloc(A, 100);
    victim = memory.start;
    expect(lab_commit(free_it), "E02 free: pointer into a block, not to its payload's start: %s",
        place(victim, text));
}

/* ---- E03: outside the heap ---- */

static void expect_outside(void *p)
{
    victim = p;
    for (size_t i = 0; i < WITH_POINTER_COUNT; i++)
        expect(lab_commit(WITH_POINTER[i].commit),
            "E03 %s: pointer outside the heap, malloc never returned it: address 0x..., the heap is 0x... "
            "and %zu "
            "bytes",
            WITH_POINTER[i].call, memory.bytes);
}

/* The header that such a pointer would have wraps around to the end of the address space. */
static void expect_outside_space(void *p)
{
#ifndef LAB_SANITIZED /* a pointer may not wrap around, says UBSan; here it is a caller's mistake, and harmless */
    expect_outside(p);
#else
    (void)p;
#endif
}

Test(misuse, pointer_outside_the_heap)
{
    static _Alignas(16) char global[64];
    _Alignas(16) char local[64];
    lab_malloc(A, 100);
    expect_outside(global + 32);
    expect_outside(local + 32);
    expect_outside_space((void *)16);
    expect_outside((void *)~(uintptr_t)15);
    expect_outside(memory.start - 16);
    expect_outside(memory.start - 4096);
    expect_outside(memory.start + memory.bytes);
    expect_outside(memory.start + memory.bytes + 16);
    expect_outside(memory.start + memory.bytes + 48);
    expect_outside(memory.start + memory.bytes + 4096);
}

Test(misuse, pointer_when_there_is_no_heap)
{
    static _Alignas(16) char global[64];
    expect_outside(global + 32);
    expect_outside_space((void *)16);
    lab_malloc(A, 100);
    void *p = lab_payload(A);
    lab_begin();
    expect_outside(p);
}

/* ---- E04: misaligned ---- */

Test(misuse, misaligned_pointer)
{
    char text[160];
    lab_malloc(D, 1000); /* else a - 1 could be outside the heap */
    lab_malloc(A, 1000);
    lab_malloc(B, LAB_LARGE);
    lab_malloc(C, 100);
    char *a = lab_payload(A), *b = lab_payload(B);
    lab_free(B);
    char *const pointers[] = {a + 1, a + 8, a + 15, a - 1, a - 8, a + 500, b + 8, memory.start + 8};
    for (size_t p = 0; p < sizeof pointers / sizeof *pointers; p++) {
        victim = pointers[p];
        for (size_t i = 0; i < WITH_POINTER_COUNT; i++)
            expect(lab_commit(WITH_POINTER[i].commit),
                "E04 %s: pointer not aligned to 16, malloc never returned it: %s", WITH_POINTER[i].call,
                place(victim, text));
    }
}

/* ---- E05: a damaged heap ---- */

/* The damage is done: what check() finds is what the calls must say. */
static void expect_damage(const struct crime *crimes, size_t count)
{
    struct mm_fault fault = mm_allocator.check();
    lab_require(fault.invariant != 0, "check() finds no fault in a heap that was overwritten");
    for (size_t i = 0; i < count; i++)
        expect(lab_commit(crimes[i].commit),
            "E05 %s: the heap is damaged, as if a payload had been overrun: the block at offset %zu (address "
            "0x...) "
            "breaks I%d, %s",
            crimes[i].call, fault.offset, fault.invariant, fault.what);
}

/* A writes this much past its end, over the header of B. C is the victim of the next call. */
static size_t overrun(size_t bytes)
{
    lab_malloc(A, LAB_LARGE);
    lab_malloc(B, LAB_LARGE);
    lab_malloc(C, LAB_LARGE);
    char *end = (char *)lab_payload(A) + front_usable_size(&mm_allocator, lab_payload(A));
    lab_require(
        (char *)lab_payload(B) - end == (ptrdiff_t)mm_allocator.header_bytes, "B's header is behind A");
    victim = lab_payload(C);
    memset(end, 0x5a, bytes);
    return (size_t)(end - memory.start);
}

static const struct crime ANY_CALL[] = {{free_it, "free"}, {realloc_it, "realloc"},
    {measure_it, "malloc_usable_size"}, {malloc_more, "malloc"}, {calloc_more, "malloc"},
    {aligned_alloc_more, "aligned_alloc"}};
enum { ANY_CALL_COUNT = sizeof ANY_CALL / sizeof *ANY_CALL };

Test(misuse, overrun_over_the_size_is_seen_by_any_call)
{
    if (!mm_allocator.detects_damage)
        cr_skip("this stage cannot tell");
    size_t header = overrun(8);
    struct mm_fault fault = mm_allocator.check();
    lab_require(fault.invariant != 0 && fault.offset == header, "the fault is at offset %zu, not at %zu",
        header, fault.offset);
    expect_damage(ANY_CALL, ANY_CALL_COUNT);
}

Test(misuse, overrun_over_a_header_is_seen_by_any_call)
{
    if (!mm_allocator.detects_damage)
        cr_skip("this stage cannot tell");
    overrun(mm_allocator.header_bytes);
    expect_damage(ANY_CALL, ANY_CALL_COUNT);
}

/* Without validation a header with a magic number is looked at when its block is given back. */
Test(misuse, overrun_over_a_header_is_seen_when_the_block_is_freed)
{
    if (!mm_allocator.detects_inside_block || mm_allocator.header_bytes == 0)
        cr_skip("this stage cannot tell");
    overrun(mm_allocator.header_bytes);
    victim = lab_payload(B);
    expect_damage(WITH_POINTER, WITH_POINTER_COUNT);
}

/* A freed block's payload holds the links of the free list. */
Test(misuse, write_after_free_is_seen_by_any_call)
{
    if (!mm_allocator.detects_damage || mm_allocator.walk_lists == NULL)
        cr_skip("this stage cannot tell");
    lab_malloc(A, LAB_LARGE);
    lab_malloc(B, LAB_LARGE);
    char *a = lab_payload(A);
    victim = lab_payload(B);
    lab_free(A);
    memset(a, 0x5a, 16);
    expect_damage(ANY_CALL, ANY_CALL_COUNT);
}

/* ---- The report itself ---- */

static void free_it_with_stderr_closed(void)
{
    close(STDERR_FILENO);
    free_it();
}

Test(misuse, a_report_that_nobody_can_read_still_aborts)
{
    lab_malloc(A, 100);
    victim = (char *)lab_payload(A) + 1;
    struct lab_report report = lab_commit(free_it_with_stderr_closed);
    lab_require(report.signal == SIGABRT && report.text[0] == '\0', "it must abort all the same");
}

static void do_nothing_wrong(void)
{
    void *p = front_malloc(&mm_allocator, 100);
    p = front_realloc(&mm_allocator, p, 10000);
    front_free(&mm_allocator, p);
    front_free(&mm_allocator, NULL);
    front_free(&mm_allocator, victim);
}

Test(misuse, no_crime_no_report)
{
    lab_malloc(A, 100);
    victim = lab_payload(A);
    struct lab_report report = lab_commit(do_nothing_wrong);
    lab_require(report.signal == 0 && report.text[0] == '\0',
        "malloc, realloc, free, free(NULL), free(A): nothing was wrong, but the process ended with signal "
        "%d%s%s",
        report.signal, report.text[0] == '\0' ? "" : " and the stage said\n  ", report.text);
}
