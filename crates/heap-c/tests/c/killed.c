/* A process that is killed between and within transactions over two maps and a queue: of each of them
 * all is there, or nothing. */

#define _POSIX_C_SOURCE 200809L

#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Keys that are there at the same time. */
#define KEPT 50

struct place {
    nvm_hash *hash;
    nvm_tree *tree;
    nvm_queue *queue;
    uint64_t number;
    /* Where to say so, and stop, before the last change; none if 0. */
    int stop;
};

/* Adds a number everywhere, and removes the oldest one. */
static int step(nvm_heap *heap, void *argument)
{
    (void)heap;
    struct place *place = argument;
    uint64_t number = place->number, oldest;
    size_t len;
    int status;
    if ((status = nvm_hash_put(place->hash, &number, sizeof number, &number, sizeof number)) ||
        (status = nvm_tree_put(place->tree, &number, sizeof number, &number, sizeof number)) ||
        (status = nvm_queue_push(place->queue, &number, sizeof number)))
        return status;
    if (place->stop && number >= KEPT) {
        expect(write(place->stop, &number, sizeof number) == sizeof number);
        pause();
    }
    if (number < KEPT)
        return NVM_OK;
    if ((status = nvm_queue_pop(place->queue, &oldest, sizeof oldest, &len)) ||
        (status = nvm_hash_remove(place->hash, &oldest, sizeof oldest)))
        return status;
    return nvm_tree_remove(place->tree, &oldest, sizeof oldest);
}

static nvm_heap *open_all(const char *pool, struct place *place)
{
    nvm_heap *heap = nvm_open(pool);
    place->hash = nvm_hash_open(heap, "hash");
    place->tree = nvm_tree_open(heap, "tree");
    place->queue = nvm_queue_open(heap, "queue");
    expect(heap && place->hash && place->tree && place->queue);
    return heap;
}

/* Adds numbers from one on for ever, and says each that is durable. */
static void add(const char *pool, uint64_t from, int said, int stop)
{
    struct place place = {.number = from, .stop = stop ? said : 0};
    nvm_heap *heap = open_all(pool, &place);
    for (;; place.number++) {
        expect(nvm_transaction(heap, step, &place) == NVM_OK);
        expect(write(said, &place.number, sizeof place.number) == sizeof place.number);
    }
}

/* Whether all three hold the same numbers, one after the other; says which comes next. */
static uint64_t check(const char *pool)
{
    struct place place;
    uint64_t in_hash, in_tree, in_queue, next = 0, number, value;
    size_t len;
    nvm_heap *heap = open_all(pool, &place);
    expect(nvm_hash_count(place.hash, &in_hash) == NVM_OK);
    expect(nvm_tree_count(place.tree, &in_tree) == NVM_OK);
    expect(nvm_queue_count(place.queue, &in_queue) == NVM_OK);
    expect(in_hash == in_queue && in_tree == in_queue && in_queue <= KEPT);
    /* The queue is emptied to see what is in it, which did not happen as it is aborted. */
    expect(nvm_begin(heap) == NVM_OK);
    for (uint64_t i = 0; i < in_queue; i++) {
        expect(nvm_queue_pop(place.queue, &number, sizeof number, &len) == NVM_OK);
        expect(i == 0 || number == next);
        expect(nvm_hash_get(place.hash, &number, sizeof number, &value, sizeof value, &len) == NVM_OK);
        expect(value == number);
        expect(nvm_tree_get(place.tree, &number, sizeof number, &value, sizeof value, &len) == NVM_OK);
        expect(value == number);
        next = number + 1;
    }
    expect(nvm_abort(heap) == NVM_OK && nvm_close(heap) == NVM_OK);
    return next;
}

/* Has a process add numbers, and kills it when it has said so many. */
static uint64_t kill_after(const char *pool, uint64_t from, int acknowledged, int stop)
{
    int pipes[2];
    expect(!pipe(pipes));
    pid_t child = fork();
    expect(child >= 0);
    if (!child) {
        close(pipes[0]);
        add(pool, from, pipes[1], stop);
    }
    close(pipes[1]);
    uint64_t said = 0;
    for (int i = 0; i < acknowledged; i++)
        expect(read(pipes[0], &said, sizeof said) == sizeof said);
    expect(!kill(child, SIGKILL));
    int status;
    expect(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
    expect(WTERMSIG(status) == SIGKILL);
    for (uint64_t more; read(pipes[0], &more, sizeof more) == sizeof more;)
        said = more;
    close(pipes[0]);
    return said;
}

int main(int words, char **word)
{
    (void)words;
    nvm_heap *heap = nvm_create(word[1], 8 << 20);
    expect(heap && nvm_close(heap) == NVM_OK);
    uint64_t next = check(word[1]);
    expect(next == 0);
    for (int acknowledged = 60; acknowledged < 90; acknowledged += 3) {
        uint64_t said = kill_after(word[1], next, acknowledged, 0);
        next = check(word[1]);
        /* What was said is there, and at most the one that came next. */
        expect(next == said + 1 || next == said + 2);
    }
    /* In the middle of one: nothing of it. */
    uint64_t said = kill_after(word[1], next, 1, 1);
    expect(said == next && check(word[1]) == next);
    return 0;
}
