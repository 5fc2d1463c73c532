/* Conjugate gradients on a sparse matrix in compressed rows: the 27-point operator of a cube, as
   finite elements give it. Usage: solve SIDE ITERATIONS */
#include <stdio.h>
#include <stdlib.h>

static long rows;
static int *start, *column;
static double *value;

static void *array(long count, long size) {
    void *memory = malloc(count * size);
    if (!memory) exit(1);
    return memory;
}

static void assemble(long side) {
    long entries = 0;
    start[0] = 0;
    for (long row = 0; row < rows; row++) {
        long x = row % side, y = row / side % side, z = row / side / side;
        for (long k = z - 1; k <= z + 1; k++)
            for (long j = y - 1; j <= y + 1; j++)
                for (long i = x - 1; i <= x + 1; i++) {
                    if (i < 0 || j < 0 || k < 0 || i >= side || j >= side || k >= side) continue;
                    long other = (k * side + j) * side + i;
                    column[entries] = other;
                    value[entries++] = other == row ? 27 : -1;
                }
        start[row + 1] = entries;
    }
}

static void multiply(const double *x, double *y) {
    for (long row = 0; row < rows; row++) {
        double sum = 0;
        for (int i = start[row]; i < start[row + 1]; i++) sum += value[i] * x[column[i]];
        y[row] = sum;
    }
}

static double dot(const double *x, const double *y) {
    double sum = 0;
    for (long i = 0; i < rows; i++) sum += x[i] * y[i];
    return sum;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    long side = atol(arguments[1]), iterations = atol(arguments[2]);
    rows = side * side * side;
    start = array(rows + 1, sizeof *start);
    column = array(27 * rows, sizeof *column), value = array(27 * rows, sizeof *value);
    assemble(side);
    double *x = array(rows, 8), *residual = array(rows, 8);
    double *direction = array(rows, 8), *image = array(rows, 8);
    for (long i = 0; i < rows; i++) x[i] = 0, residual[i] = direction[i] = 1;
    double square = dot(residual, residual);
    for (long n = 0; n < iterations; n++) {
        multiply(direction, image);
        double step = square / dot(direction, image);
        for (long i = 0; i < rows; i++) x[i] += step * direction[i];
        for (long i = 0; i < rows; i++) residual[i] -= step * image[i];
        double next = dot(residual, residual);
        for (long i = 0; i < rows; i++) direction[i] = residual[i] + next / square * direction[i];
        square = next;
    }
    printf("%g\n", square);
    return 0;
}
