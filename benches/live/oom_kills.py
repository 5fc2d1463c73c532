#!/usr/bin/env python3
"""Counts how often the kernel kills a program that has enough memory.

    oom_kills.py [--terrace PROGRAM] [--runs N] [--minutes M] [--tier TIER] [--small | --large]

Runs two-strides at half of its memory, in turn with `--prefetch stream` and with `--prefetch off`,
and counts the runs in which the OOM killer acted although the tier had room. Prints a line for each
of these runs, and the counts at the end. Needs root; the machine's log (dmesg) has details of each kill.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

PROGRAM = pathlib.Path(__file__).parent / "programs" / "two_strides.py"
WAYS = ("stream", "off")
# Rows, the budget, and the memory that the program needs in all.
SMALL = (130, "12M", "26M")
LARGE = (1170, "80M", "160M")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--terrace", default="terrace", help="the program to be tried")
    parser.add_argument("--runs", type=int, default=100, help="of each way [100]")
    parser.add_argument("--minutes", type=float, default=60, help="end before that [60]")
    parser.add_argument("--tier", help="as of `terrace run`")
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--small", dest="size", action="store_const", const=SMALL, default=SMALL)
    sizes.add_argument("--large", dest="size", action="store_const", const=LARGE)
    parser.add_argument("more", nargs="*", help="more options of `terrace run`, behind --")
    return parser.parse_args()


def run(options, way, directory):
    """Makes one run; returns how many processes were killed in it, and how long it took."""
    rows, dram, footprint = options.size
    results = pathlib.Path(directory) / "results.json"
    results.unlink(missing_ok=True)
    command = [options.terrace, "run", "-q", "--dram", dram, "--footprint", footprint]
    command += ["--prefetch", way, "--json", str(results), *options.more]
    command += ["--tier", options.tier] if options.tier else []
    program = ["/usr/bin/python3", str(PROGRAM), str(rows)]
    ended = subprocess.run(command + ["--"] + program, capture_output=True, text=True)
    if not results.exists():
        sys.exit(f"no results: {ended.stderr.strip()}")
    result = json.loads(results.read_text())["runs"][0]
    if ended.returncode and not result["oom_kills"]:
        sys.exit(f"the program failed by itself: {ended.stderr.strip()}")
    return result["oom_kills"], result["wall_s"][0]


def main():
    options = arguments()
    end = time.monotonic() + 60 * options.minutes
    runs, kills, walls = ({way: zero for way in WAYS} for zero in (0, 0, 0.0))
    with tempfile.TemporaryDirectory() as directory:
        while min(runs.values()) < options.runs and time.monotonic() < end:
            for way in WAYS:
                killed, wall = run(options, way, directory)
                runs[way] += 1
                walls[way] += wall
                if killed:
                    kills[way] += 1
                    print(f"run {runs[way]} of {way}: killed after {wall:.2f} s", flush=True)
    for way in WAYS:
        mean = walls[way] / max(runs[way], 1)
        print(f"{way}: {kills[way]} of {runs[way]} runs killed, {mean:.2f} s a run")
    sys.exit(1 if any(kills.values()) else 0)


if __name__ == "__main__":
    main()
