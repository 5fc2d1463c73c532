/* Threads whose transactions want the same. */

#include "test.h"

#include <pthread.h>
#include <semaphore.h>

#define THREADS 4
#define TRANSFERS 200
#define ACCOUNTS 8

static nvm_heap *heap;
static nvm_hash *hash;
static nvm_tree *tree;
static nvm_queue *queue;
static sem_t refused, begun;

/* The younger one is told to begin again, does not wait, and cannot commit. */
static void *younger_by_hand(void *unused)
{
    sem_wait(&begun);
    expect(nvm_begin(heap) == NVM_OK);
    expect(nvm_tree_put(tree, text("a"), text("younger")) == NVM_OK);
    says(nvm_hash_put(hash, text("a"), text("younger")), NVM_AGAIN, "begin again");
    expect(nvm_error_status() == NVM_AGAIN);
    says(nvm_commit(heap), NVM_AGAIN, "begin again");
    expect(nvm_begin(heap) == NVM_OK);
    says(nvm_hash_get(hash, text("a"), NULL, 0, &(size_t){0}), NVM_AGAIN, "begin again");
    expect(nvm_abort(heap) == NVM_OK);
    return unused;
}

static void by_hand(void)
{
    char into[10];
    size_t len;
    pthread_t thread;
    sem_init(&begun, 0, 0);
    expect(!pthread_create(&thread, NULL, younger_by_hand, NULL));
    expect(nvm_begin(heap) == NVM_OK);
    expect(nvm_hash_put(hash, text("a"), text("older")) == NVM_OK);
    sem_post(&begun);
    expect(!pthread_join(thread, NULL));
    expect(nvm_tree_get(tree, text("a"), into, sizeof into, &len) == NVM_NONE);
    expect(nvm_commit(heap) == NVM_OK);
    expect(found(nvm_hash_get(hash, text("a"), into, sizeof into, &len), into, &len, "older"));
}

/* What is to be begun again says so only once, and then gets on. */
static int append(nvm_heap *of, void *calls)
{
    (void)of;
    char into[10];
    size_t len;
    int first = ++*(int *)calls == 1;
    if (first)
        sem_wait(&begun);
    expect(nvm_queue_push(queue, text("one")) == NVM_OK);
    int status = nvm_hash_get(hash, text("a"), into, sizeof into, &len);
    expect(status == (first ? NVM_AGAIN : NVM_OK));
    if (first)
        sem_post(&refused);
    /* Whatever the work returns. */
    return NVM_OK;
}

static void *younger_by_itself(void *calls)
{
    expect(nvm_transaction(heap, append, calls) == NVM_OK);
    return NULL;
}

static void by_itself(void)
{
    int calls = 0;
    uint64_t count;
    pthread_t thread;
    sem_init(&begun, 0, 0);
    sem_init(&refused, 0, 0);
    expect(nvm_begin(heap) == NVM_OK);
    expect(nvm_hash_put(hash, text("a"), text("older")) == NVM_OK);
    expect(!pthread_create(&thread, NULL, younger_by_itself, &calls));
    sem_post(&begun);
    sem_wait(&refused);
    expect(nvm_commit(heap) == NVM_OK);
    expect(!pthread_join(thread, NULL) && calls == 2);
    expect(nvm_queue_count(queue, &count) == NVM_OK && count == 1);
}

struct transfer {
    uint64_t from, to, seed;
};

static int change(int in_tree, uint64_t account, int64_t by)
{
    int64_t balance;
    size_t len;
    int status = in_tree ? nvm_tree_get(tree, &account, sizeof account, &balance, sizeof balance, &len)
                         : nvm_hash_get(hash, &account, sizeof account, &balance, sizeof balance, &len);
    if (status)
        return status;
    balance += by;
    return in_tree ? nvm_tree_put(tree, &account, sizeof account, &balance, sizeof balance)
                   : nvm_hash_put(hash, &account, sizeof account, &balance, sizeof balance);
}

/* Moves 1 from an account of one map to an account of the other, every other time the other way. */
static int transfer(nvm_heap *of, void *argument)
{
    (void)of;
    struct transfer *of_this = argument;
    int status, in_tree = of_this->seed & 1;
    if ((status = change(in_tree, of_this->from, -1)) ||
        (status = change(!in_tree, of_this->to, 1)))
        return status;
    return nvm_queue_push(queue, of_this, sizeof *of_this);
}

static void *transfers(void *number)
{
    uint64_t seed = (uintptr_t)number;
    for (int i = 0; i < TRANSFERS; i++) {
        seed = seed * 6364136223846793005 + 1442695040888963407;
        struct transfer next = {(seed >> 33) % ACCOUNTS, (seed >> 43) % ACCOUNTS, seed >> 53};
        expect(nvm_transaction(heap, transfer, &next) == NVM_OK);
    }
    return NULL;
}

/* Says what all accounts have. */
static int sum(nvm_heap *of, void *argument)
{
    (void)of;
    int64_t all = 0;
    for (uint64_t account = 0; account < ACCOUNTS; account++) {
        int64_t balance;
        size_t len;
        int status;
        if ((status = nvm_hash_get(hash, &account, sizeof account, &balance, sizeof balance, &len)))
            return status;
        all += balance;
        if ((status = nvm_tree_get(tree, &account, sizeof account, &balance, sizeof balance, &len)))
            return status;
        all += balance;
    }
    *(int64_t *)argument = all;
    return NVM_OK;
}

/* Nothing is ever lost between the two, and each transfer happens once. */
static void many(void)
{
    pthread_t threads[THREADS];
    int64_t all, hundred = 100;
    uint64_t count;
    for (uint64_t account = 0; account < ACCOUNTS; account++) {
        expect(nvm_hash_put(hash, &account, sizeof account, &hundred, sizeof hundred) == NVM_OK);
        expect(nvm_tree_put(tree, &account, sizeof account, &hundred, sizeof hundred) == NVM_OK);
    }
    for (uintptr_t i = 0; i < THREADS; i++)
        expect(!pthread_create(&threads[i], NULL, transfers, (void *)i));
    for (int i = 0; i < TRANSFERS; i++) {
        expect(nvm_transaction(heap, sum, &all) == NVM_OK);
        expect(all == 2 * ACCOUNTS * hundred);
    }
    for (int i = 0; i < THREADS; i++)
        expect(!pthread_join(threads[i], NULL));
    expect(nvm_transaction(heap, sum, &all) == NVM_OK && all == 2 * ACCOUNTS * hundred);
    expect(nvm_queue_count(queue, &count) == NVM_OK && count == 1 + THREADS * TRANSFERS);
}

/* Does all it can until the heap is closed. */
static void *use(void *cursor)
{
    uint64_t key = 0, value;
    size_t len;
    int status;
    do {
        nvm_cursor *own = nvm_cursor_open(tree);
        (void)(!nvm_cursor_next(own) && !nvm_cursor_next(cursor) && !nvm_cursor_last(cursor));
        nvm_cursor_close(own);
        nvm_hash_get(hash, &key, sizeof key, &value, sizeof value, &len);
        nvm_queue_pop(queue, &value, sizeof value, &len);
        nvm_tree_put(tree, &key, sizeof key, &key, sizeof key);
        status = nvm_hash_put(hash, &key, sizeof key, &key, sizeof key);
        expect(status == NVM_OK || status == NVM_USAGE);
        if (!key++)
            sem_post(&begun);
    } while (!status);
    return NULL;
}

/* A heap can be closed while others use what is in it: they fail. */
static void closed_meanwhile(void)
{
    pthread_t threads[THREADS];
    nvm_cursor *cursor = nvm_cursor_open(tree);
    sem_init(&begun, 0, 0);
    for (int i = 0; i < THREADS; i++)
        expect(!pthread_create(&threads[i], NULL, use, cursor));
    for (int i = 0; i < THREADS; i++)
        sem_wait(&begun);
    expect(nvm_close(heap) == NVM_OK);
    for (int i = 0; i < THREADS; i++)
        expect(!pthread_join(threads[i], NULL));
}

int main(void)
{
    heap = nvm_anonymous(32 << 20);
    hash = nvm_hash_open(heap, "hash");
    tree = nvm_tree_open(heap, "tree");
    queue = nvm_queue_open(heap, "queue");
    expect(heap && hash && tree && queue);
    by_hand();
    by_itself();
    many();
    closed_meanwhile();
    return 0;
}
