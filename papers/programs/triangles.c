/* Counts triangles: for each edge, of the neighbours of one end those that the other's set of
   neighbours holds. Graphs as in random.h. Usage: triangles SCALE */
#include <stdio.h>

#include "random.h"

enum { DEGREE = 8 };
typedef struct { uint32_t capacity, size; uint64_t *keys; } Set;
typedef struct { uint32_t from, to; } Edge;

/* The place of a key, or of the gap where it would go; keys are vertices plus one. */
static uint64_t *find(Set *set, uint64_t key) {
    uint32_t place = key * 2654435761u & (set->capacity - 1);
    while (set->keys[place] && set->keys[place] != key) place = (place + 1) & (set->capacity - 1);
    return &set->keys[place];
}

static void insert(Set *set, uint64_t key) {
    uint64_t *place = find(set, key);
    if (!*place) *place = key, set->size++;
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int scale = atoi(arguments[1]);
    if (scale < 4 || scale > 26) return 2;
    long vertices = 1L << scale, edges = DEGREE * vertices, triangles = 0;
    Edge *edge = array(edges, sizeof *edge);
    Set *sets = array(vertices, sizeof *sets);
    for (long e = 0; e < edges; e++) {
        random_edge(scale, &edge[e].from, &edge[e].to);
        sets[edge[e].from].size++, sets[edge[e].to].size++;
    }
    for (long v = 0; v < vertices; v++) {
        Set *set = &sets[v];
        for (set->capacity = 4; set->capacity * 7 < set->size * 10;) set->capacity *= 2;
        set->keys = array(set->capacity, sizeof *set->keys), set->size = 0;
    }
    for (long e = 0; e < edges; e++) {
        insert(&sets[edge[e].from], edge[e].to + 1);
        insert(&sets[edge[e].to], edge[e].from + 1);
    }
    for (long e = 0; e < edges; e++) {
        Set *small = &sets[edge[e].from], *large = &sets[edge[e].to];
        if (small->size > large->size) small = large, large = &sets[edge[e].from];
        for (uint32_t place = 0; place < small->capacity; place++)
            triangles += small->keys[place] && *find(large, small->keys[place]);
    }
    printf("%ld\n", triangles);
    return 0;
}
