"""SparkBench on an unmodified JVM in extended memory: figures 5.7 to 5.9 on emulated devices in real time.

Usage: spark_live.py [PROGRAM ...] [--repeat N] [--latency US ...]    as root, on an idle machine; a quarter of an hour each

The JVM's heap is extended memory of `terrace extend`: the pager in user space has the queue, the devices and the
predictors, and the kernel is as it is. Half of what the JVM touches is DRAM. The latencies, one and ten devices, and the
orders are the dissertation's (5.5). Each round runs every way once; results are in spark-live.json.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent)]

import common  # noqa: E402
from common import percent, say, table  # noqa: E402

RESULTS = FOLDER / "spark-live.json"
PROGRAMS = FOLDER.parent.parent / "benches" / "osvpp" / "programs"
# The heap in MiB, and the size of the input.
SIZES = {
    "pagerank": (128, 500),
    "connected_component": (128, 500),
    "strongly_connected_component": (128, 60),
    "triangle_count": (128, 500),
    "pregel_ops": (128, 500),
    "svdplusplus": (128, 5000),
    "kmeans": (128, 15000),
    "decision_tree": (128, 15000),
}
# The devices with their order, and what is fetched ahead. The kernel's block of eight pages (corp) on one device stands for
# its readahead.
WAYS = {
    "no readahead": ("devices=1,order=plain", "off"),
    "baseline": ("devices=1,order=plain", "corp"),
    "elevator": ("devices=1,order=elevator", "corp"),
    "corp": ("devices=10,order=plain", "corp"),
    "spatial": ("devices=10,order=plain", "spatial"),
    "temporal": ("devices=10,order=plain", "temporal"),
    "combo": ("devices=10,order=plain", "combo"),
    "vldp": ("devices=10,order=plain", "vldp"),
}
FULL = "full DRAM"
LATENCIES = [50, 10]
# A device serves one request at a time.
MEMORY = """[swap]
summary = "NVMe flash of the dissertation, one device"
page_read = {{ value = "{us}us", source = "Fedorov 2016, 5.5" }}
page_write = {{ value = "{us}us", source = "Fedorov 2016, 5.5" }}
channels = {{ value = 1, source = "Fedorov 2016, 5.5.1" }}
"""
# Spark starts a JVM that prints the command of the next one; that one is the program.
JAVA = """#!/bin/sh
case " $* " in
*launcher.Main*) ;;
*SparkSubmit*) exec "$TERRACE_COMMAND" extend $TERRACE_EXTEND -- {java} "$@" ;;
esac
exec {java} "$@"
"""
KEPT = ["fetches", "prefetched", "prefetched_used", "prefetched_late", "prefetched_wasted", "evicted_dirty", "fetch_ns",
        "footprint_bytes", "peak_dram_bytes"]


def java_home(place):
    """Makes a home of Java whose command runs Spark's JVM in extended memory."""
    java = Path(shutil.which("java")).resolve()
    home = place / "java"
    (home / "bin").mkdir(parents=True)
    for entry in java.parent.parent.iterdir():
        if entry.name != "bin":
            (home / entry.name).symlink_to(entry)
    command = home / "bin" / "java"
    command.write_text(JAVA.format(java=java))
    command.chmod(0o755)
    return home


def run(place, program, dram, us, devices, prefetch):
    """Runs a program, and returns the time of its JVM and what its memory did."""
    (place / "memories.toml").write_text(MEMORY.format(us=us))
    found = place / "extend.json"
    options = ["--quiet", "--applied-only", f"--json={found}", "--dram", dram, "--memories", place / "memories.toml",
               "--memory", f"swap:{devices}", "--prefetch", prefetch]
    environment = os.environ | {"JAVA_HOME": str(place / "java"), "TERRACE_COMMAND": str(common.TERRACE),
                                "TERRACE_EXTEND": " ".join(map(str, options))}
    heap, size = SIZES[program]
    found.unlink(missing_ok=True)
    subprocess.run(["sh", PROGRAMS / "run.sh", program, str(heap), str(size)], env=environment, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    document = ended(found)
    assert document["exit_code"] == 0
    return {"seconds": round(document["wall_s"], 3)} | {name: document["measured"][name] for name in KEPT}


def ended(found):
    """Returns what a run has left, which the JVM does a little after the program."""
    until = time.monotonic() + 60
    while not found.exists() or not found.read_text().rstrip().endswith("}"):
        assert time.monotonic() < until, f"there is no {found}"
        time.sleep(0.1)
    return json.loads(found.read_text())


def measure(place, program, us, repeat, kept):
    """Runs every way in turn, `repeat` times, with half of what the program touches as DRAM."""
    whole = run(place, program, "2G", us, *WAYS["no readahead"])
    dram = whole["footprint_bytes"] // 2 >> 12
    one = kept.setdefault(program, {}).setdefault(str(us), {"dram_pages": dram, "runs": {}})
    for _ in range(repeat):
        for way, (devices, prefetch) in {FULL: WAYS["no readahead"], **WAYS}.items():
            say(f"running {program}, {us} us, {way}")
            bound = "2G" if way == FULL else f"{dram * 4}K"
            one["runs"].setdefault(way, []).append(run(place, program, bound, us, devices, prefetch))
            common.write_json(RESULTS, {"programs": kept})


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def measured():
    """Returns the programs at the latencies at which every way has run, the slower latency first."""
    programs = json.loads(RESULTS.read_text())["programs"]
    several = [(program, us, one) for program, latencies in programs.items() for us, one in latencies.items()]
    return [(program, us, one) for program, us, one in sorted(several, key=lambda of: -int(of[1]))
            if one["runs"].keys() >= {FULL, *WAYS}]


def tables():
    """Shows what each way saves of the baseline's time, and what it fetches."""
    if not RESULTS.exists():
        return {}
    times, fetched = [], []
    ways = [way for way in [*WAYS, FULL] if way != "baseline"]
    saved = {}
    for program, us, one in measured():
        seconds = {way: median(runs, "seconds") for way, runs in one["runs"].items()}
        base = one["runs"]["baseline"]
        saved.setdefault(us, []).append([1 - seconds[way] / seconds["baseline"] for way in ways])
        times.append([program, f"{us} us", str(len(base)), f"{seconds['baseline']:.1f} s", *map(percent, saved[us][-1])])
        for way, runs in one["runs"].items():
            ahead, used = median(runs, "prefetched"), median(runs, "prefetched_used")
            fetched.append([program, f"{us} us", way, f"{median(runs, 'fetches'):,.0f}", f"{ahead:,.0f}",
                            percent(used / ahead) if ahead else "", f"{median(runs, 'evicted_dirty'):,.0f}"])
    for us, rows in saved.items():
        means = map(statistics.mean, zip(*rows, strict=True))
        times.append([f"average of {len(rows)}", f"{us} us", "", "", *map(percent, means)])
    return {"spark-live": table(["program", "latency", "rounds", "baseline", *ways], times),
            "spark-live-pages": table(["program", "latency", "way", "faults", "fetched ahead", "used", "written"], fetched)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3, help="rounds")
    parser.add_argument("--latency", type=int, nargs="+", default=LATENCIES, help="microseconds of a read and of a write")
    parser.add_argument("programs", nargs="*", default=list(SIZES), help="programs of SparkBench")
    args = parser.parse_args()
    kept = json.loads(RESULTS.read_text())["programs"] if RESULTS.exists() else {}
    place = Path(tempfile.mkdtemp())
    try:
        java_home(place)
        subprocess.run(["sh", PROGRAMS / "prepare.sh"], check=True)
        for program in args.programs or SIZES:
            for us in args.latency:
                measure(place, program, us, args.repeat, kept)
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main()
