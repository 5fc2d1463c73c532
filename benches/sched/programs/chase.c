// Follows pointers in random order through some KiB of memory, a line each, for some million accesses.
// Prints the time of an access, in nanoseconds of processor time.
//
//     chase KIB MILLIONS [SEED]

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct line {
    struct line *next;
    char rest[56];
};

static uint64_t state;

static uint64_t draw(void) { // xorshift64 (Marsaglia 2003)
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
    if (count < 3) {
        return 2;
    }
    size_t lines = strtoul(arguments[1], NULL, 10) * 1024 / sizeof(struct line);
    uint64_t accesses = strtoul(arguments[2], NULL, 10) * 1000000;
    state = count > 3 ? strtoul(arguments[3], NULL, 10) + 1 : 1;
    struct line *memory = aligned_alloc(4096, (lines * sizeof(struct line) + 4095) / 4096 * 4096);
    size_t *order = malloc(lines * sizeof *order);
    for (size_t i = 0; i < lines; i++) {
        order[i] = i;
    }
    for (size_t last = lines - 1; last > 0; last--) {
        size_t other = draw() % (last + 1), held = order[last];
        order[last] = order[other];
        order[other] = held;
    }
    for (size_t i = 0; i < lines; i++) {
        memory[order[i]].next = &memory[order[(i + 1) % lines]];
    }
    free(order);
    double begin = seconds();
    struct line *at = memory;
    for (uint64_t i = 0; i < accesses; i++) {
        at = at->next;
    }
    double each = (seconds() - begin) / accesses * 1e9;
    printf("%.2f %d\n", each, at == NULL);
    return 0;
}
