/* broken.c - for bench_test.sh: the limit `freelist`, except that malloc(1024) does what BROKEN says. */
#define malloc sound_malloc
#include "freelist.c"
#undef malloc

EXPORT void *malloc(size_t bytes);

void *malloc(size_t bytes)
{
    if (bytes == 1024)
        BROKEN;
    return sound_malloc(bytes);
}
