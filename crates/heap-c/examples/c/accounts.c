/*
 * Moves money between accounts that survive restarts and crashes:
 *
 *     make install PREFIX=$HOME/.local
 *     export PKG_CONFIG_PATH=$HOME/.local/lib/pkgconfig LD_LIBRARY_PATH=$HOME/.local/lib
 *     cc crates/heap-c/examples/c/accounts.c $(pkg-config --cflags --libs terrace_heap) -o accounts
 *     ./accounts bank.pool 0 1 30
 */

#include <stdio.h>
#include <stdlib.h>

#include "terrace_heap.h"

#define ACCOUNTS 4

struct bank {
    uint64_t balance[ACCOUNTS];
    uint64_t transfers;
};

static void fail(void)
{
    fprintf(stderr, "accounts: %s\n", nvm_error());
    exit(1);
}

int main(int count, char **words)
{
    if (count != 5) {
        fprintf(stderr, "usage: accounts POOL FROM TO AMOUNT\n");
        return 2;
    }
    nvm_heap *heap = nvm_open(words[1]);
    if (!heap && !(heap = nvm_create(words[1], 1 << 20)))
        fail();

    struct bank *bank = nvm_persist_alloc(heap, sizeof *bank, "bank");
    if (!bank)
        fail();
    if (!nvm_found())
        printf("a new bank, on %s\n", nvm_kind(heap));

    unsigned from = atoi(words[2]) % ACCOUNTS, to = atoi(words[3]) % ACCOUNTS;
    uint64_t amount = strtoull(words[4], NULL, 10);

    /* Both accounts and the count, or nothing. */
    if (nvm_begin(heap) ||
        nvm_set_word(heap, &bank->balance[from], bank->balance[from] - amount) ||
        nvm_set_word(heap, &bank->balance[to], bank->balance[to] + amount) ||
        nvm_set_word(heap, &bank->transfers, bank->transfers + 1) ||
        nvm_commit(heap))
        fail();

    for (int i = 0; i < ACCOUNTS; i++)
        printf("account %d: %lld\n", i, (long long)bank->balance[i]);
    printf("transfers: %llu\n", (unsigned long long)bank->transfers);
    return nvm_close(heap);
}
