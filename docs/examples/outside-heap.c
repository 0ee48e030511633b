/* Frees what malloc never gave: a local variable. E03. */
#include <stdlib.h>

int main(void)
{
    int local = 0;
    int *heap = malloc(sizeof *heap);
    int *p = heap == NULL ? heap : &local;
    free(p);
    return local;
}
