/* A payload that happens to look like a header, and a pointer that moved: what does free() believe? */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
    static char line[4096];
    setvbuf(stdout, line, _IOFBF, sizeof line); /* so that printf needs no memory of its own */
    size_t *mine = malloc(64 * sizeof *mine);
    for (size_t i = 0; i < 64; i++)
        mine[i] = 35; /* an innocent odd number: 32 + 2 + 1 */
    free(mine + 8); /* never returned by malloc */
    size_t *other = malloc(24);
    printf("malloc(24) returned mine + %td: a pointer into a block that is used\n", other - mine);
    return 0;
}
