"""Tables of the page about the two halves of the programs, from halves.json."""

import json
import random
from pathlib import Path
from statistics import median

import experiments
from common import geometric_mean, mean, percent, table

RESULTS = Path(__file__).resolve().parent / "halves.json"
RESAMPLES = 2000
# What is counted of a run: reads of memory, lines that the level above writes back and that are not there, both, lines
# written to memory, and what goes over the bus.
COUNTS = {
    "read misses": ["misses"],
    "write-back misses": ["writeback_misses"],
    "all misses": ["misses", "writeback_misses"],
    "write-backs": ["writebacks"],
    "lines over the bus": ["misses", "writebacks"],
}
# Of these averages are taken.
SAVED = [count for count in COUNTS if count != "write-back misses"]
HALVES = {"tuning": False, "held out": True}
BEYOND = 0.05


def ratio(runs, policy, count, base="lru"):
    """Returns a policy's count by another's; counts of 0 are taken as 1."""
    ours, theirs = (max(sum(runs[name][key] for key in COUNTS[count]), 1) for name in (policy, base))
    return ours / theirs


def interval(ratios):
    """Returns the 95 % interval of the geometric mean, by programs drawn with replacement; the same each time."""
    numbers = random.Random(1)
    means = sorted(geometric_mean(numbers.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return means[RESAMPLES // 40], means[-RESAMPLES // 40]


def summary(ratios):
    """Writes what is saved: the geometric mean with its interval, and the median."""
    low, high = interval(ratios)
    return [f"{percent(1 - geometric_mean(ratios))} ({percent(1 - high)} to {percent(1 - low)})", percent(1 - median(ratios))]


def half(programs, held_out):
    return {name: one for name, one in programs.items() if one["held_out"] == held_out}


def tables():
    if not RESULTS.exists():
        return {}
    results = json.loads(RESULTS.read_text())
    programs = results["programs"]
    earlier = json.loads(RESULTS.with_name("results.json").read_text())["programs"]
    return {
        "halves": halves_table(programs),
        "halves-programs": program_table(programs),
        "halves-sizes": size_table(programs, earlier),
        "halves-variants": variant_table(programs),
        "halves-adaptation": adaptation_table(programs, results["chosen"]["ari"]),
        "halves-model": model_table(programs),
    }


def halves_table(programs):
    rows = []
    for policy in experiments.COMPARED + ["fifo", "plru", "opt"]:
        for name, held_out in HALVES.items():
            ours = half(programs, held_out).values()
            saved = [summary([ratio(one["policies"], policy, count) for one in ours]) for count in SAVED]
            absent = [percent(mean([missed(one, which) for one in ours])) for which in ("lru", policy)]
            rows.append([f"`{policy}`", name, len(ours), *(cell for cells in saved for cell in cells), *absent])
    heads = [cell for count in SAVED for cell in (f"{count} saved", "median")]
    return table(["policy", "half", "programs", *heads, "write-back misses of all requests, LRU", "with it"], rows)


def missed(one, policy):
    """Returns the share of requests that are write-backs of the level above for lines that are not there. LRU has so
    few in some programs that changes of them mean nothing."""
    return one["policies"][policy]["writeback_misses"] / one["requests"]


def change(found):
    return f"{round(100 * found - 100, 1) + 0:+.1f} %"


def program_table(programs):
    rows = []
    for name, one in sorted(programs.items(), key=lambda item: item[1]["held_out"]):
        runs = one["policies"]
        changes = [cell for policy in experiments.ADAPTIVE for cell in (
            change(ratio(runs, policy, "read misses")), f"{missed(one, policy):.3f}",
            change(ratio(runs, policy, "all misses")), change(ratio(runs, policy, "write-backs")))]
        footprint = f"{one['footprint'] >> 20} MB" if one["footprint"] else ""
        share = [f"{runs['lru'][key] / one['requests']:.3f}" for key in ("misses", "writeback_misses", "writebacks")]
        rows.append([name, "held out" if one["held_out"] else "tuning", footprint, *share, *changes])
    heads = [f"{policy}: {text}" for policy in experiments.ADAPTIVE
             for text in ("read misses", "write-back misses a request", "all misses", "write-backs")]
    return table(["program", "half", "footprint by the rule", "LRU: read misses a request", "write-back misses",
                  "write-backs", *heads], rows)


def size_table(programs, earlier):
    """Shows programs that have a size by the rule beside what the earlier size gave, of which write-back misses were not
    kept."""
    rows = []
    shown = {name: one for name, one in programs.items() if one["footprint"] and name in earlier}
    for name, one in shown.items():
        cells = [change(ratio_of(runs, policy, key)) for runs in (earlier[name]["policies"], one["policies"])
                 for policy in experiments.ADAPTIVE for key in ("misses", "writebacks")]
        rows.append([name, "held out" if one["held_out"] else "tuning", *cells])
    for text, of in (("**average**", geometric_mean), ("**median**", median)):
        cells = [change(of([ratio_of(runs[name]["policies"], policy, key) for name in shown]))
                 for runs in (earlier, programs) for policy in experiments.ADAPTIVE for key in ("misses", "writebacks")]
        rows.append([text, f"{len(shown)} programs", *cells])
    heads = [f"{size}, {policy}: {key}" for size in ("earlier size", "by the rule") for policy in experiments.ADAPTIVE
             for key in ("read misses", "write-backs")]
    return table(["program", "half", *heads], rows)


def ratio_of(runs, policy, key):
    return max(runs[policy][key], 1) / max(runs["lru"][key], 1)


def variant_table(programs):
    """Shows variants on the half for tuning alone, beside the policy as it is."""
    ours = half(programs, False).values()
    known = [policy for policy in next(iter(ours))["policies"] if policy.split(":")[0] in experiments.ADAPTIVE]
    rows = []
    for policy in known:
        found = {count: [ratio(one["policies"], policy, count) for one in ours] for count in COUNTS}
        beyond, worst, cases = beyond_lru(ours, policy)
        rows.append([f"`{policy}`", *(percent(1 - geometric_mean(found[count])) for count in SAVED),
                     percent(mean([missed(one, policy) for one in ours])),
                     *([f"{beyond} of {cases}", change(worst)] if cases else ["", ""])])
    return table(["tuning half", *(f"{count} saved" for count in SAVED), "write-back misses of all requests",
                  "read misses beyond +5 %", "worst"], rows)


def shapes_of(one):
    return [one["policies"], *one["shapes"].values()]


def beyond_lru(programs, policy):
    """Returns how many caches of all shapes miss more than 5 % more often than LRU's, the worst, and how many there are."""
    if any(policy not in runs for one in programs for runs in shapes_of(one)):
        return 0, 1, 0
    ratios = [ratio(runs, policy, "read misses") for one in programs for runs in shapes_of(one)]
    return sum(found > 1 + BEYOND for found in ratios), max(ratios), len(ratios)


def adaptation_table(programs, chosen):
    """Shows what adaptation costs: ARI beside LRU in all shapes, and beside the candidate that would have been best."""
    rows = []
    for policy in dict.fromkeys(["ari", chosen]):
        for name, held_out in HALVES.items():
            ours = half(programs, held_out).values()
            beyond, worst, cases = beyond_lru(ours, policy)
            best = [ratio(one["policies"], policy, "lines over the bus", best_candidate(one["policies"])) for one in ours]
            bus = [ratio(one["policies"], policy, "lines over the bus") for one in ours]
            rows.append([f"`{policy}`", name, len(ours), f"{beyond} of {cases}", change(worst), *summary(bus),
                         change(geometric_mean(best)), change(median(best)), change(max(best))])
    return table(["policy", "half", "programs", "caches with read misses beyond +5 %", "worst", "lines over the bus saved",
                  "median", "to the best candidate in hindsight", "median", "worst"], rows)


def best_candidate(runs):
    """Returns the candidate with the fewest lines over the bus among those that ARI may choose."""
    most = runs["lru"]["misses"] * (1 + experiments.SLACK)
    allowed = [name for name in ("lru", *experiments.CANDIDATES) if runs[name]["misses"] <= most]
    return min(allowed, key=lambda name: runs[name]["misses"] + runs[name]["writebacks"])


def model_table(programs):
    ours = half(programs, True)
    rows = [[name, "all equal" if not one["model"] else f"**differ**: {', '.join(one['model'])}"]
            for name, one in ours.items()]
    return table(["held out", "LRU, 17 partitionings and ARI beside the model"], rows)
