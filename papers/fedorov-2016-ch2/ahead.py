"""The order of policies behind a second level that reads ahead, and behind one that does not.

Usage: ahead.py

Runs the programs of `PROGRAMS`, each once for each prefetcher, and simulates their first accesses meanwhile: recordings that
have passed the private levels do not say what these served. Writes ahead.json.
"""

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
from common import percent, table  # noqa: E402
from programs import Programs  # noqa: E402

RESULTS = FOLDER / "ahead.json"
PROGRAMS = ["lattice", "bzip2", "fluid", "xz", "paths", "plasma"]
PREFETCHERS = ["off", "next-line", "stride"]
POLICIES = ["lru", "drrip", "ship", "hawkeye", "mockingjay", "ari", "ari:order=rrip"]
ACCESSES, WARMUP = 40_000_000, 200_000


def measure(command, prefetcher, work):
    """Returns the counts of each policy, and what was read ahead."""
    found = work / "ahead.json"
    settings = ["--memory", "none", "--limit", ACCESSES, "--warmup", WARMUP, "--prefetch", prefetcher,
                "--policy", ",".join(POLICIES), "--json", found]
    subprocess.run([str(part) for part in [common.TERRACE, "sim", "llc", "--quiet", *settings, "--", *command]],
                   stdout=subprocess.DEVNULL, check=True)
    return counted(json.loads(found.read_text()))


def counted(document):
    return {"prefetches": document["prefetches"], "policies": {
        run["policy"]: {"requests": run["accesses"], "misses": run["misses"], "writebacks": run["writebacks"],
                        "reads": run["misses"] + run["prefetches"]["misses"]} for run in document["runs"]}}


def tables():
    """Shows LRU's counts, and how many more or fewer loads and stores miss under each other policy."""
    programs = json.loads(RESULTS.read_text())["programs"]
    rows = []
    for name, by_prefetcher in programs.items():
        for prefetcher, found in by_prefetcher.items():
            lru, ahead = found["policies"]["lru"], found["prefetches"]
            more = [[percent(found["policies"][policy][key] / max(lru[key], 1) - 1, sign=True) for policy in POLICIES[1:]]
                    for key in ("misses", "reads")]
            used = percent(ahead["useful"] / max(ahead["issued"], 1)) if ahead else ""
            rows.append([name, prefetcher, used, f"{lru['misses']:,}", *more[0], f"{lru['reads']:,}", *more[1]])
    heads = [head for what in ("misses", "reads") for head in (f"{what}: LRU", *(f"{what}: {policy}" for policy in POLICIES[1:]))]
    return {"ahead": table(["program", "prefetcher", "useful", *heads], rows)}


def main():
    work = common.work_directory(FOLDER)
    bench = Programs(work)
    programs = {}
    for name in (name for name in PROGRAMS if name in bench.programs):
        if "input" in bench.programs[name]:
            bench.inputs[bench.programs[name]["input"]](bench.work)
        programs[name] = {prefetcher: measure(bench.command(name), prefetcher, work) for prefetcher in PREFETCHERS}
        common.write_json(RESULTS, {"figures": "simulated by terrace sim llc", "accesses": ACCESSES, "warmup": WARMUP,
                                    "programs": programs})


if __name__ == "__main__":
    main()
