"""Repeats chapter 3 of Fedorov 2016: VATS, turns that are long enough to pay for the cache they refill.

Usage: repeat.py [--quick]
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import drawing  # noqa: E402
import experiments  # noqa: E402
from programs import AGGRESSOR, QUICK_ROWS, ROWS, Programs  # noqa: E402
from tables import tables  # noqa: E402


def measure(bench, _, quick):
    rows = QUICK_ROWS if quick else ROWS
    traces = {name: bench.trace(name, rows) for name in bench.programs}
    aggressor, alone = traces.pop(AGGRESSOR), {}
    for name, trace in traces.items():
        common.say(f"simulating {name}")
        alone[name] = experiments.alone(trace, aggressor)
    sets = {}
    for name, given in experiments.SETS.items():
        common.say(f"simulating {name}")
        count = min(given["mixes"], 1 if quick else given["mixes"])
        names = [one for one in traces if name == experiments.ALL or one not in experiments.LATER]
        mixes = experiments.draws(names, count, given["cores"] * given["each"])
        sets[name] = experiments.lengths(traces, mixes, given)
    common.say("simulating settings of refill")
    learnt = sets["two-16M"]["mixes"][:experiments.WITHIN_MIXES]
    few = sets["two-16M"]["mixes"][:experiments.FEW]
    common.say("simulating partitions and policies")
    return {
        "about": bench.versions(traces),
        "times": experiments.TIMES,
        "alone": alone,
        "replaced": {str(each): experiments.replaced(traces, few, each) for each in (2, 4)},
        "sets": sets,
        "curves": experiments.curves(traces, few),
        "within": experiments.within(traces, learnt),
        "partitions": experiments.partitions(traces, few),
        "policies": experiments.policies(traces, few),
    }


if __name__ == "__main__":
    common.repeat(FOLDER, __doc__, measure, drawing.draw, tables, Programs)
