/* Times demand faults beside a pass that can be foreseen: one thread goes over half of the memory by a stride
   of 19 pages, again and again; another touches random pages of the other half, with a pause between two, and
   prints how long its faults took (touches of more than 5 us), in microseconds.
   Usage: demand_faults MIB TOUCHES */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAGE = 4096, STRIDE = 19, LEAST_NS = 5000, PAUSE_NS = 200000 };

static char *memory;
static size_t pages;
static atomic_bool ended;
static atomic_ulong passed;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void *pass(void *unused) {
    (void)unused;
    unsigned sum = 0;
    while (!ended)
        for (size_t first = 0; first < STRIDE && !ended; first++)
            for (size_t page = first; page < pages / 2 && !ended; page += STRIDE) {
                sum += ((volatile char *)memory)[page * PAGE];
                passed++;
            }
    return (void *)(uintptr_t)sum;
}

static int ascending(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    pages = strtoul(arguments[1], NULL, 10) * (1 << 20) / PAGE;
    size_t touches = strtoul(arguments[2], NULL, 10), faults = 0;
    memory = aligned_alloc(PAGE, pages * PAGE);
    uint64_t *took = malloc(touches * sizeof *took), state = 88172645463325252u;
    if (!memory || !took) return 1;
    for (size_t page = 0; page < pages; page++) memset(memory + page * PAGE, (int)page | 1, PAGE);
    pthread_t passing;
    if (pthread_create(&passing, NULL, pass, NULL)) return 1;
    for (size_t touch = 0; touch < touches; touch++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        volatile char *page = memory + (pages / 2 + state % (pages / 2)) * PAGE;
        uint64_t before = now();
        (void)*page;
        uint64_t after = now();
        if (after - before > LEAST_NS) took[faults++] = after - before;
        struct timespec pause = {0, PAUSE_NS};
        nanosleep(&pause, NULL);
    }
    ended = 1;
    pthread_join(passing, NULL);
    qsort(took, faults, sizeof *took, ascending);
    if (!faults) return 1;
    printf("faults %zu p50 %.1f p90 %.1f p99 %.1f passed %lu\n", faults, took[faults / 2] / 1e3,
           took[faults * 9 / 10] / 1e3, took[faults * 99 / 100] / 1e3, (unsigned long)passed);
    return 0;
}
