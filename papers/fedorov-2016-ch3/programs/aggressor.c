// The cache-aggressive microkernel of figure 3.1: reads more than any cache holds, a line with every few
// instructions.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 64 << 20, LINE = 64 };

int main(void) {
    uint8_t *bytes = malloc(BYTES);
    if (!bytes)
        return 1;
    for (size_t at = 0; at < BYTES; at += LINE)
        bytes[at] = (uint8_t)(at / LINE);
    uint64_t sum = 0;
    for (int pass = 0; pass < 1000000; pass++)
        for (size_t at = 0; at < BYTES; at += LINE)
            sum += ((volatile uint8_t *)bytes)[at];
    printf("%llu\n", (unsigned long long)sum);
    free(bytes);
}
