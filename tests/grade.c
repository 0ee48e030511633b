/*
 * grade.c - whether a stage's table and counters tell the truth, since grades rest on them. Only `make grade` links it.
 *
 * The stage counts its own work, so a stage that does not count looks fast. Memory protection counts too: every block
 * has a page of its own, all are out of reach, and each first touch faults. Who looks at a block touches its page.
 */
#define _DEFAULT_SOURCE /* sigaction, mprotect */
#include "lab.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    PAGE_BYTES = 4096,
    BLOCKS = 500,
    /* Pages of the blocks that a call works on and of their neighbours, which need not be counted. */
    UNCOUNTED = 12,
};

TestSuite(honest, .init = lab_begin, .timeout = 60);

static volatile sig_atomic_t touched;

static void on_touch(int signal, siginfo_t *info, void *context)
{
    (void)context;
    size_t offset = memory_offset(info->si_addr);
    if (!memory_contains(info->si_addr) ||
        mprotect(memory.start + offset / PAGE_BYTES * PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE) != 0) {
        struct sigaction usual = {.sa_handler = SIG_DFL};
        sigaction(signal, &usual, NULL);
        return; /* to the same fault again, which is a crash */
    }
    touched++;
}

static void protect_heap(int protection) { mprotect(memory.start, memory.bytes, protection); }

/* The call is over: were as many blocks counted as pages were touched? */
static void expect_counted(const char *call)
{
    protect_heap(PROT_READ | PROT_WRITE);
    unsigned long long counted = mm_counts.searched + mm_counts.validated;
    lab_require((unsigned long long)touched <= counted + UNCOUNTED,
        "%s touched %d pages in a heap with one block in a page, but counted %llu blocks: call count() for "
        "each block that is looked at",
        call, (int)touched, counted);
}

static void begin_call(void)
{
    mm_counts.searched = mm_counts.validated = 0;
    touched = 0;
    protect_heap(PROT_NONE);
}

Test(honest, counts_every_block_it_looks_at)
{
    static void *blocks[BLOCKS];
    struct sigaction action = {.sa_sigaction = on_touch, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(SIGSEGV, &action, NULL);
    lab_seconds(20);
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = front_malloc(&mm_allocator, PAGE_BYTES - mm_allocator.header_bytes);
        lab_require(blocks[i] != NULL, "malloc(%zu) returned NULL", PAGE_BYTES - mm_allocator.header_bytes);
    }
    for (size_t i = 1; i < BLOCKS; i += 7) {
        begin_call();
        front_free(&mm_allocator, blocks[i]);
        expect_counted("free");
    }
    for (size_t i = 0; i < 20; i++) {
        begin_call();
        void *p = front_malloc(&mm_allocator, i % 2 == 0 ? 100 : 3 * PAGE_BYTES);
        expect_counted("malloc");
        lab_require(p != NULL, "malloc returned NULL");
    }
}

Test(honest, reports_the_size_of_its_heap)
{
    for (int name = A; name < 200; name++)
        lab_malloc(name, 1000);
    size_t most = memory.bytes;
    lab_free_all();
    lab_require(memory.peak_bytes >= most && memory.growths > 0,
        "the heap had %zu bytes, and its peak is said to be %zu", most, memory.peak_bytes);
}

Test(honest, calls_itself_the_stage_it_is_graded_as)
{
    const char *stage = getenv("GRADE_STAGE");
    lab_require(stage != NULL && atoi(stage) == mm_allocator.stage, ".stage = %d in the table; it must be %s",
        mm_allocator.stage, stage == NULL ? "given as GRADE_STAGE" : stage);
}
