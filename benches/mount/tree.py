#!/usr/bin/python3
"""Listing and searching a tree of small files through `terrace mount`, once its names are kept.

Usage: tree.py [--files N] [--repeat N] [--only WAY] DIRECTORY

Makes a tree of files of 1 to 4 KiB, a hundred in each directory, and runs find, du and `grep -r` in
the tree itself, through bindfs, and through `terrace mount --attributes 1h` without a flash level
and with one: once unmeasured, and then --repeat times, all ways in turn. Needs root, fuse3 and
bindfs.
"""

import argparse
import os
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from measure import Mount
from postmark import Bindfs, Plain

PROGRAMS = {
    "find": ["find", ".", "-type", "f", "-size", "+8"],
    "du": ["du", "-s", "."],
    # Of every file, a line that is not there.
    "grep": ["grep", "-r", "no such line", "."],
}
KEPT = "--attributes", "1h"


def make(tree, files):
    draw = random.Random(1)
    words = [f"{draw.getrandbits(64):016x}" for _ in range(4096)]
    for number in range(files):
        directory = tree / f"{number // 10_000}" / f"{number // 100}"
        if number % 100 == 0:
            directory.mkdir(parents=True)
        lines = "\n".join(draw.choices(words, k=draw.randrange(60, 240)))
        (directory / f"{number}.txt").write_text(lines)
    os.sync()


def run(program, point):
    """Seconds of a run."""
    began = time.monotonic()
    subprocess.run(PROGRAMS[program], cwd=point, stdout=subprocess.DEVNULL, check=program != "grep")
    return time.monotonic() - began


def spread(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=5, help="runs of each way")
    parser.add_argument("--only", action="append",
                        help="a way to measure beside the tree itself; all by default")
    parser.add_argument("directory", type=Path, help="where the tree and the flash level are made")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.directory) as place:
        place = Path(place).resolve()
        source = place / "source"
        source.mkdir()
        make(source, args.files)
        flash = "--flash", place / "flash", "--size", "2G", "--admission", "all"
        ways = {
            "tree": lambda at: Plain(at, source),
            "bindfs": lambda at: Bindfs(at, source),
            "pass-through": lambda at: Mount(at, source, *KEPT),
            "flash level": lambda at: Mount(at, source, *flash, *KEPT),
        }
        mounts = {}
        for name, way in ways.items():
            if name == "tree" or not args.only or name in args.only:
                at = place / name
                at.mkdir()
                mounts[name] = way(at)
        times = {(program, name): [] for program in PROGRAMS for name in mounts}
        try:
            for round_ in range(args.repeat + 1):
                for program, name in times:
                    taken = run(program, mounts[name].point)
                    if round_:
                        times[program, name].append(taken)
        finally:
            for mount in mounts.values():
                mount.end()
        print(f"load {os.getloadavg()[0]:.1f}")
        for (program, name), taken in times.items():
            ratios = [one / other for one, other in zip(taken, times[program, "tree"])]
            print(f"{program} {name}: {spread(taken)} s, {spread(ratios)} of the tree's")


if __name__ == "__main__":
    main()
