/* Damaged containers are left out of a compaction and named, and the others are compacted. */

#include "test.h"

enum { ALL = 3000, KEPT = 20, BATCH = 100 };

static char value[200], into[200];
static size_t len;

/* A value that begins with the name of its container and its key. */
static void make_value(const char *name, uint32_t key)
{
    memset(value, 'x', sizeof value);
    int written = snprintf(value, sizeof value, "%s has %u,", name, key);
    value[written] = 'x';
}

static nvm_heap *reopen(nvm_heap *heap, const char *path)
{
    expect(nvm_close(heap) == NVM_OK);
    heap = nvm_open(path);
    expect(heap);
    return heap;
}

/* Fills two trees and a hash map, and leaves one entry of 20. */
static nvm_heap *make(const char *path)
{
    nvm_heap *heap = nvm_create_with(path, 8 << 20, NVM_CHECKSUMS_ON);
    expect(heap);
    nvm_tree *one = nvm_tree_open(heap, "one"), *two = nvm_tree_open(heap, "two");
    nvm_hash *map = nvm_hash_open(heap, "map");
    for (uint32_t i = 0; i < ALL; i++) {
        expect(i % BATCH || nvm_begin(heap) == NVM_OK);
        make_value("one", i);
        expect(nvm_tree_put(one, &i, sizeof i, value, sizeof value) == NVM_OK);
        make_value("two", i);
        expect(nvm_tree_put(two, &i, sizeof i, value, sizeof value) == NVM_OK);
        make_value("map", i);
        expect(nvm_hash_put(map, &i, sizeof i, value, sizeof value) == NVM_OK);
        expect((i + 1) % BATCH || nvm_commit(heap) == NVM_OK);
    }
    for (uint32_t i = 0; i < ALL; i++) {
        expect(i % BATCH || nvm_begin(heap) == NVM_OK);
        if (i % KEPT) {
            expect(nvm_tree_remove(one, &i, sizeof i) == NVM_OK);
            expect(nvm_tree_remove(two, &i, sizeof i) == NVM_OK);
            expect(nvm_hash_remove(map, &i, sizeof i) == NVM_OK);
        }
        expect((i + 1) % BATCH || nvm_commit(heap) == NVM_OK);
    }
    return heap;
}

/* Every entry of what is sound is there, and the rest of what is damaged. */
static void expect_entries(nvm_heap *heap)
{
    nvm_tree *one = nvm_tree_open(heap, "one"), *two = nvm_tree_open(heap, "two");
    nvm_hash *map = nvm_hash_open(heap, "map");
    uint64_t count;
    expect(nvm_tree_count(one, &count) == NVM_OK && count == ALL / KEPT);
    for (uint32_t i = 0; i < ALL; i += KEPT) {
        make_value("one", i);
        expect(nvm_tree_get(one, &i, sizeof i, into, sizeof into, &len) == NVM_OK);
        expect(len == sizeof value && !memcmp(into, value, len));
        int of_two = nvm_tree_get(two, &i, sizeof i, into, sizeof into, &len);
        expect(of_two == (i == 2980 ? NVM_DAMAGED : NVM_OK));
        make_value("map", i);
        expect(nvm_hash_get(map, &i, sizeof i, into, sizeof into, &len) == NVM_OK);
        expect(len == sizeof value && !memcmp(into, value, len));
    }
    expect(nvm_tree_close(one) == NVM_OK && nvm_tree_close(two) == NVM_OK);
    expect(nvm_hash_close(map) == NVM_OK);
}

int main(int words, char **word)
{
    (void)words;
    const char *path = word[1];
    const char *sentence = "the container \"two\" is damaged and was left out of the compaction";
    uint64_t freed = 0, left = 77, all = 0, damaged = 0, calls = 0;

    /* All at once. */
    nvm_heap *heap = make(path);
    expect(nvm_close(heap) == NVM_OK);
    damage(path, "two has 2980,");
    heap = nvm_open(path);
    expect(heap);
    says(nvm_compact(heap, UINT64_MAX, &freed, &left), NVM_DAMAGED, sentence);
    expect(!strstr(nvm_error(), "more"));
    expect(freed > 16 << 10 && left == 0);
    expect_entries(heap);
    heap = reopen(heap, path);
    expect_entries(heap);
    /* It is found again, and said again where nobody asks for the numbers. */
    says(nvm_compact(heap, UINT64_MAX, NULL, NULL), NVM_DAMAGED, sentence);
    expect(nvm_close(heap) == NVM_OK && remove(path) == 0);

    /* By calls that do little each: one of them finds it, and the next ones go on behind it. */
    heap = make(path);
    expect(nvm_close(heap) == NVM_OK);
    damage(path, "two has 2980,");
    heap = nvm_open(path);
    expect(heap);
    do {
        freed = left = UINT64_MAX;
        int status = nvm_compact(heap, 100, &freed, &left);
        expect(status == NVM_OK || status == NVM_DAMAGED);
        if (status == NVM_DAMAGED) {
            expect(strstr(nvm_error(), sentence));
            damaged++;
        }
        expect(freed != UINT64_MAX && left != UINT64_MAX);
        all += freed;
        calls++;
    } while (left > 0);
    expect(calls > 2 && damaged == 1 && all > 16 << 10);
    expect_entries(heap);
    expect(nvm_close(heap) == NVM_OK && remove(path) == 0);

    /* Of two that are damaged the first one is named, and the other one is counted. */
    heap = make(path);
    expect(nvm_close(heap) == NVM_OK);
    damage(path, "two has 2980,");
    damage(path, "map has 1000,");
    heap = nvm_open(path);
    expect(heap);
    says(nvm_compact(heap, UINT64_MAX, &freed, &left), NVM_DAMAGED, "1 more was left out");
    expect(freed > 16 << 10 && left == 0 && nvm_close(heap) == NVM_OK);
    return 0;
}
