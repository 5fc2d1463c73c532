#!/usr/bin/python3
"""Looks for a wrong byte below `terrace mount`: fsx, and programs whose mount is killed again and again.

Usage: soak-mount.py [--seconds N] [--seed N] [--fsx PROGRAM] [--only fsx|crashes|writers] [--kind KIND]
                     [--file-system ext4|xfs|btrfs|overlay] DIRECTORY

Writers of every kind change files of ext4, XFS and btrfs, below the mount, through it, and both at once
(`mount_writers.py`); the mount is killed and ended in between, and must say what the source says. Above overlayfs the
mount keeps pages of files that have rested for 140 s alone: so each round there begins with a rest.
The modes share the time of each part. fsx is stopped for a moment again and again: pages of a file that has just
changed are refused, so a file that changes all the time never reaches the flash. Programs write, truncate and read
files, also behind the mount, while the mount is killed (`kill -9`) and mounted again above the same flash; whatever is
read must be what was written last. Needs root and fuse3; fsx is left out where it is not installed
(cargo install fsx).
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mount_writers import KINDS, Writer

ROOT = Path(__file__).resolve().parent.parent
TERRACE = Path(os.environ.get("TERRACE") or ROOT / "target" / "release" / "terrace")
PAGE = 4096
# Longer than the time in which two changes may have the same time.
SETTLED = 0.025

# Longer than the mount may take to see a change of others.
SEEN = 1.5

# What each mode is mounted with; one without a flash level has the kernel read and write by itself, where it can, but
# for small files where names are kept.
MODES = {"victim": ["--admission", "all"], "exact": ["--mode", "exact", "--dram", "256K"], "bare": [],
         "kept": ["--attributes", "1s"]}
WITH_FLASH = "victim", "exact"

# Files beside those of writers, more than a mount may have descriptors for in exact mode: it closes those of writers'
# files, and has to find the files again.
CROWD, DESCRIPTORS = 400, 600
FEW = ["setpriv", "--bounding-set", "-sys_resource", "prlimit", f"--nofile={DESCRIPTORS}:{DESCRIPTORS}"]

# Without sendfile: fsx waits for the rest for ever if a stop has interrupted it.
FSX = """
flen = {bytes}
[opsize]
min = 1
max = 65536
[weights]
close_open = 1.0
invalidate = 1.0
mapread = 10.0
mapwrite = 0.3
read = 30.0
write = 0.3
truncate = 0.1
fsync = 0.1
fdatasync = 0.1
punch_hole = 0.1
posix_fallocate = 0.1
posix_fadvise = 10.0
copy_file_range = 0.1
"""


class Mount:
    """A mount that can be killed."""

    def __init__(self, place, mode, mebibytes):
        self.place, self.point, self.json = place, place / "mounted", place / "mount.json"
        flash = ["--flash", place / "flash", "--size", f"{mebibytes}M"] if mode in WITH_FLASH else []
        few = FEW if mode == "exact" else []
        self.words = [*few, TERRACE, "mount", "-q", *flash, *MODES[mode], "--json", self.json, place / "source", self.point]
        self.start()

    def start(self):
        # Other runs have journals of their own.
        os.environ["TERRACE_STATE_DIR"] = str(self.place / "state")
        self.process = subprocess.Popen([str(word) for word in self.words], start_new_session=True)
        while not os.path.ismount(self.point):
            if self.process.poll() is not None:
                sys.exit("soak-mount: the mount has ended")
            time.sleep(0.01)

    def status(self):
        shown = subprocess.run([TERRACE, "mount", "--status", self.point, "--json", "-"], capture_output=True)
        return json.loads(shown.stdout)["figures"] if shown.returncode == 0 else None

    def kill(self):
        self.process.kill()
        self.process.wait()
        subprocess.run([TERRACE, "doctor", "--clean"], stdout=subprocess.DEVNULL)

    def end(self):
        self.process.terminate()
        self.process.wait()
        return json.loads(self.json.read_text())["figures"]


def new_place(directory):
    place = Path(tempfile.mkdtemp(dir=directory))
    for name in "source", "mounted", "state":
        (place / name).mkdir()
    # A writer that makes a file while nothing is mounted would have the next mount refused.
    make_fixed(place, "+i")
    return place


def make_fixed(place, how):
    """Has no file be made in the mountpoint itself, or has it again, where the file system can do that."""
    subprocess.run(["chattr", how, place / "mounted"], stderr=subprocess.DEVNULL)


def remove(place):
    make_fixed(place, "-i")
    shutil.rmtree(place)


def fsx(program, place, mode, seconds, seed, bytes_=2 << 20, operations=2000):
    """Runs fsx in rounds; returns what was done."""
    (place / "fsx.toml").write_text(FSX.format(bytes=bytes_))
    mount, until = Mount(place, mode, 16), time.monotonic() + seconds
    rounds = 0
    while time.monotonic() < until:
        words = [program, "-q", "-q", "-f", place / "fsx.toml", "-P", place, "-N", operations, "-S", seed + rounds,
                 mount.point / "file"]
        running = subprocess.Popen([str(word) for word in words], stdout=subprocess.DEVNULL)
        while running.poll() is None:
            time.sleep(0.01)
            running.send_signal(signal.SIGSTOP)
            time.sleep(SETTLED)
            running.send_signal(signal.SIGCONT)
        if running.returncode:
            sys.exit(f"soak-mount: fsx found a wrong byte in mode {mode} with seed {seed + rounds}; see {place}")
        rounds += 1
    figures = mount.end()
    return {"operations": rounds * operations, **counted(figures)}


def counted(figures):
    flash = figures["flash"]
    return {"flash_hits": flash["hits"], "flash_misses": flash["misses"], "dram_hits": figures["dram_hits"] or 0,
            "admitted": flash["admitted"], "refused_changed": flash["refused_changed"], "segments": flash["segments"],
            "damaged": flash["damaged"], "changed_behind": flash["changed_behind"]}


class Program(threading.Thread):
    """Writes and reads files of its own, and knows what they hold."""

    def __init__(self, place, number, seed, pages=256, files=4):
        super().__init__()
        self.place, self.draw, self.pages = place, random.Random(f"{seed}/{number}"), pages
        self.names = [f"{number}-{at}" for at in range(files)]
        self.held = {}
        self.done = {"reads": 0, "writes": 0, "behind": 0, "failed": 0}
        self.stop, self.wrong = threading.Event(), None
        for name in self.names:
            self.held[name] = self.draw.randbytes(pages * PAGE)
            (place / "source" / name).write_bytes(self.held[name])

    def run(self):
        while not self.stop.is_set() and self.wrong is None:
            name = self.draw.choice(self.names)
            for _ in range(self.draw.randrange(3)):
                self.change(name, self.draw.random() < 0.1)
            time.sleep(SETTLED)
            for _ in range(self.draw.randrange(1, 60)):
                self.read(self.draw.choice(self.names))

    def change(self, name, behind):
        """Changes a file, below the mount or behind it; a change that fails may have been made all the same."""
        path = self.place / ("source" if behind else "mounted") / name
        held, at = self.held[name], self.draw.randrange(self.pages * PAGE)
        data = self.draw.randbytes(self.draw.choice([1, 100, PAGE, 3 * PAGE, 20 * PAGE]))
        is_cut = self.draw.random() < 0.1
        after = held[:at].ljust(at, b"\0") + (b"" if is_cut else data + held[at + len(data):])
        try:
            with open(path, "r+b", buffering=0) as file:
                if is_cut:
                    file.truncate(at)
                else:
                    assert os.pwrite(file.fileno(), data, at) == len(data)
            self.held[name] = after
            self.done["behind" if behind else "writes"] += 1
        except OSError:
            self.done["failed"] += 1
            now = (self.place / "source" / name).read_bytes()
            # Requests of the kernel have a bounded number of bytes, each of which was made or not.
            if not is_mixed(now, held, after):
                self.wrong = f"a write to {name} that failed left something else"
            self.held[name] = now
        if behind:
            # As long as the kernel takes attributes for right.
            time.sleep(1.1)

    def read(self, name):
        at = self.draw.randrange(self.pages) * PAGE
        bytes_ = self.draw.choice([1, 8, 32]) * PAGE
        try:
            with open(self.place / "mounted" / name, "rb", buffering=0) as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                found = os.pread(file.fileno(), bytes_, at)
        except OSError:
            self.done["failed"] += 1
            time.sleep(0.01)
            return
        self.done["reads"] += 1
        wanted = self.held[name][at:at + bytes_]
        if found != wanted:
            source = (self.place / "source" / name).read_bytes()[at:at + bytes_]
            pages = [page for page in range(bytes_ // PAGE)
                     if found[page * PAGE:(page + 1) * PAGE] != wanted[page * PAGE:(page + 1) * PAGE]]
            self.wrong = (f"{name}, {bytes_} bytes from {at}, of {len(self.held[name])}: {len(found)} bytes, of which pages {pages} are not what "
                          f"was written last, which the source {'has' if source == wanted else 'has not'}")


def is_mixed(now, before, after):
    """Whether each page is as before or as after a change, which may have ended in between."""
    sizes = sorted((len(before), len(after)))
    parts = ((now[at:at + PAGE], slice(at, at + PAGE)) for at in range(0, len(now), PAGE))
    return sizes[0] <= len(now) <= sizes[1] and all(
        part == before[page] or part == after[page][:len(part)] for part, page in parts)


def crashes(place, mode, seconds, seed, programs=3):
    """Kills the mount below programs; returns what was done."""
    running = [Program(place, number, seed) for number in range(programs)]
    draw, until, kills, total = random.Random(seed), time.monotonic() + seconds, 0, {}
    # Less than the files have, so that segments are emptied.
    mount = Mount(place, mode, 8)
    for program in running:
        program.start()
    while time.monotonic() < until and not any(program.wrong for program in running):
        time.sleep(draw.uniform(0.5, 4))
        figures = mount.status()
        mount.kill()
        kills += 1
        mount.start()
        for name, value in (counted(figures) if figures else {}).items():
            total[name] = total.get(name, 0) + value
    for program in running:
        program.stop.set()
    for program in running:
        program.join()
    mount.end()
    for program in running:
        if program.wrong:
            sys.exit(f"soak-mount: mode {mode}, seed {seed}: {program.wrong}; see {place}")
    done = {name: sum(program.done[name] for program in running) for name in running[0].done}
    return {"kills": kills, **done, **total}


FILE_SYSTEMS = {"ext4": ["-q", "-F"], "xfs": ["-q", "-f"], "btrfs": ["-q", "-f"]}


class FileSystem:
    """A file system of its own on a file, for the source."""

    # Seconds for which a file has to be as it is before the mount keeps pages of it.
    rest = 0

    def __init__(self, kind, place):
        self.at, image = place / "source", place / "image"
        with open(image, "wb") as file:
            file.truncate(400 << 20)
        subprocess.run([f"mkfs.{kind}", *FILE_SYSTEMS[kind], image], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["mount", "-o", "loop", "-t", kind, image, self.at], check=True)

    def sync(self):
        subprocess.run(["sync", "-f", self.at], check=True)

    def end(self):
        subprocess.run(["umount", "-l", self.at], check=True)


class Overlay:
    """An overlay of two directories, for the source."""

    rest = 141

    def __init__(self, place):
        self.at = place / "source"
        lower, upper, work = (place / name for name in ("lower", "upper", "work"))
        for directory in lower, upper, work:
            directory.mkdir()
        layers = f"lowerdir={lower},upperdir={upper},workdir={work}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, self.at], check=True)

    sync, end = FileSystem.sync, FileSystem.end


def writers(place, file_system, mode, seconds, seed, kinds):
    """Has writers of every kind change files, and kills and ends the mount between; returns what was done."""
    below = Overlay(place) if file_system == "overlay" else FileSystem(file_system, place)
    try:
        draw, mount = random.Random(f"{seed}/{file_system}/{mode}"), Mount(place, mode, 32)
        (place / "source" / "crowd").mkdir()
        for number in range(CROWD):
            (place / "source" / "crowd" / str(number)).touch()
        crowd = place / "mounted" / "crowd"
        running = [Writer(place, kind, side, random.Random(f"{seed}/{kind}/{side}"))
                   for kind in kinds for side in ("source", "mount", "both")]
        done = {"rounds": 0, "kills": 0, "ends": 0}
        total, until = {}, time.monotonic() + seconds
        while time.monotonic() < until or done["rounds"] == 0:
            if below.rest and mode in WITH_FLASH:
                time.sleep(below.rest)
                for writer in running:
                    writer.look()
            for name in os.listdir(crowd):
                os.stat(crowd / name)
            kept = [os.open(writer.above, os.O_RDONLY) for writer in running]
            how = draw.choice(["", "", "", "end", "kill", "kill beside"])
            with ThreadPoolExecutor(len(running)) as pool:
                # A store to a mapping of a mount that is gone ends the program.
                can = [writer for writer in running if how != "kill beside" or not writer.maps_the_mount]
                each = [pool.submit(writer.run) for writer in can]
                if how == "kill beside":
                    time.sleep(draw.uniform(0.1, 0.6))
                    mount.kill()
                    mount.start()
                    done["kills"] += 1
                for one in each:
                    one.result()
            below.sync()
            time.sleep(SEEN)
            for writer, fd in zip(running, kept):
                writer.check(fd if how != "kill beside" else None)
                os.close(fd)
            figures = mount.status()
            if how in ("kill", "end"):
                (mount.kill if how == "kill" else mount.end)()
                mount.start()
                done[f"{how}s"] += 1
                for writer in running:
                    writer.check(None)
            for name, value in (counted(figures) if figures and how else {}).items():
                total[name] = total.get(name, 0) + value
            done["rounds"] += 1
        for name, value in counted(mount.end()).items():
            total[name] = total.get(name, 0) + value
    finally:
        below.end()
    for writer in running:
        for wrong in writer.wrong[:3]:
            print(f"  WRONG: {writer.kind} ({writer.side}): {wrong}", flush=True)
    by_kind = {kind: sum(writer.rounds for writer in running if writer.kind == kind) for kind in kinds}
    wrong = {kind: sum(len(writer.wrong) for writer in running if writer.kind == kind) for kind in kinds}
    return {**done, **total, "checks": sum(writer.checks for writer in running),
            "looks": sum(writer.looks for writer in running), "failed": sum(writer.failed for writer in running),
            "changes": by_kind, "absent": [f"{writer.kind} ({writer.side})" for writer in running if writer.absent],
            "wrong": {kind: count for kind, count in wrong.items() if count}}


def soak_writers(directory, seconds, seed, kinds, file_systems):
    """Returns whether no mount was wrong."""
    right = True
    for file_system in file_systems:
        if file_system in FILE_SYSTEMS and not shutil.which(f"mkfs.{file_system}"):
            print(f"soak-mount: LEFT OUT: {file_system}: there is no mkfs.{file_system}", file=sys.stderr)
            continue
        for mode in MODES:
            place = new_place(directory)
            each = seconds / len(MODES) / len(file_systems)
            done = writers(place, file_system, mode, each, seed, kinds)
            print("writers", file_system, mode, json.dumps(done), flush=True)
            right &= not done["wrong"]
            remove(place)
    return right


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=3600, help="of each part")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--fsx", default=shutil.which("fsx"))
    parser.add_argument("--only", choices=["fsx", "crashes", "writers"])
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="of writers; all by default")
    parser.add_argument("--file-system", action="append", choices=[*FILE_SYSTEMS, "overlay"],
                        help="below the mount; all on local disks by default")
    parser.add_argument("directory", type=Path)
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    if args.only in (None, "writers"):
        file_systems = args.file_system or list(FILE_SYSTEMS)
        if not soak_writers(args.directory, args.seconds, args.seed, args.kind or list(KINDS), file_systems):
            sys.exit("soak-mount: the mount said something else than the source")
    for mode in MODES:
        if args.only in (None, "fsx"):
            if args.fsx:
                place = new_place(args.directory)
                print("fsx", mode, json.dumps(fsx(args.fsx, place, mode, args.seconds / len(MODES), args.seed)), flush=True)
                remove(place)
            else:
                print("soak-mount: LEFT OUT: fsx is not installed (cargo install fsx)", file=sys.stderr)
        if args.only in (None, "crashes"):
            place = new_place(args.directory)
            print("crashes", mode, json.dumps(crashes(place, mode, args.seconds / len(MODES), args.seed)), flush=True)
            remove(place)


main()
