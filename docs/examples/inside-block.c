/* Frees a pointer that was moved while it was used: E02. */
#include <stdlib.h>

int main(void)
{
    char *text = malloc(2000);
    for (int i = 0; i < 64; i++)
        *text++ = 'x'; /* text no longer points to what malloc returned */
    free(text);
    return 0;
}
