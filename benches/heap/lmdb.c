/* A table on LMDB, which is a B+tree: what a program would use instead. See common.h for how it is
   called.

   Ways: unsynchronised (one transaction a put, MDB_WRITEMAP and nothing synchronised: a crash of the
   machine may leave anything), synchronous (one transaction a put, each durable), synchronous-writemap
   (the same with MDB_WRITEMAP), batched (100 puts a transaction, each transaction durable).
   Operations: put, delete; get (a transaction a get), get-batched (one for a thousand); iterate, scan (a
   hundred entries from a key on); open and open-killed; die (nothing is closed). */
#include <lmdb.h>

#include "common.h"

enum { BATCH = 100 };

static MDB_env *environment;
static MDB_dbi table;

static void must(int code) {
    if (code) fail(mdb_strerror(code));
}

static MDB_txn *transaction(unsigned flags) {
    MDB_txn *begun;
    must(mdb_txn_begin(environment, NULL, flags, &begun));
    return begun;
}

static int is(const Options *options, const char *way) { return !strcmp(options->way, way); }

static void open_pool(const Options *options) {
    unsigned flags = is(options, "unsynchronised")         ? MDB_WRITEMAP | MDB_NOSYNC
                     : is(options, "synchronous-writemap") ? MDB_WRITEMAP
                                                           : 0;
    must(mdb_env_create(&environment));
    must(mdb_env_set_mapsize(environment, pool_bytes(options)));
    must(mdb_env_open(environment, options->pool, flags | MDB_NOSUBDIR, 0600));
    MDB_txn *first = transaction(0);
    must(mdb_dbi_open(first, NULL, 0, &table));
    must(mdb_txn_commit(first));
}

static MDB_val key_in(Pair *pair) { return (MDB_val){pair->key_len, pair->key}; }

static MDB_val value_in(Pair *pair) { return (MDB_val){pair->value_len, pair->value}; }

/* Puts or deletes, so many a transaction. */
static void change(const Options *options, uint64_t from, uint64_t to, int put) {
    uint64_t batch = is(options, "batched") ? BATCH : 1;
    while (from < to) {
        MDB_txn *writing = transaction(0);
        for (uint64_t turn = from; turn < to && turn < from + batch; turn++) {
            Pair pair;
            pair_of(options, put ? options->first + turn : scattered(options, turn), &pair);
            MDB_val name = key_in(&pair), content = value_in(&pair);
            must(put ? mdb_put(writing, table, &name, &content, MDB_NOOVERWRITE)
                     : mdb_del(writing, table, &name, NULL));
        }
        must(mdb_txn_commit(writing));
        from += batch;
    }
}

static void put(const Options *options, uint64_t from, uint64_t to) { change(options, from, to, 1); }
static void delete(const Options *options, uint64_t from, uint64_t to) { change(options, from, to, 0); }

static void get_in(MDB_txn *reading, const Options *options, uint64_t index) {
    Pair pair;
    pair_of(options, index, &pair);
    MDB_val name = key_in(&pair), content;
    must(mdb_get(reading, table, &name, &content));
    if (content.mv_size != pair.value_len || memcmp(content.mv_data, pair.value, pair.value_len))
        fail("a value is wrong");
}

/* Each sees what is there then: a transaction of its own, renewed as the manual has it. */
static void get(const Options *options, uint64_t from, uint64_t to) {
    MDB_txn *reading = transaction(MDB_RDONLY);
    for (uint64_t turn = from; turn < to; turn++) {
        get_in(reading, options, scattered(options, turn));
        mdb_txn_reset(reading);
        must(mdb_txn_renew(reading));
    }
    mdb_txn_abort(reading);
}

/* All see what was there at the beginning. */
static void get_batch(const Options *options, uint64_t from, uint64_t to) {
    MDB_txn *reading = transaction(MDB_RDONLY);
    for (uint64_t turn = from; turn < to; turn++) get_in(reading, options, scattered(options, turn));
    mdb_txn_abort(reading);
}

static uint64_t sum_of(MDB_val key, MDB_val value) {
    return key.mv_size + ((uint64_t)value.mv_size << 32) + sum(key.mv_data, key.mv_size) +
           sum(value.mv_data, value.mv_size);
}

static void iterate(const Options *options) {
    uint64_t visited = 0, total = 0;
    MDB_cursor *cursor;
    MDB_val name, content;
    begin(options);
    MDB_txn *reading = transaction(MDB_RDONLY);
    must(mdb_cursor_open(reading, table, &cursor));
    for (; !mdb_cursor_get(cursor, &name, &content, MDB_NEXT); visited++) {
        if (options->bytes) {
            total += sum_of(name, content);
            continue;
        }
        uint64_t key, value;
        memcpy(&key, name.mv_data, sizeof key), memcpy(&value, content.mv_data, sizeof value);
        if (value != ~key) fail("an entry is wrong");
        total += key;
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(reading);
    end_visits(options, "iterate", visited, total);
}

/* From each of some keys on, with a transaction and a cursor that are renewed. */
static void scan(const Options *options) {
    uint64_t visited = 0, total = 0;
    MDB_cursor *cursor;
    begin(options);
    MDB_txn *reading = transaction(MDB_RDONLY);
    must(mdb_cursor_open(reading, table, &cursor));
    for (uint64_t turn = 0; turn < (options->count + SCANNED - 1) / SCANNED; turn++) {
        Pair pair;
        pair_of(options, scattered(options, turn), &pair);
        MDB_val name = key_in(&pair), content;
        int code = mdb_cursor_get(cursor, &name, &content, MDB_SET_RANGE);
        for (int i = 0; !code && i < SCANNED; i++, visited++) {
            total += sum_of(name, content);
            code = mdb_cursor_get(cursor, &name, &content, MDB_NEXT);
        }
        if (code && code != MDB_NOTFOUND) must(code);
        mdb_txn_reset(reading);
        must(mdb_txn_renew(reading));
        must(mdb_cursor_renew(reading, cursor));
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(reading);
    end_visits(options, "scan", visited, total);
}

static void first_get(const Options *options, const char *operation) {
    begin(options);
    open_pool(options);
    MDB_txn *reading = transaction(MDB_RDONLY);
    get_in(reading, options, options->first);
    mdb_txn_abort(reading);
    end(options, operation, 1);
}

static void carry_out(const Options *options, const char *operation) {
    if (!strcmp(operation, "put")) timed(options, "put", put);
    else if (!strcmp(operation, "get")) timed(options, "get", get);
    else if (!strcmp(operation, "get-batched")) timed(options, "get-batched", get_batch);
    else if (!strcmp(operation, "delete")) timed(options, "delete", delete);
    else if (!strcmp(operation, "iterate")) iterate(options);
    else if (!strcmp(operation, "scan")) scan(options);
    else if (!strcmp(operation, "die")) raise(SIGKILL);
    else fail("operations are put, get, get-batched, delete, iterate, scan, open, open-killed and die");
}

int main(int count, char **arguments) {
    peer = "LMDB";
    Options found = options(count, arguments);
    if (found.threads != 1) fail("it has one writer at a time, so --threads is 1");
    if (!is(&found, "unsynchronised") && !is(&found, "synchronous") && !is(&found, "batched") &&
        !is(&found, "synchronous-writemap"))
        fail("ways are unsynchronised, synchronous, synchronous-writemap and batched");
    char **operation = found.operations;
    if (*operation && (!strcmp(*operation, "open") || !strcmp(*operation, "open-killed")))
        first_get(&found, *operation), operation++;
    else open_pool(&found);
    for (; *operation; operation++) carry_out(&found, *operation);
    mdb_env_close(environment);
    return 0;
}
