"""Compares the processor time of `terrace sim pages` and of libCacheSim, on the same trace.

Usage: compare.py [--accesses N] [--pages N] [--rounds N] [--only NAMES] [--json FILE]

libCacheSim comes from PyPI, into an environment below target/, and runs its own C library over the
whole trace; only that is timed, not the start of Python. Of `terrace` the whole command is timed.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from interleaved import ratio, rounds, run, shown, table

ROOT = Path(__file__).resolve().parent.parent.parent
TERRACE = ROOT / "target" / "release" / "terrace"
WORK = ROOT / "target" / "bench-pages"

# The package of libCacheSim, whose wheel has its C library.
PEER = "libcachesim==0.3.5"

# Policies that both have, by our name: theirs, and whether both are to miss equally often. Of the
# others the papers leave something open (`terrace explain NAME`).
POLICIES = {
    "fifo": ("FIFO", True),
    "lru": ("LRU", True),
    "clock": ("Clock", True),
    "sieve": ("Sieve", True),
    "arc": ("ARC", True),
    "s3fifo": ("S3FIFO", False),
    "2q": ("TwoQ", False),
    "lfu": ("LFU", False),
    "lirs": ("LIRS", False),
}

# What of `terrace sim pages` is compared, by name.
WAYS = {"with the clock": [], "counts alone": ["--memory", "none"]}

# The policies of one pass over the trace.
TOGETHER = ["fifo", "lru", "clock", "sieve", "arc", "s3fifo", "2q", "lirs"]

# What the other Python runs: the policy by its name, over requests of one unit each.
SIMULATE = """
import json, sys, time
import libcachesim
policy, trace, pages = sys.argv[1], sys.argv[2], int(sys.argv[3])
start = time.process_time()
alike = libcachesim.ReaderInitParam(ignore_obj_size=True)
reader = libcachesim.TraceReader(trace, libcachesim.TraceType.ORACLE_GENERAL_TRACE, alike)
ratio, _ = getattr(libcachesim, policy)(pages).process_trace(reader)
print(json.dumps({"seconds": time.process_time() - start, "miss_ratio": ratio}))
"""


def peer():
    """Returns the Python that has libCacheSim; installs it the first time."""
    environment = WORK / "libcachesim"
    python = environment / "bin" / "python"
    if subprocess.run([python, "-c", "import libcachesim"], capture_output=True,
                      check=False).returncode if python.exists() else True:
        subprocess.run([sys.executable, "-m", "venv", "--clear", environment], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PEER], check=True)
    return python


def make_trace(accesses):
    """Makes requests by Zipf's law for a million pages, in the format that both read."""
    trace = WORK / f"zipf-{accesses}.oracleGeneral.bin"
    if not trace.exists():
        run([TERRACE, "trace", "gen", "zipf", "-q", "--footprint", "4G", "--accesses", accesses,
             "--to", "oracle-general", "-o", trace])
    return trace


class Comparison:
    """Both simulators on one trace and one size of DRAM, and how often they missed."""

    def __init__(self, trace, pages):
        self.trace, self.pages = trace, pages
        self.python = peer()
        self.accesses, self.misses, self.peer_misses = 0, {}, {}

    def ours(self, policies, options):
        """Returns the seconds of `terrace sim pages` with these policies."""
        machine = ["--dram", f"{self.pages}p", "--replacement", ",".join(policies)]
        command = [TERRACE, "sim", "pages", "-q", *machine, *options, "--json=-", self.trace]
        seconds, said = run(command)
        for one in json.loads(said)["runs"]:
            self.accesses = one["accesses"]
            name, missed = one["settings"]["replacement"], one["misses"]
            if self.misses.setdefault(name, missed) != missed:
                sys.exit(f"{name}: {missed} misses, and {self.misses[name]} before")
        return seconds

    def theirs(self, policy):
        """Returns the seconds of libCacheSim with a policy."""
        command = [self.python, "-c", SIMULATE, POLICIES[policy][0], self.trace, str(self.pages)]
        found = json.loads(run(command)[1].splitlines()[-1])
        self.peer_misses[policy] = found["miss_ratio"]
        return found["seconds"]

    def policy(self, policy, count):
        """Returns the figures of a policy: the seconds of each round, and the misses of both."""
        jobs = {"libCacheSim": lambda: self.theirs(policy)}
        jobs |= {way: lambda way=way: self.ours([policy], WAYS[way]) for way in WAYS}
        times = rounds(count, jobs)
        misses = (self.misses[policy], round(self.peer_misses[policy] * self.accesses))
        if POLICIES[policy][1] and misses[0] != misses[1]:
            sys.exit(f"{policy}: {misses[0]} misses here, and {misses[1]} of libCacheSim")
        return {"seconds": times, "misses": misses[0], "peer_misses": misses[1]}

    def together(self, count):
        """Returns the seconds of one pass with eight policies, and of the passes with one each."""
        found = {}
        for way, options in WAYS.items():
            alone = {name: lambda name=name: self.ours([name], options) for name in TOGETHER}
            found[way] = rounds(count, alone | {"together": lambda: self.ours(TOGETHER, options)})
        return found


def show(found):
    """Prints the tables."""
    rows = []
    for policy, figures in found["policies"].items():
        times = figures["seconds"]
        theirs = times["libCacheSim"]
        ratios = [shown(ratio(theirs, times[way])) for way in WAYS]
        median = f"{statistics.median(theirs) / found['accesses'] * 1e9:.0f} ns"
        misses = [f"{figures[name]:,}" for name in ("misses", "peer_misses")]
        rows.append([policy, *misses, median, *ratios])
    print("\nHow many times as fast as libCacheSim, by processor time: median of the rounds (least "
          "to most).\n")
    heading = ["policy", "misses", "of libCacheSim", "its time a request", *WAYS]
    table(heading, rows)
    print("\nEight policies in one pass, by the processor time of the mean pass with one.\n")
    rows = []
    for way, times in found["together"].items():
        alone = zip(*(times[name] for name in TOGETHER), strict=True)
        means = [statistics.mean(one) for one in alone]
        rows.append([way, shown(ratio(times["together"], means))])
    table(["way", "passes"], rows)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--accesses", default="5M", help="requests of the trace")
    arguments.add_argument("--pages", type=int, default=100_000, help="pages of DRAM")
    arguments.add_argument("--rounds", type=int, default=7, help="rounds of each comparison")
    arguments.add_argument("--only", default=",".join(POLICIES), help="policies")
    arguments.add_argument("--json", type=Path, help="a file for all figures")
    given = arguments.parse_args()
    if not TERRACE.exists():
        sys.exit(f"{TERRACE} is not there; run `make build` first")
    WORK.mkdir(parents=True, exist_ok=True)
    comparison = Comparison(make_trace(given.accesses), given.pages)
    print(f"{given.accesses} requests by Zipf's law for a million pages, {given.pages:,} of them "
          f"in DRAM; beside {PEER} of PyPI; {given.rounds} rounds")
    policies = {name: comparison.policy(name, given.rounds) for name in given.only.split(",")}
    found = {"peer": PEER, "accesses": comparison.accesses, "policies": policies,
             "together": comparison.together(given.rounds)}
    show(found)
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
