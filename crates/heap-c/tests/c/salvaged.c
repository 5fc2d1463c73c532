/* Checksums of contents: a damaged entry is an error, and the others are salvaged. */

#include "test.h"

static char value[100], into[200];
static size_t len;
static int reports;

static void report(const char *sentence, void *argument)
{
    expect(strlen(sentence) > 10 && argument == value);
    reports++;
}

int main(int words, char **word)
{
    (void)words;
    char path[4096], to[4096];
    snprintf(path, sizeof path, "%s.old", word[1]);
    snprintf(to, sizeof to, "%s.new", word[1]);
    int extent = 77;
    uint64_t count;
    expect(nvm_create_with(path, 4 << 20, 3) == NULL && nvm_error_status() == NVM_USAGE);
    nvm_heap *heap = nvm_create_with(path, 4 << 20, NVM_CHECKSUMS_ON);
    expect(heap != NULL && nvm_has_checksums(heap) == 1);
    nvm_tree *tree = nvm_tree_open(heap, "tree");
    nvm_hash *hash = nvm_hash_open(heap, "hash");
    for (uint32_t i = 0; i < 500; i++) {
        snprintf(value, sizeof value, "value %u of all", i);
        expect(nvm_tree_put(tree, &i, sizeof i, value, sizeof value) == NVM_OK);
        value[0] = 'V';
        expect(nvm_hash_put(hash, &i, sizeof i, value, sizeof value) == NVM_OK);
    }
    expect(nvm_salvage(path, to, 0, &extent, NULL, NULL) == NVM_OPEN && extent == 77);
    expect(nvm_open(path) == NULL && nvm_error_status() == NVM_OPEN);
    expect(nvm_close(heap) == NVM_OK);

    expect(nvm_salvage(path, to, NVM_CHECKSUMS_OFF, &extent, report, value) == NVM_OK);
    expect(extent == NVM_ALL && reports == 0);
    heap = nvm_open(to);
    expect(heap != NULL && nvm_has_checksums(heap) == 0);
    expect(nvm_close(heap) == NVM_OK && remove(to) == 0);

    damage(path, "value 77 of");
    damage(path, "Value 99 of");
    uint32_t of[] = {77, 99, 100};
    heap = nvm_open(path);
    tree = nvm_tree_open(heap, "tree");
    hash = nvm_hash_open(heap, "hash");
    expect(nvm_tree_get(tree, &of[0], 4, into, sizeof into, &len) == NVM_DAMAGED);
    expect(nvm_tree_get(tree, &of[1], 4, into, sizeof into, &len) == NVM_OK && len == 100);
    expect(nvm_hash_get(hash, &of[1], 4, into, sizeof into, &len) == NVM_DAMAGED);
    expect(nvm_hash_get(hash, &of[2], 4, into, sizeof into, &len) == NVM_OK && len == 100);
    expect(nvm_close(heap) == NVM_OK);

    expect(nvm_salvage(path, to, NVM_CHECKSUMS_DEFAULT, &extent, report, value) == NVM_OK);
    expect(extent == NVM_PART && reports == 2);
    heap = nvm_open(to);
    expect(heap != NULL && nvm_has_checksums(heap) == 1);
    tree = nvm_tree_open(heap, "tree");
    hash = nvm_hash_open(heap, "hash");
    expect(nvm_tree_count(tree, &count) == NVM_OK && count == 499);
    expect(nvm_hash_count(hash, &count) == NVM_OK && count == 499);
    expect(nvm_tree_get(tree, &of[0], 4, into, sizeof into, &len) == NVM_NONE);
    expect(nvm_close(heap) == NVM_OK && remove(to) == 0 && remove(path) == 0);
    expect(nvm_salvage(path, to, 0, NULL, NULL, NULL) == NVM_USAGE && strstr(nvm_error(), path));
    return 0;
}
