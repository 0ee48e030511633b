/*
 * Stage 6: a cache for each thread. Chapter: docs/stage-6.md
 *
 * Idea:  small blocks have no header. A slab, 16 KiB of the heap, is cut into blocks of one size class, so that an
 *        address tells the size. Each thread keeps lists of free blocks of its own: malloc and free of a small
 *        block need no lock and no atomic operation. What is more than a thread may keep goes as a whole list (a
 *        magazine) to a depot that all threads share, whoever allocated its blocks. Only when the depot is full,
 *        or the heap is about to grow, are blocks sorted back into their slabs, and slabs coalesced. Large blocks
 *        are runs of whole units of 16 KiB, by best fit (runs.h). Units that nobody needed for a while go back to
 *        the system.
 * Limit: one lock for all that threads share; a slab with one used block of 16 bytes is of no use to other sizes.
 *
 *     heap   | slab: blocks of one size | large block | free run | slab ...
 *     units  | 1                        | 3           | 2        | 1
 *
 *            0      8      16
 *            | payload ... |          a used block
 *            | mark | next | ...      a free block in a list
 *
 *     malloc <- bin    <-   depot <- slabs <- free runs <- system
 *     free   -> bin    ->   depot -> slabs -> free runs -> system
 *         (a thread's)    (shared: with the lock                )
 *
 * The steps, and where they are from:
 *   1. a slab holds blocks of one size (Bonwick, "The slab allocator", USENIX 1994)
 *   2. what is cached and passed on is a magazine: one lock for many calls (Bonwick and Adams, "Magazines and
 *      vmem", USENIX 2001)
 *   3. a multiplication tells whether a block starts at an address (Lemire, Kaser and Kurz, "Faster remainder by
 *      direct computation", 2019), and a mark made of the address whether it is free
 *
 * Files: mm.c, small blocks and the interface; runs.h, units and large blocks; check.h, invariants and walks.
 * Changed: all but the interface, the numbers of the invariants, and the idea to coalesce late.
 */
#include "mm.h"
#include "misuse.h"
#include "runs.h"
#include "single.h"
#include <pthread.h>
#include <string.h>

#ifndef MM_VALIDATE
#define MM_VALIDATE 0 /* do not check the whole heap in each call; make validate=1: do */
#endif

/* A free one: its mark, as in mark_of(), comes first, so that an overrun meets it before the link. */
struct block {
    uintptr_t mark;
    struct block *next;
};

enum {
    SMALL = 1024, /* classes 1 to 64: every multiple of 16 */
    MEDIUM = 16384, /* classes 65 to 96: 8 for each doubling; what is larger is a run of its own */
    SMALL_CLASSES = SMALL / MM_ALIGNMENT,
    CLASSES = SMALL_CLASSES + 4 * 8 + 1, /* and class 0, of no blocks */
    LARGE_CLASS = CLASSES, /* stands for large blocks where a class is expected */
    MAGAZINE_BYTES = 8192, /* but 4 to 128 blocks */
    KEEP_BYTES = 1 << 20, /* that a thread may keep beyond a magazine of each class */
    DEPOT = 256, /* full magazines of a class that all threads share, at most; */
    DEPOT_BYTES = 1 << 21, /* and so many bytes */
    FETCH_BYTES = 4096, /* to take from slabs at a time, at most: memory is not touched before its time */
};

/* The free blocks of one class that a thread has at hand: a magazine at most, or more where the bin has grown. */
struct bin {
    struct block *head;
    int32_t room; /* blocks that it can still take */
    uint32_t inverse; /* of the class's size; 0: no block belongs here */
};

struct cache {
    struct bin bins[LARGE_CLASS + 1]; /* no block belongs in the first and the last */
    size_t small_end; /* SMALL + 1: what bins[] can be asked for directly; 0: nothing */
    size_t
        fetched; /* bytes that the thread got from others or from slabs, up to KEEP_BYTES: so much it may keep */
    size_t grown; /* bytes of it that bins hold beyond a magazine, at most */
    struct {
        int32_t grown; /* blocks that the bin may hold beyond a magazine */
        int32_t fetch; /* blocks to take from slabs the next time */
    } limits[CLASSES];
    struct cache *next; /* in heap.idle_caches */
};

static struct heap {
    struct unit *slabs[CLASSES]; /* those with blocks to give */
    unsigned depot_count[CLASSES]; /* full magazines in the depot */
    struct cache *idle_caches; /* of threads that ended */
    size_t caches; /* of threads that run */
    bool has_key;
} heap;

static struct block *depot[CLASSES][DEPOT]; /* full magazines; apart, so that mm_init() need not clear them */

/* For each unit: in which bin a block that starts there belongs, in bytes from the first bin. */
static uint16_t bin_of_unit[UNITS];

static pthread_mutex_t heap_mutex = PTHREAD_MUTEX_INITIALIZER; /* guards all of the above, and runs.h */

static struct cache no_cache; /* of a thread that has none yet; always empty */
static struct cache ended_cache; /* of one that is ending; always empty */
static struct cache first_cache; /* a program of one thread has nothing of ours in its heap */
static __thread struct cache *cache = &no_cache;
static pthread_key_t key; /* for its destructor: it ends a cache with its thread */

static struct block none; /* ends each list of blocks; not marked, so that malloc sees it at once */

static_assert(sizeof(struct cache) <= MEDIUM, "else a cache would be no small block");

/* What unlock_heap() must undo: in the child of a fork there is one thread again, and the lock is taken. */
static bool is_locked;

static void lock_heap(void)
{
    if (!single_threaded()) {
        pthread_mutex_lock(&heap_mutex);
        is_locked = true;
    }
    count(&mm_counts.locks, 1);
}

static void unlock_heap(void)
{
    if (!is_locked)
        return;
    is_locked = false;
    pthread_mutex_unlock(&heap_mutex);
}

/* ---- Size classes ---- */

static size_t class_bytes(unsigned size_class)
{
    if (size_class <= SMALL_CLASSES)
        return size_class * MM_ALIGNMENT;
    unsigned i = size_class - SMALL_CLASSES - 1;
    return (size_t)(9 + i % 8) << (i / 8 + 7);
}

/* The class of the smallest blocks that hold so many bytes. Precondition: at most MEDIUM. */
static unsigned class_of(size_t bytes)
{
    if (bytes <= SMALL)
        return bytes == 0 ? 1 : (unsigned)((bytes + MM_ALIGNMENT - 1) / MM_ALIGNMENT);
    unsigned log2 = floor_log2(bytes - 1); /* at least 10 */
    return SMALL_CLASSES + 1 + (log2 - 10) * 8 + (unsigned)((bytes - 1) >> (log2 - 3)) % 8;
}

static size_t slab_blocks(unsigned size_class) { return UNIT / class_bytes(size_class); }

/* Blocks in a full magazine. */
static int32_t magazine_size(unsigned size_class)
{
    size_t blocks = MAGAZINE_BYTES / class_bytes(size_class);
    return blocks < 4 ? 4 : blocks > 128 ? 128 : (int32_t)blocks;
}

/* ceil(2^32 / size): offset * inverse, modulo 2^32, is below inverse if and only if size divides the offset. */
static uint32_t class_inverse(unsigned size_class)
{
    return UINT32_MAX / (uint32_t)class_bytes(size_class) + 1;
}

/* ---- Blocks ---- */

/* No program has a reason to store it. A copy of the block has it in the wrong place, a link overwritten breaks it. */
static uintptr_t mark_of(const struct block *b) { return ((uintptr_t)b + 0x5ca1ab1e) ^ (uintptr_t)b->next; }
static bool is_marked(const struct block *b) { return b->mark == mark_of(b); }

static uint32_t offset_in_unit(const void *p) { return (uint32_t)((uintptr_t)p % UNIT); }
static bool is_block_start(const void *p, uint32_t inverse) { return offset_in_unit(p) * inverse < inverse; }

/* The class of the blocks that start in a unit; 0: none does. Precondition: number < UNITS. */
static unsigned class_of_unit(size_t number) { return bin_of_unit[number] / sizeof(struct bin); }

static void set_class(const struct unit *u, unsigned size_class)
{
    bin_of_unit[u - runs.units] = (uint16_t)(size_class * sizeof(struct bin));
}

static struct block *slab_block(const struct unit *slab, size_t i)
{
    return (struct block *)(start_of(slab) + i * class_bytes(slab->size_class));
}

/* Put a free block in front of `next`. */
static void link_to(struct block *b, struct block *next)
{
    b->next = next;
    b->mark = mark_of(b);
}

static void push(struct block **list, struct block *b)
{
    link_to(b, *list);
    *list = b;
}

#include "check.h"

/* A list that malloc takes from must hold only free blocks: else somebody wrote to one, or beyond a block before it. */
static void check_mark(const struct block *b)
{
    if (!is_marked(b))
        mm_report_fault("malloc", fault(3, b, "it is free, but its mark is overwritten"));
}

/* ---- Slabs; with the lock ---- */

/* One more slab of this class, with all its blocks to give. No: no memory. */
static bool add_slab(unsigned size_class)
{
    struct unit *slab = take_run(1);
    if (slab == NULL)
        return false;
    slab->kind = SLAB;
    slab->size_class = (uint8_t)size_class;
    slab->free = &none;
    slab->used = slab->cut = 0;
    set_class(slab, size_class);
    unit_insert(&heap.slabs[size_class], slab);
    return true;
}

/* A block in no list. Precondition: the slab is in its list, so it has a block to give. */
static struct block *slab_take(struct unit *slab)
{
    struct block *b = slab->free;
    if (b != &none) {
        check_mark(b);
        slab->free = b->next;
    } else {
        b = slab_block(slab, slab->cut++);
    }
    slab->used++;
    if (!has_blocks(slab))
        unit_remove(&heap.slabs[slab->size_class], slab);
    return b;
}

/* A list of up to `wanted` blocks; *taken says how many. None: no memory. */
static struct block *take_blocks(unsigned size_class, int32_t wanted, int32_t *taken)
{
    struct block before, *last = &before;
    for (*taken = 0; *taken < wanted; ++*taken) {
        if (heap.slabs[size_class] == NULL && (*taken > 0 || !add_slab(size_class)))
            break;
        struct block *b = slab_take(heap.slabs[size_class]);
        link_to(last, b);
        last = b;
    }
    link_to(last, &none);
    return before.next;
}

/* A block goes back to its slab; and the slab, if it has all its blocks again, to the free runs. */
static void give_block(struct block *b)
{
    struct unit *slab = unit_of(b);
    if (offset_in_unit(b) / class_bytes(slab->size_class) >= slab->cut)
        mm_report_pointer(&mm_allocator, "free", b);
    if (!has_blocks(slab))
        unit_insert(&heap.slabs[slab->size_class], slab);
    push(&slab->free, b);
    if (--slab->used != 0)
        return;
    unit_remove(&heap.slabs[slab->size_class], slab);
    set_class(slab, 0);
    slab->zero = false;
    free_run(slab);
}

static void give_blocks(struct block *list)
{
    while (list != &none) {
        struct block *next = list->next;
        give_block(list);
        list = next;
    }
}

/* ---- The depot; with the lock ---- */

static void depot_put(unsigned size_class, struct block *magazine)
{
    size_t room = DEPOT_BYTES / class_bytes(size_class) / (size_t)magazine_size(size_class);
    unsigned *count = &heap.depot_count[size_class];
    if (*count < room && *count < DEPOT)
        depot[size_class][(*count)++] = magazine;
    else
        give_blocks(magazine);
}

static struct block *depot_take(unsigned size_class)
{
    unsigned *count = &heap.depot_count[size_class];
    return *count == 0 ? &none : depot[size_class][--*count];
}

/* ---- Caches ---- */

static void clear_bin(struct bin *bin, unsigned size_class)
{
    bin->head = &none;
    bin->room = magazine_size(size_class);
}

/* Make a cache an empty one. */
static void prepare(struct cache *c)
{
    memset(c, 0, sizeof *c);
    c->small_end = SMALL + 1;
    c->bins[0].head = &none;
    for (unsigned size_class = 1; size_class < CLASSES; size_class++) {
        c->bins[size_class].inverse = class_inverse(size_class);
        clear_bin(&c->bins[size_class], size_class);
        c->limits[size_class].fetch = 1;
    }
}

/* Cut a magazine off a bin. Precondition: the bin holds so many blocks. */
static struct block *cut_magazine(struct bin *bin, int32_t size)
{
    struct block *magazine = bin->head, *last = magazine;
    while (--size > 0)
        last = last->next;
    bin->head = last->next;
    link_to(last, &none);
    return magazine;
}

/* An empty bin holds no more than a magazine again. */
static void shrink_bin(struct cache *c, unsigned size_class)
{
    c->grown -= (size_t)c->limits[size_class].grown * class_bytes(size_class);
    c->limits[size_class].grown = 0;
    clear_bin(&c->bins[size_class], size_class);
}

/* All blocks of a cache go to the depot, or to their slabs. */
static void empty(struct cache *c)
{
    for (unsigned size_class = 1; size_class < CLASSES; size_class++) {
        struct bin *bin = &c->bins[size_class];
        int32_t size = magazine_size(size_class);
        for (int32_t held = size + c->limits[size_class].grown - bin->room; held >= size; held -= size)
            depot_put(size_class, cut_magazine(bin, size));
        give_blocks(bin->head);
        shrink_bin(c, size_class);
        c->limits[size_class].fetch = 1;
    }
}

/* Coalesce all that waits, but for what other threads have at hand: nobody else may touch that. */
static void reclaim(void)
{
    if (cache->small_end != 0)
        empty(cache);
    for (unsigned size_class = 1; size_class < CLASSES; size_class++)
        while (heap.depot_count[size_class] > 0)
            give_blocks(depot_take(size_class));
    runs.reclaimed = runs.count;
}

/* The destructor of `key`: this thread ends. Other destructors may still call malloc and free. */
static void end_cache(void *ended)
{
    struct cache *c = ended;
    lock_heap();
    cache = &ended_cache;
    empty(c);
    c->next = heap.idle_caches;
    heap.idle_caches = c;
    heap.caches--;
    unlock_heap();
}

/* With the lock. NULL: no memory. */
static struct cache *new_cache(void)
{
    struct cache *c = heap.idle_caches;
    int32_t taken = 1;
    if (c != NULL)
        heap.idle_caches = c->next;
    else if (first_cache.small_end == 0)
        c = &first_cache;
    else
        c = (struct cache *)take_blocks(class_of(sizeof *c), 1, &taken);
    if (taken == 0)
        return NULL;
    prepare(c);
    heap.caches++;
    return c;
}

/* This thread has a cache, if need be a new one. No: it must do without, as it is ending or there is no memory. */
static bool has_cache(void)
{
    if (cache != &no_cache)
        return cache != &ended_cache;
    lock_heap();
    if (!heap.has_key)
        heap.has_key = pthread_key_create(&key, end_cache) == 0;
    struct cache *c = new_cache();
    unlock_heap();
    if (c == NULL)
        return false;
    cache = c;
    if (heap.has_key)
        pthread_setspecific(key, c); /* may call calloc: the cache is ready */
    return true;
}

/* A magazine for an empty bin, of the depot or a new one, the longer the more were asked for. */
static void refill(unsigned size_class)
{
    struct bin *bin = &cache->bins[size_class];
    int32_t size = magazine_size(size_class), taken = size, *fetch = &cache->limits[size_class].fetch;
    shrink_bin(cache, size_class);
    lock_heap();
    bin->head = depot_take(size_class);
    if (bin->head == &none) {
        bin->head = take_blocks(size_class, *fetch, &taken);
        if (2 * *fetch <= size && 2 * (size_t)*fetch * class_bytes(size_class) <= FETCH_BYTES)
            *fetch *= 2;
    }
    unlock_heap();
    bin->room -= taken;
    cache->fetched += (size_t)taken * class_bytes(size_class);
    if (cache->fetched > KEEP_BYTES)
        cache->fetched = KEEP_BYTES;
}

/* Room for a magazine in a full bin: it grows, or the depot gets one. Who never fetched any, keeps only one. */
static void make_room(unsigned size_class)
{
    struct bin *bin = &cache->bins[size_class];
    int32_t size = magazine_size(size_class);
    size_t bytes = (size_t)size * class_bytes(size_class);
    if (cache->grown + bytes <= cache->fetched) {
        cache->grown += bytes;
        cache->limits[size_class].grown += size;
    } else {
        struct block *magazine = cut_magazine(bin, size);
        lock_heap();
        depot_put(size_class, magazine);
        unlock_heap();
    }
    bin->room = size;
}

/* ---- Large blocks ---- */

static size_t units_for(size_t bytes) { return bytes == 0 ? 1 : (bytes + UNIT - 1) / UNIT; }

static void *take_large(size_t alignment, size_t bytes)
{
    lock_heap();
    struct unit *u =
        alignment <= UNIT ? take_run(units_for(bytes)) : take_aligned_run(units_for(bytes), alignment);
    if (u != NULL) {
        u->kind = LARGE;
        set_class(u, LARGE_CLASS);
    }
    unlock_heap();
    return u == NULL ? NULL : start_of(u);
}

static void free_large(struct unit *u)
{
    lock_heap();
    if (u->kind != LARGE) /* another thread was quicker */
        mm_report_pointer(&mm_allocator, "free", start_of(u));
    set_class(u, 0);
    u->zero = u->units >= HUGE_UNITS && memory_release(start_of(u), run_bytes(u));
    free_run(u);
    unlock_heap();
}

static bool resize_large(struct unit *u, size_t bytes)
{
    lock_heap();
    bool resized = resize_run(u, units_for(bytes));
    unlock_heap();
    return resized;
}

/* ---- The interface ---- */

/* The class of a used block whose payload a caller gave; a report and abort() if the pointer is not one. */
static unsigned checked_class(const void *payload, const char *call)
{
    size_t number = unit_number(payload);
    unsigned size_class = number < UNITS ? class_of_unit(number) : 0;
    bool starts = size_class == LARGE_CLASS
                      ? offset_in_unit(payload) == 0
                      : size_class != 0 && is_block_start(payload, class_inverse(size_class));
    if (!starts || (size_class != LARGE_CLASS && is_marked(payload)))
        mm_report_pointer(&mm_allocator, call, payload);
    return size_class;
}

static size_t block_bytes(const void *payload, unsigned size_class)
{
    return size_class == LARGE_CLASS ? run_bytes(unit_of(payload)) : class_bytes(size_class);
}

/* Precondition: the bin is not empty. */
static inline void *pop(struct bin *bin)
{
    struct block *b = bin->head;
    bin->head = b->next;
    bin->room++;
    b->mark = 0;
    return b;
}

/* All but the common case of mm_malloc(). */
static __attribute__((noinline)) void *malloc_slowly(size_t bytes)
{
    if (bytes > MM_MAX_PAYLOAD)
        return memory_refuse();
    if (bytes > MEDIUM)
        return take_large(UNIT, bytes);
    unsigned size_class = class_of(bytes);
    struct bin alone = {.head = &none}, *bin = has_cache() ? &cache->bins[size_class] : &alone;
    if (bin == &alone) {
        lock_heap();
        bin->head = take_blocks(size_class, 1, &bin->room);
        unlock_heap();
    } else if (bin->head == &none) {
        refill(size_class);
    }
    if (bin->head == &none)
        return NULL;
    check_mark(bin->head);
    return pop(bin);
}

static inline void *mm_malloc(size_t bytes)
{
    validate("malloc");
    if (bytes < cache->small_end) {
        struct bin *bin = &cache->bins[(bytes + MM_ALIGNMENT - 1) / MM_ALIGNMENT];
        if (is_marked(bin->head))
            return pop(bin);
    }
    return malloc_slowly(bytes);
}

/* All but the common case of mm_free(). */
static __attribute__((noinline)) void free_slowly(void *old)
{
    if (old == NULL)
        return;
    unsigned size_class = checked_class(old, "free");
    if (size_class == LARGE_CLASS) {
        free_large(unit_of(old));
    } else if (has_cache()) {
        struct bin *bin = &cache->bins[size_class];
        if (bin->room <= 0)
            make_room(size_class);
        bin->room--;
        push(&bin->head, old);
    } else {
        lock_heap();
        give_block(old);
        unlock_heap();
    }
}

static inline void mm_free(void *old)
{
    validate("free");
    size_t number = unit_number(old);
    if (number < UNITS) {
        struct bin *bin = (struct bin *)((char *)cache->bins + bin_of_unit[number]);
        if (is_block_start(old, bin->inverse) && !is_marked(old) && --bin->room >= 0) {
            push(&bin->head, old);
            return;
        }
    }
    free_slowly(old);
}

static size_t mm_usable_size(const void *payload)
{
    validate("malloc_usable_size");
    return block_bytes(payload, checked_class(payload, "malloc_usable_size"));
}

/* In place, unless a small block's class would change by more than a half, or a large one cannot grow. */
static void *mm_realloc(void *old, size_t bytes)
{
    validate("realloc");
    unsigned size_class = checked_class(old, "realloc");
    size_t had = block_bytes(old, size_class);
    if (size_class == LARGE_CLASS ? bytes > MEDIUM && resize_large(unit_of(old), bytes)
                                  : bytes <= had && bytes >= had / 2)
        return old;
    void *moved = mm_malloc(bytes);
    if (moved == NULL)
        return bytes <= had ? old : NULL;
    size_t kept = bytes < had ? bytes : had;
    memcpy(moved, old, kept);
    count(&mm_counts.copied, kept);
    mm_free(old);
    return moved;
}

/*
 * Slabs are aligned to UNIT, so all blocks are aligned if the alignment divides their size. It does: of the classes
 * from a multiple of the alignment to the next, the first is that multiple, or classes are farther apart than it.
 */
static void *mm_aligned_alloc(size_t alignment, size_t bytes)
{
    size_t rounded = round_up(bytes == 0 ? 1 : bytes, alignment);
    if (rounded > MEDIUM)
        return take_large(alignment, bytes);
    return mm_malloc(rounded);
}

/* Memory that the system zeroed is not zeroed again. */
static void *mm_calloc(size_t bytes)
{
    void *payload = mm_malloc(bytes);
    if (payload == NULL || (bytes > MEDIUM && unit_of(payload)->zero))
        return payload;
    count(&mm_counts.cleared, bytes);
    return memset(payload, 0, bytes);
}

static void mm_init(void)
{
    struct runs no_runs = {.start = runs.start, .units = runs.units};
    if (runs.count != 0)
        memset(runs.units, 0, runs.count * sizeof *runs.units);
    memset(bin_of_unit, 0, runs.count * sizeof *bin_of_unit);
    memset(&first_cache, 0, sizeof first_cache);
    runs = no_runs;
    heap = (struct heap){.has_key = heap.has_key};
    cache = &no_cache;
}

const struct mm_allocator mm_allocator = {
    .name = "thread-caches",
    .stage = 6,
    .header_bytes = 0,
    .thread_safe = true,
    .own_checks = true,
    .detects_inside_block = true,
    .detects_damage = false,
    .init = mm_init,
    .malloc = mm_malloc,
    .free = mm_free,
    .realloc = mm_realloc,
    .aligned_alloc = mm_aligned_alloc,
    .calloc = mm_calloc,
    .usable_size = mm_usable_size,
    .check = mm_check,
    .walk = mm_walk,
    .walk_lists = mm_walk_lists,
    .before_fork = lock_heap,
    .after_fork = unlock_heap,
};
