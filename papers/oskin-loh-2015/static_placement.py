"""Static placement of allocations: figure 1 of Oskin & Loh 2015, on the paper's own programs at small sizes.

Usage: BENCH_SOURCES=FOLDER static_placement.py [PROGRAM...]

Records each program with its allocations behind private caches, has `terrace place` find the placement with a fifth of
its memory fast, and writes static.json and static-placement.svg. FOLDER has the programs built, as papers/oskin-loh-2015/page.md.jinja says.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent)]

import common  # noqa: E402
from common import geometric_mean, say, table  # noqa: E402

RESULTS = FOLDER / "static.json"
FAST = "20%"
# Rows of a recording: accesses that private caches have let through.
LIMIT = 20_000_000
LOW_LOCALITY = "g500-list"
SPLASH = "Splash-3/codes"


@dataclass(frozen=True)
class Program:
    """A program of the paper's table I, or of its section VI."""

    # Its file, below the folder of sources.
    file: str
    arguments: list = field(default_factory=list)
    # Standard input, below the folder of sources.
    stdin: str | None = None
    # The directory in which it runs, below the folder of sources.
    within: str = "."


PROGRAMS = {
    "CoMD": Program("CoMD/bin/CoMD-openmp", ["-x", "24", "-y", "24", "-z", "24", "-N", "20", "-e", "-d", "../pots"],
                    within="CoMD/bin"),
    "LU-c": Program(f"{SPLASH}/kernels/lu/contiguous_blocks/LU", ["-n1024", "-p1"]),
    "LU-nc": Program(f"{SPLASH}/kernels/lu/non_contiguous_blocks/LU", ["-n1024", "-p1"]),
    "LULESH": Program("LULESH/lulesh", ["-s", "30", "-i", "20"]),
    "BARNES": Program(f"{SPLASH}/apps/barnes/BARNES", stdin=f"{SPLASH}/apps/barnes/inputs/n16384-p1"),
    "OCEAN": Program(f"{SPLASH}/apps/ocean/contiguous_partitions/OCEAN", ["-n514", "-p1"]),
    "FMM": Program(f"{SPLASH}/apps/fmm/FMM", stdin=f"{SPLASH}/apps/fmm/inputs/input.1.16384"),
    "FFT": Program(f"{SPLASH}/kernels/fft/FFT", ["-m20", "-p1", "-t"]),
    "g500-csr": Program("graph500/seq-csr/seq-csr", ["-s", "16", "-e", "16"]),
    "miniFE": Program("miniFE/openmp/src/miniFE.x", ["-nx", "40", "-ny", "40", "-nz", "40"]),
    LOW_LOCALITY: Program("graph500/seq-list/seq-list", ["-s", "16", "-e", "16"]),
}


# Smaller inputs of the same programs, on which a placement can be found for these.
OTHER_INPUTS = {
    "CoMD": replace(PROGRAMS["CoMD"], arguments=["-x", "16", "-y", "16", "-z", "16", "-N", "5", "-e", "-d", "../pots"]),
    "LU-c": replace(PROGRAMS["LU-c"], arguments=["-n768", "-p1"]),
    "LU-nc": replace(PROGRAMS["LU-nc"], arguments=["-n768", "-p1"]),
    "LULESH": replace(PROGRAMS["LULESH"], arguments=["-s", "24", "-i", "20"]),
    "BARNES": replace(PROGRAMS["BARNES"], stdin=f"{SPLASH}/apps/barnes/inputs/n8k-p1"),
    "OCEAN": replace(PROGRAMS["OCEAN"], arguments=["-n258", "-p1"]),
    "FMM": replace(PROGRAMS["FMM"], stdin=f"{SPLASH}/apps/fmm/inputs/input.1.2048"),
    "FFT": replace(PROGRAMS["FFT"], arguments=["-m18", "-p1", "-t"]),
    "g500-csr": replace(PROGRAMS["g500-csr"], arguments=["-s", "15", "-e", "16"]),
    "miniFE": replace(PROGRAMS["miniFE"], arguments=["-nx", "30", "-ny", "30", "-nz", "30"]),
    LOW_LOCALITY: replace(PROGRAMS[LOW_LOCALITY], arguments=["-s", "15", "-e", "16"]),
}


def recordings(name, sources, work):
    """Returns the recordings of a program with its own input and the other one."""
    inputs = {"own": PROGRAMS[name], "other": OTHER_INPUTS[name]}
    return {kind: recorded(f"{kind}-{name}", program, sources, work) for kind, program in inputs.items()}


def recorded(name, program, sources, work, threads=1):
    """Returns a recording of a program, which is made unless it is there."""
    trace = work / f"{name}.parquet"
    if not trace.exists():
        say(f"recording {name}")
        partial = trace.with_suffix(".partial.parquet")
        record(program, sources, partial, threads)
        partial.rename(trace)
    return trace


def record(program, sources, trace, threads):
    """Records a program until it ends or has made LIMIT rows."""
    ours = [common.TERRACE, "record", "--quiet", "--allocations", "--filter", "l1l2", "--limit", str(LIMIT), "-o", trace]
    command = [*map(str, ours), "--", str(sources / program.file), *program.arguments]
    stdin = open(sources / program.stdin) if program.stdin else subprocess.DEVNULL
    subprocess.run(command, cwd=sources / program.within, stdin=stdin, stdout=subprocess.DEVNULL, check=True,
                   env=os.environ | {"OMP_NUM_THREADS": str(threads)})


def place(trace, *options, fast=None):
    """Returns the JSON of `terrace place`, with FAST or so many bytes of fast memory."""
    ours = [common.TERRACE, "place", "--quiet", "--fast", fast or FAST, *options, "--json=-", trace]
    return json.loads(subprocess.run(list(map(str, ours)), stdout=subprocess.PIPE, check=True).stdout)


def summary(placed):
    """Returns of a placement what the page needs."""
    searches = {search["name"]: search for search in placed["searches"]}
    chosen = [site for site in placed["sites"] if site["rank"]]
    misses = placed["program"]["llc_misses"]
    return {
        "footprint_mb": round(placed["program"]["footprint_bytes"] / 1e6, 1),
        "accesses": placed["program"]["accesses"],
        "misses_a_1000_instructions": round(1000 * misses / placed["program"]["instructions"], 2),
        "of_sites": round(placed["program"]["llc_misses_of_sites"] / max(misses, 1), 3),
        "sites": len(placed["sites"]),
        "all_fast": round(placed["times"]["all_fast_speedup"], 3),
        "climb": round(searches["climb"]["speedup"], 3),
        "knapsack": round(searches["knapsack"]["speedup"], 3),
        "exhaustive": round(searches["exhaustive"]["speedup"], 3) if "exhaustive" in searches else None,
        "fast_sites": len(chosen),
    }


def measure(names, sources, work):
    programs = json.loads(RESULTS.read_text())["programs"] if RESULTS.exists() else {}
    for name in names:
        trace = recorded(f"own-{name}", PROGRAMS[name], sources, work)
        say(f"placing {name}")
        programs[name] = summary(place(trace, "--search", "climb"))
        common.write_json(RESULTS, {"figures": "simulated by terrace place", "fast": FAST, "limit": LIMIT,
                                    "programs": {key: programs[key] for key in PROGRAMS if key in programs}})


def tables():
    if not RESULTS.exists():
        return {}
    programs = json.loads(RESULTS.read_text())["programs"]
    exact = lambda value: "" if value is None else f"{value:.3f}"  # noqa: E731
    rows = [[name, one["footprint_mb"], one["sites"], one["fast_sites"], f"{one['misses_a_1000_instructions']:.1f}",
             f"{100 * one['of_sites']:.0f} %", f"{one['all_fast']:.2f}", exact(one["climb"]), exact(one["knapsack"]),
             exact(one["exhaustive"])] for name, one in programs.items()]
    usual = [one for name, one in programs.items() if name != LOW_LOCALITY]

    def mean(key):
        return geometric_mean([one[key] for one in usual])

    rows.append([f"**average** without {LOW_LOCALITY}", "", "", "", "", "", f"{mean('all_fast'):.2f}", exact(mean("climb")),
                 exact(mean("knapsack")), ""])
    paper = json.loads((FOLDER / "paper.json").read_text())
    rows.append(["**paper**, average", "", "", "", "", "", f"{paper['all_fast']['average_speedup']:.2f}",
                 exact(paper["static"]["average_speedup"]), "", ""])
    heads = ["program", "MB", "sites", "fast", "LLC misses, 1000 instructions", "of them in recorded objects", "all fast",
             "static, climb", "knapsack", "exhaustive"]
    return {"static": table(heads, rows)}


def draw(path):
    """Draws figure 1: all data in fast memory, and the placement found by climbing."""
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(9, 3.4))
    programs = json.loads(RESULTS.read_text())["programs"]
    usual = [one for name, one in programs.items() if name != LOW_LOCALITY]
    kinds = {"all_fast": "all fast", "climb": "static"}
    series = {f"{called}, ours, simulated": [*(one[kind] for one in programs.values()),
                                             geometric_mean([one[kind] for one in usual])]
              for kind, called in kinds.items()}
    common.grouped_bars(axes, [*programs, f"average\nwithout\n{LOW_LOCALITY}"], series, [common.OURS, "#a9d6e5"])
    paper = json.loads((FOLDER / "paper.json").read_text())
    stated = [paper["all_fast"]["average_speedup"], paper["static"]["average_speedup"]]
    places = [len(programs) - 0.2, len(programs) + 0.2]
    axes.plot(places, stated, "D", color=common.PAPER, markersize=5, label="paper, stated", zorder=4)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.tick_params(axis="x", labelsize=7.5)
    axes.set_ylim(0.9, None)
    axes.set_ylabel("speed-up over slow memory alone")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def folders():
    """Returns the folder with the programs built, which BENCH_SOURCES names, and the work directory, which it makes."""
    sources = os.environ.get("BENCH_SOURCES")
    if not sources:
        sys.exit("name the folder with the programs built in BENCH_SOURCES")
    work = common.work_directory(FOLDER)
    work.mkdir(parents=True, exist_ok=True)
    return Path(sources).resolve(), work


def main():
    sources, work = folders()
    measure(sys.argv[1:] or list(PROGRAMS), sources, work)
    draw(common.figures(FOLDER) / "static-placement.svg")
    print("\n\n".join(tables().values()))


if __name__ == "__main__":
    main()
