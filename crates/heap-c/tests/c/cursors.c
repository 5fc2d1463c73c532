/* Cursors over ordered maps. */

#include "test.h"

#include <pthread.h>

static char into[100000];
static size_t len;

/* Whether a cursor came to this entry, of which the value is the key twice. */
static int is_at(nvm_cursor *cursor, int status, const char *key)
{
    char twice[100];
    snprintf(twice, sizeof twice, "%s%s", key, key);
    return status == NVM_OK &&
           found(nvm_cursor_key(cursor, into, sizeof into, &len), into, &len, key) &&
           found(nvm_cursor_value(cursor, into, sizeof into, &len), into, &len, twice);
}

static int is_at_none(nvm_cursor *cursor, int status)
{
    return status == NVM_NONE &&
           nvm_cursor_key(cursor, into, sizeof into, &len) == NVM_NONE && len == 0 &&
           nvm_cursor_value(cursor, into, sizeof into, &len) == NVM_NONE && len == 0;
}

static void put(nvm_tree *tree, const char *key)
{
    char twice[100];
    snprintf(twice, sizeof twice, "%s%s", key, key);
    expect(nvm_tree_put(tree, text(key), text(twice)) == NVM_OK);
}

static void ways(nvm_tree *tree)
{
    nvm_cursor *cursor = nvm_cursor_open(tree);
    expect(cursor && is_at_none(cursor, NVM_NONE));
    expect(is_at(cursor, nvm_cursor_next(cursor), "apple"));
    expect(is_at(cursor, nvm_cursor_last(cursor), "plum"));
    expect(is_at_none(cursor, nvm_cursor_next(cursor)));
    expect(is_at_none(cursor, nvm_cursor_next(cursor)));
    expect(is_at(cursor, nvm_cursor_prev(cursor), "plum"));
    expect(is_at(cursor, nvm_cursor_prev(cursor), "pear"));
    expect(is_at(cursor, nvm_cursor_first(cursor), "apple"));
    expect(is_at_none(cursor, nvm_cursor_prev(cursor)));
    expect(is_at_none(cursor, nvm_cursor_prev(cursor)));
    expect(is_at(cursor, nvm_cursor_next(cursor), "apple"));
    expect(is_at(cursor, nvm_cursor_seek(cursor, text("cherry")), "cherry"));
    expect(is_at(cursor, nvm_cursor_seek(cursor, text("d")), "pea"));
    expect(is_at_none(cursor, nvm_cursor_seek(cursor, text("z"))));
    expect(is_at(cursor, nvm_cursor_prev(cursor), "plum"));
    expect(is_at(cursor, nvm_cursor_seek(cursor, NULL, 0), "apple"));

    expect(nvm_cursor_key(cursor, into, 2, &len) == NVM_SHORT && len == 5);
    expect(nvm_cursor_value(cursor, NULL, 0, &len) == NVM_SHORT && len == 10);
    expect(nvm_cursor_close(cursor) == NVM_OK);

    cursor = nvm_cursor_open(tree);
    expect(is_at(cursor, nvm_cursor_prev(cursor), "plum"));
    expect(nvm_cursor_close(cursor) == NVM_OK);
}

static void prefixes(nvm_tree *tree)
{
    nvm_cursor *cursor = nvm_cursor_open(tree);
    expect(is_at(cursor, nvm_cursor_prefix(cursor, text("pea")), "pea"));
    expect(is_at(cursor, nvm_cursor_next(cursor), "pear"));
    expect(is_at_none(cursor, nvm_cursor_next(cursor)));
    expect(is_at(cursor, nvm_cursor_prev(cursor), "pear"));
    expect(is_at(cursor, nvm_cursor_first(cursor), "pea"));
    expect(is_at_none(cursor, nvm_cursor_prev(cursor)));
    expect(is_at(cursor, nvm_cursor_last(cursor), "pear"));
    expect(is_at(cursor, nvm_cursor_seek(cursor, text("apple")), "pea"));
    expect(is_at(cursor, nvm_cursor_seek(cursor, text("peaq")), "pear"));
    expect(is_at_none(cursor, nvm_cursor_seek(cursor, text("plum"))));
    expect(is_at(cursor, nvm_cursor_prev(cursor), "pear"));
    expect(is_at_none(cursor, nvm_cursor_prefix(cursor, text("x"))));
    expect(is_at_none(cursor, nvm_cursor_last(cursor)));
    expect(is_at(cursor, nvm_cursor_prefix(cursor, text("p")), "pea"));
    expect(is_at(cursor, nvm_cursor_prefix(cursor, NULL, 0), "apple"));
    expect(is_at(cursor, nvm_cursor_last(cursor), "plum"));

    /* Nothing is above a prefix of bytes that are all the largest. */
    put(tree, "\xff\xff");
    expect(is_at(cursor, nvm_cursor_prefix(cursor, text("\xff")), "\xff\xff"));
    expect(is_at(cursor, nvm_cursor_last(cursor), "\xff\xff"));
    expect(is_at_none(cursor, nvm_cursor_prev(cursor)));
    expect(nvm_tree_remove(tree, text("\xff\xff")) == NVM_OK);
    expect(nvm_cursor_close(cursor) == NVM_OK);
}

/* What it shows stays as it was; it goes on from its key, which may be gone. */
static void changes(nvm_tree *tree)
{
    nvm_cursor *cursor = nvm_cursor_open(tree);
    expect(is_at(cursor, nvm_cursor_seek(cursor, text("cherry")), "cherry"));
    expect(nvm_tree_remove(tree, text("cherry")) == NVM_OK && is_at(cursor, NVM_OK, "cherry"));
    put(tree, "date");
    expect(is_at(cursor, nvm_cursor_next(cursor), "date"));
    put(tree, "cherry");
    expect(is_at(cursor, nvm_cursor_prev(cursor), "cherry"));
    expect(nvm_tree_remove(tree, text("date")) == NVM_OK);
    expect(is_at(cursor, nvm_cursor_next(cursor), "pea"));

    /* So it is of values that lie apart as they are long. */
    memset(into, 'v', sizeof into);
    expect(nvm_tree_put(tree, text("long"), into, sizeof into) == NVM_OK);
    expect(nvm_cursor_prev(cursor) == NVM_OK);
    expect(nvm_tree_put(tree, text("long"), text("short")) == NVM_OK);
    expect(nvm_cursor_value(cursor, into, sizeof into, &len) == NVM_OK);
    expect(len == sizeof into && into[0] == 'v' && into[len - 1] == 'v');
    expect(nvm_tree_remove(tree, text("long")) == NVM_OK);
    expect(nvm_cursor_close(cursor) == NVM_OK);
}

/* Within a transaction it sees what that has changed, and is closed with it. */
static void transactions(nvm_heap *heap, nvm_tree *tree)
{
    nvm_cursor *outside = nvm_cursor_open(tree);
    expect(is_at(outside, nvm_cursor_first(outside), "apple"));
    expect(nvm_begin(heap) == NVM_OK);
    put(tree, "banana");
    nvm_cursor *within = nvm_cursor_open(tree);
    expect(is_at(within, nvm_cursor_seek(within, text("b")), "banana"));
    expect(nvm_tree_remove(tree, text("cherry")) == NVM_OK);
    expect(is_at(within, nvm_cursor_next(within), "pea"));
    says(nvm_cursor_next(outside), NVM_USAGE, "outside of the transaction");
    expect(is_at(outside, NVM_OK, "apple"));

    /* One of a part is closed with that. */
    expect(nvm_begin(heap) == NVM_OK);
    nvm_cursor *of_part = nvm_cursor_open(tree);
    expect(is_at(of_part, nvm_cursor_last(of_part), "plum"));
    expect(nvm_commit(heap) == NVM_OK);
    says(nvm_cursor_next(of_part), NVM_USAGE, "no cursor");
    expect(is_at(within, nvm_cursor_prev(within), "banana"));
    nvm_cursor *closed = nvm_cursor_open(tree);
    expect(nvm_cursor_close(closed) == NVM_OK && nvm_cursor_close(closed) == NVM_USAGE);

    expect(nvm_abort(heap) == NVM_OK);
    says(nvm_cursor_next(within), NVM_USAGE, "no cursor");
    says(nvm_cursor_close(within), NVM_USAGE, "no cursor");
    expect(is_at(outside, nvm_cursor_next(outside), "cherry"));
    expect(nvm_cursor_close(outside) == NVM_OK);
}

static void *move(void *cursor)
{
    expect(is_at(cursor, nvm_cursor_next(cursor), "cherry"));
    return NULL;
}

/* One outside of transactions may be another thread's. */
static void threads(nvm_tree *tree)
{
    nvm_cursor *cursor = nvm_cursor_open(tree);
    expect(is_at(cursor, nvm_cursor_first(cursor), "apple"));
    pthread_t thread;
    expect(!pthread_create(&thread, NULL, move, cursor) && !pthread_join(thread, NULL));
    expect(is_at(cursor, nvm_cursor_next(cursor), "pea"));
    expect(nvm_cursor_close(cursor) == NVM_OK);
}

/* Of many entries all, forth and back. */
static void many(nvm_heap *heap)
{
    nvm_tree *tree = nvm_tree_open(heap, "many");
    char key[20];
    for (int i = 0; i < 3000; i++) {
        snprintf(key, sizeof key, "%04d", (i * 7) % 3000);
        put(tree, key);
    }
    nvm_cursor *cursor = nvm_cursor_open(tree);
    for (int i = 0; i < 3000; i++) {
        snprintf(key, sizeof key, "%04d", i);
        expect(is_at(cursor, nvm_cursor_next(cursor), key));
    }
    expect(is_at_none(cursor, nvm_cursor_next(cursor)));
    for (int i = 2999; i >= 0; i--) {
        snprintf(key, sizeof key, "%04d", i);
        expect(is_at(cursor, nvm_cursor_prev(cursor), key));
    }
    expect(is_at_none(cursor, nvm_cursor_prev(cursor)));
}

int main(void)
{
    nvm_heap *heap = nvm_anonymous(32 << 20);
    nvm_tree *tree = nvm_tree_open(heap, "tree");
    nvm_cursor *cursor = nvm_cursor_open(tree);
    expect(is_at_none(cursor, nvm_cursor_first(cursor)));
    expect(is_at_none(cursor, nvm_cursor_last(cursor)));
    expect(is_at_none(cursor, nvm_cursor_prefix(cursor, text("p"))));
    expect(nvm_cursor_close(cursor) == NVM_OK);
    const char *keys[] = {"pear", "apple", "plum", "cherry", "pea"};
    for (int i = 0; i < 5; i++)
        put(tree, keys[i]);
    ways(tree);
    prefixes(tree);
    changes(tree);
    transactions(heap, tree);
    threads(tree);
    many(heap);
    expect(nvm_close(heap) == NVM_OK);
    return 0;
}
