#!/usr/bin/env python3
"""Sets the lifetimes beside each other that four commands tell of one server: half of a Redis in DRAM.

    apt-get install redis-server redis-tools qemu-user
    benches/live/lifetimes.py [--programs FOLDER] [--keys 20000] [--requests 100000]

As root, on an idle machine; some minutes. The server is loaded first and then has a steady load of random writes
(programs/redis_phases.sh). The table has a row for each command, over the whole run and over the steady load alone
(`--after`, of simulations `--warmup`): bytes written, over which time, and the life of a drive of 600 TBW at that rate.
`by hand` is what the server's own script reads of /proc/vmstat at the beginning and the end of its steady load.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
SERVER = os.path.join(HERE, "programs", "redis_phases.sh")
ENDURANCE = 600e12
YEAR = 365.25 * 86400


def terrace(asked, arguments, **environment):
    """Runs terrace, which must succeed."""
    names = {"KEYS": asked.keys, "START": asked.start, "STEADY": asked.requests} | environment
    names = {name: str(value) for name, value in names.items()}
    command = [os.path.join(asked.programs, "terrace"), *map(str, arguments)]
    ended = subprocess.run(command, env=os.environ | names, stdout=subprocess.DEVNULL)
    if ended.returncode != 0:
        sys.exit(f"lifetimes.py: {' '.join(command)} ended with {ended.returncode}")


def live(asked, folder, *options):
    """Runs the server live; returns the document's rows."""
    document = os.path.join(folder, "run.json")
    marks = os.path.join(folder, "marks")
    if os.path.exists(marks):
        os.remove(marks)
    terrace(asked, ["run", "-q", "--dram", asked.dram, "--footprint", asked.footprint, "--endurance", "600TBW",
                    "--json", document, *options, "--", SERVER], MARKS=marks)
    with open(document, encoding="utf-8") as file:
        rows = json.load(file)["runs"]
    with open(marks, encoding="ascii") as file:
        lines = [[float(word) for word in line.split()] for line in file]
    return rows, lines[-2:]


def record(asked, folder, name, requests):
    """Records the server; returns its trace and the number of its rows."""
    trace = os.path.join(folder, f"{name}.parquet")
    terrace(asked, ["record", "-q", "--level", "pages", "-o", trace, "--", SERVER], STEADY=requests, START=0)
    about = subprocess.run([os.path.join(asked.programs, "terrace"), "trace", "info", "--json=-", trace], check=True,
                           stdout=subprocess.PIPE)
    return trace, json.loads(about.stdout)["accesses"]


def simulate(asked, folder, trace, warmup):
    document = os.path.join(folder, "sim.json")
    terrace(asked, ["sim", "pages", "-q", "--dram", asked.dram, "--endurance", "600TBW", "--warmup", warmup,
                    "--json", document, trace])
    with open(document, encoding="utf-8") as file:
        return json.load(file)["runs"][0]


def show(what, span, written, seconds, years):
    print(f"| {what} | {span} | {written / 2**20:,.1f} | {seconds:.2f} | {written / 2**20 / seconds:,.1f} | "
          f"{years:.3f} |", flush=True)


def years(written, seconds):
    """Returns the life of the drive at a rate."""
    return ENDURANCE / (written / seconds) / YEAR if written else float("inf")


def row(what, span, way):
    show(what, span, way["tier_written_bytes"], way["counted_s"], way["lifetime_years"] or float("inf"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", default=os.path.join(TARGET, "release"), help="folder of the programs")
    parser.add_argument("--keys", type=int, default=20000, help="keys of 4 kB")
    parser.add_argument("--requests", type=int, default=100000, help="requests of the steady load")
    parser.add_argument("--start", type=int, default=15, help="seconds after which that begins")
    parser.add_argument("--dram", default="60M")
    parser.add_argument("--footprint", default="120M")
    parser.add_argument("--live-only", action="store_true", help="leave the simulation out")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print("| command | counted | MiB written | over s | MiB/s | life in years |\n" + "|---" * 6 + "|")
        for span, after in (("whole run", []), ("steady load", ["--after", f"{asked.start}s"])):
            rows, ((began, before), (ended, behind)) = live(asked, folder, "--prefetch", "off", *after)
            row("run", span, rows[0])
            written = (behind - before) * 4096
            show("- by hand", "steady load", written, ended - began, years(written, ended - began))
            rows, _ = live(asked, folder, "--compare", *after)
            for way in rows:
                row(f"run --compare: {way['way']}", span, way)
        if not asked.live_only:
            _, loading = record(asked, folder, "loading", 0)
            trace, _ = record(asked, folder, "whole", asked.requests)
            for span, warmup in (("whole run", 0), ("steady load", loading)):
                run = simulate(asked, folder, trace, warmup)
                show("sim pages", f"{span}, virtual time", run["tier_written_bytes"], run["time_ns"] / 1e9,
                     run["lifetime_years"])
        print(f"\nload of the machine: {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
