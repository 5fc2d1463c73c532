#!/usr/bin/env python3
"""Says which programs of the suite have faults that a predictor can foresee, by simulation; see README.md."""
import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROGRAMS = "programs/"
SCHEMA = "terrace.bench-live.verdict/1"
BASELINES = ["off", "readahead"]
ONLINE = ["stream", "spatial", "temporal", "vldp", "leap", "markov", "combo", "auto"]
ORACLE = "oracle"
# The machine that the suite was measured on: see README.md.
MACHINE = {
    "dram": "25%", "memory": "flash", "read-latency": "53us", "write-latency": "53us", "channels": "4",
    "fault-cost": "linux", "replacement": "linux",
}  # fmt: skip
# The share of the time lost to faults that the oracle must win back, and the share of the oracle's gain
# that a predictor must reach.
ORACLE_SHARE, ONLINE_SHARE = 0.1, 0.5
HEADINGS = [
    "program", "MB", "faults", "all-dram s", "off s", "readahead s", "oracle s", "oracle wins back",
    "best predictor", "of the oracle's", "verdict", "expect",
]  # fmt: skip


def main():
    args = arguments()
    if args.table:
        results = json.loads(args.table.read_text())
    else:
        results = judge_suite(args)
    print(table(results["programs"]))
    return 1 if any("error" in row for row in results["programs"]) else 0


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", help="judge only this program (may be given again)")
    parser.add_argument("--terrace", metavar="PATH", type=Path, default=ROOT / "target/release/terrace")
    parser.add_argument("--work", metavar="DIR", type=Path, default=ROOT / "target/bench-live/verdict", help="where recordings are kept")
    parser.add_argument("--out", metavar="FILE", type=Path, default=ROOT / "target/bench-live/verdict.json")
    parser.add_argument("--table", metavar="FILE", type=Path, help="only print the table of this results file")
    return parser.parse_args()


def judge_suite(args):
    suite = tomllib.loads((HERE / "suite.toml").read_text())
    smaller = tomllib.loads((HERE / "verdict.toml").read_text())
    programs = [program for program in suite["program"] if not args.only or program["name"] in args.only]
    if not programs:
        sys.exit("verdict.py: suite.toml has no program of that name.")
    args.work, args.out, args.terrace = args.work.resolve(), args.out.resolve(), args.terrace.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    results = {"schema": SCHEMA, "figures": "simulated", "machine": MACHINE, "programs": []}
    for program in programs:
        row = {key: program[key] for key in ("name", "expect")} | {"smaller": smaller[program["name"]]}
        try:
            row |= judge(simulate(record(program, row["smaller"], args), args))
        except Failure as failure:
            row["error"] = str(failure)
        results["programs"].append(row)
        # After every program, so that an interrupted run keeps what it has.
        args.out.write_text(json.dumps(results, indent=1) + "\n")
    return results


class Failure(Exception):
    """The failure of one program."""


# Recording


def record(program, smaller, args):
    """Returns the trace of a smaller copy of the program; reuses an earlier trace of the same copy."""
    texts = smaller_texts(program, smaller)
    key = hashlib.sha256(json.dumps([texts, program["command"]]).encode()).hexdigest()[:12]
    trace = args.work / f"{program['name']}-{key}.parquet"
    if trace.exists():
        return trace
    folder = args.work / program["name"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)

    def here(command):
        return [part.replace(PROGRAMS, f"{folder}/") for part in command]

    environment = os.environ | {"BENCH_DATA": str(folder)}
    progress(f"{program['name']}: recording")
    started = time.monotonic()
    partial = args.work / f"{program['name']}.partial.parquet"
    recorder = [args.terrace, "record", "--quiet", "--level", "pages", "--filter", "l1l2", "-o", partial, "--"]
    for command in (here(program.get("prepare", ["true"])), [*recorder, *here(program["command"])]):
        done = subprocess.run(command, cwd=HERE, env=environment, stdin=subprocess.DEVNULL, stdout=sys.stderr)
        if done.returncode:
            raise Failure(f"`{command[0]}` ended with {done.returncode}")
    partial.rename(trace)
    progress(f"{program['name']}: recorded in {time.monotonic() - started:.0f} s")
    return trace


def smaller_texts(program, smaller):
    """Returns all scripts by name, with the replacements of `smaller`; each replaced text must occur once."""
    texts = {path.name: path.read_text() for path in sorted((HERE / PROGRAMS).iterdir()) if path.is_file()}
    parts = " ".join(program["command"] + program.get("prepare", []))
    texts = {name: text for name, text in texts.items() if PROGRAMS + name in parts}
    for old, new in smaller.items():
        found = [name for name, text in texts.items() if text.count(old) == 1]
        if len(found) != 1:
            raise Failure(f"`{old}` must be there once in its scripts; mend verdict.toml")
        texts[found[0]] = texts[found[0]].replace(old, new)
    return texts


# Judging


def simulate(trace, args):
    """Returns one run per predictor, by its name."""
    progress(f"{trace.name}: simulating")
    machine = [f"--{name}={value}" for name, value in MACHINE.items()]
    predictors = [*BASELINES, *ONLINE, ORACLE]
    command = [args.terrace, "sim", "pages", "--quiet", "--json=-", *machine, "--prefetch", ",".join(predictors), trace]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failure(done.stderr.strip() or f"terrace sim ended with {done.returncode}")
    return dict(zip(predictors, json.loads(done.stdout)["runs"], strict=True))


def judge(runs):
    """Judges a program: foreseeable if the oracle wins back a tenth of the cost of faults, and a predictor half
    of that."""
    seconds = {name: run["time_ns"] / 1e9 for name, run in runs.items()}
    all_dram = runs["off"]["all_dram_ns"] / 1e9
    without = min(seconds[name] for name in BASELINES)
    lost, won = without - all_dram, without - seconds[ORACLE]
    best = min(ONLINE, key=seconds.get)
    share = won / lost if lost > 0 else 0.0
    of_oracle = (without - seconds[best]) / won if won > 0 else 0.0
    return {
        "footprint_mb": round(runs["off"]["footprint_pages"] * 4096 / 1e6),
        "faults": runs["off"]["full_misses"],
        "all_dram_s": round(all_dram, 4),
        "seconds": {name: round(value, 4) for name, value in seconds.items()},
        "accuracy": {name: run["prefetch"]["accuracy"] for name, run in runs.items()},
        "oracle_share": round(share, 4),
        "best": best,
        "best_share": round(of_oracle, 4),
        "foreseeable": share >= ORACLE_SHARE and of_oracle >= ONLINE_SHARE,
    }


def table(rows):
    lines = [HEADINGS, ["---"] * len(HEADINGS), *map(cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cells(row):
    if "error" in row:
        return [row["name"], *["–"] * (len(HEADINGS) - 3), f"FAILED: {row['error']}", row["expect"]]
    seconds = row["seconds"]
    return [
        row["name"],
        str(row["footprint_mb"]),
        f"{row['faults']:,}",
        f"{row['all_dram_s']:.2f}",
        *(f"{seconds[name]:.2f}" for name in (*BASELINES, ORACLE)),
        f"{100 * row['oracle_share']:.0f} %",
        row["best"],
        f"{100 * row['best_share']:.0f} %",
        "foreseeable" if row["foreseeable"] else "not foreseeable",
        row["expect"],
    ]


def progress(line):
    print(f"[{time.strftime('%H:%M:%S')}] {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
