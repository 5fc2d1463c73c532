"""What the benchmarks of terraced need of a machine: a tier, control groups, and processes in them.

Whatever is made here is taken away again when the block of a `Machine` ends, also by a signal.
"""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RELEASE = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "release")
DATA = os.path.join(os.environ.get("BENCH_DATA", tempfile.gettempdir()), "terrace-daemon")
PAGE = os.sysconf("SC_PAGE_SIZE")
MIB = 1 << 20
# Above all areas that the machine may have: what leaves DRAM goes to ours.
PRIORITY = 32000
# Runs what follows in a group: this process enters it.
ENTER = 'echo $$ >"$0" && exec "$@"'
# Files of a group that hold or protect memory. Which of them there are depends on the version.
LIMITS = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.soft_limit_in_bytes",
          "memory.swappiness", "memory.oom_control", "memory.min", "memory.low", "memory.high",
          "memory.max", "memory.swap.high", "memory.swap.max", "memory.zswap.max")


def fail(why):
    sys.exit(f"{os.path.basename(sys.argv[0])}: {why}")


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(text))


def figures(text):
    """Returns the numbers of a file of lines with a name and a number."""
    lines = (line.split() for line in text.splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdigit()}


def swap_counts():
    """Returns the pages that the machine has fetched from and written to swap since it started."""
    counts = figures(read("/proc/vmstat"))
    return counts["pswpin"], counts["pswpout"]


def areas():
    """Returns the swap areas: name, kind, size in KiB and priority of each."""
    lines = (line.split() for line in read("/proc/swaps").splitlines()[1:])
    return sorted((name, kind, int(size), int(priority)) for name, kind, size, _, priority in lines)


def hierarchy():
    """Returns the top of the hierarchy with the memory controller, and its version."""
    mounts = [line.split() for line in read("/proc/mounts").splitlines()]
    for _, top, kind, options, *_ in mounts:
        if kind == "cgroup" and "memory" in options.split(","):
            return top, 1
    for _, top, kind, *_ in mounts:
        if kind == "cgroup2":
            return top, 2
    return fail("there is no memory controller of control groups")


class Group:
    """A control group of the benchmark."""

    def __init__(self, path, version):
        self.path, self.version = path, version
        os.mkdir(path)

    def file(self, name):
        return os.path.join(self.path, name)

    def entering(self, command):
        """Returns a command that enters the group and runs the given one."""
        return ["sh", "-c", ENTER, self.file("cgroup.procs"), *command]

    def limit(self, limit):
        """Sets the memory that it may have in DRAM, in bytes; None lifts that. Under version 1 the
        limit is hard, under version 2 it is memory.high."""
        if self.version == 2:
            write(self.file("memory.high"), limit or "max")
            return
        goal = limit or -1
        # A limit below what is in use is refused while the kernel cannot reclaim as fast.
        for _ in range(600):
            try:
                write(self.file("memory.limit_in_bytes"), goal)
                return
            except OSError:
                time.sleep(0.1)
        fail(f"the kernel refuses a limit of {goal} bytes for {self.path}")

    def limits(self):
        """Returns the texts of all files that hold or protect its memory."""
        texts = {}
        for name in LIMITS:
            if os.path.exists(self.file(name)):
                # The count of kills stands among the switches of version 1.
                lines = read(self.file(name)).splitlines()
                texts[name] = [line for line in lines if not line.startswith("oom_kill ")]
        return texts

    def held(self):
        """Returns its memory that a tier can hold, in DRAM and in the tier alone, all of its DRAM
        with the page cache, and its OOM kills."""
        stat = figures(read(self.file("memory.stat")))
        total = "total_" if self.version == 1 else ""
        lists = ("inactive_anon", "active_anon", "unevictable")
        held = {"resident": sum(stat[total + name] for name in lists)}
        if self.version == 1:
            held["swapped"] = stat["total_swap"]
            held["usage"] = int(read(self.file("memory.usage_in_bytes")))
            kills = figures(read(self.file("memory.oom_control")))
        else:
            places = int(read(self.file("memory.swap.current")))
            held["swapped"] = max(0, places - stat.get("swapcached", 0))
            held["usage"] = int(read(self.file("memory.current")))
            kills = figures(read(self.file("memory.events")))
        return held | {"oom_kills": kills["oom_kill"]}

    def processes(self):
        return [int(pid) for pid in read(self.file("cgroup.procs")).split()]

    def remove(self):
        """Ends the processes that are in it, and removes it."""
        for _ in range(200):
            for pid in self.processes():
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            try:
                os.rmdir(self.path)
                return
            except OSError:
                time.sleep(0.1)
        print(f"machine.py: {self.path} is left: the kernel does not remove it", file=sys.stderr)


class Tier:
    """A swap area of the benchmark: compressed memory, or a file."""

    def __init__(self, kind, size, folder):
        self.kind, self.size = kind, size
        self.device = None
        if kind == "zram":
            try:
                number = read("/sys/class/zram-control/hot_add").strip()
            except OSError:
                fail("this kernel has no compressed memory (zram); use --tier file")
            self.device = f"/sys/block/zram{number}"
            write(os.path.join(self.device, "disksize"), size)
            self.path = f"/dev/zram{number}"
        else:
            self.path = os.path.join(folder, "tier")
            with open(self.path, "wb") as file:
                os.fchmod(file.fileno(), 0o600)
                os.posix_fallocate(file.fileno(), 0, size)

    def is_on(self):
        return any(name == self.path for name, *_ in areas())

    def on(self):
        subprocess.run(["mkswap", "--quiet", "--force", self.path], check=True)
        subprocess.run(["swapon", "--priority", str(PRIORITY), self.path], check=True)

    def off(self):
        """Switches it off: all that is in it comes back. Programs of others that have a limit can
        have memory in it as well, which has to find room."""
        until = time.monotonic() + 60
        while self.is_on():
            done = subprocess.run(["swapoff", self.path], stderr=subprocess.PIPE, text=True)
            if done.returncode != 0 and time.monotonic() > until:
                fail(f"{self.path} stays: {done.stderr.strip()}; switch it off and remove it")
            time.sleep(done.returncode != 0)

    def remove(self):
        self.off()
        if self.device:
            write(os.path.join(self.device, "reset"), 1)
            number = self.device.removeprefix("/sys/block/zram")
            write("/sys/class/zram-control/hot_remove", number)
        else:
            os.remove(self.path)


class Machine:
    """A folder, a tier and a control group, and all that runs in it, for the time of a block."""

    def __init__(self, tier="file", size=3 << 30):
        if os.geteuid() != 0:
            fail("this needs root")
        self.kind, self.size = tier, size
        self.tier, self.groups, self.running = None, [], []

    def __enter__(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: sys.exit(128 + number))
        os.makedirs(DATA, exist_ok=True)
        self.folder = tempfile.mkdtemp(dir=DATA)
        # A server that runs as a user of its own has to come through.
        os.chmod(self.folder, 0o711)
        try:
            self.before = areas()
            top, self.version = hierarchy()
            name = os.path.join(top, f"terrace-bench-{os.getpid()}")
            if self.version == 2:
                write(os.path.join(top, "cgroup.subtree_control"), "+memory")
            self.above = Group(name, self.version)
            self.groups.append(self.above)
            if self.version == 2:
                write(self.above.file("cgroup.subtree_control"), "+memory")
            self.tier = Tier(self.kind, self.size, self.folder)
            self.tier.on()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for process, number in reversed(self.running):
            end(process, number)
        for group in reversed(self.groups):
            group.remove()
        if self.tier:
            self.tier.remove()
        shutil.rmtree(self.folder)

    def group(self, name, limit):
        """Makes a control group with a limit that it should never reach."""
        group = Group(self.above.file(name), self.version)
        self.groups.append(group)
        group.limit(limit)
        return group

    def start(self, command, group=None, user=None, ending=signal.SIGKILL, **options):
        """Starts a command in a group, or beside all groups; `ending` is the signal to end it."""
        # It ends when the benchmark does, however that ends.
        become = ["setpriv", "--pdeathsig", "KILL"]
        if user:
            group_of_user = str(pwd.getpwnam(user).pw_gid)
            become += ["--reuid", user, "--regid", group_of_user, "--init-groups"]
        command = [*become, *map(str, command)]
        if group:
            command = group.entering(command)
        # Ctrl-C is for the benchmark alone, which ends what it has started.
        process = subprocess.Popen(command, start_new_session=True, **options)
        self.running.append((process, ending))
        return process

    def path(self, name):
        return os.path.join(self.folder, name)

    def about(self):
        """Returns what figures depend on."""
        return {"kernel": os.uname().release, "processors": os.cpu_count(),
                "memory_bytes": os.sysconf("SC_PHYS_PAGES") * PAGE, "cgroup": self.version,
                "tier": self.kind, "tier_bytes": self.size, "load": os.getloadavg(),
                "other_areas": self.before, "page_cluster": int(read("/proc/sys/vm/page-cluster"))}


def end(process, number=signal.SIGTERM, patience=20):
    """Ends a process, and waits for that."""
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(what, happens, seconds=60):
    """Waits until something happens."""
    until = time.monotonic() + seconds
    while not happens():
        if time.monotonic() > until:
            fail(f"{what} did not come within {seconds} s")
        time.sleep(0.1)


def build(source, folder):
    """Compiles a C program of ours; returns its path."""
    program = os.path.join(folder, os.path.basename(source).removesuffix(".c"))
    subprocess.run(["cc", "-O2", "-o", program, os.path.join(HERE, "programs", source)], check=True)
    return program


def save(path, document):
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")


def table(head, rows):
    """Prints a table."""
    print("\n| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


def mib(size):
    return f"{size / MIB:,.0f} MiB"


def verdict(holds):
    return "holds" if holds else "**does not hold**"
