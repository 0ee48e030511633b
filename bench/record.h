/*
 * record.h - the raw log that record.c writes while a program runs and record_text.c reads afterwards.
 *
 * One file for each process image: a header, then calls in the order in which they took effect. A call is one
 * to three words of 64 bits. The first is the address of a block, a multiple of 16, and in its low 4 bits the
 * kind of call:
 *
 *       malloc     new address | bytes
 *       calloc     new address | count          | bytes
 *       aligned    new address | alignment      | bytes       aligned_alloc and its kin
 *       realloc    old address | new address    | bytes       addresses may be NULL
 *       free       old address
 *
 * The file may be longer than what was written: a word of 0 is the end.
 */
#ifndef RECORD_H
#define RECORD_H

#include <stdint.h>

/* The directory, given to the recorded program in its environment, that takes the logs. */
#define RECORD_VARIABLE "ALLOCLAB_RECORD"

enum record_kind {
    RECORD_END,
    RECORD_MALLOC,
    RECORD_CALLOC,
    RECORD_ALIGNED,
    RECORD_REALLOC,
    RECORD_FREE,
    RECORD_FAILED, /* a call that got no memory and changed nothing; one word */
    RECORD_SKIP, /* go on at the start of the next window */
    RECORD_LOST, /* the disk is full: what came after this is not on record */
    RECORD_KIND_MASK = 15,
};

enum {
    RECORD_WINDOW_WORDS = 32 << 10, /* the file is mapped and grows by this; no call crosses the border */
    RECORD_NAME_BYTES = 32,
};

struct record_header {
    char magic[8];
    uint64_t started_ns; /* CLOCK_MONOTONIC: orders the processes of one recording */
    char program[RECORD_NAME_BYTES]; /* as ps shows it: at most 15 characters */
    char parent[RECORD_NAME_BYTES]; /* a forked process: the log of the process it came from, else "" */
    uint64_t inherited_words; /* where the parent's log stood at the fork, from the start of the file */
};

enum { RECORD_HEADER_WORDS = sizeof(struct record_header) / sizeof(uint64_t) };

static const char RECORD_MAGIC[8] = "mmlog 1";

#endif
