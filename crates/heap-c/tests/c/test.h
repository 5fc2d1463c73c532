/* What the tests share. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terrace_heap.h"

#define expect(what)                                                                       \
    do {                                                                                   \
        if (!(what)) {                                                                     \
            fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #what, nvm_error()); \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

/* A string as bytes. */
#define text(of) (of), strlen(of)

/* Whether a call, which has said how many bytes there are, has found these. */
static inline int found(int status, const char *bytes, const size_t *len, const char *expected)
{
    return status == NVM_OK && *len == strlen(expected) && !memcmp(bytes, expected, *len);
}

static inline void says(int status, int expected, const char *part)
{
    if (status != expected || !strstr(nvm_error(), part)) {
        fprintf(stderr, "status %d, not %d, or no \"%s\": %s\n", status, expected, part, nvm_error());
        exit(1);
    }
}

/* Changes each place with the bytes of a value; some were moved, and lie where nothing is read. */
static inline void damage(const char *path, const char *begin)
{
    static char all[9 << 20];
    FILE *file = fopen(path, "r+b");
    size_t bytes = fread(all, 1, sizeof all, file);
    expect(bytes < sizeof all);
    for (size_t at = 0; at + strlen(begin) < bytes; at++)
        if (!memcmp(all + at, begin, strlen(begin)))
            all[at] ^= 1;
    rewind(file);
    expect(fwrite(all, 1, bytes, file) == bytes && fclose(file) == 0);
}

struct list {
    uint64_t first, count, spare;
};

struct node {
    uint64_t next, value;
    char text[100];
};
