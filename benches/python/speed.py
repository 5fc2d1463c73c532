"""Measures the Python package: an array beside the command, and policies in Python beside those of
libCacheSim.

Usage: speed.py [--accesses N] [--pages N] [--rounds N] [--terrace FILE] [--json FILE]

The package comes from the wheel of `make python`, libCacheSim and NumPy from PyPI, into an
environment below target/. Of the command all is timed; of the package the calls that are named, and
of libCacheSim the run over the trace, not the start of Python.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "pages"))

from interleaved import ratio, rounds, run, shown, table  # noqa: E402

TERRACE = ROOT / "target" / "release" / "terrace"
WORK = ROOT / "target" / "bench-python"
PEER = "libcachesim==0.3.5"
POLICIES = ["fifo", "clock", "lru"]
WAYS = {"with the clock": "pcm", "counts alone": "none"}
CLOCKS = ["wall", "processors"]

# What the package is to reach.
BARS = {"array": 0.95, "policy": 5.0}

SAVE = """
import sys, numpy, terrace_sim
table = terrace_sim.open(sys.argv[1]).to_polars()
numpy.save(sys.argv[2], table["address"].to_numpy())
numpy.save(sys.argv[3], table["write"].to_numpy())
"""


def environment():
    """Returns the Python that has the wheel and libCacheSim."""
    python = WORK / "environment" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", WORK / "environment"], check=True)
    wheels = sorted((ROOT / "target" / "wheels").glob("terrace_sim-*.whl"))
    if not wheels:
        sys.exit("there is no wheel in target/wheels; run `make python` first")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, PEER, "numpy", "polars"], check=True)
    subprocess.run([*pip, "--no-deps", "--force-reinstall", wheels[-1]], check=True)
    return python


class Traces:
    """The same accesses, by Zipf's law to a quarter of a million pages, as every side reads them."""

    def __init__(self, terrace, python, accesses):
        self.parquet = WORK / f"zipf-{accesses}.parquet"
        self.requests = WORK / f"zipf-{accesses}.oracleGeneral.bin"
        self.arrays = [WORK / f"{name}-{accesses}.npy" for name in ("addresses", "writes")]
        make = [terrace, "trace", "gen", "zipf", "-q", "--footprint", "1G", "--accesses", accesses]
        if not self.arrays[-1].exists():
            run([*make, "-o", self.parquet])
            run([*make, "--to", "oracle-general", "-o", self.requests])
            run([python, "-c", SAVE, self.parquet, *self.arrays])


class Comparison:
    """All sides on the same trace, with one size of DRAM, and how often they missed."""

    def __init__(self, terrace, python, traces, pages):
        self.terrace, self.python, self.traces, self.pages = terrace, python, traces, pages
        self.accesses, self.misses = 0, {}

    def _checked(self, name, misses):
        if self.misses.setdefault(name, misses) != misses:
            sys.exit(f"{name}: {misses} misses, and {self.misses[name]} before")

    def share(self, name):
        """Returns the share of accesses that miss."""
        return self.misses[name] / self.accesses

    def command(self, memory):
        """Returns the seconds of the whole command, on the wall and of processors."""
        machine = ["--dram", f"{self.pages}p", "--replacement", "lru", "--memory", memory]
        command = [self.terrace, "sim", "pages", "-q", *machine, "--json=-", self.traces.parquet]
        begin = time.perf_counter()
        processors, said = run(command)
        wall = time.perf_counter() - begin
        found = json.loads(said)["runs"][0]
        self.accesses = found["accesses"]
        self._checked("lru", found["misses"])
        return [wall, processors]

    def ours(self, name, what, *given):
        """Returns the seconds of a call of the package: of each part, by its name."""
        said = json.loads(run([self.python, HERE / "ours.py", what, *given, str(self.pages)])[1])
        self._checked(name, said["misses"])
        self.accesses = said["accesses"]
        return said["seconds"]

    def theirs(self, policy):
        """Returns the seconds of libCacheSim with a plug-in."""
        command = [self.python, HERE / "theirs.py", policy, self.traces.requests, str(self.pages)]
        said = json.loads(run(command)[1].splitlines()[-1])
        self._checked(policy, round(said["miss_ratio"] * self.accesses))
        return said["seconds"]

    def array(self, count, memory):
        """Returns the times of the command, and of an array: alone, and with its opening."""
        jobs = {
            "command": lambda: self.command(memory),
            "package": lambda: self.ours("lru", "array", *self.traces.arrays, memory),
        }
        times = rounds(count, jobs)
        parts = {part: [one[part] for one in times["package"]] for part in ("opened", "array")}
        return by_clock({"command": times["command"], **parts})

    def policy(self, count, policy):
        """Returns the times of a policy in Python, here and in libCacheSim."""
        jobs = {
            "ours": lambda: self.ours(policy, policy, self.traces.parquet)["policy"],
            "theirs": lambda: self.theirs(policy),
        }
        return by_clock(rounds(count, jobs))


def by_clock(times):
    """Returns the seconds of each side by the clock that has measured them."""
    return {
        clock: {side: [one[at] for one in seconds] for side, seconds in times.items()}
        for at, clock in enumerate(CLOCKS)
    }


def show(found):
    """Prints the tables."""
    each = found["accesses"] / 1e9

    def nanos(seconds):
        return f"{statistics.median(seconds) / each:.0f} ns"

    print("\nHow many times as fast as the command `ts.pages` is, on an array that was opened, and with "
          "its opening (`ts.open`): median of the rounds (least to most).\n")
    rows = [
        [way, clock, nanos(sides["command"]), shown(ratio(sides["command"], sides["opened"])),
         shown(ratio(sides["command"], sides["array"]))]
        for way, clocks in found["array"].items() for clock, sides in clocks.items()
    ]
    table(["way", "clock", "command, an access", "opened", "with its opening"], rows)
    print("\nHow many times as fast as plug-ins of libCacheSim policies in Python are.\n")
    rows = [
        [one["policy"], f"{one['pages']:,}", f"{one['misses']:.1%}", clock, nanos(sides["theirs"]),
         nanos(sides["ours"]), shown(ratio(sides["theirs"], sides["ours"]))]
        for one in found["policies"] for clock, sides in one["seconds"].items()
    ]
    table(["policy", "pages", "misses of both", "clock", "libCacheSim, a request", "ours", "ratio"],
          rows)


def verdicts(found):
    """Prints whether each bar is reached, by processor time."""
    reached = {}
    for way, clocks in found["array"].items():
        sides = clocks["processors"]
        for side in ("opened", "array"):
            reached[f"{way}, {side}"] = (ratio(sides["command"], sides[side])[0], BARS["array"])
    for one in found["policies"]:
        sides = one["seconds"]["processors"]
        reached[f"{one['policy']}, {one['pages']:,} pages"] = (ratio(sides["theirs"], sides["ours"])[0], BARS["policy"])
    print()
    for name, (median, bar) in reached.items():
        print(f"{name}: {median:.2f}, {'reached' if median >= bar else 'MISSED'}: {bar:.2f}")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--accesses", default="3M", help="accesses of the trace")
    arguments.add_argument("--pages", default="26214,131072", help="pages of DRAM; a list")
    arguments.add_argument("--rounds", type=int, default=7, help="rounds of each comparison")
    arguments.add_argument("--terrace", type=Path, default=TERRACE, help="the command")
    arguments.add_argument("--json", type=Path, help="a file for all figures")
    given = arguments.parse_args()
    if not given.terrace.exists():
        sys.exit(f"{given.terrace} is not there; run `make build` first")
    WORK.mkdir(parents=True, exist_ok=True)
    python = environment()
    traces = Traces(given.terrace, python, given.accesses)
    sizes = [Comparison(given.terrace, python, traces, int(pages)) for pages in given.pages.split(",")]
    print(f"{given.accesses} accesses by Zipf's law to 262,144 pages; an array with {sizes[0].pages:,} "
          f"pages of DRAM; beside {PEER} of PyPI; {given.rounds} rounds")
    array = {way: sizes[0].array(given.rounds, memory) for way, memory in WAYS.items()}
    policies = [
        {"policy": policy, "pages": size.pages, "seconds": size.policy(given.rounds, policy),
         "misses": size.share(policy)}
        for size in sizes for policy in POLICIES
    ]
    found = {"peer": PEER, "accesses": sizes[0].accesses, "array": array, "policies": policies}
    show(found)
    verdicts(found)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
