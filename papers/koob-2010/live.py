"""Runs PostMark of the slides through `terrace mount` in exact mode, and simulates what it asked for.

Usage: live.py    as root, with fuse3, postmark and python3-fusepy

A disk of its own, in Python, seeks in 8 ms and transfers 100 MB/s, as in the simulations; a part of the slides' files,
transactions and memories is run. Results are in live.json.
"""

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
DRAM_GB, FLASH_GB, SLOW_DOWNS = [1, 2], 4, [1, 100]

# Waits as a disk does, while a lock is held: there is one head.
DISK = """
import os, sys, threading, time
from fusepy import FUSE, Operations
SEEK, RATE = 8e-3, 100e6
source, point = sys.argv[1:]
class Disk(Operations):
    head, ends = threading.Lock(), (None, 0)
    def wait(self, path, offset, size):
        with self.head:
            seek = 0 if self.ends == (path, offset) else SEEK
            self.ends = path, offset + size
            time.sleep(seek + size / RATE)
    def getattr(self, path, handle=None):
        found = os.lstat(source + path)
        keys = 'st_atime', 'st_ctime', 'st_gid', 'st_mode', 'st_mtime', 'st_nlink', 'st_size', 'st_uid', 'st_ino'
        return {key: getattr(found, key) for key in keys}
    def readdir(self, path, handle): return ['.', '..', *os.listdir(source + path)]
    def open(self, path, flags): return os.open(source + path, flags & ~os.O_APPEND)
    def create(self, path, mode, info=None): return os.open(source + path, os.O_RDWR | os.O_CREAT, mode)
    def read(self, path, size, offset, handle):
        found = os.pread(handle, size, offset)
        self.wait(path, offset, len(found))
        return found
    def write(self, path, data, offset, handle):
        self.wait(path, offset, len(data))
        return os.pwrite(handle, data, offset)
    def truncate(self, path, length, handle=None): os.truncate(source + path, length)
    def unlink(self, path): os.unlink(source + path)
    def release(self, path, handle): os.close(handle)
FUSE(Disk(), point, foreground=True, direct_io=True, use_ino=True, big_writes=True, max_read=131072)
"""

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


def run(place, paper, dram, factor):
    """Runs PostMark; returns its rates, the levels' hit rates, and the same of a simulation of its requests."""
    for name in "source", "disk", "point":
        (place / name).mkdir()
    json_file, trace = place / "mount.json", place / "trace.parquet"
    disk = subprocess.Popen([common.PYTHON, "-c", DISK, place / "source", place / "disk"], start_new_session=True)
    mounted(place / "disk")
    kib = {gigabytes: f"{(gigabytes << 20) // PART}K" for gigabytes in (dram, FLASH_GB)}
    flash = ["--emulate", f"{factor},{factor}", "--size", kib[FLASH_GB]] if factor else []
    command = [common.TERRACE, "mount", "-q", "--mode", "exact", "--dram", kib[dram], *flash, "--record", trace,
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
    simulated = simulate(trace, dram, factor)
    reads = figures["dram_hits"] + figures["dram_misses"]
    megabytes = float(re.search(r"([\d.]+) megabytes read", done.stdout)[1])
    return {
        "dram_gb": dram, "factor": factor, "seconds": seconds,
        "live": {"read_rate": megabytes * 1e6 / seconds, "dram_hit_rate": figures["dram_hits"] / reads,
                 "flash_hit_rate": figures["flash"]["hits"] / figures["dram_misses"] if factor else None},
        "simulated": {name: simulated[name] for name in ("read_rate", "dram_hit_rate", "flash_hit_rate")},
    }


def scaled(postmark):
    sizes = {name: postmark[name] for name in ("least_bytes", "most_bytes")}
    return sizes | {name: postmark[name] // PART for name in ("files", "transactions")}


def simulate(trace, dram, factor):
    flash = ["--flash-size", size(FLASH_GB), "--flash-slow-down", str(factor)] if factor else ["--flash-size", "off"]
    command = [common.TERRACE, "sim", "files", "--quiet", "--json=-", "--dram", size(dram), "--writes", "around",
               "--memory", "dram", "--admission", "all", *flash, trace]
    return common.output_json(command)["runs"][0]


def main():
    if sys.argv[1:]:
        sys.exit(__doc__)
    paper = json.loads((FOLDER / "paper.json").read_text())
    work, runs = common.work_directory(FOLDER), []
    work.mkdir(parents=True, exist_ok=True)
    for dram in DRAM_GB:
        for factor in [None, *SLOW_DOWNS]:
            say(f"running PostMark with DRAM for {dram} GB, flash {f'at factor {factor}' if factor else 'off'}")
            place = Path(tempfile.mkdtemp(dir=work))
            os.environ["TERRACE_STATE_DIR"] = str(place)
            try:
                runs.append(run(place, paper, dram, factor))
            finally:
                shutil.rmtree(place, ignore_errors=True)
            common.write_json(FOLDER / "live.json", {"part": PART, "flash_gb": FLASH_GB, "runs": runs})


if __name__ == "__main__":
    main()
