"""Runs ten programs live with half of their memory in DRAM, simulates them, and compares the two.

Usage: BENCH_SOURCES=FOLDER BENCH_DATA=FOLDER validate.py record [PROGRAM...] | off | readahead [PROGRAM...] | --fill

Five are of the live benchmarks, with smaller arrays, and five are applications of the papers. `record` records their
pages, which takes no idle machine. `off` measures the series of single pages, and `readahead` that of the kernel's
readahead with the machine's vm.page-cluster; both need an idle machine, root, and taskset(1) with the processor that the
disk interrupts. Results are in results.json, and --fill makes the README's tables of them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
sys.path[:0] = [str(ROOT / "papers")]

import common  # noqa: E402

RESULTS = FOLDER / "results.json"
DATA = Path(os.environ.get("BENCH_DATA", "/tmp/terrace-bench"))
BUILT = DATA / "proxies"
WORK = DATA / "validate"
SUITE = ROOT / "benches" / "live" / "programs"
# The series, by how pages are fetched ahead.
SERIES = ["off", "readahead"]
# What is shown, and what the error of some of it may be at most.
TIME = "time (s)"
SHOWN = ["major faults", "pages written", "- or of zeros", TIME]
BARS = {"major faults": 10, "pages written": 15, TIME: 15}

# Programs of the live benchmarks: the file, and the constants that make them smaller.
SMALLER = {
    "sequential-pass": ("sequential_pass.py", {"WORDS = 80_000_000": "WORDS = 8_000_000", "PASSES = 3": "PASSES = 6"}),
    "column-pass": ("column_pass.py", {"ROWS, COLUMNS = 8000, 10000": "ROWS, COLUMNS = 1000, 10000"}),
    "two-strides": ("two_strides.py", {"else 5000": "else 600"}),
    "random-walk": ("random_walk.py", {"WORDS = 80_000_000": "WORDS = 8_000_000", "80_000, 1_000": "20_000, 1_000"}),
    "sqlite": ("sqlite_memory.py", {"ROWS, PAYLOAD = 500_000, 900": "ROWS, PAYLOAD = 60_000, 900", "200, 100, 15_000": "50, 100, 3_000"}),
}
APPLICATIONS = {
    "lulesh": ("LULESH", ["LULESH/lulesh", "-s", "40", "-i", "4"]),
    "minife": ("miniFE", ["miniFE/openmp/src/miniFE.x", "-nx", "28"]),
    "comd": ("CoMD", ["CoMD/bin/CoMD-openmp", "-x", "24", "-y", "24", "-z", "24", "-N", "1", "-n", "1", "-d", BUILT / "CoMD" / "pots"]),
    "graph500": ("graph500", ["graph500/seq-csr/seq-csr", "-s", "14", "-e", "16"]),
    "xsbench": ("XSBench", ["XSBench/openmp-threading/XSBench", "-m", "event", "-s", "small", "-g", "2500", "-l", "30000", "-t", "1"]),
}
# XSBench ends with 1 where its checksum is not that of one of its own sizes.
TOLERANT = ["sh", "-c", '"$0" "$@" || [ $? = 1 ]']


def command(name):
    """Returns the command of a program, whose files are there then."""
    if name in SMALLER:
        file, changes = SMALLER[name]
        text = (SUITE / file).read_text()
        for old, new in changes.items():
            if old not in text:
                sys.exit(f"{file} has no `{old}` any more")
            text = text.replace(old, new)
        (WORK / file).write_text(text)
        return [common.PYTHON, WORK / file]
    source, arguments = APPLICATIONS[name]
    subprocess.run(["sh", ROOT / "benches" / "proxies" / "programs" / "build.sh", source], check=True,
                   stdout=subprocess.DEVNULL)
    shell = TOLERANT if name == "xsbench" else []
    return ["env", "OMP_NUM_THREADS=1", *shell, BUILT / arguments[0], *arguments[1:]]


def trace(name):
    return WORK / f"{name}.parquet"


def run(*words):
    subprocess.run([common.TERRACE, *map(str, words)], check=True, cwd=WORK, stdout=subprocess.DEVNULL)


def record(names):
    for name in names:
        if not trace(name).exists():
            common.say(f"recording {name}")
            partial = WORK / f"{name}.partial.parquet"
            run("record", "--quiet", "--level", "pages", "-o", partial, "--", *command(name))
            partial.rename(trace(name))


def measure(series, names):
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in names:
        common.say(f"measuring {name}, {series}")
        found = WORK / f"{name}.json"
        run("validate", "--quiet", "--dram", "50%", "--prefetch", series, "--repeat", "3", "--trace", trace(name),
            f"--json={found}", "--", *command(name))
        document = json.loads(found.read_text().replace(str(DATA), "$BENCH_DATA"))
        document["processors"] = sorted(os.sched_getaffinity(0))
        kept.setdefault(series, {})[name] = document
        common.write_json(RESULTS, kept)


def table(series):
    """Shows live and simulated figures of each program, and which of them are beyond the bars."""
    rows = []
    for name, found in json.loads(RESULTS.read_text()).get(series, {}).items():
        figures = {figure["name"]: figure for figure in found["figures"]}
        cells = [cell for key in SHOWN for cell in (live(figures[key], found), error(figures[key]))]
        rows.append([name, f"{found['footprint_bytes'] / 1e6:.0f} MB", *cells, beyond(figures)])
    heads = [cell for key in SHOWN for cell in (key, "simulated")]
    return common.table(["program", "footprint", *heads, "beyond the bars"], rows)


def beyond(figures):
    """Names the figures whose errors are larger than their bars."""
    return ", ".join(key for key, bar in BARS.items() if abs(figures[key]["error_percent"] or 0) > bar)


def live(figure, found):
    """Writes a measured figure: the median, and the least and the most of the runs, where they were kept."""
    form = "{:.2f}" if figure["name"] == TIME else "{:,.0f}"
    runs = found["limited_s"] if figure["name"] == TIME else []
    ends = [figure.get("live_least", min(runs, default=None)), figure.get("live_most", max(runs, default=None))]
    spread = "" if None in ends else f" ({form.format(ends[0])} to {form.format(ends[1])})"
    return form.format(figure["live"]) + spread


def error(figure):
    return "" if figure["error_percent"] is None else f"{figure['error_percent']:+.1f} %"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--fill":
        common.fill_in(FOLDER / "README.md", {series: table(series) for series in SERIES})
        return
    WORK.mkdir(parents=True, exist_ok=True)
    names = sys.argv[2:] or [*SMALLER, *APPLICATIONS]
    if sys.argv[1] == "record":
        record(names)
    else:
        measure(SERIES[SERIES.index(sys.argv[1])], names)


if __name__ == "__main__":
    main()
