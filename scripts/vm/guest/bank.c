// bank POOL: moves money between accounts for ever, and says after each transfer how many there were.
// bank POOL check: says how many there were, and fails if money has come or gone.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "terrace_heap.h"

enum { ACCOUNTS = 64 };

struct bank {
    uint64_t balance[ACCOUNTS];
    uint64_t transfers;
};

static void fail(void) {
    printf("FAILED %s\n", nvm_error());
    exit(1);
}

int main(int count, char **words) {
    nvm_heap *heap = nvm_open(words[1]);
    if (!heap && (count > 2 || !(heap = nvm_create(words[1], 1 << 20))))
        fail();
    struct bank *bank = nvm_persist_alloc(heap, sizeof *bank, "bank");
    if (!bank)
        fail();
    if (count > 2) {
        uint64_t sum = 0;
        for (int account = 0; account < ACCOUNTS; account++)
            sum += bank->balance[account];
        printf("found %" PRIu64 "\n", bank->transfers);
        return sum != 0;
    }
    for (unsigned step = 1;; step++) {
        uint64_t *from = &bank->balance[step * 7 % ACCOUNTS], *to = &bank->balance[(step * 13 + 1) % ACCOUNTS];
        if (from == to)
            continue;
        if (nvm_begin(heap) || nvm_set_word(heap, from, *from - step) || nvm_set_word(heap, to, *to + step) ||
            nvm_set_word(heap, &bank->transfers, bank->transfers + 1) || nvm_commit(heap))
            fail();
        printf("transfers %" PRIu64 "\n", bank->transfers);
        fflush(stdout);
    }
}
