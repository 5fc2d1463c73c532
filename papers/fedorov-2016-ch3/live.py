#!/usr/bin/env python3
"""Runs mixes of the chapter's programs on this machine: figures 3.1 and 3.5, as far as it can.

Usage: live.py [--mixes N] [--repeat N] [MEASUREMENT ...]

Measurements are mixes (figure 3.5: turns of 15 to 70 ms on one CPU) and alone (figure 3.1). Needs root and an idle
machine; what was measured is written to live.json, and tables are made of it by papers/readmes.py --fill.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import experiments  # noqa: E402
from programs import AGGRESSOR, Programs  # noqa: E402

# Turns of figure 3.5, and programs that share the CPU.
TURNS = ["15ms", "30ms", "45ms", "70ms"]
TASKS = 4
# CPU time of a program, in seconds.
LEAST = 3
RESULTS = FOLDER / "live.json"


def processor_time(command):
    """Returns the CPU time of a command, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def lasting(bench, name):
    """Returns the command of a program that takes some seconds: its last argument is the number of its rounds."""
    kept = bench.work / f"{name}.rounds"
    *command, _ = bench.command(name)
    rounds = int(kept.read_text()) if kept.exists() else 0
    tried = 1
    while not rounds:
        time = processor_time([*command, str(tried)])
        if time >= LEAST / 10:
            rounds = math.ceil(tried * LEAST / time)
        tried *= 4
    kept.write_text(str(rounds))
    return [*command, str(rounds)]


def sched(bench, command, *arguments):
    """Returns the document of `terrace sched`; what the programs print is dropped."""
    document = bench.work / "live-document.json"
    line = [common.TERRACE, "sched", command, "--quiet", "--json", document, *arguments]
    subprocess.run([str(part) for part in line], check=True, stdout=subprocess.DEVNULL)
    return json.loads(document.read_text())


def of_mix(bench, names, repeat):
    """Figure 3.5: run times by policy, of each program in the order of the mix."""
    options = ["--compare", "--repeat", repeat, "--slice", ",".join(TURNS), "--mechanism", "rotation", "--cpus", 0]
    programs = [part for name in names for part in ["--", *lasting(bench, name)]]
    found = sched(bench, "run", *options, *programs)["policies"]
    return {"programs": names,
            "policies": [{"policy": it["policy"], "turn_s": it["turn_mean_s"], "jain": it["jain"],
                          "wall_s": [program["wall_s"] for program in it["programs"]]} for it in found]}


def alone(bench, names):
    """Figure 3.1: each program alone, beside one that sweeps through memory on another CPU, and beside it on its own."""
    found = {}
    for name in names:
        common.say(f"profiling {name}")
        found[name] = sched(bench, "profile", "--", *lasting(bench, name))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mixes", type=int, default=4, help="mixes")
    parser.add_argument("--repeat", type=int, default=1, help="runs of each way")
    parser.add_argument("--prepare", action="store_true", help="only build the programs and find their lengths")
    parser.add_argument("measurements", nargs="*", metavar="MEASUREMENT", help="mixes, alone (default: both)")
    asked = parser.parse_args()
    bench = Programs(common.work_directory(FOLDER))
    names = [name for name in bench.programs if name != AGGRESSOR]
    mixes = experiments.draws(names, asked.mixes, TASKS)
    drawn = sorted({name for mix in mixes for name in mix})
    for name in drawn:
        lasting(bench, name)
    if asked.prepare:
        return
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["kernel"] = os.uname().release
    if "mixes" in (asked.measurements or ["mixes"]):
        results["mixes"] = []
        for mix in mixes:
            common.say(f"running {', '.join(mix)}")
            results["mixes"].append(of_mix(bench, mix, asked.repeat))
    if "alone" in (asked.measurements or ["alone"]):
        results["alone"] = alone(bench, drawn)
    common.write_json(RESULTS, results)


if __name__ == "__main__":
    main()
