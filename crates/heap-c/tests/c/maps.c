/* Maps from bytes to bytes, of both kinds: by themselves, and within transactions. */

#include "test.h"

static char into[100000];
static size_t len;
static uint64_t count;

static void hash(nvm_heap *heap)
{
    nvm_hash *hash = nvm_hash_open(heap, "hash");
    expect(hash);
    expect(nvm_hash_put(hash, text("one"), text("first")) == NVM_OK);
    expect(nvm_hash_put(hash, text("two"), text("second")) == NVM_OK);
    expect(nvm_hash_put(hash, text("one"), text("other")) == NVM_OK);
    expect(found(nvm_hash_get(hash, text("one"), into, sizeof into, &len), into, &len, "other"));
    expect(nvm_hash_get(hash, text("three"), into, sizeof into, &len) == NVM_NONE && len == 0);
    expect(nvm_hash_count(hash, &count) == NVM_OK && count == 2);
    expect(nvm_hash_remove(hash, text("one")) == NVM_OK);
    expect(nvm_hash_remove(hash, text("one")) == NVM_NONE);

    /* Too little room tells how much is needed, and changes no byte. */
    memset(into, 'x', sizeof into);
    expect(nvm_hash_get(hash, text("two"), into, 5, &len) == NVM_SHORT && len == 6 && *into == 'x');
    expect(nvm_hash_get(hash, text("two"), NULL, 0, &len) == NVM_SHORT && len == 6);
    expect(found(nvm_hash_get(hash, text("two"), into, 6, &len), into, &len, "second") && into[6] == 'x');

    /* Nothing is a key and a value as well, and so are bytes of any value and number. */
    expect(nvm_hash_put(hash, NULL, 0, NULL, 0) == NVM_OK);
    expect(nvm_hash_get(hash, NULL, 0, NULL, 0, &len) == NVM_OK && len == 0);
    memset(into, 'y', sizeof into);
    expect(nvm_hash_put(hash, "\0\xff", 2, into, sizeof into) == NVM_OK);
    memset(into, 0, sizeof into);
    expect(nvm_hash_get(hash, "\0\xff", 2, into, sizeof into, &len) == NVM_OK && len == sizeof into);
    expect(into[0] == 'y' && into[sizeof into - 1] == 'y');

    /* Another handle is of the same map; within a transaction both are part of it. */
    nvm_hash *other = nvm_hash_open(heap, "hash");
    expect(other && other != hash);
    expect(nvm_begin(heap) == NVM_OK);
    expect(nvm_hash_put(hash, text("two"), text("2")) == NVM_OK);
    expect(found(nvm_hash_get(other, text("two"), into, sizeof into, &len), into, &len, "2"));
    expect(nvm_hash_remove(other, NULL, 0) == NVM_OK);
    expect(nvm_hash_remove(hash, NULL, 0) == NVM_NONE);
    expect(nvm_hash_count(hash, &count) == NVM_OK && count == 2);
    expect(nvm_abort(heap) == NVM_OK);
    expect(found(nvm_hash_get(other, text("two"), into, sizeof into, &len), into, &len, "second"));
    expect(nvm_hash_count(other, &count) == NVM_OK && count == 3);
    expect(nvm_hash_close(other) == NVM_OK);
    expect(nvm_begin(heap) == NVM_OK);
    for (uint64_t i = 0; i < 10000; i++)
        expect(nvm_hash_put(hash, &i, sizeof i, &i, sizeof i) == NVM_OK);
    expect(nvm_commit(heap) == NVM_OK);
    expect(nvm_hash_count(hash, &count) == NVM_OK && count == 10003);
    expect(nvm_hash_close(hash) == NVM_OK);
}

static void tree(nvm_heap *heap)
{
    nvm_tree *tree = nvm_tree_open(heap, "tree");
    expect(tree);
    expect(nvm_tree_put(tree, text("one"), text("first")) == NVM_OK);
    expect(nvm_tree_put(tree, text("two"), text("second")) == NVM_OK);
    expect(nvm_tree_put(tree, text("one"), text("other")) == NVM_OK);
    expect(found(nvm_tree_get(tree, text("one"), into, sizeof into, &len), into, &len, "other"));
    expect(nvm_tree_get(tree, text("three"), into, sizeof into, &len) == NVM_NONE && len == 0);
    expect(nvm_tree_count(tree, &count) == NVM_OK && count == 2);
    expect(nvm_tree_remove(tree, text("one")) == NVM_OK);
    expect(nvm_tree_remove(tree, text("one")) == NVM_NONE);

    memset(into, 'x', sizeof into);
    expect(nvm_tree_get(tree, text("two"), into, 5, &len) == NVM_SHORT && len == 6 && *into == 'x');
    expect(nvm_tree_get(tree, text("two"), NULL, 0, &len) == NVM_SHORT && len == 6);
    expect(found(nvm_tree_get(tree, text("two"), into, 6, &len), into, &len, "second") && into[6] == 'x');

    expect(nvm_tree_put(tree, NULL, 0, NULL, 0) == NVM_OK);
    expect(nvm_tree_get(tree, NULL, 0, NULL, 0, &len) == NVM_OK && len == 0);
    memset(into, 'y', sizeof into);
    expect(nvm_tree_put(tree, "\0\xff", 2, into, sizeof into) == NVM_OK);
    memset(into, 0, sizeof into);
    expect(nvm_tree_get(tree, "\0\xff", 2, into, sizeof into, &len) == NVM_OK && len == sizeof into);
    expect(into[0] == 'y' && into[sizeof into - 1] == 'y');
    expect(nvm_tree_put(tree, into, 16384, "", 0) == NVM_OK);

    nvm_tree *other = nvm_tree_open(heap, "tree");
    expect(other && other != tree);
    expect(nvm_begin(heap) == NVM_OK);
    expect(nvm_tree_put(tree, text("two"), text("2")) == NVM_OK);
    expect(found(nvm_tree_get(other, text("two"), into, sizeof into, &len), into, &len, "2"));
    expect(nvm_tree_remove(other, NULL, 0) == NVM_OK);
    expect(nvm_tree_remove(tree, NULL, 0) == NVM_NONE);
    expect(nvm_tree_count(tree, &count) == NVM_OK && count == 3);
    expect(nvm_abort(heap) == NVM_OK);
    expect(found(nvm_tree_get(other, text("two"), into, sizeof into, &len), into, &len, "second"));
    expect(nvm_tree_count(other, &count) == NVM_OK && count == 4);
    expect(nvm_tree_close(other) == NVM_OK && nvm_tree_close(tree) == NVM_OK);
}

int main(int words, char **word)
{
    (void)words;
    nvm_heap *heap = nvm_create(word[1], 16 << 20);
    expect(heap);
    hash(heap);
    tree(heap);
    expect(nvm_close(heap) == NVM_OK);

    heap = nvm_open(word[1]);
    nvm_hash *hash = nvm_hash_open(heap, "hash");
    nvm_tree *tree = nvm_tree_open(heap, "tree");
    expect(nvm_hash_count(hash, &count) == NVM_OK && count == 10003);
    expect(nvm_tree_count(tree, &count) == NVM_OK && count == 4);
    expect(found(nvm_tree_get(tree, text("two"), into, sizeof into, &len), into, &len, "second"));
    expect(nvm_close(heap) == NVM_OK);
    return 0;
}
