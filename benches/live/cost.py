#!/usr/bin/env python3
"""Measures what steering itself costs.

    cargo build --release -p terrace
    benches/live/cost.py [--pairs 5] [rest|rates|demand ...]

As root, on an idle machine; five minutes. Prints a table each of

- rest: the processor time of Terrace's threads beside a program that sleeps with 256 MiB of memory in DRAM;
- rates: that of the thread that steers, and of those that ask the kernel for pages, beside programs that fault; the
  first for each page that was faulted or fetched, too; and the most memory of Terrace's process. The kernel reads a
  page on the time of the thread that asks, as it does on the program's where nothing is fetched;
- demand: how long a demand fault takes beside a pass that is fetched ahead, and beside the same pass without
  fetching (programs/demand_faults.c), in interleaved pairs.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RELEASE = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "release")
PYTHON = "/usr/bin/python3"
MIB = 1 << 20
SLEEPER = "import time; memory = bytearray(256 << 20); memory[::4096] = b'1' * 65536; time.sleep(30)"


def threads_of(process):
    """Returns the processor time in seconds of each thread of a process, by its number, with its name."""
    found = {}
    try:
        for thread in os.listdir(f"/proc/{process.pid}/task"):
            folder = f"/proc/{process.pid}/task/{thread}"
            with open(f"{folder}/comm", encoding="utf-8") as name, open(f"{folder}/schedstat", encoding="ascii") as time_:
                found[thread] = (name.read().strip(), int(time_.read().split()[0]) / 1e9)
    except OSError:
        pass  # It ended meanwhile.
    return found


def memory_of(process):
    """Returns the memory of a process alone, in bytes; 0 if it has ended."""
    try:
        with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
            lines = dict(line.split(":", 1) for line in status)
        return int(lines["RssAnon"].split()[0]) * 1024
    except (OSError, KeyError):
        return 0


def run(command, dram, footprint, prefetch="auto"):
    """Runs a program steered; returns the run's document, the seconds of Terrace's threads by their names, its memory
    and the program's output."""
    with tempfile.TemporaryDirectory() as directory:
        document = os.path.join(directory, "run.json")
        ours = [os.path.join(RELEASE, "terrace"), "run", "-q", "--dram", dram, "--footprint", footprint, "--prefetch",
                prefetch, "--json", document, "--", *command]
        threads, most = {}, 0
        with open(os.path.join(directory, "output"), "w+", encoding="utf-8") as output:
            process = subprocess.Popen(ours, stdout=output, cwd=HERE)
            while process.poll() is None:
                most = max(most, memory_of(process))
                threads |= threads_of(process)
                time.sleep(0.02)
            if process.returncode != 0:
                sys.exit(f"cost.py: {' '.join(ours)} ended with {process.returncode}")
            output.seek(0)
            said = output.read()
        with open(document, encoding="utf-8") as file:
            result = json.load(file)["runs"][0]
    seconds = {}
    for name, spent in threads.values():
        seconds[name] = seconds.get(name, 0) + spent
    return result, seconds, most, said


def rest(_):
    result, seconds, most, _ = run([PYTHON, "-c", SLEEPER], "512M", "300M")
    wall = result["wall_s"][0]
    print("| thread | cpu s in a sleep of 30 s | share of a core |\n|---|---|---|")
    for name, spent in sorted(seconds.items(), key=lambda item: -item[1]):
        what = " (sets up and puts back)" if name == "terrace" else ""
        print(f"| {name}{what} | {spent:.3f} | {spent / wall:.2%} |")
    print(f"\nmemory: {most / MIB:.1f} MiB\n")


def rates(_):
    print("| program | wall s | major faults | issued | pages/s | steering s | us a page | at 20,000 pages/s | fetching s |"
          " memory MiB | of the footprint |\n" + "|---" * 11 + "|")
    for name in ("random_walk", "column_pass", "two_strides", "sequential_pass"):
        result, seconds, most, _ = run([PYTHON, f"programs/{name}.py"], "50%", "630M")
        wall, issued = result["wall_s"][0], (result["prefetch"] or {}).get("issued", 0)
        pages = result["major_faults"] + issued
        steering, fetching = seconds.get("terrace-steer", 0), seconds.get("terrace-fetch", 0)
        cells = [name, f"{wall:.1f}", f"{result['major_faults']:,}", f"{issued:,}", f"{pages / wall:,.0f}",
                 f"{steering:.2f}", f"{1e6 * steering / pages:.2f}", f"{20000 * steering / pages:.1%}", f"{fetching:.2f}",
                 f"{most / MIB:.1f}", f"{most / (630 * MIB):.2%}"]
        print("| " + " | ".join(cells) + " |", flush=True)
    print()


def demand(asked):
    with tempfile.TemporaryDirectory() as directory:
        program = os.path.join(directory, "demand_faults")
        subprocess.run(["cc", "-O2", "-pthread", "-o", program, os.path.join(HERE, "programs", "demand_faults.c")],
                       check=True)
        seen = {"off": [], "stream": []}
        for _ in range(asked.pairs):
            for prefetch, runs in seen.items():
                said = run([program, "512", "20000"], "25%", "512M", prefetch)[3].split()
                runs.append(dict(zip(said[::2], map(float, said[1::2]))))
    print("| prefetch | p50 us | p90 us | p99 us (range) | pages passed |\n|---|---|---|---|---|")
    for prefetch, runs in seen.items():
        median = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        tails = [run["p99"] for run in runs]
        print(f"| {prefetch} | {median['p50']:.1f} | {median['p90']:.1f} | {median['p99']:.1f} ({min(tails):.1f} to "
              f"{max(tails):.1f}) | {median['passed']:,.0f} |")
    ratios = [one["p99"] / other["p99"] for one, other in zip(seen["stream"], seen["off"])]
    print(f"\np99 beside fetches: {statistics.median(ratios):.2f} times that without ({min(ratios):.2f} to {max(ratios):.2f})")


def main():
    parts = {"rest": rest, "rates": rates, "demand": demand}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5, help="pairs of runs that time demand faults")
    parser.add_argument("parts", nargs="*", default=list(parts), metavar="PART", help="rest, rates, demand")
    asked = parser.parse_args()
    for part in asked.parts:
        if part not in parts:
            parser.error(f"there is no part {part}")
        parts[part](asked)


if __name__ == "__main__":
    main()
