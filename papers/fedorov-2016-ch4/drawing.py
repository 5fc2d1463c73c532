"""Draws figure 4.9: entries and updates by prefix length."""

import common

DAY_S = 86400
COLOURS = ["#2b2d42", "#f3a712", "#61a5c2"]


def draw(replays, paper, folder):
    plt = common.pyplot()
    figure, panels = plt.subplots(2, 1, figsize=(8, 5))
    for axes, name in zip(panels, ["2014", "2026"]):
        draw_lengths(axes, replays[name], paper["shown_entries"])
        axes.set_title(name)
    panels[0].legend(loc="upper left", frameon=False)
    common.save(figure, folder / "lengths.svg")


def draw_lengths(axes, run, least):
    """Lengths with fewer entries are left out, as in the thesis."""
    a_day = DAY_S / run["totals"]["elapsed_s"]
    rows = [row for row in run["lengths"] if row["entries_loaded"] >= least]
    series = {
        "base size": [row["entries_loaded"] for row in rows],
        "updates a day, without shadow blocks": [row["announcements"] * a_day for row in rows],
        "updates a day, with shadow blocks": [row["flushed"] * a_day or None for row in rows],
    }
    common.grouped_bars(axes, [f"/{row['length']}" for row in rows], series, COLOURS)
    axes.set_yscale("log")
    axes.set_ylabel("entries")
