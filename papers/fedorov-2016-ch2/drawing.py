"""Draws the figures of the chapter from results."""

import common
import experiments
import stack
from comparison import average_cut, average_gain, cut, gain

# The last colour is for our own policy.
COLOURS = ["#f3a712", "#61a5c2", "#5c4d7d", "#7cb518", "#2a6f97", "#2b2d42"]
TITLES = {"lru": "LRU", "dip": "DIP", "dblk": "DBLK", "drrip": "DRRIP", "ari": "ARI",
          "ari:insert=mru": "ARI, MRU only"} | {f"nhm:n={high}": f"{high}H16" for high in range(experiments.WAYS + 1)}
SIZE = (12, 3)


def title(policy):
    """Returns a policy's name as the paper writes it, if the paper has it."""
    return TITLES.get(policy, policy)


def draw(results, paper, folder):
    programs = results["programs"]
    draw_positions(programs, folder / "positions.svg")
    for key in ("writebacks", "misses"):
        draw_cuts(programs, key, paper[key], folder / f"{key}.svg")
        draw_shared(results["shared"], key, paper["multicore"], folder / f"shared-{key}.svg")
    draw_gains(programs, paper["ipc"], folder / "ipc.svg")
    draw_adaptation(results["adaptation"], folder / "adaptation.svg")
    draw_course(results["course"], folder / "course.svg")
    draw_shapes(programs, paper, folder / "shapes.svg")
    draw_insertions(programs, paper, folder / "insertions.svg")


def legend(axes, title=None):
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, title=title)


def label(name, programs):
    spec = programs[name]["spec"]
    return f"{name}\n({spec})" if spec and spec != name else name


def name_groups(axes, names):
    """Writes names under groups of bars, slanted if there are many."""
    aslant = {"rotation": 60, "rotation_mode": "anchor", "ha": "right", "va": "center"} if len(names) > 12 else {}
    axes.set_xticks(range(len(names)), names, fontsize=7 if aslant else 8, **aslant)


def programs_and_average(plt, names, series, colours):
    """Draws two panels: bars of each program, and wider bars of their averages, the last in each series."""
    figure, panels = plt.subplots(1, 2, figsize=SIZE, sharey=True, width_ratios=[max(len(names), 5), len(series) / 1.5])
    for axes, groups, part in zip(panels, (names, ["average"]), (slice(None, -1), slice(-1, None))):
        common.grouped_bars(axes, groups, {name: values[part] for name, values in series.items()}, colours)
        name_groups(axes, groups)
    return figure, *panels


def draw_positions(programs, path):
    """Draws figure 2.1 for each program, hits as shares of all; red if it has the paper's shape."""
    plt = common.pyplot()
    columns = 7
    rows = -(-len(programs) // columns)
    figure, panels = plt.subplots(rows, columns, figsize=(12, 1.8 * rows), sharex=True, squeeze=False)
    for axes in panels.flat[len(programs):]:
        axes.set_visible(False)
    for axes, (name, one) in zip(panels.flat, programs.items()):
        hits = sum(one["positions"]) or 1
        shares = [100 * count / hits for count in one["positions"]]
        high, low = (common.PAPER, "#e8a5ab") if stack.published(one["positions"]) else (common.OURS, "#a9d6e5")
        axes.bar(range(len(shares)), shares, color=[high] * stack.HIGH + [low] * (len(shares) - stack.HIGH))
        ari = round(-100 * cut(one["policies"], "ari", "writebacks"))
        axes.set_title(f"{name}, {100 * hits / one['requests']:.0f} % hit\nARI: {f'{ari:+d}' if ari else 0} % write-backs",
                       loc="left", fontsize=8)
        axes.grid(False, axis="x")
    figure.supylabel("of the hits (%)", fontsize=9)
    figure.supxlabel("lines of the set used more recently", fontsize=9)
    common.save(figure, path)


def draw_cuts(programs, key, stated, path):
    """Draws figures 2.6 and 2.7."""
    series = {
        title(policy): [100 * cut(one["policies"], policy, key) for one in programs.values()]
        + [100 * average_cut([one["policies"] for one in programs.values()], policy, key)]
        for policy in experiments.COMPARED}
    figure, axes, average = programs_and_average(
        common.pyplot(), [label(name, programs) for name in programs], series, COLOURS)
    mark_stated(average, 0, stated["cut_percent"], list(series))
    for group, one in enumerate(programs.values()):
        more = stated.get("increase_percent", {}).get(one["spec"], {})
        mark_stated(axes, group, {policy: -value for policy, value in more.items()}, list(series), label=None)
    for panel in (axes, average):
        panel.axhline(0, color="black", linewidth=0.8)
    axes.set_ylabel(f"{'write-backs' if key == 'writebacks' else key} less than\nwith LRU (%)")
    axes.set_ylim(bottom=max(-90, axes.get_ylim()[0]))
    legend(average, "ours, simulated")
    common.save(figure, path)


def mark_stated(axes, group, stated, series, label="paper, stated"):
    """Marks what the paper states for a group of bars, by policy."""
    width = 0.8 / len(series)
    places = [group + (series.index(title(policy)) - (len(series) - 1) / 2) * width for policy in stated]
    axes.plot(places, list(stated.values()), "D", color=common.PAPER, markersize=4, label=label, linestyle="none",
              zorder=3)


def draw_gains(programs, stated, path):
    """Draws figure 2.8."""
    series = {}
    for policy in ("dip", "dblk", "drrip", "ari", *experiments.OWN):
        gains = [gain(one["policies"], policy, "dram") for one in programs.values()]
        values = [*gains, average_gain(gains)]
        series[title(policy)] = [value if value is None else 100 * value for value in values]
    figure, axes, average = programs_and_average(
        common.pyplot(), [label(name, programs) for name in programs], series, COLOURS[1:])
    mark_stated(average, 0, stated["gain_percent"], list(series))
    for panel in (axes, average):
        panel.axhline(0, color="black", linewidth=0.8)
    axes.set_ylabel("instructions a cycle more\nthan with LRU (%)")
    legend(average, "ours, simulated")
    common.save(figure, path)


def draw_shared(shared, key, stated, path):
    """Draws figures 2.9 and 2.10, normalized to LRU as in the paper."""
    size = "16M"
    loads = [sizes[size] for sizes in shared.values()]
    names = {policy: title(known) for policy, known in experiments.SHARED_POLICIES.items()}
    series = {
        name: [1 - cut(policies, policy, key) for policies in loads] + [1 - average_cut(loads, policy, key)]
        for policy, name in names.items()}
    figure, axes, average = programs_and_average(common.pyplot(), list(shared), series, [COLOURS[0], *COLOURS[-2:]])
    found = stated[f"{key}_cut_percent"][size]
    mark_stated(average, 0, {policy: 1 - value / 100 for policy, value in found.items()}, list(series))
    for panel in (axes, average):
        panel.axhline(1, color="black", linewidth=0.8)
    axes.set_ylabel(f"{'write-backs' if key == 'writebacks' else key}\nto those of LRU")
    legend(average, "ours, simulated")
    common.save(figure, path)


def draw_adaptation(adaptation, path):
    """Draws figure 2.11."""
    plt = common.pyplot()
    figure, panels = plt.subplots(len(adaptation), 1, figsize=(12, 2 * len(adaptation)), sharex=True, squeeze=False)
    for axes, (name, epochs) in zip(panels.flat, adaptation.items()):
        for low, colour, text in ((True, common.PAPER, "low-hit insertion"), (False, common.OURS, "MRU insertion")):
            marks = [(at, high) for at, (high, inserts_low) in enumerate(epochs) if bool(inserts_low) == low]
            if marks:
                axes.plot(*zip(*marks), ".", markersize=4, color=colour, label=text)
        axes.set_title(name, loc="left", fontsize=9)
        axes.set_yticks(range(0, experiments.WAYS + 1, 4))
        axes.set_ylim(-1, experiments.WAYS + 1)
        legend(axes)
    panels[-1, 0].set_xlabel("epoch of 25,000 references")
    figure.supylabel("high-hit ways in force", fontsize=9)
    common.save(figure, path)


def draw_course(course, path):
    """Draws figure 2.12."""
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=SIZE)
    colours = {"lru": "#6c757d", "nhm:n=0": COLOURS[0], "nhm:n=8": "#c17c00", "ari:insert=mru": COLOURS[1],
               "ari": COLOURS[-2]}
    for name, found in course.items():
        for policy, counts in found["policies"].items():
            # 0H16 and ARI that inserts at MRU lie upon each other where 0H16 is in force.
            style = "--" if policy.startswith("nhm") else "-"
            axes.plot([count / 1000 for count in counts], style, label=title(policy), linewidth=1.4,
                      color=colours.get(policy, COLOURS[-1]), zorder=3 if style == "--" else 2)
        axes.set_title(name, loc="left", fontsize=9)
        axes.set_xlabel(f"period of {found['period']:,} references")
    axes.set_ylabel("write-backs (thousands)")
    axes.set_ylim(bottom=0)
    legend(axes, "ours, simulated")
    common.save(figure, path)


def draw_shapes(programs, paper, path):
    """Draws figures 2.13 and 2.14."""
    plt = common.pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(10, 3), sharey=True)
    for axes, part, title in zip(panels, ("sizes", "ways"), ("16 ways", "2 MB")):
        shapes = list(next(iter(programs.values()))[part])
        series = {
            text: [100 * average_cut([one[part][shape] for one in programs.values()], "ari", key) for shape in shapes]
            for key, text in (("writebacks", "write-backs"), ("misses", "misses"))}
        common.grouped_bars(axes, shapes, series, [common.OURS, "#a9d6e5"])
        axes.axhline(0, color="black", linewidth=0.8)
        axes.set_title(title, loc="left", fontsize=9)
        axes.set_xlabel("capacity" if part == "sizes" else "ways")
    stated = paper["sizes"]
    shapes = list(next(iter(programs.values()))["sizes"])
    for size in stated["best"]:
        for key, offset in (("writebacks", -0.2), ("misses", 0.2)):
            panels[0].plot(shapes.index(size) + offset, stated[f"best_{key}_cut_percent"], "D",
                           color=common.PAPER, markersize=4)
    panels[0].plot([], [], "D", color=common.PAPER, label="paper, stated", linestyle="none")
    panels[0].set_ylabel("average less than\nwith LRU (%)")
    handles, texts = panels[0].get_legend_handles_labels()
    panels[1].legend(handles, texts, loc="upper left", bbox_to_anchor=(1, 1), frameon=False, title="ARI, simulated")
    common.save(figure, path)


def draw_insertions(programs, paper, path):
    """Draws figure 2.15."""
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(8, 3))
    runs = [one["policies"] for one in programs.values()]
    ways = experiments.INSERTIONS | {"ARI": "ari"}
    series = {
        text: [100 * average_cut(runs, policy, key) for policy in ways.values()]
        for key, text in (("writebacks", "write-backs"), ("misses", "misses"))}
    common.grouped_bars(axes, list(ways), series, [common.OURS, "#a9d6e5"])
    only = paper["insertion"]["insertion_only"]
    stated = {"insertion only": only, "ARI": {"writebacks_cut_percent": paper["writebacks"]["cut_percent"]["ari"],
                                              "misses_cut_percent": paper["misses"]["cut_percent"]["ari"]}}
    for name, values in stated.items():
        place = list(ways).index(name)
        axes.plot([place - 0.2, place + 0.2], [values["writebacks_cut_percent"], values["misses_cut_percent"]], "D",
                  color=common.PAPER, markersize=4, linestyle="none", label="paper, stated" if name == "ARI" else None)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_ylabel("average less than\nwith LRU (%)")
    legend(axes, "ours, simulated")
    common.save(figure, path)
