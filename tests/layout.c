/* layout.c - see layout.h. */
#define _POSIX_C_SOURCE 200809L /* sigaction, sigsetjmp */
#include "layout.h"
#include "count.h"
#include "memory.h"
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE_COLUMNS = 100, /* characters of a picture */
    AROUND = 2, /* blocks shown before and after those that changed */
    LISTED_SHOWN = 12, /* entries of free lists shown */
};

/* ---- Taking ---- */

static struct layout_block *add(struct layout_block **blocks, size_t *n, size_t *room)
{
    if (*n == *room) {
        *room = *room == 0 ? 64 : 2 * *room;
        *blocks = realloc(*blocks, *room * sizeof **blocks);
        if (*blocks == NULL)
            abort();
    }
    return &(*blocks)[(*n)++];
}

static bool take_block(const struct mm_block *block, void *context)
{
    struct layout *l = context;
    const struct mm_block *last = l->block_count == 0 ? NULL : &l->blocks[l->block_count - 1].block;
    if (last != NULL && block->offset != last->offset + last->block_bytes) {
        l->cut = "the walk leaves the heap's order here";
        return false;
    }
    *add(&l->blocks, &l->block_count, &l->block_room) = (struct layout_block){.block = *block};
    /* I1 to I3 are about the way to the next block: past a block that breaks them is no safe ground. */
    bool broken = l->fault.invariant >= 1 && l->fault.invariant <= 3 && block->offset >= l->fault.offset;
    if (broken)
        l->cut = "the damage hides what follows";
    else if (block->block_bytes == 0)
        l->cut = "a block of 0 bytes: the walk does not get past it";
    return l->cut == NULL;
}

static bool take_listed(const struct mm_block *block, void *context)
{
    struct layout *l = context;
    if (l->listed_count > l->block_count) {
        l->cut = "the free lists hold more blocks than the heap: a cycle";
        return false;
    }
    *add(&l->listed, &l->listed_count, &l->listed_room) = (struct layout_block){.block = *block};
    return true;
}

static sigjmp_buf crashed;

static void on_crash(int signal) { siglongjmp(crashed, signal); }

void layout_take(struct layout *l)
{
    static const int signals[] = {SIGSEGV, SIGBUS};
    struct sigaction jump = {.sa_handler = on_crash}, saved[2];
    struct mm_counts counts = mm_counts;
    l->block_count = l->listed_count = 0;
    l->heap_bytes = memory.bytes;
    l->fault = (struct mm_fault){0, 0, "sound"};
    l->cut = NULL;

    for (int i = 0; i < 2; i++)
        sigaction(signals[i], &jump, &saved[i]);
    if (sigsetjmp(crashed, 1) == 0) {
        l->fault = mm_allocator.check();
        mm_allocator.walk(take_block, l);
        if (mm_allocator.walk_lists != NULL)
            mm_allocator.walk_lists(take_listed, l);
    } else {
        l->cut = "looking further crashed: a wild link";
    }
    for (int i = 0; i < 2; i++)
        sigaction(signals[i], &saved[i], NULL);
    mm_counts = counts;
}

void layout_drop(struct layout *l)
{
    free(l->blocks);
    free(l->listed);
    *l = (struct layout){0};
}

struct layout_block *layout_block_of(const struct layout *l, const void *payload)
{
    if (!memory_contains(payload))
        return NULL;
    size_t offset = memory_offset(payload), low = 0, high = l->block_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct mm_block *b = &l->blocks[middle].block;
        if (offset < b->offset)
            high = middle;
        else if (offset - b->offset >= b->block_bytes)
            low = middle + 1;
        else
            return &l->blocks[middle];
    }
    return NULL;
}

void layout_name(struct layout *l, const void *payload, const char *name)
{
    struct layout_block *b = layout_block_of(l, payload);
    if (b != NULL)
        snprintf(b->name, sizeof b->name, "%s", name);
}

/* ---- Text ---- */

static const char *state_word(enum mm_state state)
{
    return state == MM_USED ? "used" : state == MM_FREE ? "free" : state == MM_QUICK ? "quick" : "broken";
}

void layout_text(const struct layout *l, size_t from, char *text, size_t size)
{
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < l->block_count; i++) {
        const struct mm_block *b = &l->blocks[i].block;
        if (b->offset < from)
            continue;
        char item[64];
        int n = snprintf(
            item, sizeof item, "%s%s %zu", length == 0 ? "" : ", ", state_word(b->state), b->block_bytes);
        if (length + (size_t)n + sizeof ", ..." > size) {
            snprintf(text + length, size - length, "%s", ", ...");
            return;
        }
        memcpy(text + length, item, (size_t)n + 1);
        length += (size_t)n;
    }
}

/* ---- The picture ---- */

/* A place where a block starts in at least one of two layouts. */
struct column {
    size_t offset;
    const struct layout_block *block[2]; /* before, after; NULL: none starts here */
    size_t width;
    bool changed, broken;
};

struct picture {
    struct column *columns;
    size_t count, from, to; /* columns from .. to-1 are shown */
    const struct layout *layouts[2];
};

/* "[A 64]" used, "(64)" free, "<64>" in a quick bin; `width` 0: as narrow as can be. */
static size_t draw_block(char *text, size_t size, const struct layout_block *b, size_t width)
{
    static const char *const brackets[] = {"[]", "()", "<>", "??"};
    const char *bracket = brackets[b->block.state > MM_NO_BLOCK ? MM_NO_BLOCK : b->block.state];
    char inside[64];
    snprintf(inside, sizeof inside, "%s%s%zu", b->name, b->name[0] == '\0' ? "" : " ", b->block.block_bytes);
    int pad = width < 2 ? 0 : (int)width - 2;
    return (size_t)snprintf(text, size, "%c%-*s%c", bracket[0], pad, inside, bracket[1]);
}

static size_t block_width(const struct layout_block *b)
{
    char text[128];
    return draw_block(text, sizeof text, b, 0);
}

/* The first column after `i` that starts where block b ends, or later. */
static size_t column_after(const struct picture *p, size_t i, const struct layout_block *b)
{
    size_t end = b->block.offset + b->block.block_bytes; /* a damaged size may end anywhere */
    do
        i++;
    while (i < p->count && p->columns[i].offset < end);
    return i;
}

static bool same_block(const struct layout_block *x, const struct layout_block *y)
{
    if (x == NULL || y == NULL)
        return x == y;
    return x->block.block_bytes == y->block.block_bytes && x->block.state == y->block.state &&
           strcmp(x->name, y->name) == 0;
}

static void make_columns(struct picture *p)
{
    size_t next[2] = {0, 0}, room = 0;
    for (int side = 0; side < 2; side++)
        room += p->layouts[side] == NULL ? 0 : p->layouts[side]->block_count;
    p->columns = calloc(room + 1, sizeof *p->columns);
    if (p->columns == NULL)
        abort();
    for (;;) {
        struct column c = {.offset = SIZE_MAX};
        for (int side = 0; side < 2; side++) {
            const struct layout *l = p->layouts[side];
            if (l != NULL && next[side] < l->block_count && l->blocks[next[side]].block.offset < c.offset)
                c.offset = l->blocks[next[side]].block.offset;
        }
        if (c.offset == SIZE_MAX)
            break;
        for (int side = 0; side < 2; side++) {
            const struct layout *l = p->layouts[side];
            if (l != NULL && next[side] < l->block_count && l->blocks[next[side]].block.offset == c.offset)
                c.block[side] = &l->blocks[next[side]++];
        }
        const struct mm_fault *fault = &p->layouts[1]->fault;
        c.broken = fault->invariant != 0 && fault->offset == c.offset;
        bool known = p->layouts[1]->cut == NULL || c.block[1] != NULL;
        c.changed = p->layouts[0] != NULL && known && !same_block(c.block[0], c.block[1]);
        p->columns[p->count++] = c;
    }
}

static void set_widths(struct picture *p)
{
    for (size_t i = 0; i < p->count; i++)
        p->columns[i].width = (size_t)snprintf(NULL, 0, "%zu", p->columns[i].offset);
    for (size_t i = 0; i < p->count; i++) {
        for (int side = 0; side < 2; side++) {
            const struct layout_block *b = p->columns[i].block[side];
            if (b == NULL)
                continue;
            size_t end = column_after(p, i, b), width = 0;
            for (size_t k = i; k < end; k++)
                width += p->columns[k].width + (k > i);
            if (width < block_width(b))
                p->columns[end - 1].width += block_width(b) - width;
        }
    }
}

/* Show what is near a change or a fault; if there is none, start at the heap's start. */
static void choose_columns(struct picture *p)
{
    for (size_t i = 0; i < p->count; i++) {
        if (p->columns[i].changed || p->columns[i].broken) {
            p->from = i < AROUND ? 0 : i - AROUND;
            break;
        }
    }
    size_t last = p->count;
    for (size_t i = p->from; i < p->count && p->layouts[0] != NULL; i++)
        if (p->columns[i].changed || p->columns[i].broken)
            last = i + 1 + AROUND;
    size_t width = 0;
    for (p->to = p->from; p->to < p->count && p->to < last; p->to++) {
        width += p->columns[p->to].width + 1;
        if (width > LINE_COLUMNS && p->to > p->from)
            break;
    }
}

/* Characters from the start of column `from` to the end of column `to` - 1. */
static size_t columns_width(const struct picture *p, size_t from, size_t to)
{
    size_t width = 0;
    for (size_t i = from; i < to; i++)
        width += p->columns[i].width + (i > from);
    return width;
}

static void print_blocks(FILE *out, const struct picture *p, int side)
{
    fprintf(out, "%s", p->from > 0 ? "... " : "");
    for (size_t i = p->from; i < p->to;) {
        const struct layout_block *b = p->columns[i].block[side];
        size_t end = b == NULL ? i + 1 : column_after(p, i, b);
        end = end > p->to ? p->to : end;
        size_t width = columns_width(p, i, end);
        char text[LINE_COLUMNS + 128] = "";
        if (b != NULL)
            draw_block(text, sizeof text, b, end == i + 1 ? 0 : width);
        fprintf(out, "%-*s%s", (int)width, text, end < p->to ? " " : "");
        i = end;
    }
    fprintf(out, "%s\n", p->to < p->count ? " ..." : "");
}

static bool is_marked(const struct column *c, bool broken) { return broken ? c->broken : c->changed; }

/* A line of ^^^ under the blocks that changed, or under the broken one. */
static void print_marks(FILE *out, const struct picture *p, const char *title, bool broken)
{
    size_t last = p->from;
    for (size_t i = p->from; i < p->to; i++)
        if (is_marked(&p->columns[i], broken))
            last = i + 1;
    if (last == p->from)
        return;
    fprintf(out, "%-8s%s", title, p->from > 0 ? "    " : "");
    for (size_t i = p->from; i < last; i++) {
        bool mark = is_marked(&p->columns[i], broken);
        for (size_t k = 0; k < p->columns[i].width; k++)
            fputc(mark ? '^' : ' ', out);
        if (i + 1 < last)
            fputc(mark && is_marked(&p->columns[i + 1], broken) ? '^' : ' ', out);
    }
    fputc('\n', out);
}

/* "1096 2184; list 9: 64": offsets, list by list; the number only where there are several lists. */
static void print_lists(FILE *out, const struct layout *l)
{
    if (l->listed_count == 0)
        fprintf(out, "empty");
    for (size_t i = 0; i < l->listed_count && i < LISTED_SHOWN; i++) {
        const struct mm_block *b = &l->listed[i].block;
        bool starts = i == 0 || b->list != l->listed[i - 1].block.list;
        fprintf(out, "%s", i == 0 ? "" : starts ? ", " : " ");
        if (starts && b->list > 0)
            fprintf(out, "%s %d: ", b->state == MM_QUICK ? "bin" : "list", b->list);
        fprintf(out, "%zu", b->offset);
    }
    if (l->listed_count > LISTED_SHOWN)
        fprintf(out, " ... (%zu blocks in all)", l->listed_count);
}

void layout_print(FILE *out, const struct layout *before, const struct layout *after)
{
    struct picture p = {.layouts = {before, after}};
    make_columns(&p);
    set_widths(&p);
    choose_columns(&p);
    if (p.count == 0) {
        fprintf(out, "heap    empty\n");
    } else {
        fprintf(out, "offset  %s", p.from > 0 ? "... " : "");
        for (size_t i = p.from; i < p.to; i++)
            fprintf(out, "%-*zu%s", i + 1 < p.to ? (int)p.columns[i].width : 0, p.columns[i].offset,
                i + 1 < p.to ? " " : "\n");
        if (before != NULL) {
            fprintf(out, "before  ");
            print_blocks(out, &p, 0);
        }
        fprintf(out, "%-8s", before != NULL ? "after" : "heap");
        print_blocks(out, &p, 1);
        print_marks(out, &p, "changed", false);
        print_marks(out, &p, "broken", true);
    }
    if (mm_allocator.walk_lists != NULL) {
        fprintf(out, "lists   ");
        if (before != NULL) {
            fprintf(out, "before: ");
            print_lists(out, before);
            fprintf(out, "; after: ");
        }
        print_lists(out, after);
        fprintf(out, "\n");
    }
    if (after->fault.invariant != 0) {
        fprintf(out, "fault   I%d", after->fault.invariant);
        if (after->fault.offset != 0) /* else it is about a list or a map */
            fprintf(out, ", block at offset %zu", after->fault.offset);
        fprintf(out, ": %s\n", after->fault.what);
    }
    if (after->cut != NULL)
        fprintf(out, "cut     %s\n", after->cut);
    free(p.columns);
}
