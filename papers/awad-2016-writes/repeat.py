"""Repeats figures 4 to 9 of Awad 2016 with the contents of pages: what write schemes write of the pages that
real programs evict. Needs root (userfaultfd).

Usage: BENCH_SOURCES=FOLDER repeat.py [--quick]
"""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
from common import percent, say, table  # noqa: E402
from drawing import draw  # noqa: E402
from savings import (  # noqa: E402
    APPLIED,
    PAGE_CELLS,
    PAPER_SHARE,
    RANDOM,
    at_share,
    lifetime_years,
    saved,
)

BUILD = FOLDER.parent.parent / "benches" / "proxies" / "programs" / "build.sh"


@dataclass(frozen=True)
class Application:
    """An application of the paper's table 1."""

    paper: str
    # The folder of its source.
    source: str
    arguments: list
    quick: list
    # What runs where it does not: a program of `papers/programs`, and shorter.
    stand_in: list
    stand_in_quick: list
    # Seconds after which a run is ended; what was evicted until then counts.
    limit_s: int = 900
    # Options of `terrace extend` and `terrace record`.
    options: tuple = ()


SPHERE = ["--num_tsteps", "1", "--stages_per_ts", "1", "--checksum_freq", "0", "--num_vars", "40",
          *(word for axis in "xyz" for word in (f"--init_{axis}", "2", f"--n{axis}", "8")), "--num_objects", "1",
          "--object", *"2 0 -0.3 -0.3 -0.3 0.04 0.04 0.04 1.0 1.0 1.0 0.0 0.0 0.0".split()]

APPLICATIONS = {
    "lulesh": Application(
        "Lulesh", "LULESH", ["-s", "120", "-i", "2"], ["-s", "40", "-i", "2"],
        ["hydro", "5800", "4", "1"], ["hydro", "1024", "2", "1"]),
    "xsbench": Application(
        "XSBench", "XSBench", ["-m", "event", "-s", "small", "-g", "50000", "-l", "200000", "-t", "1"],
        ["-m", "event", "-s", "small", "-g", "5000", "-l", "10000", "-t", "1"],
        ["lookup", "240", "16000", "200000"], ["lookup", "60", "3000", "20000"]),
    "rsbench": Application(
        "RSBench", "RSBench", ["-m", "event", "-s", "small", "-P", "200000", "-W", "20000", "-l", "200000", "-t", "1"],
        ["-m", "event", "-s", "small", "-P", "10000", "-W", "1000", "-l", "10000", "-t", "1"],
        ["lookup", "240", "16000", "200000"], ["lookup", "60", "3000", "20000"]),
    # Its `small` with 4 segments a track in place of 120: the same memory, and a sweep of ten seconds.
    "simplemoc": Application(
        "SimpleMoC", "SimpleMOC", ["-t", "1", "-i", FOLDER / "simplemoc.in"], ["-t", "1", "-i", FOLDER / "simplemoc-quick.in"],
        ["hydro", "5800", "4", "1"], ["hydro", "1024", "2", "1"]),
    "minife": Application(
        "MiniFE", "miniFE", ["-nx", "140"], ["-nx", "30"],
        ["solve", "150", "20"], ["solve", "40", "5"], limit_s=90),
    # One step of a sphere that moves. Its cells are in rows of 80 bytes, each a block of malloc.
    "miniamr": Application(
        "MiniAMR", "miniAMR", [*SPHERE, "--num_refine", "4", "--max_blocks", "2600"],
        [*SPHERE, "--num_refine", "2", "--max_blocks", "300"],
        ["hydro", "5800", "4", "1"], ["hydro", "1024", "2", "1"], limit_s=400, options=("--small-blocks",)),
}
# Shares of the footprint as DRAM beside the paper's. One of all is chosen by how often a program faults.
OTHER_SHARES = [0.5, 0.75]
# Faults a ms of the time in DRAM alone that follow from the paper's figure 11 (awad-2016/page.md.jinja, figures 10
# and 11).
PAPER_FAULTS_A_MS = 122
PAIRS = 3
# Shares at which the simulation is compared with extended memory, at the size of --quick.
COMPARED_SHARES = [PAPER_SHARE, 0.75]
ALONE = ["--applied-only"]


class Extended(common.Bench):
    """A bench of the paper's applications, as far as their sources are to be had."""

    def command_of(self, application, quick):
        """Returns the command of an application and whether it is the paper's own."""
        built = self.build(application.source)
        if built:
            return [built, *(application.quick if quick else application.arguments)], True
        name, *arguments = application.stand_in_quick if quick else application.stand_in
        return [self.bin / name, *arguments], False

    def build(self, source):
        environment = os.environ | {"BENCH_DATA": str(self.work)}
        built = subprocess.run(["sh", BUILD, source], env=environment, stdout=subprocess.PIPE, text=True)
        if built.returncode != 0:
            say(f"MISSING: another program stands in for {source}")
            return None
        return built.stdout.strip()

    def record(self, command, options):
        """Records what a command has extended, with contents, once; returns the trace."""
        trace = self.work / f"{Path(command[0]).name}.parquet"
        if not trace.exists():
            partial = trace.with_suffix(".partial.parquet")
            run = subprocess.run([common.TERRACE, "record", "-q", "--extended", *options, "--contents", "-o", partial, "--", *command],
                                 cwd=self.work, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
            # The code is the program's: XSBench ends with 1 at sizes whose result it does not know.
            if not partial.exists():
                sys.exit(f"{command[0]} is not recorded: exit code {run.returncode}")
            partial.rename(trace)
        return trace

    def extend(self, command, limit, dram, write="inclusive", options=()):
        """Runs a command with so much DRAM, `limit` seconds at most; returns the JSON of `terrace extend`."""
        result = self.work / "extend.json"
        result.unlink(missing_ok=True)
        ours = [common.TERRACE, "extend", "-q", "--dram", dram, "--memory", "pcm", "--prefetch", "off", "--write", write,
                *options, "--json", result, "--", *command]
        # A program that is ended by the limit has figures all the same.
        run = subprocess.run(["timeout", "-s", "TERM", str(limit), *map(str, ours)], cwd=self.work,
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                             env=os.environ | {"OMP_NUM_THREADS": "1"})
        if not result.exists():
            sys.exit(f"{' '.join(map(str, ours))} failed with exit code {run.returncode}: {run.stderr}")
        return json.loads(result.read_text())


def native_seconds(command, work):
    started = time.monotonic()
    subprocess.run(list(map(str, command)), cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   env=os.environ | {"OMP_NUM_THREADS": "1"})
    return time.monotonic() - started


def measure(bench, paper, quick):
    programs = {}
    for name, application in APPLICATIONS.items():
        # Kept, so that a measurement which is cut off goes on with the next program.
        kept = bench.work / f"{name}{'-quick' * quick}.json"
        if not kept.exists():
            say(f"running {name}")
            common.write_json(kept, measure_one(bench, application, quick))
        programs[name] = json.loads(kept.read_text())
    return {"programs": programs, "versions": bench.versions([])["versions"],
            "quick": quick, "pairs": PAIRS}


def measure_one(bench, application, quick):
    command, own = bench.command_of(application, quick)
    in_dram = native_seconds(command, bench.work)
    first = bench.extend(command, application.limit_s, f"{PAPER_SHARE:.0%}", options=application.options)
    footprint = first["measured"]["footprint_bytes"]

    def with_share(share, write="inclusive", options=()):
        return bench.extend(command, application.limit_s, dram_bytes(footprint, share), write,
                            (*options, *application.options))

    found = {PAPER_SHARE: account(first, in_dram)}
    found |= {share: account(with_share(share), in_dram) for share in OTHER_SHARES}
    whole = [share for share in found if not found[share]["ended_by_limit"]]
    chosen = min(whole or [max(found)], key=lambda share: abs(found[share]["faults_a_ms"] - PAPER_FAULTS_A_MS))
    for share in {PAPER_SHARE, chosen}:
        found[share]["applied"] = {scheme: applied(with_share(share, scheme, ALONE)) for scheme in APPLIED}
    pairs = []
    if not found[chosen]["ended_by_limit"]:
        pairs = [[with_share(chosen, write, ALONE)["wall_s"] for write in ("inclusive", "mfwr")]
                 for _ in range(PAIRS)]
    return {
        "paper": application.paper,
        "own": own,
        "command": " ".join(Path(part).name for part in command),
        "footprint_bytes": footprint,
        "in_dram_s": round(in_dram, 2),
        "chosen": str(chosen),
        "shares": {str(share): one for share, one in found.items()},
        "mfwr_pairs_s": [[round(one, 2) for one in pair] for pair in pairs],
        "compared": compared(bench, application) if own else None,
    }


def compared(bench, application):
    """Returns what a small run faulted and what schemes wrote of it, measured and simulated, by the share of DRAM."""
    command, _ = bench.command_of(application, quick=True)
    trace = bench.record(command, application.options)
    found = {}
    for share in COMPARED_SHARES:
        live = bench.extend(command, application.limit_s, f"{share:.0%}", options=application.options)
        found[str(share)] = {
            "footprint_bytes": live["measured"]["footprint_bytes"],
            "live": counted(live),
            "simulated": simulated(trace, live),
        }
    return found


def counted(live):
    """Returns the faults that brought a page, and what the schemes would have written."""
    measured = live["measured"]
    return {
        "faults": measured["first_touches"] + measured["fetches"],
        "cells": {scheme["scheme"]: scheme["cells"] for scheme in live["schemes"]},
    }


def dram_bytes(footprint, share):
    return int(footprint * share) // 4096 * 4096


def simulated(trace, live):
    """Returns the same of the machine of a run, simulated."""
    settings = live["settings"]
    schemes = [scheme["scheme"] for scheme in live["schemes"]]
    run, = common.simulate(trace, 0, dram=settings["dram_bytes"], replacement="fifo", staging=settings["staging_pages"],
                           unwritten="zeros", levelling="none", write=schemes)
    # A page that was never written and has left is a fetch here, and a first touch again in extended memory.
    return {
        "faults": run["first_touches"] + run["full_misses"],
        "cells": {scheme["name"]: scheme["cells"] for scheme in run["schemes"]},
    }


def account(run, in_dram):
    """Returns what the schemes would have written in one run."""
    measured = run["measured"]
    faults = measured["fetches"] + measured["returns"]
    return {
        "ended_by_limit": run["exit_code"] is None,
        "wall_s": round(run["wall_s"], 2),
        "fetches": measured["fetches"],
        "returns": measured["returns"],
        "evicted_clean": measured["evicted_clean"],
        "evicted_dirty": measured["evicted_dirty"],
        "faults_a_ms": round(faults / (in_dram * 1000), 2),
        "cells": {scheme["scheme"]: scheme["cells"] for scheme in run["schemes"]},
    }


def applied(run):
    """Returns the cells that the applied scheme wrote, and those of all pages that left."""
    measured = run["measured"]
    pages = measured["evicted_clean"] + measured["evicted_dirty"]
    return {"cells": measured["written_cells"], "page": pages * PAGE_CELLS}


# Of figure 8, in its order, with the settings of figures 6 and 7, and what the paper does not have.
PAPERS_SCHEMES = ["inclusive", "mfwr", "mfwr:words=2", "mfwr:words=3", RANDOM, "dcw:pin=off", "dcw"]
COMPARED_SCHEMES = ["page", "inclusive", "mfwr", "lines", "sectors", "dcw", "flip-n-write", "lz4", "best"]
OTHER_SCHEMES = ["lines", "sectors", "same-filled", "lz4", "zstd", "flip-n-write", "best"]


def savings(results, paper, share, schemes):
    rows = []
    for name, program, one in at_share(results, share):
        rows.append([name, program["paper"], *(percent(saved(one, scheme)) for scheme in schemes)])
    averages = [sum(saved(one, scheme) for _, _, one in at_share(results, share)) / len(rows) for scheme in schemes]
    stated = paper["eliminated_average"]
    rows.append(["**average**", "", *map(percent, averages)])
    if schemes == PAPERS_SCHEMES:
        rows.append(["**paper**", "", *(percent(stated[s]) if s in stated else "" for s in schemes)])
    return table(["program", "application", *schemes], rows)


def years(value):
    return "-" if value is None else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


LIFETIME_SCHEMES = ["page", "inclusive", "mfwr", "lines", "dcw", "best"]


def tables(results, paper):
    programs = results["programs"]
    return {
        "programs": table(
            ["program", "application", "what ran", "footprint MB", "in DRAM s", "DRAM chosen"],
            [[name, one["paper"], f"`{one['command']}`", f"{one['footprint_bytes'] / 1e6:,.0f}", one["in_dram_s"],
              f"{float(one['chosen']):.0%}"] for name, one in programs.items()]),
        "faults": table(
            ["program", "DRAM", "run s", "fetches", "returns", "left clean", "left dirty", "faults a ms"],
            [[name, f"{float(share):.0%}", f"{at['wall_s']}{' (ended)' * at['ended_by_limit']}", f"{at['fetches']:,}",
              f"{at['returns']:,}", f"{at['evicted_clean']:,}", f"{at['evicted_dirty']:,}",
              "-" if at["ended_by_limit"] else at["faults_a_ms"]]
             for name, one in programs.items() for share, at in one["shares"].items()]),
        "savings": savings(results, paper, "paper", PAPERS_SCHEMES),
        "savings-chosen": savings(results, paper, "chosen", PAPERS_SCHEMES),
        "simulated": table(
            ["program", "DRAM", "footprint MB", "faults", "simulated", *COMPARED_SCHEMES],
            [differences(name, share, at) for name, one in programs.items()
             for share, at in (one.get("compared") or {}).items()]),
        "others": savings(results, paper, "paper", OTHER_SCHEMES),
        "lifetime": table(
            ["program", "application", *LIFETIME_SCHEMES],
            [[name, program["paper"], *(years(lifetime_years(one["cells"][scheme], one["wall_s"]))
                                        for scheme in LIFETIME_SCHEMES)]
             for name, program, one in at_share(results, "paper")]),
        "cost": table(
            ["program", "DRAM", "inclusive s", "mfwr s", "mfwr takes"],
            [[name, f"{float(one['chosen']):.0%}", *medians(one["mfwr_pairs_s"])]
             for name, one in programs.items() if one["mfwr_pairs_s"]]),
    }


def differences(name, share, at):
    """Returns the row of a program: by how much the simulated figures are above the measured ones."""
    live, ours = at["live"], at["simulated"]
    pairs = [(ours["faults"], live["faults"]), *((ours["cells"][s], live["cells"][s]) for s in COMPARED_SCHEMES)]
    return [name, f"{float(share):.0%}", f"{at['footprint_bytes'] / 1e6:,.0f}", f"{live['faults']:,}",
            *(f"{100 * (one / other - 1):+.1f} %" for one, other in pairs)]


def medians(pairs):
    """Returns the median times of both sides, and the median of the ratios of pairs with the range."""
    inclusive, mfwr = zip(*pairs)
    ratios = sorted(100 * (b / a - 1) for a, b in pairs)
    return [f"{median(inclusive):.2f}", f"{median(mfwr):.2f}",
            f"{median(ratios):+.1f} % ({ratios[0]:+.1f} to {ratios[-1]:+.1f})"]


if __name__ == "__main__":
    common.repeat(FOLDER, __doc__, measure, draw, tables, bench=Extended)
