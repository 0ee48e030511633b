/* misuse.c - see misuse.h. Nothing here allocates: the heap may be broken, and may be malloc itself. */
#include "misuse.h"
#include "bits.h"
#include "memory.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line of text built in place. What does not fit is cut off. */
struct line {
    char text[512];
    size_t length;
};

static void put(struct line *line, const char *text)
{
    size_t n = strlen(text);
    if (n > sizeof line->text - line->length)
        n = sizeof line->text - line->length;
    memcpy(line->text + line->length, text, n);
    line->length += n;
}

static void put_number(struct line *line, uintptr_t x, unsigned base)
{
    char digits[24];
    size_t i = sizeof digits;
    digits[--i] = '\0';
    do
        digits[--i] = "0123456789abcdef"[x % base];
    while ((x /= base) != 0);
    put(line, base == 16 ? "0x" : "");
    put(line, digits + i);
}

static void put_place(struct line *line, const void *p)
{
    put(line, "at offset ");
    put_number(line, memory_offset(p), 10);
    put(line, " (address ");
    put_number(line, (uintptr_t)p, 16);
    put(line, ")");
}

static void put_block(struct line *line, const struct mm_block *block)
{
    static const char *const states[] = {"used", "free", "free (in a quick bin)"};
    put(line, "the ");
    put(line, states[block->state]);
    put(line, " block at offset ");
    put_number(line, block->offset, 10);
    put(line, " of ");
    put_number(line, block->block_bytes, 10);
    put(line, " bytes");
}

/* "alloclab: E01 double free: " */
static void put_head(struct line *line, enum mm_misuse misuse, const char *call, const char *what)
{
    const char code[] = {'E', '0', (char)('0' + misuse), '\0'};
    put(line, "alloclab: ");
    put(line, code);
    put(line, " ");
    put(line, call);
    put(line, ": ");
    put(line, what);
}

static _Noreturn void say_and_abort(struct line *line)
{
    put(line, "; see docs/faults.md\n");
    line->text[sizeof line->text - 1] = '\n';
    if (write(STDERR_FILENO, line->text, line->length) < 0)
        abort(); /* nobody listens: all the same */
    abort();
}

/* The block that lies at an offset. */
struct search {
    size_t offset;
    bool found;
    struct mm_block block;
};

static bool visit_containing(const struct mm_block *block, void *context)
{
    struct search *search = context;
    if (block->offset <= search->offset && search->offset < block->offset + block->block_bytes) {
        search->found = true;
        search->block = *block;
    }
    return !search->found;
}

void mm_report_pointer(const struct mm_allocator *allocator, const char *call, const void *payload)
{
    struct line line = {.length = 0};

    if (!memory_contains(payload)) {
        put_head(
            &line, MM_OUTSIDE_HEAP, call, "pointer outside the heap, malloc never returned it: address ");
        put_number(&line, (uintptr_t)payload, 16);
        put(&line, ", the heap is ");
        put_number(&line, (uintptr_t)memory.start, 16);
        put(&line, " and ");
        put_number(&line, memory.bytes, 10);
        put(&line, " bytes");
        say_and_abort(&line);
    }

    struct mm_fault fault = allocator->check();
    if (fault.invariant != 0)
        mm_report_fault(call, fault);

    struct search search = {.offset = memory_offset(payload)};
    allocator->walk(visit_containing, &search);
    if (!is_aligned(payload, MM_ALIGNMENT)) {
        put_head(&line, MM_MISALIGNED, call, "pointer not aligned to 16, malloc never returned it: ");
    } else if (search.found && search.block.state != MM_USED) {
        put_head(&line, MM_DOUBLE_FREE, call,
            payload == search.block.payload ? "this block is free already (double free): "
                                            : "this is free memory already (double free): ");
    } else {
        put_head(&line, MM_INSIDE_BLOCK, call, "pointer into a block, not to its payload's start: ");
    }
    put_place(&line, payload);
    if (search.found) {
        put(&line, ", in ");
        put_block(&line, &search.block);
    }
    say_and_abort(&line);
}

void mm_report_fault(const char *call, struct mm_fault fault)
{
    struct line line = {.length = 0};
    put_head(
        &line, MM_HEADER_DAMAGED, call, "the heap is damaged, as if a payload had been overrun: the block ");
    put_place(&line, memory.start + fault.offset);
    put(&line, " breaks I");
    put_number(&line, (uintptr_t)fault.invariant, 10);
    put(&line, ", ");
    put(&line, fault.what);
    say_and_abort(&line);
}
