/*
 * broken.c - a sound stage with one mistake built in from outside, BROKEN says which: tests/replay.sh proves with
 * it that the engine finds each kind of failure, that it shrinks, and that the C program fails too.
 */
#define mm_allocator sound_allocator /* the table, and its type with it */
#include "../stages/3-no-validation/mm.c"
#undef mm_allocator
#include <errno.h>
#include <string.h>

enum {
    BREAKS_INVARIANT = 1, /* check() finds I4 after three frees */
    DAMAGES, /* free writes to the block that was given out last */
    LOSES_BYTES, /* realloc changes a byte of what it keeps */
    DIRTIES, /* fresh memory is not zero, so calloc need not clear it */
    OVERLAPS, /* malloc gives a block out twice */
    MISALIGNS,
    WRITES_BEYOND, /* past the heap's end */
    LEAVES_HEAP, /* malloc returns memory that is not the heap's */
    IS_SMALL, /* malloc_usable_size is too small */
    REFUSES, /* malloc returns NULL without a reason */
    WRONG_ERRNO,
    LEAKS, /* free does nothing */
    REPORTS, /* free reports a misuse */
    CRASHES,
    HANGS,
};

extern const struct sound_allocator mm_allocator;
static void *last_given;
static int frees;

static void *broken_malloc(size_t bytes)
{
    static char outside[4096];
    if (BROKEN == REFUSES && bytes > 5000)
        return NULL;
    if (BROKEN == LEAVES_HEAP && bytes == 100)
        return outside;
    if (BROKEN == OVERLAPS && bytes == 64 && last_given != NULL &&
        sound_allocator.usable_size(last_given) > 500)
        return last_given;
    while (BROKEN == HANGS && bytes > 5000) {
    }
    char *p = mm_malloc(bytes);
    if (BROKEN == WRONG_ERRNO && p == NULL)
        errno = EINVAL;
    if (p == NULL)
        return NULL;
    if (BROKEN == WRITES_BEYOND && bytes > 1000)
        memory.start[memory.bytes + 8] = 1;
    if (BROKEN == DIRTIES && bytes > 1000)
        p[bytes / 2] = 1;
    last_given = p;
    return BROKEN == MISALIGNS && bytes == 40 ? p + 8 : p;
}

static void broken_free(void *p)
{
    frees++;
    if (BROKEN == DAMAGES && last_given != p && last_given != NULL)
        ((char *)last_given)[0] ^= 1;
    if (last_given == p)
        last_given = NULL;
    if (BROKEN == LEAKS && mm_usable_size(p) > 1000)
        return;
    if (BROKEN == REPORTS && mm_usable_size(p) > 1000)
        mm_report_pointer(&mm_allocator, "free", p);
    if (BROKEN == CRASHES && mm_usable_size(p) > 1000)
        *(volatile char *)(memory.start - 1) = 1;
    mm_free(p);
}

static void *broken_realloc(void *p, size_t bytes)
{
    char *moved = mm_realloc(p, bytes);
    if (BROKEN == LOSES_BYTES && moved != NULL && moved != p && bytes > 20)
        moved[15] ^= 1;
    last_given = NULL;
    return moved;
}

static size_t broken_usable_size(const void *p)
{
    size_t bytes = mm_usable_size(p);
    return BROKEN == IS_SMALL && bytes > 1000 ? bytes - 48 : bytes;
}

static struct mm_fault broken_check(void)
{
    if (BROKEN == BREAKS_INVARIANT && frees >= 3)
        return (struct mm_fault){4, EDGE, "said so by tests/broken.c"};
    return mm_check();
}

static void broken_init(void)
{
    mm_init();
    last_given = NULL;
    frees = 0;
}

const struct sound_allocator mm_allocator = {
    .name = "broken",
    .stage = 3,
    .header_bytes = HEADER,
    .init = broken_init,
    .malloc = broken_malloc,
    .free = broken_free,
    .realloc = broken_realloc,
    .aligned_alloc = mm_aligned_alloc,
    .usable_size = broken_usable_size,
    .check = broken_check,
    .walk = mm_walk,
    .walk_lists = mm_walk_lists,
};
