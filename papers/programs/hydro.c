/* Explicit hydrodynamics on a staggered grid: linear acoustics with artificial viscosity, in three
   sweeps a step as hydrocodes have them. Threads take bands of rows.
   Usage: hydro SIDE STEPS THREADS */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long side, steps, threads;
static double *pressure, *density, *energy, *viscosity, *along, *across;
static pthread_barrier_t sweep_done;

static void forces(long from, long to) {
    for (long y = from; y < to; y++)
        for (long x = 1; x < side; x++) {
            long i = y * side + x;
            double total = pressure[i] + viscosity[i];
            along[i] -= 0.2 * (total - pressure[i - 1] - viscosity[i - 1]) / density[i];
            across[i] -= 0.2 * (total - pressure[i - side] - viscosity[i - side]) / density[i];
        }
}

static void motion(long from, long to) {
    for (long y = from; y < to; y++)
        for (long x = 1; x < side - 1; x++) {
            long i = y * side + x;
            double divergence = along[i + 1] - along[i] + across[i + side] - across[i];
            viscosity[i] = divergence < 0 ? 0.5 * divergence * divergence : 0;
            energy[i] -= 0.2 * (pressure[i] + viscosity[i]) * divergence;
            density[i] -= 0.2 * density[i] * divergence;
        }
}

static void state(long from, long to) {
    for (long i = from * side; i < to * side; i++)
        pressure[i] = 0.4 * density[i] * energy[i];
}

static void *band(void *argument) {
    long thread = (long)argument, rows = (side - 2) / threads;
    long from = 1 + thread * rows, to = thread + 1 == threads ? side - 1 : from + rows;
    for (long step = 0; step < steps; step++) {
        forces(from, to);
        pthread_barrier_wait(&sweep_done);
        motion(from, to);
        pthread_barrier_wait(&sweep_done);
        state(from, to);
        pthread_barrier_wait(&sweep_done);
    }
    return NULL;
}

static double *field(double value) {
    double *cells = malloc(side * side * sizeof *cells);
    if (!cells) exit(1);
    for (long i = 0; i < side * side; i++) cells[i] = value;
    return cells;
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    side = atol(arguments[1]), steps = atol(arguments[2]), threads = atol(arguments[3]);
    if (side < 3 || threads < 1 || threads > 64) return 2;
    pressure = field(0.4), density = field(1), energy = field(1);
    viscosity = field(0), along = field(0), across = field(0);
    energy[side / 2 * side + side / 2] = 4;
    pthread_barrier_init(&sweep_done, NULL, threads);
    pthread_t handles[64];
    for (long i = 1; i < threads; i++) pthread_create(&handles[i], NULL, band, (void *)i);
    band(0);
    for (long i = 1; i < threads; i++) pthread_join(handles[i], NULL);
    printf("%g\n", energy[side / 2 * side + side / 2]);
    return 0;
}
