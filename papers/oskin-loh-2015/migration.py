"""Migration of pages of slow memory that serves lines (section VI), on recordings of the paper's own programs.

Usage: migration.py TRACE...    simulates recordings, each named as its program, and writes migration.json

A recording is made by `terrace record --filter l1l2 --limit 20000000 -o g500-csr.parquet -- seq-csr -s 16 -e 16`.
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent)]

import common  # noqa: E402
from common import geometric_mean, table  # noqa: E402

LOW_LOCALITY = "g500-list"
# The times of the model in README.md, and a shoot-down that reaches 16 threads. A fault waits for nothing but its own
# parts, of which the copy is one.
MACHINE = {"dram": "20%", "memory": "dram", "replacement": "fifo", "eviction_buffer": 64, "instruction_time": 0.526,
           "fast_line": 3.1, "slow_line": 14, "read_latency": "1ns", "write_latency": "358ns",
           "fault_cost": "oskin-loh", "threads": 16}
# What is compared: the policy and the shoot-down.
WAYS = {
    "page cache": ("fault", "interrupt"),
    "page cache, hardware": ("fault", "hardware"),
    "sampled": ("sampled:interval=10ms", "interrupt"),
    "Linux": ("hot", "interrupt"),
    "Linux, 10 ms": ("hot:threshold=10ms,period=10ms", "interrupt"),
    "first touch": ("benefit:turns=1000", "interrupt"),
    "ours": ("benefit:turns=8", "interrupt"),
    "ours, batched": ("benefit:turns=8", "batched"),
    "ours, hardware": ("benefit:turns=8", "hardware"),
}


def speedups(trace):
    """Returns the speed-ups over slow memory for everything; the first half of the recording is the warm-up."""
    warmup = common.trace_info(trace)["accesses"] // 2
    policies = ",".join(["never", *dict.fromkeys(policy for policy, _ in WAYS.values())])
    runs = common.simulate(trace, warmup, **MACHINE, migration=policies,
                           shootdown=["interrupt", "hardware", "batched"])
    times = {(run["settings"]["migration"], run["settings"]["fault"]["shootdown"]): run for run in runs}
    slow = times["never", "interrupt"]
    found = {name: round(slow["time_ns"] / times[way]["time_ns"], 3) for name, way in WAYS.items()}
    return {"all fast": round(slow["time_ns"] / slow["all_dram_ns"], 3)} | found


def average(programs):
    """Returns the geometric means over all programs but that of low locality."""
    usual = [one for name, one in programs.items() if name != LOW_LOCALITY]
    ways = [way for way in usual[0] if all(way in one for one in usual)]
    return {way: round(geometric_mean([one[way] for one in usual]), 3) for way in ways}


def tables():
    found = json.loads((FOLDER / "migration.json").read_text())
    programs, mean = found["programs"], found["average"]
    ways = list(mean)
    rows = [[name, *(f"{one[way]:.3f}" for way in ways)] for name, one in programs.items() if name != LOW_LOCALITY]
    rows.append([f"**average** of these {len(rows)}", *(f"{mean[way]:.3f}" for way in ways)])
    rows.append([LOW_LOCALITY, *(f"{programs[LOW_LOCALITY][way]:.3f}" for way in ways)])
    return {"migration": table(["program", *ways], rows)}


def main():
    traces = [Path(trace) for trace in sys.argv[1:]]
    if not traces:
        sys.exit(__doc__)
    programs = {trace.stem: speedups(trace) for trace in traces}
    results = {"figures": "speed-ups over slow memory for everything, simulated by terrace sim pages --migration",
               "programs": programs, "average": average(programs)}
    common.write_json(FOLDER / "migration.json", results)


if __name__ == "__main__":
    main()
