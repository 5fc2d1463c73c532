/* Transactions over two maps and a queue. */

#include "test.h"

struct place {
    nvm_hash *hash;
    nvm_tree *tree;
    nvm_queue *queue;
    /* What the work does after its changes, and returns. */
    int (*then)(nvm_heap *heap, struct place *place);
    int calls;
};

/* Moves "it" from the hash map to the ordered map, and says so in the queue. */
static int move(nvm_heap *heap, void *argument)
{
    struct place *place = argument;
    char it[10];
    size_t len;
    int status;
    place->calls++;
    if ((status = nvm_hash_get(place->hash, text("it"), it, sizeof it, &len)) ||
        (status = nvm_hash_remove(place->hash, text("it"))) ||
        (status = nvm_tree_put(place->tree, text("it"), it, len)) ||
        (status = nvm_queue_push(place->queue, text("moved"))))
        return status;
    return place->then(heap, place);
}

/* Whether it was moved, wholly, or not at all. */
static int is_moved(struct place *place)
{
    char into[10];
    size_t len;
    int in_hash = nvm_hash_get(place->hash, text("it"), into, sizeof into, &len);
    int in_tree = nvm_tree_get(place->tree, text("it"), into, sizeof into, &len);
    int said = nvm_queue_front(place->queue, into, sizeof into, &len);
    expect(in_tree == said && in_hash + in_tree == NVM_NONE);
    return in_tree == NVM_OK;
}

static int commit(nvm_heap *heap, struct place *place)
{
    (void)heap;
    expect(is_moved(place));
    return NVM_OK;
}

static int give_up(nvm_heap *heap, struct place *place)
{
    (void)heap, (void)place;
    return 77;
}

static int fail(nvm_heap *heap, struct place *place)
{
    (void)heap;
    return nvm_hash_remove(place->hash, text("nothing"));
}

static int leave_open(nvm_heap *heap, struct place *place)
{
    (void)place;
    return nvm_begin(heap);
}

static int end_it(nvm_heap *heap, struct place *place)
{
    (void)place;
    says(nvm_commit(heap), NVM_USAGE, "nvm_transaction ends");
    says(nvm_abort(heap), NVM_USAGE, "nvm_transaction ends");
    says(nvm_close(heap), NVM_USAGE, "under way");
    return 78;
}

static int abort_a_part(nvm_heap *heap, struct place *place)
{
    (void)place;
    return nvm_begin(heap) || nvm_abort(heap);
}

static int nest_and_give_up(nvm_heap *heap, struct place *place)
{
    struct place inner = *place;
    inner.then = give_up;
    expect(nvm_tree_remove(place->tree, text("it")) == NVM_OK);
    expect(nvm_hash_put(place->hash, text("it"), text("1")) == NVM_OK);
    expect(nvm_transaction(heap, move, &inner) == 77);
    return NVM_OK;
}

static void with_begin(nvm_heap *heap, struct place *place)
{
    expect(nvm_begin(heap) == NVM_OK);
    expect(move(heap, place) == NVM_OK && is_moved(place));
    expect(nvm_abort(heap) == NVM_OK && !is_moved(place));
    /* Objects are changed with them. */
    uint64_t *moves = nvm_persist_alloc(heap, sizeof *moves, "moves");
    expect(nvm_begin(heap) == NVM_OK && nvm_set_word(heap, moves, 1) == NVM_OK);
    expect(nvm_transaction(heap, move, place) == NVM_OK);
    expect(is_moved(place) && *moves == 0);
    expect(nvm_commit(heap) == NVM_OK && is_moved(place) && *moves == 1);
}

int main(int words, char **word)
{
    (void)words;
    nvm_heap *heap = nvm_create(word[1], 8 << 20);
    struct place place = {nvm_hash_open(heap, "hash"), nvm_tree_open(heap, "tree"),
                          nvm_queue_open(heap, "queue"), commit, 0};
    expect(nvm_hash_put(place.hash, text("it"), text("1")) == NVM_OK);

    place.then = give_up;
    expect(nvm_transaction(heap, move, &place) == 77 && !is_moved(&place));
    place.then = fail;
    expect(nvm_transaction(heap, move, &place) == NVM_NONE && !is_moved(&place));
    place.then = leave_open;
    says(nvm_transaction(heap, move, &place), NVM_USAGE, "still under way");
    expect(!is_moved(&place));
    place.then = end_it;
    expect(nvm_transaction(heap, move, &place) == 78 && !is_moved(&place));
    place.then = abort_a_part;
    says(nvm_transaction(heap, move, &place), NVM_USAGE, "nested");
    expect(!is_moved(&place));
    place.then = nest_and_give_up;
    says(nvm_transaction(heap, move, &place), NVM_USAGE, "nested");
    expect(!is_moved(&place) && place.calls == 6);
    place.then = commit;
    with_begin(heap, &place);
    expect(nvm_close(heap) == NVM_OK);
    return 0;
}
