/*
 * trace.h - operation files (traces): what a program asked of malloc, one operation after the other.
 *
 * Reads the lab's own .trace, the .rep files of the CS:APP family and Stanford's .script, plain or compressed
 * with gzip; writes .trace. docs/traces.md describes the formats. For tests and benchmark only: it uses the
 * system's malloc, and is in no preload library.
 */
#ifndef MM_TRACE_H
#define MM_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum trace_kind {
    TRACE_MALLOC = 'a',
    TRACE_CALLOC = 'c',
    TRACE_ALIGNED = 'm',
    TRACE_REALLOC = 'r',
    TRACE_FREE = 'f',
    TRACE_TOUCH = 'w', /* write to that many bytes of a block */
};

/*
 * Files name blocks by ids, which may be any numbers. The reader maps them to slots 0, 1, 2, ..., so that
 * whoever runs a trace needs one array of pointers, all NULL at first. A slot is used again where its id is.
 * An operation on a slot that holds no block then, is on NULL: realloc allocates, free does nothing.
 * realloc to 0 frees, and like free does nothing where there is no block.
 */
struct trace_op {
    size_t bytes; /* calloc: of one element; 0 for free */
    union {
        size_t count; /* calloc */
        size_t alignment; /* aligned_alloc, may be no power of two */
    };
    uint32_t slot; /* TRACE_NULL: free(NULL) */
    uint32_t line; /* of the file, from 1 */
    char kind; /* enum trace_kind */
};

static const uint32_t TRACE_NULL = UINT32_MAX;

/* After it, its slot holds no block. */
static inline bool trace_frees(const struct trace_op *op)
{
    return op->kind == TRACE_FREE || (op->kind == TRACE_REALLOC && op->bytes == 0);
}

/* A zeroed one is an empty trace. */
struct trace {
    struct trace_op *ops;
    size_t count;
    uint64_t *ids; /* ids[slot]: what the file calls it */
    size_t slots;
    int weight; /* of a .rep file: 0 not scored, 1 speed and space, 2 space only, 3 speed only; else 1 */
    size_t capacity, ids_capacity;
};

enum { TRACE_ERROR_BYTES = 512, TRACE_TEXT_BYTES = 96 };

/* Read a file. False: it cannot be read or is damaged, and `error` holds a line that says where and why. */
bool trace_read(struct trace *trace, const char *path, char error[TRACE_ERROR_BYTES]);

/* The same for text in memory. `path` stands in messages, and if it ends in .rep there must be a header. */
bool trace_parse(
    struct trace *trace, const char *path, const char *text, size_t bytes, char error[TRACE_ERROR_BYTES]);

/* Add an operation at the end; a new slot is its own id. Ends the program if there is no memory. O(1). */
void trace_add(struct trace *trace, struct trace_op op);

/* Write as .trace. False: the stream failed. */
bool trace_write(const struct trace *trace, FILE *out);

/* One operation as .trace writes it, without a line end: "a 3 64". Returns `text`. */
const char *trace_op_text(const struct trace *trace, const struct trace_op *op, char text[TRACE_TEXT_BYTES]);

void trace_release(struct trace *trace);

#endif
