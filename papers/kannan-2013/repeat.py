"""Repeats Kannan 2013: the cost of persistence, and what an allocator, a log and contiguous pages save
of it.

Usage: repeat.py [--quick]
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import counting  # noqa: E402
import drawing  # noqa: E402
import experiments  # noqa: E402
from programs import TABLES, TREES, Programs  # noqa: E402
from tables import tables  # noqa: E402

# Elements of table 2.
SIZES, QUICK_SIZES = [500_000, 1_000_000, 1_500_000], [20_000]
# Elements of the programs whose operations are counted and timed, and rounds.
OPERATIONS, QUICK_OPERATIONS = (50_000, 5), (10_000, 2)
# Puts and gets of figures 13 and 18.
GROWING, QUICK_GROWING = [750, 1_500, 3_000], [500]
# Elements of the tables and trees that run beside applications, and accesses of the applications, which
# should run longer: a program that ends first begins anew, its first touches included.
ELEMENTS, QUICK_ELEMENTS = 3_000, 500
ACCESSES, QUICK_ACCESSES = 48_000_000, 6_000_000
# Orders of free memory that are averaged over.
SEEDS, QUICK_SEEDS = [1], [1]


def measure(bench, _, quick):
    def either(whole, part):
        return part if quick else whole

    operations, rounds = either(OPERATIONS, QUICK_OPERATIONS)
    elements, accesses = either(ELEMENTS, QUICK_ELEMENTS), either(ACCESSES, QUICK_ACCESSES)
    seeds = either(SEEDS, QUICK_SEEDS)
    hash_tables, trees = (persistents(bench, options, elements) for options in (TABLES, TREES))
    found = {
        "about": bench.versions(bench.programs),
        "missing": bench.missing,
        "setup": {"operations": operations, "rounds": rounds, "elements": elements, "accesses": accesses,
                  "placements": len(seeds)},
        "allocations": counting.allocations(bench, either(SIZES, QUICK_SIZES)),
        "operations": counting.operations(bench, operations, rounds),
        "growing": growing(bench, either(GROWING, QUICK_GROWING)),
        "tables": {name: experiments.alone(*table) for name, table in hash_tables.items()},
        "trees": {name: experiments.alone(*tree) for name, tree in trees.items()},
        "apps": {}, "beside_trees": {},
    }
    for name, (program, _) in bench.apps().items():
        trace = bench.trace(name, accesses, quick)
        common.say(f"simulating {program} beside the hash table and the tree")
        found["apps"][name] = experiments.beside(trace, hash_tables, experiments.RUNS, seeds)
        found["beside_trees"][name] = experiments.beside(trace, trees, experiments.TREE_RUNS, seeds)
    return found


def persistents(bench, options, elements):
    return {name: bench.persistent(of, elements) for name, of in options.items()}


def growing(bench, sizes):
    """Simulates hash tables alone, by puts and gets."""
    return {str(elements): {name: experiments.alone(*bench.persistent(TABLES[name], elements))
                            for name in TABLES if name != "volatile"} for elements in sizes}


def main():
    common.repeat(FOLDER, __doc__, measure, drawing.draw, tables, Programs)


if __name__ == "__main__":
    main()
