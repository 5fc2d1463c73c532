"""Hill climbing by a simulation for each trial, as section III has it, beside climbing by what each trial changes.

Usage: BENCH_SOURCES=FOLDER climbing.py [PROGRAM...]

Runs both in turn on the first ROWS rows of the recordings of static_placement.py, for programs with up to SITES sites,
and writes their times of the processor and their trials to climbing.json.
"""

import json
import resource
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import static_placement  # noqa: E402
from common import say, table  # noqa: E402

RESULTS = FOLDER / "climbing.json"
ROWS, SITES, ROUNDS = 500_000, 40, 3


def processor_time():
    """Returns the seconds of the processor that child processes have taken."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def searched(trace, search):
    """Returns a placement, the searches by name, and the seconds of the processor that all of it took."""
    began = processor_time()
    placed = static_placement.place(trace, "--limit", ROWS, "--search", search)
    return placed, {one["name"]: one for one in placed["searches"]}, processor_time() - began


def chosen(placed):
    return [site["name"] for site in placed["sites"] if site["rank"]]


def compare(trace):
    """Returns the times of both climbs, or none for a program with too many sites."""
    whole, alone, runs = [], [], []
    for _ in range(ROUNDS):
        placed, searches, seconds = searched(trace, "climb")
        if len(placed["sites"]) > SITES:
            return None
        whole.append(seconds)
        alone.append(searches["climb"]["seconds"])
        by_runs, found, seconds = searched(trace, "runs")
        # The command simulates once more than the paper does.
        runs.append(seconds - whole[-1])
    same = (searches["climb"]["time_ns"], chosen(placed)) == (found["runs"]["time_ns"], chosen(by_runs))
    return {"sites": len(placed["sites"]), "chosen": len(chosen(placed)), "trials": found["runs"]["evaluations"],
            "same": same, "runs_s": runs, "place_s": whole, "climb_s": alone}


def tables():
    """Returns the table of the page; the least times, as what disturbs a run makes it longer."""
    if not RESULTS.exists():
        return {}
    rows = []
    for name, one in json.loads(RESULTS.read_text())["programs"].items():
        runs, whole, alone = (min(one[key]) for key in ("runs_s", "place_s", "climb_s"))
        rows.append([name, one["sites"], one["trials"], "yes" if one["same"] else "no", f"{runs:.2f}", f"{whole:.2f}",
                     f"{1e6 * alone:.1f}", f"{runs / whole:.1f}", f"{runs / alone:,.0f}"])
    heads = ["program", "sites", "trials", "same placement", "a simulation for each trial, s", "`terrace place`, s",
             "its climb, us", "times as fast, with its one simulation", "the climb alone"]
    return {"climbing": table(heads, rows)}


def main():
    sources, work = static_placement.folders()
    programs = json.loads(RESULTS.read_text())["programs"] if RESULTS.exists() else {}
    for name in sys.argv[1:] or list(static_placement.PROGRAMS):
        trace = static_placement.recorded(f"own-{name}", static_placement.PROGRAMS[name], sources, work)
        say(f"climbing {name}")
        if found := compare(trace):
            programs[name] = found
        common.write_json(RESULTS, {"figures": "measured: seconds of the processor, by terrace place", "rows": ROWS,
                                    "programs": {key: programs[key] for key in static_placement.PROGRAMS if key in programs}})


if __name__ == "__main__":
    main()
