// pages MIB HOT SECONDS [fork|threads]: writes MIB MiB, reads the last HOT MiB of them again and again for SECONDS, or
// until the file that PAGES_ENOUGH names is there, and checks all. With `fork`, when first touches had time to move, a
// child does the same beside its parent, and writes half of the hot part first; with `threads` two threads share the
// reading. The file that PAGES_AT names gets a line for each process: its number, the address and the pages of all, and
// those of the hot part.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };
static char *memory;
static size_t pages, hot;
static double until;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static volatile uint64_t *word(size_t page) {
    return (volatile uint64_t *)(memory + page * PAGE);
}

static int goes_on(void) {
    const char *enough = getenv("PAGES_ENOUGH");
    return now() < until && (!enough || access(enough, F_OK));
}

static void *read_hot(void *unused) {
    (void)unused;
    uint64_t sum = 0;
    while (goes_on())
        for (size_t page = pages - hot; page < pages; page++)
            sum += *word(page);
    return (void *)(uintptr_t)sum;
}

static void tell(void) {
    const char *path = getenv("PAGES_AT");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    fprintf(file, "%d %zu %zu %zu %zu\n", getpid(), (size_t)memory, pages, (size_t)memory + (pages - hot) * PAGE, hot);
    fclose(file);
}

int main(int count, char **arguments) {
    if (count < 4)
        return 2;
    const char *mode = count > 4 ? arguments[4] : "";
    pages = strtoul(arguments[1], NULL, 10) * 256;
    hot = strtoul(arguments[2], NULL, 10) * 256;
    memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    for (size_t page = 0; page < pages; page++)
        *word(page) = page * 2654435761u;
    uint64_t added = 0;
    pid_t child = -1;
    if (!strcmp(mode, "fork")) {
        sleep(10);
        child = fork();
        if (child == 0) {
            added = 7;
            for (size_t page = pages - hot; page < pages - hot / 2; page++)
                *word(page) += added;
        }
    }
    until = now() + strtod(arguments[3], NULL);
    tell();
    pthread_t other;
    if (!strcmp(mode, "threads"))
        pthread_create(&other, NULL, read_hot, NULL);
    read_hot(NULL);
    if (!strcmp(mode, "threads"))
        pthread_join(other, NULL);
    for (size_t page = 0; page < pages; page++) {
        uint64_t more = page >= pages - hot && page < pages - hot / 2 ? added : 0;
        if (*word(page) != page * 2654435761u + more) {
            printf("page %zu holds %llu\n", page, (unsigned long long)*word(page));
            return 1;
        }
    }
    if (child == 0)
        return 0;
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) {
        printf("the child failed\n");
        return 1;
    }
    printf("%zu pages as written\n", pages);
    return 0;
}
