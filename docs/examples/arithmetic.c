/* A pointer moves by whole elements; an offset in bytes needs a pointer to char. */
#include <stddef.h>
#include <stdio.h>

struct block {
    size_t size;
    struct block *prev, *next;
};

int main(void)
{
    static char heap[256];
    struct block *b = (struct block *)heap;
    printf("sizeof(struct block) is %zu\n", sizeof *b);
    printf("b + 1             moves %3td bytes\n", (char *)(b + 1) - heap);
    printf("b + 48            moves %3td bytes, out of the heap\n", 48 * (ptrdiff_t)sizeof *b);
    printf("(char *)b + 48    moves %3td bytes\n", (char *)b + 48 - heap);
    return 0;
}
