/* Programs on graphs in supersteps: every vertex with news sends along its edges, and every vertex
   makes its new state, beside the old one, of what it is sent.
   Usage: pregel components|strong|distances|ranks SCALE SUPERSTEPS */
#include <stdio.h>
#include <string.h>

#include "random.h"

enum { DEGREE = 16, LANDMARKS = 4, NOWHERE = 1 << 30 };
typedef struct { uint32_t from, to; uint64_t attribute; } Edge;
/* As large as a boxed tuple with its header. */
typedef struct { uint32_t colour, done; int distance[LANDMARKS]; double rank; uint32_t degree, news; } Vertex;
typedef struct { uint32_t colour, any; int distance[LANDMARKS]; double rank; } Message;

static Edge *edge;
static Vertex *vertex, *fresh;
static Message *inbox;
static long *start, vertices, edges;

/* Edges to random vertices, a vertex's own together: two, or twice that at half the odds, and so on. */
static void make_graph(int scale) {
    vertices = 1L << scale;
    edge = array(DEGREE * vertices, sizeof *edge), start = array(vertices + 1, sizeof *start);
    vertex = array(vertices, sizeof *vertex), fresh = array(vertices, sizeof *fresh);
    inbox = array(vertices, sizeof *inbox);
    for (long v = 0; v < vertices; v++) {
        long degree = 2L << __builtin_ctzl(random_bits() >> 16 | 1L << 10);
        for (start[v] = edges; degree-- > 0 && edges < DEGREE * vertices; edges++)
            edge[edges] = (Edge){v, random_bits() >> (64 - scale), edges};
    }
    start[vertices] = edges;
    for (long v = 0; v < vertices; v++) {
        vertex[v] = (Vertex){.colour = v, .degree = start[v + 1] - start[v], .rank = 1, .news = 1};
        for (int mark = 0; mark < LANDMARKS; mark++) vertex[v].distance[mark] = v == mark ? 0 : NOWHERE;
    }
}

/* A message from a vertex to a neighbour. */
typedef void Send(const Vertex *from, Message *to);
/* The new state of a vertex; whether it is news. */
typedef int Receive(Vertex *vertex, const Message *message);

/* A superstep; returns how many vertices have news. `forward` sends along edges, `backward` against
   them. */
static long superstep(Send *send, Receive *receive, int forward, int backward) {
    long news = 0;
    memset(inbox, 0, vertices * sizeof *inbox);
    for (long v = 0; v < vertices; v++)
        for (long e = start[v]; e < start[v + 1]; e++) {
            if (!backward && !vertex[v].news) break;
            const Vertex *to = &vertex[edge[e].to];
            if (forward && vertex[v].news) send(&vertex[v], &inbox[edge[e].to]);
            if (backward && to->news) send(to, &inbox[v]);
        }
    for (long v = 0; v < vertices; v++) {
        fresh[v] = vertex[v];
        news += fresh[v].news = inbox[v].any && receive(&fresh[v], &inbox[v]);
    }
    Vertex *old = vertex;
    vertex = fresh, fresh = old;
    return news;
}

static void send_colour(const Vertex *from, Message *to) {
    if (from->done) return;
    if (!to->any || from->colour < to->colour) to->colour = from->colour;
    to->any = 1;
}

static int receive_colour(Vertex *vertex, const Message *message) {
    if (vertex->done || message->colour >= vertex->colour) return 0;
    vertex->colour = message->colour;
    return 1;
}

/* Backwards, only within a colour: whether a root's colour comes back to a vertex. */
static void send_done(const Vertex *from, Message *to) {
    if (!to->any || from->colour < to->colour) to->colour = from->colour;
    to->any = 1;
}

static int receive_done(Vertex *vertex, const Message *message) {
    if (vertex->done || message->colour != vertex->colour) return 0;
    vertex->done = 1;
    return 1;
}

static void send_distance(const Vertex *from, Message *to) {
    for (int mark = 0; mark < LANDMARKS; mark++) {
        int hops = from->distance[mark] + 1;
        if (!to->any || hops < to->distance[mark]) to->distance[mark] = hops;
    }
    to->any = 1;
}

static int receive_distance(Vertex *vertex, const Message *message) {
    int news = 0;
    for (int mark = 0; mark < LANDMARKS; mark++)
        if (message->distance[mark] < vertex->distance[mark])
            vertex->distance[mark] = message->distance[mark], news = 1;
    return news;
}

static void send_rank(const Vertex *from, Message *to) {
    to->rank += from->rank / from->degree, to->any = 1;
}

static int receive_rank(Vertex *vertex, const Message *message) {
    vertex->rank = 0.15 + 0.85 * message->rank;
    return 1;
}

/* Strongly connected components: colours spread forwards, then whoever hears its own colour from
   behind belongs to that colour's component. */
static void strong(long steps) {
    while (steps > 0) {
        while (steps-- > 0 && superstep(send_colour, receive_colour, 1, 0)) continue;
        for (long v = 0; v < vertices; v++)
            if ((vertex[v].news = !vertex[v].done && vertex[v].colour == v)) vertex[v].done = 1;
        while (steps-- > 0 && superstep(send_done, receive_done, 0, 1)) continue;
        for (long v = 0; v < vertices; v++)
            if ((vertex[v].news = !vertex[v].done)) vertex[v].colour = v;
    }
}

int main(int count, char **arguments) {
    if (count != 4) return 2;
    const char *what = arguments[1];
    int scale = atoi(arguments[2]);
    long steps = atol(arguments[3]);
    if (scale < 4 || scale > 26) return 2;
    make_graph(scale);
    if (!strcmp(what, "strong")) strong(steps);
    else
        while (steps-- > 0) {
            long news = !strcmp(what, "components") ? superstep(send_colour, receive_colour, 1, 1)
                      : !strcmp(what, "distances") ? superstep(send_distance, receive_distance, 0, 1)
                                                   : superstep(send_rank, receive_rank, 1, 0);
            if (!news) break;
        }
    double sum = 0;
    for (long v = 0; v < vertices; v++) sum += vertex[v].colour + vertex[v].rank + vertex[v].done;
    printf("%g\n", sum);
    return 0;
}
