"""Compares `terrace record` with a plug-in that only counts the accesses of the same program.

Usage: compare.py [--rounds N] [--only NAMES] [--json FILE]

Both run the program in qemu-user. The counting plug-in, `count.c`, is called for each access and
does nothing else with it; `terrace record` writes each into a Parquet file. The programs take
turns, and a ratio is one of two runs of the same round.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "benches" / "pages"))

from interleaved import ratio, rounds, run, shown, table  # noqa: E402

TERRACE = ROOT / "target" / "release" / "terrace"
WORK = ROOT / "target" / "bench-record"
EMULATOR = "/usr/bin/qemu-x86_64"

# The programs, by name; their last argument is a file of this many bytes.
PROGRAMS = {
    "gzip": (["/usr/bin/gzip", "-c"], 4_000_000),
    "xz -3": (["/usr/bin/xz", "-3", "-T1", "-c"], 1_000_000),
    "sort": (["/usr/bin/sort", "--parallel=1"], 1_000_000),
}


def plug_in():
    """Compiles the counting plug-in; returns its file."""
    library = WORK / "count.so"
    source = Path(__file__).with_name("count.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


class Comparison:
    """One program in both, how long each took by the clock, and what they counted."""

    def __init__(self, program, plug_in, folder):
        command, size = PROGRAMS[program]
        data = folder / "input"
        data.write_bytes(Path(EMULATOR).read_bytes()[:size])
        self.command, self.plug_in = [*command, data], plug_in
        self.trace, self.counted = folder / "a.parquet", folder / "accesses"
        self.walls = {"count": [], "record": []}
        self.accesses = 0

    def timed(self, name, command):
        """Returns the processor time of a command, and notes its time by the clock."""
        begin = time.monotonic()
        seconds, _ = run(command)
        self.walls[name].append(time.monotonic() - begin)
        return seconds

    def count(self):
        """Returns the processor time of the program with the counting plug-in."""
        plug_in = f"{self.plug_in},into={self.counted}"
        seconds = self.timed("count", [EMULATOR, "-plugin", plug_in, *self.command])
        self.accesses = int(self.counted.read_text())
        return seconds

    def record(self):
        """Returns the processor time of a recording of the program, which is deleted."""
        self.trace.unlink(missing_ok=True)
        recorded = [TERRACE, "record", "-q", "-o", self.trace, "--", *self.command]
        return self.timed("record", recorded)


def compare(program, plug_in, count):
    """Returns the figures of a program."""
    with tempfile.TemporaryDirectory(dir=WORK) as name:
        both = Comparison(program, plug_in, Path(name))
        times = rounds(count, {"count": both.count, "record": both.record})
        size = both.trace.stat().st_size
    return {"accesses": both.accesses, "bytes": size, "processor": times, "wall": both.walls}


def show(found):
    """Prints the table."""
    rows = []
    for program, of in found.items():
        speeds = []
        for name in ("count", "record"):
            speed = of["accesses"] / statistics.median(of["wall"][name]) / 1e6
            speeds.append(f"{speed:.1f}")
        ratios = [shown(ratio(of[time]["count"], of[time]["record"]))
                  for time in ("wall", "processor")]
        rows.append([program, f"{of['accesses'] / 1e6:.1f}", *speeds, *ratios,
                     f"{of['bytes'] / of['accesses']:.1f}"])
    print("The speed of a recording by that of counting: median of the rounds (least to most).\n")
    table(["program", "M accesses", "counted, M/s", "recorded, M/s", "by the clock",
           "by processor time", "bytes an access"], rows)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=5, help="rounds of each program")
    arguments.add_argument("--only", default=",".join(PROGRAMS), help="programs")
    arguments.add_argument("--json", type=Path, help="a file for all figures")
    given = arguments.parse_args()
    if not TERRACE.exists():
        sys.exit(f"{TERRACE} is not there; run `make build` first")
    WORK.mkdir(parents=True, exist_ok=True)
    library = plug_in()
    found = {name: compare(name, library, given.rounds) for name in given.only.split(",")}
    show(found)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
