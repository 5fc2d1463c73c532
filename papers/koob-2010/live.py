"""Runs PostMark of the slides through `terrace mount` in exact mode, and simulates what it asked for.

Usage: live.py [--repeat N]    as root, with fuse3, postmark and python3-fusepy

A disk of its own, in Python, seeks in 8 ms and transfers 100 MB/s, as in the simulations; a part of the slides' files,
transactions and memories is run, once above a disk that takes no time and once with each flash, all in turn. Results
are in live.json.
"""

import argparse
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
DRAM_GB, FLASH_GB, SLOW_DOWNS = 1, 4, [1, 10, 100]

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
FUSE(Disk(), point, foreground=True, direct_io=True, use_ino=True, big_writes=True, max_read=131072)
"""
SEEK, RATE = 8e-3, 100e6

# Unbuffered, so that requests are those of the simulated PostMark.
SCRIPT = """set location {point}
set number {files}
set transactions {transactions}
set size {least_bytes} {most_bytes}
set read 131072
set write 131072
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


def size(gigabytes):
    return f"{(gigabytes << 30) // 4096 // PART}p"


def run(place, paper, factor, *disk_times):
    """Runs PostMark; returns its time and rate, the levels' hit rates, and the same of a simulation of its requests."""
    for name in "source", "disk", "point":
        (place / name).mkdir()
    json_file, trace = place / "mount.json", place / "trace.parquet"
    words = [common.PYTHON, "-c", DISK, place / "source", place / "disk", *disk_times]
    disk = subprocess.Popen([str(word) for word in words], start_new_session=True)
    mounted(place / "disk")
    kib = {gigabytes: f"{(gigabytes << 20) // PART}K" for gigabytes in (DRAM_GB, FLASH_GB)}
    flash = ["--emulate", f"{factor},{factor}", "--size", kib[FLASH_GB]] if factor else []
    command = [common.TERRACE, "mount", "-q", "--mode", "exact", "--dram", kib[DRAM_GB], *flash, "--record", trace,
               "--json", json_file, place / "disk", place / "point"]
    mount = subprocess.Popen([str(word) for word in command], start_new_session=True)
    mounted(place / "point")
    script = SCRIPT.format(point=place / "point", **scaled(paper["postmark"]))
    began = time.monotonic()
    done = subprocess.run(["postmark"], input=script, text=True, capture_output=True, check=True, cwd=place)
    seconds = time.monotonic() - began
    assert "Error" not in done.stdout + done.stderr, done.stdout[-500:] + done.stderr[-500:]
    mount.send_signal(signal.SIGTERM)
    mount.wait()
    subprocess.run(["fusermount3", "-u", place / "disk"], check=True)
    disk.wait()
    figures = json.loads(json_file.read_text())["figures"]
    simulated = simulate(trace, factor)
    reads = figures["dram_hits"] + figures["dram_misses"]
    megabytes = float(re.search(r"([\d.]+) megabytes read", done.stdout)[1])
    return {
        "factor": factor, "seconds": seconds, "read_bytes": megabytes * 1e6,
        "dram_hit_rate": figures["dram_hits"] / reads,
        "flash_hit_rate": figures["flash"]["hits"] / figures["dram_misses"] if factor else None,
        "simulated": {"seconds": simulated["time_ns"] / 1e9} | {
            name: simulated[name] for name in ("dram_hit_rate", "flash_hit_rate")},
    }


def scaled(postmark):
    sizes = {name: postmark[name] for name in ("least_bytes", "most_bytes")}
    return sizes | {name: postmark[name] // PART for name in ("files", "transactions")}


def simulate(trace, factor):
    flash = ["--flash-size", size(FLASH_GB), "--flash-slow-down", str(factor)] if factor else ["--flash-size", "off"]
    # A reader of the mount waits while pages that it evicts are written.
    command = [common.TERRACE, "sim", "files", "--quiet", "--json=-", "--dram", size(DRAM_GB), "--writes", "around",
               "--memory", "dram", "--admission", "all", "--write-buffer", "0", *flash, trace]
    return common.output_json(command)["runs"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3, help="runs of each kind")
    args = parser.parse_args()
    paper = json.loads((FOLDER / "paper.json").read_text())
    work = common.work_directory(FOLDER)
    work.mkdir(parents=True, exist_ok=True)
    kinds = [("programs", None, 0, "inf")] + [("disk", factor, SEEK, RATE) for factor in [None, *SLOW_DOWNS]]
    runs = {"programs": [], "disk": []}
    for _ in range(args.repeat):
        for name, factor, *disk_times in kinds:
            say(f"running PostMark, flash {f'at factor {factor}' if factor else 'off'}, {name}")
            place = Path(tempfile.mkdtemp(dir=work))
            os.environ["TERRACE_STATE_DIR"] = str(place)
            try:
                runs[name].append(run(place, paper, factor, *disk_times))
            finally:
                shutil.rmtree(place, ignore_errors=True)
            common.write_json(FOLDER / "live.json", {"part": PART, "dram_gb": DRAM_GB, "flash_gb": FLASH_GB, **runs})


if __name__ == "__main__":
    main()
