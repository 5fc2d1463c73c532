/* Lattice gauge theory in four dimensions: the staggered Dirac operator of SU(3) links, applied by
   conjugate gradients, as in MILC. Usage: lattice SIDE ITERATIONS */
#include <complex.h>
#include <stdio.h>

#include "random.h"

typedef double complex number;
typedef struct { number c[3]; } vector;
typedef struct { number e[3][3]; } matrix;

static long side, sites;
static matrix *links;  /* four a site */
static int *ahead, *behind;

static void add_product(vector *sum, const matrix *m, const vector *v) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) sum->c[i] += m->e[i][j] * v->c[j];
}

static void subtract_adjoint_product(vector *sum, const matrix *m, const vector *v) {
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) sum->c[i] -= conj(m->e[j][i]) * v->c[j];
}

/* out = D in */
static void hop(vector *out, const vector *in) {
    for (long site = 0; site < sites; site++) {
        vector sum = {{0}};
        for (int way = 0; way < 4; way++) {
            long before = behind[4 * site + way];
            add_product(&sum, &links[4 * site + way], &in[ahead[4 * site + way]]);
            subtract_adjoint_product(&sum, &links[4 * before + way], &in[before]);
        }
        out[site] = sum;
    }
}

static double product(const vector *a, const vector *b) {
    double sum = 0;
    for (long site = 0; site < sites; site++)
        for (int i = 0; i < 3; i++) sum += creal(conj(a[site].c[i]) * b[site].c[i]);
    return sum;
}

/* a = b + scale * c */
static void combine(vector *a, const vector *b, double scale, const vector *c) {
    for (long site = 0; site < sites; site++)
        for (int i = 0; i < 3; i++) a[site].c[i] = b[site].c[i] + scale * c[site].c[i];
}

/* D is antihermitian, so mass^2 - D D is positive. */
static void operate(vector *out, vector *half, const vector *in) {
    const double mass = 0.1;
    hop(half, in);
    hop(out, half);
    for (long site = 0; site < sites; site++)
        for (int i = 0; i < 3; i++) out[site].c[i] = mass * in[site].c[i] - out[site].c[i];
}

static void connect(void) {
    ahead = array(4 * sites, sizeof *ahead), behind = array(4 * sites, sizeof *behind);
    for (long site = 0; site < sites; site++)
        for (long way = 0, stride = 1; way < 4; way++, stride *= side) {
            long at = site / stride % side;
            ahead[4 * site + way] = site + ((at + 1) % side - at) * stride;
            behind[4 * site + way] = site + ((at + side - 1) % side - at) * stride;
        }
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    side = atol(arguments[1]);
    long iterations = atol(arguments[2]);
    if (side < 2 || side > 64) return 2;
    sites = side * side * side * side;
    links = array(4 * sites, sizeof *links);
    for (long i = 0; i < 4 * sites; i++)
        for (int row = 0; row < 3; row++)
            for (int column = 0; column < 3; column++)
                links[i].e[row][column] = (uniform() - 0.5 + (uniform() - 0.5) * I) / 2;
    connect();
    vector *solution = array(sites, sizeof *solution), *rest = array(sites, sizeof *rest);
    vector *way = array(sites, sizeof *way), *image = array(sites, sizeof *image);
    vector *half = array(sites, sizeof *half);
    for (long site = 0; site < sites; site++) rest[site].c[0] = way[site].c[0] = uniform();
    double left = product(rest, rest);
    for (long i = 0; i < iterations && left > 0; i++) {
        operate(image, half, way);
        double step = left / product(way, image), before = left;
        combine(solution, solution, step, way);
        combine(rest, rest, -step, image);
        left = product(rest, rest);
        combine(way, rest, left / before, way);
    }
    printf("%g\n", product(solution, solution));
    return 0;
}
