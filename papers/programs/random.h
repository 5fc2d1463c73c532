/* Random numbers, random graphs with few popular vertices (R-MAT, as Graph500), and arrays. */
#include <stdint.h>
#include <stdlib.h>

static uint64_t state = 88172645463325252u;
static inline uint64_t random_bits(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

/* From 0 to 1. */
static inline double uniform(void) { return (random_bits() >> 11) * 0x1p-53; }

static inline void *array(long count, long size) {
    void *memory = calloc(count, size);
    if (!memory) exit(1);
    return memory;
}

/* An end of each of the two ends: quadrants with probabilities 0.57, 0.19, 0.19, 0.05. */
static inline void random_edge(int scale, uint32_t *from, uint32_t *to) {
    *from = *to = 0;
    for (int bit = 0; bit < scale; bit++) {
        uint64_t part = (random_bits() >> 20) % 100;
        *from = 2 * *from + (part >= 76);
        *to = 2 * *to + ((part >= 57 && part < 76) || part >= 95);
    }
    /* So that popular vertices are not neighbours. */
    *from = (*from * 2654435761u) & ((1u << scale) - 1);
    *to = (*to * 2654435761u) & ((1u << scale) - 1);
}
