/*
 * Keys and values in a file, in the order of the keys:
 *
 *     make install PREFIX=$HOME/.local
 *     export PKG_CONFIG_PATH=$HOME/.local/lib/pkgconfig LD_LIBRARY_PATH=$HOME/.local/lib
 *     cc crates/heap-c/examples/c/store.c $(pkg-config --cflags --libs terrace_heap) -o store
 *     ./store app.pool put user/anna 30
 *     ./store app.pool rename user/anna user/Anna
 *     ./store app.pool list user/
 *     ./store app.pool log
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "terrace_heap.h"

/* The longest value, and the longest line of the log. */
#define LONGEST 4096

struct store {
    nvm_heap *heap;
    nvm_tree *entries;
    /* What was done, until it is read. */
    nvm_queue *log;
    /* What is to be done. */
    const char *key, *other;
};

static int put(nvm_heap *heap, void *argument)
{
    (void)heap;
    struct store *store = argument;
    char line[LONGEST];
    snprintf(line, sizeof line, "put %s", store->key);
    int status = nvm_tree_put(store->entries, store->key, strlen(store->key), store->other,
                              strlen(store->other));
    return status ? status : nvm_queue_push(store->log, line, strlen(line));
}

static int rename_key(nvm_heap *heap, void *argument)
{
    (void)heap;
    struct store *store = argument;
    char value[LONGEST], line[LONGEST];
    size_t len;
    int status;
    snprintf(line, sizeof line, "rename %s to %s", store->key, store->other);
    if ((status = nvm_tree_get(store->entries, store->key, strlen(store->key), value, sizeof value, &len)) ||
        (status = nvm_tree_remove(store->entries, store->key, strlen(store->key))) ||
        (status = nvm_tree_put(store->entries, store->other, strlen(store->other), value, len)))
        return status;
    return nvm_queue_push(store->log, line, strlen(line));
}

static int get(struct store *store)
{
    char value[LONGEST];
    size_t len;
    int status = nvm_tree_get(store->entries, store->key, strlen(store->key), value, sizeof value, &len);
    if (!status)
        printf("%.*s\n", (int)len, value);
    return status;
}

static int list(struct store *store)
{
    char key[LONGEST], value[LONGEST];
    size_t key_len, len;
    nvm_cursor *cursor = nvm_cursor_open(store->entries);
    if (!cursor)
        return nvm_error_status();
    int status = nvm_cursor_prefix(cursor, store->key, strlen(store->key));
    for (; !status; status = nvm_cursor_next(cursor)) {
        if ((status = nvm_cursor_key(cursor, key, sizeof key, &key_len)) ||
            (status = nvm_cursor_value(cursor, value, sizeof value, &len)))
            return status;
        printf("%.*s = %.*s\n", (int)key_len, key, (int)len, value);
    }
    return status == NVM_NONE ? nvm_cursor_close(cursor) : status;
}

/* Prints what was done, and forgets it. */
static int print_log(struct store *store)
{
    char line[LONGEST];
    size_t len;
    int status;
    while (!(status = nvm_queue_pop(store->log, line, sizeof line, &len)))
        printf("%.*s\n", (int)len, line);
    return status == NVM_NONE ? NVM_OK : status;
}

static void usage(void)
{
    fprintf(stderr, "usage: store POOL put KEY VALUE | rename KEY NEW | get KEY | remove KEY |"
                    " list [PREFIX] | log\n");
    exit(2);
}

static int run(struct store *store, int count, char **words)
{
    const char *what = words[2];
    store->key = count > 3 ? words[3] : "";
    store->other = count > 4 ? words[4] : NULL;
    if (!strcmp(what, "put") && store->other)
        return nvm_transaction(store->heap, put, store);
    if (!strcmp(what, "rename") && store->other)
        return nvm_transaction(store->heap, rename_key, store);
    if (!strcmp(what, "get"))
        return get(store);
    if (!strcmp(what, "remove"))
        return nvm_tree_remove(store->entries, store->key, strlen(store->key));
    if (!strcmp(what, "list"))
        return list(store);
    if (!strcmp(what, "log"))
        return print_log(store);
    usage();
    return NVM_USAGE;
}

static void fail(const char *why)
{
    fprintf(stderr, "store: %s\n", why);
    exit(1);
}

int main(int count, char **words)
{
    struct store store = {0};
    if (count < 3)
        usage();
    if (!(store.heap = nvm_open(words[1])) && !(store.heap = nvm_create(words[1], 16 << 20)))
        fail(nvm_error());
    if (!(store.entries = nvm_tree_open(store.heap, "entries")) ||
        !(store.log = nvm_queue_open(store.heap, "log")))
        fail(nvm_error());
    switch (run(&store, count, words)) {
    case NVM_OK:
        break;
    case NVM_NONE:
        fail("there is no such key");
        break;
    case NVM_SHORT:
        fail("the value is longer than 4096 bytes");
        break;
    default:
        fail(nvm_error());
    }
    if (nvm_close(store.heap))
        fail(nvm_error());
    return 0;
}
