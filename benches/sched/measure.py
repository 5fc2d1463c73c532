#!/usr/bin/env python3
"""Measures what longer turns gain and cost, with the kernel alone beside each policy.

    cargo build --release -p terrace
    benches/sched/measure.py [--repeat 3] [--slice 30ms] [--cpu 0] [--out FILE] [PART ...]

As root, on an idle machine; each part takes one or two minutes. Prints a table each of

- cache: the last-level cache as programs get it here (terrace sched profile);
- chases: four pointer chases of 2.5 MiB on one CPU: time of an access, turns, shares, CPU time of terrace;
- a mix (mix1 to mix6): four programs of 1 to 3 MiB each on one CPU: run times, geometric mean over the programs;
- null: four chases of 12 MiB and four of 0.4 MiB, and one of 2.5 MiB by itself, which should change nothing;
- sleeper: a program that wakes up 200 times a second beside the chases for 11 s: how late it wakes up, and shares of
  CPU time.

--out adds the documents of terrace to a file of JSON, a line each. Several values of --slice are compared.
"""

import argparse
import json
import math
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RELEASE = os.path.join(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")), "release")
TERRACE = os.path.join(RELEASE, "terrace")
DATA = os.path.join(os.environ.get("BENCH_DATA", tempfile.gettempdir()), "terrace-sched")

# Programs of 1 to 3 MiB each, which run for some seconds alone; {text} is a file of words.
PROGRAMS = {
    "bzip2": "exec bzip2 -c -2 {text} >/dev/null",
    "bunzip2": "exec bzip2 -d -c {text}.bz2 >/dev/null",
    "xz": "exec xz -c -T1 -0 {text} >/dev/null",
    "zstd": "exec zstd -q -c --single-thread -9 --zstd=wlog=20 {text} >/dev/null",
    "dict": "exec /usr/bin/python3 {here}/programs/lookups.py 12000 9000000",
    "chase2": "exec {data}/chase 2048 80",
    "chase3": "exec {data}/chase 3072 60",
}
MIXES = {
    "mix1": ["bzip2", "bunzip2", "xz", "zstd"],
    "mix2": ["dict", "dict", "dict", "dict"],
    "mix3": ["bunzip2", "bunzip2", "bunzip2", "bunzip2"],
    "mix4": ["chase2", "bunzip2", "dict", "zstd"],
    "mix5": ["zstd", "zstd", "bunzip2", "dict"],
    "mix6": ["chase2", "chase3", "bunzip2", "xz"],
}


def prepare():
    """Builds the programs, and makes the files that they read, from a fixed seed."""
    os.makedirs(DATA, exist_ok=True)
    for name in ("chase", "sleeper"):
        source = os.path.join(HERE, "programs", name + ".c")
        subprocess.run(["cc", "-O2", "-o", os.path.join(DATA, name), source], check=True)
    text = os.path.join(DATA, "words")
    if not os.path.exists(text + ".bz2"):
        draw = random.Random(1)
        words = ["".join(draw.choices("etaoinshrdlu", k=draw.randint(2, 9))) for _ in range(20000)]
        lines = [" ".join(draw.choices(words, k=8)) + "\n" for _ in range(150000)]
        # Repeated, as no window of a compressor reaches so far back.
        with open(text, "w", encoding="ascii") as file:
            file.writelines(lines * 4)
        subprocess.run(["bzip2", "-k", "-f", "-9", text], check=True)


def command(name):
    text = os.path.join(DATA, "words")
    return ["sh", "-c", PROGRAMS[name].format(text=shlex.quote(text), here=shlex.quote(HERE), data=shlex.quote(DATA))]


def compare(asked, programs, repeat=None):
    """Runs programs together under the kernel alone and under each policy; returns the document, and the lines that
    the programs printed, by policy in the order of the runs."""
    with tempfile.TemporaryDirectory() as directory:
        document = os.path.join(directory, "sched.json")
        line = [TERRACE, "sched", "run", "-q", "--compare", "--repeat", str(repeat or asked.repeat), "--slice",
                asked.slice, "--mechanism", asked.mechanism, "--cpus", asked.cpu, "--json", document]
        for program in programs:
            line += ["--", *program]
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True)
        with open(document, encoding="utf-8") as file:
            result = json.load(file)
    if asked.out:
        with open(asked.out, "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
    policies = [it["policy"] for it in result["policies"]]
    lines = [line.split() for line in done.stdout.splitlines()]
    return result, policies, lines


def printed(lines, policies, programs):
    """Returns what the programs printed under each policy: those of a run are together, and the ways take turns."""
    by_policy = {policy: [] for policy in policies}
    for index, line in enumerate(lines):
        by_policy[policies[index // programs % len(policies)]].append(line)
    return by_policy


def spread(values, form="{:.1f}"):
    if not values:
        return "-"
    return f"{form} ({form} to {form})".format(statistics.median(values), min(values), max(values))


def milliseconds(value):
    return "-" if value is None else f"{1e3 * value:.1f}"


def summary(result):
    print("| policy | run time against the kernel's | turns asked ms | came out ms | mechanism | Jain | own CPU |\n"
          + "|---" * 7 + "|")
    for it in result["policies"]:
        print(f"| {it['policy']} | {it['relative_run_time'] - 1:+.1%} | {milliseconds(it['turn_asked_s'])} | "
              f"{milliseconds(it['turn_mean_s'])} | {it['mechanism'] or '-'} | {it['jain'] or 0:.4f} | "
              f"{it['own_cpu_share']:.2%} |")
    kernel = result["policies"][0]
    for it in result["policies"][1:]:
        ratios = []
        for run in range(len(it["wall_s"])):
            pairs = zip(it["programs"], kernel["programs"])
            logs = [math.log(own["wall_s"][run] / other["wall_s"][run]) for own, other in pairs if own["cpu_bound"]]
            ratios.append(math.exp(statistics.mean(logs)))
        print(f"\n{it['policy']}: run time by repetition {spread(ratios, '{:.3f}')} times the kernel's")
        shares = zip(it["programs"], kernel["programs"])
        off = [own["share"] / other["share"] - 1 for own, other in shares if own["share"] and other["share"]]
        if off:
            print(f"shares of CPU time differ from the kernel's by {max(map(abs, off)):.1%} at most")
    print(flush=True)


def chases(asked, kib=2560, millions=30, count=4):
    programs = [[os.path.join(DATA, "chase"), str(kib), str(millions), str(seed)] for seed in range(count)]
    result, policies, lines = compare(asked, programs)
    print(f"{count} chases of {kib} KiB\n\n| policy | ns an access (range) |\n|---|---|")
    for policy, own in printed(lines, policies, count).items():
        print(f"| {policy} | {spread([float(line[0]) for line in own])} |")
    print()
    summary(result)


def mix(asked, name):
    print(f"{name}: {', '.join(MIXES[name])}\n")
    result, _, _ = compare(asked, [command(program) for program in MIXES[name]])
    for program in range(len(MIXES[name])):
        times = [spread(it["programs"][program]["wall_s"], "{:.2f}") for it in result["policies"]]
        print(f"{MIXES[name][program]}: {'; '.join(times)} s")
    print()
    summary(result)


def null(asked):
    chases(asked, 12288, 6)
    chases(asked, 400, 150)
    chases(asked, 2560, 150, 1)


def sleeper(asked):
    # The chases outlast the sleeper under each policy, and are ended then.
    chase = ["sh", "-c", f"timeout 13 {shlex.quote(os.path.join(DATA, 'chase'))} 2560 100000 $0 || true"]
    sleeps = ["sh", "-c", f"sleep 1; exec {shlex.quote(os.path.join(DATA, 'sleeper'))} 11"]
    result, policies, lines = compare(asked, [sleeps] + [chase + [str(seed)] for seed in range(4)])
    print("| policy | wake-up us: median | 99th | worst |\n|---|---|---|---|")
    own = printed(lines, policies, 1)
    for policy in policies:
        late = [list(map(float, line)) for line in own[policy]]
        columns = [spread([run[column] for run in late]) for column in range(3)]
        print(f"| {policy} | {' | '.join(columns)} |")
    print()
    summary(result)


def cache(_):
    subprocess.run([TERRACE, "sched", "profile", "-q"], check=True)


def main():
    parts = {"cache": cache, "chases": chases, "null": null, "sleeper": sleeper}
    parts |= {name: (lambda asked, name=name: mix(asked, name)) for name in MIXES}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3, help="runs of each way")
    parser.add_argument("--slice", default="30ms", help="policies, as terrace sched run takes them")
    parser.add_argument("--mechanism", default="auto", help="auto, rotation or slices")
    parser.add_argument("--cpu", default="0", help="the CPU on which they run")
    parser.add_argument("--out", help="file to which the documents are added")
    parser.add_argument("parts", nargs="*", default=list(parts), metavar="PART", help=", ".join(parts))
    asked = parser.parse_args()
    unknown = [part for part in asked.parts if part not in parts]
    if unknown:
        parser.error(f"there is no part {unknown[0]}")
    prepare()
    for part in asked.parts:
        parts[part](asked)


if __name__ == "__main__":
    if not os.path.exists(TERRACE):
        sys.exit(f"measure.py: {TERRACE} is missing; cargo build --release -p terrace")
    main()
