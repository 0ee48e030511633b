/* How many calls of malloc are left at -O2? gcc -O2 -S -o - removed.c | grep -c malloc; then with -DKEEP. */
#include <stdlib.h>

static void keep(void *p)
{
#ifdef KEEP
    __asm__ volatile("" : "+r"(p) : : "memory");
#else
    (void)p;
#endif
}

int main(void)
{
    void *p = malloc(64);
    keep(p);
    free(p);
    return 0;
}
