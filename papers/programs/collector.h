/* A heap with a collector that moves objects, as HotSpot's serial one does and with its defaults: new objects go to
   eden, what lives is copied to one of two survivor spaces and later to the old generation, and that is collected by
   marking and sliding. The heap has $HEAP_MB megabytes, all of them from the start.

   Oracle: Java SE 8 HotSpot Virtual Machine Garbage Collection Tuning Guide; OpenJDK 8, defNewGeneration.cpp,
   ageTable.cpp and genMarkSweep.cpp. Not here: card tables (what of the old generation refers to young objects is
   listed by place), threads, and that a full collection leaves some dead objects at the bottom where they are.

   The address of an object holds until the next one is allocated. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(begin, size) ((void)(begin), (void)(size))
#endif

/* NewRatio, SurvivorRatio, MaxTenuringThreshold; the share of a survivor space that is to be full at most is a half
   (TargetSurvivorRatio). */
enum { NEW_RATIO = 2, SURVIVOR_RATIO = 8, MAX_AGE = 15, MAX_ROOTS = 16 };
/* Of a header's mark: the object has moved to the place in the other bits; it lives, and will move there. Without
   these, the mark is the object's age times AGE. */
enum { MOVED = 1, LIVES = 2, FLAGS = 3, AGE = 4 };

/* Lies before an object, whose first `references` words refer to other objects. */
typedef struct { uintptr_t mark; uint32_t references, words; } Header;
typedef struct { char *begin, *top, *end; } Space;
typedef struct { void **items; long count, room; } Stack;

static Space old, eden, from, to;
/* Places of references: variables of the program, and words of old objects that refer to young ones. */
static void **roots[MAX_ROOTS];
static int root_count;
static Stack remembered;
/* Objects that did not fit when they were to be moved. */
static Stack stuck;
/* Bytes that were copied to a survivor space by the age that they reached, and the age from which objects are promoted. */
static long aged[MAX_AGE + 1];
static int tenured = MAX_AGE;
static struct { long young, full, allocated, survived, promoted, slid; double promoted_mean; } counts;

static void fail(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(1);
}

static void push(Stack *stack, void *item) {
    if (stack->count == stack->room) {
        stack->room = stack->room ? 2 * stack->room : 1024;
        if (!(stack->items = realloc(stack->items, stack->room * sizeof *stack->items))) fail("no memory for a stack");
    }
    stack->items[stack->count++] = item;
}

static Header *header(void *object) { return (Header *)object - 1; }
static void **references(Header *head) { return (void **)(head + 1); }
static long size_of(const Header *head) { return sizeof *head + 8L * head->words; }
/* An object of no words at the end of a space has its address there. */
static int within(const Space *space, const void *object) {
    return (char *)object > space->begin && (char *)object <= space->top;
}
static int is_young(const void *object) { return within(&eden, object) || within(&from, object) || within(&to, object); }

static void empty(Space *space) {
    space->top = space->begin;
    ASAN_POISON_MEMORY_REGION(space->begin, space->end - space->begin);
}

/* Takes memory from a space; NULL if it has not as much. */
static Header *take(Space *space, long size) {
    if (space->end - space->top < size) return NULL;
    Header *taken = (Header *)space->top;
    ASAN_UNPOISON_MEMORY_REGION(taken, size);
    space->top += size;
    return taken;
}

static char *lay_out(Space *space, char *begin, long size) {
    *space = (Space){begin, begin, begin + (size & -4096L)};
    empty(space);
    return space->end;
}

__attribute__((constructor)) static void make_heap(void) {
    const char *megabytes = getenv("HEAP_MB");
    long size = megabytes ? atol(megabytes) << 20 : 0, young = size / (NEW_RATIO + 1), survivor = young / (SURVIVOR_RATIO + 2);
    if (size <= 0) fail("HEAP_MB is to say how many megabytes the heap has");
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail("no memory for the heap");
    char *end = lay_out(&old, memory, size - young);
    end = lay_out(&eden, end, young - 2 * survivor);
    lay_out(&to, lay_out(&from, end, survivor), survivor);
}

__attribute__((destructor)) static void say_counts(void) {
    fprintf(stderr, "%ld young collections, %ld full; bytes allocated %ld, survived %ld, promoted %ld, slid %ld\n",
            counts.young, counts.full, counts.allocated, counts.survived, counts.promoted, counts.slid);
}

/* Has the collector know a variable that refers to an object, for as long as the program runs. */
static void add_root(void *variable) {
    if (root_count == MAX_ROOTS) fail("too many roots");
    roots[root_count++] = variable;
}

/* Moves a young object: to a survivor space until it is old enough, or there is no room; then to the old generation. */
static void move(Header *head) {
    long size = size_of(head);
    int age = head->mark / AGE;
    Header *copy = age < tenured ? take(&to, size) : NULL;
    if (copy) {
        age += age < MAX_AGE;
        aged[age] += size, counts.survived += size;
    } else if ((copy = take(&old, size))) {
        age = 0, counts.promoted += size;
    } else {
        push(&stuck, head);
        copy = head;
    }
    if (copy != head) memcpy(copy, head, size), copy->mark = age * AGE;
    head->mark = (uintptr_t)(copy + 1) | MOVED;
}

/* Has a reference to a young object refer to where that is now, and moves it first. */
static void follow(void **reference) {
    if (!within(&eden, *reference) && !within(&from, *reference)) return;
    Header *head = header(*reference);
    if (!(head->mark & MOVED)) move(head);
    *reference = (void *)(head->mark & ~(uintptr_t)FLAGS);
}

static Header *follow_all(Header *head, int is_old) {
    for (void **reference = references(head), **end = reference + head->references; reference < end; reference++) {
        follow(reference);
        if (is_old && is_young(*reference)) push(&remembered, reference);
    }
    return (Header *)((char *)head + size_of(head));
}

static void follow_remembered(void) {
    long kept = 0;
    for (long r = 0; r < remembered.count; r++) {
        void **reference = remembered.items[r];
        follow(reference);
        if (is_young(*reference)) remembered.items[kept++] = reference;
    }
    remembered.count = kept;
}

/* The age up to which what survived fills half of a survivor space. */
static int tenuring_age(void) {
    long total = 0;
    int age = 1;
    while (age < MAX_AGE && (total += aged[age]) <= (to.end - to.begin) / 2) age++;
    return age;
}

static void collect_all(void);

/* Copies what lives of the young generation (Cheney's algorithm). What no space has room for stays, and all is
   collected then. */
static void collect_young(void) {
    long used = eden.top - eden.begin + from.top - from.begin, room = old.end - old.top, before = counts.promoted;
    if (room < used && room < counts.promoted_mean) {
        collect_all();
        return;
    }
    memset(aged, 0, sizeof aged);
    Header *survived = (Header *)to.begin, *promoted = (Header *)old.top;
    long stayed = 0;
    for (int r = 0; r < root_count; r++) follow(roots[r]);
    follow_remembered();
    for (;;)
        if ((char *)survived < to.top) survived = follow_all(survived, 0);
        else if ((char *)promoted < old.top) promoted = follow_all(promoted, 1);
        else if (stayed < stuck.count) follow_all(stuck.items[stayed++], 0);
        else break;
    counts.young++;
    counts.promoted_mean += (counts.promoted - before - counts.promoted_mean) / 4;
    tenured = tenuring_age();
    if (stuck.count) {
        stuck.count = 0;
        collect_all();
        return;
    }
    empty(&eden), empty(&from);
    Space emptied = from;
    from = to, to = emptied;
}

/* Marks an object and what it refers to, depth first; the stack holds objects and how far each is done. */
static void mark(void *object) {
    static Stack path;
    for (;;) {
        if (object && !(header(object)->mark & LIVES)) {
            header(object)->mark = LIVES;
            push(&path, object), push(&path, 0);
        }
        if (!path.count) return;
        Header *head = header(path.items[path.count - 2]);
        uintptr_t next = (uintptr_t)path.items[path.count - 1];
        if (next == head->references) path.count -= 2, object = NULL;
        else path.items[path.count - 1] = (void *)(next + 1), object = references(head)[next];
    }
}

/* What is done with each object that lives, in the order of the heap. */
typedef void Visit(Header *head);

static void each_living(Visit *visit) {
    Space *spaces[] = {&old, &eden, &from, &to};
    for (int s = 0; s < 4; s++)
        for (char *at = spaces[s]->begin, *next; at < spaces[s]->top; at = next) {
            next = at + size_of((Header *)at);
            if (((Header *)at)->mark & LIVES) visit((Header *)at);
        }
}

/* The end of what has been given a place. */
static char *placed;

static void give_place(Header *head) {
    head->mark = (uintptr_t)(placed + sizeof *head) | LIVES;
    placed += size_of(head);
    if (placed > old.end) fail("the heap is too small");
}

static void redirect(void **reference) {
    if (*reference) *reference = (void *)(header(*reference)->mark & ~(uintptr_t)FLAGS);
}

static void redirect_all(Header *head) {
    for (uint32_t r = 0; r < head->references; r++) redirect(references(head) + r);
}

static void slide(Header *head) {
    long size = size_of(head);
    Header *place = header((void *)(head->mark & ~(uintptr_t)FLAGS));
    ASAN_UNPOISON_MEMORY_REGION(place, size);
    if (place != head) memmove(place, head, size), counts.slid += size;
    place->mark = 0;
}

/* Slides what lives, young and old, to the beginning of the old generation (the LISP 2 algorithm). */
static void collect_all(void) {
    for (int r = 0; r < root_count; r++) mark(*roots[r]);
    placed = old.begin;
    each_living(give_place);
    for (int r = 0; r < root_count; r++) redirect(roots[r]);
    each_living(redirect_all);
    each_living(slide);
    old.top = placed;
    ASAN_POISON_MEMORY_REGION(old.top, old.end - old.top);
    empty(&eden), empty(&from), empty(&to);
    remembered.count = 0;
    counts.full++;
}

/* Memory for an object: of eden, or of the old generation if it is larger than eden. */
static Header *room_for(long size) {
    Space *space = size > eden.end - eden.begin ? &old : &eden;
    Header *head = take(space, size);
    if (head) return head;
    if (space == &eden) collect_young();
    if ((head = take(space, size))) return head;
    collect_all();
    if (!(head = take(space, size))) fail("the heap is too small");
    return head;
}

/* Makes an object of zeros, whose first words are so many references. */
static void *allocate(uint32_t reference_count, long bytes) {
#ifdef COLLECT_ALWAYS
    if (counts.allocated % 3) collect_young();
    else collect_all();
#endif
    uint32_t words = (bytes + 7) / 8;
    long size = sizeof(Header) + 8L * words;
    Header *head = room_for(size);
    memset(head, 0, size);
    head->references = reference_count, head->words = words;
    counts.allocated += size;
    return head + 1;
}

/* Has a word of an object refer to another object. */
static void refer(void *object, long word, void *to_object) {
    void **reference = (void **)object + word;
    *reference = to_object;
    if (!is_young(object) && is_young(to_object)) push(&remembered, reference);
}
