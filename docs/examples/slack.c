/* Writes 8 bytes too many, into the part of the block that rounding left over: a bug that does no harm today. */
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *name = malloc(32), *other = malloc(32);
    memset(name, 'A', 40);
    free(name);
    free(other);
    return 0;
}
