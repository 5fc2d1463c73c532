/* What a durable put cannot do without, and nothing else: an entry of 144 bytes in three lines, a
   record of it in a log, a fence, the pointer to it, a fence. There is no allocator, no look-up and no
   recovery. See common.h for how it is called; its one operation is put, and lines are written back by
   the best instruction that the processor has.

   Ways: two-fences (the put is durable, and so is its pointer), one-fence (the pointer becomes durable
   with the next put; until then the record would say where it belongs). */
#include <cpuid.h>
#include <immintrin.h>
#include <sys/mman.h>

#include "common.h"

enum { LINE = 64, ENTRY_BYTES = 192 };

/* Half a line, so that two records share one. */
typedef struct { uint64_t offset, bytes, destination, checksum; } Record;

static char *pool;
static Record *records;
static uint64_t *buckets;

__attribute__((target("clwb"))) static void write_back_clwb(void *line) { _mm_clwb(line); }
__attribute__((target("clflushopt"))) static void write_back_clflushopt(void *line) { _mm_clflushopt(line); }
static void write_back_clflush(void *line) { _mm_clflush(line); }

static void (*write_back)(void *line);

/* CPUID leaf 7: EBX bit 24 is clwb, bit 23 clflushopt (Intel's manual, volume 2). */
static void choose_instruction(void) {
    unsigned a, b = 0, c, d;
    __get_cpuid_count(7, 0, &a, &b, &c, &d);
    write_back = b >> 24 & 1 ? write_back_clwb : b >> 23 & 1 ? write_back_clflushopt : write_back_clflush;
}

/* Entries first, then records, then the table. */
static void open_pool(const Options *options) {
    int file = open(options->pool, O_RDWR | O_CREAT, 0600);
    if (file < 0) fail("the pool cannot be opened");
    reserve_blocks(file, pool_bytes(options));
    pool = mmap(NULL, pool_bytes(options), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (pool == MAP_FAILED) fail("the pool cannot be mapped");
    records = (Record *)(pool + options->entries * ENTRY_BYTES);
    buckets = (uint64_t *)(records + options->entries);
}

static void put(const Options *options, uint64_t from, uint64_t to) {
    int two_fences = !strcmp(options->way, "two-fences");
    for (uint64_t turn = from; turn < to; turn++) {
        Item key = key_of(options->first + turn), value = value_of(&key);
        uint64_t hash = hash_of(&key), offset = turn * ENTRY_BYTES;
        uint64_t *bucket = &buckets[bucket_of(hash, options->entries)];
        *(Entry *)(pool + offset) = (Entry){*bucket, hash, key, value};
        for (int line = 0; line < 3; line++) write_back(pool + offset + line * LINE);
        records[turn] = (Record){offset, sizeof(Entry), (char *)bucket - pool, offset ^ hash};
        write_back(&records[turn]);
        _mm_sfence();
        *(volatile uint64_t *)bucket = offset;
        write_back(bucket);
        if (two_fences) _mm_sfence();
    }
}

int main(int count, char **arguments) {
    peer = "floor";
    Options found = options(count, arguments);
    if (strcmp(found.way, "two-fences") && strcmp(found.way, "one-fence"))
        fail("ways are two-fences and one-fence");
    choose_instruction();
    if (found.first + found.count > found.entries) fail("it has no room for keys beyond --entries");
    open_pool(&found);
    for (char **operation = found.operations; *operation; operation++) {
        if (strcmp(*operation, "put")) fail("its operation is put");
        timed(&found, "put", put);
    }
    return 0;
}
