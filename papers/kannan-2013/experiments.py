"""Simulations for each figure: a persistent program beside others that share its cache."""

import hashlib
import json

import common

# The paper's Atom D510, with one core a program: private levels of 32 KB and a last level of 1 MB.
HIERARCHY = {"l1": "32K:8", "l2": "off", "llc": "1M", "ways": 8, "policy": "lru"}
# Every reservation lies at a random place, as in memory that has been in use for long.
JIT, CAA_4, CAA_16 = "jit:run=1", "caa:batch=4,run=4", "caa:batch=16,run=16"
# Three quarters of the sets for the application (section 4.1): of 2048 sets, 64 a page.
PARTITIONED = "coloured:colours=32,shares=24/8"

# By name: the persistent program, the placement of pages, and the effect of a flush; `none` is the same
# program, instruction for instruction, without the effect of its flushes.
RUNS = {
    "volatile": ("volatile", JIT, "clflush"),
    "baseline": ("baseline", JIT, "clflush"),
    "unflushed": ("baseline", JIT, "none"),
    "clwb": ("baseline", JIT, "clwb"),
    "partitioned": ("baseline", PARTITIONED, "clflush"),
    "caa-4": ("baseline", CAA_4, "clflush"),
    "caa-16": ("baseline", CAA_16, "clflush"),
    "nvwa": ("nvwa", JIT, "clflush"),
    "all": ("nvwa + hybrid", CAA_16, "clflush"),
}
TREE_RUNS = {
    "baseline": ("baseline", JIT, "clflush"),
    "all": ("nvwa", CAA_16, "clflush"),
}


def simulate(traces, ips, pages, flush, seed=1):
    """Runs `terrace sim llc` on programs with a core each; its results are kept beside the first trace."""
    arguments = []
    if flush == "none":
        ips, flush = ["off"] * len(traces), "clflush"
    options = HIERARCHY | {"pages": pages, "flush": flush, "flush-ip": ",".join(ips), "seed": seed}
    for name, value in options.items():
        arguments += [f"--{name}", value]
    names = [(trace.name, trace.stat().st_mtime_ns) for trace in traces]
    key = repr((arguments, names, common.TERRACE.stat().st_mtime_ns)).encode()
    kept = traces[0].with_name(f"simulated-{hashlib.sha256(key).hexdigest()[:16]}.json")
    if not kept.exists():
        command = [common.TERRACE, "sim", "llc", "--quiet", "--json", "-", *arguments, *traces]
        common.write_json(kept, common.output_json(command))
    return json.loads(kept.read_text())


def alone(trace, ip):
    """Simulates one program with all of the cache, from its beginning to its end."""
    found = simulate([trace], [ip], JIT, "clflush")
    run = found["runs"][0]
    kept = {key: run[key] for key in ("misses", "writebacks", "flushes", "flush_writes")}
    return kept | {"instructions": found["instructions"], "accesses": found["accesses"]}


def together(app, persistent, pages, flush, seeds):
    """Simulates an application beside a persistent program, which take turns until both have run once,
    the application being the longer one; returns means over placements, and the misses of each."""
    trace, ip = persistent
    rounds = [simulate([app, trace], ["off", ip], pages, flush, seed) for seed in seeds]
    cores = [[one_core(found, core) for core in (0, 1)] for found in rounds]
    names = ("app", "persistent")
    means = {name: {key: common.mean([of[core][key] for of in cores]) for key in cores[0][core]}
             for core, name in enumerate(names)}
    means["app"]["misses_by_placement"] = [of[0]["misses"] for of in cores]
    return means


def one_core(found, core):
    """Returns counts per 1000 instructions, which do not depend on how often a program began anew."""
    of = found["runs"][0]["cores"][core]
    thousands = of["instructions"] / 1000
    rates = {key: of[key] / thousands for key in ("misses", "writebacks", "flushes", "flush_writes")}
    pages = found["pages"][core]
    return rates | {"instructions": of["instructions"], "pages": pages["touched"],
                    "contiguity_misses": pages["contiguity_misses"]}


def beside(app, persistents, runs, seeds):
    """Simulates an application in all runs."""
    return {name: together(app, persistents[program], pages, flush, seeds)
            for name, (program, pages, flush) in runs.items()}
