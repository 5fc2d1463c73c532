/* A plug-in for qemu-user that counts the accesses of a program, and does nothing else with them:
 * what any plug-in that is told of each access costs at least. The interface is declared from
 * QEMU's documentation of qemu-plugin.h, version 1, whose header few systems have. */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

enum { NO_REGISTERS = 0, LOADS_AND_STORES = 3, THREADS = 1 << 10 };

typedef void on_access_function(unsigned thread, uint32_t info, uint64_t address, void *data);
typedef void on_block_function(uint64_t id, void *block);
typedef void on_exit_function(uint64_t id, void *data);

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, on_block_function *callback);
void qemu_plugin_register_atexit_cb(uint64_t id, on_exit_function *callback, void *data);
size_t qemu_plugin_tb_n_insns(const void *block);
void *qemu_plugin_tb_get_insn(const void *block, size_t index);
void qemu_plugin_register_vcpu_mem_cb(void *instruction, on_access_function *callback, int flags,
                                      int kinds, void *data);

EXPORTED int qemu_plugin_version = 1;

/* By thread, each in a cache line of its own. */
static struct {
    _Alignas(64) uint64_t accesses;
} counts[THREADS];

/* The file for the number of accesses: the only argument, into=PATH. */
static char path[4096];

static void on_access(unsigned thread, uint32_t info, uint64_t address, void *data) {
    (void)info, (void)address, (void)data;
    counts[thread % THREADS].accesses++;
}

static void on_block(uint64_t id, void *block) {
    (void)id;
    for (size_t index = 0; index < qemu_plugin_tb_n_insns(block); index++) {
        void *instruction = qemu_plugin_tb_get_insn(block, index);
        qemu_plugin_register_vcpu_mem_cb(instruction, on_access, NO_REGISTERS, LOADS_AND_STORES,
                                         NULL);
    }
}

static void on_exit(uint64_t id, void *data) {
    (void)id, (void)data;
    uint64_t all = 0;
    for (size_t thread = 0; thread < THREADS; thread++) {
        all += counts[thread].accesses;
    }
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        fprintf(file, "%llu\n", (unsigned long long)all);
        fclose(file);
    }
}

EXPORTED int qemu_plugin_install(uint64_t id, const void *info, int count, char **arguments) {
    (void)info;
    static const char argument[] = "into=";
    size_t begin = sizeof argument - 1;
    if (count != 1 || strncmp(arguments[0], argument, begin) != 0 ||
        strlen(arguments[0]) >= sizeof path) {
        fprintf(stderr, "the plug-in needs the argument into=PATH\n");
        return -1;
    }
    strcpy(path, arguments[0] + begin);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_block);
    qemu_plugin_register_atexit_cb(id, on_exit, NULL);
    return 0;
}
