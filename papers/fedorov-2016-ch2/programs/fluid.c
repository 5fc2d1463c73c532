/* Lattice Boltzmann method in three dimensions with 19 speeds: flow through obstacles, from one
   grid to another and back, as in SPEC's lbm. Usage: fluid SIDE STEPS */
#include <stdio.h>

#include "random.h"

enum { SPEEDS = 19 };

static const int ways[SPEEDS][3] = {
    {0, 0, 0},  {1, 0, 0},  {-1, 0, 0},  {0, 1, 0},  {0, -1, 0},  {0, 0, 1},  {0, 0, -1},
    {1, 1, 0},  {-1, -1, 0}, {1, -1, 0}, {-1, 1, 0}, {1, 0, 1},   {-1, 0, -1}, {1, 0, -1},
    {-1, 0, 1}, {0, 1, 1},  {0, -1, -1}, {0, 1, -1}, {0, -1, 1}};

static long side, cells;
static double weights[SPEEDS];
static long offsets[SPEEDS];
static unsigned char *solid;

static int opposite(int speed) { return speed == 0 ? 0 : speed % 2 ? speed + 1 : speed - 1; }

/* Relaxes towards equilibrium, and streams what comes out to the neighbours. */
static void step(const double *from, double *to) {
    long margin = side * side + side;
    for (long cell = margin; cell < cells - margin; cell++) {
        const double *here = from + cell * SPEEDS;
        if (solid[cell]) {
            for (int s = 0; s < SPEEDS; s++) to[(cell - offsets[s]) * SPEEDS + opposite(s)] = here[s];
            continue;
        }
        double density = 0, flow[3] = {0};
        for (int s = 0; s < SPEEDS; s++) {
            density += here[s];
            for (int axis = 0; axis < 3; axis++) flow[axis] += here[s] * ways[s][axis];
        }
        double square = (flow[0] * flow[0] + flow[1] * flow[1] + flow[2] * flow[2]) / density;
        for (int s = 0; s < SPEEDS; s++) {
            double along = ways[s][0] * flow[0] + ways[s][1] * flow[1] + ways[s][2] * flow[2];
            double wanted = weights[s] * (density + 3 * along + 4.5 * along * along / density - 1.5 * square);
            to[(cell + offsets[s]) * SPEEDS + s] = here[s] + (wanted - here[s]) / 1.7;
        }
    }
}

static double *grid(void) {
    double *values = array(cells * SPEEDS, sizeof *values);
    for (long i = 0; i < cells * SPEEDS; i++) values[i] = weights[i % SPEEDS] * (i % SPEEDS == 1 ? 1.02 : 1);
    return values;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    side = atol(arguments[1]);
    long steps = atol(arguments[2]);
    if (side < 8 || side > 512) return 2;
    cells = side * side * side;
    for (int s = 0; s < SPEEDS; s++) {
        offsets[s] = ways[s][0] + side * (ways[s][1] + side * ways[s][2]);
        weights[s] = s == 0 ? 1 / 3. : s < 7 ? 1 / 18. : 1 / 36.;
    }
    solid = array(cells, 1);
    for (long i = 0; i < cells; i++) solid[i] = uniform() < 0.02;
    double *now = grid(), *next = grid();
    for (long i = 0; i < steps; i++) {
        step(now, next);
        double *swap = now;
        now = next, next = swap;
    }
    printf("%g\n", now[cells / 2 * SPEEDS]);
    return 0;
}
