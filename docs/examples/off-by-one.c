/* Room for 24 characters, and none for the '\0' that ends them: the last byte lands in the next header. */
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *name = malloc(24), *other = malloc(24);
    strcpy(name, "exactly 24 characters...");
    free(name);
    free(other);
    return 0;
}
