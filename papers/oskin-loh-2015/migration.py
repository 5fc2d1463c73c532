"""Migration of pages of slow memory that serves lines (section VI), beside static placement (section III), on recordings
of the paper's own programs.

Usage: BENCH_SOURCES=FOLDER migration.py [PROGRAM...]

Records each program with its allocations behind private caches, and again with a smaller input; simulates the machines
of WAYS, and writes migration.json. FOLDER has the programs built, as papers/oskin-loh-2015/page.md.jinja says.
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import static_placement  # noqa: E402
from common import geometric_mean, say, table  # noqa: E402
from static_placement import LOW_LOCALITY  # noqa: E402

RESULTS = FOLDER / "migration.json"
# The same by a simulator for which what caches write back were accesses, of a session before, with the prefetching of then.
EARLIER = FOLDER / "migration-earlier.json"
# The times of the model in page.md.jinja, and a shoot-down that reaches 16 threads. A fault waits for nothing but its own
# parts, of which the copy is one. A sample takes 200 ns, the lower end of what the processor's own (PEBS) take (Akiyama
# & Hirofuchi, Quantitative evaluation of Intel PEBS overhead for online system-noise analysis, ROSS 2017).
MACHINE = {"dram": "20%", "memory": "dram", "bandwidth": "none", "replacement": "fifo", "eviction_buffer": 64, "instruction_time": 0.526,
           "fast_line": 3.1, "slow_line": 14, "read_latency": "1ns", "write_latency": "358ns",
           "fault_cost": "oskin-loh", "threads": 16, "sample_time": "200ns"}
# What is compared: the policy, the shoot-down, and the time of a sample where that is another.
WAYS = {
    "page cache": ("fault", "interrupt"),
    "page cache, hardware": ("fault", "hardware"),
    "sampled": ("sampled:interval=10ms", "interrupt"),
    "Linux": ("hot", "interrupt"),
    "Linux, 10 ms": ("hot:threshold=10ms,period=10ms", "interrupt"),
    "first touch": ("benefit:expect=0,watch=0.0001", "interrupt"),
    "ours": ("benefit", "interrupt"),
    "ours, batched": ("benefit", "batched"),
    "ours, hardware": ("benefit", "hardware"),
    "ours, one in 16": ("benefit:watch=1", "interrupt"),
}
FREE = "ours, free samples"
# The page cache with pages fetched ahead as figure 6's hardware-assisted one does, by shoot-down.
AHEAD = {"interrupt": "page cache, prefetching", "hardware": "page cache, hardware, prefetching"}
PREFETCH = {"migration": "fault", "prefetch": "stride:trigger=first-use", "prefetch_cache": 256, "prefetch_map": "arrival"}
# Static placements, without and with migration of what is not placed, by the recording that was placed.
PLACED = {"own": ("static", "static and ours"), "other": ("static, other input", "static and ours, other input")}
# A last level that hardly filters: the accesses of the recordings are those that private caches have let through.
LLC = "64K"


def simulate(trace, warmup, **machine):
    return common.simulate(trace, warmup, **(MACHINE | machine))


def static(trace, warmup, dram, placed, other):
    """Returns the times of the best placement found on one recording, simulated on another, without and with migration."""
    file = placed.with_suffix(".toml")
    static_placement.place(placed, "--llc", LLC, "-o", file, fast=None if other else dram)
    runs = simulate(trace, warmup, migration="never,benefit", shootdown="interrupt", place=file)
    return [run["time_ns"] for run in runs]


def speedups(traces):
    """Returns the speed-ups over slow memory for everything; the first half of the recording is the warm-up."""
    trace = traces["own"]
    warmup = common.trace_info(trace)["accesses"] // 2
    times = {}
    for shootdown in dict.fromkeys(shootdown for _, shootdown in WAYS.values()):
        policies = [policy for policy, of in WAYS.values() if of == shootdown]
        for run in simulate(trace, warmup, migration=",".join(["never", *policies]), shootdown=shootdown):
            times[run["settings"]["migration"], shootdown] = run
    slow = times["never", "interrupt"]
    found = {name: slow["time_ns"] / times[way]["time_ns"] for name, way in WAYS.items()}
    [free] = simulate(trace, warmup, migration="benefit", shootdown="interrupt", sample_time="0ns")
    found[FREE] = slow["time_ns"] / free["time_ns"]
    for shootdown, name in AHEAD.items():
        [ahead] = simulate(trace, warmup, **PREFETCH, shootdown=shootdown)
        found[name] = slow["time_ns"] / ahead["time_ns"]
    dram = slow["settings"]["dram_pages"] * 4096
    for recording, names in PLACED.items():
        both = static(trace, warmup, dram, traces[recording], other=recording == "other")
        found |= {name: slow["time_ns"] / time for name, time in zip(names, both)}
    return {"all fast": round(slow["time_ns"] / slow["all_dram_ns"], 3)} | {
        name: four_digits(speedup) for name, speedup in found.items()}


def four_digits(value):
    return float(f"{value:.4g}")


def average(programs):
    """Returns the geometric means over all programs but that of low locality, of those that have the way."""
    usual = [one for name, one in programs.items() if name != LOW_LOCALITY]
    ways = dict.fromkeys(way for one in usual for way in one)
    return {way: round(geometric_mean([one[way] for one in usual if way in one]), 3) for way in ways}


def shown(speedup):
    return f"{speedup:.3f}" if speedup >= 0.1 else f"{speedup:.2g}"


def tables():
    found = json.loads(RESULTS.read_text())
    programs, mean = found["programs"], found["average"]
    ways = list(mean)

    def row(title, one, ways=ways):
        return [title, *(shown(one[way]) if way in one else "" for way in ways)]

    rows = [row(name, one) for name, one in programs.items() if name != LOW_LOCALITY]
    rows.append(row(f"**average** of these {len(rows)}", mean))
    if LOW_LOCALITY in programs:
        rows.append(row(LOW_LOCALITY, programs[LOW_LOCALITY]))
    earlier = json.loads(EARLIER.read_text())
    known = [way for way in ways if way in earlier["average"]]
    rows_before = [row("**average** of these 10", earlier["average"], known),
                   row(LOW_LOCALITY, earlier["programs"][LOW_LOCALITY], known)]
    return {"migration": table(["program", *ways], rows),
            "migration-earlier": table(["before", *known], rows_before)}


def main():
    sources, work = static_placement.folders()
    programs = json.loads(RESULTS.read_text())["programs"] if RESULTS.exists() else {}
    for name in sys.argv[1:] or list(static_placement.PROGRAMS):
        traces = static_placement.recordings(name, sources, work)
        say(f"simulating {name}")
        programs[name] = speedups(traces)
        ordered = {name: programs[name] for name in static_placement.PROGRAMS if name in programs}
        results = {"figures": "speed-ups over slow memory for everything, simulated by terrace sim pages --migration",
                   "programs": ordered, "average": average(ordered)}
        common.write_json(RESULTS, results)


if __name__ == "__main__":
    main()
