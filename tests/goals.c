/*
 * goals.c - what a stage must do that the stage before cannot: the reason why it is there, and a student's target.
 *
 * Each goal is a suite, goal_2 to goal_5, in counted work or bytes, never in time. A stage runs the goals up to its
 * own number; GOAL=N runs exactly those of N, with which `make check-goals` proves that the stage before fails them.
 */
#include "lab.h"
#include <stdlib.h>

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

TestSuite(goal_1, .init = lab_begin, .timeout = 120);
TestSuite(goal_2, .init = begin_2, .timeout = 120);
TestSuite(goal_3, .init = begin_3, .timeout = 120);
TestSuite(goal_4, .init = begin_4, .timeout = 120);
TestSuite(goal_5, .init = begin_5, .timeout = 120);

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
    if (mm_allocator.stage == 1)
        lab_require(mm_counts.searched >= most - most / 100,
            "10,000 x malloc(64) looked at %llu blocks; a list of all blocks has %llu to look at, or nearly "
            "so",
            (unsigned long long)mm_counts.searched, (unsigned long long)most);
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
        "at free "
        "blocks only; walk the free list, not the list of all blocks",
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
        "straight to "
        "the list of a size class in which every block fits",
        BLOCKS, worst_bytes, (unsigned long long)worst, FEW);
}

Test(goal_5, blocks_of_64_bytes_take_80)
{
    enum { BLOCKS = 100000, EACH = 80, ENDS = 4096 };
    for (int i = 0; i < BLOCKS; i++)
        must_malloc(64);
    size_t most = (size_t)BLOCKS * EACH + ENDS;
    lab_require(memory.bytes <= most,
        "%d blocks of 64 bytes made a heap of %zu bytes, %.2f each: it must be %d each, and a page for the "
        "heap's ends; "
        "the header must shrink to 8 bytes",
        BLOCKS, memory.bytes, (double)memory.bytes / BLOCKS, EACH);
}
