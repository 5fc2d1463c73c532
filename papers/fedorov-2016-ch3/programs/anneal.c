/* Simulated annealing of a netlist, as canneal does it: two elements chosen at random change places where that
   shortens their nets, or as the temperature has it. Usage: anneal ELEMENTS SWAPS */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

enum { NETS = 6 };

typedef struct {
    int32_t x, y;
    uint32_t others[NETS];
} Element;

static Element *elements;

/* The length of an element's nets, if it were at this place. */
static long length(const Element *of, int32_t x, int32_t y) {
    long sum = 0;
    for (int net = 0; net < NETS; net++) {
        const Element *other = &elements[of->others[net]];
        sum += labs((long)other->x - x) + labs((long)other->y - y);
    }
    return sum;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    long all = atol(arguments[1]), swaps = atol(arguments[2]), side = (long)sqrt(all) + 1, taken = 0;
    elements = array(all, sizeof *elements);
    for (long i = 0; i < all; i++) {
        elements[i].x = i % side, elements[i].y = i / side;
        for (int net = 0; net < NETS; net++) elements[i].others[net] = random_bits() % all;
    }
    double temperature = side;
    for (long swap = 0; swap < swaps; swap++) {
        Element *a = &elements[random_bits() % all], *b = &elements[random_bits() % all];
        long before = length(a, a->x, a->y) + length(b, b->x, b->y);
        long after = length(a, b->x, b->y) + length(b, a->x, a->y);
        if (after < before || uniform() < exp((before - after) / temperature)) {
            Element place = *a;
            a->x = b->x, a->y = b->y, b->x = place.x, b->y = place.y;
            taken++;
        }
        if (swap % all == all - 1) temperature *= 0.9;
    }
    printf("%ld\n", taken);
}
