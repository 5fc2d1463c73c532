// arrays SECONDS [reads|recycles|fork]: fills two arrays of 8 MiB, of which a placement has the first, `kept`, on the fast
// node; leaves both alone for SECONDS, or until the file that PAGES_ENOUGH names is there; and checks them. Meanwhile
// `reads` reads the second again and again; `recycles` has made and freed many kept blocks before, and has blocks that
// are not kept in their place, which stand for the second; `fork` has a child that writes both. The file that PAGES_AT
// names gets a line for each process, as of `pages`, with `kept` as the hot part.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, BYTES = 8 << 20, BLOCK = 96 << 10, BLOCKS = 64 };

// Both are written at once, so that they are there.
static char *keep(size_t bytes) {
    return memset(malloc(bytes), 1, bytes); // kept
}

static char *make(size_t bytes) {
    return memset(malloc(bytes), 1, bytes);
}

static int goes_on(time_t until) {
    const char *enough = getenv("PAGES_ENOUGH");
    return time(NULL) < until && (!enough || access(enough, F_OK));
}

static void tell(char *kept, char *other, size_t bytes) {
    const char *path = getenv("PAGES_AT");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file)
        return;
    // The whole pages of each.
    size_t of_kept = BYTES / PAGE - 1, of_other = bytes / PAGE - 1;
    uintptr_t first = ((uintptr_t)kept + PAGE - 1) / PAGE * PAGE, second = ((uintptr_t)other + PAGE - 1) / PAGE * PAGE;
    fprintf(file, "%d %zu %zu %zu %zu\n", getpid(), second, of_other + of_kept, first, of_kept);
    fclose(file);
}

int main(int count, char **arguments) {
    const char *mode = count > 2 ? arguments[2] : "";
    time_t until = time(NULL) + atol(arguments[1]);
    char *other = NULL, *last = NULL;
    size_t bytes = BYTES;
    if (!strcmp(mode, "recycles")) {
        char *blocks[BLOCKS];
        for (int block = 0; block < BLOCKS; block++)
            blocks[block] = keep(BLOCK); // main
        // Behind a block in use the others stay with the C library when they are freed.
        last = malloc(1);
        other = blocks[0];
        bytes = blocks[BLOCKS - 1] + BLOCK - other;
        for (int block = 0; block < BLOCKS; block++)
            free(blocks[block]);
        for (int block = 0; block < BLOCKS; block++)
            if (make(BLOCK) != blocks[block])
                return 3;
    }
    char *kept = keep(BYTES); // main
    if (!other)
        other = make(bytes);
    pid_t child = -1;
    char byte = 1;
    if (!strcmp(mode, "fork") && (child = fork()) == 0) {
        byte = 2;
        memset(kept, byte, BYTES);
        memset(other, byte, bytes);
    }
    tell(kept, other, bytes);
    long sum = 0;
    while (goes_on(until))
        if (!strcmp(mode, "reads"))
            for (size_t at = 0; at < bytes; at += PAGE)
                sum += *(volatile char *)(other + at);
        else
            usleep(100000);
    for (size_t at = PAGE; at < BYTES; at += PAGE)
        if (kept[at] != byte)
            return 4;
    free(last);
    int status = 0;
    if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
        return 5;
    if (child != 0)
        puts("as written");
    return sum < 0;
}
