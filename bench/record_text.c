/*
 * record_text.c - reads the logs of a recording (record.h) and writes a process's trace as text.
 *
 *   record_text DIRECTORY      lists the processes: number, calls, peak bytes, program
 *   record_text DIRECTORY N    writes the trace of process N to stdout
 *
 * Blocks get ids for addresses, the id freed last first, so that ids stay small. The trace of a forked
 * process starts with its parent's up to the fork: that is the history of the heap it inherited.
 */
#define _DEFAULT_SOURCE
#include "record.h"
#include "trace.h"
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct log {
    char name[RECORD_NAME_BYTES];
    const struct record_header *header;
    size_t words; /* of the file, header included */
};

static void *must(void *allocated)
{
    if (allocated == NULL) {
        fputs("record: out of memory\n", stderr);
        exit(1);
    }
    return allocated;
}

/* ---- Reading the logs ---- */

static struct log *logs;
static size_t log_count;

static bool load(const char *directory, const char *name)
{
    char path[4096];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &about) != 0 || about.st_size < RECORD_WINDOW_WORDS * (off_t)sizeof(uint64_t))
        return false;
    const struct record_header *header = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (header == MAP_FAILED || memcmp(header->magic, RECORD_MAGIC, sizeof header->magic) != 0)
        return false;

    struct log loaded = {.header = header, .words = (size_t)about.st_size / sizeof(uint64_t)};
    snprintf(loaded.name, sizeof loaded.name, "%s", name);
    logs = must(realloc(logs, (log_count + 1) * sizeof *logs));
    logs[log_count++] = loaded;
    return true;
}

static int by_start(const void *a, const void *b)
{
    uint64_t x = ((const struct log *)a)->header->started_ns, y = ((const struct log *)b)->header->started_ns;
    return (x > y) - (x < y);
}

static void load_all(const char *directory)
{
    DIR *opened = opendir(directory);
    if (opened == NULL) {
        fprintf(stderr, "record: %s: no such directory\n", directory);
        exit(1);
    }
    for (const struct dirent *entry; (entry = readdir(opened)) != NULL;)
        if (entry->d_name[0] != '.' && !load(directory, entry->d_name)) {
            fprintf(stderr, "record: %s/%s is not a log of this version\n", directory, entry->d_name);
            exit(1);
        }
    closedir(opened);
    if (log_count > 0)
        qsort(logs, log_count, sizeof *logs, by_start);
}

/* The log of the process that this one was forked from; NULL if it was not, or that log is missing. */
static const struct log *parent_of(const struct log *child)
{
    for (size_t i = 0; i < log_count; i++)
        if (strcmp(logs[i].name, child->header->parent) == 0)
            return &logs[i];
    return NULL;
}

/* ---- Addresses and ids ---- */

struct place {
    uint64_t address; /* 0: empty. An address keeps its place for good. */
    uint32_t id; /* TRACE_NULL: no live block there */
    uint64_t bytes;
};

static struct place *table;
static size_t places, filled; /* places: a power of two */
static uint32_t *free_ids;
static size_t free_id_count;
static uint32_t next_id;

static struct place *place_of(uint64_t address)
{
    size_t i = (size_t)(address / 16 * UINT64_C(0x9E3779B97F4A7C15) >> 20) & (places - 1);
    while (table[i].address != 0 && table[i].address != address)
        i = (i + 1) & (places - 1);
    return &table[i];
}

static void resize_table(size_t count)
{
    struct place *old = table;
    size_t old_places = places;
    places = count;
    table = must(calloc(places, sizeof *table));
    for (size_t i = 0; i < places; i++)
        table[i].id = TRACE_NULL;
    for (size_t i = 0; i < old_places; i++)
        if (old[i].address != 0)
            *place_of(old[i].address) = old[i];
    free(old);
    free_ids = must(realloc(free_ids, places * sizeof *free_ids)); /* there are never more ids than places */
}

static void forget_blocks(void)
{
    places = filled = free_id_count = 0;
    next_id = 0;
    resize_table(1024);
}

/* ---- One process ---- */

struct process {
    struct trace trace;
    size_t failed; /* calls that got no memory */
    size_t unknown; /* frees of what was never allocated, blocks where there was one already */
    uint64_t live_bytes, peak_bytes;
    bool ends_early;
};

/* The id of the new block at an address. */
static uint32_t add_block(struct process *p, uint64_t address, uint64_t bytes)
{
    if (2 * (filled + 1) > places)
        resize_table(2 * places);
    struct place *place = place_of(address);
    if (place->address == 0) {
        place->address = address;
        filled++;
    }
    if (place->id != TRACE_NULL)
        p->unknown++;
    place->id = free_id_count > 0 ? free_ids[--free_id_count] : next_id++;
    place->bytes = bytes;
    p->live_bytes += bytes;
    if (p->live_bytes > p->peak_bytes)
        p->peak_bytes = p->live_bytes;
    return place->id;
}

/* The id of the block that was live at an address until now; TRACE_NULL for NULL. */
static uint32_t remove_block(struct process *p, uint64_t address)
{
    if (address == 0)
        return TRACE_NULL;
    struct place *place = place_of(address);
    uint32_t id = place->id;
    if (id == TRACE_NULL) {
        p->unknown++;
        return TRACE_NULL;
    }
    p->live_bytes -= place->bytes;
    free_ids[free_id_count++] = id;
    place->id = TRACE_NULL;
    return id;
}

/* Add the call that starts at these words. Returns how many it takes, 0 at the end of the log. */
static size_t add_call(struct process *p, const uint64_t *words)
{
    uint64_t address = words[0] & ~(uint64_t)RECORD_KIND_MASK;
    size_t taken = 3;
    struct trace_op op = {.bytes = 0};
    switch ((enum record_kind)(words[0] & RECORD_KIND_MASK)) {
    case RECORD_MALLOC:
        op.kind = TRACE_MALLOC;
        op.bytes = words[1];
        op.slot = add_block(p, address, op.bytes);
        taken = 2;
        break;
    case RECORD_CALLOC:
        op.kind = TRACE_CALLOC;
        op.count = words[1];
        op.bytes = words[2];
        op.slot = add_block(p, address, op.count * op.bytes);
        break;
    case RECORD_ALIGNED:
        op.kind = TRACE_ALIGNED;
        op.alignment = words[1];
        op.bytes = words[2];
        op.slot = add_block(p, address, op.bytes);
        break;
    case RECORD_REALLOC: /* the id freed last is the next one given: the block keeps its id */
        op.kind = TRACE_REALLOC;
        op.bytes = words[2];
        op.slot = remove_block(p, address);
        if (words[1] != 0)
            op.slot = add_block(p, words[1], op.bytes);
        break;
    case RECORD_FREE:
        op.kind = TRACE_FREE;
        op.slot = remove_block(p, address);
        taken = 1;
        break;
    case RECORD_FAILED:
        p->failed++;
        return 1;
    case RECORD_LOST:
        p->ends_early = true;
        return 0;
    default:
        return 0;
    }
    trace_add(&p->trace, op);
    return taken;
}

/* Add the calls in the first `end` words of a log, after those that the process inherited. */
static void add_calls(struct process *p, const struct log *log, size_t end)
{
    const struct log *parent = parent_of(log);
    if (parent != NULL)
        add_calls(p, parent, (size_t)log->header->inherited_words);
    else if (log->header->parent[0] != '\0')
        p->ends_early = true;
    const uint64_t *words = (const uint64_t *)log->header;
    size_t taken = 1;
    for (size_t at = RECORD_HEADER_WORDS; at < end && taken > 0; at += taken)
        if (words[at] == RECORD_SKIP)
            taken = RECORD_WINDOW_WORDS - at % RECORD_WINDOW_WORDS;
        else
            taken = add_call(p, &words[at]);
}

static struct process read_process(const struct log *log)
{
    struct process p = {.live_bytes = 0};
    forget_blocks();
    add_calls(&p, log, log->words);
    return p;
}

static void list_processes(void)
{
    for (size_t i = 0; i < log_count; i++) {
        struct process p = read_process(&logs[i]);
        printf("%zu %zu %" PRIu64 " %s\n", i + 1, p.trace.count, p.peak_bytes, logs[i].header->program);
        trace_release(&p.trace);
    }
}

static bool write_process(const struct log *log)
{
    struct process p = read_process(log);
    if (p.failed > 0)
        fprintf(stderr, "record: %zu calls that got no memory are left out\n", p.failed);
    if (p.ends_early)
        fputs("record: a part is missing: there was no room for the log\n", stderr);
    if (p.unknown > 0)
        fprintf(
            stderr, "record: %zu calls do not fit those before them: the trace is not valid\n", p.unknown);
    printf("# %s\n", log->header->program);
    bool written = trace_write(&p.trace, stdout);
    if (!written)
        perror("record: cannot write the trace");
    trace_release(&p.trace);
    return written && !p.ends_early && p.unknown == 0;
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) {
        fputs("usage: record_text DIRECTORY [PROCESS]\n", stderr);
        return 2;
    }
    load_all(argv[1]);
    if (argc == 2) {
        list_processes();
        return 0;
    }
    size_t chosen = (size_t)strtoul(argv[2], NULL, 10);
    if (chosen == 0 || chosen > log_count) {
        fprintf(stderr, "record: there is no process %s; they are 1 to %zu\n", argv[2], log_count);
        return 1;
    }
    return write_process(&logs[chosen - 1]) ? 0 : 1;
}
