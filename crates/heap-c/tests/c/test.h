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

struct list {
    uint64_t first, count, spare;
};

struct node {
    uint64_t next, value;
    char text[100];
};
