/* Counts what a program writes back, exactly: a breakpoint stands on every instruction that writes a
   cache line back, stores past the cache or is a fence, in the program and its libraries.

   Usage: count PROGRAM ARGUMENT...

   The program raises SIGUSR1 where counting begins and SIGUSR2 where it ends, as often as it likes;
   each time a line of JSON follows on standard output: cache lines (clwb, clflushopt, clflush), bytes
   stored past the cache (non-temporal stores), fences (sfence, mfence). Only the program's first thread
   is looked at, and there must be no other after the first SIGUSR1. x86-64 only; needs objdump, which
   says where instructions begin. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BREAKPOINT = 0xcc };

typedef struct { uint64_t lines, streamed_bytes, fences; } Counts;

/* An instruction: where it is, how long, its first byte, and what it adds. */
typedef struct { uint64_t address, length; uint8_t byte; Counts adds; } Place;

static Place *places;
static size_t number;
static pid_t child;
/* The program's memory, as a file. */
static int memory;

static void fail(const char *what) {
    fprintf(stderr, "count: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* What an instruction adds, from objdump's words for it; nothing for most. */
static Counts adds(const char *text) {
    if (!strncmp(text, "clwb", 4) || !strncmp(text, "clflush", 7)) return (Counts){.lines = 1};
    if (!strncmp(text, "sfence", 6) || !strncmp(text, "mfence", 6)) return (Counts){.fences = 1};
    const char *store = strstr(text, "movnt");
    /* movntdqa is a load. */
    if (!store || store > text + 1 || !strncmp(store, "movntdqa", 8)) return (Counts){0};
    uint64_t bytes = strstr(text, "%zmm") ? 64 : strstr(text, "%ymm") ? 32 : strstr(text, "%xmm") ? 16
                   : strstr(text, "%e") ? 4 : 8;
    return (Counts){.streamed_bytes = bytes};
}

/* Adds the places of a file whose code lies `bias` above the addresses that the file says. */
static void look_through(const char *path, uint64_t bias) {
    char command[4200], line[512];
    snprintf(command, sizeof command, "objdump -d --insn-width=16 '%s'", path);
    FILE *dump = popen(command, "r");
    if (!dump) fail("objdump");
    while (fgets(line, sizeof line, dump)) {
        char *bytes = strchr(line, '\t'), *text = bytes ? strchr(bytes + 1, '\t') : NULL;
        Counts found = text ? adds(text + 1) : (Counts){0};
        if (!found.lines && !found.streamed_bytes && !found.fences) continue;
        uint64_t length = 0;
        for (char *at = bytes + 1, *after; strtoul(at, &after, 16), after != at && after <= text; at = after)
            length++;
        places = realloc(places, (number + 1) * sizeof *places);
        if (!places) fail("memory");
        places[number++] = (Place){strtoull(line, NULL, 16) + bias, length, 0, found};
    }
    if (pclose(dump)) fail("objdump");
}

/* How far above the file's own addresses its code lies that is mapped at `start` from `offset`. */
static uint64_t bias_of(const char *path, uint64_t start, uint64_t offset) {
    Elf64_Ehdr header;
    Elf64_Phdr part;
    FILE *file = fopen(path, "r");
    if (!file || fread(&header, sizeof header, 1, file) != 1) fail(path);
    for (int i = 0; i < header.e_phnum; i++) {
        fseek(file, header.e_phoff + i * sizeof part, SEEK_SET);
        if (fread(&part, sizeof part, 1, file) != 1) fail(path);
        if (part.p_type == PT_LOAD && part.p_flags & PF_X && part.p_offset / 4096 == offset / 4096) {
            fclose(file);
            return start - part.p_vaddr / 4096 * 4096;
        }
    }
    fprintf(stderr, "count: %s has no code where it is mapped\n", path);
    exit(1);
}

static int by_address(const void *one, const void *other) {
    uint64_t a = ((const Place *)one)->address, b = ((const Place *)other)->address;
    return (a > b) - (a < b);
}

static void write_byte(const Place *place, uint8_t byte) {
    if (pwrite(memory, &byte, 1, place->address) != 1) fail("cannot set a breakpoint");
}

static void plant_all(void) {
    char name[64], line[4200], path[4100], rights[8];
    uint64_t start, offset;
    snprintf(name, sizeof name, "/proc/%d/maps", child);
    FILE *maps = fopen(name, "r");
    if (!maps) fail(name);
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%*x %7s %lx %*s %*s %4096s", &start, rights, &offset, path) == 4 &&
            rights[2] == 'x' && path[0] == '/')
            look_through(path, bias_of(path, start, offset));
    fclose(maps);
    qsort(places, number, sizeof *places, by_address);
    snprintf(name, sizeof name, "/proc/%d/mem", child);
    if ((memory = open(name, O_RDWR)) < 0) fail(name);
    for (size_t i = 0; i < number; i++) {
        if (pread(memory, &places[i].byte, 1, places[i].address) != 1) fail("cannot read the code");
        write_byte(&places[i], BREAKPOINT);
    }
}

/* Lets the program go on, and waits until it stops: by which signal. */
static int resumed(enum __ptrace_request how, int signal) {
    int status;
    if (ptrace(how, child, 0, signal)) fail("cannot resume the program");
    if (waitpid(child, &status, 0) < 0) fail("cannot wait for the program");
    if (WIFEXITED(status)) exit(WEXITSTATUS(status));
    if (WIFSIGNALED(status)) exit(128 + WTERMSIG(status));
    return WSTOPSIG(status);
}

/* Behind a breakpoint: carries its instruction out. To write back or to wait changes nothing that the
   program can see, so such an instruction is passed over; a store is made. */
static Counts passed(void) {
    size_t rip = offsetof(struct user_regs_struct, rip);
    Place wanted = {.address = ptrace(PTRACE_PEEKUSER, child, rip, 0) - 1};
    Place *place = bsearch(&wanted, places, number, sizeof *places, by_address);
    if (!place) fail("the program stops where no breakpoint is");
    int store = place->adds.streamed_bytes > 0;
    if (ptrace(PTRACE_POKEUSER, child, rip, place->address + (store ? 0 : place->length)))
        fail("cannot pass a breakpoint");
    if (store) {
        write_byte(place, place->byte);
        if (resumed(PTRACE_SINGLESTEP, 0) != SIGTRAP) fail("a store was interrupted");
        write_byte(place, BREAKPOINT);
    }
    return place->adds;
}

static void tell(Counts counts) {
    printf("{\"lines\": %lu, \"streamed_bytes\": %lu, \"fences\": %lu}\n", counts.lines,
           counts.streamed_bytes, counts.fences);
    fflush(stdout);
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    child = fork();
    if (!child) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0)) fail("tracing is not allowed here");
        execvp(arguments[1], arguments + 1);
        fail(arguments[1]);
    }
    if (child < 0 || waitpid(child, NULL, 0) < 0) fail("cannot start the program");
    ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_EXITKILL);
    Counts counts = {0};
    for (int signal = 0;;) {
        signal = resumed(PTRACE_CONT, signal);
        if (signal == SIGTRAP) {
            Counts more = passed();
            counts.lines += more.lines, counts.fences += more.fences;
            counts.streamed_bytes += more.streamed_bytes;
        } else if (signal == SIGUSR1) {
            if (!memory) plant_all();
            counts = (Counts){0};
        } else if (signal == SIGUSR2) {
            tell(counts);
        } else {
            continue;
        }
        signal = 0;
    }
}
