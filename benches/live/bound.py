#!/usr/bin/env python3
"""Says what could be gained at most: the same programs on a simulated machine that knows the future.

    cargo build --release
    target/release/terrace calibrate --machine machine.toml   # as root, on an idle machine
    benches/live/bound.py machine.toml [--dram 50%] [--folder FOLDER]

Records each program whose faults can be foreseen and simulates it with the measured costs: in the kernel's ways; with
`stream`, and `hold` to let pages go; with the oracle, which names the pages that are needed next, so that no predictor
can do better; and with Belady's replacement beside both. All times are simulated. Recordings stay in FOLDER.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TERRACE = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(HERE, "..", "..", "target")), "release", "terrace")
PROGRAMS = ("column_pass", "two_strides", "sequential_pass")

# Column of the table: replacement, eviction, predictor.
WAYS = {
    "kernel": ("linux", "kernel", "readahead"),
    "kernel, single pages": ("linux", "kernel", "off"),
    "stream": ("linux", "kernel", "stream"),
    "stream, hold": ("linux", "hold", "stream"),
    "oracle": ("linux", "kernel", "oracle"),
    "Belady, stream": ("belady", "kernel", "stream"),
    "Belady, oracle": ("belady", "kernel", "oracle"),
}


def record(name, folder):
    """Records a program once; returns the path of its trace."""
    trace = os.path.join(folder, f"{name}.parquet")
    if not os.path.exists(trace):
        # Belady's replacement needs the order of all touches, and so a single thread.
        alone = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        subprocess.run([TERRACE, "record", "-q", "--level", "lines", "--filter", "l1l2", "-o", trace, "--",
                        "/usr/bin/python3", os.path.join(HERE, "programs", f"{name}.py")],
                       check=True, env=alone, stdout=subprocess.DEVNULL)
    return trace


def simulate(trace, machine, dram, folder):
    """Simulates all ways in one pass; returns the seconds of each, and of DRAM alone."""
    result = os.path.join(folder, "bound.csv")
    choices = [",".join(dict.fromkeys(way[place] for way in WAYS.values())) for place in range(3)]
    subprocess.run([TERRACE, "sim", "pages", "-q", "--machine", machine, "--dram", dram, "--replacement", choices[0],
                    "--eviction", choices[1], "--prefetch", choices[2], "--csv", result, trace],
                   check=True, stdout=subprocess.DEVNULL)
    with open(result, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    by_choice = {(row["replacement"], row["eviction"], row["prefetch"]): int(row["time_ns"]) / 1e9 for row in rows}
    return {name: by_choice[way] for name, way in WAYS.items()}, int(rows[0]["all_dram_ns"]) / 1e9


def won_back(seconds, best, alone):
    """Returns the share of the time lost against DRAM alone that a way wins back of the better kernel way."""
    return (best - seconds) / (best - alone)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machine", help="costs of this machine, from terrace calibrate --machine")
    parser.add_argument("--dram", default="50%", help="share of the footprint in DRAM")
    parser.add_argument("--folder", help="where recordings are kept (default: nowhere)")
    asked = parser.parse_args()
    if not os.path.exists(TERRACE):
        sys.exit("bound.py: there is no release build of terrace; run cargo build --release")
    with tempfile.TemporaryDirectory() as passing:
        folder = asked.folder or passing
        os.makedirs(folder, exist_ok=True)
        print("| program, simulated | DRAM alone | " + " | ".join(WAYS) + " |\n" + "|---" * (len(WAYS) + 2) + "|")
        for name in PROGRAMS:
            seconds, alone = simulate(record(name, folder), asked.machine, asked.dram, folder)
            best = min(seconds["kernel"], seconds["kernel, single pages"])
            cells = [f"{one:.2f} s" if way.startswith("kernel") else f"{one:.2f} s ({won_back(one, best, alone):.0%})"
                     for way, one in seconds.items()]
            print(f"| {name} | {alone:.2f} s | " + " | ".join(cells) + " |", flush=True)
    print("\n(share of the time lost against DRAM alone that is won back, of the better of the kernel's two ways)")


if __name__ == "__main__":
    main()
