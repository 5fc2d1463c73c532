/* Programs on graphs in supersteps: every vertex with news sends along its edges, and every vertex
   makes its new state, beside the old one, of what it is sent.
   Usage: pregel components|strong|distances|ranks SCALE SUPERSTEPS */
#include <stdio.h>

#include "objects.h"

enum { DEGREE = 16, LANDMARKS = 4, NOWHERE = 1 << 30 };
typedef struct { uint32_t from, to; uint64_t attribute; } Edge;
/* As large as a boxed tuple with its header. */
typedef struct { uint32_t colour, done; int distance[LANDMARKS]; double rank; uint32_t degree, news; } Vertex;
typedef struct { uint32_t colour, any; int distance[LANDMARKS]; double rank; } Message;

static Records edge, vertex, fresh, inbox;
static long *start, vertices, edges;

static inline Edge *edge_at(long index) { return record(&edge, index); }
static inline Vertex *vertex_at(long index) { return record(&vertex, index); }

/* Edges to random vertices, a vertex's own together: two, or twice that at half the odds, and so on. */
static void make_graph(int scale) {
    vertices = 1L << scale;
    begin_records(&edge, DEGREE * vertices, sizeof(Edge)), start = array(vertices + 1, sizeof *start);
    begin_records(&vertex, vertices, sizeof(Vertex)), begin_records(&fresh, vertices, sizeof(Vertex));
    begin_records(&inbox, vertices, sizeof(Message));
    for (long v = 0; v < vertices; v++) {
        long degree = 2L << __builtin_ctzl(random_bits() >> 16 | 1L << 10);
        for (start[v] = edges; degree-- > 0 && edges < DEGREE * vertices; edges++)
            *(Edge *)renew_empty(&edge, edges) = (Edge){v, random_bits() >> (64 - scale), edges};
    }
    start[vertices] = edges;
    for (long v = 0; v < vertices; v++) {
        Vertex *state = renew_empty(&vertex, v);
        *state = (Vertex){.colour = v, .degree = start[v + 1] - start[v], .rank = 1, .news = 1};
        for (int mark = 0; mark < LANDMARKS; mark++) state->distance[mark] = v == mark ? 0 : NOWHERE;
    }
}

/* A message from a vertex to a neighbour. */
typedef void Send(const Vertex *from, Message *to);
/* The new state of a vertex; whether it is news. */
typedef int Receive(Vertex *vertex, const Message *message);

static void deliver(Send *send, long from, long to) {
    Message *message = renew(&inbox, to, &inbox, to);
    send(vertex_at(from), message);
}

/* A superstep; returns how many vertices have news. `forward` sends along edges, `backward` against
   them. */
static long superstep(Send *send, Receive *receive, int forward, int backward) {
    long news = 0;
    clear(&inbox);
    for (long v = 0; v < vertices; v++)
        for (long e = start[v]; e < start[v + 1]; e++) {
            if (!backward && !vertex_at(v)->news) break;
            uint32_t to = edge_at(e)->to;
            if (forward && vertex_at(v)->news) deliver(send, v, to);
            if (backward && vertex_at(to)->news) deliver(send, to, v);
        }
    begin_anew(&fresh);
    for (long v = 0; v < vertices; v++) {
        Vertex *state = renew(&fresh, v, &vertex, v);
        const Message *message = record(&inbox, v);
        news += state->news = message && message->any && receive(state, message);
    }
    Records last = vertex;
    vertex = fresh, fresh = last;
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
        for (long v = 0; v < vertices; v++) {
            Vertex *state = renew(&vertex, v, &vertex, v);
            if ((state->news = !state->done && state->colour == v)) state->done = 1;
        }
        while (steps-- > 0 && superstep(send_done, receive_done, 0, 1)) continue;
        for (long v = 0; v < vertices; v++) {
            Vertex *state = renew(&vertex, v, &vertex, v);
            if ((state->news = !state->done)) state->colour = v;
        }
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
    for (long v = 0; v < vertices; v++) {
        const Vertex *state = vertex_at(v);
        sum += (v % 7 + 1) * (state->colour + state->rank + state->done + state->distance[0]);
    }
    printf("%.17g\n", sum);
    return 0;
}
