/* Tells what it was started with, or which signals it receives. Started plainly it is the oracle for the same program
   started by terrace. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int out;

#define tell(...)                                     \
    do {                                              \
        char text[4096];                              \
        int n = snprintf(text, sizeof text, __VA_ARGS__); \
        if (write(out, text, n) != n) _exit(99);      \
    } while (0)

/* What each descriptor is, before this program opens one. Pipes have no other name than their number. */
static char descriptors[1 << 16];

static void look_at_descriptors(void) {
    char *at = descriptors;
    for (int fd = 0; fd < 1024; fd++) {
        int flags = fcntl(fd, F_GETFL), own = fcntl(fd, F_GETFD);
        if (flags == -1) continue;
        char path[64], target[512];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, target, sizeof target - 1);
        target[n < 0 ? 0 : n] = 0;
        at += sprintf(at, "descriptor %d %s %x %x\n", fd, target, flags & (O_ACCMODE | O_APPEND | O_NONBLOCK), own);
    }
}

static void print_file(const char *path, const char *only[]) {
    FILE *file = fopen(path, "re");
    char line[4096];
    while (file && fgets(line, sizeof line, file))
        for (int i = 0; only[i]; i++)
            if (!strncmp(line, only[i], strlen(only[i]))) tell("%s", line);
    if (file) fclose(file);
}

static int state(int count, char **arguments) {
    look_at_descriptors();
    out = open(arguments[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    struct stat made;
    fstat(out, &made);
    tell("begin\nmode of a file %o\n", made.st_mode & 0777);
    tell("%s", descriptors);
    for (int i = 0; i < count; i++) tell("argument %s\n", i == 2 ? "FILE" : arguments[i]);
    for (int signal = 1; signal <= 64; signal++) {
        struct sigaction action;
        if (!sigaction(signal, NULL, &action) && action.sa_handler != SIG_DFL)
            tell("signal %d %s\n", signal, action.sa_handler == SIG_IGN ? "ignored" : "handled");
    }
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    for (int signal = 1; signal <= 64; signal++)
        if (sigismember(&set, signal) == 1) tell("signal %d blocked\n", signal);
    for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
        struct rlimit limit;
        if (!getrlimit(resource, &limit))
            tell("limit %d %lld %lld\n", resource, (long long)limit.rlim_cur, (long long)limit.rlim_max);
    }
    errno = 0;
    tell("nice %d\n", getpriority(PRIO_PROCESS, 0));
    tell("input and output %ld\n", syscall(SYS_ioprio_get, 1, 0));
    struct sched_param parameter;
    sched_getparam(0, &parameter);
    tell("scheduling %d %d\n", sched_getscheduler(0), parameter.sched_priority);
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &cpus)) tell("processor %d\n", cpu);
    tell("umask %o\n", umask(0));
    char directory[4096];
    tell("directory %s\n", getcwd(directory, sizeof directory));
    tell("slack %d\n", prctl(PR_GET_TIMERSLACK));
    tell("group leader %d session leader %d\n", getpgrp() == getpid(), getsid(0) == getpid());
    print_file("/proc/self/oom_score_adj", (const char *[]){"", NULL});
    print_file("/proc/self/status", (const char *[]){"Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd",
                                                     "CapAmb", "NoNewPrivs", "Seccomp:", NULL});
    const char *name = getenv("TERRACE_TEST_VARIABLE");
    tell("variable %s\n", name ? name : "unset");
    return 0;
}

static volatile sig_atomic_t ended;

static void note(int signal) {
    tell("%s\n", sigabbrev_np(signal));
    if (signal == SIGTERM || signal == SIGINT || signal == SIGHUP || signal == SIGQUIT) ended = signal;
}

/* Notes each signal until one asks it to end, and then those that come at once. Signals that are ignored stay so, as in
   well-behaved programs; those named in the arguments are left at their default. */
static int signals(int count, char **arguments) {
    out = open(arguments[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    for (int signal = 1; signal < NSIG && signal < 32; signal++) {
        struct sigaction before, action = {.sa_handler = note, .sa_flags = SA_RESTART};
        int left = signal == SIGSEGV || signal == SIGILL || signal == SIGBUS || signal == SIGFPE;
        for (int i = 3; i < count; i++) left |= atoi(arguments[i]) == signal;
        if (!left && !sigaction(signal, NULL, &before) && before.sa_handler == SIG_DFL) sigaction(signal, &action, NULL);
    }
    tell("ready\n");
    /* Not for ever: the test may have ended. */
    for (int waits = 0; !ended && waits < 12000; waits++) usleep(10000);
    usleep(400000);
    return 32 + ended;
}

/* A shell with job control, for one job: it has a terminal as its input, starts the job in a group of its own, and has
   it go on whenever it has stopped. */
static int shell(char **arguments) {
    out = open(arguments[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    signal(SIGTTOU, SIG_IGN);
    pid_t job = fork();
    if (!job) {
        setpgid(0, 0);
        tcsetpgrp(0, getpid());
        signal(SIGTTOU, SIG_DFL);
        execvp(arguments[3], arguments + 3);
        _exit(127);
    }
    setpgid(job, job);
    tcsetpgrp(0, job);
    int status;
    while (waitpid(job, &status, WUNTRACED) == job && WIFSTOPPED(status)) {
        tell("stopped by %s\n", sigabbrev_np(WSTOPSIG(status)));
        usleep(200000);
        tcsetpgrp(0, job);
        kill(-job, SIGCONT);
    }
    if (WIFSIGNALED(status)) tell("ended by %s\n", sigabbrev_np(WTERMSIG(status)));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **arguments) {
    if (count < 3) return 98;
    if (!strcmp(arguments[1], "state")) return state(count, arguments);
    if (!strcmp(arguments[1], "signals")) return signals(count, arguments);
    if (!strcmp(arguments[1], "shell")) return shell(arguments);
    return 98;
}
