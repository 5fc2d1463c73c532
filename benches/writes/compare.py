"""Compares what `terrace sim pages --write` says of a program with what `terrace extend` measures.

Usage: compare.py [--dram SHARES] [--only NAMES] [--json FILE]

Each program is recorded once, as far as `terrace extend` would extend it, and then runs with extended memory.
Needs root (userfaultfd), qemu-user, and for XSBench and CoMD the sources that BENCH_SOURCES names.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
TERRACE = ROOT / "target" / "release" / "terrace"
PROXIES = ROOT / "benches" / "proxies" / "programs"

# Objects of CPython lie in arenas of 1 MiB, which are extended; pages of SQLite are small blocks, which are not.
SQLITE = """
import sqlite3
table = sqlite3.connect(":memory:")
table.execute("create table words(id integer primary key, word text, number integer)")
words = [(i, "word %d" % (i * 7919 % 50000), i % 97) for i in range(30000)]
table.executemany("insert into words values(?, ?, ?)", words)
table.execute("create index by_word on words(word)")
sums = {}
for _, word, number in table.execute("select * from words order by word"):
    sums[word] = sums.get(word, 0) + number
print(len(sums), sum(sums.values()))
"""

# How a file of so many bytes is made for the programs that compress.
INPUT = 2_000_000

# By name: the program to build from BENCH_SOURCES, if any, and the command.
PROGRAMS = {
    "sort": (None, ["sort", "--parallel=1", "-S", "16M", "-r", "lines"]),
    "xz": (None, ["xz", "-1", "-T1", "-c", "input"]),
    "sqlite": (None, ["/usr/bin/python3", "-c", SQLITE]),
    "gzip": (None, ["gzip", "-c", "input"]),
    "comd": ("CoMD", ["bin/CoMD-openmp", "-x", "12", "-y", "12", "-z", "12", "-N", "2", "-n", "1"]),
    "xsbench": ("XSBench", ["openmp-threading/XSBench", "-m", "event", "-s", "small", "-g", "200", "-l", "300",
                            "-t", "1"]),
}

# What a difference is counted against: more than this is marked.
NEAR = 0.1


def build(program):
    """Builds a program of the proxies, once, and returns its folder."""
    data = Path(os.environ.get("BENCH_DATA", Path(tempfile.gettempdir()) / "terrace-bench"))
    subprocess.run(["sh", PROXIES / "build.sh", program], check=True)
    return data / "proxies" / program


def make_inputs(work):
    """Makes the files that are compressed and sorted: a library that every Debian has, and its bytes as lines."""
    text = Path("/usr/bin/python3").resolve().read_bytes()[:INPUT]
    (work / "input").write_bytes(text)
    rows = (text[at:at + 12].hex() for at in range(0, len(text), 12))
    (work / "lines").write_text("".join(f"{row}\n" for row in rows))


def run(work, *command):
    """Runs a command in the work directory; returns its standard error."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    done = subprocess.run(command, cwd=work, env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    # XSBench ends with 1 where its checksum is not that of one of its own sizes.
    if done.returncode not in (0, 1):
        sys.exit(f"{command}: {done.stderr}")
    return done.stderr


def terrace(work, *arguments, program=()):
    """Runs a command of terrace; returns its results."""
    found = work / "found.json"
    found.unlink(missing_ok=True)
    said = run(work, TERRACE, *arguments, "--json", found, *(["--", *program] if program else []))
    if not found.exists():
        sys.exit(f"{arguments}: {said}")
    return json.loads(found.read_text())


def compare(work, command, shares):
    """Returns the figures of both sides by the share of DRAM; nothing if no memory is extended."""
    trace = work / "trace.parquet"
    run(work, TERRACE, "record", "-q", "-o", trace, "--extended", "--contents", "--", *command)
    compared = {}
    for share in shares:
        extended = terrace(work, "extend", "-q", "--dram", share, "--replacement", "fifo", "--prefetch", "off",
                           program=command)
        if extended["measured"] is None:
            return {}
        dram, staging = (extended["settings"][name] for name in ("dram_bytes", "staging_pages"))
        names = [one["scheme"] for one in extended["schemes"]]
        machine = ["--dram", str(dram), "--replacement", "fifo", "--staging", str(staging)]
        writes = ["--unwritten", "zeros", "--levelling", "none", "--write", ",".join(names)]
        simulated = terrace(work, "sim", "pages", "-q", *machine, *writes, trace)["runs"][0]
        measured = extended["measured"]
        # A page that was never written and has left is a fetch of one side, and a first touch again of the other.
        rows = {"faults": (simulated["first_touches"] + simulated["full_misses"],
                           measured["first_touches"] + measured["fetches"])}
        ours = {one["name"]: one["bytes"] for one in simulated["schemes"]}
        for one in extended["schemes"]:
            rows[one["scheme"]] = (ours[one["scheme"]], one["bytes"])
        compared[share] = {
            what: {"simulated": one, "measured": other} for what, (one, other) in rows.items()
        }
    return compared


def difference(pair):
    """Returns by how much the simulated figure is above the measured one, as a share of this."""
    one, other = pair["simulated"], pair["measured"]
    return (one - other) / other if other else float(one > 0)


def show(results):
    """Prints a table: differences of the simulated figures from the measured ones."""
    first = next(share for of in results.values() for share in of.values())
    print("| program | DRAM | " + " | ".join(first) + " |")
    print("|---" * (2 + len(first)) + "|")
    for program, by_share in results.items():
        for share, rows in by_share.items():
            cells = []
            for what, pair in rows.items():
                off = difference(pair)
                mark = "**" if abs(off) > NEAR else ""
                shown = f"{pair['measured']:,} " if what == "faults" else ""
                cells.append(f"{mark}{shown}{off:+.1%}{mark}")
            print(f"| {program} | {share} | " + " | ".join(cells) + " |")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--dram", default="25%,50%", help="shares of the footprint")
    arguments.add_argument("--only", default=",".join(PROGRAMS), help="programs")
    arguments.add_argument("--json", type=Path, help="a file for all figures")
    given = arguments.parse_args()
    if not TERRACE.exists():
        sys.exit(f"{TERRACE} is not there; run `make build` first")
    results = {}
    with tempfile.TemporaryDirectory(prefix="terrace-writes-") as folder:
        work = Path(folder)
        make_inputs(work)
        for name in given.only.split(","):
            source, command = PROGRAMS[name]
            if source:
                command = [str(build(source) / command[0]), *command[1:]]
            compared = compare(work, command, given.dram.split(","))
            if compared:
                results[name] = compared
            else:
                print(f"{name}: no mapping of 1 MiB or more, so nothing is extended")
            # Each at once: a run takes minutes.
            if given.json:
                given.json.write_text(json.dumps(results, indent=1) + "\n")
    if results:
        show(results)


if __name__ == "__main__":
    main()
