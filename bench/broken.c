/* broken.c - for bench_test.sh: the limit `freelist`, except that from malloc(1024) on every call does what BROKEN says. */
#define malloc sound_malloc
#include "freelist.c"
#undef malloc

EXPORT void *malloc(size_t bytes);

void *malloc(size_t bytes)
{
    static int is_broken; /* from then on: the C library's own calls meet it too */
    is_broken = is_broken || bytes == 1024;
    if (is_broken) {
        BROKEN;
    }
    return sound_malloc(bytes);
}
