"""What is simulated: mixes of tasks under turns of different lengths."""

import random

import common
from common import geometric_mean, mean

MS = 1_000_000
LONG = ["static:turn=15ms", "static:turn=30ms", "static:turn=45ms"]
# The longest of figure 3.5.
LONGEST = "static:turn=70ms"
# Bounded as the turns beyond which little is gained.
OURS = ["fill:most=45ms", "refill:most=45ms"]
# Programs that are in the set `all-16M` alone: the mixes of the others were drawn before they came.
LATER = {"anneal-64k", "rays-30k", "barnes-16k", "fmm-4k", "ocean-130", "lu-1024"}
ALL = "all-16M"
# Sets of mixes: cores, tasks of each, last level, the scheduler's own turns (3.4.1), turns, mixes, and the
# time before figures are taken and of which they are taken: a round of the longest turns each, and for the only mix
# of its set two, as a task that is first in a round can be last in the next.
SETS = {
    "two-16M": {"cores": 2, "each": 4, "llc": "16M", "slice": "4ms", "turns": [*LONG, *OURS], "mixes": 8, "ms": 200},
    ALL: {"cores": 2, "each": 4, "llc": "16M", "slice": "4ms", "turns": [*LONG, LONGEST, *OURS], "mixes": 8,
          "ms": 300},
    "four-16M": {"cores": 4, "each": 4, "llc": "16M", "slice": "4ms", "turns": [*LONG[::2], OURS[1]], "mixes": 2,
                 "ms": 200},
    "two-4M": {"cores": 2, "each": 4, "llc": "4M", "slice": "2ms",
               "turns": ["static:turn=5ms", "static:turn=15ms", OURS[1]], "mixes": 4, "ms": 300},
    "two-32M": {"cores": 2, "each": 4, "llc": "32M", "slice": "4ms", "turns": [LONG[2], OURS[1]], "mixes": 2,
                "ms": 200},
    "four-16M-2": {"cores": 4, "each": 2, "llc": "16M", "slice": "4ms", "turns": LONG[::2], "mixes": 2, "ms": 100},
    "four-16M-8": {"cores": 4, "each": 8, "llc": "16M", "slice": "4ms", "turns": LONG[:1], "mixes": 1, "ms": 240},
}
# Times of the other experiments, with turns of 45 ms at most.
TIMES = {"warmup": "200ms", "time": "200ms"}
# The mix of figures 3.9 and 3.10, and its turns.
DETAIL, DETAIL_TURN = "four-16M", "static:turn=45ms"
# Static turns, the first of which is the baseline, and settings of `refill`, which has to learn before they tell.
WITHIN = [*reversed(LONG), "refill:most=45ms,within=0.01", "refill:most=45ms,within=0.002"]
WITHIN_MIXES = 3
# Mixes for partitions and for other policies of the last level.
FEW = 2
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


def alone(trace, aggressor):
    """Figure 3.1: a program alone, and on a core with a task that fills the cache."""
    [own] = mix([trace], turn="off", **TIMES)
    beside = mix([trace, aggressor], turn=["off", "static:turn=45ms"], **TIMES)
    ipc = [run["tasks"][0]["ipc"] for run in [own, *beside]]
    return {"ipc": ipc[0], "mpki": own["tasks"][0]["mpki"],
            "filled_mb": own["filled_lines"] * 64 / 2**20,
            "slowdown": ipc[0] / ipc[1], "slowdown_45ms": ipc[0] / ipc[2]}


def replaced(traces, mixes, each):
    """Figure 3.2: what came into 4 MB while a task was away."""
    shares, lost = [], []
    for names in mixes:
        [run] = mix([traces[name] for name in names[:2 * each]], cores=2, llc="4M", slice="2ms", turn="off", **TIMES)
        away = [task for task in run["tasks"] if task["replaced"] is not None]
        shares += [task["replaced"] for task in away]
        lost += [task["lost"] for task in away]
    return {"mean": mean(shares), "least": min(shares), "lost": mean(lost)}


def lengths(traces, mixes, given):
    """Figures 3.5 to 3.10: mixes under turns of different lengths, and the scheduler's own."""
    turns = ["off", *given["turns"]]
    found = {turn: [] for turn in turns}
    for names in mixes:
        runs = mix([traces[name] for name in names], cores=given["cores"], llc=given["llc"], slice=given["slice"],
                   turn=turns, warmup=f"{given['ms']}ms", time=f"{given['ms']}ms")
        for turn, run in zip(turns, runs):
            found[turn].append(run)
    # Of a task that had no turn in the time measured nothing is known, nor of its mix.
    known = [at for at in range(len(mixes)) if all(runs[at]["slowdown"] is not None for runs in found.values())]
    found = {turn: [runs[at] for at in known] for turn, runs in found.items()}
    return {"mixes": [mixes[at] for at in known], "left_out": len(mixes) - len(known),
            "turns": {turn: of_turn(runs) for turn, runs in found.items()},
            "tasks": [task_of(one) for one in found[DETAIL_TURN][0]["tasks"]] if DETAIL_TURN in found else None}


def within(traces, mixes):
    """How much longer turns of `refill` have to be: mixes under its setting `within`, and under static turns."""
    found = []
    for names in mixes:
        runs = mix([traces[name] for name in names], cores=2, llc="16M", slice="4ms", turn=WITHIN, warmup="600ms",
                   time="600ms")
        found.append({"programs": names, "turns": {
            turn: {"slowdown": run["slowdown"], "misses": run["misses_against"], "turn_ms": run["turn_ns"] / MS}
            for turn, run in zip(WITHIN, runs)}})
    return found


def of_turn(runs):
    slowdowns = [task["slowdown"] for run in runs for task in run["tasks"] if task["slowdown"] is not None]
    average = mean(slowdowns)
    deviation = mean([(of - average) ** 2 for of in slowdowns]) ** 0.5
    return {"slowdown": geometric_mean([run["slowdown"] for run in runs]),
            "slowdowns": [run["slowdown"] for run in runs], "deviation": deviation,
            "misses": misses_of(runs),
            "misses_of": [run["misses_against"] for run in runs],
            "turn_ms": mean([run["turn_ns"] for run in runs]) / MS,
            "fairness": min(run["fairness"] for run in runs),
            "longest_wait_ms": max(task["longest_wait_ns"] for run in runs for task in run["tasks"]) / MS}


def misses_of(runs):
    """Returns the misses against those of the baseline; None where all fits, and nothing is missed."""
    ratios = [run["misses_against"] for run in runs if run["misses_against"] is not None]
    if 0 in ratios:
        return 0.0
    return geometric_mean(ratios) if ratios else None


def task_of(task):
    return {"program": task["trace"].rsplit("/", 1)[-1].rsplit("-", 1)[0], "slowdown": task["slowdown"]}


def curves(traces, mixes):
    """Figures 3.3 and 3.11: misses by the time since a switch, in turns of 45 ms at 16 MB."""
    found = {}
    for names in mixes:
        [run] = mix([traces[name] for name in names], cores=2, llc="16M", turn=DETAIL_TURN, **TIMES)
        for name, task in zip(names, run["tasks"]):
            one = found.setdefault(name, {"curve": task["misses_per_ms"][:45], "falls": [0] * 11})
            one["falls"] = [a + b for a, b in zip(one["falls"], task["falls"])]
    return found


def partitions(traces, mixes):
    """3.5.2: turns of the scheduler and of 45 ms, with the cache divided and not."""
    turns, found = ["off", DETAIL_TURN], {}
    for names in mixes:
        runs = mix([traces[name] for name in names], cores=2, llc="16M", turn=turns, partition=PARTITIONS, **TIMES)
        for run in runs:
            found.setdefault(f"{run['partition']} {run['turn']}", []).append(run)
    return {name: {"slowdown": geometric_mean([run["slowdown"] for run in runs]),
                   "misses": misses_of(runs)} for name, runs in found.items()}


def policies(traces, mixes):
    """Whether turns and the policy of the last level add up."""
    turns, found = ["off", DETAIL_TURN], {}
    for names in mixes:
        runs = mix([traces[name] for name in names], cores=2, llc="16M", turn=turns, policy=POLICIES, **TIMES)
        base = runs[0]
        for run in runs:
            ratios = [b["ipc"] / a["ipc"] for a, b in zip(run["tasks"], base["tasks"])]
            found.setdefault(f"{run['policy']} {run['turn']}", []).append(geometric_mean(ratios))
    return {name: geometric_mean(ratios) for name, ratios in found.items()}
