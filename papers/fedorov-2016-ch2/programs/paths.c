/* Shortest paths on a map of blocks of rough ground: A* with an open list in a binary heap, from
   one random place to another. Each square has a record of its own, as in a game's map.
   Usage: paths SIDE SEARCHES */
#include <stdio.h>

#include "random.h"

struct square {
    int ground;   /* what entering it costs; 0 for rock */
    int search;   /* the last search that reached it */
    int distance; /* from that search's start */
    int place;    /* in the open list; -1 where it is done with */
    int from;
};

static struct square *map;
static int *open_list, *priority, length;
static int side, search;

static void put(int place, int square, int value) {
    open_list[place] = square, priority[place] = value;
    map[square].place = place;
}

static void rise(int place, int square, int value) {
    while (place > 0 && priority[(place - 1) / 2] > value) {
        put(place, open_list[(place - 1) / 2], priority[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    put(place, square, value);
}

static int take(void) {
    int best = open_list[0], last = open_list[--length], value = priority[length], place = 0;
    for (int child; (child = 2 * place + 1) < length; place = child) {
        if (child + 1 < length && priority[child + 1] < priority[child]) child++;
        if (priority[child] >= value) break;
        put(place, open_list[child], priority[child]);
    }
    if (length) put(place, last, value);
    map[best].place = -1;
    return best;
}

static int least_left(int square, int goal) {
    return abs(square % side - goal % side) + abs(square / side - goal / side);
}

static void reach(int square, int from, int goal) {
    struct square *there = &map[square];
    if (!there->ground) return;
    int distance = map[from].distance + there->ground, value = distance + least_left(square, goal);
    if (there->search == search && (there->place < 0 || there->distance <= distance)) return;
    int place = there->search == search ? there->place : length++;
    there->search = search, there->distance = distance, there->from = from;
    rise(place, square, value);
}

static long steps_between(int start, int goal) {
    search++, length = 0;
    map[start].search = search, map[start].distance = 0, map[start].from = start;
    rise(length++, start, 0);
    while (length) {
        int square = take();
        if (square == goal) break;
        int neighbours[] = {square - 1, square + 1, square - side, square + side};
        for (int i = 0; i < 4; i++) reach(neighbours[i], square, goal);
    }
    long steps = 0;
    if (map[goal].search != search) return 0;
    for (int square = goal; square != start; square = map[square].from) steps++;
    return steps;
}

static int free_square(void) {
    int square;
    do square = random_bits() % ((long)side * side);
    while (!map[square].ground);
    return square;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    side = atoi(arguments[1]);
    long searches = atol(arguments[2]), squares = (long)side * side, steps = 0;
    if (side < 64 || side > 16384) return 2;
    map = array(squares, sizeof *map);
    open_list = array(squares, sizeof *open_list), priority = array(squares, sizeof *priority);
    for (long y = 1; y < side - 1; y++)
        for (long x = 1; x < side - 1; x++) {
            /* Blocks of 8 x 8 squares are alike; one square in ten is rock. */
            uint64_t block = ((y / 8) * 2654435761u + (x / 8) * 40503u) >> 7;
            map[y * side + x].ground = random_bits() % 10 == 0 ? 0 : 1 + block % 4;
        }
    for (long i = 0; i < searches; i++) steps += steps_between(free_square(), free_square());
    printf("%ld\n", steps);
    return 0;
}
