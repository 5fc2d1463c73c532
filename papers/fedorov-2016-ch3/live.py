"""The live part of chapter 3: figures 3.1 and 3.5 on this machine, measured by `terrace sched`. As root, on an idle
machine; a minute or two each part.

Usage: live.py [--repeat N] [PART ...]; the parts are programs and mixes, by their names, and all without any.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import median

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
from common import geometric_mean, table  # noqa: E402
from programs import Programs  # noqa: E402

RESULTS = FOLDER / "live.json"
# Programs of the simulated part, with as much work as takes some two seconds alone.
WORK = {"lattice-8": "1600", "plasma-32": "2000", "fluid-20": "2300", "paths-256": "2000", "solve-18": "16000",
        "lookup-12": "16000000", "mesh-4": "18000", "graph-list-13": "1200", "anneal-64k": "26000000",
        "rays-30k": "2000000"}
# Four on one CPU each: data larger than its second level, and smaller than what programs get of the last.
MIXES = {
    "mix-a": ["lattice-8", "fluid-20", "solve-18", "lookup-12"],
    "mix-b": ["plasma-32", "mesh-4", "graph-list-13", "anneal-64k"],
    "mix-c": ["rays-30k", "lookup-12", "anneal-64k", "paths-256"],
}
TURNS = ["15ms", "30ms", "45ms", "70ms"]


def command(bench, name):
    """Returns the command of a program with its work in place of work without an end."""
    return [*bench.command(name)[:-1], WORK[name]]


def profile(bench, name, repeat):
    """Figure 3.1: a program alone, and beside one that sweeps through memory."""
    ours = [common.TERRACE, "sched", "profile", "-q", "--json=-", "--", *command(bench, name)]
    documents = [common.output_json(quiet(ours)) for _ in range(repeat)]
    found = {run["neighbour"]: [document["runs"][at]["cpu_s"] for document in documents]
             for at, run in enumerate(documents[0]["runs"])}
    return found | {"effective_mb": [document["cache"]["effective_bytes"] / 2**20 for document in documents]}


def quiet(ours):
    """Returns a command whose program prints to nowhere: standard output is terrace's."""
    program = ours.index("--") + 1
    return [*ours[:program], "sh", "-c", 'exec "$@" >/dev/null', "sh", *ours[program:]]


def turns(bench, names, repeat):
    """Figure 3.5: a mix under the kernel alone, and under turns of each length."""
    result = bench.work / "live.json"
    ours = [common.TERRACE, "sched", "run", "-q", "--compare", "--repeat", str(repeat), "--slice", ",".join(TURNS),
            "--cpus", "0", "--json", result]
    for name in names:
        ours += quiet(["--", *command(bench, name)])
    common.run([str(part) for part in ours], None, bench.work / "live.log")
    document = json.loads(result.read_text())
    return [{"policy": policy["policy"], "turn_ms": 1e3 * (policy["turn_mean_s"] or 0),
             "mechanism": policy["mechanism"], "programs": {
                 f"{name} {at}": program["wall_s"] for at, (name, program) in enumerate(zip(names, policy["programs"]))}}
            for policy in document["policies"]]


def relative(policy, kernel, run):
    """Returns the run time of one repetition by that under the kernel alone, in geometric mean over the programs."""
    return geometric_mean([walls[run] / kernel["programs"][name][run] for name, walls in policy["programs"].items()])


def spread(values):
    """Returns the median, with the least and the most of several."""
    middle = f"{median(values):.1f} %"
    return middle if len(values) == 1 else f"{middle} ({min(values):.1f} to {max(values):.1f})"


def tables(live):
    return {"live-alone": alone_table(live["profile"]), "live-lengths": lengths_table(live["mixes"])}


def alone_table(found):
    """Slowdowns of each program, and their averages."""
    rows, places = [], ["other-cpu", "same-cpu"]
    slower = {name: {place: [100 * (beside / alone - 1) for beside, alone in zip(one[place], one["alone"])]
                     for place in places if place in one} for name, one in found.items()}
    for name, one in slower.items():
        rows.append([name, *(spread(one[place]) if place in one else "" for place in places)])
    means = [common.mean([common.mean(one[place]) for one in slower.values()]) for place in places]
    rows.append(["average", *(f"{of:.1f} %" for of in means)])
    return table(["program", "slower beside a sweep on another CPU", "on the same CPU"], rows)


def lengths_table(mixes):
    """Run time less than under the kernel alone."""
    rows, gains = [], {}
    for name, (kernel, *policies) in mixes.items():
        row = [f"{name}: {', '.join(MIXES[name])}", f"{kernel['turn_ms']:.1f} ms"]
        for policy in policies:
            runs = range(len(next(iter(policy["programs"].values()))))
            values = [100 * (1 - relative(policy, kernel, run)) for run in runs]
            gains.setdefault(policy["policy"], []).append(common.mean(values))
            row.append(spread(values))
        rows.append(row)
    rows.append(["average", "", *(f"{common.mean(of):.1f} %" for of in gains.values())])
    return table(["mix", "kernel's turns", *(turn.replace("ms", " ms") for turn in TURNS)], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=2, help="runs of each way")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join([*WORK, *MIXES]))
    asked = parser.parse_args()
    unknown = [part for part in asked.parts if part not in (*WORK, *MIXES)]
    if unknown:
        parser.error(f"there is no part {unknown[0]}")
    bench = Programs(common.work_directory(FOLDER))
    live = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"profile": {}, "mixes": {}}
    for part in asked.parts or [*WORK, *MIXES]:
        common.say(f"measuring {part}")
        if part in WORK:
            live["profile"][part] = profile(bench, part, asked.repeat)
        else:
            live["mixes"][part] = turns(bench, MIXES[part], asked.repeat)
        common.write_json(RESULTS, live)
    if len(live["profile"]) == len(WORK) and len(live["mixes"]) == len(MIXES):
        print("\n\n".join(tables(live).values()))
        common.render()


if __name__ == "__main__":
    main()
