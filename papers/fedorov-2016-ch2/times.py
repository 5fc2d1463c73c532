"""What policies do to times and energy on the programs that are held out, by the timing model of this build, and by that of
an earlier one on the same recordings.

Usage: BENCH_SOURCES=FOLDER BENCH_DATA=FOLDER times.py [EARLIER]

EARLIER is the file of an earlier `terrace`, whose figures are taken as well. Takes the recordings of `halves.py`, which are
made if they are not there, and writes times.json.
"""

import json
import sys
from pathlib import Path
from unittest import mock

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import experiments  # noqa: E402
from common import percent, table  # noqa: E402
from comparison import average_gain, average_saving, gain  # noqa: E402

RESULTS = FOLDER / "times.json"
POLICIES = ["dip", "dblk", "drrip", "ari", *experiments.OWN]
BUILDS = {"earlier": "before", "now": "now"}


def measure(trace, terrace, warmup):
    """Returns counts, and results with each memory, by policy."""
    with mock.patch.object(common, "TERRACE", terrace):
        runs = experiments.simulate([trace], POLICIES, warmup, memory=experiments.MEMORIES)
    return {run["policy"]: experiments.with_memories(run) for run in runs}


def tables():
    if not RESULTS.exists():
        return {}
    programs = json.loads(RESULTS.read_text())["programs"]
    rows = []
    for policy in POLICIES:
        cells = [percent(average_gain([gain(found[build], policy, "dram") for found in programs.values()])) for build in BUILDS]
        for memory in experiments.MEMORIES:
            cells += [percent(average_saving([found[build] for found in programs.values()], policy, memory)) for build in BUILDS]
        rows.append([f"`{policy}`", len(programs), *cells])
    heads = ["instructions a cycle, DRAM", *(f"energy, {memory}" for memory in ("DRAM", "PCM", "DRAM before PCM"))]
    return {"times": table(["policy", "programs", *(f"{head}: {when}" for head in heads for when in BUILDS.values())], rows),
            "times-programs": program_table(programs)}


def program_table(programs):
    """Shows LRU's instructions a cycle, and what ARI gains."""
    rows = [[name, *(f"{found[build]['lru']['memories']['dram']['ipc']:.3f}" for build in BUILDS),
             *(percent(gain(found[build], "ari", "dram")) for build in BUILDS)] for name, found in programs.items()]
    return table(["program", *(f"LRU, instructions a cycle: {when}" for when in BUILDS.values()),
                  *(f"ARI gains: {when}" for when in BUILDS.values())], rows)


def main():
    import halves
    import split

    bench = halves.Halves(common.work_directory(FOLDER))
    builds = {"now": common.TERRACE}
    if sys.argv[1:]:
        builds["earlier"] = Path(sys.argv[1])
    programs = json.loads(RESULTS.read_text())["programs"] if RESULTS.exists() else {}
    # As halves.json has them: some could not be recorded.
    for name in json.loads(halves.RESULTS.read_text())["programs"]:
        if not split.held_out(name) or name in programs:
            continue
        trace = bench.trace(name, halves.ROWS, bench.setup(name))
        common.say(f"simulating {name}")
        programs[name] = {build: measure(trace, terrace, halves.WARMUP) for build, terrace in builds.items()}
        common.write_json(RESULTS, {"figures": "simulated by terrace sim llc", "rows": halves.ROWS, "warmup": halves.WARMUP,
                                    "programs": programs})


if __name__ == "__main__":
    main()
