/*
 * single.h - has this process one thread only? Then there is nobody to lock out, as in glibc's own malloc.
 *
 * False where it cannot be told.
 */
#ifndef MM_SINGLE_H
#define MM_SINGLE_H

#include <stdbool.h>

#if defined(__has_include)
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define MM_SINGLE_THREADED __libc_single_threaded
#endif
#endif
#ifndef MM_SINGLE_THREADED
#define MM_SINGLE_THREADED false
#endif

static inline bool single_threaded(void) { return MM_SINGLE_THREADED; }

#endif
