// Sleeps 5 ms at a time, for some seconds, and prints how late it woke up: median, 99th percentile and worst, in
// microseconds.
//
//     sleeper SECONDS

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAUSE_NS = 5000000 };

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int count, char **arguments) {
    if (count < 2) {
        return 2;
    }
    size_t times = strtoul(arguments[1], NULL, 10) * (1000000000 / PAUSE_NS);
    int64_t *late = calloc(times, sizeof *late);
    for (size_t i = 0; i < times; i++) {
        int64_t at = now() + PAUSE_NS;
        struct timespec until = {at / 1000000000, at % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        late[i] = now() - at;
    }
    qsort(late, times, sizeof *late, by_value);
    printf("%.1f %.1f %.1f\n", late[times / 2] / 1e3, late[times * 99 / 100] / 1e3, late[times - 1] / 1e3);
    return 0;
}
