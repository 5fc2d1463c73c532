"""Draws the figures of the paper from results."""

import common
import comparison
import counting

COLOURS = ["#2a6f97", "#61a5c2", "#a9d6e5", "#f3a712", "#5c4d7d"]
SIZE = (9, 2.8)


def draw(results, paper, folder):
    apps = results["apps"]
    draw_allocations(results["allocations"], paper["allocations"]["flushes"], folder / "allocations.svg")
    draw_operations(results["operations"], folder / "operations.svg")
    draw_time(results["operations"], folder / "time.svg")
    draw_growing(results["growing"], folder / "growing.svg")
    draw_interference(apps, folder / "interference.svg")
    draw_contiguity(apps, paper["contiguity"]["misses"], folder / "contiguity.svg")
    draw_cuts(apps, {"CAA-4": "caa-4", "CAA-16": "caa-16", "NVWA": "nvwa", "all three": "all"}, folder / "cuts.svg")
    draw_cuts(results["beside_trees"], {"CAA-16 + NVWA": "all"}, folder / "tree.svg")


def legend(axes, title):
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, title=title)


def draw_allocations(found, stated, path):
    """Draws table 2, per allocation."""
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(6, 2.8))
    sizes = list(found)
    series = {name: [found[size][allocator]["allocate"]["lines"] / int(size) for size in sizes]
              for allocator, name in (("naive", "naive"), ("nvwa", "NVWA"))}
    common.grouped_bars(axes, [f"{int(size):,}" for size in sizes], series, COLOURS)
    label = "paper"
    for group, size in enumerate(sizes):
        for allocator, offset in (("naive", -0.2), ("nvwa", 0.2)):
            if size in stated:
                axes.plot(group + offset, stated[size][allocator] / int(size), "D", color=common.PAPER, markersize=5,
                          linestyle="none", label=label)
                label = None
    axes.set_xlabel("objects allocated")
    axes.set_ylabel("lines flushed for\nthe allocator, an object")
    legend(axes, "ours, counted")
    common.save(figure, path)


def combinations(rows):
    return [f"{row['allocator']}\n{row['log'] if row['program'] == 'table' else 'B-tree'}" for row in rows]


def draw_operations(rows, path):
    plt = common.pyplot()
    figure, panels = plt.subplots(1, 3, figsize=(12, 3.2))
    for axes, key in zip(panels, counting.COUNTED):
        series = {phase: [row["phases"][phase][key] for row in rows] for phase in counting.PHASES}
        common.grouped_bars(axes, combinations(rows), series, COLOURS)
        axes.tick_params(axis="x", labelsize=6, rotation=60)
        axes.set_title(f"{key} an operation", loc="left", fontsize=9)
    legend(panels[-1], "counted")
    common.save(figure, path)


def draw_time(rows, path):
    """Draws medians, and the least and the greatest of all rounds."""
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=SIZE)
    measured = {phase: [row["phases"][phase]["measured_us"] for row in rows] for phase in counting.PHASES}
    common.grouped_bars(axes, combinations(rows), {
        phase: [one["median"] for one in of] for phase, of in measured.items()}, COLOURS)
    width = 0.8 / len(measured)
    for position, of in enumerate(measured.values()):
        places = [group + (position - (len(measured) - 1) / 2) * width for group in range(len(of))]
        axes.vlines(places, [one["least"] for one in of], [one["most"] for one in of], color="black", linewidth=1)
    axes.tick_params(axis="x", labelsize=7)
    axes.set_ylabel("processor time an\noperation (µs)")
    legend(axes, "measured")
    common.save(figure, path)


def draw_growing(found, path):
    """Draws figures 13 and 18."""
    plt = common.pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(9, 2.8))
    sizes = [f"{int(size):,}" for size in found]
    over = {title: [100 * (runs[name]["misses"] / runs["ideal"]["misses"] - 1) for runs in found.values()]
            for title, name in (("naive", "baseline"), ("NVWA", "nvwa"))}
    common.grouped_bars(panels[0], sizes, over, COLOURS)
    panels[0].set_ylabel("misses more than without flushes\nof the allocator (%)")
    legend(panels[0], "simulated")
    hybrid = [100 * (1 - runs["nvwa + hybrid"]["misses"] / runs["nvwa"]["misses"]) for runs in found.values()]
    common.grouped_bars(panels[1], sizes, {"hybrid": hybrid}, COLOURS[3:])
    panels[1].set_ylabel("misses less than with\nword logging (%)")
    for axes in panels:
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_xlabel("puts and gets")
    common.save(figure, path)


def draw_interference(apps, path):
    """Draws figures 4 and 5, and the partition of section 4.1."""
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=SIZE)
    series = {
        "clflush": [100 * comparison.increase(runs, "baseline", "misses", "unflushed") for runs in apps.values()],
        "clwb": [100 * comparison.increase(runs, "clwb", "misses", "unflushed") for runs in apps.values()],
        "clflush, partitioned": [100 * comparison.increase(runs, "partitioned", "misses", "unflushed")
                                 for runs in apps.values()],
    }
    common.grouped_bars(axes, list(apps), series, COLOURS)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_ylabel("the application's misses more\nthan if nothing were flushed (%)")
    legend(axes, "simulated")
    common.save(figure, path)


def draw_contiguity(apps, stated, path):
    """Draws figure 10; diamonds are the paper's table 1."""
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=SIZE)
    names = {"CAA-4": "caa-4", "CAA-16": "caa-16"}

    def cut(runs, name):
        return 100 * comparison.cut(runs, name, "contiguity_misses")

    common.grouped_bars(axes, list(apps), {
        title: [cut(runs, name) for runs in apps.values()] for title, name in names.items()}, COLOURS)
    label = "paper, table 1"
    for group, app in enumerate(apps):
        for name, offset in (("caa-4", -0.2), ("caa-16", 0.2)):
            if app in stated:
                axes.plot(group + offset, 100 * (1 - stated[app][name] / stated[app]["jit"]), "D", color=common.PAPER,
                          markersize=5, linestyle="none", label=label)
                label = None
    axes.set_ylabel("page contiguity misses\nless than with JIT (%)")
    legend(axes, "ours, simulated")
    common.save(figure, path)


def draw_cuts(apps, names, path):
    """Draws figures 11, 14, 15, 19 and 21."""
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=SIZE)
    series = {title: [100 * comparison.cut(runs, name) for runs in apps.values()] for title, name in names.items()}
    for values in series.values():
        values.append(common.mean(values))
    common.grouped_bars(axes, [*apps, "average"], series, COLOURS)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_ylabel("the application's misses less\nthan in the baseline (%)")
    legend(axes, "simulated")
    common.save(figure, path)
