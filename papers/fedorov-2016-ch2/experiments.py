"""Simulations for each figure, and the results that are kept."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
from comparison import total  # noqa: E402

WAYS = 16
# The private levels were applied when the traces were recorded.
ALONE = {"l1": "off", "l2": "off"}
# Requests before figures are taken: eight times the lines of 8 MB.
WARMUP = 1_000_000

STATIC = [f"nhm:n={high}" for high in range(0, WAYS, 2)]
# Policies of figures 2.6 and 2.7, our own, which is shown beside them everywhere, and all others.
PAPERS = ["nhm:n=4", "dip", "dblk", "drrip", "ari"]
OWN = ["density"]
COMPARED = [*PAPERS, *OWN]
OTHERS = ["random", "nru", "ship", "hawkeye", "rlr", "mockingjay"]
MEMORIES = ["dram", "pcm-row", "dram/pcm-row"]

# Policies of figure 2.15 and section 2.5.3.
INSERTIONS = {
    "insertion only": "ari:evict=lru",
    "MRU only": "ari:insert=mru",
    "LH only": "ari:insert=lh",
    "p + 1": "ari:insert=p+1",
}
# Policies of sections 2.2.1 and 2.5.4.
HARDWARE = {
    "whole tags": "ari:tag=30",
    "live sets": "ari:live=on",
    "9 sampled sets": "ari:sets=9",
    "72 sampled sets": "ari:sets=72",
    "epochs of 10,000": "ari:epoch=10000",
    "epochs of 30,000": "ari:epoch=30000",
    "epochs of 40,000": "ari:epoch=40000",
    "half the policies in turn": "ari:half=on",
    "p = 5": "ari:p=5",
    "p = 3": "ari:p=3",
    "write-backs only": "ari:wmiss=0",
    "misses only": "ari:wwb=0",
    "dirty lines low, too": "ari:dirty=lh",
    "found on these programs": "ari:epoch=30000,tag=12,dirty=lh",
}
ADAPTIVE = ["ari", *OWN]
# Candidates of ARI besides LRU: every partitioning, with both insertions.
CANDIDATES = [f"nhm:n={high}{insertion}" for high in range(0, WAYS + 1, 2) for insertion in ("", ",insert=lh")
              if (high, insertion) != (WAYS, "")]
# Share by which a candidate's misses may exceed LRU's.
SLACK = 1 / 16
SIZES = ["1M", "2M", "4M", "8M"]
ASSOCIATIVITIES = [4, 8, 16, 32]

# Programs that were made larger or smaller with an eye on what they were to meet: the hits of figure 2.1,
# and 25 % fewer write-backs with ARI where these show.
RESIZED = ["hmmer", "network", "glpsol"]

CORES = 8
# Warm-up requests of all cores together: eight times the lines of 32 MB.
SHARED_WARMUP = 4_000_000
SHARED_SIZES = ["8M", "16M", "32M"]
# And what they are in the paper; the paper samples 8 sets of each of the 8 banks.
SHARED_POLICIES = {"nhm:n=4": "nhm:n=4", "ari:sets=64": "ari"} | {name: name for name in OWN}
# Programs that run on a core each, the last level shared.
MIXES = {
    "mix 1": ["network", "bzip2", "cc1", "x264", "glpsol", "hmmer", "paths", "sqlite"],
    "mix 2": ["network", "lattice", "waves", "shor", "perl", "gnugo", "xz", "minisat"],
    "mix 3": ["bzip2", "xalan", "cc1", "sqlite", "plasma", "blast", "paths", "hmmer"],
    "mix 4": ["hmmer", "x264", "povray", "gnugo", "perl", "xalan", "cc1", "sqlite"],
    "mix 5": ["network", "glpsol", "paths", "shor", "fluid", "lattice", "plasma", "xz"],
}


def simulate(traces, policies, warmup, **options):
    """Runs `terrace sim llc` with each program on its own core; returns the runs, including LRU's."""
    arguments = []
    for name, value in (ALONE | {"policy": ["lru", *policies], "warmup": warmup} | options).items():
        values = value if isinstance(value, list) else [value]
        arguments += ["--" + name.replace("_", "-"), ",".join(map(str, values))]
    command = [common.TERRACE, "sim", "llc", "--quiet", "--json", "-", *arguments, *traces]
    return common.output_json(command)["runs"]


def ways():
    """Returns all policies that are simulated with the baseline's cache."""
    return list(dict.fromkeys([*COMPARED, *STATIC, *OTHERS, *INSERTIONS.values(), *HARDWARE.values()]))


def counts(run):
    """Returns the misses and write-backs of a run."""
    return {"misses": run["misses"], "writebacks": run["writebacks"]}


def with_memories(run):
    """Returns the counts of a run, and the results of its memories."""
    memories = {
        found["memory"]: {
            "ipc": found["ipc"],
            "joules": found["energy"] and found["energy"]["total"],
        }
        for found in run["memories"]}
    return counts(run) | {"memories": memories}


def alone(trace, warmup):
    """Simulates one program with the baseline's cache: every policy, with memories for the compared ones."""
    runs = simulate([trace], COMPARED, warmup, memory=MEMORIES)
    others = simulate([trace], [way for way in ways() if way not in COMPARED], warmup)
    lru = policy(runs, "lru")
    return {
        "requests": lru["accesses"],
        "warmup": lru["warmup"] and lru["warmup"]["accesses"],
        "warning": lru["warning"],
        "positions": lru["hits_by_position"],
        "policies": {run["policy"]: counts(run) for run in others}
        | {run["policy"]: with_memories(run) for run in runs},
    }


def by_shape(runs, shape, of=counts):
    """Returns counts by policy, by the `shape` of a cache."""
    found = {}
    for run in runs:
        found.setdefault(shape(run["llc"]), {})[run["policy"]] = of(run)
    return found


def size_text(cache):
    return f"{cache['bytes'] >> 20}M"


def sizes(trace, warmup):
    return by_shape(simulate([trace], ADAPTIVE, warmup, llc=SIZES), size_text)


def associativities(trace, warmup):
    return by_shape(simulate([trace], ADAPTIVE, warmup, ways=ASSOCIATIVITIES), lambda cache: str(cache["ways"]))


def candidates(trace, warmup):
    """Returns, by size of the cache, LRU, ARI, and each of its candidates in force all the time."""
    found = by_shape(simulate([trace], ["ari", *CANDIDATES], warmup, llc=SIZES), size_text)
    return {size: {"lru": runs["lru"], "ari": runs["ari"]} | best_candidates(runs) for size, runs in found.items()}


def best_candidates(runs):
    """Returns, among the candidates that do not miss too often, the one with the least traffic, which
    ARI seeks, and the one with the fewest write-backs; and the one with the fewest write-backs of all."""
    allowed = [name for name in ("lru", *CANDIDATES) if runs[name]["misses"] <= runs["lru"]["misses"] * (1 + SLACK)]
    names = {
        "traffic": min(allowed, key=lambda name: total(runs[name], "traffic")),
        "writebacks": min(allowed, key=lambda name: runs[name]["writebacks"]),
        "any": min(("lru", *CANDIDATES), key=lambda name: runs[name]["writebacks"]),
    }
    return {why: {"policy": name} | runs[name] for why, name in names.items()}


def shared(traces, warmup, limit):
    """Simulates eight cores with one last level; `limit` requests of each trace are repeated until
    every program has made all of its requests."""
    runs = simulate(traces, list(SHARED_POLICIES), warmup, limit=limit, cores=CORES, llc=SHARED_SIZES)
    return by_shape(runs, size_text)


def adaptation(trace):
    """Returns the partitioning and insertion that ARI has in force, by epoch: (n, LH insertion)."""
    runs = simulate([trace], ["ari"], 0, epoch=25_000)
    return [(epoch["high"], epoch["low_insertion"]) for epoch in policy(runs, "ari")["epochs"]]


def course(trace, period):
    """Returns the write-backs of each period of a fixed number of requests, by policy."""
    policies = ["nhm:n=0", "nhm:n=8", "ari:insert=mru", *ADAPTIVE]
    runs = simulate([trace], policies, 0, epoch=period)
    return {name: [epoch["writebacks"] for epoch in policy(runs, name)["epochs"]]
            for name in ["lru", *policies]}


def policy(runs, name):
    return next(run for run in runs if run["policy"] == name)
