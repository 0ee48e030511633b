/* trace.c - see trace.h. */
#define _POSIX_C_SOURCE 200809L /* popen, setenv */
#include "trace.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- A trace in memory ---- */

static void *grow_array(void *array, size_t *capacity, size_t element_bytes)
{
    *capacity = *capacity == 0 ? 64 : *capacity * 2;
    array = realloc(array, *capacity * element_bytes);
    if (array == NULL) {
        fputs("alloclab: no memory for the trace\n", stderr);
        exit(1);
    }
    return array;
}

static void add_slot(struct trace *trace, uint64_t id)
{
    if (trace->slots == trace->ids_capacity)
        trace->ids = grow_array(trace->ids, &trace->ids_capacity, sizeof *trace->ids);
    trace->ids[trace->slots++] = id;
}

void trace_add(struct trace *trace, struct trace_op op)
{
    if (trace->count == trace->capacity)
        trace->ops = grow_array(trace->ops, &trace->capacity, sizeof *trace->ops);
    trace->ops[trace->count++] = op;
    while (op.slot != TRACE_NULL && trace->slots <= op.slot)
        add_slot(trace, trace->slots);
}

void trace_release(struct trace *trace)
{
    free(trace->ops);
    free(trace->ids);
    *trace = (struct trace){.ops = NULL};
}

/* ---- Reading ---- */

struct reader {
    struct trace *trace;
    const char *path;
    const char *at, *end; /* what is left of the text */
    uint32_t line; /* of `at` */
    uint32_t op_line; /* where the operation being read starts */
    bool is_rep; /* any white space separates, and a size may be left out */
    bool has_last_bytes;
    size_t last_bytes; /* the size read last */
    uint32_t *table; /* hash table of slot + 1, by id; 0: empty */
    size_t table_entries;
    uint32_t *live_since; /* by slot: the line that allocated it; 0: it holds no block */
    size_t live_capacity;
    char *error;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct reader *r, const char *format, ...)
{
    int length = snprintf(r->error, TRACE_ERROR_BYTES, "%s:%u: ", r->path, (unsigned)r->op_line);
    if (length > 0 && length < TRACE_ERROR_BYTES) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(r->error + length, TRACE_ERROR_BYTES - (size_t)length, format, arguments);
        va_end(arguments);
    }
    return false;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
static bool at_digit(const struct reader *r) { return r->at < r->end && is_digit(*r->at); }

/* What stands at `at`, for messages: up to the next white space, printable, not too long. */
static const char *word(const struct reader *r, char text[24])
{
    size_t n = 0;
    for (const char *c = r->at; c < r->end && !is_space(*c) && n < 20; c++)
        text[n++] = *c > ' ' && *c <= '~' ? *c : '?';
    text[n] = '\0';
    return n == 0 ? "the end of the line" : text;
}

static void skip_space(struct reader *r, bool over_lines)
{
    for (; r->at < r->end; r->at++) {
        if (*r->at == '#')
            while (r->at + 1 < r->end && r->at[1] != '\n')
                r->at++;
        else if (!is_space(*r->at) || (*r->at == '\n' && !over_lines))
            return;
        else if (*r->at == '\n')
            r->line++;
    }
}

/* A number, after white space. */
static bool read_number(struct reader *r, const char *what, uint64_t *number)
{
    skip_space(r, r->is_rep);
    char text[24];
    if (!at_digit(r))
        return fail(r, "expected %s, found %s", what, word(r, text));
    const char *start = r->at;
    uint64_t n = 0;
    bool overflow = false;
    for (; at_digit(r); r->at++)
        overflow |= __builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *r->at - '0', &n);
    if (r->at < r->end && !is_space(*r->at) && *r->at != '#') {
        r->at = start;
        return fail(r, "expected %s, found %s", what, word(r, text));
    }
    if (overflow)
        return fail(r, "%s does not fit 64 bits", what);
    *number = n;
    return true;
}

static bool read_size(struct reader *r, size_t *bytes)
{
    if (r->is_rep && r->has_last_bytes) {
        skip_space(r, true);
        if (r->at == r->end || !is_digit(*r->at)) { /* left out: the size before it repeats */
            *bytes = r->last_bytes;
            return true;
        }
    }
    if (!read_number(r, "a size in bytes", bytes))
        return false;
    r->last_bytes = *bytes;
    r->has_last_bytes = true;
    return true;
}

static size_t table_place(const struct reader *r, uint64_t id)
{
    size_t i = (size_t)(id * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (r->table_entries - 1);
    while (r->table[i] != 0 && r->trace->ids[r->table[i] - 1] != id)
        i = (i + 1) & (r->table_entries - 1);
    return i;
}

/* The slot of an id: its old one, or a new one. */
static uint32_t slot_of(struct reader *r, uint64_t id)
{
    struct trace *trace = r->trace;
    if (trace->slots * 2 >= r->table_entries) {
        free(r->table);
        r->table = grow_array(NULL, &r->table_entries, sizeof *r->table);
        memset(r->table, 0, r->table_entries * sizeof *r->table);
        for (size_t slot = 0; slot < trace->slots; slot++)
            r->table[table_place(r, trace->ids[slot])] = (uint32_t)slot + 1;
    }
    size_t place = table_place(r, id);
    if (r->table[place] == 0) {
        if (trace->slots == r->live_capacity)
            r->live_since = grow_array(r->live_since, &r->live_capacity, sizeof *r->live_since);
        r->live_since[trace->slots] = 0;
        add_slot(trace, id);
        r->table[place] = (uint32_t)trace->slots;
    }
    return r->table[place] - 1;
}

/* -1, and that as an unsigned number of 32 bits, is NULL. */
static bool read_slot(struct reader *r, char kind, uint32_t *slot)
{
    static const uint64_t MINUS_ONE = UINT32_MAX;
    skip_space(r, r->is_rep);
    uint64_t id = MINUS_ONE;
    if (r->end - r->at >= 2 && memcmp(r->at, "-1", 2) == 0 && (r->end - r->at == 2 || is_space(r->at[2])))
        r->at += 2;
    else if (!read_number(r, "an id", &id))
        return false;
    *slot = id == MINUS_ONE ? TRACE_NULL : slot_of(r, id);
    if (*slot == TRACE_NULL && kind != TRACE_FREE)
        return fail(r, "id -1 is NULL: it can be freed, but not be given a block");
    return true;
}

/* Keep track of which slots hold a block: to allocate twice under one id would lose a block. */
static bool note_live(struct reader *r, const struct trace_op *op)
{
    if (op->slot == TRACE_NULL || op->kind == TRACE_TOUCH)
        return true;
    uint32_t *since = &r->live_since[op->slot];
    bool was_live = *since != 0;
    if (was_live && op->kind != TRACE_FREE && op->kind != TRACE_REALLOC)
        return fail(r, "id %llu has a block already, allocated on line %u and not freed since",
            (unsigned long long)r->trace->ids[op->slot], (unsigned)*since);
    if (trace_frees(op))
        *since = 0;
    else if (!was_live)
        *since = op->line;
    return true;
}

static bool read_op(struct reader *r)
{
    r->op_line = r->line;
    char text[24];
    char kind = *r->at;
    if (strchr("acmrfw", kind) == NULL || kind == '\0' || (r->at + 1 < r->end && !is_space(r->at[1])))
        return fail(r, "%s is not an operation: a, c, m, r, f or w", word(r, text));
    r->at++;
    struct trace_op op = {.kind = kind, .line = r->op_line};
    if (!read_slot(r, kind, &op.slot))
        return false;
    if (kind == TRACE_CALLOC && !read_number(r, "a count", &op.count))
        return false;
    if (kind == TRACE_ALIGNED && !read_number(r, "an alignment", &op.alignment))
        return false;
    if (kind != TRACE_FREE && !read_size(r, &op.bytes))
        return false;
    skip_space(r, false);
    if (!r->is_rep && r->at < r->end && *r->at != '\n')
        return fail(r, "expected the end of the line, found %s", word(r, text));
    if (!note_live(r, &op))
        return false;
    trace_add(r->trace, op);
    return true;
}

/* Three variants; only the weight matters, for the counts in real files lie. */
static bool read_header(struct reader *r)
{
    uint64_t numbers[4];
    for (int i = 0; i < 4; i++)
        if (!read_number(r, "the four numbers that a .rep file starts with", &numbers[i]))
            return false;
    bool is_classic = numbers[0] > 3;
    uint64_t weight = is_classic ? numbers[3] : numbers[0];
    r->trace->weight = weight <= 3 ? (int)weight : 1;
    return true;
}

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0;
}

bool trace_parse(
    struct trace *trace, const char *path, const char *text, size_t bytes, char error[TRACE_ERROR_BYTES])
{
    *trace = (struct trace){.weight = 1};
    struct reader r = {.trace = trace, .path = path, .at = text, .end = text + bytes, .error = error};
    r.line = r.op_line = 1;
    skip_space(&r, true);
    r.is_rep = at_digit(&r) || ends_in(path, ".rep") || ends_in(path, ".rep.gz");
    bool good = !r.is_rep || read_header(&r);
    for (skip_space(&r, true); good && r.at < r.end; skip_space(&r, true))
        good = read_op(&r);
    if (good && trace->count == 0) {
        r.op_line = r.line;
        good = fail(&r, "the file ends without an operation");
    }
    free(r.table);
    free(r.live_since);
    if (!good)
        trace_release(trace);
    return good;
}

/* All that is left in a stream. NULL: it cannot be read. */
static char *read_all(FILE *in, size_t *bytes)
{
    char *text = NULL;
    size_t capacity = 4096;
    *bytes = 0;
    do {
        text = grow_array(text, &capacity, 1);
        *bytes += fread(text + *bytes, 1, capacity - *bytes, in);
    } while (*bytes == capacity);
    if (!ferror(in))
        return text;
    free(text);
    return NULL;
}

static bool is_gzip(FILE *in)
{
    bool found = getc(in) == 0x1f && getc(in) == 0x8b;
    rewind(in);
    return found;
}

/* The name goes through the environment, so that nothing in it can be taken for shell text. */
static FILE *open_packed(const char *path)
{
    return setenv("TRACE_FILE", path, 1) == 0 ? popen("exec gzip -dc -- \"$TRACE_FILE\" 2> /dev/null", "r")
                                              : NULL;
}

bool trace_read(struct trace *trace, const char *path, char error[TRACE_ERROR_BYTES])
{
    FILE *in = fopen(path, "rb");
    if (in == NULL) {
        snprintf(error, TRACE_ERROR_BYTES, "%s: %s", path, strerror(errno));
        return false;
    }
    bool packed = is_gzip(in);
    if (packed) {
        fclose(in);
        in = open_packed(path);
    }
    size_t bytes = 0;
    char *text = in == NULL ? NULL : read_all(in, &bytes);
    int saved = errno;
    bool closed = in != NULL && (packed ? pclose(in) : fclose(in)) == 0;
    bool good = false;
    if (text == NULL)
        snprintf(error, TRACE_ERROR_BYTES, "%s: %s", path, strerror(saved));
    else if (!closed)
        snprintf(error, TRACE_ERROR_BYTES, "%s: gzip cannot unpack it; try: gzip -t '%s'", path, path);
    else
        good = trace_parse(trace, path, text, bytes, error);
    free(text);
    return good;
}

/* ---- Writing ---- */

const char *trace_op_text(const struct trace *trace, const struct trace_op *op, char text[TRACE_TEXT_BYTES])
{
    long long id = op->slot == TRACE_NULL ? -1 : (long long)trace->ids[op->slot];
    if (op->kind == TRACE_FREE)
        snprintf(text, TRACE_TEXT_BYTES, "f %lld", id);
    else if (op->kind == TRACE_CALLOC || op->kind == TRACE_ALIGNED)
        snprintf(text, TRACE_TEXT_BYTES, "%c %lld %zu %zu", op->kind, id, op->count, op->bytes);
    else
        snprintf(text, TRACE_TEXT_BYTES, "%c %lld %zu", op->kind, id, op->bytes);
    return text;
}

bool trace_write(const struct trace *trace, FILE *out)
{
    char text[TRACE_TEXT_BYTES];
    for (size_t i = 0; i < trace->count; i++)
        fprintf(out, "%s\n", trace_op_text(trace, &trace->ops[i], text));
    return fflush(out) == 0 && !ferror(out);
}
