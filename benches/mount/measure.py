#!/usr/bin/python3
"""Random reads through `terrace mount`, with a slow source below it.

Usage: measure.py [--mib MIB] [--reads READS] [--delay MS] [--repeat N] FLASH_DIRECTORY

Reads single pages at random from a file of twice the DRAM, above a source that delays each read: with a flash level in
FLASH_DIRECTORY, after the flash has been filled; with the file itself in that directory, which is the flash alone; and
with the flash level again, after `kill -9` of the mount. Then it reads a file of ten times a small flash once, and says
what was written to it. Needs root, fuse3 and python3-fusepy, in which the delay is.
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TERRACE = ROOT / "target" / "release" / "terrace"
PAGE = 4096

# Passes a directory of files through, and waits before each read.
SLOW = """
import os, sys, time
from fusepy import FUSE, Operations
source, point, delay = sys.argv[1], sys.argv[2], float(sys.argv[3])
class Slow(Operations):
    def getattr(self, path, handle=None):
        keys = 'st_atime', 'st_ctime', 'st_gid', 'st_mode', 'st_mtime', 'st_nlink', 'st_size', 'st_uid'
        found = os.lstat(source + path)
        return {key: getattr(found, key) for key in keys}
    def readdir(self, path, handle):
        return ['.', '..', *os.listdir(source + path)]
    def open(self, path, flags):
        return os.open(source + path, flags)
    def read(self, path, size, offset, handle):
        time.sleep(delay)
        return os.pread(handle, size, offset)
    def release(self, path, handle):
        os.close(handle)
FUSE(Slow(), point, foreground=True, ro=True, max_read=131072)
"""


def mounted(point):
    for _ in range(200):
        if os.path.ismount(point):
            return
        time.sleep(0.05)
    sys.exit(f"measure.py: {point} was not mounted")


class Mount:
    """A mount of terrace, with the figures that it ends with."""

    def __init__(self, place, source, *options):
        self.point, self.json = place / "fast", place / "mount.json"
        self.point.mkdir(exist_ok=True)
        words = [TERRACE, "mount", "-q", *options, "--json", self.json, source, self.point]
        self.process = subprocess.Popen([str(word) for word in words], start_new_session=True)
        mounted(self.point)

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait()
        if how == signal.SIGKILL:
            subprocess.run([TERRACE, "doctor", "--clean"], stdout=subprocess.DEVNULL)
            return None
        return json.loads(self.json.read_text())


def drop_caches():
    os.sync()
    Path("/proc/sys/vm/drop_caches").write_text("1")


def read(path, pages, reads, seed=1):
    """Seconds of random reads of single pages."""
    draw = random.Random(seed)
    drop_caches()
    with open(path, "rb", buffering=0) as file:
        began = time.monotonic()
        for _ in range(reads):
            assert len(os.pread(file.fileno(), PAGE, draw.randrange(pages) * PAGE)) == PAGE
        return time.monotonic() - began


def fill(path, mib):
    with open(path, "wb") as file:
        for _ in range(mib):
            file.write(os.urandom(1 << 20))
    # Changed long enough ago for its pages to be kept.
    os.utime(path, (1_600_000_000, 1_600_000_000))
    time.sleep(0.1)


def scan(path):
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 20):
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mib", type=int, default=128, help="MiB of the file, twice the DRAM")
    parser.add_argument("--reads", type=int, default=20_000, help="random reads of each run")
    parser.add_argument("--delay", type=float, default=5, help="milliseconds of a read of the source")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each way")
    parser.add_argument("flash", type=Path, help="a directory of the flash")
    args = parser.parse_args()
    pages = args.mib << 8
    with tempfile.TemporaryDirectory(dir=args.flash) as place:
        place = Path(place)
        for name in "source", "slow", "alone", "a", "b":
            (place / name).mkdir()
        fill(place / "source" / "file", args.mib)
        fill(place / "alone" / "file", args.mib)
        slow = ["/usr/bin/python3", "-c", SLOW, place / "source", place / "slow", str(args.delay / 1000)]
        slow = subprocess.Popen([str(word) for word in slow], start_new_session=True)
        mounted(place / "slow")
        try:
            measure(args, place, pages)
        finally:
            subprocess.run(["fusermount3", "-u", place / "slow"])
            slow.wait()


def measure(args, place, pages):
    exact = "--mode", "exact", "--dram", f"{args.mib // 2}M"
    level = "--flash", place / "flash", "--size", f"{args.mib * 2}M", *exact
    mount = Mount(place / "a", place / "slow", *level)
    with open(mount.point / "file", "rb", buffering=0) as file:
        for _ in range(2):
            file.seek(0)
            while file.read(1 << 17):
                pass
    mount.end()
    times = {"flash level": [], "flash alone": []}
    for seed in range(args.repeat):
        mount = Mount(place / "a", place / "slow", *level)
        # What an end does not keep is in DRAM alone.
        read(mount.point / "file", pages, args.reads, seed + 100)
        times["flash level"].append(read(mount.point / "file", pages, args.reads, seed))
        figures = mount.end()
        alone = Mount(place / "b", place / "alone", *exact)
        read(alone.point / "file", pages, args.reads, seed + 100)
        times["flash alone"].append(read(alone.point / "file", pages, args.reads, seed))
        alone.end()
    for name, taken in times.items():
        micros = sorted(1e6 * seconds / args.reads for seconds in taken)
        print(f"{name}: {statistics.median(micros):.0f} us a read ({micros[0]:.0f} to {micros[-1]:.0f})")
    ratios = sorted(a / b for a, b in zip(*times.values()))
    print(f"ratio: {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
    print("last figures:", json.dumps(figures)[:1500])
    for how in (signal.SIGTERM, signal.SIGKILL):
        mount = Mount(place / "a", place / "slow", *level)
        seconds = read(mount.point / "file", pages, args.reads // 4, 7)
        mount.end(how)
        mount = Mount(place / "a", place / "slow", *level)
        again = read(mount.point / "file", pages, args.reads // 4, 7)
        mount.end()
        print(f"cold DRAM: {1e6 * seconds / (args.reads // 4):.0f} us a read; after {how.name}: "
              f"{1e6 * again / (args.reads // 4):.0f}")
    (place / "flash").unlink()
    small = "--flash", place / "flash", "--size", f"{args.mib // 8}M"
    fill(place / "alone" / "scanned", args.mib // 8 * 10)
    mount = Mount(place / "b", place / "alone", *small)
    scan(mount.point / "scanned")
    print("one-pass scan of ten times the flash:", json.dumps(mount.end())[:1500])


if __name__ == "__main__":
    main()
