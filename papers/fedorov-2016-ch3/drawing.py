"""Draws the figures of the chapter from results."""

import common
import experiments
from tables import title

COLOURS = ["#f3a712", "#61a5c2", "#5c4d7d", "#7cb518", "#d1495b", "#2a6f97", "#2b2d42"]


def draw(results, paper, folder):
    draw_lengths(results["sets"], folder / "lengths.svg")
    draw_curves(results["curves"], folder / "curves.svg")
    draw_falls(results["curves"], folder / "falls.svg")
    draw_alone(results["alone"], paper["worst_case"], folder / "alone.svg")


def draw_lengths(sets, path):
    """Draws figures 3.5 to 3.8: improvement of run time by the length of turns."""
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(10, 3))
    turns = ["static:turn=5ms", *experiments.LONG, experiments.LONGEST, *experiments.OURS]
    series = {}
    for turn in turns:
        values = [one["turns"].get(turn) for one in sets.values()]
        series[title(turn)] = [value and 100 * (1 - value["slowdown"]) for value in values]
    common.grouped_bars(axes, list(sets), series, COLOURS)
    axes.set_ylabel("% of run time less")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def draw_curves(curves, path):
    """Draws figure 3.3 for each program."""
    plt = common.pyplot()
    columns = 6
    rows = -(-len(curves) // columns)
    figure, panels = plt.subplots(rows, columns, figsize=(12, 1.8 * rows), sharex=True, squeeze=False)
    for axes in panels.flat[len(curves):]:
        axes.axis("off")
    for axes, (name, one) in zip(panels.flat, curves.items()):
        axes.plot([misses and misses / 1000 for misses in one["curve"]], color=common.OURS)
        axes.set_title(name, fontsize=8)
        axes.set_ylim(bottom=0)
    figure.supxlabel("ms since the turn began", fontsize=9)
    figure.supylabel("1000 misses a ms", fontsize=9)
    common.save(figure, path)


def draw_falls(curves, path):
    """Draws figure 3.11: the share of turns whose misses fell to a share, or further."""
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(8, 3))
    places = [tenth / 10 for tenth in range(1, 12)]
    for name, one in curves.items():
        turns = sum(one["falls"])
        if turns:
            sums = [sum(one["falls"][:at + 1]) / turns for at in range(len(places))]
            axes.plot(places, sums, label=name)
    axes.set_xlabel("misses from 12 to 15 ms, by those of the first 3 ms")
    axes.set_ylabel("share of turns")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=7)
    common.save(figure, path)


def draw_alone(alone, paper, path):
    """Draws figure 3.1."""
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(10, 3))
    series = {name: [100 * (one[key] - 1) for one in alone.values()]
              for name, key in {"4 ms": "slowdown", "45 ms": "slowdown_45ms"}.items()}
    common.grouped_bars(axes, list(alone), series, [common.OURS, "#f3a712"])
    axes.axhline(paper["average_percent"], color=common.PAPER, label="paper's average")
    axes.tick_params(axis="x", rotation=60)
    axes.set_ylabel("% slower")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)
