/*
 * Counts the words of a file in a table that is larger than the DRAM it takes:
 *
 *     make install-c PREFIX=$HOME/.local
 *     export PKG_CONFIG_PATH=$HOME/.local/lib/pkgconfig LD_LIBRARY_PATH=$HOME/.local/lib
 *     cc crates/region-c/examples/c/histogram.c $(pkg-config --cflags --libs terrace_region) -o histogram
 *     sudo -E ./histogram pcm <book.txt
 */

#include <stdio.h>
#include <stdlib.h>

#include "terrace_region.h"

#define ENTRIES (1u << 21)

static void fail(void)
{
    fprintf(stderr, "histogram: %s\n", terrace_error());
    exit(1);
}

int main(int count, char **words)
{
    if (count != 2) {
        fprintf(stderr, "usage: histogram MEMORY <TEXT\n");
        return 2;
    }
    /* A table of 16 MiB, of which 1 MiB is in DRAM. */
    terrace_extension *extension = terrace_start(1 << 20, words[1], "mfwr", "clock");
    if (!extension)
        fail();
    uint64_t *table = terrace_map(extension, ENTRIES * sizeof *table);
    if (!table)
        fail();

    char word[64];
    uint64_t number = 0, different = 0;
    for (; scanf("%63s", word) == 1; number++) {
        uint64_t hash = 14695981039346656037u;
        for (char *at = word; *at; at++)
            hash = (hash ^ (unsigned char)*at) * 1099511628211u;
        different += table[hash % ENTRIES]++ == 0;
    }

    struct terrace_figures figures;
    if (terrace_figures(extension, &figures, sizeof figures))
        fail();
    printf("%llu words, about %llu different\n", (unsigned long long)number,
           (unsigned long long)different);
    printf("%llu pages, %llu came from %s\n", (unsigned long long)figures.peak_footprint,
           (unsigned long long)figures.fetches, words[1]);
    return terrace_stop(extension);
}
