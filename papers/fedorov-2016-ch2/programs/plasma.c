/* Ideal magnetohydrodynamics on a three-dimensional grid, in sweeps along each axis over arrays of
   one field each, as in ZEUS-MP. Usage: plasma SIDE STEPS */
#include <math.h>
#include <stdio.h>

#include "random.h"

enum { DENSITY, ENERGY, SPEED, FIELD = SPEED + 3, FIELDS = FIELD + 3 };

static long side, cells, strides[3];
static double *fields[FIELDS], *flux, *pressure;

static void press(void) {
    for (long i = 0; i < cells; i++) {
        double magnetic = 0;
        for (int axis = 0; axis < 3; axis++) magnetic += fields[FIELD + axis][i] * fields[FIELD + axis][i];
        pressure[i] = 0.667 * fields[ENERGY][i] + 0.5 * magnetic;
    }
}

/* The pressure's gradient speeds the gas up; from the second plane to the last but one. */
static void push(int axis) {
    double *speed = fields[SPEED + axis];
    long stride = strides[axis];
    for (long i = strides[2]; i < cells - strides[2]; i++)
        speed[i] -= 0.02 * (pressure[i] - pressure[i - stride]) / fields[DENSITY][i];
}

/* One field is carried along an axis, from the cell that the gas comes from. */
static void carry(double *field, int axis) {
    const double *speed = fields[SPEED + axis];
    long stride = strides[axis];
    for (long i = strides[2]; i < cells - strides[2]; i++)
        flux[i] = 0.02 * speed[i] * (speed[i] > 0 ? field[i - stride] : field[i]);
    for (long i = strides[2]; i < cells - 2 * strides[2]; i++) field[i] -= flux[i + stride] - flux[i];
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    side = atol(arguments[1]);
    long steps = atol(arguments[2]);
    if (side < 8 || side > 512) return 2;
    strides[0] = 1, strides[1] = side, strides[2] = side * side;
    cells = side * side * side;
    for (int field = 0; field < FIELDS; field++) {
        fields[field] = array(cells, sizeof(double));
        for (long i = 0; i < cells; i++)
            fields[field][i] = field < SPEED ? 1 + 0.1 * uniform() : 0.1 * sin(i * 0.001 * (field + 1));
    }
    flux = array(cells, sizeof(double)), pressure = array(cells, sizeof(double));
    for (long step = 0; step < steps; step++) {
        press();
        for (int axis = 0; axis < 3; axis++) push(axis);
        for (int axis = 0; axis < 3; axis++)
            for (int field = 0; field < FIELDS; field++) carry(fields[field], axis);
    }
    printf("%g\n", fields[ENERGY][cells / 2]);
    return 0;
}
