/* Writes into a block after giving it back. The allocator keeps its links there: I6. */
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *name = malloc(24), *other = malloc(24);
    free(name);
    strcpy(name, "still here?");
    free(other);
    return 0;
}
