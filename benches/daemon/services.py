"""The four services of the hour: Redis, PostgreSQL, a JVM and a build, each in a group with a load.

Each load is a program outside of the group (the JVM has it inside) that begins units of work at
fixed times, and has a log with a line a unit: when it was due (seconds since 1970), and how long it
took since then and since it began (microseconds). A unit that is late by more than a second is left
out, so that one bad minute does not spoil the next.
"""

import bisect
import glob
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys

from machine import HERE, fail, wait_for
from resp import Redis, fill

# Units whose figures are kept together, in seconds.
SPAN = 10


class Service:
    """A service: its name, its load's units a second, and how many can be under way at once."""

    limit = 2 << 30
    workers = 1
    # The pauses between units are not the service's time: it is slower by what units take longer.
    pauses = False

    def __init__(self, machine):
        self.machine = machine
        self.group = machine.group(self.name, self.limit)
        self.log = machine.path(f"{self.name}.units")
        self.processes = []

    def start(self, command, **options):
        with open(self.machine.path(f"{self.name}.log"), "ab") as log:
            process = self.machine.start(command, stdout=log, stderr=log, **options)
        self.processes.append(process)
        return process

    def require(self):
        """Ends the benchmark if a process of the service or its load has ended."""
        for process in self.processes:
            if process.poll() is not None:
                with open(self.machine.path(f"{self.name}.log"), errors="replace") as log:
                    fail(f"{self.name} ended with {process.returncode}: {log.read()[-2000:]}")

    def lines(self):
        """Returns the units: when each was due, how long it took since then, and since it began;
        both are None for units that were left out."""
        with open(self.log, encoding="ascii") as file:
            for line in file:
                words = line.split()
                # The last line may not be there as a whole.
                if line.endswith("\n") and words:
                    due, *took = map(float, words)
                    yield (due, took[0] / 1e6, took[1] / 1e6) if took else (due, None, None)


class RedisService(Service):
    """90,000 keys of 4 kB; 500 requests a second, each for twenty keys of a third of them."""

    name = "redis"
    keys, rate = 90_000, 500

    def begin(self):
        socket = self.machine.path("redis.socket")
        self.start(["redis-server", "--port", 0, "--unixsocket", socket, "--dir",
                    self.machine.folder, "--save", "", "--appendonly", "no", "--daemonize", "no"],
                   group=self.group)
        wait_for("the socket of Redis", lambda: os.path.exists(socket))
        fill(Redis(socket), self.keys)
        program = os.path.join(HERE, "programs", "requests.py")
        self.start([sys.executable, program, socket, self.keys, self.rate, self.log])


class PostgresService(Service):
    """pgbench as it is, at scale 20 (300 MB): 50 transactions a second of two clients, and the
    default buffers (128 MiB)."""

    name = "postgresql"
    workers, scale, rate = 2, 20, 50

    def begin(self):
        home = self.machine.path("postgresql")
        os.mkdir(home)
        shutil.chown(home, "postgres", "postgres")
        data = os.path.join(home, "data")
        made = self.start([program("initdb"), "--auth=trust", "--no-sync", "-D", data],
                          user="postgres", cwd=home)
        if made.wait() == 0:
            self.processes.remove(made)
        self.require()
        # A commit does not wait for the disk, whose times would hide those of memory.
        settings = ["listen_addresses=", "shared_buffers=128MB", "synchronous_commit=off",
                    "max_wal_size=4GB", f"unix_socket_directories={home}"]
        settings = [word for setting in settings for word in ("-c", setting)]
        # One that is killed leaves its shared memory behind.
        self.start([program("postgres"), "-D", data, *settings], group=self.group, user="postgres",
                   cwd=home, ending=signal.SIGQUIT)
        client = [program("pgbench"), "-h", home, "-U", "postgres"]
        ready = [program("pg_isready"), "-q", "-h", home]
        wait_for("PostgreSQL", lambda: subprocess.run(ready).returncode == 0)
        subprocess.run([*client, "-q", "-i", "-s", str(self.scale), "postgres"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # The buffers are full from the start, as those of a server that runs for weeks.
        warm = ["create extension pg_prewarm", "select pg_prewarm('pgbench_accounts', 'buffer')"]
        for statement in warm:
            subprocess.run([program("psql"), "-q", "-h", home, "-U", "postgres", "-c", statement],
                           check=True, stdout=subprocess.DEVNULL)
        self.prefix = self.machine.path("pgbench")
        self.start([*client, "-n", "-c", self.workers, f"--rate={self.rate}",
                    "--latency-limit=1000", "-T", 10**7, "--random-seed=1", "-l",
                    f"--log-prefix={self.prefix}", "postgres"], cwd=self.machine.folder)

    def lines(self):
        """Reads pgbench's own log: client, number, time, script, seconds, microseconds of the end,
        and how late the transaction began."""
        for log in glob.glob(f"{self.prefix}.*"):
            with open(log, encoding="ascii") as file:
                for line in file:
                    words = line.split()
                    if len(words) != 7 or not line.endswith("\n"):
                        continue
                    end = int(words[4]) + int(words[5]) / 1e6
                    if words[2] == "skipped":
                        yield end, None, None
                    else:
                        took, late = int(words[2]) / 1e6, int(words[6]) / 1e6
                        yield end - took, took, took - late


class JvmService(Service):
    """A heap of 400 MiB, of which a third is hot: 100 units of work a second."""

    name = "jvm"
    heap, rate = 400, 100

    def begin(self):
        folder = self.machine.path("java")
        source = os.path.join(HERE, "programs", "Heap.java")
        subprocess.run(["javac", "-d", folder, source], check=True)
        self.start(["java", "-Xms512m", "-Xmx512m", "-cp", folder, "Heap", self.heap, self.rate,
                    self.log], group=self.group)
        wait_for("work of the JVM", lambda: os.path.exists(self.log) and os.path.getsize(self.log))


class BuildService(Service):
    """A build of ten files of C, each half minute, and nothing between."""

    name = "build"
    period, files, functions = 30, 10, 40
    pauses = True

    def begin(self):
        folder = self.machine.path("build")
        os.mkdir(folder)
        draw = random.Random(1)
        for number in range(self.files):
            with open(os.path.join(folder, f"part{number}.c"), "w", encoding="ascii") as file:
                file.writelines(function(number, at, draw) for at in range(self.functions))
        with open(os.path.join(folder, "main.c"), "w", encoding="ascii") as file:
            file.write("int main(void) { return 0; }\n")
        sources = sorted(glob.glob(os.path.join(folder, "*.c")))
        compiler = ["cc", "-O2", "-o", os.path.join(folder, "built"), *sources]
        loop = os.path.join(HERE, "programs", "builds.py")
        build = self.group.entering(compiler)
        self.start([sys.executable, loop, self.period, self.log, *build])


SERVICES = (RedisService, PostgresService, JvmService, BuildService)


def program(name):
    """Returns a program of PostgreSQL, which Debian keeps out of the way."""
    found = shutil.which(name) or max(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), default=None)
    return found or fail(f"{name} is missing; install postgresql")


def function(part, at, draw):
    """Returns a function of C with some loops and arithmetic of chance."""
    lines = [f"int f{part}_{at}(int *x, int n) {{ int s = {draw.randrange(100)};"]
    for _ in range(4):
        a, b, c = (draw.randrange(1, 64) for _ in range(3))
        lines.append(f"  for (int i = {a}; i < n; i++) {{ s += x[i] * {b} ^ (s >> {c % 31});"
                     f" x[i - {a}] = s % {c} + x[i]; }}")
    return "\n".join(lines) + "\n  return s; }\n"


def quantile(values, share):
    return values[min(len(values) - 1, int(len(values) * share))] if values else None


def summary(units, seconds):
    """Returns the figures of some units in a time: done and left out, done a second, and times of
    one: since it was due its median, 99th percentile and longest, and since it began its mean."""
    done = [unit for unit in units if unit[1] is not None]
    waits = sorted(unit[1] for unit in done)
    return {"done": len(done), "left_out": len(units) - len(done), "rate": len(done) / seconds,
            "p50_s": quantile(waits, 0.5), "p99_s": quantile(waits, 0.99),
            "longest_s": max(waits, default=None),
            "mean_s": statistics.fmean(unit[2] for unit in done) if done else None}


def measure(service, windows):
    """Returns the figures of a service in each of the windows of time, which follow each other, as a
    whole and by spans."""
    spans, begins = [{} for _ in windows], [began for began, _ in windows]
    for unit in service.lines():
        at = bisect.bisect_right(begins, unit[0]) - 1
        if at >= 0 and unit[0] < windows[at][1]:
            number = int((unit[0] - begins[at]) // SPAN)
            spans[at].setdefault(number, []).append(unit)
    measured = []
    for (began, ended), by_span in zip(windows, spans):
        count = int((ended - began) // SPAN)
        units = [unit for some in by_span.values() for unit in some]
        whole = summary(units, ended - began)
        whole["spans"] = [summary(by_span.get(number, []), SPAN) for number in range(count)]
        measured.append(whole)
    return measured
