/* Looks at the 8 bytes before a payload: in stage 5, the whole header. Nobody but a teacher may do this. */
#include <stdio.h>
#include <stdlib.h>

static void show(const char *when, const void *payload)
{
    size_t word = ((const size_t *)payload)[-1];
    printf("%-22s %5zu = %zu + %zu + %zu\n", when, word, word & ~(size_t)15, word & 2, word & 1);
}

int main(void)
{
    static char line[4096];
    setvbuf(stdout, line, _IOFBF, sizeof line); /* so that printf needs no memory of its own */
    void *before = malloc(3000), *b = malloc(24), *after = malloc(3000);
    printf("header of b                  = size + PREV_USED + USED\n");
    show("all three used", b);
    free(before);
    show("the block before freed", b);
    free(after);
    show("the block after freed", b);
    return 0;
}
