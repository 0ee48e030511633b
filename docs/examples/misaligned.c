/* Frees a pointer 8 bytes into its block: E04. */
#include <stdlib.h>

struct message {
    long length;
    char text[40];
};

int main(void)
{
    struct message *m = malloc(sizeof *m);
    free(m->text); /* the member, not the struct */
    return 0;
}
