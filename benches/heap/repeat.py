#!/usr/bin/python3
"""Measures Terrace's persistent heap beside libpmemobj, LMDB, redb and a bare loop; see README.md."""

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import bars  # noqa: E402
import jobs  # noqa: E402
import tables  # noqa: E402
from peers import ROOT, Failure, Peers  # noqa: E402

SCHEMA = "terrace.bench-heap/1"
SIZES = [600_000, 1_000_000, 1_500_000]
QUICK_SIZES = [20_000]
REPETITIONS = 5
MEMORY_FOLDER = Path("/dev/shm")
PREFIX = "terrace-bench-heap-"
DIFFERENT = "what the peers read is not the same"


def main():
    args = arguments()
    if args.table:
        results = json.loads(args.table.read_text())
    else:
        results = measure(args)
    print(tables.report(results))
    return 1 if results["failed"] else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="once and with 20,000 entries, to see that it works")
    parser.add_argument("--entries", metavar="N,...", type=sizes, help="sizes of the tables (default: 600000,1000000,1500000)")
    parser.add_argument("--repeat", metavar="N", type=int, help="repetitions, all jobs in turn (default: 5)")
    parser.add_argument("--directory", metavar="DIR", type=Path, default=ROOT / "target", help="where plain files are made (default: target)")
    parser.add_argument("--out", metavar="FILE", type=Path, default=ROOT / "target/bench-heap/results.json")
    parser.add_argument("--table", metavar="FILE", type=Path, help="only print the tables of this results file")
    return parser.parse_args()


def sizes(text):
    found = [int(part) for part in text.split(",")]
    if min(found) < 1:
        raise ValueError
    return found


def measure(args):
    if platform.machine() != "x86_64" or not shutil.which("cc"):
        sys.exit("the peers need an x86-64 processor and a C compiler")
    entries = args.entries or (QUICK_SIZES if args.quick else SIZES)
    repetitions = args.repeat or (1 if args.quick else REPETITIONS)
    amounts = jobs.QUICK if args.quick else jobs.FULL
    peers = Peers(ROOT / "target/bench-heap")
    for sentence in peers.missing:
        progress(f"MISSING: {sentence}")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)
    with pools(MEMORY_FOLDER) as memory, pools(args.directory) as plain:
        results = {"schema": SCHEMA, "about": about(args.directory, peers), "missing": peers.missing, "failed": [], "runs": []}
        refuse_what_does_not_fit(memory, plain, entries)
        folders = {jobs.MEMORY: memory, jobs.COUNTS: memory, jobs.FILE: plain}
        if peers.counter:
            carry_out(jobs.counted(entries[0], amounts), 0, peers, folders, results)
        for repetition in range(repetitions):
            for size in entries:
                carry_out(jobs.measured(size, amounts), repetition, peers, folders, results)
            carry_out(jobs.of_bytes(of_bytes(entries), amounts), repetition, peers, folders, results)
            # After every repetition, so that an interrupted run keeps what it has.
            args.out.write_text(json.dumps(results, indent=1) + "\n")
        results["failed"] += [{"job": name, "error": DIFFERENT} for name in bars.different(results["runs"])]
        args.out.write_text(json.dumps(results, indent=1) + "\n")
    return results


def of_bytes(entries):
    """Returns the size for which keys and values of any length are measured, too."""
    return sorted(entries)[len(entries) // 2]


def carry_out(todo, repetition, peers, folders, results):
    for job in todo:
        if job.peer not in peers.programs:
            continue
        name = f"{job.medium}, {job.data}, {job.peer}, {job.way}, {job.entries:,} entries, {job.threads} thread(s)"
        progress(f"{repetition + 1}: {name}")
        folder = folders[job.medium]
        try:
            results["runs"] += [line | {"repetition": repetition} for line in job.run(peers, folder / "pool")]
        except Failure as failure:
            progress(f"FAILED: {failure}")
            results["failed"].append({"job": name, "error": str(failure)})
        finally:
            empty(folder)


# Places


@contextmanager
def pools(parent):
    """Makes a folder for pools that is removed on every way out but SIGKILL; leftovers of a SIGKILL are removed now."""
    parent.mkdir(parents=True, exist_ok=True)
    for left in parent.glob(PREFIX + "*"):
        if not Path("/proc", left.name.removeprefix(PREFIX)).exists():
            shutil.rmtree(left, ignore_errors=True)
    folder = parent / f"{PREFIX}{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def empty(folder):
    for path in folder.iterdir():
        path.unlink()


def refuse_what_does_not_fit(memory, plain, entries):
    if file_system(plain) == "tmpfs":
        sys.exit(f"{plain.parent} is in memory, where nothing is synchronised; name another with --directory")
    # Same as pool_bytes of common.h.
    needed = max((256 << 20) + 400 * max(entries), (512 << 20) + 800 * of_bytes(entries))
    for folder in (memory, plain):
        free = shutil.disk_usage(folder).free
        if free < needed:
            sys.exit(f"{folder.parent} has {free >> 20} MiB free, {needed >> 20} MiB are needed; try fewer --entries")


def file_system(folder):
    return output(["stat", "-f", "-c", "%T", folder])


def leave(number, _):
    sys.exit(128 + number)


# The machine of the measurement


def about(directory, peers):
    cpu = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.*)", cpu)
    return {
        "processor": model[1] if model else platform.machine(),
        "processors": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "write_back": next((name for name in ("clwb", "clflushopt") if re.search(rf"\b{name}\b", cpu)), "clflush"),
        "kernel": platform.release(),
        "file_system": file_system(directory),
        "compiler": output(["cc", "--version"]).partition("\n")[0],
        "versions": peers.versions,
    }


def output(command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True).stdout.strip()


def progress(line):
    print(f"[{time.strftime('%H:%M:%S')}] {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
