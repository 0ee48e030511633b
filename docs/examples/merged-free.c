/* Frees a block that was merged into the one before it since, a second time: E01, of memory that is free. */
#include <stdlib.h>

int main(void)
{
    char *a = malloc(2000), *b = malloc(2000), *c = malloc(2000);
    free(a);
    free(b); /* a and b are one free block now */
    free(b);
    free(c);
    return 0;
}
