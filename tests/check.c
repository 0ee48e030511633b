/*
 * check.c - the stage's own check(): it finds damage, and never falls over it.
 *
 * The tests know no header's layout. They change a byte, look whether check() says so, and put it back. Under the
 * sanitizers they are skipped: following a damaged link is what those are there to forbid.
 */
#include "lab.h"
#include <stdio.h>

TestSuite(check, .init = lab_begin, .timeout = 120);

static void begin_damage(void)
{
    lab_begin();
#ifdef LAB_SANITIZED
    cr_skip("damage on purpose, not for the sanitizers");
#endif
}

static struct layout seen;

/* Does check() notice if this byte is changed, in at least one of some ways? */
static bool is_noticed(char *byte)
{
    static const unsigned char changes[] = {0x01, 0x02, 0x04, 0x10, 0x40, 0x80, 0xff};
    const char old = *byte;
    bool noticed = false;
    lab_note("(the byte at offset %zu is changed)", memory_offset(byte));
    for (size_t i = 0; i < sizeof changes; i++) {
        *byte = (char)(old ^ changes[i]);
        layout_take(&seen); /* calls check(), then walks as far as that says is safe */
        *byte = old;
        lab_require(
            seen.fault.offset <= memory.bytes && seen.fault.what != NULL, "a fault has a place and words");
        noticed |= seen.fault.invariant != 0;
    }
    return noticed;
}

/* How many of these bytes can be changed without notice. */
static size_t unnoticed(void *bytes, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += !is_noticed((char *)bytes + i);
    return n;
}

/* A used, B free, C used, D free, E used, each too large for a quick bin. */
static void used_and_free(void)
{
    for (int name = A; name <= E; name++)
        lab_malloc(name, LAB_LARGE);
    lab_use_up(H);
    lab_free(B);
    lab_free(D);
}

static char *header_of(const void *payload) { return (char *)payload - mm_allocator.header_bytes; }

Test(check, damage_is_noticed_in_a_used_header, .init = begin_damage)
{
    used_and_free();
    size_t header = mm_allocator.header_bytes, n = unnoticed(header_of(lab_payload(C)), header);
    lab_require(n <= header / 4,
        "of the %zu bytes of a used block's header, %zu can change and check() sees nothing", header, n);
}

Test(check, damage_is_noticed_in_a_free_header, .init = begin_damage)
{
    used_and_free();
    size_t header = mm_allocator.header_bytes;
    size_t n = unnoticed((char *)lab_payload(C) + lab_block_bytes(C) - header, header);
    lab_require(n <= header / 4,
        "of the %zu bytes of a free block's header, %zu can change and check() sees nothing", header, n);
}

Test(check, damage_is_noticed_in_the_first_and_the_last_header, .init = begin_damage)
{
    if (mm_allocator.header_bytes == 0)
        cr_skip("this stage has no headers");
    used_and_free();
    size_t header = mm_allocator.header_bytes;
    lab_require(unnoticed(header_of(lab_payload(A)), 8) <= 2, "the first header can change unnoticed");
    lab_require(unnoticed(header_of(lab_payload(E)), 8) <= 2, "a late header can change unnoticed");
    lab_free(A);
    lab_require(unnoticed(memory.start + 8, header) <= header / 4, "the first header can change unnoticed");
}

Test(check, damage_is_noticed_in_the_last_header, .init = begin_damage)
{
    for (int name = A; name <= D; name++)
        lab_malloc(name, LAB_LARGE);
    lab_use_up(H); /* the last block is used, and so are those before it */
    size_t header = mm_allocator.header_bytes;
    const void *last = NULL;
    for (int name = A; name < LAB_NAMES; name++)
        last = lab_is_live(name) && lab_payload(name) > last ? lab_payload(name) : last;
    memset((void *)last, 0, front_usable_size(&mm_allocator, last)); /* zeros look like the end of the heap */
    lab_require(unnoticed(header_of(last), header) <= header / 4, "the last header can change unnoticed");
    unnoticed(header_of(lab_payload(B)), header);
}

Test(check, damage_is_noticed_in_free_links, .init = begin_damage)
{
    if (mm_allocator.walk_lists == NULL)
        cr_skip("this stage has no free lists");
    used_and_free();
    char *links = (char *)lab_payload(C) + lab_block_bytes(C); /* payload of D */
    lab_require(unnoticed(links, 8) == 0, "the first link of a free block can change unnoticed");
    unnoticed(links + 8, 8); /* what else is in a free block is the stage's own business, but no crash */
    unnoticed(links + LAB_LARGE - 32, 32);
}

Test(check, damage_is_noticed_in_footers, .init = begin_damage)
{
    if (mm_allocator.stage != 5)
        cr_skip("stage 5 alone has footers");
    used_and_free();
    size_t footer = sizeof(size_t);
    lab_require(unnoticed(header_of(lab_payload(C)) - footer, footer) == 0,
        "the footer of a free block can change unnoticed: the block after it finds its start by that");
}

Test(check, damage_is_noticed_in_waiting_blocks, .init = begin_damage)
{
    if (mm_allocator.stage < 4)
        cr_skip("this stage has no quick bins");
    for (int name = A; name <= E; name++)
        lab_malloc(name, 64);
    char *b = lab_payload(B), *d = lab_payload(D);
    lab_free(B);
    lab_free(D);
    lab_require(lab_blocks(MM_QUICK) >= 2, "two blocks should wait in their quick bin");
    size_t header = mm_allocator.header_bytes;
    lab_require(
        unnoticed(header_of(d), header) <= header / 4, "the header of a waiting block can change unnoticed");
    unnoticed(header_of(b), header);
    lab_require(unnoticed(d, 8) == 0, "the link of a waiting block can change unnoticed");
}

/* Beyond the last block there may be a marker; whatever there is, check() must survive its damage. */
Test(check, damage_is_survived_at_the_heaps_ends, .init = begin_damage)
{
    used_and_free();
    unnoticed(memory.start, 16);
    unnoticed(memory.start + memory.bytes - 64, 64);
}

Test(check, finds_nothing_in_a_sound_heap)
{
    lab_require(mm_allocator.check().invariant == 0, "an empty heap is sound");
    used_and_free();
    struct mm_fault fault = mm_allocator.check();
    lab_require(fault.invariant == 0 && fault.what != NULL, "this heap is sound");
}

Test(check, counts_the_blocks_it_looks_at)
{
    used_and_free();
    mm_counts.validated = 0;
    mm_allocator.check();
    size_t blocks = lab_blocks(MM_USED) + lab_blocks(MM_FREE) + lab_blocks(MM_QUICK);
    lab_require(mm_counts.validated == blocks, "check() looked at %zu blocks, and counted %zu", blocks,
        (size_t)mm_counts.validated);
}

static bool count_to_two(const struct mm_block *block, void *context)
{
    (void)block;
    return ++*(int *)context < 2;
}

Test(check, a_walk_ends_when_told)
{
    used_and_free();
    int visited = 0;
    mm_allocator.walk(count_to_two, &visited);
    lab_require(
        visited == 2, "a walk must end when its visitor returns false: it visited %d blocks, not 2", visited);
    if (mm_allocator.walk_lists == NULL)
        return;
    visited = 0;
    mm_allocator.walk_lists(count_to_two, &visited);
    lab_require(visited == 2,
        "walk_lists must end when its visitor returns false: it visited %d blocks, not 2", visited);
}
