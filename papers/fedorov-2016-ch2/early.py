"""What LRU and ARI write when dirty lines are written on demand, and when they are written early.

Usage: early.py [--quick]

Records the programs of `PROGRAMS` behind private levels, or takes the recordings that are there, and simulates each with each
way of writing back and each memory. Writes early.json; with --quick shorter recordings, and early.json in the work directory.
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import experiments  # noqa: E402
from common import geometric_mean, mean, percent, table  # noqa: E402
from programs import Programs  # noqa: E402

RESULTS = FOLDER / "early.json"
PROGRAMS = ["lattice", "bzip2", "fluid", "xz", "paths", "plasma"]
WAYS = ["demand", "eager", "rows", "last-write"]
POLICIES = ["lru", "ari"]
MEMORIES = ["dram", "pcm-row"]
ROWS, QUICK_ROWS = 4_000_000, 200_000


def measure(trace, warmup):
    """Returns what each policy writes, by memory and way."""
    return {memory: {way: {run["policy"]: counted(run) for run in experiments.simulate(
        [trace], POLICIES[1:], warmup, memory=memory, write_back=way)} for way in WAYS} for memory in MEMORIES}


def counted(run):
    memory, = run["memories"]
    return experiments.counts(run) | {
        "early": run["early_writes"], "writes": memory["lines"]["writes"], "array_writes": memory["lines"]["array_writes"],
        "writes_in_open_row": memory["lines"]["writes_in_open_row"], "ipc": memory["ipc"],
        "lifetime_years": memory["lifetime_years"]}


def ratio(program, memory, way, policy, key):
    """Returns the ratio of a figure to that of LRU on demand; None if either is not known."""
    found, base = program[memory][way][policy][key], program[memory]["demand"]["lru"][key]
    return found / base if found and base else None


def average(programs, *place):
    """Returns by how much a figure is more than that of LRU on demand, on average."""
    known = [one for one in (ratio(program, *place) for program in programs) if one]
    return geometric_mean(known) - 1 if known else None


def share(part, whole):
    return part / whole if whole else 0


def tables():
    """Shows averages by way, and write-backs of each program."""
    programs = json.loads(RESULTS.read_text())["programs"]
    rows = [average_row(programs.values(), memory, policy, way) for memory in MEMORIES for policy in POLICIES for way in WAYS]
    heads = ["memory", "policy", "way", "write-backs", "most of a program", "premature", "row hits of writes", "misses",
             "instructions a cycle", "lifetime"]
    return {"early": table(heads, rows), "early-programs": program_table(programs)}


def average_row(programs, memory, policy, way):
    found = [program[memory][way][policy] for program in programs]
    early = [share(one["early"]["premature"], one["early"]["writes"]) for one in found if one["early"]]
    hits = mean([share(one["writes_in_open_row"], one["writes"]) for one in found])
    more = [average(programs, memory, way, policy, key) for key in ("writebacks", "misses", "ipc", "lifetime_years")]
    most = max(ratio(program, memory, way, policy, "writebacks") or 0 for program in programs) - 1
    return [memory, f"`{policy}`", way, percent(more[0], sign=True), percent(most, sign=True),
            percent(mean(early)) if early else "", percent(hits), *(percent(one, sign=True) for one in more[1:])]


def program_table(programs):
    """Shows LRU's write-backs to PCM on demand, and how many more each policy makes each way."""
    columns = [(policy, way) for policy in POLICIES for way in WAYS if (policy, way) != ("lru", "demand")]
    rows = []
    for name, program in programs.items():
        more = [ratio(program, "pcm-row", way, policy, "writebacks") for policy, way in columns]
        rows.append([name, f"{program['pcm-row']['demand']['lru']['writebacks']:,}", *(percent(one and one - 1, sign=True) for one in more)])
    return table(["program", "LRU on demand", *(f"{policy}, {way}" for policy, way in columns)], rows)


def main():
    quick = sys.argv[1:] == ["--quick"]
    if sys.argv[1:] and not quick:
        sys.exit(__doc__)
    work = common.work_directory(FOLDER)
    bench = Programs(work)
    rows, results = (QUICK_ROWS, work / "early.json") if quick else (ROWS, RESULTS)
    programs = {}
    for name in (name for name in PROGRAMS if name in bench.programs):
        trace = bench.trace(name, rows, 0 if quick else bench.setup(name))
        common.say(f"simulating {name}")
        programs[name] = measure(trace, rows // 4)
        common.write_json(results, {"figures": "simulated by terrace sim llc", "rows": rows, "warmup": rows // 4,
                                    "programs": programs})


if __name__ == "__main__":
    main()
