/* A persistent chained hash table on libpmemobj: its transactions, or its actions; and its allocator
   by itself (`allocator`). See common.h for how it is called.

   Pointers in the pool are offsets of 8 bytes, as a program would have them that minds its lines. The
   number of entries is kept in the pool, as by the hash tables among libpmemobj's own examples; the
   lean ways do without, and whoever asks for it must count. Keys come once: a put that finds its key
   has failed.

   Ways: transactions, actions, lean-transactions, lean-actions (put, get, delete, iterate, open),
   allocator (allocate, free). */
#include <libpmemobj.h>

#include "common.h"

/* What the table counts as its types. */
enum { ENTRY = 1, BYTES = 2 };
/* Locks of buckets: so many that two threads seldom meet. */
enum { LOCKS = 4096 };

typedef struct { uint64_t buckets, entries, bucket[]; } Table;

static PMEMobjpool *pool;
static uint64_t pool_id;
static Table *table;
static PMEMoid *objects;
static pthread_mutex_t lock[LOCKS];
/* What the way says. */
static int with_actions, with_allocator, lean;

static Entry *at(uint64_t offset) { return (Entry *)((char *)pool + offset); }

static void open_pool(const Options *options) {
    int fresh = access(options->pool, F_OK) != 0;
    pool = fresh ? pmemobj_create(options->pool, "bench", pool_bytes(options), 0600)
                 : pmemobj_open(options->pool, "bench");
    if (!pool) fail(pmemobj_errormsg());
    /* Of zeroes, if it is new. */
    size_t bytes = with_allocator ? options->entries * sizeof *objects
                                  : sizeof *table + options->entries * sizeof table->bucket[0];
    PMEMoid root = pmemobj_root(pool, fresh ? bytes : pmemobj_root_size(pool));
    if (OID_IS_NULL(root)) fail(pmemobj_errormsg());
    pool_id = root.pool_uuid_lo;
    table = pmemobj_direct(root), objects = pmemobj_direct(root);
    if (!fresh || with_allocator) return;
    table->buckets = options->entries;
    pmemobj_persist(pool, table, sizeof *table);
}

static uint64_t *bucket(uint64_t hash) { return &table->bucket[bucket_of(hash, table->buckets)]; }

/* The word that points to the entry of a key, or the one that ends the chain where it is not there. */
static uint64_t *find(const Item *key, uint64_t hash) {
    uint64_t *pointer = bucket(hash);
    for (; *pointer; pointer = &at(*pointer)->next)
        if (at(*pointer)->hash == hash && same(&at(*pointer)->key, key)) break;
    return pointer;
}

static void count_in_transaction(int64_t more) {
    if (lean) return;
    pmemobj_tx_add_range_direct(&table->entries, sizeof table->entries);
    table->entries += more;
}

static void put_transaction(const Item *key, uint64_t hash, const Item *value) {
    uint64_t *head = bucket(hash);
    TX_BEGIN(pool) {
        PMEMoid entry = pmemobj_tx_alloc(sizeof(Entry), ENTRY);
        *at(entry.off) = (Entry){*head, hash, *key, *value};
        pmemobj_tx_add_range_direct(head, sizeof *head);
        *head = entry.off;
        count_in_transaction(1);
    } TX_ONABORT {
        fail(pmemobj_errormsg());
    } TX_END
}

static void delete_transaction(uint64_t *pointer) {
    TX_BEGIN(pool) {
        uint64_t gone = *pointer;
        pmemobj_tx_add_range_direct(pointer, sizeof *pointer);
        *pointer = at(gone)->next;
        pmemobj_tx_free((PMEMoid){pool_id, gone});
        count_in_transaction(-1);
    } TX_ONABORT {
        fail(pmemobj_errormsg());
    } TX_END
}

/* Publishes two actions, and with them the number of entries. */
static void publish(struct pobj_action action[3], int64_t more) {
    if (!lean) pmemobj_set_value(pool, &action[2], &table->entries, table->entries + more);
    if (pmemobj_publish(pool, action, lean ? 2 : 3)) fail(pmemobj_errormsg());
}

/* The entry is flushed and not waited for: publishing waits, before anything can be seen. */
static void put_actions(const Item *key, uint64_t hash, const Item *value) {
    uint64_t *head = bucket(hash);
    struct pobj_action action[3];
    PMEMoid entry = pmemobj_reserve(pool, &action[0], sizeof(Entry), ENTRY);
    if (OID_IS_NULL(entry)) fail(pmemobj_errormsg());
    *at(entry.off) = (Entry){*head, hash, *key, *value};
    pmemobj_flush(pool, at(entry.off), sizeof(Entry));
    pmemobj_set_value(pool, &action[1], head, entry.off);
    publish(action, 1);
}

static void delete_actions(uint64_t *pointer) {
    struct pobj_action action[3];
    uint64_t gone = *pointer;
    pmemobj_set_value(pool, &action[0], pointer, at(gone)->next);
    pmemobj_defer_free(pool, (PMEMoid){pool_id, gone}, &action[1]);
    publish(action, -1);
}

/* A thread by itself needs no locks, and does not pay for them. */
static pthread_mutex_t *locked(const Options *options, uint64_t hash) {
    if (options->threads == 1) return NULL;
    pthread_mutex_t *mine = &lock[bucket_of(hash, table->buckets) % LOCKS];
    pthread_mutex_lock(mine);
    return mine;
}

static void unlock(pthread_mutex_t *mine) {
    if (mine) pthread_mutex_unlock(mine);
}

static void put(const Options *options, uint64_t from, uint64_t to) {
    for (uint64_t turn = from; turn < to; turn++) {
        Item key = key_of(options->first + turn), value = value_of(&key);
        uint64_t hash = hash_of(&key);
        pthread_mutex_t *mine = locked(options, hash);
        if (*find(&key, hash)) fail("a key is there already");
        (with_actions ? put_actions : put_transaction)(&key, hash, &value);
        unlock(mine);
    }
}

static void get(const Options *options, uint64_t from, uint64_t to) {
    for (uint64_t turn = from; turn < to; turn++) {
        Item key = key_of(scattered(options, turn)), value = value_of(&key);
        uint64_t hash = hash_of(&key);
        pthread_mutex_t *mine = locked(options, hash);
        uint64_t found = *find(&key, hash);
        if (!found || !same(&at(found)->value, &value)) fail("a key is lost");
        unlock(mine);
    }
}

static void delete(const Options *options, uint64_t from, uint64_t to) {
    for (uint64_t turn = from; turn < to; turn++) {
        Item key = key_of(scattered(options, turn));
        uint64_t hash = hash_of(&key);
        pthread_mutex_t *mine = locked(options, hash);
        uint64_t *pointer = find(&key, hash);
        if (!*pointer) fail("a key is lost");
        (with_actions ? delete_actions : delete_transaction)(pointer);
        unlock(mine);
    }
}

static void iterate(const Options *options) {
    uint64_t visited = 0;
    begin(options);
    for (uint64_t b = 0; b < table->buckets; b++)
        for (uint64_t entry = table->bucket[b]; entry; entry = at(entry)->next) {
            if (at(entry)->value.word[0] != ~at(entry)->key.word[0]) fail("an entry is wrong");
            visited++;
        }
    end(options, "iterate", visited);
    if (!lean && visited != table->entries) fail("the number of entries is wrong");
}

static void first_get(const Options *options) {
    begin(options);
    open_pool(options);
    Item key = key_of(options->first);
    if (!*find(&key, hash_of(&key))) fail("a key is lost");
    end(options, "open", 1);
}

/* The contents of a new object; it is published behind them. */
static int fill(PMEMobjpool *of, void *object, void *turn) {
    Entry *entry = object;
    *entry = (Entry){.hash = *(uint64_t *)turn};
    pmemobj_flush(of, entry, sizeof *entry);
    return 0;
}

/* Objects as large as an entry. */
static void allocate(const Options *options, uint64_t from, uint64_t to) {
    for (uint64_t turn = from; turn < to; turn++)
        if (pmemobj_alloc(pool, &objects[options->first + turn], sizeof(Entry), BYTES, fill, &turn))
            fail(pmemobj_errormsg());
}

static void free_all(const Options *options, uint64_t from, uint64_t to) {
    for (uint64_t turn = from; turn < to; turn++) pmemobj_free(&objects[scattered(options, turn)]);
}

static void carry_out(const Options *options, const char *operation) {
    if (!strcmp(operation, "put")) timed(options, "put", put);
    else if (!strcmp(operation, "get")) timed(options, "get", get);
    else if (!strcmp(operation, "delete")) timed(options, "delete", delete);
    else if (!strcmp(operation, "iterate")) iterate(options);
    else if (!strcmp(operation, "allocate")) timed(options, "allocate", allocate);
    else if (!strcmp(operation, "free")) timed(options, "free", free_all);
    else fail("operations are put, get, delete, iterate and open, or allocate and free");
}

static void take_way(const Options *options) {
    lean = !strncmp(options->way, "lean-", 5);
    const char *way = options->way + (lean ? 5 : 0);
    with_actions = !strcmp(way, "actions"), with_allocator = !strcmp(way, "allocator");
    if (!with_actions && strcmp(way, "transactions") && (lean || !with_allocator))
        fail("ways are transactions, actions, lean-transactions, lean-actions and allocator");
    if (options->threads > 1 && !lean && !with_allocator) fail("only the lean ways have several threads");
}

int main(int count, char **arguments) {
    peer = "libpmemobj";
    Options found = options(count, arguments);
    take_way(&found);
    for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&lock[i], NULL);
    char **operation = found.operations;
    if (*operation && !strcmp(*operation, "open")) first_get(&found), operation++;
    else open_pool(&found);
    for (; *operation; operation++) carry_out(&found, *operation);
    pmemobj_close(pool);
    return 0;
}
