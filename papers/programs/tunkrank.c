/* TunkRank: how many will read a message of each of 2^SCALE people, if a reader passes it on with
   probability 1/2. The follower graph is a list of edges and has few popular people.
   Usage: tunkrank SCALE PASSES SEED */
#include <stdio.h>

#include "random.h"

enum { FOLLOWS = 8 };
typedef struct { uint32_t reader, author; } Edge;
typedef struct { double influence, next; uint64_t follows, name[5]; } Person;

int main(int count, char **arguments) {
    if (count != 4) return 2;
    int scale = atoi(arguments[1]);
    if (scale < 4 || scale > 26) return 2;
    long room = 1L << scale, edges = FOLLOWS * room, passes = atol(arguments[2]), people = 0;
    state += strtoul(arguments[3], NULL, 10);
    Edge *edge = array(edges, sizeof *edge);
    for (long e = 0; e < edges; e++) random_edge(scale, &edge[e].reader, &edge[e].author);
    for (long e = 0; e < edges; e++) {
        uint32_t last = edge[e].reader > edge[e].author ? edge[e].reader : edge[e].author;
        people = people > last + 1L ? people : last + 1L;
    }
    Person *person = array(people, sizeof *person);
    for (long e = 0; e < edges; e++) person[edge[e].reader].follows++;
    for (long pass = 0; pass < passes; pass++) {
        for (long e = 0; e < edges; e++) {
            const Person *reader = &person[edge[e].reader];
            person[edge[e].author].next += (1 + 0.5 * reader->influence) / reader->follows;
        }
        for (long p = 0; p < people; p++) person[p].influence = person[p].next, person[p].next = 0;
    }
    double most = 0;
    for (long p = 0; p < people; p++) most = person[p].influence > most ? person[p].influence : most;
    printf("%g\n", most);
    return 0;
}
