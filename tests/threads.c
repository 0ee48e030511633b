/*
 * threads.c - what several threads may do to a stage that takes them, and what they may not.
 *
 * Crimes first: each is reported, or harms nobody but its caller's own data; never are two owners given one block in
 * silence. docs/faults.md has them as a table. Random work by many threads at once: threads_stress.c.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "lab.h"
#include "used.h"
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

static void begin_threads(void)
{
    lab_begin();
    if (!mm_allocator.thread_safe)
        cr_skip("preload.c puts a lock around this stage: it never sees two threads");
}

TestSuite(threads, .init = begin_threads, .timeout = 60);

enum {
    EACH = 64,
    SHARED = 30000,
    MANY = 100000
}; /* more than a thread has at hand; more than all lists take */

static char *blocks[MANY];

static void *must_malloc(size_t bytes)
{
    void *p = front_malloc(&mm_allocator, bytes);
    if (p == NULL)
        abort();
    return p;
}

static void fill_blocks(int count, size_t bytes)
{
    for (int i = 0; i < count; i++)
        blocks[i] = must_malloc(bytes);
}

static void free_blocks(int count)
{
    for (int i = 0; i < count; i++)
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
    fill_blocks(SHARED, EACH);
    free_blocks(SHARED);
    front_free(&mm_allocator, blocks[again]);
}

Test(threads, double_free_of_a_block_that_all_threads_share)
{
    for (again = SHARED - 1; again >= 0; again -= SHARED / 7)
        expect_report(freed_again_after_many, DOUBLE_FREE);
}

static void freed_again_after_its_slab(void)
{
    fill_blocks(SHARED, EACH);
    free_blocks(SHARED);
    memory_set_limit(memory.bytes);
    front_free(&mm_allocator, must_malloc(SHARED * EACH / 2)); /* what waits is coalesced */
    front_free(&mm_allocator, blocks[SHARED / 2]);
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

/* ---- Many at once ---- */

enum { WORKERS = 4, WORK_STEPS = 5000, WORK_SLOTS = 32 };

/* Every call but a few takes a lock, or should: large blocks, and those of which a thread keeps few. */
static void *work_hard(void *unused)
{
    void *held[WORK_SLOTS] = {NULL};
    for (int i = 0; i < WORK_STEPS; i++) {
        void **slot = &held[i % WORK_SLOTS];
        front_free(&mm_allocator, *slot);
        *slot = must_malloc(i % 3 == 0 ? 20000 + (size_t)i : 5000 + (size_t)(i % 9000));
        *(char *)*slot = 1;
    }
    for (int i = 0; i < WORK_SLOTS; i++)
        front_free(&mm_allocator, held[i]);
    return unused;
}

Test(threads, many_at_once_leave_the_heap_sound)
{
    pthread_t workers[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        lab_require(pthread_create(&workers[i], NULL, work_hard, NULL) == 0, "no thread");
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    expect_sound("the work of four threads");
    lab_require(used_blocks() <= WORKERS, "all was freed but what a stage keeps for threads to come");
}

static atomic_bool got_block;

static void *sleep_a_little(void *unused)
{
    nanosleep(&(struct timespec){0, 30000000}, NULL);
    return unused;
}

static void *allocate_large(void *unused)
{
    front_free(&mm_allocator, must_malloc(100000));
    atomic_store(&got_block, true);
    return unused;
}

/* Else a child could inherit a lock that nobody is left to open. A stage that fails this may pass by chance. */
Test(threads, nobody_is_inside_while_the_process_forks)
{
    pthread_t thread;
    elsewhere(free_block, must_malloc(EACH));
    lab_require(pthread_create(&thread, NULL, sleep_a_little, NULL) == 0, "no thread");
    mm_allocator.before_fork();
    pthread_t other;
    lab_require(pthread_create(&other, NULL, allocate_large, NULL) == 0, "no thread");
    pthread_join(thread, NULL);
    bool inside = atomic_load(&got_block);
    mm_allocator.after_fork();
    pthread_join(other, NULL);
    lab_require(!inside, "before_fork() must keep other threads out until after_fork()");
}

/* ---- Slabs and runs ---- */

/* Allocates and frees so many blocks of this size, then all that the heap has, as one block. */
static void expect_one_large_block(int count, size_t bytes)
{
    must_malloc(1); /* a first slab that stays */
    size_t before = memory.bytes;
    fill_blocks(count, bytes);
    size_t grown = memory.bytes - before;
    free_blocks(count);
    memory_set_limit(memory.bytes);
    void *all = front_malloc(&mm_allocator, grown);
    lab_require(all != NULL,
        "%d blocks of %zu bytes were freed, but their %zu bytes are no large block, though memory is short",
        count, bytes, grown);
    memory_set_limit(SIZE_MAX);
    front_free(&mm_allocator, all);
    expect_sound("freeing it");
}

Test(threads, blocks_at_hand_are_coalesced_when_memory_is_short) { expect_one_large_block(256, EACH); }
Test(threads, blocks_in_full_lists_are_coalesced_when_memory_is_short)
{
    expect_one_large_block(20000, EACH);
}
Test(threads, more_blocks_than_all_lists_take) { expect_one_large_block(MANY, 16); }

/* Memory that was written to, freed, cut and merged in many ways: calloc must know that it is not zero. */
Test(threads, calloc_clears_large_blocks_that_were_used)
{
    static const size_t sizes[] = {400000, 50000, 200000, 17000, 100000, 33000, 600000};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    char *held[SIZES] = {NULL};
    for (int i = 0; i < 1000; i++) {
        int slot = i * 5 % SIZES;
        size_t bytes = sizes[(i * 3 + i / 7) % SIZES];
        front_free(&mm_allocator, held[slot]);
        held[slot] = front_calloc(&mm_allocator, 1, bytes);
        for (size_t k = 0; k < bytes; k += 61)
            lab_require(held[slot][k] == 0, "byte %zu of the %zu that calloc returned is not 0", k, bytes);
        memset(held[slot], 1, bytes);
        if (i % 4 == 0)
            held[slot] = memset(front_realloc(&mm_allocator, held[slot], bytes / 2 + 20000), 2, 20000);
    }
    expect_sound("calloc and free");
}

Test(threads, realloc_copies_what_there_is_and_no_more)
{
    char *p = memset(must_malloc(EACH), 3, EACH);
    mm_counts.copied = 0;
    p = front_realloc(&mm_allocator, p, 10 * EACH);
    lab_require(p[EACH - 1] == 3, "realloc lost the contents");
    lab_require(mm_counts.copied == EACH, "of a block of %d bytes, realloc copied %zu", EACH,
        (size_t)mm_counts.copied);
}

Test(threads, realloc_to_much_less_gives_back_the_rest)
{
    char *small = must_malloc(1000);
    small = front_realloc(&mm_allocator, small, 10);
    size_t usable = front_usable_size(&mm_allocator, small);
    lab_require(usable < 100, "a block of 1,000 bytes that needs 10 still has %zu", usable);

    must_malloc(100000); /* what large blocks are cut from ends behind it */
    char *large = must_malloc(1000000);
    lab_require(front_realloc(&mm_allocator, large, 100000) == large, "a large block is cut in place");
    memory_set_limit(memory.bytes);
    lab_require(front_malloc(&mm_allocator, 850000) != NULL,
        "a block of 1,000,000 bytes needs 100,000, but the rest is not free, though memory is short");
}

Test(threads, realloc_grows_into_free_memory_only)
{
    enum { LARGE = 100000 };
    char *first = must_malloc(LARGE), *second = must_malloc(LARGE), *third = must_malloc(LARGE);
    lab_require(first < second && second < third, "three large blocks of a new heap lie side by side");
    memset(second, 4, LARGE);
    char *moved = front_realloc(&mm_allocator, first, LARGE + LARGE / 2);
    lab_require(moved != first, "behind it lies a block in use");
    expect_sound("a realloc that moved");
    memset(moved, 5, LARGE + LARGE / 2);
    lab_require(second[0] == 4 && second[LARGE - 1] == 4, "a block in use has changed");
    front_free(&mm_allocator, third);
    lab_require(
        front_realloc(&mm_allocator, second, LARGE + LARGE / 2) == second, "behind it is free memory now");
    expect_sound("a realloc in place");
}

Test(threads, aligned_alloc_says_no_when_memory_is_short)
{
    must_malloc(EACH);
    memory_set_limit(memory.bytes);
    errno = 0;
    lab_require(front_aligned_alloc(&mm_allocator, 1 << 16, 1000000) == NULL && errno == ENOMEM,
        "there is no memory for an aligned block of 1,000,000 bytes");
    expect_sound("an aligned_alloc that failed");
    memory_set_limit(SIZE_MAX);
    void *p = front_aligned_alloc(&mm_allocator, 1 << 16, 1000000);
    lab_require(p != NULL && is_aligned(p, 1 << 16), "there is memory again");
}

/* ---- The limit of what free can see at once ---- */

static void block_that_was_never_handed_out_is_freed(void)
{
    char *p = must_malloc(EACH);
    front_free(&mm_allocator, p + 200 * EACH); /* in the part of its slab that nobody used yet */
    memory_set_limit(memory.bytes);
    front_malloc(&mm_allocator, 100000); /* what waits goes home, and there it is noticed */
}

Test(threads, a_block_that_was_never_handed_out_is_noticed_when_it_goes_home)
{
    struct lab_report report = lab_commit(block_that_was_never_handed_out_is_freed);
    lab_require(report.signal == SIGABRT && strstr(report.text, "alloclab: E0") == report.text,
        "the stage should report the pointer, but says\n  %s", report.text);
}
