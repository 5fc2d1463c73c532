"""Compares the processor time of two builds of `terrace`, workload by workload.

Usage: guard.py BASE TERRACE [--rounds N] [--accesses N]
"""

import argparse
import tempfile
from pathlib import Path

from interleaved import ratio, rounds, run, shown, table

# What is compared: arguments before the trace.
WORKLOADS = [
    *(["sim", "pages", "-q", "--dram", "100000p", "--replacement", policy]
      for policy in ("fifo", "lru", "arc", "sieve")),
    *(["sim", "pages", "-q", "--memory", "none", "--dram", "100000p", "--replacement", policies]
      for policies in ("fifo", "lru", "fifo,lru,clock,sieve,arc,s3fifo,2q,lirs")),
    ["sim", "curve", "-q"],
    ["trace", "info"],
    ["trace", "convert", "-q"],
]

# A build is slower on a workload if it is in the median of the rounds, by more than this.
MARGIN = 0.03


def command(terrace, workload, trace, folder):
    """Returns the command of a workload; what it writes goes to the folder."""
    written = [folder / "converted.parquet"] if "convert" in workload else []
    return [terrace, *workload, trace, *written]


def compare(base, terrace, trace, folder, count):
    """Prints the ratios of all workloads."""
    rows = []
    for workload in WORKLOADS:
        builds = {"base": base, "tree": terrace}
        jobs = {
            name: lambda build=build: run(command(build, workload, trace, folder))[0]
            for name, build in builds.items()
        }
        times = rounds(count, jobs)
        of = ratio(times["tree"], times["base"])
        note = "slower" if of[0] > 1 + MARGIN else ""
        rows.append([" ".join(workload), shown(of), note])
    print("Processor time by that of the base: median of the rounds (least to most).\n")
    table(["workload", "time", ""], rows)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("base", type=Path, help="the earlier build")
    arguments.add_argument("terrace", type=Path, help="the later build")
    arguments.add_argument("--rounds", type=int, default=9, help="rounds of each workload")
    arguments.add_argument("--accesses", default="3M", help="requests of the trace")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(prefix="terrace-guard-") as name:
        folder = Path(name)
        trace = folder / "zipf.oracleGeneral.bin"
        run([given.base, "trace", "gen", "zipf", "-q", "--footprint", "4G",
             "--accesses", given.accesses, "--to", "oracle-general", "-o", trace])
        compare(given.base, given.terrace, trace, folder, given.rounds)


if __name__ == "__main__":
    main()
