/*
 * The dual-use heap: capacity and persistence from one non-volatile memory (Kannan 2013).
 *
 * A heap lies in a pool: a file on persistent memory, a plain file, or no file at all. What is
 * allocated with nvm_persist_alloc stays there across restarts and crashes, and is found again by
 * the name of its root; what is allocated with nvm_cap_alloc is gone when the heap is closed.
 *
 * Pointers into the heap are valid while it is open. What is stored *in* the heap must be offsets
 * (nvm_offset, nvm_pointer): the next time, the pool may lie elsewhere. 0 stands for no object.
 *
 * Reading needs no function: what is in the heap is memory. Changing what is to stay needs one:
 *
 *   - within a transaction (nvm_begin ... nvm_commit) all changes by nvm_set and its like, and all
 *     allocations, happen together or not at all, whatever crashes;
 *   - outside of one each of them is such a transaction by itself, durable when it returns;
 *   - what the program stores by itself becomes durable with nvm_persist, each word of 8 bytes
 *     wholly or not at all, several in any order. A new object may be filled so before the
 *     transaction that made it is committed, which makes that durable as well.
 *
 * A transaction belongs to the thread that has begun it. Functions can be called by any number of
 * threads; but who changes the same data from several threads has to hold the others off.
 *
 * Functions that return an int return NVM_OK or what went wrong; those that return a pointer or a
 * number return NULL or 0 if something did. nvm_error says it in a sentence. A call that fails has
 * changed nothing, and a transaction within which it fails goes on.
 *
 * Link with -lterrace_heap.
 */

#ifndef TERRACE_HEAP_H
#define TERRACE_HEAP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A heap that is open. */
typedef struct nvm_heap nvm_heap;

/* How a call went. */
enum nvm_status {
    NVM_OK = 0,
    NVM_USAGE = 1,   /* what was asked for cannot be */
    NVM_FULL = 2,    /* there is no room left */
    NVM_DAMAGED = 3, /* the pool holds what it cannot hold, or no such object is in use */
    NVM_SYSTEM = 4,  /* the machine failed, or does not allow it */
    NVM_PANIC = 5,   /* the heap has a bug */
    NVM_AGAIN = 6    /* an older transaction holds what this one wants: abort it, and begin again */
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

/* ---- Heaps ---- */

/* Makes a heap in a new file of at least so many bytes. */
nvm_heap *nvm_create(const char *path, uint64_t bytes);

/* Opens the heap in a file, whatever state a crash has left it in. NULL if there is none, it is
 * damaged, or somebody has it open. */
nvm_heap *nvm_open(const char *path);

/* A heap without a file, which is gone when it is closed: capacity only. */
nvm_heap *nvm_anonymous(uint64_t bytes);

/* Closes a heap; pointers into it are void. Not while it has a transaction under way. If the pool could
 * not be written the heap is closed all the same, and the pool is recovered when it is opened next. */
int nvm_close(nvm_heap *heap);

/* Makes a heap at least so many bytes large. Nothing in it moves. */
int nvm_grow(nvm_heap *heap, uint64_t bytes);

/* Bytes of a heap. */
uint64_t nvm_bytes(nvm_heap *heap);

/* What a heap lies on: "persistent memory", "taken for persistent memory" (a file in memory, which
 * survives the program but not the machine), "plain file" (what is durable was synced), "volatile". */
const char *nvm_kind(nvm_heap *heap);

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

/* ---- Transactions ---- */

/* Begins a transaction of this thread. Its changes are kept aside, and memory shows them only after
 * the commit; nvm_get shows them before. One fence for all of them.
 *
 * Within a transaction of the same heap it becomes part of that one: it happens when the outermost
 * is committed, and if it is aborted all fails. */
int nvm_begin(nvm_heap *heap);

/* Has everything happen since the innermost nvm_begin of this thread. If it fails, nothing has
 * happened, and the transaction has ended. */
int nvm_commit(nvm_heap *heap);

/* Takes everything back since the innermost nvm_begin of this thread. */
int nvm_abort(nvm_heap *heap);

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
