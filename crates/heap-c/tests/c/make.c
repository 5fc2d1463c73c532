/* Makes a list under a root, changes it in all ways, and leaves it for another process. */

#include "test.h"

int main(int count, char **words)
{
    (void)count;
    nvm_heap *heap = nvm_create(words[1], 8 << 20);
    expect(heap && nvm_bytes(heap) >= 8 << 20 && *nvm_kind(heap));
    struct list *list = nvm_persist_alloc(heap, sizeof *list, "list");
    expect(list && !nvm_found() && list->first == 0 && list->count == 0);
    expect(nvm_persist_alloc(heap, sizeof *list, "list") == list && nvm_found());
    expect(nvm_size(heap, list) >= sizeof *list);

    /* Nodes are filled directly, and linked by the commit. */
    for (uint64_t value = 0; value < 10; value++) {
        expect(nvm_begin(heap) == NVM_OK);
        struct node *node = nvm_persist_alloc(heap, sizeof *node, NULL);
        expect(node);
        node->next = list->first;
        node->value = value;
        memset(node->text, 'a' + (int)value, sizeof node->text);
        expect(nvm_set_word(heap, &list->first, nvm_offset(heap, node)) == NVM_OK);
        expect(nvm_set_word(heap, &list->count, value + 1) == NVM_OK);
        uint64_t seen = 0;
        expect(nvm_get(heap, &list->count, &seen, sizeof seen) == NVM_OK);
        expect(seen == value + 1 && list->count == value);
        expect(nvm_commit(heap) == NVM_OK);
        expect(list->count == value + 1 && nvm_pointer(heap, list->first) == node);
    }

    /* What is aborted never happened; a part that is aborted has all of it fail. */
    expect(nvm_begin(heap) == NVM_OK);
    expect(nvm_set_word(heap, &list->count, 99) == NVM_OK && list->count == 10);
    expect(nvm_persist_alloc(heap, 64, NULL));
    expect(nvm_abort(heap) == NVM_OK && list->count == 10);
    expect(nvm_begin(heap) == NVM_OK && nvm_begin(heap) == NVM_OK);
    expect(nvm_set_word(heap, &list->count, 98) == NVM_OK);
    expect(nvm_abort(heap) == NVM_OK && nvm_commit(heap) == NVM_USAGE);
    expect(strstr(nvm_error(), "nested") && list->count == 10);

    /* The first node goes, by the word that holds it. */
    struct node *first = nvm_pointer(heap, list->first);
    expect(nvm_begin(heap) == NVM_OK);
    expect(nvm_free(heap, first) == NVM_OK);
    expect(nvm_set_word(heap, &list->first, first->next) == NVM_OK);
    expect(nvm_set_word(heap, &list->count, 9) == NVM_OK);
    expect(nvm_commit(heap) == NVM_OK);

    /* Outside of transactions; directly, too. */
    struct node *node = nvm_at(nvm_base(heap), list->first);
    expect(nvm_set(heap, node->text, "zz", 2, NVM_OBJECT) == NVM_OK);
    node->value = 1000;
    expect(nvm_persist(heap, &node->value, sizeof node->value) == NVM_OK);
    expect(nvm_persist_alloc_at(heap, 40, &list->spare));
    expect(nvm_realloc_at(heap, &list->spare, 4000));
    expect(nvm_size(heap, nvm_pointer(heap, list->spare)) >= 4000);
    expect(nvm_free_at(heap, &list->spare) == NVM_OK && list->spare == 0);

    /* A root's object becomes larger, and goes with its name, which is free for another size. */
    char *text = nvm_persist_alloc(heap, 32, "text");
    strcpy(text, "kept");
    expect(nvm_persist(heap, text, 5) == NVM_OK);
    text = nvm_realloc(heap, text, 100000);
    expect(text && !strcmp(text, "kept") && nvm_root(heap, "text") == text);
    text[99999] = 'x';
    expect(nvm_persist(heap, text + 99999, 1) == NVM_OK);
    char *gone = nvm_persist_alloc(heap, 32, "gone");
    expect(nvm_free(heap, gone) == NVM_OK && !nvm_root(heap, "gone"));
    expect(nvm_persist_alloc(heap, 5000, "gone") && !nvm_found());

    /* Capacity is memory. */
    char *memory = nvm_cap_alloc(heap, 100);
    expect(memory);
    memset(memory, 7, 100);
    memory = nvm_realloc(heap, memory, 20000);
    expect(memory && memory[99] == 7 && nvm_free(heap, memory) == NVM_OK);
    expect(nvm_cap_alloc(heap, 1000));

    expect(nvm_grow(heap, 16 << 20) == NVM_OK && nvm_bytes(heap) >= 16 << 20);
    expect(nvm_close(heap) == NVM_OK);
    return 0;
}
