"""Figure 6 of Oskin & Loh 2015, and the page cache of section VI, on the paper's own programs: who fetches ahead, and when,
with all times by the simulator.

Usage: BENCH_SOURCES=FOLDER implementation.py [PROGRAM...]

Takes the recordings of `static_placement.py` behind the last level of `own_programs.py`, whose results it needs, and writes
implementation.json and implementation.svg.
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import figures_6_to_8 as prefetching  # noqa: E402
import own_programs  # noqa: E402
import static_placement  # noqa: E402
from common import say  # noqa: E402
from static_placement import LOW_LOCALITY  # noqa: E402

RESULTS = FOLDER / "implementation.json"


def measure(private, model):
    """Simulates a recording; its first half is the warm-up."""
    trace = common.behind_last_level(private, own_programs.LAST_LEVEL)
    warmup = common.trace_info(trace)["accesses"] // 2
    return {"warmup": warmup, "runs": prefetching.ways_of_prefetching(trace, warmup, model)}


def results(programs, paper):
    """Returns what implementation.json has, of the programs that were measured."""
    model = own_programs.model(paper)
    ordered = {name: programs[name] for name in static_placement.PROGRAMS if name in programs}
    runs = {name: one["runs"] for name, one in ordered.items()}
    return {
        "figures": "simulated by terrace sim pages; `computed` are the same runs' counts by the cycles of figures_6_to_8.py",
        "model": {"fast_ns": round(model.fast, 3), "slow_ns": round(model.fast * model.ratio, 3)},
        "programs": ordered,
        "ways": prefetching.compare_ways(runs, model.ghz, LOW_LOCALITY),
    }


def tables(paper):
    if not RESULTS.exists():
        return {}
    found = json.loads(RESULTS.read_text())
    return prefetching.tables_of_ways(found["ways"], paper, LOW_LOCALITY, "own-")


def main():
    sources, work = static_placement.folders()
    paper = json.loads((FOLDER / "paper.json").read_text())
    model = own_programs.model(paper)
    programs = json.loads(RESULTS.read_text())["programs"] if RESULTS.exists() else {}
    for name in sys.argv[1:] or list(static_placement.PROGRAMS):
        private = static_placement.recorded(f"own-{name}", static_placement.PROGRAMS[name], sources, work)
        say(f"simulating {name}")
        programs[name] = measure(private, model)
        common.write_json(RESULTS, results(programs, paper))
    found = json.loads(RESULTS.read_text())
    prefetching.draw_ways(found["ways"], paper, common.figures(FOLDER) / "implementation.svg", {})
    print("\n\n".join(tables(paper).values()))


if __name__ == "__main__":
    main()
