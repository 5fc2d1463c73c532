/* Where programs hold their records, by how they are compiled: side by side in arrays, and changed in place; each in
   memory of its own, and made anew where it changes (-DBOXED); that on a heap with a moving collector (-DCOLLECTED),
   as Spark's immutable collections on a JVM. The address of a record holds until the next one is made. */
#include <string.h>

#include "random.h"

#ifdef COLLECTED
#include "collector.h"
#endif

/* Objects of any size, each in memory of its own however this is compiled. */
typedef struct { void **objects; long count; } Objects;

static inline void *object(const Objects *in, long index) { return in->objects[index]; }

#ifdef COLLECTED
static inline void begin_objects(Objects *in, long count) {
    in->count = count;
    add_root(&in->objects);
    in->objects = allocate(count, count * sizeof(void *));
}

static inline void *new_object(long size) { return allocate(0, size); }

static inline void put(Objects *in, long index, void *object) { refer(in->objects, index, object); }

static inline void drop_all(Objects *in) {
    in->objects = NULL;
    in->objects = allocate(in->count, in->count * sizeof(void *));
}
#else
static inline void begin_objects(Objects *in, long count) {
    in->count = count, in->objects = array(count, sizeof(void *));
}

static inline void *new_object(long size) { return array(1, size); }

static inline void put(Objects *in, long index, void *object) {
    free(in->objects[index]);
    in->objects[index] = object;
}

static inline void drop_all(Objects *in) {
    for (long index = 0; index < in->count; index++) put(in, index, NULL);
}
#endif

/* Makes an object of zeros in place of another. */
static inline void *make(Objects *in, long index, long size) {
    void *made = new_object(size);
    put(in, index, made);
    return made;
}

/* Records of one size. */
#if defined BOXED || defined COLLECTED
typedef struct { Objects objects; long size; } Records;

static inline void begin_records(Records *in, long count, long size) {
    in->size = size;
    begin_objects(&in->objects, count);
}

/* A record; NULL if there is none. */
static inline void *record(const Records *in, long index) { return object(&in->objects, index); }

/* A record of zeros in place of another. */
static inline void *renew_empty(Records *in, long index) { return make(&in->objects, index, in->size); }

/* A record in place of another with the contents of a third, if there is that. */
static inline void *renew(Records *in, long index, const Records *of, long at) {
    void *made = new_object(in->size), *kept = record(of, at);
    if (kept) memcpy(made, kept, in->size);
    put(&in->objects, index, made);
    return made;
}

static inline void clear(Records *in) { drop_all(&in->objects); }

/* Begins all records anew, each of which is made before it is read. */
static inline void begin_anew(Records *in) { clear(in); }
#else
typedef struct { char *records; long count, size; } Records;

static inline void begin_records(Records *in, long count, long size) {
    *in = (Records){array(count, size), count, size};
}

static inline void *record(const Records *in, long index) { return in->records + index * in->size; }

static inline void *renew_empty(Records *in, long index) { return memset(record(in, index), 0, in->size); }

static inline void *renew(Records *in, long index, const Records *of, long at) {
    if (of != in || at != index) memcpy(record(in, index), record(of, at), in->size);
    return record(in, index);
}

static inline void clear(Records *in) { memset(in->records, 0, in->count * in->size); }

static inline void begin_anew(Records *in) { (void)in; }
#endif

/* What a C program holds in a local variable: an object for a short time, on a heap with a collector. */
#ifdef COLLECTED
#define SHORT_LIVED(type) ((type *)new_object(sizeof(type)))
#else
#define SHORT_LIVED(type) (&(type){0})
#endif
