"""The programs of this paper: the persistent programs, which are ours, and the programs that share a
cache with them, which are taken from Fedorov 2016, chapter 2.

Usage: programs.py    prints the Debian packages that contain them
"""

import json
import subprocess
import sys
import tomllib
from functools import partial
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
OTHERS = FOLDER.parent / "fedorov-2016-ch2"
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402

sys.path.append(str(OTHERS))
import inputs  # noqa: E402

PROGRAM = common.TERRACE.parent / "persistence_cost"
# The programs that stand for the paper's, by the paper's names, and the accesses of their set-up
# (reading a picture, a scene, a table), which are left out.
APPS = {
    "x264": ("x264", 30_000_000),
    "povray": ("povray", 30_000_000),
    "soplex": ("glpsol", 30_000_000),
    "astar": ("paths", 0),
}
# The persistent hash table: options of `persistence_cost`. `baseline` is the paper's, `volatile` its NVMCap
# version, `ideal` the one that flushes nothing of its allocator's.
TABLES = {
    "volatile": [],
    "ideal": ["--marked", "--allocator", "naive", "--log", "word", "--ideal"],
    "baseline": ["--marked", "--allocator", "naive", "--log", "word"],
    "nvwa": ["--marked", "--allocator", "nvwa", "--log", "word"],
    "nvwa + hybrid": ["--marked", "--allocator", "nvwa", "--log", "hybrid"],
}
TREES = {
    "baseline": ["--program", "tree", "--marked", "--allocator", "naive"],
    "nvwa": ["--program", "tree", "--marked", "--allocator", "nvwa"],
}


class Programs(common.Installed):
    """The programs that are installed, and `persistence_cost`."""

    def __init__(self, work):
        if not PROGRAM.exists():
            sys.exit(f"{PROGRAM} is not there; run `make paper-kannan-2013`")
        made = {name: partial(inputs.make, name=name) for name in inputs.MAKERS}
        super().__init__(work, OTHERS / "programs", made)

    def wanted(self, programs):
        return {name: programs[name] for name, _ in APPS.values()}

    def compile(self, source):
        if source.stem in self.programs:
            super().compile(source)

    def apps(self):
        """Returns the installed applications, by the paper's names."""
        return {name: app for name, app in APPS.items() if app[0] not in self.missing}

    def trace(self, name, rows, quick):
        """Returns the trace of an application after its set-up: `rows` accesses at most."""
        program, setup = APPS[name]
        setup = 0 if quick else setup
        return common.main_part(self.record(program, setup + rows), setup)

    def persistent(self, options, elements):
        """Returns the trace of `persistence_cost` with `elements` puts and gets, and the address of the instruction
        that stands for a flush, or `off`."""
        name = "-".join(["persistence-cost", str(elements), *(option.strip("-") for option in options)])
        command = [PROGRAM, *options, "--elements", str(elements), "mixed"]
        trace, said = self.work / f"{name}.parquet", self.work / f"{name}.log"
        if not trace.exists() or trace.stat().st_mtime < PROGRAM.stat().st_mtime:
            common.say(f"recording {name}")
            partial_trace = trace.with_suffix(".partial.parquet")
            recorder = [common.TERRACE, "record", "--quiet", "-o", partial_trace, "--"]
            if common.run([*recorder, *command], None, said) != 0:
                sys.exit(f"recording {name} failed; what it said is in {said}")
            partial_trace.rename(trace)
        return trace, flush_ip(said.read_text())

    def count(self, options, elements, phases):
        """Returns what `persistence_cost` counts, by phase, on a pool in memory."""
        pool = Path("/dev/shm") / f"terrace-kannan-{elements}.pool"
        pool.unlink(missing_ok=True)
        command = [PROGRAM, *options, "--pool", pool, "--elements", str(elements), *phases]
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} failed with exit code {done.returncode}")
        return {found["phase"]: found for found in map(json.loads, done.stdout.splitlines())}


def flush_ip(said):
    """Returns the address of the instruction that stands for a flush, or `off`."""
    lines = [line.split() for line in said.splitlines()]
    found = [words[1] for words in lines if words[:1] == ["flush-ip"]]
    return found[0] if found else "off"


def packages():
    programs = tomllib.loads((OTHERS / "programs" / "programs.toml").read_text())
    return sorted({package for name, _ in APPS.values() for package in programs[name]["packages"]})


if __name__ == "__main__":
    print(*packages())
