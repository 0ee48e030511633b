/*
 * guard_copy.c - memcpy and memset for the stages of a guarded build, under other names: AddressSanitizer checks
 * those of the C library, also when a stage moves a payload to a place that is not yet its caller's.
 */
#include <stddef.h>

void *guard_copy(void *to, const void *from, size_t bytes);
void *guard_set(void *to, int value, size_t bytes);

void *guard_copy(void *to, const void *from, size_t bytes)
{
    volatile char *t = to; /* volatile: the compiler must not make this a call of memcpy */
    const char *f = from;
    for (size_t i = 0; i < bytes; i++)
        t[i] = f[i];
    return to;
}

void *guard_set(void *to, int value, size_t bytes)
{
    volatile char *t = to;
    for (size_t i = 0; i < bytes; i++)
        t[i] = (char)value;
    return to;
}
