"""Prefetching by strides: waited for or not (figure 12), and how far ahead (figure 13)."""

import re

import common
from common import geometric_mean, percent, table

# Rows of each recording: on all of it this part would take longer than everything else.
ROWS, WARMUP = 50_000_000, 25_000_000
DEPTHS = [1, 2, 4, 8]
# Flash on two channels, as elsewhere here: what the paper's emulator delays does not wait for others.
MEMORIES = {"pcm": {"memory": "pcm"}, "flash-2": {"memory": "flash", "channels": 2}}
TITLES = {"pcm": "PCM", "flash-2": "Flash, two channels"}
WORKS = ["asynchronous", "synchronous"]


def measure(trace, base):
    """Measures one program, by memory; `base` has the options that all its machines share."""
    found = {}

    def simulate(**options):
        return common.simulate(trace, WARMUP, **options)

    for memory, options in MEMORIES.items():
        machine = base | {"dram": "25%", "fault_cost": "awad", "limit": ROWS} | options
        predictors = [f"stride:strides=8,occurrences=5,depth={depth}" for depth in DEPTHS]
        off = simulate(**machine)[0]
        runs = simulate(**machine, prefetch=predictors, prefetch_work=WORKS)
        by_setting = {(run["settings"]["work"], run["settings"]["prefetch"]): run for run in runs}
        if len(by_setting) != len(runs):
            raise ValueError("two runs with the same settings")
        names = sorted({name for _, name in by_setting}, key=depth_of)
        found[memory] = {
            work: {str(depth): against(by_setting[work, name], off) for depth, name in zip(DEPTHS, names, strict=True)}
            for work in WORKS
        }
    return found


def depth_of(name):
    """Returns the depth in a predictor's name with its settings."""
    found = re.search(r"\bdepth=(\d+)", name)
    return int(found[1]) if found else 1


def against(run, off):
    """Returns a run's figures as shares of the run without prefetching."""
    faults = off["full_misses"] + off["partial_misses"]
    return {
        "full": round(run["full_misses"] / faults, 4),
        "partial": round(run["partial_misses"] / faults, 4),
        "time": round(run["time_ns"] / off["time_ns"], 4),
        "latency": round(latency(run) / off["fault_latency_ns"], 4) if run["fault_latency_ns"] else None,
        "accuracy": run["prefetch"]["accuracy"],
    }


def latency(run):
    """Returns the mean time of a fault, in ns; for a synchronous one, with the wait after its own page."""
    waited = run["times_ns"]["prefetch"] - run["settings"]["fault"]["prefetch"] * run["full_misses"]
    return run["fault_latency_ns"] + waited / (run["full_misses"] + run["partial_misses"])


def averages(programs):
    """Returns geometric means over the programs of time and of a fault's latency."""
    def of(memory, work, depth, key):
        each = [one["prefetching"][memory][work][str(depth)][key] for one in programs.values()]
        return round(geometric_mean([value for value in each if value]), 4)

    return {
        memory: {work: {str(depth): {key: of(memory, work, depth, key) for key in ("time", "latency")}
                        for depth in DEPTHS} for work in WORKS}
        for memory in MEMORIES
    }


def draw_waiting(results, path):
    plt = common.pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(8.5, 3.2), sharey=True)
    shades = {"asynchronous": "#2a6f97", "synchronous": "#f3a712"}
    for axes, memory in zip(panels, MEMORIES):
        found = results["averages"]["prefetching"][memory]
        for work in WORKS:
            for key, style, called in (("latency", "o-", "latency of a fault"), ("time", "s--", "run time")):
                axes.plot(range(len(DEPTHS)), [100 * found[work][str(depth)][key] for depth in DEPTHS], style,
                          color=shades[work], label=f"{called}, {work}")
        axes.axhline(100, color="black", linewidth=0.8)
        axes.set_xticks(range(len(DEPTHS)), DEPTHS)
        axes.set_xlabel("depth")
        axes.set_title(TITLES[memory])
    panels[0].set_ylabel("% of without prefetching\n(ours, simulated, averages)")
    panels[-1].legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def stated_time(paper, app):
    """Returns the shortest run time that the paper states for an application, as a share; None if it
    states none."""
    gain = paper["prefetching"]["best_improvement"].get(app)
    return None if gain is None else 1 - gain


def draw_depth(results, paper, path, stands_for):
    plt = common.pyplot()
    figure, panels = plt.subplots(2, 3, figsize=(10.5, 5.2), sharey=True)
    ticks = range(len(DEPTHS))
    for axes, (name, one) in zip(panels.flat, results["programs"].items()):
        found = one["prefetching"]["flash-2"]["asynchronous"]
        full, partial = ([100 * found[str(depth)][kind] for depth in DEPTHS] for kind in ("full", "partial"))
        both = [below + above for below, above in zip(full, partial)]
        saved = [max(0, 100 - height) for height in both]
        axes.bar(ticks, full, 0.6, label="full misses (flash)", color="#2a6f97")
        axes.bar(ticks, partial, 0.6, full, label="partial misses (flash)", color="#61a5c2")
        axes.bar(ticks, saved, 0.6, both, label="saved (flash)", color="#e5e5e5")
        for memory, colour in (("flash-2", "black"), ("pcm", "#8d6346")):
            times = one["prefetching"][memory]["asynchronous"]
            axes.plot(ticks, [100 * times[str(depth)]["time"] for depth in DEPTHS], "o-", color=colour,
                      markersize=4, linewidth=1.2, label=f"run time, {TITLES[memory]}")
        stated = stated_time(paper, stands_for[name])
        if stated is not None:
            axes.axhline(100 * stated, color=common.PAPER, linestyle="--", linewidth=1.2,
                         label="paper, stated: run time, at best")
        axes.set_xticks(ticks, DEPTHS)
        axes.grid(False, axis="x")
        axes.set_title(f"{name} ({stands_for[name]})")
    for axes in panels[1]:
        axes.set_xlabel("depth")
    for axes in panels[:, 0]:
        axes.set_ylabel("% of without prefetching\n(ours, simulated)")
    known = {text: line for axes in panels.flat for line, text in zip(*axes.get_legend_handles_labels())}
    panels[0, -1].legend(known.values(), known, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def tables(results, paper, stands_for):
    depth_rows = []
    for name, one in results["programs"].items():
        found = one["prefetching"]["flash-2"]["asynchronous"]
        last = found[str(DEPTHS[-1])]
        times = [percent(one["prefetching"][memory]["asynchronous"][str(depth)]["time"])
                 for memory in MEMORIES for depth in DEPTHS]
        saved = [percent(1 - found[str(depth)]["full"] - found[str(depth)]["partial"]) for depth in DEPTHS]
        stated = stated_time(paper, stands_for[name])
        stated = "" if stated is None else percent(stated)
        depth_rows.append([name, stands_for[name], stated, *saved, percent(last["partial"]), *times])
    average = results["averages"]["prefetching"]
    times = [percent(average[memory]["asynchronous"][str(depth)]["time"]) for memory in MEMORIES for depth in DEPTHS]
    depth_rows.append(["**average**", "", "", *[""] * (len(DEPTHS) + 1), *times])
    waiting_rows = [
        [TITLES[memory], work, *(percent(average[memory][work][str(depth)][key])
                                 for key in ("latency", "time") for depth in DEPTHS)]
        for memory in MEMORIES for work in WORKS]
    by_depth = {kind: [f"{kind} {depth}" for depth in DEPTHS] for kind in ("saved", "PCM", "flash-2", "latency", "time")}
    heads = ["program", "stands for", "paper, best time", *by_depth["saved"], f"partial {DEPTHS[-1]}",
             *by_depth["PCM"], *by_depth["flash-2"]]
    return {
        "waiting": table(["memory", "prefetching", *by_depth["latency"], *by_depth["time"]], waiting_rows),
        "depth": table(heads, depth_rows),
    }
