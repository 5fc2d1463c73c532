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

struct list {
    uint64_t first, count, spare;
};

struct node {
    uint64_t next, value;
    char text[100];
};
