/* Writes past the end of one block, into the header of the next: E05. */
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *name = malloc(24), *other = malloc(24);
    memset(name, 'A', 48); /* 24 bytes too many */
    free(other);
    return 0;
}
