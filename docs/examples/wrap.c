/* The same subtraction, asked in two ways. Sizes are unsigned: there is nothing below zero. */
#include <stdio.h>

int main(void)
{
    size_t block_bytes = 48, wanted = 64, min_block = 32;
    printf("48 - 64 is %zu\n", block_bytes - wanted);
    if (block_bytes - wanted >= min_block)
        printf("wrong: \"the rest is large enough, split it\"\n");
    if (block_bytes >= wanted + min_block)
        printf("never printed\n");
    else
        printf("right: \"too small to split\"\n");
    return 0;
}
