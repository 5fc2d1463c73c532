"""Prefetching: mechanisms and their times (figure 6), and settings of predictors (figures 7 and 8)."""

from dataclasses import dataclass
from pathlib import Path

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

# Cycles of a fault with the fast shoot-down, as in software.toml, of which COPY are the move of the page (V.A: 13,000 to
# 55,000 divided by 20 to 80). One managed in hardware takes 1,400 (figure 2), as in hardware.toml.
SOFTWARE, HARDWARE, COPY = 2800, 1400, 680
FOLDER = Path(__file__).resolve().parent
# Pages that hardware moves at the same time: the memory's channels (II.A).
CHANNELS = 4


@dataclass(frozen=True)
class Way:
    """One of figure 6's options, as settings of `terrace sim pages`. What is fetched ahead is mapped as it arrives."""

    # What handles faults: software.toml or hardware.toml.
    faults: str = "software"
    # Whether hardware fetches ahead, beside the program; else the handler of a fault does, page by page.
    beside: bool = True
    first_use: bool = True
    cache: bool = True

    def settings(self, threads):
        return {
            "machine": FOLDER / f"{self.faults}.toml",
            "channels": CHANNELS if self.beside else threads,
            "prefetch": "stride:trigger=first-use" if self.first_use else "stride",
            "prefetch_cache": CACHE if self.cache else 0,
            "prefetch_work": "asynchronous" if self.beside else "synchronous",
            "prefetch_map": "arrival",
        }


WAYS = {
    "hardware": Way(faults="hardware"),
    "assisted": Way(),
    "assisted, synchronous": Way(beside=False),
    "assisted, faults only": Way(first_use=False),
    "software": Way(beside=False, first_use=False, cache=False),
}
# The cycles by which these times were computed before the simulator had them, from the counts of a run: of a fault, of a page
# that is touched before it has arrived, and of a page fetched ahead.
COMPUTED = {
    "hardware": (HARDWARE, COPY, 0),
    "assisted": (SOFTWARE, SOFTWARE, 0),
    "assisted, synchronous": (SOFTWARE, 0, COPY),
    "assisted, faults only": (SOFTWARE, SOFTWARE, 0),
    "software": (SOFTWARE, 0, COPY),
}
CALLED = {
    "hardware": "all hardware",
    "assisted": "hardware-assisted",
    "assisted, synchronous": "the same, synchronous",
    "assisted, faults only": "the same, triggered by faults only",
    "software": "all software",
}
MACHINE = {"dram": "20%", "memory": "dram", "replacement": "fifo", "fault_cost": SOFTWARE}


def stride(history, strides, depth):
    return f"stride:history={history},strides={strides},depth={depth},degree={DEGREE},trigger=first-use"


def ways_of_prefetching(trace, warmup, model, threads=1):
    """Simulates figure 6's options, the page cache without prefetching, and slow memory alone, by the times of accesses of
    a model; returns what is needed of each run, by name."""
    lines = {"instruction_time": f"{1 / model.ghz:.3f}ns", "fast_line": f"{model.fast:.3f}ns",
             "slow_line": f"{model.fast * model.ratio:.3f}ns"}
    machine = lines | {"dram": MACHINE["dram"], "replacement": MACHINE["replacement"], "initial": "tier"}
    settings = {"off": {"machine": FOLDER / "software.toml", "channels": threads}}
    settings |= {name: way.settings(threads) for name, way in WAYS.items()}
    found = {}
    for name, own in settings.items():
        [run] = common.simulate(trace, warmup, **machine, **own)
        found[name] = counts(run) | {"time_ns": run["time_ns"], "compute_ns": run["times_ns"]["compute"]}
    [slow] = common.simulate(trace, warmup, **lines, dram=MACHINE["dram"], memory="dram", bandwidth="none", fault_cost="none", migration="never")
    return found | {"slow": {"time_ns": slow["time_ns"]}}


def counts(run):
    """Returns the faults of a run, without faults on pages on their way, and the fates of prefetches."""
    found = run["prefetch"]
    kept = ("issued", "used", "late", "wasted", "accuracy", "coverage")
    return {"faults": run["misses"] - found["late"]} | {
        key: round(value, 4) if isinstance(value := found[key], float) else value for key in kept}


def parameters(trace, warmup):
    """Simulates one program with every setting of figures 7 and 8, by setting."""
    named = named_settings()
    runs = common.simulate(trace, warmup, **MACHINE, prefetch_cache=CACHE, prefetch=list(named.values()))
    found = {name: counts(run) for name, run in zip(named, runs, strict=True)}
    others = [size for size in CACHES if size != CACHE]
    runs = common.simulate(trace, warmup, **MACHINE, prefetch_cache=others, prefetch=stride(**BEST))
    found |= {f"cache {size}": counts(run) for size, run in zip(others, runs, strict=True)}
    off = common.simulate(trace, warmup, **MACHINE)[0]
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
    """Gains of figure 6's options, of times that are simulated, and of times that are computed from the same runs' counts."""

    def __init__(self, runs, ghz):
        self.runs, self.ghz = runs, ghz

    def speedup(self, way):
        """Returns the speed-up over slow memory for everything."""
        return self.runs["slow"]["time_ns"] / self.runs[way]["time_ns"]

    def gain(self, way):
        """Returns the gain over the page cache without prefetching, its faults in software."""
        return self.runs["off"]["time_ns"] / self.runs[way]["time_ns"]

    def computed(self, way):
        """Returns the gain as it was computed before: the program's work in fast memory, and faults and pages fetched ahead by
        their cycles."""
        def time(found, fault, late=0, fetched=0):
            cycles = found["faults"] * fault + found["late"] * late + found["issued"] * fetched
            return self.runs["off"]["compute_ns"] + cycles / self.ghz

        return time(self.runs["off"], SOFTWARE) / time(self.runs[way], *COMPUTED[way])


def compare_ways(runs, ghz, apart):
    """Returns gains and speed-ups of figure 6, by program and on average; `apart` is in no average."""
    every = {name: Prefetching(one, ghz) for name, one in runs.items()}
    usual = [name for name in every if name != apart]

    def of(call, those):
        return {way: round(geometric_mean([call(name, way) for name in those]), 4) for way in WAYS}

    def all_of(those):
        return {
            "gain": of(lambda name, way: every[name].gain(way), those),
            "computed": of(lambda name, way: every[name].computed(way), those),
            "speedup": of(lambda name, way: every[name].speedup(way), those),
        }

    return {name: all_of([name]) for name in every} | {"average": all_of(usual)}


def draw_ways(ways, paper, path, stands_for):
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(11, 3.6))
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
    most = max(max(values) for values in series.values())
    ticks = [tick for tick in (0.5, 1, 2, 5, 10, 20) if tick < 2 * most]
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


def tables_of_ways(ways, paper, apart, prefix=""):
    """Shows gains and speed-ups of figure 6, and gains as they were computed before, by program and on average."""
    usual = [name for name in ways if name not in ("average", apart)]
    average = f"**average** of these {len(usual)}"
    ordered = [name for name in ways if name != apart] + [name for name in ways if name == apart]

    def rows(key):
        return [way_row(average if name == "average" else name, ways[name][key]) for name in ordered]

    stated = stated_gains(paper)
    without = paper["prefetching"]["average_speedup"]["none"]
    heads = ["program", *(CALLED[way] for way in WAYS)]
    return {
        f"{prefix}ways": table(heads, [
            *rows("gain"),
            ["**paper**, average", *(f"{stated[way]:.2f}" for way in WAYS)],
            way_row(f"**over slow memory alone**, average of these {len(usual)}", ways["average"]["speedup"]),
            ["**paper**, the same", *(f"{stated[way] * without:.2f}" for way in WAYS)]]),
        f"{prefix}ways-computed": table(heads, rows("computed")),
    }


def tables(results, paper, apart):
    average = results["parameter_averages"]
    programs = results["parameters"]
    parameter_rows = [
        [title, value, *(percent(share(one, setting, "successful")) for one in programs.values()),
         percent(average[setting]["successful"], 1), percent(average[setting]["useless"], 1),
         percent(average[setting]["accuracy"], 1)]
        for title, settings in panels().items() for value, setting in settings.items()]
    points = design_space(average)
    front_rows = [[*name.split(), percent(points[name]["successful"], 1), percent(points[name]["useless"], 1)]
                  for name in front(points)]
    return tables_of_ways(results["ways"], paper, apart) | {
        "parameters": table(["panel", "value", *programs, "coverage", "useless", "accuracy"], parameter_rows),
        "front": table(["history", "strides", "depth", "coverage", "useless"], front_rows),
    }
