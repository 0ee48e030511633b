/*
 * check.h - what stage 6 tells tests and people about its heap: invariants, and walks over all blocks.
 *
 * While it runs, no other thread may call the stage. What other threads have at hand cannot be seen from here, so
 * that free blocks are counted exactly only while no other thread has a cache.
 *
 * Invariants:
 *   I1   the runs tile the heap: u + u->units is the next one, from the first unit to the last
 *   I2   a run has at least one unit and ends inside the heap; a slab has no more blocks than there is room for
 *   I3   bin_of_unit[] agrees with the unit; the mark of each free block is intact
 *   I4   no two neighbours are both free runs
 *   I5   the last unit of a free run repeats its size
 *   I6   the lists of runs hold exactly the free runs, linked both ways
 *   I7   a free run is in the list of its size
 *   I8   a bit of the bitmap is set if and only if its list is not empty
 *   I9   bins, depot and slabs hold exactly the marked blocks, each where its class belongs; a bin as many as its
 *        room says
 *   I11  a slab is in the list of its class if and only if it has a block to give
 *   I12  a slab's `used` counts its blocks that it does not hold itself
 */
#ifndef STAGE_6_CHECK_H
#define STAGE_6_CHECK_H

/* Has a slab a block to give? */
static bool has_blocks(const struct unit *slab)
{
    return slab->free != &none || slab->cut < slab_blocks(slab->size_class);
}

/* What of a slab was never used, and what is too little for a block at its end. Walks show it as one free block. */
static size_t rest_bytes(const struct unit *slab) { return UNIT - slab->cut * class_bytes(slab->size_class); }

static const struct mm_fault SOUND = {0, 0, "sound"};

static struct mm_fault fault(int invariant, const void *where, const char *what)
{
    return (struct mm_fault){invariant, memory_contains(where) ? memory_offset(where) : 0, what};
}

/* Calls `visit` for each list of free blocks that can be seen from this thread, until it finds a fault. */
typedef struct mm_fault list_visitor(struct block *list, unsigned size_class, void *context);

static struct mm_fault visit_class(unsigned size_class, list_visitor *visit, void *context)
{
    struct mm_fault found = SOUND;
    for (unsigned i = 0; i < heap.depot_count[size_class] && found.invariant == 0; i++)
        found = visit(depot[size_class][i], size_class, context);
    if (cache->small_end == 0)
        return found; /* this thread has no cache */
    return found.invariant == 0 ? visit(cache->bins[size_class].head, size_class, context) : found;
}

static struct mm_fault visit_lists(list_visitor *visit, void *context)
{
    struct mm_fault found = SOUND;
    for (const struct unit *u = runs.units; u < units_end() && found.invariant == 0; u += u->units)
        if (u->kind == SLAB)
            found = visit(u->free, u->size_class, context);
    for (unsigned size_class = 1; size_class < CLASSES && found.invariant == 0; size_class++)
        found = visit_class(size_class, visit, context);
    return found;
}

/* ---- Checking ---- */

struct tally {
    size_t free_runs, giving_slabs, marked, listed;
};

static struct mm_fault check_list(struct block *list, unsigned size_class, void *context)
{
    struct tally *tally = context;
    for (struct block *b = list; b != &none; b = b->next) {
        if (!memory_contains(b) || class_of_unit(unit_number(b)) != size_class ||
            !is_block_start(b, class_inverse(size_class)))
            return fault(9, list, "its list leads to what is no block of that class");
        if (!is_marked(b))
            return fault(3, b, "it is free, but its mark is overwritten");
        if (tally->listed++ == tally->marked)
            return fault(9, b, "the lists hold more blocks than are free");
    }
    return SOUND;
}

static struct mm_fault check_slab(const struct unit *slab, struct tally *tally)
{
    size_t used = slab->cut;
    if (slab->cut > slab_blocks(slab->size_class))
        return fault(2, start_of(slab), "it has more blocks than there is room for");
    for (const struct block *b = slab->free; b != &none && memory_contains(b) && used > 0; b = b->next)
        used--;
    if (used != slab->used)
        return fault(12, start_of(slab), "its count of used blocks is wrong");
    for (size_t i = 0; i < slab->cut; i++)
        tally->marked += is_marked(slab_block(slab, i));
    tally->giving_slabs += has_blocks(slab);
    return SOUND;
}

static struct mm_fault check_unit(const struct unit *u, const struct unit *before)
{
    static const uint8_t classes[] = {[FREE_RUN] = 0, [LARGE] = LARGE_CLASS};
    if (u->kind == INSIDE)
        return fault(1, start_of(u), "the run before it does not end here");
    if (u->units == 0 || u->units > (size_t)(units_end() - u))
        return fault(2, start_of(u), "its size is impossible");
    if (class_of_unit((size_t)(u - runs.units)) != (u->kind == SLAB ? u->size_class : classes[u->kind]))
        return fault(3, start_of(u), "its class is not what the table says");
    if (u->kind == FREE_RUN && before != NULL && before->kind == FREE_RUN)
        return fault(4, start_of(u), "it and the run before it are both free: not coalesced");
    if (u->kind == FREE_RUN && u[u->units - 1].units != u->units)
        return fault(5, start_of(u), "its last unit does not repeat its size");
    return SOUND;
}

static struct mm_fault check_units(struct tally *tally)
{
    const struct unit *before = NULL;
    for (const struct unit *u = runs.units; u < units_end(); before = u, u += u->units) {
        struct mm_fault found = check_unit(u, before);
        if (found.invariant == 0 && u->kind == SLAB)
            found = check_slab(u, tally);
        if (found.invariant != 0)
            return found;
        tally->free_runs += u->kind == FREE_RUN;
        count(&mm_counts.validated, u->kind == SLAB ? u->cut + (size_t)(rest_bytes(u) != 0) : 1);
    }
    return SOUND;
}

static struct mm_fault check_unit_lists(struct tally *tally)
{
    for (unsigned list = 0; list < RUN_LISTS; list++) {
        const struct unit *prev = NULL;
        for (const struct unit *u = runs.lists[list]; u != NULL; prev = u, u = u->next) {
            if (u->kind != FREE_RUN || u->prev != prev || tally->free_runs-- == 0)
                return fault(6, start_of(u), "a link of its list of free runs is wrong");
            if (run_list(u->units) != list)
                return fault(7, start_of(u), "it is in the list of runs of another size");
        }
        if ((runs.lists[list] != NULL) != bit_test(&runs.non_empty, list))
            return fault(8, runs.start, "the bitmap disagrees with a list of free runs");
    }
    for (unsigned size_class = 0; size_class < CLASSES; size_class++)
        for (const struct unit *u = heap.slabs[size_class]; u != NULL; u = u->next)
            if (u->kind != SLAB || u->size_class != size_class || !has_blocks(u) ||
                tally->giving_slabs-- == 0)
                return fault(11, start_of(u), "it does not belong in the list of slabs with blocks to give");
    if (tally->free_runs != 0)
        return fault(6, runs.start, "a free run is in no list");
    return tally->giving_slabs == 0 ? SOUND
                                    : fault(11, runs.start, "a slab with blocks to give is in no list");
}

/* Precondition: its list was checked. */
static struct mm_fault check_room(unsigned size_class)
{
    const struct bin *bin = &cache->bins[size_class];
    int32_t room = magazine_size(size_class) + cache->limits[size_class].grown;
    for (const struct block *b = bin->head; b != &none; b = b->next)
        room--;
    return room == bin->room ? SOUND
                             : fault(9, bin->head, "its list is longer or shorter than the bin's room says");
}

static struct mm_fault mm_check(void)
{
    struct tally tally = {0};
    struct mm_fault found = check_units(&tally);
    if (found.invariant == 0)
        found = check_unit_lists(&tally);
    if (found.invariant == 0)
        found = visit_lists(check_list, &tally);
    for (unsigned size_class = 1; size_class < CLASSES && cache->small_end != 0 && found.invariant == 0;
         size_class++)
        found = check_room(size_class);
    bool sees_all = heap.caches == (size_t)(cache->small_end != 0); /* no thread but this has any at hand */
    if (found.invariant == 0 && sees_all && tally.listed != tally.marked)
        found = fault(9, runs.start, "a free block is in no list");
    return found;
}

/* With validation on, each call starts with a check of the whole heap: O(blocks). */
static inline void validate(const char *call)
{
    if (!MM_VALIDATE)
        return;
    lock_heap();
    struct mm_fault found = mm_check();
    unlock_heap();
    if (found.invariant != 0)
        mm_report_fault(call, found);
}

/* ---- Walking ---- */

struct walk {
    mm_visitor *visit;
    void *context;
    bool more;
};

static void walk_block(struct walk *w, const void *start, size_t bytes, enum mm_state state, int list)
{
    struct mm_block block = {memory_offset(start), bytes, start, state, list};
    w->more = w->more && (bytes == 0 || w->visit(&block, w->context));
}

static void walk_rest(struct walk *w, const struct unit *slab, int list)
{
    walk_block(w, slab_block(slab, slab->cut), rest_bytes(slab), MM_QUICK, list);
}

static void mm_walk(mm_visitor *visit, void *context)
{
    struct walk w = {visit, context, true};
    for (const struct unit *u = runs.units; u < units_end() && w.more; u += u->units) {
        if (u->kind != SLAB) {
            walk_block(&w, start_of(u), run_bytes(u), u->kind == FREE_RUN ? MM_FREE : MM_USED, -1);
            continue;
        }
        for (size_t i = 0; i < u->cut && w.more; i++) {
            const struct block *b = slab_block(u, i);
            walk_block(&w, b, class_bytes(u->size_class), is_marked(b) ? MM_QUICK : MM_USED, -1);
        }
        walk_rest(&w, u, -1);
    }
}

static struct mm_fault walk_list(struct block *list, unsigned size_class, void *context)
{
    struct walk *w = context;
    for (; list != &none && w->more; list = list->next)
        walk_block(w, list, class_bytes(size_class), MM_QUICK, (int)(RUN_LISTS + size_class));
    return SOUND;
}

/* Free runs, list by list; then, for each class, its free blocks. */
static void mm_walk_lists(mm_visitor *visit, void *context)
{
    struct walk w = {visit, context, true};
    for (int list = 0; list < RUN_LISTS; list++)
        for (const struct unit *u = runs.lists[list]; u != NULL && w.more; u = u->next)
            walk_block(&w, start_of(u), run_bytes(u), MM_FREE, list);
    visit_lists(walk_list, &w);
    for (const struct unit *u = runs.units; u < units_end() && w.more; u += u->units)
        if (u->kind == SLAB)
            walk_rest(&w, u, RUN_LISTS + u->size_class);
}

#endif
