"""Prefetching: mechanisms and their times (figure 6), and settings of predictors (figures 7 and 8)."""

import common
from common import geometric_mean, mean, table

# Settings of the paper's prefetcher in figure 6. The paper does not give the size of its prefetch cache.
CACHE = 256
# The whole design space of figure 8; figure 7 (a) to (c) are the lines through the best point.
DEPTHS, HISTORIES, STRIDES = [1, 2, 4], [1, 2, 4], [1, 2, 4, 8]
BEST = {"history": 1, "strides": 4, "depth": 1}
CACHES = [16, 64, CACHE]
STATES = [1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18]
# Enough that the degree cuts nothing off: every stride, miss and multiple of the design space.
DEGREE = max(DEPTHS) * max(HISTORIES) * max(STRIDES)

# Cycles: of a fault with the fast shoot-down and of one managed in hardware (figure 2), and of moving
# a page (V.A: 13,000 to 55,000 divided by 20 to 80).
SOFTWARE, HARDWARE, COPY = 2800, 1400, 680

# Figure 6's options: the run whose counts they are worked out from, and the cycles of a fault, of a
# page that is touched before it has arrived, and of a page fetched ahead.
WAYS = {
    "hardware": ("first-use", HARDWARE, COPY, 0),
    "assisted": ("first-use", SOFTWARE, SOFTWARE, 0),
    "assisted, synchronous": ("synchronous", SOFTWARE, 0, COPY),
    "assisted, faults only": ("faults", SOFTWARE, SOFTWARE, 0),
    "software": ("software", SOFTWARE, 0, COPY),
}
CALLED = {
    "hardware": "all hardware",
    "assisted": "hardware-assisted",
    "assisted, synchronous": "the same, synchronous",
    "assisted, faults only": "the same, triggered by faults only",
    "software": "all software",
}
# Rows of each recording for figures 7 and 8: 46 machines over all of it would take too long.
ROWS, WARMUP = 25_000_000, 15_000_000
MACHINE = {"dram": "20%", "memory": "dram", "replacement": "fifo", "fault_cost": SOFTWARE}


def stride(history, strides, depth):
    return f"stride:history={history},strides={strides},depth={depth},degree={DEGREE},trigger=first-use"


def ways_of_prefetching(trace, warmup):
    """Returns the runs of figure 6, and the run without prefetching, by name."""
    main = common.simulate(trace, warmup, **MACHINE, prefetch=["off", "stride"], prefetch_work="synchronous")
    apart = common.simulate(trace, warmup, **MACHINE, prefetch_cache=CACHE,
                            prefetch=["stride", "stride:trigger=first-use"],
                            prefetch_work=["asynchronous", "synchronous"])
    found = {"off": main[0], "software": main[1]}
    for run in apart:
        settings = run["settings"]
        first_use, waits = "trigger" in settings["prefetch"], settings["work"] == "synchronous"
        if first_use or not waits:
            found["faults" if not first_use else "synchronous" if waits else "first-use"] = run
    return found


def counts(run):
    """Returns the faults of a run, without faults on pages on their way, and the fates of prefetches."""
    found = run["prefetch"]
    kept = ("issued", "used", "late", "wasted", "accuracy", "coverage")
    return {"faults": run["misses"] - found["late"]} | {
        key: round(value, 4) if isinstance(value := found[key], float) else value for key in kept}


def parameters(trace):
    """Simulates a part of one program with every setting of figures 7 and 8, by setting."""
    machine = MACHINE | {"limit": ROWS}
    named = named_settings()
    runs = common.simulate(trace, WARMUP, **machine, prefetch_cache=CACHE, prefetch=list(named.values()))
    found = {name: counts(run) for name, run in zip(named, runs, strict=True)}
    others = [size for size in CACHES if size != CACHE]
    runs = common.simulate(trace, WARMUP, **machine, prefetch_cache=others, prefetch=stride(**BEST))
    found |= {f"cache {size}": counts(run) for size, run in zip(others, runs, strict=True)}
    off = common.simulate(trace, WARMUP, **machine)[0]
    return {"faults_without": off["full_misses"], "settings": found}


def named_settings():
    """Returns every predictor with the cache of figure 6, named by history, strides and depth, or by kind."""
    space = {f"{h} {s} {d}": stride(h, s, d) for d in DEPTHS for h in HISTORIES for s in STRIDES}
    markov = {f"markov {states}": f"markov:states={states},trigger=first-use" for states in STATES}
    return space | markov | {"stride+markov": "stride+markov:trigger=first-use"}


def best_name():
    return f"{BEST['history']} {BEST['strides']} {BEST['depth']}"


def panels():
    """Returns, for each panel of figure 7, its title, and the settings by the values on its axis."""
    def line(key, values):
        return {value: "{history} {strides} {depth}".format(**(BEST | {key: value})) for value in values}

    return {
        "a: depth": line("depth", DEPTHS),
        "b: history": line("history", HISTORIES),
        "c: strides": line("strides", STRIDES),
        "d: prefetch cache (pages)": {size: best_name() if size == CACHE else f"cache {size}" for size in CACHES},
        "e: Markov states": {short(states): f"markov {states}" for states in STATES},
        "f: predictor": {"stride": best_name(), "Markov": f"markov {STATES[-1]}", "both": "stride+markov"},
    }


def short(states):
    return f"{states >> 10}K"


def share(one, setting, key):
    """Returns one program's prefetches as a share of its faults without prefetching."""
    found = one["settings"][setting]
    touched = found["used"] + found["late"]
    return {"successful": touched, "useless": found["wasted"]}[key] / one["faults_without"]


def averages(programs):
    """Returns averages over the programs: successful and useless prefetches, and the share of successful
    ones, by setting."""
    each = list(programs.values())
    names = list(each[0]["settings"])
    found = {}
    for name in names:
        successful, useless = (mean([share(one, name, key) for one in each]) for key in ("successful", "useless"))
        accuracy = round(successful / (successful + useless), 4) if successful + useless else None
        found[name] = {"successful": round(successful, 4), "useless": round(useless, 4), "accuracy": accuracy}
    return found


def front(points):
    """Returns the names of the Pareto-optimal points: no other point is at least as good in both shares and
    better in one."""
    def beaten(one):
        return any(other["successful"] >= one["successful"] and other["useless"] <= one["useless"]
                   and (other["successful"], other["useless"]) != (one["successful"], one["useless"])
                   for other in points.values())

    kept = [name for name, one in points.items() if not beaten(one)]
    return sorted(kept, key=lambda name: points[name]["useless"])


def design_space(found):
    """Returns the averages of the points of figure 8: stride predictors with the cache of figure 6."""
    return {name: one for name, one in found.items() if name[0].isdigit()}


class Prefetching:
    """Times of figure 6's options by the model of repeat.py: its times, and the cost of prefetches."""

    def __init__(self, work, runs):
        self.work, self.runs = work, runs

    def time(self, access, way):
        run, fault, late, fetched = WAYS[way]
        found = self.runs[run]
        cycles = found["faults"] * fault + found["late"] * late + found["issued"] * fetched
        return self.work.time(access) + cycles / self.work.ghz

    def speedup(self, fast, way):
        """Returns the speed-up over slow memory for everything."""
        return self.work.time(fast * self.work.ratio) / self.time(fast, way)

    def gain(self, fast, way):
        """Returns the gain over the page cache without prefetching, its faults in software."""
        return self.work.time(fast, SOFTWARE) / self.time(fast, way)


def compare_ways(works, programs, fast, apart):
    """Returns gains and speed-ups of figure 6, by program and on average; `apart` is in no average."""
    every = {name: Prefetching(works[name], one["prefetching"]) for name, one in programs.items()}
    usual = [one for name, one in every.items() if name != apart]

    def of(call, those):
        return {way: round(geometric_mean([call(one, way) for one in those]), 4) for way in WAYS}

    def both(those):
        return {
            "gain": of(lambda one, way: one.gain(fast, way), those),
            "speedup": of(lambda one, way: one.speedup(fast, way), those),
        }

    return {name: both([one]) for name, one in every.items()} | {"average": both(usual)}


def draw_ways(results, paper, path, stands_for):
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(11, 3.6))
    ways = results["ways"]
    series = {f"ours: {CALLED[way]}": [one["gain"][way] for one in ways.values()] for way in WAYS}
    shades = ["#013a63", "#2a6f97", "#61a5c2", "#a9d6e5", "#f3a712"]
    groups = [f"{name}\n({stands_for[name]})".replace(", ", ",\n") if name in stands_for else name for name in ways]
    common.grouped_bars(axes, groups, series, shades)
    stated = stated_gains(paper)
    width = 0.8 / len(WAYS)
    places = [len(groups) - 1 + (place - (len(WAYS) - 1) / 2) * width for place in range(len(WAYS))]
    axes.plot(places, [stated[way] for way in WAYS], "D", color=common.PAPER, markersize=5,
              label="paper, stated", zorder=4)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.tick_params(axis="x", labelsize=7.5)
    axes.set_yscale("log")
    ticks = [0.5, 1, 2, 5, 10, 20]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_ylabel("speed-up over the page cache\nwithout prefetching (ours, simulated)")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def stated_gains(paper):
    """Returns the paper's averages over a page cache without prefetching."""
    stated = paper["prefetching"]
    without = stated["average_speedup"]["none"]
    assisted = stated["average_speedup"]["assisted"]
    changes = {"assisted, synchronous": stated["synchronous_change"],
               "assisted, faults only": stated["without_first_use_change"]}
    found = {way: assisted * (1 + change) for way, change in changes.items()}
    found |= {way: stated["average_speedup"][way] for way in ("hardware", "assisted", "software")}
    return {way: found[way] / without for way in WAYS}


def draw_parameters(results, path, colours):
    plt = common.pyplot()
    figure, places = plt.subplots(2, 3, figsize=(10, 5.2), sharey=True)
    programs, average = results["parameters"], results["parameter_averages"]
    for axes, (title, settings) in zip(places.flat, panels().items()):
        ticks = range(len(settings))
        for (name, one), colour in zip(programs.items(), colours):
            axes.plot(ticks, [100 * share(one, setting, "successful") for setting in settings.values()],
                      ".-", color=colour, linewidth=1, label=name)
        for key, style, label in (("successful", "o-", "average"), ("accuracy", "o:", "average accuracy")):
            shares = [average[setting][key] for setting in settings.values()]
            known = [(tick, 100 * value) for tick, value in zip(ticks, shares) if value is not None]
            axes.plot(*zip(*known), style, color=common.OURS, linewidth=2, label=label)
        axes.set_xticks(ticks, list(settings))
        axes.set_title(title, fontsize=9)
    for axes in places[:, 0]:
        axes.set_ylabel("% of faults without prefetching\n(accuracy: of prefetches; ours, simulated)", fontsize=8)
    places[0, 0].set_ylim(0, None)
    handles, texts = places[0, 0].get_legend_handles_labels()
    places[0, -1].legend(handles, texts, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def draw_design_space(results, path):
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(6.8, 4.2))
    points = design_space(results["parameter_averages"])
    shades = dict(zip(STRIDES, ["#a9d6e5", "#61a5c2", "#2a6f97", "#013a63"]))
    marks, sizes = dict(zip(DEPTHS, "os^")), dict(zip(HISTORIES, (3, 6, 9)))
    for name, one in points.items():
        history, strides, depth = map(int, name.split())
        axes.plot(100 * one["useless"], 100 * one["successful"], marks[depth], color=shades[strides],
                  markersize=sizes[history], markeredgecolor="white", markeredgewidth=0.4, zorder=3)
    best = front(points)
    axes.plot([100 * points[name]["useless"] for name in best],
              [100 * points[name]["successful"] for name in best],
              color="black", linewidth=0.8, label="Pareto front", zorder=2)
    for strides, shade in shades.items():
        axes.plot([], [], "o", color=shade, label=f"{strides} stride{'s' * (strides > 1)}")
    for depth, mark in marks.items():
        axes.plot([], [], mark, color="gray", label=f"depth {depth}")
    for history, size in sizes.items():
        axes.plot([], [], "o", color="gray", markersize=size, label=f"history {history}")
    axes.set_xlabel("useless prefetches (% of faults without prefetching)")
    axes.set_ylabel("successful prefetches (ours, simulated)\n(% of faults without prefetching)")
    axes.set_ylim(0, None)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def percent(value, digits=0):
    return "" if value is None else f"{100 * value:,.{digits}f} %"


def way_row(name, gain):
    return [name, *(f"{gain[way]:.2f}" for way in WAYS)]


def tables(results, paper):
    ways, average = results["ways"], results["parameter_averages"]
    way_rows = [way_row(f"**average** of these {len(ways) - 1}" if name == "average" else name, one["gain"])
                for name, one in ways.items()]
    graphs = results.get("ways_of_graphs", {})
    way_rows += [way_row(name, one["gain"]) for name, one in graphs.items()]
    if graphs:
        every = [one["gain"] for name, one in (ways | graphs).items() if name != "average"]
        way_rows.append(way_row(f"**average** of all {len(every)}",
                                {way: geometric_mean([gain[way] for gain in every]) for way in WAYS}))
    stated = stated_gains(paper)
    way_rows.append(["**paper**, average", *(f"{stated[way]:.2f}" for way in WAYS)])
    way_rows.append([f"**over slow memory alone**, average of these {len(ways) - 1}", *(f"{ways['average']['speedup'][w]:.2f}" for w in WAYS)])
    without = paper["prefetching"]["average_speedup"]["none"]
    way_rows.append(["**paper**, the same", *(f"{stated[way] * without:.2f}" for way in WAYS)])
    programs = results["parameters"]
    parameter_rows = [
        [title, value, *(percent(share(one, setting, "successful")) for one in programs.values()),
         percent(average[setting]["successful"], 1), percent(average[setting]["useless"], 1),
         percent(average[setting]["accuracy"], 1)]
        for title, settings in panels().items() for value, setting in settings.items()]
    points = design_space(average)
    front_rows = [[*name.split(), percent(points[name]["successful"], 1), percent(points[name]["useless"], 1)]
                  for name in front(points)]
    return {
        "ways": table(["program", *(CALLED[way] for way in WAYS)], way_rows),
        "parameters": table(["panel", "value", *programs, "coverage", "useless", "accuracy"], parameter_rows),
        "front": table(["history", "strides", "depth", "coverage", "useless"], front_rows),
    }
