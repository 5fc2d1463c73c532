/* Whatever can be known to be wrong is a code and a sentence. */

#include "test.h"

#include <pthread.h>

static void *begin_and_end(void *heap)
{
    expect(nvm_commit(heap) == NVM_USAGE);
    expect(nvm_begin(heap) == NVM_OK);
    return NULL;
}

int main(int count, char **words)
{
    (void)count;
    int outside = 0;
    uint64_t word = 0;
    expect(*nvm_error() == 0 && nvm_error_status() == NVM_OK);
    expect(!nvm_open(NULL) && strstr(nvm_error(), "NULL") && nvm_error_status() == NVM_USAGE);
    expect(!nvm_open("/nowhere/at/all") && *nvm_error());
    expect(!nvm_anonymous(0) && *nvm_error());
    expect(!nvm_create(words[1], 0) && *nvm_error());
    says(nvm_begin(NULL), NVM_USAGE, "NULL");
    says(nvm_close((nvm_heap *)&outside), NVM_USAGE, "no heap");

    nvm_heap *heap = nvm_create(words[1], 1 << 20);
    expect(heap && !nvm_open(words[1]) && *nvm_error());
    expect(!nvm_persist_alloc(heap, 8, NULL) && strstr(nvm_error(), "root"));
    expect(!nvm_persist_alloc(heap, 8, "") && !nvm_persist_alloc(heap, 8, "\xff"));
    expect(!nvm_persist_alloc(heap, (size_t)1 << 60, "huge") && strstr(nvm_error(), "larger"));
    expect(!nvm_cap_alloc(heap, (size_t)1 << 60) && !nvm_cap_alloc(heap, SIZE_MAX));

    uint64_t *object = nvm_persist_alloc(heap, 64, "object");
    expect(object && !nvm_persist_alloc(heap, 640, "object") && strstr(nvm_error(), "640"));
    expect(!nvm_realloc(heap, object, SIZE_MAX) && !nvm_realloc(heap, NULL, 8));
    expect(!nvm_realloc(heap, object + 1, 8) && !nvm_realloc(heap, &outside, 8));
    says(nvm_free(heap, NULL), NVM_USAGE, "does not lie");
    says(nvm_free(heap, &outside), NVM_USAGE, "does not lie");
    says(nvm_free(heap, object + 1), NVM_DAMAGED, "no object begins");
    says(nvm_set_word(heap, &word, 1), NVM_USAGE, "does not lie");
    says(nvm_set_word(heap, (uint64_t *)((char *)object + 1), 1), NVM_USAGE, "multiple of 8");
    says(nvm_set(heap, object, NULL, 8, NVM_OBJECT), NVM_USAGE, "NULL");
    says(nvm_set(heap, object, &word, 8, 7), NVM_USAGE, "hint 7");
    says(nvm_set(heap, object, &word, SIZE_MAX, NVM_WORD), NVM_USAGE, "bytes");
    expect(nvm_get(heap, object, NULL, 8) && nvm_persist(heap, &outside, 4));
    expect(nvm_persist(heap, object, SIZE_MAX) && nvm_persist(heap, object, (size_t)1 << 40));
    expect(!nvm_pointer(heap, 0) && !nvm_pointer(heap, (uint64_t)1 << 60) && !nvm_offset(heap, &outside));
    says(nvm_free_at(heap, object), NVM_OK, "");
    *object = 12345;
    says(nvm_free_at(heap, object), NVM_DAMAGED, "no object begins at 12345");
    expect(!nvm_persist_alloc_at(heap, 8, object) && strstr(nvm_error(), "is not 0"));

    says(nvm_commit(heap), NVM_USAGE, "no transaction");
    says(nvm_abort(heap), NVM_USAGE, "no transaction");
    expect(nvm_begin(heap) == NVM_OK);
    says(nvm_close(heap), NVM_USAGE, "under way");
    says(nvm_remove_root(heap, "object"), NVM_USAGE, "transaction of the heap under way");
    /* A call that fails leaves the transaction as it was. */
    expect(nvm_set_word(heap, object, 7) == NVM_OK && nvm_free(heap, &outside));
    expect(nvm_commit(heap) == NVM_OK && *object == 7);
    expect(nvm_free(heap, object) == NVM_OK);
    says(nvm_free(heap, object), NVM_DAMAGED, "no object begins");
    void *memory = nvm_cap_alloc(heap, 64);
    expect(nvm_free(heap, memory) == NVM_OK && nvm_free(heap, memory) != NVM_OK);

    /* A thread that ends aborts what it has begun. */
    pthread_t thread;
    expect(!pthread_create(&thread, NULL, begin_and_end, heap) && !pthread_join(thread, NULL));
    expect(nvm_close(heap) == NVM_OK);
    says(nvm_close(heap), NVM_USAGE, "closed");
    expect(nvm_begin(heap) == NVM_USAGE && !nvm_base(heap) && !nvm_kind(heap));
    return 0;
}
