"""Judges policies on programs on which none of their settings was chosen.

Usage: BENCH_SOURCES=FOLDER BENCH_DATA=FOLDER halves.py

Programs are split by their names (`split.py`), the sizes of inputs follow a rule (`programs/sized.toml`), and all have
the same numbers of requests. Writes halves.json.
"""

import json
import os
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import experiments  # noqa: E402
import model  # noqa: E402
import split  # noqa: E402
from programs import RECORDING, Programs  # noqa: E402

RESULTS = FOLDER / "halves.json"
BUILD = FOLDER.parent.parent / "benches" / "proxies" / "programs" / "build.sh"
# Requests to the last level after the set-up, of which the first warm up: 16 times the lines of the cache.
ROWS, WARMUP = 2_000_000, 500_000
# Rows that are left out at the beginning for each line of the footprint: arrays are made and read a few times.
SETUP_A_LINE = 8
LINE_BYTES = 64
# Recordings that are made at a time.
TOGETHER = 2

# ARI with a change each that might make adaptation cheaper, and `density` with other constants: chosen among on the
# half for tuning.
VARIANTS = {
    "ari": ["ari:slack=0.03125", "ari:tag=12", "ari:epoch=30000,tag=12,dirty=lh"],
    "density": ["density:epoch=1024", "density:epoch=4096", "density:sets=64", "density:wwb=0.5", "density:bypass=off"],
}
# What the half for tuning decided: the fewest cases beyond +5 % of those that leave dirty lines at MRU, as the paper.
CHOSEN = {"ari": "ari:tag=12", "density": "density"}
REPORTED = [*experiments.PAPERS, *experiments.OWN, "fifo", "plru", "opt"]
# Caches beside that of 2 MB in 16 ways.
SHAPES = [*((size, experiments.WAYS) for size in experiments.SIZES if size != "2M"),
          *(("2M", ways) for ways in experiments.ASSOCIATIVITIES if ways != experiments.WAYS)]
# Requests on which the simulator is compared with a model of another hand, and its policies.
COMPARED_ROWS = 100_000
MODELLED = ["lru", *experiments.CANDIDATES, "ari"]


class Halves(Programs):
    """The chapter's programs with one thread, and the applications: at the sizes of the rule where they have one."""

    def __init__(self, work):
        self.built = Path(os.environ["BENCH_DATA"]) / "proxies"
        super().__init__(work)
        self.places["built"] = self.built

    def wanted(self, programs):
        self.sized = tomllib.loads((self.folder / "sized.toml").read_text())
        alone = {name: program for name, program in programs.items() if "threads" not in program}
        sized = {name: self.builds(alone.get(name, {}) | program) for name, program in self.sized.items()}
        return sized | {name: program for name, program in alone.items() if name not in sized}

    @staticmethod
    def builds(program):
        source = program.get("source")
        known = {"check": ["sh", str(BUILD), source], "packages": [f"(the source of {source} in BENCH_SOURCES)"]}
        return known | program if source else program

    def setup(self, name):
        """Returns the rows of a program's set-up: at a size of the rule at least some for each line."""
        lines = split.footprint_bytes(name) // LINE_BYTES if name in self.sized else 0
        return max(super().setup(name), SETUP_A_LINE * lines)

    def trace(self, name, rows, setup):
        """Returns the trace after the set-up, which is a third of the trace at most if the program ended early."""
        whole = self.record(name, setup + rows, *RECORDING)
        made = common.trace_info(whole)["accesses"]
        return common.main_part(whole, setup if made == setup + rows else min(setup, made // 3))


def record(bench):
    """Returns the trace of each program."""
    with ThreadPoolExecutor(TOGETHER) as pool:
        traces = pool.map(lambda name: bench.trace(name, ROWS, bench.setup(name)), bench.programs)
        return dict(zip(bench.programs, traces))


def counts(run):
    """Returns reads and write-backs of the level above that miss, and lines that are written to memory."""
    return {key: run[key] for key in ("misses", "writeback_misses", "writebacks")}


def simulate(trace, policies, **options):
    return experiments.simulate([trace], policies, WARMUP, memory="none", **options)


def by_policy(runs):
    return {run["policy"]: counts(run) for run in runs}


def measure_one(bench, name, trace, kept):
    """Simulates what `kept`, the results of an earlier call with the same recording, has not got."""
    common.say(f"simulating {name}")
    held_out = split.held_out(name)
    tuned = [] if held_out else [*VARIANTS["ari"], *VARIANTS["density"]]
    policies = dict.fromkeys([*REPORTED, *experiments.CANDIDATES, *tuned, *CHOSEN.values()])
    runs = simulate(trace, absent(policies, kept.get("policies", {})))
    adaptive = dict.fromkeys(["ari", *([] if held_out else VARIANTS["ari"]), CHOSEN["ari"]])
    shapes = kept.get("shapes", {})
    for size in SHAPES:
        found = shapes.setdefault(shape_text(*size), {})
        found |= by_policy(simulate(trace, absent(adaptive, found), llc=size[0], ways=size[1]))
    return {
        "held_out": held_out,
        "footprint": split.footprint_bytes(name) if name in bench.sized else None,
        "what": bench.programs[name]["what"],
        "requests": runs[0]["accesses"],
        "warmed": runs[0]["warmup"] is not None,
        "policies": kept.get("policies", {}) | by_policy(runs),
        "shapes": shapes,
        "model": kept.get("model", compare(bench, name, trace) if held_out else None),
    }


def absent(policies, found):
    return [policy for policy in policies if policy not in found]


def shape_text(size, ways):
    return f"{size}B, {ways} ways"


def compare(bench, name, trace):
    """Returns the policies of which the model counts otherwise than the simulator, on the first rows of a trace."""
    csv = bench.work / f"{name}.csv"
    convert = [common.TERRACE, "trace", "convert", "--quiet", "--limit", str(COMPARED_ROWS), trace, csv]
    subprocess.run(list(map(str, convert)), check=True)
    rows = list(model.requests(csv))
    runs = experiments.simulate([trace], MODELLED[1:], 0, memory="none", limit=COMPARED_ROWS)
    csv.unlink()
    return [run["policy"] for run in runs if counts(run) != model.count(rows, run["policy"])]


def main():
    bench = Halves(common.work_directory(FOLDER))
    traces = record(bench)
    programs = json.loads(RESULTS.read_text())["programs"] if RESULTS.exists() else {}
    for name, trace in traces.items():
        programs[name] = measure_one(bench, name, trace, programs.get(name, {}))
        common.write_json(RESULTS, {"figures": "simulated by terrace sim llc", "rows": ROWS, "warmup": WARMUP,
                                    "missing": bench.missing, "chosen": CHOSEN, "programs": programs})


if __name__ == "__main__":
    main()
