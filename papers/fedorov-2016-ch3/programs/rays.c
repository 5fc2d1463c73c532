/* Ray tracing of spheres in a grid of cells, a ray with two reflections. Usage: rays SPHERES RAYS */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"

typedef struct {
    double x, y, z;
} Vector;

typedef struct {
    Vector centre, colour;
    double radius;
    /* The next sphere whose centre is in the same cell; -1: none. */
    int64_t next;
} Sphere;

static Sphere *spheres;
static int64_t *cells;
static long side;

static Vector along(Vector from, double distance, Vector to) {
    return (Vector){from.x + distance * to.x, from.y + distance * to.y, from.z + distance * to.z};
}

static double dot(Vector a, Vector b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

static Vector direction(void) {
    Vector any = {uniform() - 0.5, uniform() - 0.5, uniform() - 0.5};
    double size = sqrt(dot(any, any)) + 1e-9;
    return (Vector){any.x / size, any.y / size, any.z / size};
}

/* The number of a place's cell; -1 outside of all. */
static long cell(Vector at) {
    if (at.x < 0 || at.y < 0 || at.z < 0 || at.x >= side || at.y >= side || at.z >= side) return -1;
    return ((long)at.z * side + (long)at.y) * side + (long)at.x;
}

/* The sphere that a ray meets first, and where; NULL: none. Spheres reach into no other cell. */
static const Sphere *meet(Vector *from, Vector to) {
    for (Vector at = along(*from, 1e-6, to);; at = along(at, 0.3, to)) {
        long number = cell(at);
        if (number < 0) return NULL;
        const Sphere *nearest = NULL;
        double least = INFINITY;
        for (int64_t i = cells[number]; i >= 0; i = spheres[i].next) {
            Vector away = along(*from, -1, spheres[i].centre);
            double middle = -dot(away, to);
            double square = middle * middle - dot(away, away) + spheres[i].radius * spheres[i].radius;
            double distance = square < 0 ? -1 : middle - sqrt(square);
            if (distance > 1e-6 && distance < least) least = distance, nearest = &spheres[i];
        }
        if (nearest) {
            *from = along(*from, least, to);
            return nearest;
        }
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    long all = atol(arguments[1]), rays = atol(arguments[2]);
    side = (long)cbrt(all / 2.0) + 1;
    spheres = array(all, sizeof *spheres), cells = array(side * side * side, sizeof *cells);
    for (long i = 0; i < side * side * side; i++) cells[i] = -1;
    for (long i = 0; i < all; i++) {
        Sphere *of = &spheres[i];
        Vector corner = {random_bits() % side, random_bits() % side, random_bits() % side};
        of->radius = 0.1 + 0.15 * uniform();
        of->centre = along(corner, 1, (Vector){0.25 + 0.5 * uniform(), 0.25 + 0.5 * uniform(), 0.25 + 0.5 * uniform()});
        of->colour = (Vector){uniform(), uniform(), uniform()};
        long number = cell(corner);
        of->next = cells[number], cells[number] = i;
    }
    Vector light = {0, 0, 0};
    for (long ray = 0; ray < rays; ray++) {
        Vector from = {uniform() * side, uniform() * side, uniform() * side}, to = direction();
        for (int bounce = 0; bounce < 3; bounce++) {
            const Sphere *met = meet(&from, to);
            if (!met) break;
            light = along(light, 1, met->colour);
            Vector normal = along(from, -1, met->centre);
            to = along(to, -2 * dot(to, normal) / dot(normal, normal), normal);
        }
    }
    printf("%g %g %g\n", light.x, light.y, light.z);
}
