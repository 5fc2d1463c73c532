/*
 * The dual-use heap: capacity and persistence from one non-volatile memory (Kannan 2013).
 *
 * A heap lies in a pool: a file on persistent memory, a plain file, or memory without a file. Its
 * persistent data survive restarts and crashes; memory of nvm_cap_alloc is gone when the heap is
 * closed. A program stores data in either of two ways, or in both:
 *
 *   - in containers of bytes, which have names: hash maps (nvm_hash), ordered maps (nvm_tree) with
 *     cursors (nvm_cursor), and queues (nvm_queue);
 *   - in objects of its own (nvm_persist_alloc), C structures that it reads and links by itself, and
 *     finds by the names of their roots.
 *
 * Each call that changes something is durable when it returns, and happens wholly or not at all, even
 * if the program or the machine crashes. A transaction does the same for many calls, on any containers
 * and objects:
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
 * Pointers to objects are valid while the heap is open. Store offsets *in* the heap (nvm_offset,
 * nvm_pointer), not pointers: the pool may lie at another address the next time. Offset 0 is the null
 * pointer. Objects are read as memory, without a call. Persistent objects are changed by calls:
 *
 *   - within a transaction all changes by nvm_set and similar calls, and all allocations, happen
 *     together or not at all;
 *   - outside of a transaction each of them is a transaction by itself;
 *   - direct stores become durable by nvm_persist, each word of 8 bytes wholly or not at all, several
 *     words in any order. A new object may be filled by direct stores before the commit of the
 *     transaction that made it, which makes them durable as well.
 *
 * A transaction belongs to the thread that began it; all that this thread does with the heap meanwhile
 * is part of it. All functions can be called by any number of threads. Containers are locked against
 * other threads until the transaction has ended; threads that change the same objects need locks of
 * their own.
 *
 * Handles (nvm_heap, nvm_hash, ...) are looked up: a handle that is NULL, was closed, or is of another
 * kind gives NVM_USAGE. Closing a heap closes everything that was opened in it.
 *
 * Functions that return an int return a status; those that return a pointer or a number return NULL or
 * 0 on failure. nvm_error describes the failure in a sentence. A call that fails has changed nothing,
 * and a transaction within which it fails can go on, with two exceptions: after NVM_AGAIN, and after a
 * change of a map or a queue that broke off half-way (because the pool was full, for example), all
 * further calls in the transaction fail, and it can only be aborted.
 *
 * Link with -lterrace_heap, or use pkg-config: cc ... $(pkg-config --cflags --libs terrace_heap)
 */

#ifndef TERRACE_HEAP_H
#define TERRACE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open heap, the open containers in it, and a cursor in an ordered map. */
typedef struct nvm_heap nvm_heap;
typedef struct nvm_hash nvm_hash;
typedef struct nvm_tree nvm_tree;
typedef struct nvm_queue nvm_queue;
typedef struct nvm_cursor nvm_cursor;

/* Statuses of calls. */
enum nvm_status {
    NVM_OK = 0,
    NVM_USAGE = 1,   /* the request is invalid */
    NVM_FULL = 2,    /* the pool is full */
    NVM_DAMAGED = 3, /* the pool is damaged, or no such object is in use */
    NVM_SYSTEM = 4,  /* the system failed, or denies the request */
    NVM_PANIC = 5,   /* the heap has a bug */
    NVM_AGAIN = 6,   /* an older transaction holds a lock that this one needs: abort, and begin
                        again; nvm_transaction does so by itself */
    NVM_NONE = 7,    /* there is no such key, no further entry, or no element in the queue. It
                        is not a failure, and nvm_error does not describe it */
    NVM_SHORT = 8,   /* the buffer is too small; not a failure either */
    NVM_NEWER = 9,   /* the pool was written by a newer program, in a format unknown to this one */
    NVM_OPEN = 10    /* the pool is open already, in this program or in another one */
};

/* The log for a change (Kannan 2013, section 4.3). */
enum nvm_hint {
    NVM_BY_SIZE = 0, /* up to 8 bytes as a word, more as an object */
    NVM_WORD = 1,    /* the words that differ: for few changes of a large object */
    NVM_OBJECT = 2   /* as a whole */
};

/* Returns a sentence about the last failure of this thread, valid until the next failure. Empty before
 * the first. */
const char *nvm_error(void);

/* Returns the status of that failure, for functions that return no status; NVM_OK before the first. */
int nvm_error_status(void);

/* ---- Heaps ---- */

/* Creates a heap of at least `bytes` bytes in a new file. */
nvm_heap *nvm_create(const char *path, uint64_t bytes);

/* Whether the contents of containers have checksums: then what a container returns is what was put into it, or
 * NVM_DAMAGED, whatever happens to the file. Memory that a program reaches by its own pointers has none. */
enum nvm_checksums {
    NVM_CHECKSUMS_DEFAULT = 0, /* on plain files; nvm_salvage: as the old heap */
    NVM_CHECKSUMS_ON = 1,
    NVM_CHECKSUMS_OFF = 2
};

/* Same as nvm_create, with or without checksums (enum nvm_checksums). */
nvm_heap *nvm_create_with(const char *path, uint64_t bytes, int checksums);

/* Returns 1 if the contents of containers have checksums, and 0 if not, or if there is no such heap. */
int nvm_has_checksums(nvm_heap *heap);

/* How much nvm_salvage could read. */
enum nvm_extent {
    NVM_ALL = 0,    /* all */
    NVM_PART = 1,   /* a part */
    NVM_NOTHING = 2 /* nothing */
};

/* Writes what can be read of a damaged heap, which nobody has open, to a new file: the same roots, and maps and
 * queues with all entries and elements that can be read. Sets *extent to one of enum nvm_extent, and, unless
 * `report` is NULL, calls report(sentence, argument) for up to 100 things that could not be read. `checksums`
 * is one of enum nvm_checksums, for the new heap. The command terrace heap salvage says more. */
int nvm_salvage(const char *path, const char *to, int checksums, int *extent,
                void (*report)(const char *sentence, void *argument), void *argument);

/* Opens the heap in a file, whatever state a crash has left it in. NULL if the file holds no heap, or
 * the heap is damaged or open already, or if the file was copied while the heap was open, by anything but
 * nvm_copy. Only this process can use it: in a child every call fails. */
nvm_heap *nvm_open(const char *path);

/* Opens the heap in a file for reading alone: the file need not be writable and stays as it is, and any
 * number of processes may read it at the same time, while none has it open for writing. Calls that would
 * change the heap give NVM_USAGE. */
nvm_heap *nvm_open_read(const char *path);

/* Copies an open heap to a new file, which gets its name when it is whole and durable. Other threads may go
 * on: the copy holds exactly what they had carried out at one moment. A heap is copied by the process that
 * has it open for writing; another process copies it only while none has. */
int nvm_copy(nvm_heap *heap, const char *path);

/* Creates a heap without a file, which is gone when it is closed: capacity only. */
nvm_heap *nvm_anonymous(uint64_t bytes);

/* Closes a heap and everything that is open in it; pointers into it become invalid. Fails while a
 * transaction is under way. If the pool could not be written the heap is closed all the same, and the
 * pool is recovered when it is opened next. */
int nvm_close(nvm_heap *heap);

/* Grows a heap to at least `bytes` bytes. Nothing in it moves. */
int nvm_grow(nvm_heap *heap, uint64_t bytes);

/* Makes room: objects that containers own leave chunks in which few are in use, and sparse nodes of
 * trees become fewer. A call looks at about `objects` objects and the next one goes on where it has
 * stopped, so that UINT64_MAX does all. The bytes that have become free go to `freed`, and about how
 * many objects are still to be looked at to `left`, which is 0 when all is done; either may be NULL.
 * Objects of nvm_persist_alloc stay where they are, as do tables of containers and objects of half a
 * chunk or more. Other threads may go on meanwhile. Fails within a transaction of this thread.
 *
 * A container that is damaged is left out: the call that finds it does its work on the others, sets
 * both numbers, and returns NVM_DAMAGED with a sentence that names the container. The next call goes
 * on behind it. */
int nvm_compact(nvm_heap *heap, uint64_t objects, uint64_t *freed, uint64_t *left);

/* Returns the bytes of a heap. */
uint64_t nvm_bytes(nvm_heap *heap);

/* Returns what a heap lies on: "persistent memory", "taken for persistent memory" (a file in memory,
 * which survives the program but not the machine), "plain file" (durable data were synced), or
 * "volatile". */
const char *nvm_kind(nvm_heap *heap);

/* The room in a heap, and counts since it was opened. Later versions add fields at the end. */
struct nvm_statistics {
    uint64_t bytes;        /* bytes of the heap */
    uint64_t free;         /* bytes of free chunks; chunks in use may have free slots besides */
    uint64_t longest_free; /* bytes of the longest row of free chunks: the largest possible object */
    uint64_t stored;       /* stored bytes */
    uint64_t lines;        /* flushes of cache lines */
    uint64_t fences;       /* fences */
    uint64_t syncs;        /* writes by the kernel to the device */
};

/* Gets the statistics of a heap; `size` is sizeof *into, so that programs and libraries of different
 * versions work together: fields that the library does not know are 0. */
int nvm_statistics(nvm_heap *heap, struct nvm_statistics *into, size_t size);

/* ---- Transactions ---- */

/* Carries out the changes of work(heap, argument) durably, wholly or not at all: if it returns a number
 * other than 0, nothing has changed, and that number is returned. One fence for all changes.
 *
 * Two transactions that each want what the other one holds are ordered by age: the older one waits, and
 * the younger one's call returns NVM_AGAIN. Then `work` should return, with any number: it is called
 * again when the other transaction has ended, with its old age, so that it succeeds at last. So it
 * should do nothing else that must happen only once. It must return, and not leave by longjmp,
 * pthread_exit or an exception, and must end the transactions that it begins.
 *
 * Within a transaction of the same heap it is part of that one, as with nvm_begin, and NVM_AGAIN is
 * returned: the outermost transaction has to begin again as a whole. */
int nvm_transaction(nvm_heap *heap, int (*work)(nvm_heap *heap, void *argument), void *argument);

/* Begins a transaction of this thread, for programs that cannot use nvm_transaction. Its changes are
 * kept apart, and appear in memory only after the commit; nvm_get returns them before.
 *
 * After NVM_AGAIN it must be aborted, and can be begun again. It is younger then, so that this may
 * happen any number of times; nvm_transaction avoids that.
 *
 * Within a transaction of the same heap it becomes part of that one: it happens when the outermost one
 * is committed, and if it is aborted all fails. */
int nvm_begin(nvm_heap *heap);

/* Commits all changes since the innermost nvm_begin of this thread. If that fails, nothing has changed,
 * and the transaction has ended. */
int nvm_commit(nvm_heap *heap);

/* Undoes all changes since the innermost nvm_begin of this thread. When a thread ends, its transactions
 * are aborted. */
int nvm_abort(nvm_heap *heap);

/* ---- Containers ----
 *
 * Keys, values and elements are bytes of any length, which may be 0 (then at NULL, too); keys of ordered
 * maps have at most 16 KiB. A name is UTF-8, of 1 to 104 bytes, and a heap has one container, or one
 * object, of each name.
 *
 * Data are copied into `room` bytes at `into`, and `*len` becomes their number. If the room is too
 * small, nothing is copied (or removed from a queue), `*len` becomes the number of bytes needed, and
 * NVM_SHORT is returned. So room 0, for which `into` may be NULL, gets the length. If there are no
 * data, `*len` becomes 0 and NVM_NONE is returned.
 *
 * Within a transaction of this thread all calls are part of it, and see its changes. No other thread
 * reads or changes what it has read or changed until it has ended: in a hash map the keys, and some
 * others with them, or all of it if it was counted; always all of an ordered map and of a queue.
 * Another thread that needs them waits, if it is in no transaction or in an older one; in a younger one
 * its call returns NVM_AGAIN. */

/* Removes the container of this name, and all that it owns, so that the name is free again. NVM_NONE if
 * there is none. All its handles must have been closed. Not within a transaction. If the program is killed
 * meanwhile the container is gone, or there as it was; nothing is left of it when the heap is opened next. */
int nvm_remove(nvm_heap *heap, const char *name);

/* ---- Hash maps ---- */

/* Opens the hash map of this name; makes it if there is none. Not within a transaction. Each call returns
 * a new handle, and all handles of a name are of the same hash map. */
nvm_hash *nvm_hash_open(nvm_heap *heap, const char *name);

/* Closes a handle. The hash map stays. */
int nvm_hash_close(nvm_hash *hash);

/* Sets the value of a key. */
int nvm_hash_put(nvm_hash *hash, const void *key, size_t key_len, const void *value, size_t value_len);

/* Gets the value of a key. NVM_NONE if there is no such key. */
int nvm_hash_get(nvm_hash *hash, const void *key, size_t key_len, void *into, size_t room, size_t *len);

/* Removes a key and its value. NVM_NONE if there is no such key. */
int nvm_hash_remove(nvm_hash *hash, const void *key, size_t key_len);

/* Gets the number of entries, which are counted one by one the first time. */
int nvm_hash_count(nvm_hash *hash, uint64_t *count);

/* Removes all entries. */
int nvm_hash_clear(nvm_hash *hash);

/* ---- Ordered maps ---- */

/* Opens the ordered map of this name; makes it if there is none. Keys have the order of memcmp. Not
 * within a transaction. Each call returns a new handle, and all handles of a name are of the same
 * ordered map. */
nvm_tree *nvm_tree_open(nvm_heap *heap, const char *name);

/* Closes a handle. The ordered map stays. */
int nvm_tree_close(nvm_tree *tree);

/* Sets the value of a key. */
int nvm_tree_put(nvm_tree *tree, const void *key, size_t key_len, const void *value, size_t value_len);

/* Gets the value of a key. NVM_NONE if there is no such key. */
int nvm_tree_get(nvm_tree *tree, const void *key, size_t key_len, void *into, size_t room, size_t *len);

/* Removes a key and its value. NVM_NONE if there is no such key. */
int nvm_tree_remove(nvm_tree *tree, const void *key, size_t key_len);

/* Gets the number of entries, which are counted one by one the first time. */
int nvm_tree_count(nvm_tree *tree, uint64_t *count);

/* Removes all entries. */
int nvm_tree_clear(nvm_tree *tree);

/* Removes the entry with the smallest key, or with the largest, and copies its key and its value. NVM_NONE
 * if there is none. If either has no room the entry stays, and NVM_SHORT is returned. */
int nvm_tree_pop_first(nvm_tree *tree, void *key, size_t key_room, size_t *key_len, void *value,
                       size_t value_room, size_t *value_len);
int nvm_tree_pop_last(nvm_tree *tree, void *key, size_t key_room, size_t *key_len, void *value,
                      size_t value_room, size_t *value_len);

/* ---- Cursors over ordered maps ----
 *
 *     for (status = nvm_cursor_first(cursor); !status; status = nvm_cursor_next(cursor))
 *         ... nvm_cursor_key(cursor, ...), nvm_cursor_value(cursor, ...) ...
 *
 * A cursor is at an entry, or before or behind all; a new one is not positioned yet. It keeps the key
 * and the value of its entry as they were when it came there. The map may change meanwhile: a cursor
 * moves from its key, even if that was removed, to the entry that is then next to it. So it returns
 * each entry that exists all the time once, and may or may not return entries that are added or removed
 * meanwhile.
 *
 * A cursor that was opened within a transaction sees its changes, belongs to its thread, and is closed
 * with it. One that was opened outside sees committed data, and may be used by any thread, one at a
 * time; a thread that has a transaction of the heap under way cannot move it. */

/* Opens a cursor, which belongs to this thread's transaction of the heap, if there is one. */
nvm_cursor *nvm_cursor_open(nvm_tree *tree);

/* Closes a cursor. */
int nvm_cursor_close(nvm_cursor *cursor);

/* Moves to the first entry, or to the last one. NVM_NONE if there is none. */
int nvm_cursor_first(nvm_cursor *cursor);
int nvm_cursor_last(nvm_cursor *cursor);

/* Moves to the next entry, or to the previous one. NVM_NONE if there is none; then the cursor is behind
 * the last entry, or before the first, from where the other call moves back to it. From a new cursor,
 * next moves to the first entry, and prev to the last. */
int nvm_cursor_next(nvm_cursor *cursor);
int nvm_cursor_prev(nvm_cursor *cursor);

/* Moves to the first entry whose key is not below `key`. If there is none the cursor is behind the last
 * entry, and NVM_NONE is returned. */
int nvm_cursor_seek(nvm_cursor *cursor, const void *key, size_t len);

/* Restricts the cursor to keys that begin with these bytes, for all further calls, and moves to the
 * first of them. NVM_NONE if there is none. 0 bytes: all keys, as in a new cursor. */
int nvm_cursor_prefix(nvm_cursor *cursor, const void *prefix, size_t len);

/* Get the key of the entry at the cursor, and its value. NVM_NONE if the cursor is at no entry. */
int nvm_cursor_key(nvm_cursor *cursor, void *into, size_t room, size_t *len);
int nvm_cursor_value(nvm_cursor *cursor, void *into, size_t room, size_t *len);

/* ---- Queues ---- */

/* Opens the queue of this name; makes it if there is none. Not within a transaction. Each call returns a
 * new handle, and all handles of a name are of the same queue. */
nvm_queue *nvm_queue_open(nvm_heap *heap, const char *name);

/* Closes a handle. The queue stays. */
int nvm_queue_close(nvm_queue *queue);

/* Adds an element at the back. */
int nvm_queue_push(nvm_queue *queue, const void *value, size_t len);

/* Removes the element at the front, and copies it. NVM_NONE if the queue is empty. */
int nvm_queue_pop(nvm_queue *queue, void *into, size_t room, size_t *len);

/* Copies the element at the front. NVM_NONE if the queue is empty. */
int nvm_queue_front(nvm_queue *queue, void *into, size_t room, size_t *len);

/* Gets the number of elements. */
int nvm_queue_count(nvm_queue *queue, uint64_t *count);

/* Removes all elements. */
int nvm_queue_clear(nvm_queue *queue);

/* ---- Pointers and offsets ---- */

/* Returns the address of offset 0, which stays the same while the heap is open. */
void *nvm_base(nvm_heap *heap);

/* Returns the address of an offset; NULL for 0, and for an offset beyond the heap. */
void *nvm_pointer(nvm_heap *heap, uint64_t offset);

/* Returns the offset of an address; 0 for an address outside of the heap. */
uint64_t nvm_offset(nvm_heap *heap, const void *at);

/* Returns the address of an offset without a check, for following links: base is nvm_base(heap). */
static inline void *nvm_at(void *base, uint64_t offset)
{
    return offset ? (char *)base + offset : NULL;
}

/* ---- Persistent objects (NVMPersist) ---- */

/* Returns the object of this root; makes one of `size` bytes, all zeros, if there is none. nvm_found
 * tells which. An existing object must have at least `size` bytes. The name of a root is UTF-8, of 1 to
 * 104 bytes.
 *
 * Without a root (NULL), only within a transaction, nothing points to the new object: store its offset
 * in the heap before the commit, or it is lost until it is freed. */
void *nvm_persist_alloc(nvm_heap *heap, size_t size, const char *root);

/* Returns 1 if the last successful nvm_persist_alloc of this thread found its object, 0 if it made
 * it. */
int nvm_found(void);

/* Makes an object of `size` bytes, all zeros, and stores its offset in the word `at` of the heap, which
 * must be 0. After a crash both have happened, or neither. */
void *nvm_persist_alloc_at(nvm_heap *heap, size_t size, uint64_t *at);

/* Returns the object of a root; NULL if there is none. */
void *nvm_root(nvm_heap *heap, const char *root);

/* Returns the bytes for which an object has room, at least as many as were requested. */
uint64_t nvm_size(nvm_heap *heap, const void *at);

/* Removes a root without an object. Not within a transaction. */
int nvm_remove_root(nvm_heap *heap, const char *root);

/* ---- Capacity: memory that is gone when the heap is closed (NVMCap) ---- */

/* Allocates memory of at least `size` bytes, aligned to 16, with undefined contents. It is never
 * flushed, and is no part of transactions. */
void *nvm_cap_alloc(nvm_heap *heap, size_t size);

/* ---- Both ---- */

/* Frees an object or memory. The object's root, if it has one, is removed (within a transaction it
 * stays, without an object). Other copies of its offset are the caller's responsibility. */
int nvm_free(nvm_heap *heap, void *at);

/* Frees the object whose offset is in the word `at` of the heap, and stores 0 there. Does nothing if it
 * is 0 already. */
int nvm_free_at(nvm_heap *heap, uint64_t *at);

/* Changes the size of memory, or of the object of a root; returns its new address. The contents are kept
 * as far as they fit; new bytes are undefined. After a crash the root has the object at its old or its
 * new place. On failure (NULL) nothing has changed. */
void *nvm_realloc(nvm_heap *heap, void *at, size_t size);

/* Same as nvm_realloc, for the object whose offset is in the word `at` of the heap. */
void *nvm_realloc_at(nvm_heap *heap, uint64_t *at, size_t size);

/* ---- Changes of objects ---- */

/* Changes a word of 8 bytes in the heap. */
int nvm_set_word(nvm_heap *heap, uint64_t *at, uint64_t value);

/* Changes `len` bytes at `at` in the heap; `hint` is an enum nvm_hint. */
int nvm_set(nvm_heap *heap, void *at, const void *value, size_t len, int hint);

/* Copies `len` bytes at `at` in the heap, with the changes of this thread's transaction. */
int nvm_get(nvm_heap *heap, const void *at, void *into, size_t len);

/* Makes direct stores of the program to an object durable. Not for bytes that a transaction under way
 * has changed. */
int nvm_persist(nvm_heap *heap, const void *at, size_t len);

#ifdef __cplusplus
}
#endif

#endif
