/* What the peers share: options, keys and values, measuring.

   A peer is called as

       PEER --pool FILE --way WAY --entries N [--bytes] [--keys FIRST:COUNT] [--threads N] [--signals]
            OPERATION...

   It makes the pool if FILE is not there, its table sized for N entries, and opens it otherwise. The
   operations are carried out in their order on the keys FIRST to FIRST + COUNT - 1 (default: 0:N), and
   each prints a line of JSON on standard output. With --bytes keys and values are bytes of any length;
   otherwise each has 64. With --signals, SIGUSR1 is raised before and SIGUSR2
   after each operation that is counted: see count.c. */
#ifndef COMMON_H
#define COMMON_H

#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { WORDS = 8, THREADS = 64 };

/* 64 bytes: a key, or a value. */
typedef struct { uint64_t word[WORDS]; } Item;

/* Entries that a scan visits. */
#define SCANNED 100

/* A key of 8 to 40 bytes and a value of 20 to 400. */
typedef struct {
    uint64_t key[WORDS], value[50];
    size_t key_len, value_len;
} Pair;

/* An entry of the hash tables: 144 bytes. */
typedef struct { uint64_t next, hash; Item key, value; } Entry;

typedef struct {
    const char *pool, *way;
    uint64_t entries, first, count;
    int threads, signals, bytes;
    char **operations;
} Options;

static const char *peer;

static inline void fail(const char *what) {
    fprintf(stderr, "%s: %s\n", peer, what);
    exit(1);
}

static inline Options options(int count, char **arguments) {
    static const struct option known[] = {
        {"pool", required_argument, 0, 'p'}, {"way", required_argument, 0, 'w'},
        {"entries", required_argument, 0, 'e'}, {"keys", required_argument, 0, 'k'},
        {"threads", required_argument, 0, 't'}, {"signals", no_argument, 0, 's'},
        {"bytes", no_argument, 0, 'b'}, {0},
    };
    Options found = {.threads = 1, .way = ""};
    for (int option; (option = getopt_long(count, arguments, "", known, NULL)) != -1;) {
        if (option == 'p') found.pool = optarg;
        else if (option == 'w') found.way = optarg;
        else if (option == 'e') found.entries = strtoull(optarg, NULL, 10);
        else if (option == 't') found.threads = atoi(optarg);
        else if (option == 's') found.signals = 1;
        else if (option == 'b') found.bytes = 1;
        else if (option != 'k') exit(2);
        else if (sscanf(optarg, "%lu:%lu", &found.first, &found.count) != 2)
            fail("--keys is FIRST:COUNT");
    }
    found.operations = arguments + optind;
    if (!found.pool || !found.entries) fail("--pool FILE and --entries N are needed");
    if (found.threads < 1 || found.threads > THREADS) fail("--threads is from 1 to 64");
    if (!found.count) found.count = found.entries;
    return found;
}

/* Room for the entries however they are packed, and a table. */
static inline uint64_t pool_bytes(const Options *options) {
    return options->bytes ? (512u << 20) + 800 * options->entries : (256u << 20) + 400 * options->entries;
}

/* What nobody has to pay for while it is timed: the blocks of the file. */
static inline void reserve_blocks(int file, uint64_t bytes) {
    if (posix_fallocate(file, 0, bytes)) fail("no room for the pool");
}

static inline uint64_t xorshift(uint64_t *state) {
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

/* The key of an index. No two are alike: an odd factor and xorshift map states one to one. */
static inline Item key_of(uint64_t index) {
    uint64_t state = 88172645463325252u ^ (index + 1) * 0x9e3779b97f4a7c15u;
    Item key;
    for (int i = 0; i < WORDS; i++) key.word[i] = xorshift(&state);
    return key;
}

static inline Item value_of(const Item *key) {
    Item value;
    for (int i = 0; i < WORDS; i++) value.word[i] = ~key->word[i];
    return value;
}

/* The entry of an index: two items, or bytes of any length. No two keys are alike: their first words are
   not. */
static inline void pair_of(const Options *options, uint64_t index, Pair *pair) {
    Item key = key_of(index), value = value_of(&key);
    memcpy(pair->key, &key, sizeof key);
    pair->key_len = sizeof key, pair->value_len = sizeof value;
    if (!options->bytes) {
        memcpy(pair->value, &value, sizeof value);
        return;
    }
    uint64_t lengths = key.word[5];
    pair->key_len = 8 + (uint32_t)lengths % 33, pair->value_len = 20 + (lengths >> 32) % 381;
    for (uint64_t i = 0; i < (pair->value_len + 7) / 8; i++)
        pair->value[i] = key.word[0] ^ (i + 1) * 0x9e3779b97f4a7c15u;
}

/* The sum of the words of some bytes. */
static inline uint64_t sum(const void *bytes, size_t len) {
    uint64_t found = 0, word = 0;
    size_t at = 0;
    for (; at + sizeof word <= len; at += sizeof word) {
        memcpy(&word, (const char *)bytes + at, sizeof word);
        found += word;
    }
    word = 0;
    memcpy(&word, (const char *)bytes + at, len - at);
    return found + word;
}

static inline int same(const Item *one, const Item *other) {
    return !memcmp(one, other, sizeof *one);
}

static inline uint64_t hash_of(const Item *key) {
    uint64_t hash = 0;
    for (int i = 0; i < WORDS; i++) hash = (hash ^ key->word[i]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 32;
    return hash;
}

static inline uint64_t bucket_of(uint64_t hash, uint64_t buckets) {
    return (unsigned __int128)hash * buckets >> 64;
}

/* The index that comes `turn`th in another order than that of insertion, in which entries do not lie
   one behind the other: a prime as stride, which divides no number of keys below it. */
static inline uint64_t scattered(const Options *options, uint64_t turn) {
    return options->first + turn * 2654435761u % options->count;
}

/* Measuring */

static inline double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + now.tv_nsec * 1e-9;
}

static inline double processor_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static double wall_began, processor_began;

static inline void begin(const Options *options) {
    processor_began = processor_seconds();
    wall_began = seconds(CLOCK_MONOTONIC);
    if (options->signals) raise(SIGUSR1);
}

static inline void tell(const Options *options, const char *operation, uint64_t operations, const char *more) {
    if (options->signals) raise(SIGUSR2);
    double wall = seconds(CLOCK_MONOTONIC) - wall_began;
    double processor = processor_seconds() - processor_began;
    printf("{\"peer\": \"%s\", \"way\": \"%s\", \"data\": \"%s\", \"entries\": %lu, \"threads\": %d, "
           "\"operation\": \"%s\", \"operations\": %lu, \"wall_s\": %.9f, \"cpu_s\": %.6f%s}\n",
           peer, options->way, options->bytes ? "bytes" : "items", options->entries, options->threads, operation,
           operations, wall, processor, more);
    fflush(stdout);
}

static inline void end(const Options *options, const char *operation, uint64_t operations) {
    tell(options, operation, operations, "");
}

/* With the sum of what was visited, by which it is seen that all peers read the same. */
static inline void end_visits(const Options *options, const char *operation, uint64_t visited, uint64_t sum) {
    char more[64];
    snprintf(more, sizeof more, ", \"sum\": \"%016lx\"", sum);
    tell(options, operation, visited, more);
}

/* Threads: each has its share of the keys. */

/* Turns that a thread takes at a time: whole batches. */
#define SHARE 1000

typedef struct {
    const Options *options;
    void (*work)(const Options *options, uint64_t from, uint64_t to);
    _Atomic uint64_t next;
} Turns;

static inline void *work_shares(void *argument) {
    Turns *turns = argument;
    uint64_t count = turns->options->count, from;
    while ((from = atomic_fetch_add(&turns->next, SHARE)) < count)
        turns->work(turns->options, from, from + SHARE < count ? from + SHARE : count);
    return NULL;
}

/* Times `work` on the turns 0 to COUNT - 1, of which each thread takes some at a time: with as many for each,
   the time would be that of the processor that is slowest just then. */
static inline void timed(const Options *options, const char *operation,
                         void (*work)(const Options *options, uint64_t from, uint64_t to)) {
    pthread_t thread[THREADS];
    Turns turns = {options, work, 0};
    begin(options);
    for (int t = 1; t < options->threads; t++)
        if (pthread_create(&thread[t], NULL, work_shares, &turns)) fail("no thread");
    work_shares(&turns);
    for (int t = 1; t < options->threads; t++) pthread_join(thread[t], NULL);
    end(options, operation, options->count);
}

#endif
