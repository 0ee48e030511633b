/*
 * misuse.h - the one way to say that the heap was misused.
 *
 * A stage only detects, in its own way, that something is wrong with a pointer. Finding out what, and saying
 * so, is done here: one line on stderr, written without allocating, then abort(). The line has a stable
 * code (E01 ...) that docs/faults.md explains.
 */
#ifndef MM_MISUSE_H
#define MM_MISUSE_H

#include "mm.h"

/*
 * `payload` was given to `call` ("free", "realloc", ...) and is not a used block's. Finds out which misuse
 * it is, reports it and aborts. O(blocks): the time is spent on the way to abort() only.
 */
_Noreturn void mm_report_pointer(const struct mm_allocator *allocator, const char *call, const void *payload);

/* check() found a fault at the start of `call`: reports it as damage (E05) and aborts. */
_Noreturn void mm_report_fault(const char *call, struct mm_fault fault);

#endif
