/* Frees the same block twice: E01. */
#include <stdlib.h>

int main(void)
{
    char *a = malloc(24), *b = malloc(24);
    char *alias = a; /* two names for one block, and two owners who both think it is theirs */
    free(a);
    free(alias);
    free(b);
    return 0;
}
