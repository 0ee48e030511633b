/*
 * threads.c - what several threads may do to a stage that takes them, and what they may not.
 *
 * Crimes first: each is reported, or harms nobody but its caller's own data; never are two owners given one block in
 * silence. docs/faults.md has them as a table. Random work by many threads at once: threads_stress.c.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "lab.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

static void begin_threads(void)
{
    lab_begin();
    if (!mm_allocator.thread_safe)
        cr_skip("preload.c puts a lock around this stage: it never sees two threads");
}

TestSuite(threads, .init = begin_threads, .timeout = 120);

enum { EACH = 64, MANY = 40000 }; /* many: more than a thread has at hand, and than all of them share */

static char *blocks[MANY];

static void *must_malloc(size_t bytes)
{
    void *p = front_malloc(&mm_allocator, bytes);
    if (p == NULL)
        abort();
    return p;
}

static void fill_blocks(size_t bytes)
{
    for (int i = 0; i < MANY; i++)
        blocks[i] = must_malloc(bytes);
}

static void free_blocks(int from, int to)
{
    for (int i = from; i < to; i++)
        front_free(&mm_allocator, blocks[i]);
}

/* In a thread of its own, from its first to its last call. */
static void elsewhere(void *(*work)(void *argument), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, argument) != 0 || pthread_join(thread, NULL) != 0)
        abort();
}

static void *free_block(void *block)
{
    front_free(&mm_allocator, block);
    return NULL;
}

static void expect_report(void (*crime)(void), const char *says)
{
    struct lab_report report = lab_commit(crime);
    lab_require(report.signal == SIGABRT && strncmp(report.text, says, strlen(says)) == 0,
        "the stage should say\n  %s...\nand abort, but it says\n  %sand ends with signal %d", says,
        report.text[0] == '\0' ? "(nothing)\n" : report.text, report.signal);
}

static void expect_sound(const char *after)
{
    struct mm_fault fault = mm_allocator.check();
    lab_require(fault.invariant == 0, "after %s: I%d is broken: %s", after, fault.invariant, fault.what);
}

static bool count_used(const struct mm_block *block, void *context)
{
    *(size_t *)context += block->state == MM_USED;
    return true;
}

static size_t used_blocks(void)
{
    size_t used = 0;
    mm_allocator.walk(count_used, &used);
    return used;
}

/* ---- Double free ---- */

static const char DOUBLE_FREE[] = "alloclab: E01 free: this block is free already (double free): ";

static void freed_here_and_elsewhere(void)
{
    void *p = must_malloc(EACH);
    front_free(&mm_allocator, p);
    elsewhere(free_block, p);
}

static void freed_elsewhere_and_here(void)
{
    void *p = must_malloc(EACH);
    elsewhere(free_block, p);
    front_free(&mm_allocator, p);
}

static void freed_in_two_other_threads(void)
{
    void *p = must_malloc(EACH);
    elsewhere(free_block, p);
    elsewhere(free_block, p);
}

static void large_block_freed_here_and_elsewhere(void)
{
    must_malloc(100000);
    void *p = must_malloc(100000);
    must_malloc(100000);
    front_free(&mm_allocator, p);
    elsewhere(free_block, p);
}

Test(threads, double_free_across_threads)
{
    expect_report(freed_here_and_elsewhere, DOUBLE_FREE);
    expect_report(freed_elsewhere_and_here, DOUBLE_FREE);
    expect_report(freed_in_two_other_threads, DOUBLE_FREE);
    expect_report(large_block_freed_here_and_elsewhere, DOUBLE_FREE);
}

/* Wherever the block waits: what is freed first goes furthest. */
static int again;

static void freed_again_after_many(void)
{
    fill_blocks(EACH);
    free_blocks(0, MANY);
    front_free(&mm_allocator, blocks[again]);
}

Test(threads, double_free_of_a_block_that_all_threads_share)
{
    for (again = MANY - 1; again > MANY / 2; again -= MANY / 7)
        expect_report(freed_again_after_many, DOUBLE_FREE);
}

static void freed_again_after_its_slab(void)
{
    must_malloc(1); /* a cache, if it is in the heap, stays in front */
    fill_blocks(1024);
    free_blocks(0, MANY);
    must_malloc((size_t)MANY * 1024 * 2); /* what waits is coalesced before the heap grows */
    front_free(&mm_allocator, blocks[MANY / 2]);
}

Test(threads, double_free_of_a_block_whose_slab_is_gone)
{
    expect_report(
        freed_again_after_its_slab, "alloclab: E01 free: this is free memory already (double free): ");
}

/* ---- Pointers from elsewhere ---- */

static void *foreign;
static void free_foreign(void) { front_free(&mm_allocator, foreign); }

/* Another allocator's heap is memory that this one never handed out, wherever it lies. */
Test(threads, a_block_of_another_allocator)
{
    static const char OUTSIDE[] = "alloclab: E03 free: pointer outside the heap";
    static _Alignas(64) char array[4096];
    size_t bytes = (size_t)1 << 20;
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void *others = malloc(EACH);
    lab_require(others != NULL && pages != MAP_FAILED, "no memory for the test");
    must_malloc(EACH);
    void *all[] = {array, (char *)pages + 64, others, memory.start + memory.bytes, memory.start - 64};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        foreign = all[i];
        expect_report(free_foreign, OUTSIDE);
    }
    munmap(pages, bytes);
    free(others);
}

/* ---- Writing where one should not ---- */

static char *a, *b; /* neighbours */

static void begin_neighbours(void)
{
    a = must_malloc(EACH);
    for (int i = 0; i < 1000; i++) {
        b = must_malloc(EACH);
        if (b == a + EACH)
            return;
        a = b;
    }
    lab_require(false, "no two of 1,000 blocks are neighbours");
}

static void overrun_into_a_free_block(void)
{
    front_free(&mm_allocator, b);
    memset(a, 0x41, EACH + 8);
    for (int i = 0; i < MANY; i++)
        must_malloc(EACH);
}

static void *allocate_many(void *unused)
{
    for (int i = 0; i < MANY; i++)
        must_malloc(EACH);
    return unused;
}

static void overrun_into_a_block_freed_elsewhere(void)
{
    elsewhere(free_block, b);
    memset(a, 0x41, EACH + 8);
    elsewhere(allocate_many, NULL);
}

static void link_overwritten_after_free(void)
{
    void *other = must_malloc(EACH);
    front_free(&mm_allocator, other);
    front_free(&mm_allocator, a);
    front_free(&mm_allocator, b);
    memcpy(b + 8, &other, sizeof other); /* a plausible link: another free block */
    for (int i = 0; i < MANY; i++)
        must_malloc(EACH);
}

Test(threads, a_free_block_written_to_is_never_handed_out)
{
    static const char DAMAGED[] = "alloclab: E05 malloc: the heap is damaged";
    begin_neighbours();
    expect_report(overrun_into_a_free_block, DAMAGED);
    expect_report(overrun_into_a_block_freed_elsewhere, DAMAGED);
    expect_report(link_overwritten_after_free, DAMAGED);
}

Test(threads, an_overrun_into_a_used_block_harms_its_contents_only)
{
    elsewhere(free_block, must_malloc(EACH)); /* what a stage keeps for the next thread is there */
    begin_neighbours();
    size_t used = used_blocks();
    memset(a, 0x41, 2 * EACH);
    expect_sound("an overrun");
    front_free(&mm_allocator, a);
    elsewhere(free_block, b);
    expect_sound("free of both");
    lab_require(used_blocks() == used - 2, "both blocks should be free");
}

Test(threads, an_overrun_of_a_large_block_harms_contents_only)
{
    enum { LARGE = 1 << 16 };
    char *first = must_malloc(LARGE), *second = must_malloc(LARGE), *third = must_malloc(LARGE);
    char *low = first < second ? first : second;
    front_free(&mm_allocator, low == first ? second : first);
    memset(low, 0x41, LARGE + 4096);
    expect_sound("an overrun into free memory");
    front_free(&mm_allocator, low);
    front_free(&mm_allocator, third);
    expect_sound("free of all");
}

/* ---- Threads that come and go ---- */

static pthread_key_t late_key;

/* Called when the stage's own destructor has run: it made its key earlier. */
static void late_destructor(void *block)
{
    char *p = must_malloc(EACH);
    memset(p, 1, EACH);
    p = front_realloc(&mm_allocator, p, 10 * EACH);
    lab_require(p[0] == 1 && p[EACH - 1] == 1, "realloc lost the contents");
    front_free(&mm_allocator, p);
    front_free(&mm_allocator, block);
    front_free(&mm_allocator, must_malloc(100000));
}

static void *leave_a_block_to_the_destructor(void *unused)
{
    if (pthread_setspecific(late_key, must_malloc(EACH)) != 0)
        abort();
    return unused;
}

Test(threads, malloc_and_free_in_destructors_of_a_thread_that_ends)
{
    elsewhere(free_block, must_malloc(EACH));
    lab_require(pthread_key_create(&late_key, late_destructor) == 0, "no key");
    elsewhere(leave_a_block_to_the_destructor, NULL);
    size_t used = used_blocks(); /* the ended thread's cache is kept for the next */
    for (int i = 0; i < 10; i++)
        elsewhere(leave_a_block_to_the_destructor, NULL);
    expect_sound("threads that ended");
    lab_require(used_blocks() == used, "what a destructor frees must be free");
}

static void *allocate_a_few(void *p)
{
    char **few = p;
    for (int i = 0; i < 10; i++)
        few[i] = must_malloc(EACH);
    return NULL;
}

Test(threads, blocks_live_longer_than_their_thread)
{
    char *few[10];
    elsewhere(allocate_a_few, few);
    for (int i = 0; i < 10; i++)
        memset(few[i], i, EACH);
    elsewhere(allocate_a_few, blocks); /* a new thread gets others */
    for (int i = 0; i < 10; i++)
        for (int k = 0; k < EACH; k++)
            lab_require(few[i][k] == i, "a block in use was given to another thread");
    size_t used = used_blocks();
    for (int i = 0; i < 10; i++)
        elsewhere(free_block, few[i]);
    expect_sound("free by threads other than the one that allocated");
    lab_require(used_blocks() == used - 10, "what another thread frees must be free");
}

static void *try_without_memory(void *block)
{
    front_free(&mm_allocator, block); /* there is no memory for a cache */
    for (int i = 0; i < 100; i++) {
        void *p = front_malloc(&mm_allocator, EACH);
        if (p == NULL && errno != ENOMEM)
            abort();
        front_free(&mm_allocator, p);
    }
    return NULL;
}

/* Fill the heap to the last block, then free a few: a new thread finds no memory for a cache. */
Test(threads, a_thread_that_starts_when_memory_is_out)
{
    must_malloc(EACH);
    memory_set_limit(memory.bytes);
    int n = 0;
    for (size_t bytes = 16384; bytes >= 16; bytes /= 2)
        while (n < MANY && (blocks[n] = front_malloc(&mm_allocator, bytes)) != NULL)
            n++;
    lab_require(n > 0 && n < MANY, "the heap should be full");
    size_t used = used_blocks();
    elsewhere(try_without_memory, blocks[0]);
    expect_sound("a thread without memory");
    lab_require(used_blocks() == used - 1, "the block that it freed must be free, and no other");
    memory_set_limit(SIZE_MAX);
    elsewhere(try_without_memory, blocks[1]);
    expect_sound("a thread with memory");
}
