/* What a heap says about itself, to programs of any age. */

#include "test.h"

int main(int words, char **word)
{
    (void)words;
    nvm_heap *heap = nvm_create(word[1], 8 << 20);
    struct nvm_statistics before, after;
    expect(nvm_statistics(heap, &before, sizeof before) == NVM_OK);
    expect(before.bytes == nvm_bytes(heap) && before.free && before.longest_free);
    expect(before.longest_free <= before.free && before.free < before.bytes);
    char *large = nvm_persist_alloc(heap, 1 << 20, "large");
    expect(large);
    expect(nvm_statistics(heap, &after, sizeof after) == NVM_OK);
    expect(after.free + (1 << 20) <= before.free && after.longest_free < before.longest_free);
    expect(after.lines > before.lines && after.fences > before.fences);
    expect(after.stored > before.stored && after.syncs >= before.syncs);
    expect(strcmp(nvm_kind(heap), "plain file") || after.syncs > before.syncs);

    /* Many lines, with few fences. */
    before = after;
    expect(nvm_persist(heap, large, 6400) == NVM_OK);
    expect(nvm_statistics(heap, &after, sizeof after) == NVM_OK);
    expect(after.lines >= before.lines + 100 && after.fences > before.fences);
    expect(after.fences < before.fences + 10 && after.syncs < before.syncs + 10);
    expect(after.free == before.free && after.bytes == before.bytes);

    /* An older program knows less. */
    memset(&before, 7, sizeof before);
    expect(nvm_statistics(heap, &before, 2 * sizeof(uint64_t)) == NVM_OK);
    expect(before.bytes == after.bytes && before.free == after.free);
    expect(before.longest_free == 0x0707070707070707);
    /* A newer one knows more. */
    struct {
        struct nvm_statistics known;
        uint64_t more[4];
    } newer;
    memset(&newer, 7, sizeof newer);
    expect(nvm_statistics(heap, &newer.known, sizeof newer) == NVM_OK);
    expect(newer.known.bytes == after.bytes && newer.known.syncs == after.syncs);
    expect(!newer.more[0] && !newer.more[3]);
    expect(nvm_close(heap) == NVM_OK);
    return 0;
}
