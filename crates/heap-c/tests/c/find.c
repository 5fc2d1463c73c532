/* Finds what another process has made. */

#include "test.h"

int main(int count, char **words)
{
    (void)count;
    nvm_heap *heap = nvm_open(words[1]);
    expect(heap && nvm_bytes(heap) >= 16 << 20);
    struct list *list = nvm_persist_alloc(heap, sizeof *list, "list");
    expect(list && nvm_found() && nvm_root(heap, "list") == list);
    expect(list->count == 9 && list->spare == 0);
    uint64_t at = list->first, value = 8;
    for (; at; value--) {
        struct node *node = nvm_pointer(heap, at);
        expect(node->value == (value == 8 ? 1000 : value));
        expect(node->text[0] == (value == 8 ? 'z' : 'a' + (int)value));
        expect(node->text[99] == 'a' + (int)value);
        at = node->next;
    }
    expect(value == (uint64_t)-1);
    char *text = nvm_root(heap, "text");
    expect(text && !strcmp(text, "kept") && text[99999] == 'x');
    expect(nvm_root(heap, "gone") && nvm_size(heap, nvm_root(heap, "gone")) >= 5000);

    expect(nvm_remove_root(heap, "text") == NVM_USAGE);
    expect(nvm_free(heap, text) == NVM_OK && nvm_remove_root(heap, "text") == NVM_USAGE);
    expect(nvm_close(heap) == NVM_OK);
    return 0;
}
