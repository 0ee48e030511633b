/* Damages a block's header early, and never touches that block again: who notices, and when? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *name = malloc(24);
    void *blocks[100];
    for (int i = 0; i < 100; i++)
        blocks[i] = malloc(24);
    memset(name, 'A', 48); /* into the header of blocks[0] */
    for (int i = 1; i < 100; i++) {
        free(blocks[i]);
        blocks[i] = malloc(24);
    }
    fprintf(stderr, "198 calls later, nobody has noticed\n");
    return 0;
}
