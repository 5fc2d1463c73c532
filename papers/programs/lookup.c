/* Random lookups of cross sections, as Monte Carlo neutron transport makes them: a search in the
   union of all energies, a row of indices there, and for each nuclide of a material two entries of
   its own table, reached through a table of pointers.
   Usage: lookup NUCLIDES POINTS LOOKUPS */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SECTIONS = 5 };
typedef struct { double energy, section[SECTIONS]; } Point;

static uint64_t state = 88172645463325252u;
static double random_unit(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (state >> 11) * 0x1p-53;
}

static void *array(long count, long size) {
    void *memory = malloc(count * size);
    if (!memory) exit(1);
    return memory;
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    long nuclides = atol(arguments[1]), points = atol(arguments[2]), lookups = atol(arguments[3]);
    long energies = nuclides * points;
    if (nuclides < 1 || points < 2) return 2;
    Point **table = array(nuclides, sizeof *table);
    for (long n = 0; n < nuclides; n++) {
        table[n] = array(points, sizeof **table);
        for (long p = 0; p < points; p++) {
            table[n][p].energy = (p + (double)n / nuclides) / points;
            for (int s = 0; s < SECTIONS; s++) table[n][p].section[s] = n + s;
        }
    }
    double *energy = array(energies, sizeof *energy);
    int *index = array(energies * nuclides, sizeof *index);
    for (long e = 0; e < energies; e++) {
        energy[e] = (double)e / energies;
        for (long n = 0; n < nuclides; n++) {
            long p = e / nuclides - (n > e % nuclides);
            index[e * nuclides + n] = p < 0 ? 0 : p > points - 2 ? points - 2 : p;
        }
    }
    double total[SECTIONS] = {0};
    for (long l = 0; l < lookups; l++) {
        double wanted = random_unit();
        long low = 0, high = energies - 1;
        while (low < high) {
            long middle = (low + high + 1) / 2;
            if (energy[middle] <= wanted) low = middle;
            else high = middle - 1;
        }
        /* Of the material's nuclides there are few, or all: fuel is one lookup in seven. */
        long most = random_unit() < 0.14 ? nuclides : nuclides / 10 + 1;
        for (long n = 0; n < most; n++) {
            Point *at = &table[n][index[low * nuclides + n]];
            double share = (wanted - at[0].energy) / (at[1].energy - at[0].energy);
            for (int s = 0; s < SECTIONS; s++)
                total[s] += at[0].section[s] + share * (at[1].section[s] - at[0].section[s]);
        }
    }
    printf("%g\n", total[0]);
    return 0;
}
