#!/usr/bin/env python3
"""Runs the live benchmark suite (suite.toml) and prints its table; see README.md."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SCHEMA = "terrace.bench-live/1"
KERNEL_WAYS = ["kernel", "kernel-cpf"]
WAYS = ["all-dram", *KERNEL_WAYS, "terrace"]
HEADINGS = [
    "program", "DRAM", "all-dram s", "kernel s", "kernel-cpf s", "terrace s", "speed-up",
    "terrace min–max", "better kernel way min–max", "issued", "used", "late", "wasted", "bar", "result",
]  # fmt: skip


def main():
    args = arguments()
    if args.table:
        results = json.loads(args.table.read_text())
    else:
        results = run_suite(args)
    print(table(results["rows"]))
    return 1 if any(failure(row) for row in results["rows"]) else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", help="run only this program (may be given again)")
    parser.add_argument("--dram", metavar="SIZE", action="append", help="DRAM budget in place of the suite's (may be given again)")
    parser.add_argument("--repeat", metavar="N", type=int, help="repeats in place of the suite's")
    parser.add_argument("--terrace", metavar="PATH", type=Path, default=ROOT / "target/release/terrace")
    parser.add_argument("--out", metavar="FILE", type=Path, default=ROOT / "target/bench-live/results.json")
    parser.add_argument("--table", metavar="FILE", type=Path, help="only print the table of this results file")
    return parser.parse_args()


# Running


def run_suite(args):
    suite = tomllib.loads((HERE / "suite.toml").read_text())
    programs = chosen(suite["program"], args.only)
    check(suite["packages"], programs, args.terrace)
    repeat = args.repeat or suite["repeat"]
    args.out = args.out.resolve()
    args.out.parent.mkdir(parents=True, exist_ok=True)

    results = {"schema": SCHEMA, "machine": machine(), "repeat": repeat, "rows": []}
    for program in programs:
        unprepared = prepare(program)
        for dram in args.dram or suite["dram"]:
            row = {key: program[key] for key in ("name", "expect", "bar", "footprint")} | {"dram": dram}
            row |= {"error": unprepared} if unprepared else compare(program, dram, repeat, args)
            results["rows"].append(row)
            # After every row, so that an interrupted suite keeps what it has.
            args.out.write_text(json.dumps(results, indent=1) + "\n")
    return results


def chosen(programs, only):
    unknown = set(only or []) - {program["name"] for program in programs}
    if unknown:
        sys.exit(f"run.py: no program named {', '.join(sorted(unknown))} in suite.toml.")
    return [program for program in programs if not only or program["name"] in only]


def check(packages, programs, terrace):
    if os.geteuid() != 0:
        sys.exit("run.py: the suite sets up memory cgroups and swap, so it must be run as root.")
    if not os.access(terrace, os.X_OK):
        sys.exit(f"run.py: there is no terrace at {terrace}: build it with cargo build --release or give --terrace PATH.")
    needed = sorted({package for program in programs for package in program["needs"]})
    missing = [package for package in needed if not succeeds(packages[package])]
    if missing:
        sys.exit(f"run.py: the suite needs more Debian packages: apt-get install {' '.join(missing)}")


def succeeds(command):
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except OSError:
        return False


def machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {"kernel": os.uname().release, "cpus": os.cpu_count(), "memory_bytes": memory}


def prepare(program):
    """Returns what went wrong, or None."""
    if "prepare" not in program:
        return None
    progress(f"{program['name']}: preparing")
    done = subprocess.run(program["prepare"], cwd=ROOT, stdout=sys.stderr)
    return f"prepare ended with {done.returncode}" if done.returncode else None


def compare(program, dram, repeat, args):
    stem = f"{program['name']}-{dram.replace('%', '')}"
    log, report = args.out.parent / f"{stem}.log", args.out.parent / f"{stem}.json"
    report.unlink(missing_ok=True)  # one of an earlier run must not pass for this run's
    command = [args.terrace.resolve(), "run", "--compare", "--repeat", str(repeat), "--dram", dram]
    command += ["--footprint", program["footprint"], "--quiet", "--json", report, "--", *program["command"]]

    progress(f"{program['name']} at {dram}: {repeat} x {len(WAYS)} runs")
    started = time.monotonic()
    with log.open("wb") as file:
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
    progress(f"{program['name']} at {dram}: ended with {done.returncode} after {time.monotonic() - started:.0f} s")

    try:
        row = {"comparison": json.loads(report.read_text())}
    except (OSError, ValueError):
        row = {"error": "terrace wrote no comparison"}
    if done.returncode:
        row["error"] = f"terrace ended with {done.returncode}, see {log.name}"
    return row


def progress(line):
    print(f"[{time.strftime('%H:%M:%S')}] {line}", file=sys.stderr, flush=True)


# Table


def table(rows):
    lines = [HEADINGS, ["---"] * len(HEADINGS)]
    for row in rows:
        wrong = failure(row)
        lines.append(failed_cells(row, wrong) if wrong else cells(row))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def failure(row):
    """What is wrong with a row, or None."""
    if row.get("error"):
        return row["error"]
    runs = by_way(row)
    for way in WAYS:
        if way not in runs:
            return f"no {way} run in the comparison"
        ends = as_list(runs[way].get("exit"))
        if not ends or any(end.get("code") != 0 for end in ends):
            return f"the program failed under {way}: exit {json.dumps(ends)}"
        if not as_list(runs[way].get("wall_s")):
            return f"no wall time for {way}"
    return None


def failed_cells(row, wrong):
    return [row["name"], row["dram"]] + ["–"] * (len(HEADINGS) - 4) + [f"{row['bar']:.2f}", f"FAILED: {wrong}"]


def cells(row):
    runs = by_way(row)
    wall = {way: median(runs[way]["wall_s"]) for way in WAYS}
    better = min(KERNEL_WAYS, key=wall.get)
    speed_up = wall[better] / wall["terrace"]
    prefetch = runs["terrace"].get("prefetch") or {}
    return [
        row["name"],
        row["dram"],
        *(f"{wall[way]:.2f}" for way in WAYS),
        f"{speed_up:.2f}",
        spread(runs["terrace"]["wall_s"]),
        f"{better} {spread(runs[better]['wall_s'])}",
        *(count(prefetch.get(key)) for key in ("issued", "used", "late", "wasted")),
        f"{row['bar']:.2f}",
        verdict(speed_up, row["bar"]),
    ]


def by_way(row):
    return {run["way"]: run for run in row["comparison"].get("runs", [])}


def verdict(speed_up, bar):
    return "ok" if speed_up >= bar else f"short by {100 * (1 - speed_up / bar):.1f} %"


def as_list(field):
    """A field is one value or one per repeat; null is no value."""
    values = field if isinstance(field, list) else [field]
    return [value for value in values if value is not None]


def median(field):
    return statistics.median(as_list(field))


def spread(field):
    return f"{min(as_list(field)):.2f}–{max(as_list(field)):.2f}"


def count(field):
    return f"{median(field):.0f}" if as_list(field) else "–"


if __name__ == "__main__":
    sys.exit(main())
