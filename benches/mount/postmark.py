#!/usr/bin/python3
"""PostMark above a source that is as fast as the flash: what a mount costs where it cannot gain.

Usage: postmark.py [--files N] [--transactions N] [--repeat N] DIRECTORY

Runs PostMark in a directory itself, through bindfs, through `terrace mount` without a flash level, which passes
everything through, and with one; all in turn, --repeat times. Needs root, fuse3, bindfs and postmark.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from measure import Mount, drop_caches, mounted

SCRIPT = """set location {place}
set number {files}
set transactions {transactions}
set size 500 10000
set seed {seed}
set report terse
run
quit
"""


def postmark(place, args, seed):
    """Seconds of a run."""
    drop_caches()
    script = SCRIPT.format(place=place, files=args.files, transactions=args.transactions, seed=seed)
    began = time.monotonic()
    done = subprocess.run(["postmark"], input=script, text=True, check=True, capture_output=True, cwd=place)
    taken = time.monotonic() - began
    assert not done.stderr and "Error" not in done.stdout, done.stderr[:300]
    return taken


class Bindfs:
    """A mount of bindfs."""

    def __init__(self, place, source):
        self.point = place / "bound"
        self.point.mkdir(exist_ok=True)
        subprocess.run(["bindfs", source, self.point], check=True)
        mounted(self.point)

    def end(self):
        subprocess.run(["fusermount3", "-u", self.point], check=True)


class Plain:
    """The directory itself."""

    def __init__(self, _place, source):
        self.point = source

    def end(self):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1000, help="files at the beginning")
    parser.add_argument("--transactions", type=int, default=20_000, help="transactions of each run")
    parser.add_argument("--repeat", type=int, default=5, help="runs of each way")
    parser.add_argument("directory", type=Path, help="a directory of the flash, which is that of the source as well")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.directory) as place:
        place = Path(place).resolve()
        ways = {
            "directory": Plain,
            "bindfs": Bindfs,
            "pass-through": Mount,
            "flash level": lambda *at: Mount(*at, "--flash", place / "flash", "--size", "256M"),
        }
        times = {name: [] for name in ways}
        for seed in range(1, args.repeat + 1):
            for name, way in ways.items():
                source = place / "source"
                source.mkdir()
                mount = way(place, source)
                times[name].append(postmark(mount.point, args, seed))
                figures = mount.end()
                shutil.rmtree(source)
    for name, taken in times.items():
        print(f"{name}: {statistics.median(taken):.2f} s ({min(taken):.2f} to {max(taken):.2f})")
    for base in "pass-through", "bindfs":
        ratios = [one / other for one, other in zip(times["flash level"], times[base])]
        print(f"flash level over {base}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    print("last figures:", json.dumps(figures["figures"]))


if __name__ == "__main__":
    main()
