/*
 * goals.c - what a stage must do that the stage before cannot: the reason why it is there, and a student's target.
 *
 * Each goal is a suite, goal_2 to goal_6, in counted work or bytes, never in time. A stage runs the goals up to its
 * own number; GOAL=N runs exactly those of N, with which `make check-goals` proves that the stage before fails them.
 */
#define _DEFAULT_SOURCE /* mincore */
#include "lab.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(MM_VALIDATE) && MM_VALIDATE
enum { VALIDATING = 1 }; /* make validate=1 */
#else
enum { VALIDATING = 0 };
#endif

/* Goals of later stages are skipped, unless asked for; so are those that the validation would spoil. */
static void begin_goal(int goal)
{
    lab_begin();
    const char *only = getenv("GOAL");
    if (only != NULL ? atoi(only) != goal : mm_allocator.stage < goal)
        cr_skip("a goal of stage %d", goal);
    if (VALIDATING && goal >= 3)
        cr_skip("the validation spoils it, or makes it take minutes");
}

static void begin_2(void) { begin_goal(2); }
static void begin_3(void) { begin_goal(3); }
static void begin_4(void) { begin_goal(4); }
static void begin_5(void) { begin_goal(5); }
static void begin_6(void) { begin_goal(6); }

TestSuite(goal_1, .init = lab_begin, .timeout = 120);
TestSuite(goal_2, .init = begin_2, .timeout = 120);
TestSuite(goal_3, .init = begin_3, .timeout = 120);
TestSuite(goal_4, .init = begin_4, .timeout = 120);
TestSuite(goal_5, .init = begin_5, .timeout = 120);
TestSuite(goal_6, .init = begin_6, .timeout = 120);

static void *must_malloc(size_t bytes)
{
    void *p = front_malloc(&mm_allocator, bytes);
    lab_require(p != NULL, "malloc(%zu) returned NULL", bytes);
    return p;
}

static bool count_free(const struct mm_block *block, void *context)
{
    *(size_t *)context += block->state != MM_USED;
    return true;
}

static size_t free_blocks(void)
{
    size_t n = 0;
    mm_allocator.walk(count_free, &n);
    return n;
}

static void must_free(void *p) { front_free(&mm_allocator, p); }

/*
 * Not a goal but the reason for all of them: with n blocks in the list, malloc looks at n blocks. No stage may look
 * at more than stage 1 does: 1 + 2 + ... + 10,000 = 50,005,000.
 */
Test(goal_1, sequential_mallocs_look_at_no_more_than_all_blocks)
{
    mm_counts = (struct mm_counts){0};
    for (int i = 0; i < 10000; i++)
        must_malloc(64);
    uint64_t most = 50005000;
    lab_require(mm_counts.searched <= most,
        "10,000 x malloc(64) looked at %llu blocks; stage 1 at %llu at most",
        (unsigned long long)mm_counts.searched, (unsigned long long)most);
    if (mm_allocator.stage == 1) /* by next fit, one look is enough for most calls */
        lab_require(mm_counts.searched >= 5000,
            "10,000 x malloc(64) looked at %llu blocks, says the counter: where the search looks at a block, "
            "count(&mm_counts.searched, 1)",
            (unsigned long long)mm_counts.searched);
}

Test(goal_2, malloc_looks_at_free_blocks_only)
{
    enum { USED = 200, FREE = 3 };
    void *freed[FREE];
    for (int i = 0; i < USED; i++)
        must_malloc(64);
    for (int i = 0; i < FREE; i++) {
        freed[i] = must_malloc(3000);
        must_malloc(64); /* keeps the free ones apart */
    }
    for (int i = 0; i < FREE; i++)
        must_free(freed[i]);
    size_t most = free_blocks();
    mm_counts.searched = 0;
    must_malloc(100);
    lab_require(mm_counts.searched <= most,
        "the heap has %d used blocks and %zu free ones, and malloc(100) looked at %llu blocks: it must look "
        "at free blocks only; walk the free list, not the list of all blocks",
        USED + FREE, most, (unsigned long long)mm_counts.searched);
}

Test(goal_3, calls_validate_nothing)
{
    void *blocks[100];
    mm_counts.validated = 0;
    for (int i = 0; i < 100; i++)
        blocks[i] = must_malloc(64);
    for (int i = 0; i < 100; i++)
        blocks[i] = front_realloc(&mm_allocator, blocks[i], 200);
    for (int i = 0; i < 100; i++)
        must_free(blocks[i]);
    lab_require(mm_counts.validated == 0,
        "100 mallocs, reallocs and frees validated %llu blocks: a call must not check the whole heap; is "
        "MM_VALIDATE 0?",
        (unsigned long long)mm_counts.validated);
}

/*
 * 10,000 free blocks of 1,000 sizes, kept apart by used ones, and none in a quick bin: they are larger than that.
 * The sizes asked for are larger than half of the blocks: who walks a list of them all meets many that do not fit.
 */
Test(goal_4, malloc_looks_at_a_few_of_10000_free_blocks)
{
    enum { BLOCKS = 10000, SIZES = 1000, ASKED = 100, FEW = 16 };
    if (mm_allocator.header_bytes == 0)
        cr_skip("without headers, free blocks do not keep apart: units of one size are free as a whole");
    static void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        blocks[i] = must_malloc(4096 + 16 * (size_t)(i * 7 % SIZES));
        must_malloc(1);
    }
    for (int i = 0; i < BLOCKS; i++)
        must_free(blocks[i]);
    lab_require(
        free_blocks() >= BLOCKS, "the test means to have %d free blocks, apart from each other", BLOCKS);
    uint64_t worst = 0;
    size_t worst_bytes = 0;
    for (int i = 0; i < ASKED; i++) {
        size_t bytes = 4096 + 16 * (size_t)(SIZES / 2 + i * 5);
        mm_counts.searched = 0;
        must_malloc(bytes);
        if (mm_counts.searched > worst) {
            worst = mm_counts.searched;
            worst_bytes = bytes;
        }
    }
    lab_require(worst <= FEW,
        "among %d free blocks of mixed sizes, malloc(%zu) looked at %llu: it must look at %d at most; go "
        "straight to the list of a size class in which every block fits",
        BLOCKS, worst_bytes, (unsigned long long)worst, FEW);
}

/* A hundred thousand blocks: each takes so many bytes of the heap, but for `ends` in all. */
static void expect_bytes_each(size_t payload, size_t each, size_t ends, const char *why)
{
    enum { BLOCKS = 100000 };
    for (int i = 0; i < BLOCKS; i++)
        must_malloc(payload);
    lab_require(memory.bytes <= BLOCKS * each + ends,
        "%d blocks of %zu bytes made a heap of %zu bytes, %.2f each: it must be %zu each, and %zu for both "
        "ends; %s",
        BLOCKS, payload, memory.bytes, (double)memory.bytes / BLOCKS, each, ends, why);
}

Test(goal_5, blocks_of_64_bytes_take_80)
{
    expect_bytes_each(64, 80, 4096, "the header must shrink to 8 bytes");
}

Test(goal_5, blocks_of_8_bytes_take_16)
{
    expect_bytes_each(8, 16, 8192, "a free block of 16 bytes has its header and footer, and is in no list");
}

/* Two free blocks of one size class, the larger freed last: a stack of free blocks has it first. */
Test(goal_5, the_smaller_of_two_blocks_that_fit_is_taken)
{
    if (mm_allocator.header_bytes == 0)
        cr_skip("without headers, free memory belongs to a size already");
    void *small = must_malloc(4200), *between = must_malloc(1), *large = must_malloc(4600),
         *last = must_malloc(1);
    must_free(small);
    must_free(large);
    void *taken = must_malloc(4100);
    lab_require(taken == small,
        "of two free blocks for 4200 and 4600 bytes, malloc(4100) took %s: it must take the smaller, "
        "so that the larger stays whole; look at a few more blocks of the class",
        taken == large ? "the larger" : "neither");
    must_free(between);
    must_free(last);
}

static bool count_waiting(const struct mm_block *block, void *context)
{
    *(size_t *)context += block->state == MM_QUICK ? block->block_bytes : 0;
    return true;
}

Test(goal_5, little_waits_while_malloc_looks_for_a_large_block)
{
    enum { BLOCKS = 2000, MOST = 32768 };
    static void *blocks[BLOCKS];
    if (mm_allocator.header_bytes == 0)
        cr_skip("without headers, small blocks are in no large one's way");
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = must_malloc(64);
    must_malloc(64); /* keeps them apart from the heap's free end */
    must_free(must_malloc(50000)); /* which has room enough */
    for (int i = 0; i < BLOCKS; i++)
        must_free(blocks[i]);
    must_malloc(10000);
    size_t waiting = 0;
    mm_allocator.walk(count_waiting, &waiting);
    lab_require(waiting <= MOST,
        "while malloc(10000) looked for a block, %zu bytes waited unmerged in quick bins: "
        "if more than %d do, merge them before a search for a block too large for the bins",
        waiting, MOST);
}

Test(goal_6, blocks_of_64_bytes_take_64) { expect_bytes_each(64, 64, 32768, "small blocks have no header"); }

static void need_threads(void)
{
    lab_require(mm_allocator.thread_safe, "several threads must be able to call malloc at once");
}

/* Runs `work` in threads of its own, side by side. */
static void in_threads(int count, void *(*work)(void *), void *argument)
{
    pthread_t threads[8];
    for (int i = 0; i < count; i++)
        lab_require(pthread_create(&threads[i], NULL, work, argument) == 0, "no thread");
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

enum { PAIRS = 100000, HELD = 16 };

/* Blocks of all sizes up to 1,008 bytes, of which it holds a few at a time. */
static void *malloc_and_free(void *unused)
{
    void *held[HELD] = {NULL};
    for (int i = 0; i < PAIRS; i++) {
        front_free(&mm_allocator, held[i % HELD]);
        held[i % HELD] = front_malloc(&mm_allocator, (size_t)(i * 7 % 64) * 16);
    }
    for (int i = 0; i < HELD; i++)
        front_free(&mm_allocator, held[i]);
    return unused;
}

Test(goal_6, threads_take_the_lock_once_in_a_hundred_calls)
{
    enum { THREADS = 2 };
    need_threads();
    mm_counts.locks = 0;
    in_threads(THREADS, malloc_and_free, NULL);
    uint64_t calls = 2 * THREADS * PAIRS;
    lab_require(mm_counts.locks <= calls / 100,
        "%llu calls for small blocks took the lock %llu times: it must be once in a hundred at most; a "
        "thread must have blocks of its own at hand",
        (unsigned long long)calls, (unsigned long long)mm_counts.locks);
}

enum { FIRST = 8192, MORE = 128, ROUNDS = 48, ALL = FIRST + ROUNDS * MORE };

/* Half a mebibyte of small blocks is allocated, then freed, and so on; each time some more than were freed before. */
static void *malloc_all_and_free_all(void *unused)
{
    void **blocks = must_malloc(ALL * sizeof *blocks);
    for (int all = FIRST; all < ALL; all += MORE) {
        for (int i = 0; i < all; i++)
            blocks[i] = front_malloc(&mm_allocator, 64);
        for (int i = 0; i < all; i++)
            front_free(&mm_allocator, blocks[i]);
    }
    front_free(&mm_allocator, blocks);
    return unused;
}

Test(goal_6, what_a_thread_freed_it_has_at_hand_again)
{
    enum { THREADS = 2 };
    need_threads();
    mm_counts.locks = 0;
    in_threads(THREADS, malloc_all_and_free_all, NULL);
    uint64_t calls = (uint64_t)THREADS * ROUNDS * (FIRST + ALL);
    lab_require(mm_counts.locks <= calls / 1000,
        "each of %d threads allocated %d or more blocks of 64 bytes and freed them, %d times: %llu calls "
        "took the "
        "lock %llu times; it must be once in a thousand at most: a thread that allocates again what it freed "
        "may "
        "keep a mebibyte of it, or else blocks go from one processor to the other",
        THREADS, FIRST, ROUNDS, (unsigned long long)calls, (unsigned long long)mm_counts.locks);
}

/* ---- Blocks that one thread allocates and another frees ---- */

enum { BATCH = 1000, BATCHES = 200, BATCH_BLOCK = 128 };

static struct {
    atomic_int turn; /* even: the producer's */
    void *blocks[BATCH];
    size_t own; /* bytes that the consumer allocates for itself at first, and keeps */
} post;

static void await_turn(int turn)
{
    while (atomic_load(&post.turn) != turn)
        sched_yield();
}

static void *produce(void *unused)
{
    for (int batch = 0; batch < BATCHES; batch++) {
        await_turn(2 * batch);
        for (int i = 0; i < BATCH; i++)
            post.blocks[i] = front_malloc(&mm_allocator, BATCH_BLOCK);
        atomic_store(&post.turn, 2 * batch + 1);
    }
    return unused;
}

static void *consume(void *unused)
{
    for (size_t own = 0; own < post.own; own += BATCH_BLOCK)
        front_malloc(&mm_allocator, BATCH_BLOCK);
    for (int batch = 0; batch < BATCHES; batch++) {
        await_turn(2 * batch + 1);
        for (int i = 0; i < BATCH; i++)
            front_free(&mm_allocator, post.blocks[i]);
        atomic_store(&post.turn, 2 * batch + 2);
    }
    return unused;
}

static void *produce_or_consume(void *number)
{
    return atomic_fetch_add((atomic_int *)number, 1) == 0 ? produce(NULL) : consume(NULL);
}

Test(goal_6, what_another_thread_freed_is_used_again)
{
    need_threads();
    atomic_int started = 0;
    in_threads(2, produce_or_consume, &started);
    size_t alive = (size_t)BATCH * BATCH_BLOCK;
    lab_require(memory.bytes <= 4 * alive,
        "of blocks that one thread allocates and another frees, %zu bytes are alive at a time, and the heap "
        "grew to %zu: it must be 4 times that at most; full lists must find their way from thread to thread",
        alive, memory.bytes);
}

Test(goal_6, what_a_thread_keeps_has_a_limit)
{
    enum { OWN = 3 << 20, KEPT = 3 << 19 };
    need_threads();
    atomic_int started = 0;
    post.own = OWN;
    in_threads(2, produce_or_consume, &started);
    size_t alive = (size_t)BATCH * BATCH_BLOCK;
    lab_require(memory.bytes <= OWN + KEPT + 4 * alive,
        "a thread has %d bytes of its own, and frees blocks that another allocates, of which %zu bytes are "
        "alive "
        "at a time; the heap grew to %zu: of the blocks that it frees it may keep %d bytes",
        OWN, alive, memory.bytes, KEPT);
}

/* Allocates a mebibyte, frees it, and ends. */
static void *use_a_mebibyte(void *unused)
{
    enum { BLOCKS = 16384 };
    static void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = front_malloc(&mm_allocator, 64);
    for (int i = 0; i < BLOCKS; i++)
        front_free(&mm_allocator, blocks[i]);
    return unused;
}

Test(goal_6, a_thread_that_ends_leaves_nothing_behind)
{
    need_threads();
    in_threads(1, use_a_mebibyte, NULL);
    size_t heap_bytes = memory.bytes;
    for (int i = 0; i < 20; i++)
        in_threads(1, use_a_mebibyte, NULL);
    lab_require(memory.bytes == heap_bytes,
        "a thread used a mebibyte and ended, with a heap of %zu bytes; after 20 more, one after the other, "
        "it is %zu: a thread that ends must give back what it has at hand",
        heap_bytes, memory.bytes);
}

/* ---- Large blocks ---- */

Test(goal_6, a_large_block_goes_where_it_fits_best)
{
    static const size_t sizes[] = {300000, 200000, 5000000, 2500000, 250000, 4000000};
    enum { HOLES = sizeof sizes / sizeof *sizes };
    void *holes[HOLES];
    for (int i = 0; i < HOLES; i++) {
        holes[i] = must_malloc(sizes[i]);
        must_malloc(100000); /* keeps them apart */
    }
    for (int i = 0; i < HOLES; i++)
        must_free(holes[i]);
    for (int i = HOLES - 1; i >= 0; i--)
        lab_require(must_malloc(sizes[i]) == holes[i],
            "a free block was just right for malloc(%zu), and another was cut instead", sizes[i]);
}

static size_t resident_bytes(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = memory.bytes / page, resident = 0;
    unsigned char *in_core = malloc(pages);
    lab_require(in_core != NULL && mincore(memory.start, pages * page, in_core) == 0, "mincore failed");
    for (size_t i = 0; i < pages; i++)
        resident += (in_core[i] & 1) * page;
    free(in_core);
    return resident;
}

Test(goal_6, memory_that_nobody_needs_goes_back_to_the_system)
{
    enum { BLOCKS = 64, EACH = 1 << 20, LATER = 10000 };
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = memset(must_malloc(EACH), 1, EACH);
    for (int i = 0; i < BLOCKS; i++)
        must_free(blocks[i]);
    for (int i = 0; i < LATER; i++)
        must_free(must_malloc(20000));
    lab_require(resident_bytes() <= BLOCKS * EACH / 8,
        "%d MiB were freed, and after %d calls that needed 20,000 bytes at a time, %zu bytes of the heap are "
        "still in memory: what is free for good must go back to the system",
        BLOCKS, 2 * LATER, resident_bytes());
}
