"""The measured programs: builds them if their libraries are installed, runs them, and names what is missing."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from jobs import BYTES, DIE

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
# Programs that cargo builds, with the command.
BUILT = {
    "terrace": (
        ROOT / "target/release/side_by_side",
        "cargo build --release -p terrace-heap-bench --bin side_by_side",
    ),
    "redb": (
        ROOT / "target/redb/release/terrace-bench-redb",
        "cargo build --release --manifest-path benches/heap/redb/Cargo.toml --target-dir target/redb",
    ),
}
# Programs that the C compiler builds: the source, and the library's name for pkg-config with its Debian package.
SOURCES = {
    "libpmemobj": ("pmemobj.c", "libpmemobj", "libpmemobj-dev"),
    "LMDB": ("lmdb.c", "lmdb", "liblmdb-dev"),
    "floor": ("floor.c", None, None),
}
COUNTER = "count.c"
# Has libpmemobj take memory of tmpfs for persistent, and flush lines.
FORCED = {"PMEM_IS_PMEM_FORCE": "1"}


class Failure(Exception):
    """The failure of one run."""


class Peers:
    """Programs by the peer's name, in `folder`; `missing` has a sentence for each that could not be built."""

    def __init__(self, folder):
        self.folder = folder
        self.programs, self.versions, self.missing = {}, {}, []
        folder.mkdir(parents=True, exist_ok=True)
        for name, (source, library, package) in SOURCES.items():
            if library and not has(library):
                self.missing.append(f"{name} is not there: apt-get install {package} pkg-config")
                continue
            if library:
                self.versions[name] = pkg_config("--modversion", library)[0]
            self.programs[name] = self.compile(source, pkg_config("--cflags", "--libs", library) if library else [])
        for name, (program, command) in BUILT.items():
            if program.exists():
                self.programs[name] = program
            else:
                self.missing.append(f"{name} is not there: {command}")
        if "redb" in self.programs:
            self.versions["redb"] = locked_version("redb")
        self.counter = self.make_counter()

    def compile(self, source, libraries=()):
        program = self.folder / Path(source).stem
        flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-pthread"]
        subprocess.run(["cc", *flags, "-o", program, FOLDER / source, *libraries], check=True)
        return program

    def make_counter(self):
        """Builds the program that counts lines and fences, if its requirements are met."""
        counter = self.compile(COUNTER)
        if not shutil.which("objdump"):
            self.missing.append("lines and fences are not counted: apt-get install binutils")
            return None
        tried = subprocess.run([counter, "true"], capture_output=True, text=True)
        if tried.returncode == 0:
            return counter
        self.missing.append(f"lines and fences are not counted: {tried.stderr.strip() or 'the counter fails'}")
        return None

    def run(self, job, pool, operations, keys=None, forced=True, way=None, counted=False):
        """Carries out operations in a process of its own; returns the lines that it prints."""
        environment = {name: value for name, value in os.environ.items() if name not in FORCED}
        command = [self.counter] if counted else []
        command += [self.programs[job.peer], "--pool", pool, "--way", way or job.way, "--entries", job.entries]
        command += ["--threads", job.threads, *(["--keys", f"{keys[0]}:{keys[1]}"] if keys else [])]
        command += [*(["--bytes"] if job.data == BYTES else []), *(["--signals"] if counted else []), *operations]
        done = subprocess.run(
            [str(part) for part in command], env=environment | (FORCED if forced else {}), capture_output=True, text=True
        )
        if done.returncode != (-signal.SIGKILL if operations[-1] == DIE else 0):
            raise Failure(done.stderr.strip() or f"it ended with {done.returncode}")
        return merged(map(json.loads, done.stdout.splitlines()))


def merged(lines):
    """Returns the lines of operations, each merged with the line of counts before it."""
    found, counts = [], {}
    for line in lines:
        if "operation" in line:
            found.append(line | counts)
            counts = {}
        else:
            counts = line
    return found


def locked_version(package):
    """Returns the version of a package that the peers in Rust are built with."""
    lock = (FOLDER / "redb/Cargo.lock").read_text()
    return re.search(rf'name = "{package}"\nversion = "(.*)"', lock)[1]


def has(library):
    try:
        return subprocess.run(["pkg-config", "--exists", library]).returncode == 0
    except FileNotFoundError:
        return False


def pkg_config(*arguments):
    return subprocess.run(["pkg-config", *arguments], check=True, capture_output=True, text=True).stdout.split()
