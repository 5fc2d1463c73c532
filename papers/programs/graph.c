/* Breadth-first searches of a random graph with few popular vertices (R-MAT, as Graph500), its
   edges in compressed rows or in linked lists. Usage: graph csr|list SCALE SEARCHES */
#include <stdio.h>
#include <string.h>

#include "random.h"

enum { DEGREE = 16 };
typedef struct Edge { struct Edge *next; int64_t to; } Edge;

int main(int count, char **arguments) {
    if (count != 4) return 2;
    int in_lists = !strcmp(arguments[1], "list"), scale = atoi(arguments[2]);
    if (scale < 4 || scale > 28) return 2;
    long vertices = 1L << scale, edges = DEGREE * vertices, searches = atol(arguments[3]);
    long *start = NULL;
    uint32_t *ends = NULL, from, to;
    Edge **first = NULL;
    if (in_lists) {
        first = array(vertices, sizeof *first);
        Edge *pool = array(edges, sizeof *pool);
        for (long e = 0; e < edges; e++) {
            random_edge(scale, &from, &to);
            pool[e].to = to, pool[e].next = first[from], first[from] = &pool[e];
        }
    } else {
        start = array(vertices + 1, sizeof *start), ends = array(edges, sizeof *ends);
        uint64_t seed = state;
        for (long e = 0; e < edges; e++) random_edge(scale, &from, &to), start[from + 1]++;
        for (long v = 0; v < vertices; v++) start[v + 1] += start[v];
        state = seed;
        for (long e = 0; e < edges; e++) random_edge(scale, &from, &to), ends[start[from]++] = to;
        memmove(start + 1, start, vertices * sizeof *start), start[0] = 0;
    }
    int32_t *parent = array(vertices, sizeof *parent);
    uint32_t *queue = array(vertices, sizeof *queue);
    long reached = 0;
    for (long s = 0; s < searches; s++) {
        memset(parent, -1, vertices * sizeof *parent);
        long head = 0, tail = 0;
        random_edge(scale, &from, &to);
        parent[from] = from, queue[tail++] = from;
        while (head < tail) {
            uint32_t vertex = queue[head++];
#define VISIT(other) \
    if (parent[other] < 0) parent[other] = vertex, queue[tail++] = (other)
            if (in_lists)
                for (Edge *edge = first[vertex]; edge; edge = edge->next) { VISIT(edge->to); }
            else
                for (long e = start[vertex]; e < start[vertex + 1]; e++) { VISIT(ends[e]); }
        }
        reached += tail;
    }
    printf("%ld\n", reached);
    return 0;
}
