/* Containers that are emptied and removed, and copies of a heap that is open. */

#include "test.h"

static char into[100], value[100000];
static size_t len, value_len;

static uint64_t free_bytes(nvm_heap *heap)
{
    struct nvm_statistics found;
    expect(nvm_statistics(heap, &found, sizeof found) == NVM_OK);
    return found.free;
}

int main(int words, char **word)
{
    (void)words;
    char copy[4096];
    snprintf(copy, sizeof copy, "%s.copy", word[1]);
    uint64_t count;
    nvm_heap *heap = nvm_create(word[1], 16 << 20);
    nvm_tree *tree = nvm_tree_open(heap, "tree");
    nvm_hash *hash = nvm_hash_open(heap, "hash");
    nvm_queue *queue = nvm_queue_open(heap, "queue");
    for (uint32_t i = 0; i < 500; i++) {
        expect(nvm_tree_put(tree, &i, sizeof i, value, i * 10) == NVM_OK);
        expect(nvm_hash_put(hash, &i, sizeof i, value, i * 10) == NVM_OK);
        expect(nvm_queue_push(queue, value, i * 10) == NVM_OK);
    }

    /* The entries at both ends, with room for them and without. */
    uint32_t first = 0;
    expect(nvm_tree_pop_first(tree, into, 3, &len, value, sizeof value, &value_len) == NVM_SHORT);
    expect(len == 4 && value_len == 0);
    expect(nvm_tree_pop_first(tree, into, sizeof into, &len, value, sizeof value, &value_len) == NVM_OK);
    expect(len == 4 && value_len == 0 && memcmp(into, &first, 4) == 0);
    expect(nvm_tree_pop_last(tree, into, sizeof into, &len, value, 1, &value_len) == NVM_SHORT);
    expect(nvm_tree_pop_last(tree, into, sizeof into, &len, value, sizeof value, &value_len) == NVM_OK);
    expect(nvm_tree_count(tree, &count) == NVM_OK && count == 498);

    /* A copy has what is there now, and can be read by itself. */
    expect(nvm_copy(heap, copy) == NVM_OK);
    expect(nvm_copy(heap, copy) == NVM_USAGE && strstr(nvm_error(), "is there already"));

    /* Few entries of many are left; what they lie in is compacted, by calls that do little each. */
    uint64_t freed, left, full = free_bytes(heap), calls = 0, all = 0;
    for (uint32_t i = 5; i < 490; i++)
        expect(i % 20 == 0 || nvm_tree_remove(tree, &i, sizeof i) != NVM_USAGE);
    expect(nvm_begin(heap) == NVM_OK && nvm_compact(heap, 10, &freed, &left) == NVM_USAGE);
    expect(nvm_abort(heap) == NVM_OK);
    do {
        expect(nvm_compact(heap, 100, &freed, &left) == NVM_OK);
        all += freed;
        calls++;
    } while (left > 0);
    expect(calls > 2 && all > 0 && free_bytes(heap) > full);
    expect(nvm_compact(heap, UINT64_MAX, NULL, NULL) == NVM_OK);
    for (uint32_t i = 20; i < 480; i += 20) {
        expect(nvm_tree_get(tree, &i, sizeof i, value, sizeof value, &value_len) == NVM_OK);
        expect(value_len == i * 10);
    }

    expect(nvm_tree_clear(tree) == NVM_OK && nvm_hash_clear(hash) == NVM_OK);
    expect(nvm_queue_clear(queue) == NVM_OK);
    expect(nvm_tree_count(tree, &count) == NVM_OK && count == 0);
    expect(nvm_hash_count(hash, &count) == NVM_OK && count == 0);
    expect(nvm_queue_count(queue, &count) == NVM_OK && count == 0);
    expect(nvm_tree_pop_first(tree, into, sizeof into, &len, value, sizeof value, &value_len) == NVM_NONE);
    expect(nvm_tree_put(tree, "a", 1, "b", 1) == NVM_OK && nvm_hash_put(hash, "a", 1, "b", 1) == NVM_OK);
    expect(nvm_queue_push(queue, "c", 1) == NVM_OK);

    /* Within a transaction, which is given up. */
    expect(nvm_begin(heap) == NVM_OK && nvm_tree_clear(tree) == NVM_OK && nvm_hash_clear(hash) == NVM_OK);
    expect(nvm_queue_clear(queue) == NVM_OK && nvm_tree_count(tree, &count) == NVM_OK && count == 0);
    expect(nvm_abort(heap) == NVM_OK);
    expect(nvm_tree_count(tree, &count) == NVM_OK && count == 1);
    expect(nvm_hash_get(hash, "a", 1, into, sizeof into, &len) == NVM_OK && len == 1);

    /* A container is removed when nothing has it open. */
    expect(nvm_remove(heap, "tree") == NVM_USAGE && strstr(nvm_error(), "is open"));
    expect(nvm_tree_close(tree) == NVM_OK && nvm_hash_close(hash) == NVM_OK);
    expect(nvm_queue_close(queue) == NVM_OK);
    uint64_t before = free_bytes(heap);
    expect(nvm_remove(heap, "tree") == NVM_OK && nvm_remove(heap, "tree") == NVM_NONE);
    expect(nvm_remove(heap, "hash") == NVM_OK && nvm_remove(heap, "queue") == NVM_OK);
    expect(nvm_persist_alloc(heap, 64, "object"));
    expect(nvm_remove(heap, "object") == NVM_USAGE);
    expect(free_bytes(heap) >= before);
    expect(nvm_close(heap) == NVM_OK);

    heap = nvm_open_read(copy);
    expect(heap);
    nvm_heap *second = nvm_open_read(copy);
    expect(second && nvm_close(second) == NVM_OK);
    tree = nvm_tree_open(heap, "tree");
    expect(tree && nvm_tree_count(tree, &count) == NVM_OK && count == 498);
    expect(nvm_tree_put(tree, "a", 1, "b", 1) == NVM_USAGE);
    expect(strstr(nvm_error(), "open for reading alone"));
    expect(!nvm_tree_open(heap, "another"));
    expect(nvm_close(heap) == NVM_OK && remove(copy) == 0);
    return 0;
}
