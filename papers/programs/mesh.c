/* A stencil over the blocks of a block-structured mesh with many variables a cell: variable after
   variable, block after block, as adaptive mesh codes go. Usage: mesh BLOCKS VARIABLES STEPS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 12, CELLS = SIDE * SIDE * SIDE };

static void relax(double *cells) {
    static double next[CELLS];
    for (int z = 1; z < SIDE - 1; z++)
        for (int y = 1; y < SIDE - 1; y++)
            for (int x = 1; x < SIDE - 1; x++) {
                int i = (z * SIDE + y) * SIDE + x;
                next[i] = (cells[i] + cells[i - 1] + cells[i + 1] + cells[i - SIDE] + cells[i + SIDE]
                           + cells[i - SIDE * SIDE] + cells[i + SIDE * SIDE]) / 7;
            }
    for (int z = 1; z < SIDE - 1; z++)
        for (int y = 1; y < SIDE - 1; y++) {
            int i = (z * SIDE + y) * SIDE + 1;
            memcpy(cells + i, next + i, (SIDE - 2) * sizeof *cells);
        }
}

/* The face of a block to its neighbour's ghost cells. */
static void exchange(const double *from, double *to) {
    for (int i = 0; i < SIDE * SIDE; i++)
        to[i] = from[(SIDE - 2) * SIDE * SIDE + i];
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    long blocks = atol(arguments[1]), variables = atol(arguments[2]), steps = atol(arguments[3]);
    double **block = malloc(blocks * sizeof *block);
    if (!block || blocks < 1) return 1;
    for (long b = 0; b < blocks; b++) {
        block[b] = malloc(variables * CELLS * sizeof **block);
        if (!block[b]) return 1;
        for (long i = 0; i < variables * CELLS; i++) block[b][i] = b;
    }
    for (long step = 0; step < steps; step++)
        for (long v = 0; v < variables; v++) {
            for (long b = 1; b < blocks; b++)
                exchange(block[b - 1] + v * CELLS, block[b] + v * CELLS);
            for (long b = 0; b < blocks; b++) relax(block[b] + v * CELLS);
        }
    printf("%g\n", block[0][CELLS / 2]);
    return 0;
}
