"""The demands, and the averages of the paper that are met: tables of the page."""

import experiments
import stack
from common import percent, table
from comparison import average_cut, average_gain, average_saving, cut, gain, longer

# Difference in percentage points within which an average agrees.
AGREES = 2
BEST_RIVALS = ["hawkeye", "rlr"]
# What of the model has changed since results were simulated that could not be simulated again.
EARLIER_TIMING, EARLIER_ORDER = "earlier timing", "earlier order of cores"


def more(share):
    """Writes a cut as the change that it is, with its sign."""
    return f"{round(-100 * share, 1) + 0:+.1f} %"


def demands(results):
    """Shows the demands on ARI and on our own policy, and the results."""
    programs = results["programs"]
    runs = {name: one["policies"] for name, one in programs.items()}
    places = {
        "in any program": ("ari", runs),
        "in 1, 4 or 8 MB, or in 4, 8 or 32 ways": ("ari", other_shapes(programs)),
        "on eight cores, 8 to 32 MB": ("ari:sets=64", by_shape(results["shared"])),
    }
    rows = [worst_row(policy, found, where, key, most) for where, (policy, found) in places.items()
            for key, most in (("misses", 0.05), ("writebacks", 0.01)) if found]
    static = max(experiments.STATIC, key=lambda policy: average_cut(runs.values(), policy, "traffic"))
    rivals = {"lru": "", "dip": "", "drrip": "", static: ", the best static one"}
    rows += [ahead_row(runs, "ari", rival, "traffic", note) for rival, note in rivals.items()]
    rows += [shape_row(name, one) for name, one in programs.items() if stack.published(one["positions"])]
    for own in experiments.OWN:
        rows.append(ahead_row(runs, own, "ari", "traffic"))
        rows.append(ahead_row(runs, own, "ari", "writebacks"))
        rows += [ahead_row(runs, own, rival, "misses") for rival in BEST_RIVALS]
    return table(["what was to hold", "found", "holds"], rows)


TEXTS = {"misses": "misses", "writebacks": "write-backs", "traffic": "misses and write-backs"}


def by_shape(loads):
    """Returns the runs of caches of several shapes, by program and shape."""
    return {f"{name}, {shape}": runs for name, shapes in loads.items() for shape, runs in shapes.items()}


def other_shapes(programs):
    """Returns the runs of all caches but the paper's baseline."""
    return by_shape({
        name: {f"{shape}{unit}": runs for part, unit, base in (("sizes", "B", "2M"), ("ways", " ways", str(experiments.WAYS)))
               for shape, runs in one[part].items() if shape != base}
        for name, one in programs.items()})


def worst_row(policy, runs, where, key, most):
    worst = min(runs, key=lambda name: cut(runs[name], policy, key))
    found = cut(runs[worst], policy, key)
    over = sum(-cut(one, policy, key) > most for one in runs.values())
    return [f"`{policy}`: {TEXTS[key]} at most {100 * most:.0f} % more than LRU's {where}", f"{more(found)} ({worst})",
            "yes" if over == 0 else f"**no**, in {over} of {len(runs)}"]


def ahead_row(runs, policy, rival, key, note=""):
    ours, theirs = (average_cut(runs.values(), name, key) for name in (policy, rival))
    return [f"`{policy}`: fewer {TEXTS[key]} than `{rival}`{note}, average",
            f"{more(ours)}, and {more(theirs)} with `{rival}`", "yes" if ours > theirs else "**no**"]


def shape_row(name, one):
    found = cut(one["policies"], "ari", "writebacks")
    return [f"`ari`: 25 % fewer write-backs in {name}, which has the published shape", more(found),
            "yes" if found >= 0.25 else "**no**"]


def positions(programs):
    """Shows each program's hits by position beside ARI's effect, the flattest first."""
    rows = []
    for name, one in sorted(programs.items(), key=lambda item: -stack.flatness(item[1]["positions"])):
        found = one["positions"]
        rows.append([
            name, one["spec"] or "", percent(stack.high_share(found)), f"{stack.lowness(found):.2f}",
            f"{stack.flatness(found):.2f}", "yes" if stack.published(found) else "",
            *(percent(cut(one["policies"], policy, key)) for policy in ("nhm:n=0", "ari") for key in ("writebacks", "misses"))])
    return table(["program", "stands for", "hits in the 4 most recent ways", "most in another way, to their mean",
                  "older half of the others to the younger", "published shape", "0H16: write-backs saved", "misses saved", "ARI: write-backs saved",
                  "misses saved"], rows)


def averages(results, paper):
    """Shows each average that the paper states beside ours."""
    runs = [one["policies"] for one in results["programs"].values()]
    shared = list(results["shared"].values())
    rows = []
    for key, where in (("writebacks", "2.6"), ("misses", "2.7")):
        for policy, known in paper[key]["cut_percent"].items():
            rows.append([where, f"`{policy}`: {TEXTS[key]} saved", known, average_cut(runs, policy, key), ""])
    for policy, known in paper["bandwidth"]["cut_percent"].items():
        rows.append(["2.4.3", f"`{policy}`: bandwidth saved", known, average_cut(runs, policy, "traffic"), ""])
    for policy, known in paper["ipc"]["gain_percent"].items():
        rows.append(["2.8", f"`{policy}`: instructions a cycle gained", known,
                     average_gain([gain(one, policy, "dram") for one in runs]), EARLIER_TIMING])
    for memory, name in zip(experiments.MEMORIES, ("dram", "pcm", "dram/pcm")):
        rows.append(["2.4.5", f"`ari`: energy saved, {name}", paper["energy"]["cut_percent"][name],
                     average_saving(runs, "ari", memory), EARLIER_TIMING])
    for policy, times in paper["lifetime"]["times"].items():
        rows.append(["2.4.5", f"`{policy}`: lifetime gained", round(100 * times - 100, 1),
                     average_gain([longer(one, policy) - 1 for one in runs]), ""])
    for size in experiments.SHARED_SIZES if shared else []:
        for ours, theirs in experiments.SHARED_POLICIES.items():
            for key, where in (("writebacks", "2.9"), ("misses", "2.10")):
                known = paper["multicore"][f"{key}_cut_percent"][size].get(theirs)
                if known is not None:
                    rows.append([where, f"`{theirs}`, eight cores, {size}B: {TEXTS[key]} saved", known,
                                 average_cut([sizes[size] for sizes in shared], ours, key), EARLIER_ORDER])
    return table(["figure, section", "average", "paper", "ours", "", "model"],
                 [[where, text, f"{known:g} %", percent(found), against(known, found), model]
                  for where, text, known, found, model in rows])


def against(known, found):
    """Says how our average compares with the paper's."""
    if found is None:
        return "not known"
    points = 100 * found - known
    return "agrees" if abs(points) <= AGREES else "more" if points > 0 else "less"
