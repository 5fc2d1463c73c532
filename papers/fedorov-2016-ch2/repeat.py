"""Repeats chapter 2 of Fedorov 2016: ARI, a last-level cache that writes back less.

Usage: repeat.py [--quick]
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import drawing  # noqa: E402
import experiments  # noqa: E402
import stack  # noqa: E402
from programs import Programs  # noqa: E402
from tables import tables  # noqa: E402

# Requests to the last level after a program's set-up, warm-up included. Quick recordings cover only
# its beginning.
ROWS, QUICK_ROWS = 8_000_000, 2_000_000
# Programs whose phases are shown, as the paper's soplex and mcf; minisat has more of them than glpsol.
ADAPTS, WRITES = ("glpsol", "minisat"), "network"


def measure_all(bench, rows, quick):
    alone = [name for name, program in bench.programs.items() if "threads" not in program]
    together = [name for name, program in bench.programs.items() if "threads" in program]
    traces = {name: bench.trace(name, rows, 0 if quick else bench.setup(name)) for name in bench.programs}
    programs = {}
    for name in alone:
        common.say(f"simulating {name}")
        programs[name] = measure_one(bench, name, traces[name], rows)
    shared = measure_shared(traces, together, rows)
    period = rows // 40
    return {
        "about": bench.versions(bench.programs),
        "missing": bench.missing,
        "programs": programs,
        "shared": shared,
        "adaptation": {name: experiments.adaptation(traces[name]) for name in alone if name in ADAPTS},
        "course": {name: {"period": period, "policies": experiments.course(traces[name], period)}
                   for name in alone if name == WRITES},
    }


def measure_one(bench, name, trace, rows):
    warmup = min(experiments.WARMUP, rows // 4)
    info = common.trace_info(trace)
    found = experiments.alone(trace, warmup)
    return {
        "spec": bench.programs[name].get("spec"),
        "setup": bench.setup(name),
        "instructions": info["instructions"],
        **found,
        "sizes": experiments.sizes(trace, warmup),
        "ways": experiments.associativities(trace, warmup),
        "candidates": experiments.candidates(trace, warmup) if stack.published(found["positions"]) else None,
    }


def measure_shared(traces, together, rows):
    """Measures LRU and others by size, by the name of a mix or of a program with eight threads."""
    loads = {name: [traces[name]] for name in together}
    for name, members in experiments.MIXES.items():
        absent = [member for member in members if member not in traces]
        if absent:
            common.say(f"MISSING: {name} is left out, it needs {', '.join(absent)}")
            continue
        loads[name] = [traces[member] for member in members]
    found = {}
    for name, load in loads.items():
        common.say(f"simulating {name}")
        # An eighth of the requests for a mix: its fast programs run many times beside its slowest.
        limit = rows if len(load) == 1 else rows // 8
        found[name] = experiments.shared(load, min(experiments.SHARED_WARMUP, rows // 2), limit)
    return found


def main():
    def measure(bench, _, quick):
        return measure_all(bench, QUICK_ROWS if quick else ROWS, quick)

    common.repeat(FOLDER, __doc__, measure, drawing.draw, tables, Programs)


if __name__ == "__main__":
    main()
