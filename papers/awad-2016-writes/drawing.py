"""Draws the figures: what schemes write, and how long the memory lasts."""

import common
import savings

SHOWN = {"inclusive": "inclusive", "mfwr": "MFWR", "dcw:pin=off": "DCW, not pinned", "dcw": "DCW, pinned"}
COLOURS = ["#013a63", "#2a6f97", "#61a5c2", "#a9d6e5"]


def draw(results, paper, target):
    for share in ("paper", "chosen"):
        draw_writes(results, paper, share, target / f"writes-{share}.svg")
    draw_lifetime(results, target / "lifetime.svg")


def labels(results):
    return [f"{name}\n({one['paper']})" if one["own"] else f"{name}*\n({one['paper']})"
            for name, one in results["programs"].items()]


def draw_writes(results, paper, share, path):
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(9.5, 3.2))
    found = [one for _, _, one in savings.at_share(results, share)]
    series = {}
    for scheme, called in SHOWN.items():
        written = [100 * (1 - savings.saved(one, scheme)) for one in found]
        series[called] = [*written, common.mean(written)]
    common.grouped_bars(axes, [*labels(results), "average"], series, COLOURS)
    width = 0.8 / len(SHOWN)
    for position, scheme in enumerate(SHOWN):
        place = len(found) + (position - (len(SHOWN) - 1) / 2) * width
        axes.plot([place], [100 * (1 - paper["eliminated_average"][scheme])], "D", color=common.PAPER, markersize=5,
                  label="paper, stated" if position == 0 else None, zorder=3)
    axes.set_ylabel("cells written, counted\n(% of the non-inclusive extension)")
    axes.set_ylim(0, 105)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def draw_lifetime(results, path):
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(9.5, 3.2))
    found = [one for _, _, one in savings.at_share(results, "paper")]
    series = {
        called: [savings.lifetime_years(one["cells"][scheme], one["wall_s"]) for one in found]
        for scheme, called in {"page": "non-inclusive", "inclusive": "inclusive", "mfwr": "MFWR",
                               "dcw": "DCW, pinned"}.items()}
    common.grouped_bars(axes, labels(results), series, COLOURS)
    axes.set_yscale("log")
    axes.set_ylabel("lifetime of 16 GiB of PCM\n(years, calculated)")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)
