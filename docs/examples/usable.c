/* Where the block sizes of the allocator under this program lie: asked for, and really got. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static char line[65536];
    setvbuf(stdout, line, _IOFBF, sizeof line); /* so that printf needs no memory of its own */
    size_t last = 0;
    for (size_t bytes = 1; bytes <= 4096; bytes++) {
        void *p = malloc(bytes);
        size_t usable = malloc_usable_size(p);
        if (usable != last)
            printf("from %4zu: %zu\n", bytes, usable);
        last = usable;
        free(p);
    }
    return 0;
}
