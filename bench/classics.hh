// classics.hh - what small_objects.cc and zeroed.cc share: a clock, a line of CSV, and keep().
//
// Both files are compiled twice. KEPT=1: every allocation happens, because its pointer passes through keep().
// KEPT=0: the compiler may do what the standard lets it do, and removes pairs of new and delete, or malloc
// and free, that nothing depends on: a comparison of such times compares nothing.
#ifndef CLASSICS_HH
#define CLASSICS_HH

#include <cstdio>
#include <ctime>

// The compiler must believe that `memory` may now be another pointer, to memory that something else reads.
template <typename T> inline void keep(T *&memory)
{
    if (KEPT)
        __asm__ volatile("" : "+r"(memory) : : "memory");
}

// Processor time in nanoseconds: while other programs run, it stands still.
inline double now()
{
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// Runs it, and prints the line: comparison,allocator,variant,part,count,nanoseconds.
template <typename Run>
void measure(const char *comparison, const char *variant, const char *part, long count, Run run)
{
    double start = now();
    run();
    std::printf("%s,C++,%s,%s,%ld,%.0f\n", comparison, variant, part, count, now() - start);
}

#endif
