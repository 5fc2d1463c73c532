/* A table on LMDB, which is a B+tree: what a program would use instead. See common.h for how it is
   called.

   Ways: unsynchronised (one transaction a put, MDB_WRITEMAP and nothing synchronised: a crash of the
   machine may leave anything), synchronous (one transaction a put, each durable), synchronous-writemap
   (the same with MDB_WRITEMAP), batched (100 puts a transaction, each transaction durable).
   Operations: put, get, delete, iterate, open. */
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

static MDB_val val(const Item *item) { return (MDB_val){sizeof *item, (void *)item}; }

/* Puts or deletes, so many a transaction. */
static void change(const Options *options, uint64_t from, uint64_t to, int put) {
    uint64_t batch = is(options, "batched") ? BATCH : 1;
    while (from < to) {
        MDB_txn *writing = transaction(0);
        for (uint64_t turn = from; turn < to && turn < from + batch; turn++) {
            Item key = key_of(put ? options->first + turn : scattered(options, turn)), value = value_of(&key);
            MDB_val name = val(&key), content = val(&value);
            must(put ? mdb_put(writing, table, &name, &content, MDB_NOOVERWRITE)
                     : mdb_del(writing, table, &name, NULL));
        }
        must(mdb_txn_commit(writing));
        from += batch;
    }
}

static void put(const Options *options, uint64_t from, uint64_t to) { change(options, from, to, 1); }
static void delete(const Options *options, uint64_t from, uint64_t to) { change(options, from, to, 0); }

static void get_in(MDB_txn *reading, uint64_t index) {
    Item key = key_of(index), value = value_of(&key);
    MDB_val name = val(&key), content;
    must(mdb_get(reading, table, &name, &content));
    if (content.mv_size != sizeof value || !same(content.mv_data, &value)) fail("a value is wrong");
}

/* Each sees what is there then: a transaction of its own, renewed as the manual has it. */
static void get(const Options *options, uint64_t from, uint64_t to) {
    MDB_txn *reading = transaction(MDB_RDONLY);
    for (uint64_t turn = from; turn < to; turn++) {
        get_in(reading, scattered(options, turn));
        mdb_txn_reset(reading);
        must(mdb_txn_renew(reading));
    }
    mdb_txn_abort(reading);
}

static void iterate(const Options *options) {
    uint64_t visited = 0;
    MDB_cursor *cursor;
    MDB_val name, content;
    begin(options);
    MDB_txn *reading = transaction(MDB_RDONLY);
    must(mdb_cursor_open(reading, table, &cursor));
    for (; !mdb_cursor_get(cursor, &name, &content, MDB_NEXT); visited++) {
        uint64_t key, value;
        memcpy(&key, name.mv_data, sizeof key), memcpy(&value, content.mv_data, sizeof value);
        if (value != ~key) fail("an entry is wrong");
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(reading);
    end(options, "iterate", visited);
}

static void first_get(const Options *options) {
    begin(options);
    open_pool(options);
    MDB_txn *reading = transaction(MDB_RDONLY);
    get_in(reading, options->first);
    mdb_txn_abort(reading);
    end(options, "open", 1);
}

static void carry_out(const Options *options, const char *operation) {
    if (!strcmp(operation, "put")) timed(options, "put", put);
    else if (!strcmp(operation, "get")) timed(options, "get", get);
    else if (!strcmp(operation, "delete")) timed(options, "delete", delete);
    else if (!strcmp(operation, "iterate")) iterate(options);
    else fail("operations are put, get, delete, iterate and open");
}

int main(int count, char **arguments) {
    peer = "LMDB";
    Options found = options(count, arguments);
    if (found.threads != 1) fail("it has one writer at a time, so --threads is 1");
    if (!is(&found, "unsynchronised") && !is(&found, "synchronous") && !is(&found, "batched") &&
        !is(&found, "synchronous-writemap"))
        fail("ways are unsynchronised, synchronous, synchronous-writemap and batched");
    char **operation = found.operations;
    if (*operation && !strcmp(*operation, "open")) first_get(&found), operation++;
    else open_pool(&found);
    for (; *operation; operation++) carry_out(&found, *operation);
    mdb_env_close(environment);
    return 0;
}
