/*
 * Memory whose DRAM share is bounded: an extension has a bound of DRAM and a slow memory, and maps
 * regions. Threads use a region as any memory; the pages beyond the bound lie in the slow memory, from
 * which they come when they are touched.
 *
 *     terrace_extension *extension = terrace_start(16 << 20, "pcm", NULL, NULL);
 *     double *table = extension ? terrace_map(extension, 64 << 20) : NULL;
 *     if (!table)
 *         fprintf(stderr, "%s\n", terrace_error());
 *
 * Needs Linux 6.8 on x86-64, and root, or vm.unprivileged_userfaultfd=1, or access to /dev/userfaultfd.
 *
 * Errors: functions that return an int return a status; those that return a pointer return NULL on
 * failure. A call that fails has changed nothing. terrace_error describes the failure in a sentence. A
 * page that cannot be written to the slow memory stays in DRAM, beyond the bound. A thread that touches
 * a page that cannot be read gets SIGBUS, and a system call that touches it EFAULT: nothing ever sees
 * other contents than were written.
 *
 * Threads: all functions, and regions, can be used by any number of threads. A thread of the library
 * serves the faults, with all signals blocked. Signal handlers may touch regions, but not call these
 * functions.
 *
 * Fork: a child has the regions with their contents of that moment, and both processes go on by themselves,
 * each with the bound of DRAM. The child makes no calls: all fail with TERRACE_USAGE. Regions on a block
 * device are kept from children, which end with SIGSEGV if they touch one. A program that the child executes
 * can have an extension of its own.
 *
 * End: what is in a region is gone with its process, and nothing is left behind, however that ends.
 *
 * Link with -lterrace_region, or use pkg-config: cc ... $(pkg-config --cflags --libs terrace_region)
 */

#ifndef TERRACE_REGION_H
#define TERRACE_REGION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An extension. It is looked up: one that is NULL or was stopped gives TERRACE_USAGE. */
typedef struct terrace_extension terrace_extension;

/* Statuses of calls. */
enum terrace_status {
    TERRACE_OK = 0,
    TERRACE_USAGE = 1,   /* the request is invalid */
    TERRACE_FAILURE = 2, /* the system failed, or denies the request */
    TERRACE_PANIC = 3    /* the library has a bug */
};

/* Returns a sentence about the last failure of this thread, valid until the next failure. Empty before
 * the first. */
const char *terrace_error(void);

/* Returns the status of that failure, for functions that return no status; TERRACE_OK before the first. */
int terrace_error_status(void);

/* Says whether the kernel allows extensions to this user; terrace_error says what is missing. */
int terrace_check(void);

/* Starts an extension without regions.
 *
 * `dram` is the most DRAM that the pages of all its regions take, in bytes: 8 pages of 4096 bytes at
 * least. The library's own tables take DRAM besides (256 bytes a page count the writes of its lines),
 * and an emulated memory lies in DRAM as well.
 *
 * `memory`, `write` and `replacement` are as `terrace extend` has them: the slow memory is a path, which
 * has a slash in it, or an emulated technology (`terrace list memory`). A directory gets a file without
 * a name; a block device, free and blank, is taken as a whole and cleared at the end. The write scheme (`terrace list write`) says what is written of pages that leave; NULL is
 * "inclusive", which writes pages that were changed as a whole. The replacement policy (`terrace list
 * replacement`) says which pages leave; NULL is "fifo". Both may have settings, as in "dcw:pin=off". */
terrace_extension *terrace_start(uint64_t dram, const char *memory, const char *write,
                                 const char *replacement);

/* Maps a region of zeros: `bytes` bytes, rounded up to whole pages of 4096, at an address of whole pages;
 * at most 1 TiB. */
void *terrace_map(terrace_extension *extension, uint64_t bytes);

/* Unmaps the region that begins at `start`. No thread may use it any more. Do not use munmap. */
int terrace_unmap(terrace_extension *extension, void *start);

/* Figures of an extension since it was started. Pages have 4096 bytes. Later versions add fields at the
 * end. */
struct terrace_figures {
    uint64_t first_touches;  /* pages that were filled with zeros, at a fault or ahead of it, less
                              * those filled ahead that left DRAM unused */
    uint64_t fetches;        /* faults on pages in the slow memory, each of which is read */
    uint64_t returns;        /* faults on pages that have left, and are in DRAM still */
    uint64_t evicted_clean;  /* pages that left as they had come */
    uint64_t evicted_dirty;  /* pages that left after they were written */
    uint64_t pages_written;  /* pages that were written to the slow memory */
    uint64_t bytes_written;  /* bytes that the write scheme wrote of them */
    uint64_t write_errors;   /* failed writes; their pages stayed in DRAM */
    uint64_t read_errors;    /* pages that could not be read */
    uint64_t kept;           /* pages in DRAM beyond the bound now */
    uint64_t fetch_nanos;    /* nanoseconds for which the faults of `fetches` were served */
    uint64_t dram;           /* the bound of DRAM in pages */
    uint64_t peak_dram;      /* the most pages that were in DRAM at the same time */
    uint64_t peak_footprint; /* the most pages that had contents at the same time, wherever */
};

/* Stores the figures; `size` is sizeof(struct terrace_figures). Fields that the library does not know
 * are 0. */
int terrace_figures(terrace_extension *extension, struct terrace_figures *into, size_t size);

/* Ends an extension and unmaps its regions. No thread may use them any more. */
int terrace_stop(terrace_extension *extension);

#ifdef __cplusplus
}
#endif

#endif
