/* What is wrong is a sentence. Needs no privileges. */

#include "test.h"

static void refused(uint64_t dram, const char *memory, const char *write, const char *replacement,
                    int status, const char *part)
{
    expect(!terrace_start(dram, memory, write, replacement));
    says(terrace_error_status(), status, part);
}

int main(int count, char **words)
{
    (void)count, (void)words;
    struct terrace_figures figures;
    expect(!*terrace_error() && terrace_error_status() == TERRACE_OK);
    refused(1 << 20, NULL, NULL, NULL, TERRACE_USAGE, "memory is NULL");
    refused(1 << 20, "no-such", NULL, NULL, TERRACE_USAGE, "no-such");
    refused(1 << 20, "\xff", NULL, NULL, TERRACE_USAGE, "UTF-8");
    refused(1 << 20, "/no/such", NULL, NULL, TERRACE_FAILURE, "/no/such");
    refused(1 << 20, "pcm", "no-scheme", NULL, TERRACE_USAGE, "no-scheme");
    refused(1 << 20, "pcm", NULL, "no-policy", TERRACE_USAGE, "no-policy");
    refused(7 * PAGE, "pcm", NULL, NULL, TERRACE_USAGE, "7 pages");
    refused(0, "pcm", NULL, NULL, TERRACE_USAGE, "0 pages");
    terrace_extension *none[] = {NULL, (terrace_extension *)99};
    for (int i = 0; i < 2; i++) {
        expect(!terrace_map(none[i], PAGE));
        says(terrace_error_status(), TERRACE_USAGE, "no such extension");
        says(terrace_unmap(none[i], NULL), TERRACE_USAGE, "no such extension");
        says(terrace_figures(none[i], &figures, sizeof figures), TERRACE_USAGE, "no such extension");
        says(terrace_stop(none[i]), TERRACE_USAGE, "no such extension");
    }
    return 0;
}
