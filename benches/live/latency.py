#!/usr/bin/env python3
"""Measures what --latency costs: a walk with many faults, with and without it, in interleaved pairs.

    cargo build --release -p terrace --bin terrace --example walk
    benches/live/latency.py [--pairs 5]

As root, on an idle machine; a minute. The walk touches 256 MiB and passes over it twice, with a quarter of it in DRAM
and the kernel alone. Prints the medians of wall time and of Terrace's own processor time, the ratios, and the cost of a
fault, with the load of the machine.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
PASSES = ("17", "2")


def run(asked, options):
    """Runs the walk once; returns its row of the document, and the seconds of Terrace's own processor time."""
    with tempfile.TemporaryDirectory() as directory:
        document = os.path.join(directory, "run.json")
        walk = os.path.join(asked.programs, "examples", "walk")
        command = [os.path.join(asked.programs, "terrace"), "run", "-q", "--dram", f"{asked.memory // 4}M",
                   "--footprint", f"{asked.memory}M",
                   "--prefetch", "off", *options, "--json", document, "--",
                   walk, str(asked.memory), *PASSES]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit(f"latency.py: {' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
        with open(document, encoding="utf-8") as file:
            row = json.load(file)["runs"][0]
    # The program is a child that terrace has waited for, whose time is in the usage as well.
    own = usage.ru_utime + usage.ru_stime - row["user_s"] - row["system_s"]
    return row, own


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs")
    parser.add_argument("--memory", type=int, default=256, help="MiB of the walk")
    parser.add_argument("--programs", default=os.path.join(TARGET, "release"), help="folder of the programs")
    asked = parser.parse_args()
    seen = {"without": [], "with": []}
    load = os.getloadavg()[0]
    for _ in range(asked.pairs):
        for name, runs in seen.items():
            runs.append(run(asked, ["--latency"] if name == "with" else []))
    print("| --latency | wall s (range) | program's cpu s | own cpu s | faults | major | missing |\n" + "|---" * 7 + "|")
    median = {}
    for name, runs in seen.items():
        walls = [row["wall_s"][0] for row, _ in runs]
        cpu = statistics.median(row["user_s"] + row["system_s"] for row, _ in runs)
        own = statistics.median(own for _, own in runs)
        faults = statistics.median(row["major_faults"] + row["minor_faults"] for row, _ in runs)
        major = statistics.median(row["major_faults"] for row, _ in runs)
        missing = [row["waits"]["missing_share"] for row, _ in runs if row.get("waits")]
        median[name] = (statistics.median(walls), cpu, own, faults)
        print(f"| {name} | {median[name][0]:.2f} ({min(walls):.2f} to {max(walls):.2f}) | {cpu:.2f} | {own:.2f} | "
              f"{faults:,.0f} | {major:,.0f} | {max(missing, default=0):.1%} |")
    ratios = [one[0]["wall_s"][0] / other[0]["wall_s"][0] for one, other in zip(seen["with"], seen["without"])]
    (wall, cpu, own, faults), before = median["with"], median["without"]
    print(f"\nwall time with it: {statistics.median(ratios):.3f} times that without ({min(ratios):.3f} to "
          f"{max(ratios):.3f}); own processor time {own / before[2]:.1f} times; "
          f"{1e6 * (cpu - before[1]) / faults:.2f} us of the program's processor time a fault, "
          f"{1e6 * (own - before[2]) / faults:.2f} us of our own; {wall - before[0]:+.2f} s in all")
    print(f"load of the machine: {load:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
