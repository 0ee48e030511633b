/*
 * lab.h - what every test uses: a heap of named blocks in which every operation is checked, and a way to
 * fail in words that a student can act on.
 *
 * A test calls lab_malloc(A, 100), lab_free(A), ... instead of the stage. After each operation holds:
 *   - what it returned is aligned, inside the heap, large enough, and apart from all other blocks;
 *   - every live block has its contents, to the last byte of its usable size (all of it is written);
 *   - all invariants: those that the stage's check() knows, and, seen by its walkers alone, I1, I2, I4 and I6;
 *   - nothing was lost: the used blocks are exactly those that the test holds.
 * What does not hold fails the test, with the last steps and the heap before and after. So does a crash, and
 * an endless loop after some seconds of processor time.
 */
#ifndef LAB_H
#define LAB_H

#include "count.h"
#include "front.h"
#include "layout.h"
#include "memory.h"
#include "mm.h"
#include <criterion/criterion.h>

/* Names of blocks; numbers from 26 on are shown as #26, #27, ... */
enum { A, B, C, D, E, F, G, H, LAB_NAMES = 2048 };

/* A payload that no quick bin takes (stages 4 and up), whatever the header: freed, it is merged. */
enum { LAB_LARGE = 2048 };

/* Each test starts with an empty heap: the .init of every suite. */
void lab_begin(void);

/* Processor seconds after which a test counts as an endless loop; 3 unless told. */
void lab_seconds(double seconds);

void *lab_malloc(int name, size_t bytes);
void *lab_calloc(int name, size_t count, size_t bytes);
void *lab_realloc(int name, size_t bytes);
void *lab_aligned_alloc(int name, size_t alignment, size_t bytes);
void lab_free(int name);
void lab_free_all(void);

/* Whether an allocation may return NULL: then errno must be ENOMEM, and all used blocks as before. */
void lab_may_run_out(bool may);

/* NULL if there is no such block. */
void *lab_payload(int name);

static inline bool lab_is_live(int name) { return lab_payload(name) != NULL; }

/* The size of a live block, header and all; measured, so that tests need not know the stage's layout. */
size_t lab_block_bytes(int name);

/* Take all free memory, under names from this one on: then only what the test frees is free. Where blocks have no
 * header (stage 6), free memory belongs to a size already, and nothing is taken. */
void lab_use_up(int name);

/* Check all of the above between operations. */
void lab_check(void);

/* The heap starts with these blocks: "used 64, free 96, used 32"; more may follow. */
void lab_expect(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Number of blocks in this state. */
size_t lab_blocks(enum mm_state state);

/* Remember a step that is no operation above, for the message of a failure. */
void lab_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fail the test, with the heap's picture, unless it holds. The message says what should be, and is not. */
void lab_require(bool holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- Crimes: what a stage says of misuse, on stderr, on the way to abort() ---- */

struct lab_report {
    char text[1024]; /* stderr; addresses shown as 0x... */
    int signal; /* that ended the process; 0: it lived to the end of the crime */
};

/* Runs `crime` in a process of its own. */
struct lab_report lab_commit(void (*crime)(void));

#endif
