"""Figure 11 on the paper's own applications, set-up included: with a quarter of their memory in DRAM, and with as much as
makes them fault as often as the paper's; behind a last-level cache, and at a quarter without it.

Usage: BENCH_SOURCES=FOLDER applications.py [PROGRAM...]

Records each application from its beginning to its end, once behind private caches and once page by page, and writes own.json.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
from common import mean, say, table  # noqa: E402

RESULTS = FOLDER / "own.json"
BUILD = FOLDER.parent.parent / "benches" / "proxies" / "programs" / "build.sh"
# By the paper's names: source and arguments, at sizes of 10 to 60 MB.
APPLICATIONS = {
    "Lulesh": ("LULESH", ["-s", "40", "-i", "4"]),
    "XSBench": ("XSBench", ["-m", "event", "-s", "small", "-g", "2500", "-l", "30000", "-t", "1"]),
    "RSBench": ("RSBench", ["-m", "event", "-s", "small", "-P", "10000", "-W", "1000", "-l", "20000", "-t", "1"]),
    "SimpleMoC": ("SimpleMOC", ["-t", "1", "-i", FOLDER.parent / "fedorov-2016-ch2" / "programs" / "simplemoc.in"]),
    "MiniFE": ("miniFE", ["-nx", "28"]),
}
# The last level before the pages: of our size, as the applications are.
LAST_LEVEL = "2M"
PAPER_SHARE = "25%"
SHARES = [f"{share}%" for share in (12.5, 25, 37.5, 50, 62.5, 75, 87.5, 95)]
# What else may reach the pages than what the last level lets through.
REACHES = ["without write-backs", "private caches let through", "these without write-backs", "every access"]
# Faults a ms of the time in DRAM alone, and microseconds of a fault beside the device, that follow from the paper's two
# averages (the page, figures 10 and 11).
PAPER_FAULTS_A_MS = 122
IMPLIED = "9600"
# Its baseline for pages that leave DRAM (5.4), on its device (2); flash writes beside reading.
BASE = {"replacement": "fifo", "tier_size": "16G", "fault_cost": IMPLIED}
MEMORIES = {"pcm": {"memory": "pcm"}, "flash": {"memory": "flash", "channels": 2}}


# Options of the recorder by what it lets through.
RECORDINGS = {"private": ["--filter", "l1l2"], "pages": ["--level", "pages"]}


def record(bench, name, kind):
    """Returns the recording of a whole run, which is made unless it is there."""
    trace = bench.work / f"{kind}-{name}.parquet"
    if trace.exists():
        return trace
    source, arguments = APPLICATIONS[name]
    environment = os.environ | {"BENCH_DATA": str(bench.work), "OMP_NUM_THREADS": "1"}
    built = subprocess.run(["sh", BUILD, source], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    say(f"recording {name}: {kind}")
    partial = trace.with_suffix(".partial.parquet")
    recorder = [common.TERRACE, "record", "--quiet", *RECORDINGS[kind], "-o", partial, "--"]
    # XSBench and RSBench end with 1 where their checksum is not that of one of their own sizes.
    subprocess.run(list(map(str, [*recorder, built.stdout.strip(), *arguments])), cwd=bench.written, env=environment,
                   stdout=subprocess.DEVNULL)
    partial.rename(trace)
    return trace


def measure_all(bench, name):
    """Measures an application behind the last level; and with the paper's share, by what else may reach its pages."""
    private = record(bench, name, "private")
    behind = common.behind_last_level(private, LAST_LEVEL)
    say(f"simulating {name}")
    found = measure(behind, SHARES)
    traces = [common.without_writebacks(behind), private, common.without_writebacks(private), record(bench, name, "pages")]
    measured = (measure(trace, [PAPER_SHARE])["shares"][PAPER_SHARE] for trace in traces)
    return found | {"reaches": dict(zip(REACHES, measured))}


def measure(trace, shares):
    """Simulates a whole run with each share of DRAM."""
    found = {}
    for memory, options in MEMORIES.items():
        runs = common.simulate(trace, 0, dram=shares, **BASE, **options)
        runs.sort(key=lambda run: run["settings"]["dram_pages"])
        for share, run in zip(shares, runs):
            one = found.setdefault(share, {"faults_a_ms": round(faults(run) / (run["all_dram_ns"] / 1e6), 1)})
            one[memory] = round(run["slowdown"], 4)
    return {"footprint_mb": round(runs[0]["footprint_pages"] * 4096 / 1e6, 1), "accesses": runs[0]["accesses"], "shares": found}


def faults(run):
    """Returns the number of touches of pages that are in the tier, or on their way there."""
    return run["full_misses"] + run["partial_misses"] + run["rescues"]


def chosen(found):
    """Returns the smallest share with which a program faults no more often than the paper's, or the largest."""
    shares = found["shares"]
    return next((share for share, one in shares.items() if one["faults_a_ms"] <= PAPER_FAULTS_A_MS), SHARES[-1])


def tables(paper):
    if not RESULTS.exists():
        return {}
    programs = json.loads(RESULTS.read_text())["programs"]
    rows = []
    for name, found in programs.items():
        cells = [cell for share in (PAPER_SHARE, chosen(found)) for cell in (share, *shown(found["shares"][share]))]
        rows.append([name, found["footprint_mb"], *cells])
    means = [cell for of in (lambda found: PAPER_SHARE, chosen) for cell in (
        "", *shown({key: mean([found["shares"][of(found)][key] for found in programs.values()])
                    for key in ("faults_a_ms", *MEMORIES)}))]
    rows.append(["**average**", "", *means])
    stated = [f"{100 * paper['ratio']['degradation_at_25_percent'][memory]:,.1f} %" for memory in MEMORIES]
    rows.append(["**paper**", "", PAPER_SHARE, PAPER_FAULTS_A_MS, *stated, "", "", "", ""])
    heads = ["DRAM", "faults a ms", "PCM", "flash"]
    return {
        "own": table(["program", "MB", *heads, *(f"{head}, chosen" for head in heads)], rows),
        "own-shares": table(["program", *(f"PCM {share}" for share in SHARES)], [
            [name, *(f"{found['shares'][share]['pcm']:.2f}" for share in SHARES)] for name, found in programs.items()]),
        "own-reaches": reaches(programs),
    }


def reaches(programs):
    """Shows faults a ms with the paper's share, by what reaches the pages; blank where a recording was not made."""
    last = "a last level lets through"
    found = {name: {last: one["shares"][PAPER_SHARE]} | one["reaches"] for name, one in programs.items()}
    rows = [[name, *(f"{one[what]['faults_a_ms']:,.1f}" if what in one else "" for what in (last, *REACHES))]
            for name, one in found.items()]
    return table(["program", last, *REACHES], rows)


def shown(one):
    """Writes faults a ms, and what is lost against DRAM alone, in percent."""
    return [f"{one['faults_a_ms']:,.0f}", *(f"{100 * one[memory] - 100:,.1f} %" for memory in MEMORIES)]


def main():
    bench = common.Bench(common.work_directory(FOLDER))
    programs = json.loads(RESULTS.read_text())["programs"] if RESULTS.exists() else {}
    for name in sys.argv[1:] or list(APPLICATIONS):
        programs[name] = measure_all(bench, name)
        ordered = {name: programs[name] for name in APPLICATIONS if name in programs}
        common.write_json(RESULTS, {"figures": "simulated by terrace sim pages", "programs": ordered})


if __name__ == "__main__":
    main()
