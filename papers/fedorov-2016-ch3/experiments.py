"""What is simulated: mixes of tasks under turns of different lengths."""

import random

import common
from common import geometric_mean, mean

MS = 1_000_000
# Sets of mixes: cores, tasks of each, last level, the scheduler's own turns (3.4.1), turns, mixes.
LONG = ["static:turn=15ms", "static:turn=30ms", "static:turn=45ms", "static:turn=70ms"]
OURS = ["fill", "refill"]
SETS = {
    "two-16M": {"cores": 2, "each": 4, "llc": "16M", "slice": "4ms", "turns": [*LONG, *OURS], "mixes": 16},
    "four-16M": {"cores": 4, "each": 4, "llc": "16M", "slice": "4ms", "turns": [*LONG, *OURS], "mixes": 6},
    "two-4M": {"cores": 2, "each": 4, "llc": "4M", "slice": "2ms",
               "turns": ["static:turn=5ms", "static:turn=15ms", "static:turn=30ms", *OURS], "mixes": 16},
    "two-32M": {"cores": 2, "each": 4, "llc": "32M", "slice": "4ms", "turns": [*LONG[1::2], *OURS], "mixes": 4},
    "four-16M-2": {"cores": 4, "each": 2, "llc": "16M", "slice": "4ms", "turns": LONG[:3], "mixes": 3},
    "four-16M-8": {"cores": 4, "each": 8, "llc": "16M", "slice": "4ms", "turns": LONG[:3], "mixes": 2},
}
# The mix of figures 3.9 and 3.10, and its turns.
DETAIL, DETAIL_TURN = "four-16M", "static:turn=45ms"
# Mixes for partitions and for other policies of the last level.
FEW = 4
PARTITIONS = ["off", "equal", "alone"]
POLICIES = ["lru", "drrip", "ari"]


def mix(traces, **options):
    """Runs `terrace sim mix` on recordings that have passed private levels; returns the list of runs."""
    arguments = []
    for name, value in options.items():
        values = value if isinstance(value, list) else [value]
        arguments += ["--" + name.replace("_", "-"), ",".join(map(str, values))]
    command = [common.TERRACE, "sim", "mix", "--quiet", "--json=-", "--l1", "off", "--l2", "off"]
    return common.output_json([*command, *arguments, *traces])["runs"]


def draws(names, count, tasks):
    """Returns mixes of programs, drawn evenly: each program once before any comes again."""
    numbers, deck = random.Random(3), []
    mixes = []
    for _ in range(count):
        chosen = []
        while len(chosen) < tasks:
            if not deck:
                deck = numbers.sample(sorted(names), len(names))
            chosen.append(deck.pop())
        mixes.append(chosen)
    return mixes


def alone(trace, aggressor, times):
    """Figure 3.1: a program alone, and on a core with a task that fills the cache."""
    [own] = mix([trace], turn="off", **times)
    beside = mix([trace, aggressor], turn=["off", "static:turn=45ms"], **times)
    ipc = [run["tasks"][0]["ipc"] for run in [own, *beside]]
    return {"ipc": ipc[0], "mpki": own["tasks"][0]["mpki"],
            "filled_mb": own["filled_lines"] * 64 / 2**20,
            "slowdown": ipc[0] / ipc[1], "slowdown_45ms": ipc[0] / ipc[2]}


def replaced(traces, mixes, each, times):
    """Figure 3.2: what came into 4 MB while a task was away."""
    shares, lost = [], []
    for names in mixes:
        [run] = mix([traces[name] for name in names[:2 * each]], cores=2, llc="4M", slice="2ms", turn="off", **times)
        shares += [task["replaced"] for task in run["tasks"]]
        lost += [task["lost"] for task in run["tasks"]]
    return {"mean": mean(shares), "least": min(shares), "lost": mean(lost)}


def lengths(traces, mixes, given, times):
    """Figures 3.5 to 3.10: mixes under turns of different lengths, and the scheduler's own."""
    turns = ["off", *given["turns"]]
    found = {turn: [] for turn in turns}
    for names in mixes:
        runs = mix([traces[name] for name in names], cores=given["cores"], llc=given["llc"], slice=given["slice"],
                   turn=turns, **times)
        for turn, run in zip(turns, runs):
            found[turn].append(run)
    return {"mixes": mixes, "turns": {turn: of_turn(runs) for turn, runs in found.items()},
            "tasks": [task_of(one) for one in found[DETAIL_TURN][0]["tasks"]] if DETAIL_TURN in found else None}


def of_turn(runs):
    slowdowns = [task["slowdown"] for run in runs for task in run["tasks"]]
    average = mean(slowdowns)
    deviation = mean([(of - average) ** 2 for of in slowdowns]) ** 0.5
    return {"slowdown": geometric_mean([run["slowdown"] for run in runs]),
            "slowdowns": [run["slowdown"] for run in runs], "deviation": deviation,
            "misses": geometric_mean([run["misses_against"] for run in runs]),
            "misses_of": [run["misses_against"] for run in runs],
            "turn_ms": mean([run["turn_ns"] for run in runs]) / MS,
            "fairness": min(run["fairness"] for run in runs),
            "longest_wait_ms": max(task["longest_wait_ns"] for run in runs for task in run["tasks"]) / MS}


def task_of(task):
    return {"program": task["trace"].rsplit("/", 1)[-1].rsplit("-", 1)[0], "slowdown": task["slowdown"]}


def curves(traces, mixes, times):
    """Figures 3.3 and 3.11: misses by the time since a switch, in turns of 70 ms at 16 MB."""
    found = {}
    for names in mixes:
        [run] = mix([traces[name] for name in names], cores=2, llc="16M", turn="static:turn=70ms", **times)
        for name, task in zip(names, run["tasks"]):
            one = found.setdefault(name, {"curve": task["misses_per_ms"][:70], "falls": [0] * 11})
            one["falls"] = [a + b for a, b in zip(one["falls"], task["falls"])]
    return found


def partitions(traces, mixes, times):
    """3.5.2: turns of the scheduler and of 15 and 45 ms, with the cache divided and not."""
    turns, found = ["off", "static:turn=15ms", "static:turn=45ms"], {}
    for names in mixes:
        runs = mix([traces[name] for name in names], cores=2, llc="16M", turn=turns, partition=PARTITIONS, **times)
        for run in runs:
            found.setdefault(f"{run['partition']} {run['turn']}", []).append(run)
    return {name: {"slowdown": geometric_mean([run["slowdown"] for run in runs]),
                   "misses": geometric_mean([run["misses_against"] for run in runs])} for name, runs in found.items()}


def policies(traces, mixes, times):
    """Whether turns and the policy of the last level add up."""
    turns, found = ["off", DETAIL_TURN], {}
    for names in mixes:
        runs = mix([traces[name] for name in names], cores=2, llc="16M", turn=turns, policy=POLICIES, **times)
        base = runs[0]
        for run in runs:
            ratios = [b["ipc"] / a["ipc"] for a, b in zip(run["tasks"], base["tasks"])]
            found.setdefault(f"{run['policy']} {run['turn']}", []).append(geometric_mean(ratios))
    return {name: geometric_mean(ratios) for name, ratios in found.items()}
