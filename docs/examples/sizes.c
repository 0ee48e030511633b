/* What a payload costs, in bytes of block: stage 4 (header 40) and stage 5 (header 8). */
#include <stddef.h>
#include <stdio.h>

static size_t round_up(size_t x, size_t multiple) { return (x + multiple - 1) & ~(multiple - 1); }

static size_t block_bytes(size_t payload_bytes, size_t header, size_t min_block)
{
    size_t bytes = round_up(payload_bytes + header, 16);
    return bytes < min_block ? min_block : bytes;
}

int main(void)
{
    static const size_t payloads[] = {0, 1, 8, 24, 25, 40, 64, 100, 1000};
    printf("alignof(max_align_t) is %zu, sizeof(void *) is %zu\n\n", _Alignof(max_align_t), sizeof(void *));
    printf("payload   stage 4   stage 5\n");
    for (size_t i = 0; i < sizeof payloads / sizeof payloads[0]; i++)
        printf("%7zu %9zu %9zu\n", payloads[i], block_bytes(payloads[i], 40, 64), block_bytes(payloads[i], 8, 32));
    return 0;
}
