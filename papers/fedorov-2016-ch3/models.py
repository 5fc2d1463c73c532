"""Chapter 3 by the timing model of this build, and by that of an earlier one, on the same recordings.

Usage: BENCH_SOURCES=FOLDER models.py EARLIER

EARLIER is the file of an earlier `terrace`. Every fourth program of the table, and the first mixes of `two-16M`; writes
models.json. What is there already is not simulated again.
"""

import json
import sys
from pathlib import Path
from unittest import mock

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import experiments  # noqa: E402
from common import gained, mean, percent, table  # noqa: E402

RESULTS = FOLDER / "models.json"
EACH = 4
SET, MIXES = "two-16M", 2
BUILDS = {"earlier": "before", "now": "now"}
# Of mixes the figures of a build are kept, too, in which a core went on for 2,000 instructions before one behind it.
MIX_BUILDS = {"earlier": "before", "steps": "in steps", "now": "now"}


def tables(sets):
    if not RESULTS.exists():
        return {}
    results = json.loads(RESULTS.read_text())
    return {"models-alone": alone_table(results["alone"]), "models-lengths": lengths_table(results["lengths"]),
            "models-sets": sets_table(results["sets_before"], sets)}


def sets_table(before, sets):
    """What each set saved by the model before, beside what it saves now."""
    rows = []
    for name, found in before.items():
        for turn, one in found["turns"].items():
            pairs = [gained(of[key]) for key in ("slowdown", "misses") for of in (one, sets[name]["turns"][turn])]
            rows.append([f"{name}, {turn}", found["mixes"], len(sets[name]["mixes"]), *pairs])
    return table(["set, turns", "mixes: before", "mixes: now",
                  *(f"{what} less: {when}" for what in ("run time", "misses") for when in BUILDS.values())], rows)


def alone_table(programs):
    keys = {"slowdown": "slower beside the aggressor", "slowdown_45ms": "with turns of 45 ms"}
    columns = [(key, build) for key in keys for build in BUILDS]
    rows = [[name, *(f"{found[build]['ipc']:.2f}" for build in BUILDS),
             *(percent(found[build][key] - 1) for key, build in columns)] for name, found in programs.items()]
    rows.append(["average", "", "", *(percent(mean([found[build][key] for found in programs.values()]) - 1)
                                      for key, build in columns)])
    return table(["program", *(f"IPC alone: {when}" for when in BUILDS.values()),
                  *(f"{keys[key]}: {BUILDS[build]}" for key, build in columns)], rows)


def lengths_table(mixes):
    columns = [(mix, key, build) for mix in mixes for key in ("slowdown", "misses") for build in MIX_BUILDS]
    heads = {"slowdown": "run time less", "misses": "misses less"}
    rows = [[turn, *(percent(1 - mixes[mix][build]["turns"][turn][key]) for mix, key, build in columns)]
            for turn in next(iter(mixes.values()))["now"]["turns"]]
    return table(["turns", *(f"mix {mix}, {heads[key]}: {MIX_BUILDS[build]}" for mix, key, build in columns)], rows)


def main():
    from programs import AGGRESSOR, ROWS, Programs

    bench = Programs(common.work_directory(FOLDER))
    traces = {name: bench.trace(name, ROWS) for name in bench.programs}
    builds = {"now": common.TERRACE, "earlier": Path(sys.argv[1])}
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"figures": "simulated by terrace sim mix", "alone": {},
                                                                        "lengths": {}}
    aggressor = traces.pop(AGGRESSOR)
    names = [name for name in traces if name not in experiments.LATER]
    given = experiments.SETS[SET]
    mixes = experiments.draws(names, MIXES, given["cores"] * given["each"])
    lengths = [(results["lengths"].setdefault(str(number), {}), lambda mix=mix: experiments.lengths(traces, [mix], given))
               for number, mix in enumerate(mixes, 1)]
    alone = [(results["alone"].setdefault(name, {}), lambda trace=traces[name]: experiments.alone(trace, aggressor))
             for name in list(traces)[::EACH]]
    for found, simulated in [*lengths, *alone]:
        for build, terrace in builds.items():
            if build not in found:
                with mock.patch.object(common, "TERRACE", terrace):
                    found[build] = simulated()
                common.write_json(RESULTS, results)


if __name__ == "__main__":
    main()
