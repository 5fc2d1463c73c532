/* What the tests share. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terrace_region.h"

#define PAGE 4096

#define expect(what)                                                                       \
    do {                                                                                   \
        if (!(what)) {                                                                     \
            fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #what, terrace_error()); \
            exit(1);                                                                       \
        }                                                                                  \
    } while (0)

static inline void says(int status, int expected, const char *part)
{
    if (status != expected || terrace_error_status() != expected || !strstr(terrace_error(), part)) {
        fprintf(stderr, "status %d, not %d, or no \"%s\": %s\n", status, expected, part,
                terrace_error());
        exit(1);
    }
}
