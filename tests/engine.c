/* engine.c - see engine.h. */
#include "engine.h"
#include "front.h"
#include "layout.h"
#include "memory.h"
#include "pattern.h"
#include <stdarg.h>
#include <stdlib.h>

const struct engine_options engine_defaults = {
    .every = 1,
    .limit_bytes = (size_t)1 << 30,
    .hang_seconds = 1,
};

/* ---- The model ---- */

/* What must be true of a slot's block. */
struct model_block {
    unsigned char *payload; /* NULL: the slot holds no block */
    size_t bytes; /* asked for; all of them are filled */
    uint32_t stamp; /* of the operation that gave it this payload and this size */
    uint32_t seen; /* stamp of the last walk that found it */
    size_t live_index;
};

/*
 * The heap as a map of cells of 8 bytes: which operation laid a block (header and payload) over it last,
 * and which before that. Operations are named by stamps, which go on counting over resets: so that a reset
 * need not clear the map, stamps from before it mean "none".
 */
enum { CELL_BYTES = 8 };
struct cell {
    uint32_t now, before;
};

struct engine {
    const struct trace *trace;
    struct engine_options options;
    struct model_block *blocks; /* by slot */
    uint32_t *live; /* the slots that hold a block */
    size_t live_count;
    uint32_t *ended_by; /* by operation that gave a block: stamp of the one that took it back */
    struct cell *cells;
    size_t cell_count;
    uint32_t base, last_stamp; /* stamps of this run are greater than base */
    uint32_t capacity; /* most operations that there can be */
    size_t payload_bytes, peak_payload_bytes;
    size_t refused;
    struct engine_progress own_progress, *progress;
    struct engine_failure *failure;
    size_t used_found; /* by a walk */
    size_t words; /* characters of failure->words */
};

static _Noreturn void stop_for_memory(void)
{
    fputs("alloclab: no memory for the model of the heap\n", stderr);
    exit(1);
}

static void *allocate(size_t count, size_t bytes)
{
    void *p = calloc(count == 0 ? 1 : count, bytes);
    if (p == NULL)
        stop_for_memory();
    return p;
}

struct engine *engine_open(
    const struct trace *trace, const struct engine_options *options, struct engine_progress *progress)
{
    struct engine *e = allocate(1, sizeof *e);
    e->trace = trace;
    e->options = *options;
    e->capacity = (uint32_t)trace->count;
    e->blocks = allocate(trace->slots, sizeof *e->blocks);
    e->live = allocate(trace->slots, sizeof *e->live);
    e->ended_by = allocate(trace->count, sizeof *e->ended_by);
    e->progress = progress == NULL ? &e->own_progress : progress;
    engine_reset(e);
    return e;
}

void engine_close(struct engine *e)
{
    free(e->blocks);
    free(e->live);
    free(e->ended_by);
    free(e->cells);
    free(e);
}

void engine_reset(struct engine *e)
{
    memory_reset();
    memory_set_limit(e->options.limit_bytes);
    mm_allocator.init();
    while (e->live_count > 0)
        e->blocks[e->live[--e->live_count]].payload = NULL;
    e->payload_bytes = e->peak_payload_bytes = e->refused = 0;
    e->base = e->last_stamp;
    if (e->base >= UINT32_MAX - e->capacity) {
        memset(e->cells, 0, e->cell_count * sizeof *e->cells);
        e->base = e->last_stamp = 0;
    }
}

struct engine_totals engine_totals(const struct engine *e)
{
    return (struct engine_totals){e->refused, e->peak_payload_bytes, memory.peak_bytes};
}

static uint32_t stamp_of(const struct engine *e, size_t op) { return e->base + (uint32_t)op + 1; }
static size_t op_of(const struct engine *e, uint32_t stamp) { return stamp - e->base - 1; }

static struct model_block *block_of_stamp(const struct engine *e, uint32_t stamp)
{
    return stamp <= e->base ? NULL : &e->blocks[e->trace->ops[op_of(e, stamp)].slot];
}

/* The live block that an operation gave, if it is as that operation left it. */
static struct model_block *live_of_stamp(const struct engine *e, uint32_t stamp)
{
    struct model_block *b = block_of_stamp(e, stamp);
    return b != NULL && b->payload != NULL && b->stamp == stamp ? b : NULL;
}

static uint32_t slot_of(const struct engine *e, const struct model_block *b)
{
    return (uint32_t)(b - e->blocks);
}

/* The map is as large as the heap. */
static void grow_map(struct engine *e)
{
    size_t needed = memory.bytes / CELL_BYTES;
    if (needed <= e->cell_count)
        return;
    size_t count = needed + needed / 2;
    e->cells = realloc(e->cells, count * sizeof *e->cells);
    if (e->cells == NULL)
        stop_for_memory();
    memset(e->cells + e->cell_count, 0, (count - e->cell_count) * sizeof *e->cells);
    e->cell_count = count;
}

/* An empty payload has a place of its own too. */
static size_t room_of(size_t bytes) { return bytes == 0 ? 1 : bytes; }

static void forget(struct engine *e, struct model_block *b, size_t op)
{
    e->ended_by[op_of(e, b->stamp)] = stamp_of(e, op);
    e->payload_bytes -= b->bytes;
    b->payload = NULL;
    uint32_t last = e->live[--e->live_count];
    e->live[b->live_index] = last;
    e->blocks[last].live_index = b->live_index;
}

/*
 * Lay the stamp over a block: its payload, and its header where no live payload is. To be brief, over the
 * first cell.
 */
static void cover(struct engine *e, const struct model_block *b)
{
    size_t start = memory_offset(b->payload);
    size_t header = mm_allocator.header_bytes < start ? mm_allocator.header_bytes : start;
    size_t end = start + room_of(b->bytes);
    if (e->options.brief) {
        e->cells[start / CELL_BYTES].now = b->stamp;
        return;
    }
    for (size_t i = (start - header) / CELL_BYTES; i * CELL_BYTES < end; i++) {
        struct cell *c = &e->cells[i];
        if (i * CELL_BYTES < start && live_of_stamp(e, c->now) != NULL)
            continue;
        if (block_of_stamp(e, c->now) != b)
            c->before = c->now;
        c->now = b->stamp;
    }
}

static void remember(struct engine *e, struct model_block *b, void *payload, size_t bytes, size_t op)
{
    *b = (struct model_block){.payload = payload, .bytes = bytes, .stamp = stamp_of(e, op)};
    if (e->last_stamp < b->stamp)
        e->last_stamp = b->stamp;
    b->live_index = e->live_count;
    e->live[e->live_count++] = slot_of(e, b);
    e->ended_by[op] = 0;
    e->payload_bytes += bytes;
    if (e->payload_bytes > e->peak_payload_bytes)
        e->peak_payload_bytes = e->payload_bytes;
    cover(e, b);
}

/* ---- Words ---- */

__attribute__((format(printf, 2, 3))) static void say(struct engine *e, const char *format, ...)
{
    char *text = e->failure->words;
    size_t size = sizeof e->failure->words;
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text + e->words, size - e->words, format, arguments);
    va_end(arguments);
    e->words = n < 0 || (size_t)n >= size - e->words ? size - 1 : e->words + (size_t)n;
}

/* "`f 2` (line 14)" */
static void say_op(struct engine *e, size_t op)
{
    char text[TRACE_TEXT_BYTES];
    const struct trace_op *o = &e->trace->ops[op];
    say(e, "`%s` (line %u)", trace_op_text(e->trace, o, text), (unsigned)o->line);
}

static unsigned long long id_of(const struct engine *e, uint32_t slot) { return e->trace->ids[slot]; }

/* Who had a stamp's block: "id 1 (`a 1 64` (line 2), freed by `f 1` (line 9))" */
static void say_owner(struct engine *e, uint32_t stamp)
{
    size_t op = op_of(e, stamp);
    say(e, "id %llu, from ", id_of(e, e->trace->ops[op].slot));
    say_op(e, op);
    uint32_t end = e->ended_by[op];
    if (end == 0)
        return;
    say(e, " to ");
    say_op(e, op_of(e, end));
}

static struct cell cell_at(const struct engine *e, size_t offset)
{
    struct cell none = {0, 0};
    return offset / CELL_BYTES < e->cell_count ? e->cells[offset / CELL_BYTES] : none;
}

/* Whose block lies, or lay last, at an offset of the heap. */
static void say_place(struct engine *e, size_t offset)
{
    uint32_t stamp = cell_at(e, offset).now;
    if (stamp <= e->base) {
        say(e, "no operation had a block there");
        return;
    }
    say(e, live_of_stamp(e, stamp) != NULL ? "the block of " : "free; last the block of ");
    say_owner(e, stamp);
}

static bool fail(struct engine *e, enum engine_fault fault, int detail)
{
    e->failure->fault = fault;
    e->failure->detail = detail;
    return false;
}

/* Words start with the operation that was just run, or is about to be. */
static void say_start(struct engine *e, uint32_t slot)
{
    e->words = 0;
    e->failure->op = e->progress->op;
    e->failure->slot = slot;
    say(e, e->progress->phase == ENGINE_BEFORE ? "before " : "after ");
    say_op(e, e->progress->op);
    say(e, ": ");
}

/* ---- Checking what was returned ---- */

static bool check_place(struct engine *e, const struct trace_op *op, const unsigned char *p, size_t bytes)
{
    size_t alignment =
        op->kind == TRACE_ALIGNED && op->alignment > MM_ALIGNMENT ? op->alignment : MM_ALIGNMENT;
    if (!memory_contains(p) || room_of(bytes) > memory.bytes - memory_offset(p)) {
        say_start(e, op->slot);
        say(e, "it returned %p, and these %zu bytes are not inside the heap (%p, %zu bytes)", (const void *)p,
            bytes, (const void *)memory.start, memory.bytes);
        return fail(e, ENGINE_OUTSIDE, 0);
    }
    if (!is_aligned(p, alignment)) {
        say_start(e, op->slot);
        say(e, "it returned a payload at heap offset %zu (address %p), which is not aligned to %zu",
            memory_offset(p), (const void *)p, alignment);
        return fail(e, ENGINE_MISALIGNED, (int)alignment);
    }
    size_t start = memory_offset(p), end = start + room_of(bytes);
    for (size_t i = start / CELL_BYTES; !e->options.brief && i * CELL_BYTES < end; i++) {
        const struct model_block *b = live_of_stamp(e, e->cells[i].now);
        if (b == NULL || (i + 1) * CELL_BYTES <= memory_offset(b->payload))
            continue;
        size_t other = memory_offset(b->payload);
        say_start(e, op->slot);
        say(e, "it returned memory that is still in use: offsets %zu to %zu, but %zu to %zu belong to ",
            start, end - 1, other, other + room_of(b->bytes) - 1);
        say_owner(e, b->stamp);
        e->failure->other = slot_of(e, b);
        return fail(e, ENGINE_OVERLAP, 0);
    }
    return true;
}

/* NULL is right only where the memory source refused, or was asked for more than there can be. */
static bool check_null(struct engine *e, const struct trace_op *op, size_t bytes, size_t refusals)
{
    size_t limit = e->options.limit_bytes;
    bool may_fail = refusals != 0 || bytes > limit || (op->kind == TRACE_ALIGNED && op->alignment > limit);
    if (!may_fail) {
        say_start(e, op->slot);
        say(e, "it returned NULL, but the memory source refused nothing");
        return fail(e, ENGINE_ANSWER, ENGINE_NULL);
    }
    if (errno != ENOMEM) {
        say_start(e, op->slot);
        say(e, "it returned NULL for want of memory, but errno is %d (%s), not ENOMEM", errno,
            strerror(errno));
        return fail(e, ENGINE_ANSWER, ENGINE_ERRNO);
    }
    e->refused++;
    return true;
}

static bool check_zeroed(struct engine *e, const struct model_block *b)
{
    size_t i = 0;
    while (i < b->bytes && b->payload[i] == 0)
        i++;
    if (i == b->bytes)
        return true;
    size_t offset = memory_offset(b->payload + i);
    uint32_t before = cell_at(e, offset).before;
    say_start(e, slot_of(e, b));
    say(e, "byte %zu of the %zu that calloc returned is 0x%02x, not zero", i, b->bytes, b->payload[i]);
    if (before > e->base) {
        say(e, "\n  this memory was used before, by ");
        say_owner(e, before);
    }
    e->failure->offset = i;
    return fail(e, ENGINE_NOT_ZERO, 0);
}

static bool check_kept(struct engine *e, const struct model_block *b, const struct model_block *old)
{
    size_t kept = old->bytes < b->bytes ? old->bytes : b->bytes;
    size_t i = pattern_difference(b->payload, kept, old->stamp);
    if (i == kept)
        return true;
    say_start(e, slot_of(e, b));
    say(e, "realloc must keep the first %zu bytes of id %llu, but byte %zu has changed", kept,
        id_of(e, slot_of(e, b)), i);
    if (old->payload == b->payload)
        say(e, "\n  the payload stayed where it was, at offset %zu", memory_offset(b->payload));
    else
        say(e, "\n  the payload moved from offset %zu to %zu", memory_offset(old->payload),
            memory_offset(b->payload));
    e->failure->offset = i;
    return fail(e, ENGINE_LOST, 0);
}

/* ---- Checking the heap ---- */

static bool check_payload(struct engine *e, const struct model_block *b)
{
    e->progress->beats++;
    size_t i = e->options.blind ? b->bytes : pattern_difference(b->payload, b->bytes, b->stamp);
    if (i == b->bytes)
        return true;
    size_t offset = memory_offset(b->payload + i);
    uint32_t before = cell_at(e, offset).before;
    say_start(e, slot_of(e, b));
    say(e, "byte %zu of %zu in the payload of id %llu has changed (heap offset %zu)", i, b->bytes,
        id_of(e, slot_of(e, b)), offset);
    say(e, "\n  the payload belongs to ");
    say_owner(e, b->stamp);
    if (before > e->base) {
        say(e, "\n  the block that lay over this place before: ");
        say_owner(e, before);
    }
    e->failure->offset = i;
    return fail(e, ENGINE_DAMAGED, 0);
}

static bool check_payloads(struct engine *e)
{
    for (size_t i = 0; i < e->live_count; i++)
        if (!check_payload(e, &e->blocks[e->live[i]]))
            return false;
    return true;
}

/* The block that a walk found before the one at `offset`; for the words about I4. */
struct neighbour {
    size_t offset, before;
    bool found, has_before;
};

static bool visit_neighbour(const struct mm_block *block, void *context)
{
    struct neighbour *n = context;
    n->found = block->offset == n->offset;
    if (!n->found && block->offset < n->offset) {
        n->before = block->offset;
        n->has_before = true;
    }
    return !n->found && block->offset < n->offset;
}

static bool check_invariants(struct engine *e)
{
    e->progress->phase = ENGINE_CHECK;
    struct mm_fault fault = mm_allocator.check();
    if (fault.invariant == 0)
        return true;
    say_start(e, TRACE_NULL);
    say(e, "I%d does not hold: %s (docs/faults.md#i%d)", fault.invariant, fault.what, fault.invariant);
    if (fault.offset + mm_allocator.header_bytes >= memory.bytes) {
        say(e, "\n  it: the end of the heap, offset %zu", fault.offset);
    } else if (fault.offset != 0) { /* 0: no block in particular */
        say(e, "\n  it: the block at offset %zu; ", fault.offset);
        say_place(e, fault.offset + mm_allocator.header_bytes);
    }
    struct neighbour n = {.offset = fault.offset};
    if (fault.invariant == 4)
        mm_allocator.walk(visit_neighbour, &n);
    if (n.found && n.has_before) {
        say(e, "\n  the block before it: at offset %zu; ", n.before);
        say_place(e, n.before + mm_allocator.header_bytes);
    }
    return fail(e, ENGINE_INVARIANT, fault.invariant);
}

static bool visit_used(const struct mm_block *block, void *context)
{
    struct engine *e = context;
    if (block->state != MM_USED)
        return true;
    struct model_block *b = live_of_stamp(e, cell_at(e, memory_offset(block->payload)).now);
    if (b == NULL || b->payload != block->payload) {
        say_start(e, TRACE_NULL);
        say(e, "the block at offset %zu, of %zu bytes, is used, but no id has it: it was lost\n  ",
            block->offset, block->block_bytes);
        say_place(e, memory_offset(block->payload));
        return fail(e, ENGINE_LEAK, 0);
    }
    size_t room = block->offset + block->block_bytes - memory_offset(b->payload);
    if (room < b->bytes) {
        say_start(e, slot_of(e, b));
        say(e, "the block of id %llu at offset %zu has room for %zu bytes, but %zu were asked for",
            id_of(e, slot_of(e, b)), block->offset, room, b->bytes);
        return fail(e, ENGINE_SMALL, 0);
    }
    b->seen = stamp_of(e, e->progress->op);
    e->used_found++;
    return true;
}

/* The used blocks are the live ones, no more and no less. */
static bool check_used(struct engine *e)
{
    e->progress->phase = ENGINE_WALK;
    e->used_found = 0;
    mm_allocator.walk(visit_used, e);
    if (e->failure->fault != ENGINE_SOUND)
        return false;
    for (size_t i = 0; e->used_found < e->live_count && i < e->live_count; i++) {
        const struct model_block *b = &e->blocks[e->live[i]];
        if (b->seen == stamp_of(e, e->progress->op))
            continue;
        say_start(e, slot_of(e, b));
        say(e, "a walk over the heap does not find the block of ");
        say_owner(e, b->stamp);
        say(e, " among the used ones (its payload is at offset %zu)", memory_offset(b->payload));
        return fail(e, ENGINE_MISSING, 0);
    }
    return true;
}

static bool check_usable(struct engine *e, const struct model_block *b)
{
    size_t usable = front_usable_size(&mm_allocator, b->payload);
    if (usable >= b->bytes && usable <= memory.bytes - memory_offset(b->payload))
        return true;
    say_start(e, slot_of(e, b));
    say(e,
        "malloc_usable_size says that id %llu has %zu bytes, but %zu were asked for and the heap ends after "
        "%zu",
        id_of(e, slot_of(e, b)), usable, b->bytes, memory.bytes - memory_offset(b->payload));
    return fail(e, ENGINE_SMALL, 0);
}

/* ---- One operation ---- */

static void *call(const struct trace_op *op, void *old)
{
    const struct mm_allocator *a = &mm_allocator;
    switch (op->kind) {
    case TRACE_MALLOC:
        return front_malloc(a, op->bytes);
    case TRACE_CALLOC:
        return front_calloc(a, op->count, op->bytes);
    case TRACE_ALIGNED:
        return front_aligned_alloc(a, op->alignment, op->bytes);
    case TRACE_REALLOC:
        return front_realloc(a, old, op->bytes);
    case TRACE_FREE:
        front_free(a, old);
        return NULL;
    default: /* TRACE_TOUCH is the program's own doing */
        return old;
    }
}

/* All bytes that the operation asks for; SIZE_MAX if that overflows. */
static size_t bytes_of(const struct trace_op *op)
{
    size_t total;
    if (op->kind != TRACE_CALLOC)
        return op->bytes;
    return __builtin_mul_overflow(op->count, op->bytes, &total) ? SIZE_MAX : total;
}

/* The operation gave no block, and was not to give one. */
static bool check_nothing(struct engine *e, const struct trace_op *op, const void *p)
{
    if (p != NULL) {
        say_start(e, op->slot);
        say(e, "it must return NULL, but returned %p", p);
        return fail(e, ENGINE_ANSWER, ENGINE_NOT_NULL);
    }
    if (op->kind == TRACE_ALIGNED && errno != EINVAL) {
        say_start(e, op->slot);
        say(e, "%zu is no alignment, but errno is %d (%s), not EINVAL", op->alignment, errno,
            strerror(errno));
        return fail(e, ENGINE_ANSWER, ENGINE_ERRNO);
    }
    return true;
}

/* What an operation is given must be sound. To be brief, it is: it was checked after the operation before. */
static bool check_given(struct engine *e, const struct model_block *b)
{
    return b->payload == NULL || e->options.brief || check_payload(e, b);
}

/* What the heap has not grown to yet is zero, as it came from the system. Only what is sure to be readable. */
static bool check_beyond(struct engine *e)
{
    enum { PAGE = 4096, LOOKED_AT = 64 };
    size_t rest = (PAGE - memory.bytes % PAGE) % PAGE;
    for (size_t i = memory.bytes; i < memory.bytes + (rest < LOOKED_AT ? rest : LOOKED_AT); i++) {
        if (memory.start[i] == 0)
            continue;
        say_start(e, TRACE_NULL);
        say(e,
            "the stage wrote past the end of the heap: the byte at offset %zu is not zero, the heap ends at "
            "%zu",
            i, memory.bytes);
        e->failure->offset = i;
        return fail(e, ENGINE_BEYOND, 0);
    }
    return true;
}

static bool check_structure(struct engine *e)
{
    return check_invariants(e) && check_used(e) && check_beyond(e);
}

static bool step_free(struct engine *e, size_t i, bool check_all)
{
    const struct trace_op *op = &e->trace->ops[i];
    struct model_block *b = op->slot == TRACE_NULL ? NULL : &e->blocks[op->slot];
    bool has_block = b != NULL && b->payload != NULL;
    if (has_block && !check_given(e, b))
        return false;
    e->progress->phase = ENGINE_CALL;
    void *p = has_block ? call(op, b->payload) : NULL;
    if (!has_block)
        front_free(&mm_allocator, NULL);
    if (has_block)
        forget(e, b, i);
    return check_nothing(e, op, p) && (!check_all || (check_structure(e) && check_payloads(e)));
}

/* The structure is checked before the payload is filled: then what is filled lies inside a sound block. */
static bool step_allocate(struct engine *e, size_t i, bool check_all)
{
    const struct trace_op *op = &e->trace->ops[i];
    struct model_block *b = &e->blocks[op->slot], old = *b;
    if (!check_given(e, b))
        return false;
    size_t bytes = bytes_of(op), refusals = memory.attempts - memory.growths;
    e->progress->phase = ENGINE_CALL;
    errno = 0;
    unsigned char *p = call(op, old.payload);
    if (op->kind == TRACE_ALIGNED && !is_power_of_two(op->alignment))
        return check_nothing(e, op, p) && (!check_all || check_structure(e));
    if (p == NULL && !check_null(e, op, bytes, memory.attempts - memory.growths - refusals))
        return false;
    grow_map(e);
    if (p != NULL) {
        if (old.payload != NULL)
            forget(e, b, i);
        if (!check_place(e, op, p, bytes))
            return false;
        remember(e, b, p, bytes, i);
    }
    if (check_all && !check_structure(e))
        return false;
    e->progress->phase = ENGINE_FILL;
    if (p != NULL) {
        if (check_all && !check_usable(e, b))
            return false;
        if (op->kind == TRACE_CALLOC && !check_zeroed(e, b))
            return false;
        if (e->options.blind)
            return true;
        if (old.payload != NULL && !check_kept(e, b, &old))
            return false;
        pattern_fill(p, bytes, b->stamp);
    }
    return !check_all || check_payloads(e);
}

static bool step_touch(struct engine *e, size_t i, bool check_all)
{
    const struct trace_op *op = &e->trace->ops[i];
    const struct model_block *b = &e->blocks[op->slot];
    if (!check_given(e, b))
        return false;
    return !check_all || (check_structure(e) && check_payloads(e));
}

bool engine_step(struct engine *e, size_t i, bool check_all, struct engine_failure *failure)
{
    const struct trace_op *op = &e->trace->ops[i];
    e->progress->op = i;
    e->progress->beats++;
    e->progress->phase = ENGINE_BEFORE;
    e->failure = failure;
    failure->fault = ENGINE_SOUND;
    if (op->kind == TRACE_TOUCH)
        return step_touch(e, i, check_all);
    return trace_frees(op) ? step_free(e, i, check_all) : step_allocate(e, i, check_all);
}

void engine_layout(const struct engine *e, struct layout *layout)
{
    layout_take(layout);
    for (size_t i = 0; i < e->live_count; i++) {
        char name[LAYOUT_NAME_BYTES];
        snprintf(name, sizeof name, "%llu", id_of(e, e->live[i]));
        layout_name(layout, e->blocks[e->live[i]].payload, name);
    }
}
