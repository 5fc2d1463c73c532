/* Learning from points with 20 features, each an object of its own: clusters by k-means, or a
   decision tree, level by level. Usage: points kmeans|tree POINTS PASSES */
#include <math.h>
#include <stdio.h>

#include "objects.h"

enum { FEATURES = 20, CLUSTERS = 10, BINS = 32, DEPTH = 6, NODES = 1 << (DEPTH + 1) };
typedef struct { int label, node; double x[FEATURES]; } Point;
typedef struct { int feature, bin; } Split;
/* The cluster of a point, or its place in a tree. */
typedef struct { long which; double cost; } Choice;

static Objects points;

static double distance(const double *a, const double *b) {
    double sum = 0;
    for (int f = 0; f < FEATURES; f++) sum += (a[f] - b[f]) * (a[f] - b[f]);
    return sum;
}

static const Point *point_at(long index) { return object(&points, index); }

static double kmeans(long count, long passes) {
    static double centre[CLUSTERS][FEATURES], sum[CLUSTERS][FEATURES];
    double cost = 0;
    for (int c = 0; c < CLUSTERS; c++) memcpy(centre[c], point_at(c)->x, sizeof centre[c]);
    for (long pass = 0; pass < passes; pass++) {
        long members[CLUSTERS] = {0};
        memset(sum, 0, sizeof sum);
        cost = 0;
        for (long p = 0; p < count; p++) {
            Choice *best = SHORT_LIVED(Choice);
            const Point *point = point_at(p);
            best->cost = INFINITY;
            for (int c = 0; c < CLUSTERS; c++) {
                double d = distance(point->x, centre[c]);
                if (d < best->cost) *best = (Choice){c, d};
            }
            cost += best->cost, members[best->which]++;
            for (int f = 0; f < FEATURES; f++) sum[best->which][f] += point->x[f];
        }
        for (int c = 0; c < CLUSTERS; c++)
            for (int f = 0; f < FEATURES && members[c]; f++) centre[c][f] = sum[c][f] / members[c];
    }
    return cost;
}

static double impurity(const long *of) {
    double all = of[0] + of[1];
    return all ? of[0] * of[1] / all : 0;
}

/* The split of a node's points that leaves the least impurity. */
static Split best_split(long bins[FEATURES][BINS][2]) {
    Split best = {0, 0};
    double least = INFINITY;
    for (int f = 0; f < FEATURES; f++) {
        long low[2] = {0, 0}, high[2] = {0, 0};
        for (int b = 0; b < BINS; b++) high[0] += bins[f][b][0], high[1] += bins[f][b][1];
        for (int b = 0; b < BINS; b++) {
            for (int label = 0; label < 2; label++)
                low[label] += bins[f][b][label], high[label] -= bins[f][b][label];
            double left = impurity(low) + impurity(high);
            if (left < least) least = left, best = (Split){f, b};
        }
    }
    return best;
}

static double tree(long count, long passes) {
    static long bins[NODES][FEATURES][BINS][2];
    static Split split[NODES];
    double wrong = 0;
    for (long pass = 0; pass < passes && pass < DEPTH; pass++) {
        memset(bins, 0, sizeof bins);
        for (long p = 0; p < count; p++) {
            Choice *place = SHORT_LIVED(Choice);
            const Point *point = point_at(p);
            place->which = 1;
            for (long level = 0; level < pass; level++) {
                const Split *by = &split[place->which];
                place->which = 2 * place->which + (point->x[by->feature] * BINS > by->bin + 1);
            }
            for (int f = 0; f < FEATURES; f++) bins[place->which][f][(int)(point->x[f] * BINS)][point->label]++;
        }
        wrong = 0;
        for (int node = 1 << pass; node < 2 << pass; node++) {
            long of[2] = {0, 0};
            for (int b = 0; b < BINS; b++) of[0] += bins[node][0][b][0], of[1] += bins[node][0][b][1];
            wrong += of[0] < of[1] ? of[0] : of[1];
            split[node] = best_split(bins[node]);
        }
    }
    return wrong;
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    int clusters = !strcmp(arguments[1], "kmeans");
    long number = atol(arguments[2]), passes = atol(arguments[3]);
    if (number < CLUSTERS) return 2;
    begin_objects(&points, number);
    for (long p = 0; p < number; p++) {
        Point *point = make(&points, p, sizeof *point);
        for (int f = 0; f < FEATURES; f++) point->x[f] = uniform();
        if (clusters)
            for (int f = 0; f < FEATURES; f++) point->x[f] = 0.1 * point->x[f] + (p * (f + 7) % 10);
        else
            point->label = point->x[3] < 0.5 ? point->x[7] < 0.3 : point->x[11] < 0.6 && point->x[2] < 0.8;
    }
    printf("%.17g\n", (clusters ? kmeans : tree)(number, passes));
    return 0;
}
