"""Figure 14 of Awad 2016 live: page faults by replacement in extended memory, whose pager samples references.

Usage: replacement_live.py [PROGRAM ...]    as root; a quarter of an hour

The programs of figure 14 run under `terrace extend`, as short as to take some seconds, with first in, first out, clock
and the age-based algorithm. The same runs are recorded, and simulated: there the policies are told of every touch.
Programs that are named are measured anew; results are in replacement-live.json.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent)]

import common  # noqa: E402
from common import percent, say, table  # noqa: E402

RESULTS = FOLDER / "replacement-live.json"
# What is put in place of a word of the command, so that the run ends soon, and options of extended memory.
SHORTER = {
    "hydro": ("1000", "3"),
    "lookup": ("100000000", "100000"),
    "sqlite": ("1000000", "50000"),
    "sort": None,
    "solve": ("1000", "4"),
    "mesh": ("1000", "4"),
}
OPTIONS = {"sqlite": ["--small-blocks"], "mesh": ["--small-blocks"]}
RATIOS = [0.125, 0.25, 0.5]
BASE, POLICIES = "fifo", ["clock", "age"]
# The share of pages of which references are sampled, and others, at one ratio and for one program that depends on them.
SHARE, OTHER_SHARES, SENSITIVE, AT = 0.5, [0.1, 0.25, 0.75, 0.9], "lookup", 0.25
# Runs of the same, which say how far figures differ from one to the next.
TIMES = 3
# More than a program makes.
LIMIT = 10**12


def shortened(command, name):
    """Returns the command of a program with less to do."""
    if SHORTER[name] is None:
        return command
    long, short = SHORTER[name]
    shorter = [re.sub(rf"\b{long}\b", short, part) for part in command]
    if sum(one != other for one, other in zip(command, shorter)) != 1:
        sys.exit(f"the command of {name} has not one part with {long}: {command}")
    return shorter


class Live(common.Bench):
    """A bench of the programs, with less to do."""

    def command(self, name):
        return shortened(super().command(name), name)

    def extend(self, name, dram, policy, share=None):
        """Runs a program with so much DRAM; returns the JSON of `terrace extend`."""
        result = self.work / "extend.json"
        result.unlink(missing_ok=True)
        sampled = ["--references", f"{share:.0%}"] if share else []
        words = [common.TERRACE, "extend", "-q", "--applied-only", "--prefetch", "off", "--memory", "pcm",
                 "--dram", dram, "--replacement", policy, *sampled, *OPTIONS.get(name, []), "--json", result,
                 "--", *self.command(name)]
        run = subprocess.run(list(map(str, words)), cwd=self.written, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True)
        if run.returncode != 0:
            sys.exit(f"{' '.join(map(str, words))} failed with exit code {run.returncode}: {run.stderr}")
        return json.loads(result.read_text())


def faults(measured):
    """Returns how many touches found their page neither in DRAM nor without contents; a soft fault of a sampled page is
    none of them."""
    return measured["fetches"] + measured["returns"]


def account(run):
    """Returns what is kept of a run."""
    measured = run["measured"]
    kept = {"faults": faults(measured), "wall_s": round(run["wall_s"], 2)}
    if run["settings"]["references"] is None:
        return kept
    soft = {name: measured[name] for name in ("sampled", "references", "unsampled", "sample_ns", "reference_ns")}
    return kept | {name: round(value) if value is not None else None for name, value in soft.items()}


def simulated(trace, settings):
    """Returns the faults of the machine of a run by the policy, with every touch told, simulated."""
    runs = common.simulate(trace, 0, dram=settings["dram_bytes"], staging=settings["staging_pages"],
                           replacement=[BASE, *POLICIES])
    return {run["settings"]["replacement"]: run["full_misses"] + run["partial_misses"] + run["rescues"] for run in runs}


def measure(bench, name):
    """Measures a program, and simulates the same."""
    program = bench.programs[name]
    if "input" in program:
        bench.inputs[program["input"]](bench.work)
    footprint = bench.extend(name, f"{RATIOS[-1]:.0%}", BASE)["measured"]["footprint_bytes"]
    trace = bench.record(name, LIMIT, "--level", "pages", "--extended", *OPTIONS.get(name, []))
    found = {}
    for ratio in RATIOS:
        dram = int(footprint * ratio) // 4096 * 4096
        plain = bench.extend(name, dram, BASE)
        live = {BASE: account(plain)}
        for policy in POLICIES:
            live[policy] = account(bench.extend(name, dram, policy, SHARE))
        found[f"{ratio:.1%}".replace(".0%", "%")] = {"live": live, "simulated": simulated(trace, plain["settings"])}
    return {"footprint_mb": round(footprint / 1e6, 1), "ratios": found}


def by_share(bench):
    """Returns the faults of one program by the share of pages of which references are sampled, and of runs of the same."""
    footprint = bench.extend(SENSITIVE, f"{AT:.0%}", BASE)["measured"]["footprint_bytes"]
    dram = int(footprint * AT) // 4096 * 4096
    shares = {f"{share:.0%}": {policy: account(bench.extend(SENSITIVE, dram, policy, share)) for policy in POLICIES}
              for share in sorted([*OTHER_SHARES, SHARE])}
    shares["none"] = {policy: account(bench.extend(SENSITIVE, dram, policy)) for policy in [BASE, *POLICIES]}
    again = [faults(bench.extend(SENSITIVE, dram, "clock", SHARE)["measured"]) for _ in range(TIMES)]
    return {"program": SENSITIVE, "ratio": f"{AT:.0%}", "shares": shares, "again": again}


def relative(of_ratio, kind, policy):
    """Returns the faults of a policy relative to first in, first out; None where that has none."""
    counted = {name: one["faults"] if kind == "live" else one for name, one in of_ratio[kind].items()}
    return counted[policy] / counted[BASE] if counted[BASE] else None


def tables(stands_for):
    """Returns the tables of the page, if there are results."""
    if not RESULTS.exists():
        return {}
    found = json.loads(RESULTS.read_text())
    columns = [(policy, ratio) for policy in POLICIES for ratio in ("12.5%", "25%", "50%")]
    kinds = {"live": "measured", "simulated": "simulated"}
    rows = [
        [name, mark, stands_for[name], *(percent(relative(one["ratios"][ratio], kind, policy)) or "no faults"
                                         for policy, ratio in columns)]
        for name, one in found["programs"].items() for kind, mark in kinds.items()]
    costs = [
        [name, ratio, f"{of['live'][BASE]['faults']:,}", f"{of['live']['clock']['faults']:,}",
         f"{of['live']['clock']['references']:,}"]
        for name, one in found["programs"].items() for ratio, of in one["ratios"].items()]
    shares = found["by_share"]["shares"]
    fifo = shares["none"][BASE]["faults"]
    share_rows = [
        [share, *(percent(of[policy]["faults"] / fifo) for policy in POLICIES),
         f"{of['clock'].get('references', 0):,}"]
        for share, of in shares.items()]
    return {
        "live": table(["program", "figures", "stands for", *(f"{policy} {ratio}" for policy, ratio in columns)], rows),
        "live-cost": table(["program", "DRAM", "faults, fifo", "faults, clock", "soft faults"], costs),
        "live-shares": table(["share", *POLICIES, "soft faults, clock"], share_rows),
    }


def main():
    bench = Live(common.work_directory(FOLDER))
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    programs, shares = found.get("programs", {}), found.get("by_share")
    for name in sys.argv[1:] or list(SHORTER):
        say(f"running {name}")
        programs[name] = measure(bench, name)
        if name == SENSITIVE:
            say("running with other shares")
            shares = by_share(bench)
        common.write_json(RESULTS, {
            "figures": "`live` is measured, by terrace extend; `simulated` by terrace sim pages over recordings of the same runs",
            "about": bench.versions(list(SHORTER)),
            "references": SHARE,
            "programs": {name: programs[name] for name in SHORTER if name in programs},
            "by_share": shares,
        })


if __name__ == "__main__":
    main()
