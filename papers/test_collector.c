/* Makes, links and drops objects at random on the heap of collector.h, beside a copy in arrays: each live object is to
   hold what the copy has. Usage: test_collector SEED STEPS */
#include "collector.h"
#include "random.h"

/* Objects of up to FAN references and TAIL words; all that a program may name are at one of SLOTS places. */
enum { SLOTS = 3000, FAN = 4, TAIL = 40 };
typedef struct { int used, references, words; int to[FAN]; uint64_t word[TAIL]; } Copy;

/* By place; what an object refers to are places, and it lives as long as its own place has it. */
static Copy copies[SLOTS];
static void **places;

static void check(const char *what, int holds) {
    if (holds) return;
    printf("%s\n", what);
    exit(1);
}

static void make_at(int place) {
    Copy *copy = &copies[place];
    *copy = (Copy){.used = 1, .references = random_bits() % (FAN + 1), .words = random_bits() % TAIL};
    /* A few are large. */
    if (random_bits() % 300 == 0) copy->words = TAIL;
    long padding = copy->words == TAIL ? 30000 : 0;
    void **made = allocate(copy->references, 8 * (copy->references + copy->words + padding));
    for (int r = 0; r < copy->references; r++) copy->to[r] = -1, check("not of zeros", !made[r]);
    for (int w = 0; w < copy->words; w++) {
        check("not of zeros", !made[copy->references + w]);
        made[copy->references + w] = (void *)(copy->word[w] = random_bits());
    }
    refer(places, place, made);
}

/* Objects that others refer to are made anew only with these: an old one would live on, which the copy does not know. */
static void drop(int place) {
    for (int s = 0; s < SLOTS; s++)
        for (int r = 0; r < copies[s].references; r++)
            if (copies[s].used && copies[s].to[r] == place) {
                copies[s].to[r] = -1;
                refer(places[s], r, NULL);
            }
    copies[place].used = 0;
    refer(places, place, NULL);
}

static void link_at(int from_place, int to_place) {
    Copy *copy = &copies[from_place];
    if (!copy->used || !copy->references || !copies[to_place].used) return;
    int r = random_bits() % copy->references;
    copy->to[r] = to_place;
    refer(places[from_place], r, places[to_place]);
}

static void compare(void) {
    for (int s = 0; s < SLOTS; s++) {
        const Copy *copy = &copies[s];
        void **object = places[s];
        check("an object is there or is not", !object == !copy->used);
        if (!object) continue;
        check("references or words", header(object)->references == (uint32_t)copy->references);
        for (int r = 0; r < copy->references; r++)
            check("a reference", object[r] == (copy->to[r] < 0 ? NULL : places[copy->to[r]]));
        for (int w = 0; w < copy->words; w++)
            check("a word", (uint64_t)object[copy->references + w] == copy->word[w]);
    }
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    state += strtoul(arguments[1], NULL, 10) * 7919;
    add_root(&places);
    places = allocate(SLOTS, SLOTS * sizeof *places);
    for (long step = 0, steps = atol(arguments[2]); step < steps; step++) {
        if (step % 40000 == 0)
            check("large objects are old", within(&old, allocate(0, eden.end - eden.begin)));
        /* Some places change all the time, and some hardly ever. */
        int place = random_bits() % (random_bits() % 4 ? SLOTS / 20 : SLOTS);
        if (copies[place].used && random_bits() % 2) link_at(place, random_bits() % SLOTS);
        else {
            if (copies[place].used) drop(place);
            make_at(place);
        }
        if (step % 2000 == 0) compare();
    }
    compare();
    return 0;
}
