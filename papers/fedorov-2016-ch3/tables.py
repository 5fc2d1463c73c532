"""The tables of the page, from results: ours beside the paper's."""

import json

import experiments
import live
import models
from common import gained, geometric_mean, known_mean, mean, percent, table
from experiments import LONG


def title(turn):
    """Returns a policy of turns as people call it."""
    return turn.removeprefix("static:turn=").replace(":most=45ms", "").replace("ms", " ms")


def tables(results, paper):
    return {
        "programs": program_table(results),
        "replaced": replaced_table(results["replaced"], paper["replaced"]),
        "curves": curve_table(results["curves"]),
        "lengths": lengths_table(results["sets"], paper["lengths"]),
        "misses": misses_table(results["sets"]),
        "detail": detail_table(results["sets"][experiments.DETAIL]),
        "beside": beside_table(results["sets"]),
        "within": within_table(results["within"]),
        "partitions": pair_table(results["partitions"], "partition"),
        "policies": policy_table(results["policies"]),
        **live.tables(json.loads(live.RESULTS.read_text())),
        **models.tables(results["sets"]),
    }


def program_table(results):
    rows = []
    for name, what in results["about"]["programs"].items():
        one = results["alone"][name]
        rows.append([name, what, f"{one['filled_mb']:.1f}", f"{one['ipc']:.2f}", f"{one['mpki']:.2f}",
                     percent(one["slowdown"] - 1), percent(one["slowdown_45ms"] - 1)])
    slowdowns = [[one[key] for one in results["alone"].values()] for key in ("slowdown", "slowdown_45ms")]
    rows.append(["average", "", "", "", "", *(percent(mean(of) - 1) for of in slowdowns)])
    return table(["program", "what it is", "MB in the cache", "IPC alone", "MPKI alone",
                  "slower beside the aggressor", "with turns of 45 ms"], rows)


def replaced_table(replaced, paper):
    rows = [[each, percent(one["mean"]), percent(one["least"]), percent(one["lost"]), f"{paper['percent'][each]} %"]
            for each, one in replaced.items()]
    return table(["tasks a core", "replaced", "least", "of the task's own lines", "paper"], rows)


def curve_table(curves):
    """Misses a millisecond by the time since a switch; blank where no turn was measured then."""
    spans = ((0, 1), (0, 3), (3, 6), (6, 9), (12, 15), (30, 45))
    rows = []
    for name, one in curves.items():
        parts = [known_mean(one["curve"][begin:end]) for begin, end in spans]
        first, late = parts[1], parts[4]
        alpha = "" if None in (first, late) else f"{late / first if first else 0:.2f}"
        rows.append([name, *("" if part is None else f"{part:,.0f}" for part in parts), alpha])
    return table(["program", "first ms", "0 to 3", "3 to 6", "6 to 9", "12 to 15", "30 to 45", "12 to 15 by 0 to 3"], rows)


def lengths_table(sets, paper):
    turns = ["static:turn=5ms", *LONG, experiments.LONGEST, *experiments.OURS]
    rows = []
    for name, one in sets.items():
        cells = [one["turns"].get(turn) for turn in turns]
        rows.append([name, len(one["mixes"]), *(gained(cell["slowdown"]) if cell else "" for cell in cells)])
    stated = {f"{name}, paper": paper.get(name) for name in ("two-16M", "four-16M", "two-4M")}
    for name, of in stated.items():
        known = of.get("percent", {})
        rows.append([name, "", *(f"{known[turn]} %" if turn in known else "" for turn in turns)])
    return table(["set", "mixes", *map(title, turns)], rows)


def misses_table(sets):
    turns = ["static:turn=5ms", *LONG, experiments.LONGEST, *experiments.OURS]
    rows = []
    for name, one in sets.items():
        cells = [one["turns"].get(turn) for turn in turns]
        rows.append([name, *(gained(cell["misses"]) if cell else "" for cell in cells)])
    return table(["set", *map(title, turns)], rows)


def detail_table(one):
    return table(["task", "run time less"], [[task["program"], gained(task["slowdown"])] for task in one["tasks"]])


def best(turns):
    """Returns the static turn with the shortest run time."""
    static = {turn: one for turn, one in turns.items() if turn.startswith("static")}
    return min(static, key=lambda turn: static[turn]["slowdown"])


def beside_table(sets):
    """Compares the adaptive policies with the best static turn, mix by mix."""
    rows = []
    for name, one in sets.items():
        turns = one["turns"]
        ours = [turn for turn in experiments.OURS if turn in turns]
        if not ours:
            continue
        static = [turn for turn in turns if turn.startswith("static")]
        bests = [min(turns[turn]["slowdowns"][at] for turn in static) for at in range(len(one["mixes"]))]
        for turn in (best(turns), *ours):
            of = turns[turn]
            worse = [mine / least - 1 for mine, least in zip(of["slowdowns"], bests)]
            rows.append([f"{name}, {title(turn)}", gained(of["slowdown"]), f"{of['turn_ms']:.1f}",
                         f"{of['longest_wait_ms']:.0f}", f"{of['fairness']:.3f}",
                         percent(geometric_mean([1 + share for share in worse]) - 1), percent(max(worse))])
    return table(["set, turns", "run time less", "mean turn, ms", "longest wait, ms", "least fairness",
                  "slower than each mix's best static turn", "at most"], rows)


def within_table(mixes):
    """How much slower than the best static turn of each mix `refill` is, by its setting `within`."""
    settings = {turn.partition("within=")[2]: turn for turn in mixes[0]["turns"] if "within=" in turn}
    rows, worse = [], {setting: [] for setting in settings}
    for one in mixes:
        times = {turn: of["slowdown"] for turn, of in one["turns"].items()}
        static = [turn for turn in times if turn.startswith("static")]
        least = min(static, key=times.get)
        for setting, turn in settings.items():
            worse[setting].append(times[turn] / times[least] - 1)
        rows.append([", ".join(one["programs"]), title(least), *(percent(shares[-1]) for shares in worse.values())])
    rows.append(["average", "", *(percent(mean(shares)) for shares in worse.values())])
    return table(["mix", "best static turn", *(f"within {setting}" for setting in settings)], rows)


def pair_table(found, first):
    rows = []
    for name, one in found.items():
        kind, turn = name.split(" ", 1)
        rows.append([f"{kind}, {title(turn)}", gained(one["slowdown"]), gained(one["misses"])])
    return table([f"{first}, turns", "run time less", "misses less"], rows)


def policy_table(found):
    rows = {}
    for name, slowdown in found.items():
        policy, turn = name.split(" ", 1)
        rows.setdefault(policy, {})[turn] = slowdown
    turns = list(next(iter(rows.values())))
    return table(["policy", *map(title, turns)],
                 [[policy, *(gained(row[turn]) for turn in turns)] for policy, row in rows.items()])
