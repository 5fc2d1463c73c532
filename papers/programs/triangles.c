/* Counts triangles: for each edge, of the neighbours of one end those that the other's set of
   neighbours holds. Graphs as in random.h. Usage: triangles SCALE */
#include <stdio.h>

#include "objects.h"

enum { DEGREE = 8 };
typedef struct { uint32_t capacity, size; } Set;
typedef struct { uint32_t from, to; } Edge;

static Records edge;
/* Of each vertex's set. */
static Objects keys;
static Set *sets;

/* The place of a key, or of the gap where it would go; keys are vertices plus one. */
static uint64_t *find(uint32_t vertex, uint64_t key) {
    uint64_t *of = object(&keys, vertex);
    uint32_t mask = sets[vertex].capacity - 1, place = key * 2654435761u & mask;
    while (of[place] && of[place] != key) place = (place + 1) & mask;
    return &of[place];
}

static void insert(uint32_t vertex, uint64_t key) {
    uint64_t *place = find(vertex, key);
    if (!*place) *place = key, sets[vertex].size++;
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int scale = atoi(arguments[1]);
    if (scale < 4 || scale > 26) return 2;
    long vertices = 1L << scale, edges = DEGREE * vertices, triangles = 0;
    begin_records(&edge, edges, sizeof(Edge)), begin_objects(&keys, vertices);
    sets = array(vertices, sizeof *sets);
    for (long e = 0; e < edges; e++) {
        Edge *made = renew_empty(&edge, e);
        random_edge(scale, &made->from, &made->to);
        sets[made->from].size++, sets[made->to].size++;
    }
    for (long v = 0; v < vertices; v++) {
        Set *set = &sets[v];
        for (set->capacity = 4; set->capacity * 7 < set->size * 10;) set->capacity *= 2;
        make(&keys, v, set->capacity * sizeof(uint64_t)), set->size = 0;
    }
    for (long e = 0; e < edges; e++) {
        const Edge *of = record(&edge, e);
        insert(of->from, of->to + 1);
        insert(of->to, of->from + 1);
    }
    for (long e = 0; e < edges; e++) {
        long *found = SHORT_LIVED(long);
        const Edge *of = record(&edge, e);
        uint32_t small = of->from, large = of->to;
        if (sets[small].size > sets[large].size) small = of->to, large = of->from;
        const uint64_t *key = object(&keys, small);
        for (uint32_t place = 0; place < sets[small].capacity; place++)
            *found += key[place] && *find(large, key[place]);
        triangles += *found;
    }
    printf("%ld\n", triangles);
    return 0;
}
