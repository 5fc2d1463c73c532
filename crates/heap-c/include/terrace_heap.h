/*
 * The dual-use heap: capacity and persistence from one non-volatile memory (Kannan 2013).
 *
 * A heap lies in a pool: a file on persistent memory, a plain file, or no file at all. What is kept
 * there stays across restarts and crashes; what is allocated with nvm_cap_alloc is gone when the heap
 * is closed. A program keeps what it has in either of two ways, or both:
 *
 *   - in containers of bytes, which are found by their names: hash maps (nvm_hash), ordered maps
 *     (nvm_tree) with cursors (nvm_cursor), and queues (nvm_queue);
 *   - in objects of its own (nvm_persist_alloc), structures of C that it reads and links by itself, and
 *     finds by the names of their roots.
 *
 * Each call that changes something is durable when it returns, and happens wholly or not at all,
 * whatever crashes. A transaction makes that of many calls, whatever containers and objects they
 * change:
 *
 *     static int move(nvm_heap *heap, void *argument)
 *     {
 *         struct order *order = argument;
 *         int status;
 *         if ((status = nvm_tree_remove(order->open, order->id, sizeof order->id)) ||
 *             (status = nvm_queue_push(order->sent, order->id, sizeof order->id)))
 *             return status;
 *         return NVM_OK;
 *     }
 *
 *     status = nvm_transaction(heap, move, &order);
 *
 * Pointers to objects are valid while the heap is open. What is stored *in* the heap must be offsets
 * (nvm_offset, nvm_pointer): the next time, the pool may lie elsewhere. 0 stands for no object.
 * Reading an object needs no function: it is memory. Changing one that is to stay needs one:
 *
 *   - within a transaction all changes by nvm_set and its like, and all allocations, happen together
 *     or not at all;
 *   - outside of one each of them is such a transaction by itself;
 *   - what the program stores by itself becomes durable with nvm_persist, each word of 8 bytes
 *     wholly or not at all, several in any order. A new object may be filled so before the
 *     transaction that made it is committed, which makes that durable as well.
 *
 * A transaction belongs to the thread that has begun it; whatever this thread does with the heap
 * meanwhile is part of it. All functions can be called by any number of threads. Containers hold other
 * threads off by themselves, until the transaction has ended; threads that change the same objects
 * have to hold each other off.
 *
 * Handles (nvm_heap, nvm_hash, ...) are looked up: one that is NULL, was closed, or is of another kind
 * is NVM_USAGE. Closing a heap closes all that was opened in it.
 *
 * Functions that return an int return NVM_OK or how else it went; those that return a pointer or a
 * number return NULL or 0 if something went wrong. nvm_error says it in a sentence. A call that fails
 * has changed nothing, and a transaction within which it fails goes on, unless it is NVM_AGAIN, or the
 * change of a map or a queue that broke off half way, as for want of room: then what follows in the
 * transaction fails, too, and it can only be aborted.
 *
 * Link with -lterrace_heap, or as pkg-config says: cc ... $(pkg-config --cflags --libs terrace_heap)
 */

#ifndef TERRACE_HEAP_H
#define TERRACE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A heap that is open, what is open in it, and a place in an ordered map. */
typedef struct nvm_heap nvm_heap;
typedef struct nvm_hash nvm_hash;
typedef struct nvm_tree nvm_tree;
typedef struct nvm_queue nvm_queue;
typedef struct nvm_cursor nvm_cursor;

/* How a call went. */
enum nvm_status {
    NVM_OK = 0,
    NVM_USAGE = 1,   /* what was asked for cannot be */
    NVM_FULL = 2,    /* there is no room left */
    NVM_DAMAGED = 3, /* the pool holds what it cannot hold, or no such object is in use */
    NVM_SYSTEM = 4,  /* the machine failed, or does not allow it */
    NVM_PANIC = 5,   /* the heap has a bug */
    NVM_AGAIN = 6,   /* an older transaction holds what this one wants: abort it, and begin again;
                        nvm_transaction does so by itself */
    NVM_NONE = 7,    /* there is no such key, no entry that way, nothing in the queue. It is no
                        failure, and no sentence says it */
    NVM_SHORT = 8    /* there is not as much room as there are bytes; nor is this a failure */
};

/* In which log a change goes (Kannan 2013, section 4.3). */
enum nvm_hint {
    NVM_BY_SIZE = 0, /* up to 8 bytes are a word, more an object */
    NVM_WORD = 1,    /* word by word, only those that differ: few changes of a large object */
    NVM_OBJECT = 2   /* as a whole */
};

/* A sentence about the last failure of this thread, which is there until its next one. Empty before
 * the first. */
const char *nvm_error(void);

/* The status of that failure, for functions that return something else; NVM_OK before the first. */
int nvm_error_status(void);

/* ---- Heaps ---- */

/* Makes a heap in a new file of at least so many bytes. */
nvm_heap *nvm_create(const char *path, uint64_t bytes);

/* Opens the heap in a file, whatever state a crash has left it in. NULL if there is none, it is
 * damaged, or is open already. Only this process can use it: in a child every call fails. */
nvm_heap *nvm_open(const char *path);

/* A heap without a file, which is gone when it is closed: capacity only. */
nvm_heap *nvm_anonymous(uint64_t bytes);

/* Closes a heap and all that is open in it; pointers into it are void. Not while it has a transaction
 * under way. If the pool could not be written the heap is closed all the same, and the pool is recovered
 * when it is opened next. */
int nvm_close(nvm_heap *heap);

/* Makes a heap at least so many bytes large. Nothing in it moves. */
int nvm_grow(nvm_heap *heap, uint64_t bytes);

/* Bytes of a heap. */
uint64_t nvm_bytes(nvm_heap *heap);

/* What a heap lies on: "persistent memory", "taken for persistent memory" (a file in memory, which
 * survives the program but not the machine), "plain file" (what is durable was synced), "volatile". */
const char *nvm_kind(nvm_heap *heap);

/* How much room a heap has, and what was done to it since it was opened. Later versions add fields at
 * the end. */
struct nvm_statistics {
    uint64_t bytes;        /* of the heap */
    uint64_t free;         /* of them in chunks used for nothing; in others there may be free slots */
    uint64_t longest_free; /* the most of these in a row: no larger object has room */
    uint64_t stored;       /* bytes that were stored */
    uint64_t lines;        /* cache lines that were flushed, each time */
    uint64_t fences;       /* fences */
    uint64_t syncs;        /* times that the kernel wrote to the device */
};

/* The statistics of a heap; `size` is sizeof *into, so that a program and a library of different ages
 * understand each other: what the library does not know is 0. */
int nvm_statistics(nvm_heap *heap, struct nvm_statistics *into, size_t size);

/* ---- Transactions ---- */

/* Has work(heap, argument) change things, durably, wholly or not at all: if it returns something other
 * than 0, nothing has happened, and that is returned. One fence, whatever it changes.
 *
 * Two transactions that want what the other one has are put in order by their age: the older one waits,
 * and the younger one's call is NVM_AGAIN. Then the work should return, whatever it returns: it is called
 * once more when the other one has let go, as old as it was, so that it gets on. So it should do nothing
 * else that must happen only once. It must return, and not leave by longjmp, pthread_exit or an
 * exception; transactions that it begins it ends.
 *
 * Within a transaction of the same heap it is part of that one, as nvm_begin says, and NVM_AGAIN is
 * returned: all of the outermost one has to begin again. */
int nvm_transaction(nvm_heap *heap, int (*work)(nvm_heap *heap, void *argument), void *argument);

/* Begins a transaction of this thread, for programs that cannot do without. Its changes are kept aside,
 * and memory shows them only after the commit; nvm_get shows them before.
 *
 * After NVM_AGAIN it has to be aborted, and can be begun again. It is a younger one then, so that it may
 * happen to it any number of times; nvm_transaction spares that.
 *
 * Within a transaction of the same heap it becomes part of that one: it happens when the outermost
 * is committed, and if it is aborted all fails. */
int nvm_begin(nvm_heap *heap);

/* Has everything happen since the innermost nvm_begin of this thread. If it fails, nothing has
 * happened, and the transaction has ended. */
int nvm_commit(nvm_heap *heap);

/* Takes everything back since the innermost nvm_begin of this thread. A thread that ends aborts what it
 * has begun. */
int nvm_abort(nvm_heap *heap);

/* ---- Containers ----
 *
 * Keys, values and elements are bytes, of any length, also of none (then they may lie at NULL); keys of
 * ordered maps have at most 16 KiB. A name is UTF-8, of 1 to 104 bytes, and a heap has one container,
 * or one object, of each name.
 *
 * What is read is copied into `room` bytes at `into`, and `*len` says how many there are. If there is
 * not as much room, nothing is copied (nor taken from a queue), `*len` says how much is needed, and
 * NVM_SHORT is returned. So room 0, for which `into` may be NULL, asks for the length. If there is
 * nothing, `*len` is 0 and NVM_NONE is returned.
 *
 * Within a transaction of this thread all of them are part of it, and see what it has changed. What it
 * has read or changed no other thread reads or changes until it has ended: of a hash map the keys, and
 * some others with them; all of it, if it was counted; of an ordered map and of a queue always all.
 * Another thread that wants it waits, if it is in no transaction, or in an older one; in a younger one
 * it is told NVM_AGAIN. */

/* ---- Hash maps ---- */

/* Opens the hash map of this name; it is made if there is none. Not within a transaction. Each call
 * returns a handle of its own, and all handles of a name are of the same hash map. */
nvm_hash *nvm_hash_open(nvm_heap *heap, const char *name);

/* Closes a handle. The hash map stays. */
int nvm_hash_close(nvm_hash *hash);

/* Gives a key a value, in place of the one it may have. */
int nvm_hash_put(nvm_hash *hash, const void *key, size_t key_len, const void *value, size_t value_len);

/* The value of a key. NVM_NONE if it has none. */
int nvm_hash_get(nvm_hash *hash, const void *key, size_t key_len, void *into, size_t room, size_t *len);

/* Removes a key and its value. NVM_NONE if there is none. */
int nvm_hash_remove(nvm_hash *hash, const void *key, size_t key_len);

/* How many entries there are. The first time they are counted one by one. */
int nvm_hash_count(nvm_hash *hash, uint64_t *count);

/* ---- Ordered maps ---- */

/* Opens the ordered map of this name; it is made if there is none. Keys are in the order of their
 * bytes, as memcmp has it. Not within a transaction. Each call
 * returns a handle of its own, and all handles of a name are of the same ordered map. */
nvm_tree *nvm_tree_open(nvm_heap *heap, const char *name);

/* Closes a handle. The ordered map stays. */
int nvm_tree_close(nvm_tree *tree);

/* Gives a key a value, in place of the one it may have. */
int nvm_tree_put(nvm_tree *tree, const void *key, size_t key_len, const void *value, size_t value_len);

/* The value of a key. NVM_NONE if it has none. */
int nvm_tree_get(nvm_tree *tree, const void *key, size_t key_len, void *into, size_t room, size_t *len);

/* Removes a key and its value. NVM_NONE if there is none. */
int nvm_tree_remove(nvm_tree *tree, const void *key, size_t key_len);

/* How many entries there are. The first time they are counted one by one. */
int nvm_tree_count(nvm_tree *tree, uint64_t *count);

/* ---- Cursors over ordered maps ----
 *
 *     for (status = nvm_cursor_first(cursor); !status; status = nvm_cursor_next(cursor))
 *         ... nvm_cursor_key(cursor, ...), nvm_cursor_value(cursor, ...) ...
 *
 * A cursor is at an entry, or before or behind all; at first it is nowhere. It keeps the key and the
 * value of its entry as they were when it came there. The map may change meanwhile: a cursor goes on
 * from its key, even if that was removed, to the entry that is then next to it. So it shows each entry
 * that is there all the time once, and those that come or go while it is under way, or do not.
 *
 * One that was opened within a transaction sees what that has changed, belongs to its thread, and is
 * closed with it. One that was opened outside sees what is committed, and may be used by any thread,
 * one at a time; a thread that has a transaction of the heap under way cannot move it. */

/* Opens a cursor. Within a transaction, one of that. */
nvm_cursor *nvm_cursor_open(nvm_tree *tree);

/* Closes a cursor. */
int nvm_cursor_close(nvm_cursor *cursor);

/* Goes to the first entry, or to the last one. NVM_NONE if there is none. */
int nvm_cursor_first(nvm_cursor *cursor);
int nvm_cursor_last(nvm_cursor *cursor);

/* Goes to the next entry, or to the one before. NVM_NONE if there is none; then the cursor is behind
 * the last, or before the first, from where the other call goes back to that. From nowhere the next one
 * is the first, and the one before is the last. */
int nvm_cursor_next(nvm_cursor *cursor);
int nvm_cursor_prev(nvm_cursor *cursor);

/* Goes to the first entry whose key is not below this one. NVM_NONE, and it is behind the last, if there
 * is none. */
int nvm_cursor_seek(nvm_cursor *cursor, const void *key, size_t len);

/* Has the cursor keep to keys that begin with these bytes, from now on and for all these calls, and goes
 * to the first of them. NVM_NONE if there is none. 0 bytes: all keys, as at first. */
int nvm_cursor_prefix(nvm_cursor *cursor, const void *prefix, size_t len);

/* The key of the entry at which the cursor is, and its value. NVM_NONE if it is at none. */
int nvm_cursor_key(nvm_cursor *cursor, void *into, size_t room, size_t *len);
int nvm_cursor_value(nvm_cursor *cursor, void *into, size_t room, size_t *len);

/* ---- Queues ---- */

/* Opens the queue of this name; it is made if there is none. Not within a transaction. Each call
 * returns a handle of its own, and all handles of a name are of the same queue. */
nvm_queue *nvm_queue_open(nvm_heap *heap, const char *name);

/* Closes a handle. The queue stays. */
int nvm_queue_close(nvm_queue *queue);

/* Adds an element at the back. */
int nvm_queue_push(nvm_queue *queue, const void *value, size_t len);

/* Removes the element at the front, and copies it. NVM_NONE if the queue is empty. */
int nvm_queue_pop(nvm_queue *queue, void *into, size_t room, size_t *len);

/* Copies the element at the front. NVM_NONE if the queue is empty. */
int nvm_queue_front(nvm_queue *queue, void *into, size_t room, size_t *len);

/* How many elements there are. */
int nvm_queue_count(nvm_queue *queue, uint64_t *count);

/* ---- Pointers and offsets ---- */

/* The address of offset 0, which stays the same while the heap is open. */
void *nvm_base(nvm_heap *heap);

/* The address of an offset; NULL for 0, and for what lies beyond the heap. */
void *nvm_pointer(nvm_heap *heap, uint64_t offset);

/* The offset of an address; 0 for what does not lie in the heap. */
uint64_t nvm_offset(nvm_heap *heap, const void *at);

/* The same without a check, for structures that are followed: base is nvm_base(heap). */
static inline void *nvm_at(void *base, uint64_t offset)
{
    return offset ? (char *)base + offset : NULL;
}

/* ---- Objects that stay (NVMPersist) ---- */

/* The object of this root; if there is none, one of so many bytes, all zeros. Which of both, says
 * nvm_found. One that is there must have as many bytes. A root's name is UTF-8, of 1 to 104 bytes.
 *
 * Without a root (NULL), which can only be within a transaction, the object is known to nobody:
 * store its offset somewhere before the commit, or it is lost until it is freed. */
void *nvm_persist_alloc(nvm_heap *heap, size_t size, const char *root);

/* Whether the last nvm_persist_alloc of this thread that succeeded found its object: 1, or made it:
 * 0. */
int nvm_found(void);

/* An object of so many bytes, all zeros, and its offset in the word `at` of the heap, which was 0.
 * After a crash both are so, or the object never was. */
void *nvm_persist_alloc_at(nvm_heap *heap, size_t size, uint64_t *at);

/* The object of a root; NULL if there is none. */
void *nvm_root(nvm_heap *heap, const char *root);

/* Bytes that an object has room for, at least as many as were asked for. */
uint64_t nvm_size(nvm_heap *heap, const void *at);

/* Removes a root that has no object. Not within a transaction. */
int nvm_remove_root(nvm_heap *heap, const char *root);

/* ---- Memory that does not stay (NVMCap) ---- */

/* Memory of at least so many bytes, aligned to 16, which holds anything. Nothing that is done to it
 * is ever flushed; transactions have nothing to do with it. */
void *nvm_cap_alloc(nvm_heap *heap, size_t size);

/* ---- Both ---- */

/* Frees an object or memory. An object's root, if it has one, goes with it (within a transaction its
 * name stays, without an object). What else holds its offset is the caller's business. */
int nvm_free(nvm_heap *heap, void *at);

/* Frees the object whose offset the word `at` of the heap holds, and makes that 0. Nothing if it is
 * 0 already. */
int nvm_free_at(nvm_heap *heap, uint64_t *at);

/* Makes memory, or the object of a root, larger or smaller, and says where it is then. It holds the
 * same, as far as that fits; what is new may be anything. After a crash the root has it at its old
 * or at its new place. NULL leaves it as it was. */
void *nvm_realloc(nvm_heap *heap, void *at, size_t size);

/* The same for the object whose offset the word `at` of the heap holds. */
void *nvm_realloc_at(nvm_heap *heap, uint64_t *at, size_t size);

/* ---- Changes of objects ---- */

/* Changes a word of 8 bytes in the heap. */
int nvm_set_word(nvm_heap *heap, uint64_t *at, uint64_t value);

/* Changes `len` bytes at `at` in the heap; `hint` is an enum nvm_hint. */
int nvm_set(nvm_heap *heap, void *at, const void *value, size_t len, int hint);

/* Copies `len` bytes at `at` in the heap, as this thread's transaction has changed them. */
int nvm_get(nvm_heap *heap, const void *at, void *into, size_t len);

/* Makes durable what the program itself has stored in an object. Not for what a transaction that is
 * under way has changed. */
int nvm_persist(nvm_heap *heap, const void *at, size_t len);

#ifdef __cplusplus
}
#endif

#endif
