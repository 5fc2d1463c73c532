#!/usr/bin/env python3
"""Checks whether many processes and a storm of forks are all steered, with a quarter of their memory.

    cargo build --release -p terrace --bin terrace --example crowd
    benches/live/crowd.py [--processes 1000] [--forks 10000] [--kib 1024] [--at-once 4] [PREDICTOR ...]

As root. Runs `crowd` (crates/cli/examples/crowd.rs) with the kernel alone (`off`) and with each predictor
named (stream:depth=32 without names), and prints a row each: wall time in seconds, the processor time
that Terrace took itself, major faults, pages fetched and of these used, late, reissued and wasted, the share
of the pages walked over that was foreseen (used, late or reissued), faults that steering did not see, and the
most descriptors that Terrace had. A test runs a hundredth of it (crates/cli/tests/crowd.rs), and judges that
each process is steered, not how much of it: that depends on the device and the processors.
"""

import argparse
import json
import os
import resource
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RELEASE = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "release")
PAGE_KIB = 4
STRIDE = 3
# The share foreseen that `stream:depth=32` is to reach, on two processors with a disk that answers in 60 us. With a
# descriptor kept for each process it were 20 to 35 %.
REFERENCE = 0.4


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=1000)
    parser.add_argument("--forks", type=int, default=10000)
    parser.add_argument("--kib", type=int, default=1024, help="memory of each process")
    parser.add_argument("--at-once", type=int, default=4, help="processes that walk at a time")
    parser.add_argument("predictors", nargs="*", default=["stream:depth=32"])
    return parser.parse_args()


def descriptors(process):
    """Returns how many descriptors a process has now; None if it has ended."""
    try:
        return len(os.listdir(f"/proc/{process.pid}/fd"))
    except OSError:
        return 0


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(predictor, asked):
    """Runs the crowd once; returns the run's document, Terrace's own processor time, and its most descriptors."""
    total = (asked.processes + 1) * asked.kib
    with tempfile.TemporaryDirectory() as directory:
        document = os.path.join(directory, "run.json")
        crowd = [asked.processes, asked.kib, STRIDE, asked.forks, asked.at_once]
        command = [os.path.join(RELEASE, "terrace"), "run", "-q", "--dram", f"{total // 4}K"]
        command += ["--footprint", f"{total}K", "--prefetch", predictor, "--json", document, "--"]
        command += [os.path.join(RELEASE, "examples", "crowd")] + [str(number) for number in crowd]
        before = processor_time()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        most = 0
        while process.poll() is None:
            most = max(most, descriptors(process))
            time.sleep(0.01)
        if process.returncode != 0:
            raise SystemExit(f"crowd.py: the run with {predictor} ended with {process.returncode}")
        with open(document, encoding="utf-8") as file:
            result = json.load(file)["runs"][0]
        program = result["user_s"] + result["system_s"]
        return result, processor_time() - before - program, most


def main():
    asked = arguments()
    walked = asked.processes * asked.kib // PAGE_KIB
    print("| predictor | wall s | own cpu s | major faults | issued | used | late | reissued | wasted | foreseen |"
          " unseen | descriptors |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for predictor in ["off", *asked.predictors]:
        result, own, most = run(predictor, asked)
        story = result["prefetch"] or {}
        ends = [story.get(end, 0) for end in ("issued", "used", "late", "reissued", "wasted")]
        foreseen = sum(ends[1:4]) / walked
        cells = [predictor, f"{result['wall_s'][0]:.1f}", f"{own:.1f}", f"{result['major_faults']:,}"]
        cells += [f"{end:,}" for end in ends]
        cells += [f"{foreseen:.0%}", story.get("unseen_faults", 0), most]
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)
    print(f"\nFor reference: at least {REFERENCE:.0%} foreseen by stream:depth=32.")


if __name__ == "__main__":
    main()
