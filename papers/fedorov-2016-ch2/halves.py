"""Judges policies on programs on which none of their settings was chosen.

Usage: BENCH_SOURCES=FOLDER halves.py [--record | --tables]

Programs are split by their names (`split.py`), the sizes of inputs follow a rule (`programs/sized.toml`), and all have
the same numbers of requests. Writes halves.json.
"""

import os
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import split  # noqa: E402
from programs import Programs  # noqa: E402

BUILD = FOLDER.parent.parent / "benches" / "proxies" / "programs" / "build.sh"
# Requests to the last level after the set-up, of which the first warm up: 16 times the lines of the cache.
ROWS, WARMUP = 2_000_000, 500_000
# Rows that are left out at the beginning for each line of the footprint: arrays are made and read a few times.
SETUP_A_LINE = 8
LINE_BYTES = 64
# Recordings that are made at a time.
TOGETHER = 2


class Halves(Programs):
    """The chapter's programs with one thread, and the applications: at the sizes of the rule where they have one."""

    def __init__(self, work):
        self.built = Path(os.environ["BENCH_DATA"]) / "proxies"
        super().__init__(work)
        self.places["built"] = self.built

    def wanted(self, programs):
        self.sized = tomllib.loads((self.folder / "sized.toml").read_text())
        alone = {name: program for name, program in programs.items() if "threads" not in program}
        sized = {name: self.builds(alone.get(name, {}) | program) for name, program in self.sized.items()}
        return sized | {name: program for name, program in alone.items() if name not in sized}

    @staticmethod
    def builds(program):
        source = program.get("source")
        known = {"check": ["sh", str(BUILD), source], "packages": [f"(the source of {source} in BENCH_SOURCES)"]}
        return known | program if source else program

    def setup(self, name):
        """Returns the rows of a program's set-up: at a size of the rule at least some for each line."""
        lines = split.footprint_bytes(name) // LINE_BYTES if name in self.sized else 0
        return max(super().setup(name), SETUP_A_LINE * lines)


def record(bench):
    """Returns the trace of each program."""
    with ThreadPoolExecutor(TOGETHER) as pool:
        traces = pool.map(lambda name: bench.trace(name, ROWS, bench.setup(name)), bench.programs)
        return dict(zip(bench.programs, traces))


def main():
    bench = Halves(common.work_directory(FOLDER))
    record(bench)


if __name__ == "__main__":
    main()
