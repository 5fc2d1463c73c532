#!/usr/bin/python3
"""Real programs above a slow directory: what a flash level gains them, beside bindfs and the directory itself.

Usage: programs.py [--delay MS] [--repeat N] FLASH_DIRECTORY

fio reads pages at random, SQLite looks up rows, and Git greps a checkout; each twice, with cold page caches both times. The
directory waits before each read. Needs root, fuse3, bindfs, fio, sqlite3, git and python3-fusepy.
"""

import argparse
import random
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import SLOW, Mount, drop_caches, fill, mounted
from postmark import Bindfs, Plain

ROWS = 200_000


def make_database(path):
    draw = random.Random(1)
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE words (id INTEGER PRIMARY KEY, word BLOB)")
        database.executemany("INSERT INTO words VALUES (?, ?)", ((at, draw.randbytes(120)) for at in range(ROWS)))
    database.close()


def make_checkout(path):
    root = Path(__file__).resolve().parent.parent.parent
    subprocess.run(["git", "clone", "-q", "--no-local", "--depth", "1", f"file://{root}", path], check=True)


def fio(point):
    words = ["fio", "--name=read", f"--filename={point}/file", "--rw=randread", "--bs=4k", "--size=64M", "--io_size=2M",
             "--randseed=1", "--readonly", "--output-format=terse"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def sqlite(point):
    draw = random.Random(2)
    database = sqlite3.connect(f"file:{point}/database?mode=ro&immutable=1", uri=True)
    for _ in range(500):
        database.execute("SELECT word FROM words WHERE id = ?", (draw.randrange(ROWS),)).fetchone()
    database.close()


def git(point):
    words = ["git", "-c", "safe.directory=*", "grep", "--threads=1", "-c", "fn main", "--", "crates/policy", "crates/sim"]
    subprocess.run(words, check=True, cwd=point / "checkout", stdout=subprocess.DEVNULL)


def timed(program, point):
    drop_caches()
    began = time.monotonic()
    program(point)
    return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--delay", type=float, default=5, help="milliseconds of a read of the source")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each way")
    parser.add_argument("flash", type=Path, help="a directory of the flash")
    args = parser.parse_args()
    programs, times = {"fio": fio, "sqlite": sqlite, "git": git}, {}
    with tempfile.TemporaryDirectory(dir=args.flash) as place:
        place = Path(place).resolve()
        for name in "source", "slow":
            (place / name).mkdir()
        fill(place / "source" / "file", 64)
        make_database(place / "source" / "database")
        make_checkout(place / "source" / "checkout")
        slow = [sys.executable, "-c", SLOW, place / "source", place / "slow", str(args.delay / 1000)]
        slow = subprocess.Popen([str(word) for word in slow], start_new_session=True)
        mounted(place / "slow")
        level = "--flash", place / "flash", "--size", "256M", "--admission", "all"
        ways = {"directory": Plain, "bindfs": Bindfs, "flash level": lambda *at: Mount(*at, *level)}
        try:
            for _ in range(args.repeat):
                for name, way in ways.items():
                    (place / "flash").unlink(missing_ok=True)
                    mount = way(place, place / "slow")
                    for program, run in programs.items():
                        for turn in "first", "again":
                            times.setdefault((program, name, turn), []).append(timed(run, mount.point))
                    mount.end()
        finally:
            subprocess.run(["fusermount3", "-u", place / "slow"])
            slow.wait()
    for (program, name, turn), taken in times.items():
        print(f"{program}, {name}, {turn}: {statistics.median(taken):.2f} s ({min(taken):.2f} to {max(taken):.2f})")


if __name__ == "__main__":
    main()
