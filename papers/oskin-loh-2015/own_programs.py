"""The page cache of figure 2 on the paper's own programs, set-up included: with a fifth of their memory fast, and with as
much as makes them fault as often as the paper's; by what caches let through to the pages.

Usage: BENCH_SOURCES=FOLDER own_programs.py [PROGRAM...]

Takes the recordings of `static_placement.py`, which are made if they are not there, and writes own.json.
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import static_placement  # noqa: E402
from common import geometric_mean, say, table  # noqa: E402
from page_cache import CYCLES, Model, Work, calibrate, instructions  # noqa: E402
from static_placement import LOW_LOCALITY  # noqa: E402

RESULTS = FOLDER / "own.json"
# The paper's share of fast memory, and those among which the one is chosen at which programs fault as often as its own.
PAPER_SHARE = "20%"
SHARES = [f"{share}%" for share in (5, 10, 15, 20, 30, 40, 50, 60, 70, 80, 90, 100)]
# Faults in a million cycles of slow memory alone that follow from the paper's averages (the page, figure 2).
PAPER_RATE = 20
# The last level that static_placement.py has at these sizes.
LAST_LEVEL = "2M"
# What reaches the pages, by what comes before them; the last of these is the one shown program by program. What caches
# write back touches no page.
REACHES = {
    "private caches": lambda private: private,
    "a last level": lambda private: common.behind_last_level(private, LAST_LEVEL),
}
# The same by a simulator for which what caches write back were touches, of a session before; the same recordings.
EARLIER = FOLDER / "own-earlier.json"


def measure(trace):
    """Simulates a recording from its beginning with every share; a first touch is a fault, as memory begins slow."""
    runs = common.simulate(trace, 0, dram=SHARES, memory="dram", replacement="fifo", eviction_buffer=0)
    runs.sort(key=lambda run: run["settings"]["dram_pages"])
    first = runs[0]
    return {
        "footprint_mb": round(first["footprint_pages"] * 4096 / 1e6, 1),
        "instructions": instructions(first),
        "memory_accesses": first["accesses"],
        "first_touches": first["first_touches"],
        "faults": dict(zip(SHARES, (run["misses"] for run in runs))),
    }


class Shares:
    """A program with each share of its memory fast."""

    def __init__(self, found, paper):
        setup = paper["setup"]
        self.found = found
        self.works = {share: Work(found | {"faults": faults}, setup["clock_ghz"], setup["slow_over_fast"])
                      for share, faults in found["faults"].items()}

    def any(self):
        """Returns the work with some share, where faults do not matter."""
        return next(iter(self.works.values()))

    def chosen(self, fast):
        """Returns the smallest share with which the program faults no more often than the paper's, or all."""
        return next((share for share, work in self.works.items() if work.fault_rate(fast) <= PAPER_RATE), SHARES[-1])


def tables(paper):
    if not RESULTS.exists():
        return {}
    def read(path):
        programs = json.loads(path.read_text())["programs"]
        return {what: sweeps({name: found[what] for name, found in programs.items()}, paper) for what in REACHES}

    swept = read(RESULTS)
    return {"own-reaches": averages(swept), "own-reaches-earlier": averages(read(EARLIER)),
            **swept[list(REACHES)[-1]]}


def sweeps(founds, paper):
    """Shows programs with the paper's share of fast memory, and with the shares at which they fault as often as its own."""
    programs = {name: Shares(found, paper) for name, found in founds.items()}
    usual = {name: one for name, one in programs.items() if name != LOW_LOCALITY}
    fast = calibrate([one.any() for one in usual.values()], paper["all_fast"]["average_speedup"])
    return {
        "own": sweep(programs, usual, fast, lambda one: PAPER_SHARE),
        "own-rate": sweep(programs, usual, fast, lambda one: one.chosen(fast)),
    }


def averages(swept):
    """Shows the averages of these tables with the paper's share, by what reaches the pages."""
    rows = []
    for what, tables_of in swept.items():
        heads, *_, last = tables_of["own"].splitlines()
        rows.append([what, *cells_of(last)[3:]])
    return table(["before the pages", *cells_of(heads)[3:]], rows)


def cells_of(line):
    return [cell.strip() for cell in line.strip("|").split(" |")]


def model(paper):
    """Returns the model that is calibrated with the programs behind the last level."""
    programs = json.loads(RESULTS.read_text())["programs"]
    setup = paper["setup"]
    usual = [Shares(found[list(REACHES)[-1]], paper).any() for name, found in programs.items() if name != LOW_LOCALITY]
    fast = calibrate(usual, paper["all_fast"]["average_speedup"])
    return Model(setup["clock_ghz"], fast, setup["slow_over_fast"])


def sweep(programs, usual, fast, share_of):
    """Shows speed-ups over slow memory alone by the cycles of a fault, each program with its share of fast memory."""
    rows = []
    for name, one in programs.items():
        share = share_of(one)
        work = one.works[share]
        rows.append([name, one.found["footprint_mb"], share, f"{work.fault_rate(fast):,.0f}", f"{work.all_fast(fast):.2f}",
                     *(f"{work.page_cache(fast, cycles):.2f}" for cycles in CYCLES)])
    works = [one.works[share_of(one)] for one in usual.values()]
    means = [geometric_mean([work.page_cache(fast, cycles) for work in works]) for cycles in CYCLES]
    rate = common.mean([work.fault_rate(fast) for work in works])
    rows.append([f"**average** without {LOW_LOCALITY}", "", "", f"{rate:,.0f}",
                 f"{geometric_mean([work.all_fast(fast) for work in works]):.2f}", *(f"{one:.2f}" for one in means)])
    return table(["program", "MB", "fast", "faults, M cycles of slow memory alone", "all fast",
                  *(f"{cycles:,}" for cycles in CYCLES)], rows)


def main():
    sources, work = static_placement.folders()
    programs = json.loads(RESULTS.read_text())["programs"] if RESULTS.exists() else {}
    for name in sys.argv[1:] or list(static_placement.PROGRAMS):
        trace = static_placement.recorded(f"own-{name}", static_placement.PROGRAMS[name], sources, work)
        say(f"simulating {name}")
        programs[name] = {what: measure(reaching(trace)) for what, reaching in REACHES.items()}
        ordered = {name: programs[name] for name in static_placement.PROGRAMS if name in programs}
        common.write_json(RESULTS, {"figures": "faults simulated by terrace sim pages; times by page_cache.py", "programs": ordered})


if __name__ == "__main__":
    main()
