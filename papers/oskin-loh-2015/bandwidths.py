"""Figure 1 of Oskin & Loh 2015 on a platform like the paper's: memories that differ in bandwidth alone, 4.5 to 1, and
programs with several threads.

Usage: BENCH_SOURCES=FOLDER bandwidths.py [PROGRAM...]

Records each program with its allocations behind private caches, simulates slow memory alone, fast memory alone, a fifth
of it fast with the placement of `terrace place`, and policies of ours, and writes bandwidths.json. FOLDER has the
programs built, as papers/oskin-loh-2015/page.md.jinja says.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
import static_placement  # noqa: E402
from common import geometric_mean, say, table  # noqa: E402
from static_placement import LOW_LOCALITY, PROGRAMS  # noqa: E402

RESULTS = FOLDER / "bandwidths.json"
# Of the 12 cores of the platform as many as FFT and OCEAN can use, which take powers of two.
THREADS = 8
# Fast memory of the emulator: a socket's two channels of DDR3 (III), of 1333 MT/s, as its processor takes at most (the
# paper does not say). Slow memory is 4.5 times slower in sequence (III).
FAST_GB_S, SLOW_GB_S = 21.3, 4.74
FAST, SLOW = f"{FAST_GB_S}GB/s", f"{SLOW_GB_S}GB/s"
# A thread draws no more than its share of fast memory: 64 bytes x 8 threads / 21.3 GB/s.
LINE = 24
MACHINE = {"dram": "20%", "memory": "dram", "channels": 1, "bandwidth": SLOW, "fast_bandwidth": FAST, "fast_line": LINE,
           "slow_line": LINE, "instruction_time": 0.526, "fault_cost": "oskin-loh", "sample_time": "200ns"}
# Our policies; those that compare latencies of idle memories move nothing here. 9 to 2 are the bandwidths.
POLICIES = {"interleaved": "interleave:fast=9,slow=2", "balanced": "balance"}


def threaded(name):
    """Returns a program with its threads; the graphs have one."""
    program = PROGRAMS[name]
    arguments = [f"-p{THREADS}" if argument == "-p1" else argument for argument in program.arguments]
    inputs = {"BARNES": f"n16384-p{THREADS}", "FMM": f"input.{THREADS}.16384"}
    stdin = program.stdin and str(Path(program.stdin).with_name(inputs[name]))
    return replace(program, arguments=arguments, stdin=stdin)


def recorded(name, sources, work):
    return static_placement.recorded(f"threads-{name}", threaded(name), sources, work, threads=THREADS)


def speedups(trace):
    """Returns the speed-ups over slow memory for everything; the first half of the recording is the warm-up."""
    warmup = common.trace_info(trace)["accesses"] // 2
    unlimited = MACHINE | {"fast_bandwidth": "none", "migration": "never", "bandwidth": [SLOW, FAST]}
    slow, fast = common.simulate(trace, warmup, **unlimited)
    placed = trace.with_suffix(".toml")
    static_placement.place(trace, "--llc", "64K", "-o", placed)
    [static] = common.simulate(trace, warmup, **MACHINE, migration="never", place=placed)
    ours = common.simulate(trace, warmup, **MACHINE, migration=",".join(POLICIES.values()))
    runs = {"all fast": fast, "static": static} | dict(zip(POLICIES, ours))
    return {"threads": slow["programs"][0]["threads"], "rows": 2 * warmup,
            "slow_drawn_gb_s": round(slow["slow_drawn"] / 1e9, 2),
            "fast_drawn_gb_s": round(fast["slow_drawn"] / 1e9, 2),
            "speedups": {way: round(slow["time_ns"] / run["time_ns"], 3) for way, run in runs.items()}}


def tables():
    if not RESULTS.exists():
        return {}
    programs = json.loads(RESULTS.read_text())["programs"]
    ways = ["all fast", "static", *POLICIES]

    def row(name, one):
        speedups = [f"{one['speedups'][way]:.3f}" for way in ways]
        return [name, one["threads"], f"{one['slow_drawn_gb_s']:.1f}", f"{one['fast_drawn_gb_s']:.1f}", *speedups]

    usual = {name: one for name, one in programs.items() if name != LOW_LOCALITY}
    rows = [row(name, one) for name, one in programs.items()]
    means = [f"{geometric_mean([one['speedups'][way] for one in usual.values()]):.3f}" for way in ways]
    rows.append([f"**average** without {LOW_LOCALITY}", "", "", "", *means])
    paper = json.loads((FOLDER / "paper.json").read_text())
    stated = [f"{paper[kind]['average_speedup']:.2f}" for kind in ("all_fast", "static")]
    rows.append(["**paper**, average", "", "", "", *stated, *[""] * len(POLICIES)])
    heads = ["program", "threads", "GB/s, slow alone", "GB/s, all fast", *ways]
    return {"bandwidths": table(heads, rows)}


def main():
    sources, work = static_placement.folders()
    programs = json.loads(RESULTS.read_text())["programs"] if RESULTS.exists() else {}
    for name in sys.argv[1:] or list(PROGRAMS):
        trace = recorded(name, sources, work)
        say(f"simulating {name}")
        programs[name] = speedups(trace)
        ordered = {name: programs[name] for name in PROGRAMS if name in programs}
        common.write_json(RESULTS, {"figures": "speed-ups over slow memory for everything, simulated by terrace sim pages --migration",
                                    "fast_gb_s": FAST_GB_S, "slow_gb_s": SLOW_GB_S, "line_ns": LINE, "limit": static_placement.LIMIT,
                                    "programs": ordered})


if __name__ == "__main__":
    main()
