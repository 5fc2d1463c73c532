/* Holds memory whose content it knows, and says on request whether that is right.
 *
 *     holder MIB SEED HOT
 *
 * A third of the memory is in use: a hundred times a second HOT random pages of it are read or
 * written, and each four seconds it is another third. With HOT 0 it sleeps. To a line on standard
 * input it answers by `right PAGES` or `wrong PAGES`, after it has read all pages; it ends when
 * standard input does.
 */
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 512, PERIOD_MS = 10, MOVES_S = 4, THIRDS = 3 };

static uint64_t random_state;

static uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/* The words of a page follow from its number and from how often it was written. Two of three are
 * the same, so that it can be compressed. */
static uint64_t word(uint64_t seed, uint64_t page, uint32_t version, int at) {
    return mixed(seed ^ page << 32 ^ version ^ (uint64_t)(at % 3 ? 0 : at) << 52);
}

static void fill(uint64_t *memory, uint64_t seed, uint64_t page, uint32_t version) {
    for (int at = 0; at < WORDS; at++) memory[page * WORDS + at] = word(seed, page, version, at);
}

static int is_right(const uint64_t *memory, uint64_t seed, uint64_t page, uint32_t version) {
    for (int at = 0; at < WORDS; at++)
        if (memory[page * WORDS + at] != word(seed, page, version, at)) return 0;
    return 1;
}

int main(int count, char **arguments) {
    if (count != 4) {
        fprintf(stderr, "usage: holder MIB SEED HOT\n");
        return 2;
    }
    uint64_t pages = strtoull(arguments[1], NULL, 10) * 256;
    uint64_t seed = strtoull(arguments[2], NULL, 10);
    int hot = atoi(arguments[3]);
    uint64_t *memory = aligned_alloc(4096, pages * 4096);
    uint32_t *versions = calloc(pages, sizeof *versions);
    if (!memory || !versions) return 1;
    for (uint64_t page = 0; page < pages; page++) fill(memory, seed, page, 0);
    puts("ready");
    fflush(stdout);
    uint64_t wrong = 0;
    for (;;) {
        struct pollfd input = {.fd = 0, .events = POLLIN};
        if (poll(&input, 1, hot ? PERIOD_MS : -1) > 0) {
            char line[64];
            if (read(0, line, sizeof line) <= 0) return 0;
            for (uint64_t page = 0; page < pages; page++)
                wrong += !is_right(memory, seed, page, versions[page]);
            printf("%s %llu\n", wrong ? "wrong" : "right",
                   (unsigned long long)(wrong ? wrong : pages));
            fflush(stdout);
            continue;
        }
        uint64_t third = time(NULL) / MOVES_S % THIRDS, size = pages / THIRDS;
        for (int touch = 0; touch < hot; touch++) {
            random_state = mixed(random_state + seed);
            uint64_t page = third * size + random_state % size;
            wrong += !is_right(memory, seed, page, versions[page]);
            if (touch % 3 == 0) fill(memory, seed, page, ++versions[page]);
        }
    }
}
