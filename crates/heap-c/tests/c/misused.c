/* Whatever is wrong with what is opened in a heap is a code and a sentence. */

#define _POSIX_C_SOURCE 200809L

#include "test.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static char into[16];
static size_t len;
static uint64_t count;

/* A handle that is none fails everywhere. */
static void no_hash(nvm_hash *hash, const char *part)
{
    says(nvm_hash_put(hash, "k", 1, "v", 1), NVM_USAGE, part);
    says(nvm_hash_get(hash, "k", 1, into, sizeof into, &len), NVM_USAGE, part);
    says(nvm_hash_remove(hash, "k", 1), NVM_USAGE, part);
    says(nvm_hash_count(hash, &count), NVM_USAGE, part);
    says(nvm_hash_close(hash), NVM_USAGE, part);
}

static void no_tree(nvm_tree *tree, const char *part)
{
    says(nvm_tree_put(tree, "k", 1, "v", 1), NVM_USAGE, part);
    says(nvm_tree_get(tree, "k", 1, into, sizeof into, &len), NVM_USAGE, part);
    says(nvm_tree_remove(tree, "k", 1), NVM_USAGE, part);
    says(nvm_tree_count(tree, &count), NVM_USAGE, part);
    expect(!nvm_cursor_open(tree) && strstr(nvm_error(), part));
    says(nvm_tree_close(tree), NVM_USAGE, part);
}

static void no_queue(nvm_queue *queue, const char *part)
{
    says(nvm_queue_push(queue, "v", 1), NVM_USAGE, part);
    says(nvm_queue_pop(queue, into, sizeof into, &len), NVM_USAGE, part);
    says(nvm_queue_front(queue, into, sizeof into, &len), NVM_USAGE, part);
    says(nvm_queue_count(queue, &count), NVM_USAGE, part);
    says(nvm_queue_close(queue), NVM_USAGE, part);
}

static void no_cursor(nvm_cursor *cursor, const char *part)
{
    says(nvm_cursor_first(cursor), NVM_USAGE, part);
    says(nvm_cursor_last(cursor), NVM_USAGE, part);
    says(nvm_cursor_next(cursor), NVM_USAGE, part);
    says(nvm_cursor_prev(cursor), NVM_USAGE, part);
    says(nvm_cursor_seek(cursor, "k", 1), NVM_USAGE, part);
    says(nvm_cursor_prefix(cursor, "k", 1), NVM_USAGE, part);
    says(nvm_cursor_key(cursor, into, sizeof into, &len), NVM_USAGE, part);
    says(nvm_cursor_value(cursor, into, sizeof into, &len), NVM_USAGE, part);
    says(nvm_cursor_close(cursor), NVM_USAGE, part);
}

static int work(nvm_heap *heap, void *argument)
{
    (void)heap, (void)argument;
    return NVM_OK;
}

static void no_heap(nvm_heap *heap, const char *part)
{
    struct nvm_statistics statistics;
    expect(!nvm_hash_open(heap, "n") && strstr(nvm_error(), part));
    expect(!nvm_tree_open(heap, "n") && strstr(nvm_error(), part));
    expect(!nvm_queue_open(heap, "n") && strstr(nvm_error(), part));
    says(nvm_transaction(heap, work, NULL), NVM_USAGE, part);
    says(nvm_statistics(heap, &statistics, sizeof statistics), NVM_USAGE, part);
}

static void handles(nvm_heap *heap)
{
    nvm_hash *hash = nvm_hash_open(heap, "hash");
    nvm_tree *tree = nvm_tree_open(heap, "tree");
    nvm_queue *queue = nvm_queue_open(heap, "queue");
    nvm_cursor *cursor = nvm_cursor_open(tree);
    no_heap(NULL, "the heap is NULL");
    no_hash(NULL, "the hash map is NULL");
    no_tree(NULL, "the ordered map is NULL");
    no_queue(NULL, "the queue is NULL");
    no_cursor(NULL, "the cursor is NULL");

    /* Of another kind, and nowhere. */
    no_heap((nvm_heap *)hash, "no heap");
    no_hash((nvm_hash *)heap, "no hash map");
    no_tree((nvm_tree *)queue, "no ordered map");
    no_queue((nvm_queue *)cursor, "no queue");
    no_cursor((nvm_cursor *)tree, "no cursor");
    no_hash((nvm_hash *)&len, "no hash map");
    no_cursor((nvm_cursor *)&len, "no cursor");

    /* Closed, and not what was opened since. */
    expect(nvm_hash_close(hash) == NVM_OK && nvm_hash_open(heap, "hash") != hash);
    no_hash(hash, "closed");
    expect(nvm_cursor_close(cursor) == NVM_OK && nvm_cursor_open(tree) != cursor);
    no_cursor(cursor, "closed");
    expect(nvm_queue_close(queue) == NVM_OK && nvm_queue_open(heap, "queue") != queue);
    no_queue(queue, "closed");
    /* A cursor has its share of the map, whose handle is another thing. */
    cursor = nvm_cursor_open(tree);
    expect(nvm_tree_close(tree) == NVM_OK && nvm_tree_open(heap, "tree") != tree);
    no_tree(tree, "closed");
    expect(nvm_cursor_next(cursor) == NVM_NONE && nvm_cursor_close(cursor) == NVM_OK);
}

static void names(nvm_heap *heap)
{
    char longest[106];
    memset(longest, 'n', sizeof longest - 1);
    longest[105] = 0;
    expect(!nvm_hash_open(heap, NULL) && strstr(nvm_error(), "NULL"));
    expect(!nvm_tree_open(heap, "") && *nvm_error() && nvm_error_status() == NVM_USAGE);
    expect(!nvm_queue_open(heap, "\xff") && strstr(nvm_error(), "UTF-8"));
    expect(!nvm_queue_open(heap, longest) && nvm_error_status() == NVM_USAGE);
    /* The name of another kind. */
    expect(!nvm_tree_open(heap, "hash") && nvm_error_status() == NVM_USAGE);
    expect(!nvm_hash_open(heap, "queue") && nvm_error_status() == NVM_USAGE);
    expect(!nvm_persist_alloc(heap, 8, "tree") && nvm_error_status() == NVM_USAGE);
    expect(!nvm_root(heap, "hash") && strstr(nvm_error(), "no object"));
    says(nvm_remove_root(heap, "hash"), NVM_USAGE, "hash");
}

static void bytes(nvm_heap *heap)
{
    static char long_key[16385];
    nvm_hash *hash = nvm_hash_open(heap, "hash");
    nvm_tree *tree = nvm_tree_open(heap, "tree");
    nvm_queue *queue = nvm_queue_open(heap, "queue");
    nvm_cursor *cursor = nvm_cursor_open(tree);
    says(nvm_hash_put(hash, NULL, 1, "v", 1), NVM_USAGE, "NULL");
    says(nvm_hash_put(hash, "k", 1, NULL, 1), NVM_USAGE, "NULL");
    says(nvm_hash_put(hash, "k", SIZE_MAX, "v", 1), NVM_USAGE, "bytes");
    says(nvm_hash_get(hash, NULL, 1, into, 1, &len), NVM_USAGE, "NULL");
    says(nvm_hash_get(hash, "k", 1, NULL, 1, &len), NVM_USAGE, "NULL");
    says(nvm_hash_get(hash, "k", 1, into, 1, NULL), NVM_USAGE, "NULL");
    says(nvm_hash_get(hash, "k", 1, into, SIZE_MAX, &len), NVM_USAGE, "bytes");
    says(nvm_hash_remove(hash, NULL, 1), NVM_USAGE, "NULL");
    says(nvm_hash_count(hash, NULL), NVM_USAGE, "NULL");
    says(nvm_tree_put(tree, NULL, 1, "v", 1), NVM_USAGE, "NULL");
    says(nvm_tree_put(tree, "k", 1, "v", SIZE_MAX), NVM_USAGE, "bytes");
    says(nvm_tree_put(tree, long_key, sizeof long_key, "v", 1), NVM_USAGE, "16384");
    says(nvm_tree_get(tree, NULL, 1, into, 1, &len), NVM_USAGE, "NULL");
    says(nvm_tree_get(tree, "k", 1, NULL, 1, &len), NVM_USAGE, "NULL");
    says(nvm_tree_get(tree, "k", 1, into, 1, NULL), NVM_USAGE, "NULL");
    says(nvm_tree_remove(tree, NULL, 1), NVM_USAGE, "NULL");
    says(nvm_tree_count(tree, NULL), NVM_USAGE, "NULL");
    says(nvm_queue_push(queue, NULL, 1), NVM_USAGE, "NULL");
    says(nvm_queue_count(queue, NULL), NVM_USAGE, "NULL");
    says(nvm_cursor_seek(cursor, NULL, 1), NVM_USAGE, "NULL");
    says(nvm_cursor_prefix(cursor, NULL, 1), NVM_USAGE, "NULL");
    says(nvm_cursor_key(cursor, NULL, 1, &len), NVM_USAGE, "NULL");
    says(nvm_cursor_value(cursor, into, 1, NULL), NVM_USAGE, "NULL");

    /* What could not be taken is still in the queue. */
    expect(nvm_queue_push(queue, "v", 1) == NVM_OK);
    says(nvm_queue_pop(queue, NULL, 1, &len), NVM_USAGE, "NULL");
    says(nvm_queue_pop(queue, into, 1, NULL), NVM_USAGE, "NULL");
    says(nvm_queue_front(queue, into, 1, NULL), NVM_USAGE, "NULL");
    expect(nvm_queue_count(queue, &count) == NVM_OK && count == 1);

    /* More than there is room for: nothing of it is there. */
    static char large[16 << 20];
    says(nvm_hash_put(hash, "k", 1, large, sizeof large), NVM_FULL, "");
    says(nvm_tree_put(tree, "k", 1, large, sizeof large), NVM_FULL, "");
    says(nvm_queue_push(queue, large, sizeof large), NVM_FULL, "");
    expect(nvm_hash_get(hash, "k", 1, into, 1, &len) == NVM_NONE);
    expect(nvm_tree_get(tree, "k", 1, into, 1, &len) == NVM_NONE);
    expect(nvm_queue_count(queue, &count) == NVM_OK && count == 1);

    struct nvm_statistics statistics;
    says(nvm_statistics(heap, NULL, sizeof statistics), NVM_USAGE, "NULL");
    says(nvm_statistics(heap, &statistics, 0), NVM_USAGE, "sizeof");
    says(nvm_statistics(heap, &statistics, 12), NVM_USAGE, "sizeof");
    says(nvm_statistics(heap, &statistics, SIZE_MAX - 7), NVM_USAGE, "sizeof");
}

/* A transaction goes on after what fails within it. */
static void transactions(nvm_heap *heap, nvm_heap *elsewhere)
{
    nvm_hash *hash = nvm_hash_open(heap, "hash"), *other = nvm_hash_open(elsewhere, "hash");
    says(nvm_transaction(heap, NULL, NULL), NVM_USAGE, "the work is NULL");
    expect(nvm_begin(heap) == NVM_OK);
    expect(nvm_hash_put(hash, "k", 1, "v", 1) == NVM_OK);
    expect(!nvm_tree_open(heap, "tree") && strstr(nvm_error(), "before it begins"));
    expect(!nvm_hash_open(heap, "new") && !nvm_queue_open(heap, "new"));
    says(nvm_hash_put(hash, NULL, 1, "v", 1), NVM_USAGE, "NULL");
    /* Another heap has nothing to do with it. */
    expect(nvm_hash_put(other, "k", 1, "v", 1) == NVM_OK);
    says(nvm_close(heap), NVM_USAGE, "under way");
    expect(nvm_commit(heap) == NVM_OK);
    expect(nvm_hash_get(hash, "k", 1, into, 1, &len) == NVM_OK);
    expect(nvm_hash_get(other, "k", 1, into, 1, &len) == NVM_OK);
    expect(nvm_hash_remove(hash, "k", 1) == NVM_OK);
}

static void *use_within(void *argument)
{
    no_cursor(*(nvm_cursor **)argument, "no cursor");
    return NULL;
}

/* A thread that ends takes all of it back. */
static void *leave_open(void *heap_and_tree)
{
    void **both = heap_and_tree;
    expect(nvm_begin(both[0]) == NVM_OK && nvm_begin(both[0]) == NVM_OK);
    nvm_cursor *cursor = nvm_cursor_open(both[1]);
    expect(nvm_cursor_first(cursor) == NVM_NONE);
    expect(nvm_tree_put(both[1], "k", 1, "v", 1) == NVM_OK && nvm_cursor_first(cursor) == NVM_OK);
    return NULL;
}

/* A cursor of a transaction is no other thread's, and ends with its own. */
static void threads(nvm_heap *heap)
{
    pthread_t thread;
    nvm_tree *tree = nvm_tree_open(heap, "tree");
    expect(nvm_begin(heap) == NVM_OK);
    nvm_cursor *cursor = nvm_cursor_open(tree);
    expect(!pthread_create(&thread, NULL, use_within, &cursor) && !pthread_join(thread, NULL));
    expect(nvm_cursor_first(cursor) == NVM_NONE && nvm_abort(heap) == NVM_OK);
    void *both[] = {heap, tree};
    expect(!pthread_create(&thread, NULL, leave_open, both) && !pthread_join(thread, NULL));
    expect(nvm_tree_get(tree, "k", 1, into, 1, &len) == NVM_NONE);
}

/* A child has nothing of a heap of its parent. */
static void children(nvm_heap *heap)
{
    nvm_hash *hash = nvm_hash_open(heap, "hash");
    nvm_tree *tree = nvm_tree_open(heap, "tree");
    nvm_cursor *cursor = nvm_cursor_open(tree);
    pid_t child = fork();
    if (!child) {
        says(nvm_hash_put(hash, "k", 1, "v", 1), NVM_USAGE, "parent");
        says(nvm_hash_get(hash, "k", 1, into, 1, &len), NVM_USAGE, "parent");
        says(nvm_tree_count(tree, &count), NVM_USAGE, "parent");
        says(nvm_cursor_next(cursor), NVM_USAGE, "parent");
        says(nvm_begin(heap), NVM_USAGE, "parent");
        says(nvm_transaction(heap, work, NULL), NVM_USAGE, "parent");
        says(nvm_close(heap), NVM_USAGE, "parent");
        _exit(0);
    }
    int status;
    expect(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    expect(nvm_cursor_close(cursor) == NVM_OK);
}

int main(int words, char **word)
{
    (void)words;
    nvm_heap *heap = nvm_create(word[1], 4 << 20), *elsewhere = nvm_anonymous(4 << 20);
    expect(heap && elsewhere);
    handles(heap);
    names(heap);
    bytes(heap);
    transactions(heap, elsewhere);
    threads(heap);
    children(heap);

    /* What was open in a heap is closed with it, and the pool can be opened again. */
    nvm_hash *hash = nvm_hash_open(heap, "hash"), *other = nvm_hash_open(elsewhere, "hash");
    nvm_tree *tree = nvm_tree_open(heap, "tree");
    nvm_queue *queue = nvm_queue_open(heap, "queue");
    nvm_cursor *cursor = nvm_cursor_open(tree);
    expect(nvm_close(heap) == NVM_OK);
    no_heap(heap, "closed");
    no_hash(hash, "closed");
    no_tree(tree, "closed");
    no_queue(queue, "closed");
    no_cursor(cursor, "closed");
    nvm_heap *again = nvm_open(word[1]);
    expect(again && again != heap && nvm_hash_open(again, "hash") != hash);
    no_hash(hash, "closed");
    expect(nvm_hash_count(other, &count) == NVM_OK && count == 1);
    expect(nvm_close(again) == NVM_OK && nvm_close(elsewhere) == NVM_OK);
    no_hash(other, "closed");
    return 0;
}
