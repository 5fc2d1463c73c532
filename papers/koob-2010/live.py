"""Runs PostMark of the slides through `terrace mount` in exact mode, and simulates what it asked for.

Usage: live.py [--repeat N] [--dram GB ...] [--series | --whole] [--add]    as root, with fuse3, postmark and python3-fusepy

A disk of its own, in Python, seeks in 8 ms and transfers 100 MB/s, as in the simulations; a part of the slides' files,
transactions and memories is run with each size of DRAM, once above a disk that takes no time and once with each flash,
all in turn. Results are in live.json.
"""

import argparse
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent)]

import common  # noqa: E402
from common import say  # noqa: E402

PART = 64
DRAM_GB, FLASH_GB, SLOW_DOWNS = [1, 2, 4], 4, [1, 10, 100]
# Of the series of processes: its DRAM, its flash, and seconds between two looks at what the levels have served.
SERIES_DRAM_GB, SERIES_FACTOR, LOOK = 2, 1, 0.5
# Of the run at the slides' own size: its DRAM, and its flash.
WHOLE_DRAM_GB, WHOLE_FACTORS = 1, [None, 1]

# Ends each request when a disk would, which counts from when it came or the head was free: what Python takes for it
# is within that. Reads and writes each go on where the last of their kind ended, as in the simulation.
DISK = """
import os, sys, threading, time
from fusepy import FUSE, Operations
source, point, seek, rate = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
class Disk(Operations):
    head, free, ends = threading.Lock(), 0.0, {}
    def serve(self, kind, path, offset, size, act):
        came = time.monotonic()
        with self.head:
            begins, moves = max(came, self.free), self.ends.get(kind) != (path, offset)
            done = act()
            self.ends[kind] = path, offset + size
            self.free = begins + moves * seek + size / rate
            # The kernel wakes a sleeper a little late.
            time.sleep(max(0, self.free - time.monotonic() - 1e-4))
            while time.monotonic() < self.free: pass
            return done
    def getattr(self, path, handle=None):
        found = os.lstat(source + path)
        keys = 'st_atime', 'st_ctime', 'st_gid', 'st_mode', 'st_mtime', 'st_nlink', 'st_size', 'st_uid', 'st_ino'
        return {key: getattr(found, key) for key in keys}
    def readdir(self, path, handle): return ['.', '..', *os.listdir(source + path)]
    def open(self, path, flags): return os.open(source + path, flags & ~os.O_APPEND)
    def create(self, path, mode, info=None): return os.open(source + path, os.O_RDWR | os.O_CREAT, mode)
    def read(self, path, size, offset, handle):
        size = max(0, min(size, os.fstat(handle).st_size - offset))
        return self.serve('read', path, offset, size, lambda: os.pread(handle, size, offset))
    def write(self, path, data, offset, handle):
        return self.serve('write', path, offset, len(data), lambda: os.pwrite(handle, data, offset))
    def truncate(self, path, length, handle=None): os.truncate(source + path, length)
    def unlink(self, path): os.unlink(source + path)
    def release(self, path, handle): os.close(handle)
FUSE(Disk(), point, foreground=True, direct_io=True, use_ino=True, hard_remove=True, big_writes=True, max_read=131072)
"""
SEEK, RATE = 8e-3, 100e6

# Unbuffered, so that requests are those of the simulated PostMark.
SCRIPT = """set location {point}
set number {files}
set transactions {transactions}
set size {least_bytes} {most_bytes}
set read 131072
set write 131072
set seed {seed}
set buffering false
set bias read 8
set bias create 6
run
quit
"""


def mounted(point):
    for _ in range(400):
        if os.path.ismount(point):
            return
        time.sleep(0.05)
    sys.exit(f"live.py: {point} was not mounted")


def started(words):
    return subprocess.Popen([str(word) for word in words], start_new_session=True)


def size(gigabytes):
    return f"{(gigabytes << 30) // 4096 // PART}p"


def kibibytes(gigabytes):
    return f"{(gigabytes << 20) // PART}K"


class Levels:
    """A disk, and a mount in exact mode above it."""

    def __init__(self, place, dram_gb, factor, seek, rate):
        self.place, self.point, self.factor, self.dram_gb = place, place / "point", factor, dram_gb
        self.json, self.trace = place / "mount.json", place / "trace.parquet"
        for name in "source", "disk", "point":
            (place / name).mkdir()
        self.disk = started([common.PYTHON, "-c", DISK, place / "source", place / "disk", seek, rate])
        mounted(place / "disk")
        flash = ["--emulate", f"{factor},{factor}", "--size", kibibytes(FLASH_GB)] if factor else []
        self.mount = started([common.TERRACE, "mount", "-q", "--mode", "exact", "--dram", kibibytes(dram_gb), *flash,
                              "--record", self.trace, "--json", self.json, place / "disk", self.point])
        mounted(self.point)

    def postmark(self, paper, seed=42):
        """Starts PostMark."""
        script = self.place / "script"
        script.write_text(SCRIPT.format(point=self.point, seed=seed, **scaled(paper["postmark"])))
        self.said = self.place / "said"
        with open(script) as given, open(self.said, "w") as said:
            return subprocess.Popen(["postmark"], stdin=given, stdout=said, stderr=subprocess.STDOUT, cwd=self.place)

    def read_bytes(self):
        """Returns what PostMark, which has ended, says to have read."""
        said = self.said.read_text()
        assert "Error" not in said, said[-500:]
        return float(re.search(r"([\d.]+) megabytes read", said)[1]) * 1e6

    def figures(self):
        shown = [common.TERRACE, "mount", "--status", self.point, "--json", "-"]
        return json.loads(subprocess.run(shown, capture_output=True, check=True).stdout)["figures"]

    def end(self):
        """Returns what the mount has done."""
        self.mount.send_signal(signal.SIGTERM)
        self.mount.wait()
        subprocess.run(["fusermount3", "-u", self.place / "disk"], check=True)
        self.disk.wait()
        return json.loads(self.json.read_text())["figures"]

    def simulate(self):
        """Simulates what the mount has recorded."""
        flash = ["--flash-size", size(FLASH_GB), "--flash-slow-down", str(self.factor)] if self.factor else []
        # A reader of the mount waits while pages that it evicts are written.
        command = [common.TERRACE, "sim", "files", "--quiet", "--json=-", "--dram", size(self.dram_gb), "--writes",
                   "around", "--memory", "dram", "--admission", "all", "--write-buffer", "0", *flash, self.trace]
        return common.output_json(command)["runs"][0]


def run(place, paper, dram_gb, factor, *disk_times):
    """Runs PostMark; returns its time, what the levels served, and the same of a simulation of its requests."""
    levels = Levels(place, dram_gb, factor, *disk_times)
    began = time.monotonic()
    assert levels.postmark(paper).wait() == 0
    seconds = time.monotonic() - began
    figures, simulated = levels.end(), levels.simulate()
    return {
        "dram_gb": dram_gb, "factor": factor, "seconds": seconds, "read_bytes": levels.read_bytes(),
        "dram_hit_rate": figures["dram_hits"] / (figures["dram_hits"] + figures["dram_misses"]),
        "flash_hit_rate": figures["flash"]["hits"] / figures["dram_misses"] if factor else None,
        "flash_page_ns": figures["flash_ns"],
        "simulated": {
            "seconds": simulated["time_ns"] / 1e9, "dram_hit_rate": simulated["dram_hit_rate"],
            "flash_hit_rate": simulated["flash_hit_rate"] if factor else None,
            "flash_page_ns": simulated["settings"]["flash_read_ns"] * factor if factor else None},
    }


def series(place, paper):
    """Runs PostMark several times in a row; returns what the levels had served at each look and after each process, and
    the course of a simulation of the requests."""
    levels, looks, ends = Levels(place, SERIES_DRAM_GB, SERIES_FACTOR, SEEK, RATE), [], []
    for process in range(paper["series"]["processes"]):
        running = levels.postmark(paper, seed=42 + process)
        while running.poll() is None:
            time.sleep(LOOK)
            looks.append(served(levels.figures()))
        assert running.returncode == 0
        levels.read_bytes()
        ends.append(served(levels.figures()))
    levels.end()
    epochs = [{name: epoch[name] for name in ("reads", "dram_miss_rate", "flash_miss_rate")}
              for epoch in levels.simulate()["timeline"]]
    return {"dram_gb": SERIES_DRAM_GB, "factor": SERIES_FACTOR, "looks": looks, "ends": ends, "simulated": epochs}


def served(figures):
    return {"reads": figures["dram_hits"] + figures["dram_misses"], "dram_misses": figures["dram_misses"],
            "disk_reads": figures["dram_misses"] - figures["flash"]["hits"]}


def scaled(postmark):
    sizes = {name: postmark[name] for name in ("least_bytes", "most_bytes")}
    return sizes | {name: postmark[name] // PART for name in ("files", "transactions")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3, help="runs of each kind")
    parser.add_argument("--dram", type=int, nargs="+", default=DRAM_GB, help="gigabytes of the slides")
    parser.add_argument("--series", action="store_true", help="run the series of processes alone")
    parser.add_argument("--whole", action="store_true", help="run once at the slides' own size alone (an hour)")
    parser.add_argument("--add", action="store_true", help="keep the runs that live.json has")
    args = parser.parse_args()
    paper = json.loads((FOLDER / "paper.json").read_text())
    results = {"part": PART, "flash_gb": FLASH_GB, "runs": []}
    if args.add or args.series or args.whole:
        results = json.loads((FOLDER / "live.json").read_text())
    if args.series:
        say("running PostMark five times in a row")
        results["series"] = in_a_place(series, paper)
        return common.write_json(FOLDER / "live.json", results)
    if args.whole:
        return whole(paper, results)
    kinds = [(None, 0, "inf")] + [(factor, SEEK, RATE) for factor in [None, *SLOW_DOWNS]]
    for _ in range(args.repeat):
        for dram_gb, (factor, *disk_times) in itertools.product(args.dram, kinds):
            say(f"running PostMark, DRAM of {dram_gb} GB, flash {f'at factor {factor}' if factor else 'off'}, "
                f"disk with a seek of {disk_times[0]} s")
            found = in_a_place(run, paper, dram_gb, factor, *disk_times)
            results["runs"].append({"disk": disk_times[0] > 0} | found)
            common.write_json(FOLDER / "live.json", results)


def whole(paper, results):
    """Runs PostMark once at the slides' own size, without flash and with it."""
    global PART
    PART, results["whole"] = 1, []
    for factor in WHOLE_FACTORS:
        say(f"running PostMark at its own size, flash {f'at factor {factor}' if factor else 'off'}")
        results["whole"].append(in_a_place(run, paper, WHOLE_DRAM_GB, factor, SEEK, RATE))
        common.write_json(FOLDER / "live.json", results)


def in_a_place(act, *given):
    """Calls `act` with a new directory."""
    work = common.work_directory(FOLDER)
    work.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=work))
    os.environ["TERRACE_STATE_DIR"] = str(place)
    try:
        return act(place, *given)
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
