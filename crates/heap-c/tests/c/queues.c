/* Queues of bytes: by themselves, and within transactions. */

#include "test.h"

int main(int words, char **word)
{
    (void)words;
    static char into[100000];
    size_t len;
    uint64_t count;
    nvm_heap *heap = nvm_create(word[1], 8 << 20);
    nvm_queue *queue = nvm_queue_open(heap, "queue");
    expect(queue);
    expect(nvm_queue_pop(queue, into, sizeof into, &len) == NVM_NONE && len == 0);
    expect(nvm_queue_front(queue, into, sizeof into, &len) == NVM_NONE && len == 0);
    expect(nvm_queue_push(queue, text("wash")) == NVM_OK);
    expect(nvm_queue_push(queue, NULL, 0) == NVM_OK);
    expect(nvm_queue_push(queue, text("cook")) == NVM_OK);
    expect(nvm_queue_count(queue, &count) == NVM_OK && count == 3);
    expect(found(nvm_queue_front(queue, into, sizeof into, &len), into, &len, "wash"));

    /* What has no room stays. */
    memset(into, 'x', sizeof into);
    expect(nvm_queue_front(queue, into, 3, &len) == NVM_SHORT && len == 4 && *into == 'x');
    expect(nvm_queue_pop(queue, into, 3, &len) == NVM_SHORT && len == 4 && *into == 'x');
    expect(nvm_queue_pop(queue, NULL, 0, &len) == NVM_SHORT && len == 4);
    expect(nvm_queue_count(queue, &count) == NVM_OK && count == 3);
    expect(found(nvm_queue_pop(queue, into, 4, &len), into, &len, "wash") && into[4] == 'x');
    expect(nvm_queue_pop(queue, NULL, 0, &len) == NVM_OK && len == 0);

    /* Another handle is of the same queue; within a transaction both are part of it. */
    nvm_queue *other = nvm_queue_open(heap, "queue");
    expect(nvm_begin(heap) == NVM_OK);
    expect(nvm_queue_push(queue, text("iron")) == NVM_OK);
    expect(nvm_queue_pop(other, into, 3, &len) == NVM_SHORT && len == 4);
    expect(found(nvm_queue_pop(other, into, sizeof into, &len), into, &len, "cook"));
    expect(found(nvm_queue_front(queue, into, sizeof into, &len), into, &len, "iron"));
    expect(nvm_queue_count(queue, &count) == NVM_OK && count == 1);
    expect(nvm_abort(heap) == NVM_OK);
    expect(nvm_queue_count(other, &count) == NVM_OK && count == 1);
    expect(nvm_queue_close(other) == NVM_OK);
    memset(into, 'y', sizeof into);
    expect(nvm_queue_push(queue, into, sizeof into) == NVM_OK);
    expect(nvm_queue_close(queue) == NVM_OK && nvm_close(heap) == NVM_OK);

    heap = nvm_open(word[1]);
    queue = nvm_queue_open(heap, "queue");
    expect(found(nvm_queue_pop(queue, into, sizeof into, &len), into, &len, "cook"));
    memset(into, 0, sizeof into);
    expect(nvm_queue_pop(queue, into, sizeof into, &len) == NVM_OK && len == sizeof into);
    expect(into[0] == 'y' && into[len - 1] == 'y');
    expect(nvm_queue_pop(queue, into, sizeof into, &len) == NVM_NONE);
    expect(nvm_close(heap) == NVM_OK);
    return 0;
}
