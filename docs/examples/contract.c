/* Asks the allocator it runs on for its side of the contract: docs/contract.md. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static const char *answer(const void *p) { return p != NULL ? "a pointer" : errno == 0 ? "NULL" : "NULL and errno"; }

static void show(const char *call, const void *p)
{
    printf("%-34s %s%s\n", call, answer(p), errno == ENOMEM ? " ENOMEM" : errno == EINVAL ? " EINVAL" : "");
    errno = 0;
}

int main(void)
{
    static char line[4096];
    setvbuf(stdout, line, _IOFBF, sizeof line); /* so that printf needs no memory of its own */
    void *p = malloc(0);
    show("malloc(0)", p);
    show("realloc(NULL, 100)", p = realloc(NULL, 100));
    show("realloc(p, PTRDIFF_MAX + 1)", realloc(p, (size_t)PTRDIFF_MAX + 1));
    show("realloc(p, 0)", realloc(p, 0));
    show("malloc(PTRDIFF_MAX + 1)", malloc((size_t)PTRDIFF_MAX + 1));
    show("calloc(SIZE_MAX / 2, 4)", calloc(SIZE_MAX / 2, 4));
    show("aligned_alloc(64, 100)", p = aligned_alloc(64, 100));
    show("aligned_alloc(24, 100)", aligned_alloc(24, 100));
    errno = EDOM;
    free(p);
    printf("%-34s %s\n", "free(p) and errno", errno == EDOM ? "untouched" : "changed");
    return 0;
}
