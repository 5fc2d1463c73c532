"""Draws the figures of the chapter from results."""

import common
from common import geometric_mean, mean
from ways import (
    EXTRA,
    FULL,
    LADDER,
    LAYOUTS,
    SCHEMES,
    STANDS_FOR,
    TITLES,
    TOGETHER,
    average_of,
    constituents,
    of_pace,
    value_of,
)

SHORT = {"ConnectedComponent": "CC", "StronglyConnectedComponent": "SCC", "TriangleCount": "Triangles",
         "DecisionTree": "Dec.Tree"}
BLUES = ["#013a63", "#2a6f97", "#61a5c2", "#a9d6e5"]
COLOURS = ["#7cb518", "#f3a712", "#2a6f97", "#5c4d7d", "#e07a5f", "#6c757d"]


def draw_accuracy(results, paper, path):
    plt = common.pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(11, 3.2), sharey=True)
    stated, found = paper["readahead_accuracy"], results["tunkrank"]
    for axes, one in zip(panels, found.values()):
        ends, shares = zip(*one["course"])
        axes.plot([end / 1000 for end in ends], [100 * share for share in shares], "-",
                  color=common.OURS, label="ours, simulated")
        axes.set_xlabel("1000 pages read ahead")
        axes.set_ylim(0, 105)
    panels[0].axhspan(*stated["one_program"]["then_percent"], color=common.PAPER, alpha=0.35, linewidth=0,
                      label="paper, stated: one, later")
    panels[0].axhline(stated["one_program"]["linear_percent"], color=common.PAPER, linestyle=":",
                      label="paper, stated: one, at the start")
    panels[1].axhline(stated["three_programs"]["down_to_percent"], color=common.PAPER, linestyle="--",
                      label="paper, stated: three, down to")
    panels[0].set_ylabel("accuracy of readahead (%)")
    panels[0].set_title("one TunkRank")
    panels[1].set_title("three together")
    known = {text: line for axes in panels for line, text in zip(*axes.get_legend_handles_labels())}
    panels[1].legend(known.values(), known, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def labels(names):
    return [*(f"{name}\n({SHORT.get(STANDS_FOR[name], STANDS_FOR[name])})" for name in names), "average"]


def draw_latency(results, paper, path):
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(11.5, 3.2))
    found = {name: one["latency"] for name, one in results["programs"].items()}
    series = {}
    for extra in EXTRA:
        values = [one[str(extra)][0] for one in found.values()]
        series[f"ours, simulated: {extra} extra"] = [*values, geometric_mean(values)]
    common.grouped_bars(axes, labels(found), series, BLUES[1:])
    axes.axhline(1, color="black", linewidth=0.8)
    axes.axhline(paper["fault_latency"]["worst_case_times_device_latency"], color=common.PAPER,
                 linestyle="--", linewidth=1.2, label="paper, stated: up to, with 7")
    axes.set_ylabel("demand-fault latency,\nno readahead = 1")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def draw_improvements(results, ways, stated, latency, path):
    """Draws bars by program for each pace; `stated` maps ways to the average that the paper states."""
    plt = common.pyplot()
    paces = [pace for pace in TITLES if str(latency) in results["averages"][pace]]
    figure, panels = plt.subplots(len(paces), 1, figsize=(11.5, 2.8 * len(paces)), sharex=True, squeeze=False)
    panels = panels[:, 0]
    for axes, pace in zip(panels, paces):
        programs, average = of_pace(results["programs"], pace, latency), results["averages"][pace][str(latency)]
        series = {way: [100 * value_of(one, way) for one in programs.values()] + [100 * average_of(average, way)]
                  for way in ways}
        common.grouped_bars(axes, labels(programs), series, COLOURS)
        width = 0.8 / len(ways)
        marks = [(len(programs) + (list(ways).index(way) - (len(ways) - 1) / 2) * width, value)
                 for way, value in stated.items()]
        axes.plot(*zip(*marks), "D", color=common.PAPER, markersize=4, label="paper, stated", zorder=3)
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_title(TITLES[pace], loc="left", fontsize=9)
        axes.set_ylabel("less time than\nthe baseline (%)")
    panels[0].legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False,
                     title=f"ours, simulated, {latency} us")
    common.save(figure, path)


def draw_faults(results, path):
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(11.5, 3))
    programs = of_pace(results["programs"], "calibrated", 50)
    ways = ["baseline", "no readahead", *SCHEMES]
    series = {way: [one["ways"][way]["faults"] for one in programs.values()] for way in ways}
    common.grouped_bars(axes, labels(programs)[:-1], series, ["#6c757d", "#d9d9d9", *COLOURS])
    axes.set_yscale("log")
    axes.set_ylabel("faults that wait for\nthe device")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, title="ours, simulated, 50 us")
    common.save(figure, path)


def draw_utilisation(results, paper, path):
    plt = common.pyplot()
    figure, panels = plt.subplots(3, 1, figsize=(11.5, 7.2), sharex=True)
    names = list(results["programs"])
    draw_constituents(panels[0], names, *constituents(results, False))
    panels[0].set_title("combo's prefetches by who named them, ten devices", loc="left", fontsize=9)
    draw_constituents(panels[1], names, *constituents(results, True))
    panels[1].set_title("the same, one device", loc="left", fontsize=9)
    draw_used(panels[2], of_pace(results["programs"], "calibrated", 50), paper["story"]["utilisation_percent"])
    panels[2].set_title("all prefetches of each scheme, ten devices", loc="left", fontsize=9)
    for axes in panels:
        axes.set_ylabel("prefetched pages\nused (%)")
        axes.set_ylim(0, 105)
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, title="ours, simulated, 50 us")
    common.save(figure, path)


def draw_constituents(axes, names, parts, average):
    called = {"spatial": "spatial alone", "temporal": "temporal alone", "spatial+temporal": "both"}
    series = {f"named by {text}": [used(one, name) for one in [*parts, average]] for name, text in called.items()}
    common.grouped_bars(axes, labels(names), series, ["#61a5c2", "#a9d6e5", "#013a63"])


def draw_used(axes, programs, stated):
    names = list(programs)
    values = {way: [100 * (one["ways"][way]["accuracy"] or 0) for one in programs.values()]
              for way in ("combo", "spatial", "temporal")}
    series = {way: [*found, mean(found)] for way, found in values.items()}
    common.grouped_bars(axes, labels(names), series, [common.OURS, "#61a5c2", "#a9d6e5"])
    marks = {names.index(name) - 0.27: stated[app] for name, app in STANDS_FOR.items() if app in stated}
    axes.plot(list(marks), list(marks.values()), "D", color=common.PAPER, label="combo, paper, stated", zorder=3)


def used(found, name):
    """Returns the used share, in percent, of the pages that these constituents named; None without pages."""
    share = found[name]["accuracy"] if name in found else None
    return None if share is None else 100 * share


def draw_story(results, paper, path):
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(11.5, 3))
    programs = of_pace(results["programs"], "calibrated", 50)
    stories = [one["story"] for one in programs.values()] + [results["averages"]["calibrated"]["50"]["story"]]
    places, bottom = range(len(stories)), [0] * len(stories)
    ends = {"issued": "fetched", "in_memory": "in memory by then", "wiped": "wiped from the queue",
            "filtered": "filtered before the queue"}
    for (end, text), colour in zip(ends.items(), ["#013a63", "#2a6f97", "#61a5c2", "#a9d6e5"]):
        heights = [100 * one[end] for one in stories]
        axes.bar(places, heights, 0.7, bottom, label=text, color=colour)
        bottom = [low + height for low, height in zip(bottom, heights)]
    for share, style, text in ((paper["story"]["queued_of_predictions_percent"], "--", "queued"),
                               (paper["story"]["considered_of_predictions_percent"], ":", "considered")):
        axes.axhline(share, color=common.PAPER, linestyle=style, linewidth=1.2,
                     label=f"paper, stated: {text} up to here")
    axes.set_xticks(places, labels(programs))
    axes.grid(False, axis="x")
    axes.set_ylabel("of combo's predictions (%)")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def draw_layouts(results, paper, path):
    """Draws readahead's accuracy by how programs hold their records, and by how many run together."""
    plt = common.pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.5, 3.4), sharey=True, width_ratios=[3, 1])
    found, colours = results["layouts"]["readahead"], dict(zip(LAYOUTS, ["#a9d6e5", "#61a5c2", "#013a63"]))
    names = list(STANDS_FOR)
    series = {layout: [100 * found[layout][name]["accuracy"] if name in found[layout] else None for name in names]
              for layout in LAYOUTS}
    common.grouped_bars(left, labels(names)[:-1], series, colours.values())
    for layout in ("arrays", "collected"):
        shares = {size: [100 * found[layout][" + ".join(group)]["accuracy"] for group in groups]
                  for size, groups in TOGETHER.items()}
        right.plot(list(shares), [mean(values) for values in shares.values()], "-", color=colours[layout])
        right.plot(*zip(*((size, value) for size, values in shares.items() for value in values)), "o",
                   color=colours[layout], markersize=3)
    right.set_xscale("log", base=2)
    right.set_xticks(list(TOGETHER), [str(size) for size in TOGETHER])
    right.set_xlabel("programs at once")
    for axes in (left, right):
        axes.axhspan(*paper["readahead_accuracy"]["observed_percent"], color=common.PAPER, alpha=0.35, linewidth=0,
                     label="paper, stated")
    left.set_ylim(0, 105)
    left.set_ylabel("accuracy of readahead (%)")
    lines, texts = left.get_legend_handles_labels()
    right.legend(lines, texts, loc="upper left", bbox_to_anchor=(1, 1), frameon=False,
                 title="ours, simulated,\n50 us, as recorded")
    common.save(figure, path)


def draw(results, paper, folder):
    ladder, slow, fast = paper["ladder"], paper["schemes_50us"], paper["schemes_10us"]
    short = fast["spatial_average_percent"] - fast["corp_and_temporal_short_of_the_best_percent"]
    draw_accuracy(results, paper, folder / "accuracy.svg")
    draw_latency(results, paper, folder / "latency.svg")
    draw_improvements(results, LADDER, ladder["improvement_percent"], 50, folder / "ladder.svg")
    draw_improvements(
        results, [*SCHEMES, FULL],
        {"combo": slow["combo_average_percent"], FULL: slow["full_dram_average_percent"]}, 50,
        folder / "schemes-50us.svg")
    draw_improvements(
        results, [*SCHEMES, FULL],
        {"spatial": fast["spatial_average_percent"], "combo": fast["combo_average_percent"], "temporal": short,
         "corp": short, FULL: fast["full_dram_average_percent"]}, 10, folder / "schemes-10us.svg")
    draw_faults(results, folder / "faults.svg")
    draw_utilisation(results, paper, folder / "utilisation.svg")
    draw_story(results, paper, folder / "story.svg")
    draw_layouts(results, paper, folder / "layouts.svg")
