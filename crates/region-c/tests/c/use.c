/* Threads use two regions at a tenth of DRAM, over an emulated memory and a file. */

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define PAGES 1000
#define THREADS 4

struct part {
    uint64_t *words;
    unsigned number;
};

/* Writes a word of every page of its part, three times, and reads it back. */
static void *use(void *argument)
{
    struct part *part = argument;
    for (uint64_t turn = 1; turn <= 3; turn++) {
        for (unsigned page = part->number; page < PAGES; page += THREADS)
            part->words[page * (PAGE / 8) + page % 512] = turn << 32 | page;
        for (unsigned page = part->number; page < PAGES; page += THREADS)
            if (part->words[page * (PAGE / 8) + page % 512] != (turn << 32 | page))
                return part;
    }
    return NULL;
}

static void use_by_threads(uint64_t *words)
{
    pthread_t threads[THREADS];
    struct part parts[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        parts[i].words = words;
        parts[i].number = i;
        expect(!pthread_create(&threads[i], NULL, use, &parts[i]));
    }
    for (unsigned i = 0; i < THREADS; i++) {
        void *wrong;
        expect(!pthread_join(threads[i], &wrong) && !wrong);
    }
}

/* Returns the sum of a region's words. */
static uint64_t sum(const uint64_t *words)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < PAGES * PAGE / sizeof *words; i++)
        sum += words[i];
    return sum;
}

/* A child has the regions of its parent and goes on by itself, without calls. */
static void fork_from(terrace_extension *extension, uint64_t *words)
{
    int status;
    uint64_t before = sum(words), first = *words;
    pid_t child = fork();
    if (!child) {
        says(terrace_stop(extension), TERRACE_USAGE, "forked child");
        expect(!terrace_map(extension, 1) && !terrace_start(1 << 20, "pcm", NULL, NULL));
        expect(sum(words) == before);
        *words = first + 1;
        expect(sum(words) == before + 1);
        _exit(0);
    }
    expect(waitpid(child, &status, 0) == child);
    expect(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    expect(*words == first && sum(words) == before);
}

int main(int count, char **words)
{
    struct terrace_figures figures;
    struct { struct terrace_figures known; uint64_t later; } longer;
    (void)count;
    expect(terrace_check() == TERRACE_OK);
    const char *memories[] = {"pcm", words[1]}, *writes[] = {NULL, "mfwr:pin=off"};
    for (int i = 0; i < 2; i++) {
        terrace_extension *extension =
            terrace_start(100 * PAGE, memories[i], writes[i], i ? "lru" : NULL);
        expect(extension);
        uint64_t *first = terrace_map(extension, PAGES * PAGE);
        char *second = terrace_map(extension, PAGE + 1);
        expect(first && second && (uintptr_t)first % PAGE == 0);
        second[2 * PAGE - 1] = 7;
        use_by_threads(first);
        fork_from(extension, first);
        use_by_threads(first);
        expect(second[2 * PAGE - 1] == 7 && second[0] == 0);

        expect(terrace_figures(extension, &figures, sizeof figures) == TERRACE_OK);
        expect(figures.first_touches >= PAGES + 1 && figures.fetches > PAGES);
        expect(figures.evicted_dirty > PAGES && figures.pages_written >= figures.evicted_dirty / 2);
        expect(figures.bytes_written > 0 && figures.fetch_nanos > 0);
        expect(figures.dram == 100 && figures.peak_dram <= 100);
        expect(figures.peak_footprint >= PAGES + 1 && figures.peak_footprint <= PAGES + 2);
        expect(!figures.write_errors && !figures.read_errors && !figures.kept);
        /* Of a program that was compiled with a later header, and with an earlier one. */
        longer.later = 1;
        expect(terrace_figures(extension, &longer.known, sizeof longer) == TERRACE_OK);
        expect(longer.known.dram == 100 && longer.later == 0);
        figures.fetches = 1;
        expect(terrace_figures(extension, &figures, 8) == TERRACE_OK && figures.fetches == 1);
        says(terrace_figures(extension, &figures, 7), TERRACE_USAGE, "7 bytes");
        says(terrace_figures(extension, NULL, 8), TERRACE_USAGE, "NULL");

        says(terrace_unmap(extension, first + 1), TERRACE_USAGE, "no region");
        expect(terrace_unmap(extension, first) == TERRACE_OK);
        says(terrace_unmap(extension, first), TERRACE_USAGE, "no region");
        expect(!terrace_map(extension, 0));
        says(terrace_error_status(), TERRACE_USAGE, "no bytes");
        expect(!terrace_map(extension, UINT64_MAX));
        says(terrace_error_status(), TERRACE_USAGE, "1 TiB");
        first = terrace_map(extension, PAGE);
        expect(first && *first == 0);
        expect(terrace_stop(extension) == TERRACE_OK);
        says(terrace_stop(extension), TERRACE_USAGE, "stopped already");
        expect(!terrace_map(extension, 1));
    }
    /* More than there is counts as all. */
    terrace_extension *extension = terrace_start(UINT64_MAX, "flash", "dcw", "clock");
    expect(extension && terrace_map(extension, PAGE) && terrace_stop(extension) == TERRACE_OK);
    return 0;
}
