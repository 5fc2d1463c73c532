"""Repeats what can be repeated of Awad 2016 without the contents of pages.

Usage: repeat.py [--quick]
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import applications  # noqa: E402
import common  # noqa: E402
import figures_12_13 as prefetching  # noqa: E402
import replacement_live  # noqa: E402
from common import geometric_mean, mean, table  # noqa: E402

# Which program stands for which application of the paper's table 1.
STANDS_FOR = {
    "hydro": "Lulesh",
    "lookup": "XSBench",
    "sqlite": "RSBench",
    "sort": "SimpleMoC",
    "solve": "MiniFE",
    "mesh": "MiniAMR",
}
RATIOS = ["12.5%", "25%", "50%"]
# What a fault costs beyond the device: the kernel's swap as measured, the 5 us that the paper's two
# averages imply (in cycles at 1.9 GHz; see the page), and nothing.
FAULT_COSTS = ["linux", "9600", "none"]
IMPLIED = "9600"
WRITE_LATENCIES = [25, 100, 200, 400]
# By name, channels: on two, writes go beside reads.
FLASHES = {"flash": 1, "flash-2": 2}
# The paper's baseline for pages that leave DRAM (5.4), on its device (2).
BASE = {"replacement": "fifo", "tier_size": "16G"}


def measure(trace, accesses):
    """Measures one trace."""
    warmup = accesses // 4

    def simulate(**options):
        return common.simulate(trace, warmup, **(BASE | options))

    runs = simulate(dram=RATIOS, memory=["pcm", "flash"], fault_cost=FAULT_COSTS)
    side_by_side = simulate(dram=RATIOS, memory="flash", channels=2, fault_cost=FAULT_COSTS)
    pairs = simulate(dram="25%", inclusion=["inclusive", "exclusive"], memory=["pcm", "flash"])
    policies = simulate(dram=RATIOS, replacement=["fifo", "clock", "age"])
    latencies = [f"{us}us" for us in WRITE_LATENCIES]
    slow = {name: simulate(dram=RATIOS, memory="flash", channels=channels, write_latency=latencies)
            for name, channels in FLASHES.items()}
    first = runs[0]
    quarter = next(run for ratio, run in sized(runs) if ratio == "25%")
    return {
        "footprint_mb": round(first["footprint_pages"] * 4096 / 1e6, 1),
        "accesses": accesses,
        "warmup": warmup,
        "slowdown": slowdowns(runs) | {"flash-2": slowdowns(side_by_side)["flash"]},
        "faults_a_ms": round(faults(quarter) / (quarter["all_dram_ns"] / 1e6), 1),
        "inclusion": inclusion(pairs),
        "lifetime_years": lifetimes(pairs),
        "faults_relative_to_fifo": relative_faults(policies),
        "slowdown_by_write_latency": {name: by_write_latency(of) for name, of in slow.items()},
        "prefetching": prefetching.measure(trace, BASE),
        "settings": first["settings"],
    }


def sized(runs):
    """Returns each run with its ratio: sizes grow with the ratio."""
    sizes = sorted({run["settings"]["dram_pages"] for run in runs})
    for run in runs:
        yield RATIOS[sizes.index(run["settings"]["dram_pages"])], run


def cost_name(run):
    return run["settings"]["fault"]["name"].removesuffix(" cycles")


def faults(run):
    """Returns the number of touches of pages that are in the tier, or on their way there."""
    return run["full_misses"] + run["partial_misses"] + run["rescues"]


def slowdowns(runs):
    found = {}
    for ratio, run in sized(runs):
        of_memory = found.setdefault(run["settings"]["memory"], {})
        of_memory.setdefault(cost_name(run), {})[ratio] = round(run["slowdown"], 4)
    return found


def inclusion(pairs):
    writes = {
        run["settings"]["inclusion"]: run["writebacks"]
        for run in pairs
        if run["settings"]["memory"] == "pcm"
    }
    return {**writes, "eliminated": round(1 - writes["inclusive"] / writes["exclusive"], 4)}


def lifetimes(pairs):
    return {
        f"{run['settings']['memory']} {run['settings']['inclusion']}": run["lifetime"]["even"]
        for run in pairs
    }


def relative_faults(policies):
    counted = {(ratio, run["settings"]["replacement"]): faults(run) for ratio, run in sized(policies)}
    return {
        policy: {
            ratio: round(counted[ratio, policy] / counted[ratio, "fifo"], 4)
            if counted[ratio, "fifo"] else None
            for ratio in RATIOS
        }
        for policy in ("clock", "age")
    }


def by_write_latency(runs):
    found = {}
    for ratio, run in sized(runs):
        latency = str(run["settings"]["write_ns"] // 1000)
        found.setdefault(ratio, {})[latency] = round(run["slowdown"], 4)
    return found


def averages(programs):
    """Returns, over all programs, the mean slowdown less one, and the share of writes saved."""
    each = list(programs.values())

    def degradation(memory, cost, ratio):
        return round(mean([one["slowdown"][memory][cost][ratio] for one in each]) - 1, 4)

    return {
        "degradation": {
            memory: {
                cost: {ratio: degradation(memory, cost, ratio) for ratio in RATIOS}
                for cost in FAULT_COSTS
            }
            for memory in ("pcm", "flash", "flash-2")
        },
        "faults_a_ms": round(mean([one["faults_a_ms"] for one in each]), 1),
        "eliminated": round(mean([one["inclusion"]["eliminated"] for one in each]), 4),
        "slowdown_by_write_latency": {
            flash: {
                ratio: {
                    str(us): round(geometric_mean(
                        [one["slowdown_by_write_latency"][flash][ratio][str(us)] for one in each]), 4)
                    for us in WRITE_LATENCIES
                }
                for ratio in RATIOS
            }
            for flash in FLASHES
        },
        "prefetching": prefetching.averages(programs),
    }


def mark_paper(axes, places, values, label):
    axes.plot(places, values, "D", color=common.PAPER, markersize=6, label=label, zorder=3)


def labels(programs):
    return [f"{name}\n({STANDS_FOR[name]})" for name in programs]


def draw_inclusion(results, paper, path):
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(8.5, 3))
    programs, paper = results["programs"], paper["inclusion"]
    names = list(programs)
    values = [100 * (1 - one["inclusion"]["eliminated"]) for one in programs.values()]
    values.append(100 * (1 - results["averages"]["eliminated"]))
    common.grouped_bars(axes, [*labels(names), "average"], {"ours, simulated": values}, [common.OURS])
    about = {names.index(name): 100 * (1 - paper["eliminated_about"][app])
             for name, app in STANDS_FOR.items() if app in paper["eliminated_about"] and name in names}
    about[len(names)] = 100 * (1 - paper["eliminated_average"])
    mark_paper(axes, list(about), list(about.values()), "paper, stated")
    least = [names.index(name) for name, app in STANDS_FOR.items()
             if app in paper["eliminated_at_most"] and name in names]
    axes.plot(least, [90] * len(least), "^", color=common.PAPER, markersize=7,
              label="paper, above this", zorder=3)
    axes.set_ylabel("writes, inclusive\n(% of exclusive)")
    axes.set_ylim(0, 110)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def draw_ratio(results, paper, path):
    plt = common.pyplot()
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True)
    shades = {"linux": "#2a6f97", "9600": "#61a5c2", "none": "#a9d6e5"}
    called = {"linux": "9 us a fault (Linux)", "9600": "5 us a fault (implied)", "none": "device alone"}
    stated = {memory: 100 * value
              for memory, value in paper["ratio"]["degradation_at_25_percent"].items()}
    titles = {"pcm": "PCM", "flash": "Flash", "flash-2": "Flash, writes beside reads"}
    for axes, memory in zip(panels, titles):
        found = results["averages"]["degradation"][memory]
        series = {f"ours, simulated: {called[cost]}": [100 * found[cost][r] for r in RATIOS]
                  for cost in FAULT_COSTS}
        common.grouped_bars(axes, RATIOS, series, [shades[cost] for cost in FAULT_COSTS])
        mark_paper(axes, [1], [stated[memory.partition("-")[0]]], "paper, stated")
        axes.set_yscale("symlog", linthresh=10)
        axes.set_ylim(0, 20000)
        axes.set_yticks([0, 10, 100, 1000, 10000], ["0", "10", "100", "1,000", "10,000"])
        axes.set_title(titles[memory])
        axes.set_xlabel("DRAM : NVM")
    panels[0].set_ylabel("average slow-down\nover DRAM alone (%)")
    handles, texts = panels[0].get_legend_handles_labels()
    panels[-1].legend(handles, texts, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def draw_replacement(results, paper, path):
    plt = common.pyplot()
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.2), sharey=True)
    programs = results["programs"]
    names = list(programs)
    for axes, ratio in zip(panels, RATIOS):
        series = {
            f"ours, simulated: {policy}": [
                None if (value := one["faults_relative_to_fifo"][policy][ratio]) is None else 100 * value
                for one in programs.values()]
            for policy in ("clock", "age")
        }
        common.grouped_bars(axes, [f"{name} ({STANDS_FOR[name]})" for name in names], series,
                            ["#2a6f97", "#a9d6e5"])
        saved = paper["replacement"]["faults_saved_about"]
        marks = {names.index(name): 100 * (1 - saved[app])
                 for name, app in STANDS_FOR.items() if app in saved and name in names}
        mark_paper(axes, list(marks), list(marks.values()), "paper, stated (roughly)")
        axes.axhline(100, color="black", linewidth=0.8)
        axes.tick_params(axis="x", rotation=60)
        plt.setp(axes.get_xticklabels(), ha="right", rotation_mode="anchor")
        axes.set_title(f"DRAM:NVM {ratio}")
    panels[0].set_ylabel("page faults (% of FIFO's)")
    handles, texts = panels[0].get_legend_handles_labels()
    panels[-1].legend(handles, texts, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def draw_write_latency(results, path):
    plt = common.pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(8.5, 3.2), sharey=True)
    shades = ["#a9d6e5", "#61a5c2", "#2a6f97", "#013a63"]
    titles = {"flash": "Flash", "flash-2": "Flash, writes beside reads"}
    for axes, (flash, title) in zip(panels, titles.items()):
        found = results["averages"]["slowdown_by_write_latency"][flash]
        series = {
            f"writes {us} us": [found[ratio][str(us)] / pcm_slowdown(results, ratio) for ratio in RATIOS]
            for us in WRITE_LATENCIES
        }
        common.grouped_bars(axes, RATIOS, series, shades)
        axes.axhline(1, color="black", linewidth=0.8)
        axes.set_title(title)
        axes.set_xlabel("DRAM : NVM")
    panels[0].set_ylabel("run time, PCM = 1\n(ours, simulated)")
    panels[-1].legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def pcm_slowdown(results, ratio):
    each = results["programs"].values()
    return geometric_mean([one["slowdown"]["pcm"]["linux"][ratio] for one in each])


def draw_lifetime(results, paper, path):
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(8.5, 3))
    programs, paper = results["programs"], paper["lifetime"]
    names = list(programs)
    series = {
        f"{memory.upper() if memory == 'pcm' else 'flash'}, ours, simulated": [
            one["lifetime_years"][f"{memory} exclusive"] for one in programs.values()]
        for memory in ("pcm", "flash")
    }
    common.grouped_bars(axes, labels(names), series, ["#2a6f97", "#a9d6e5"])
    known = {names.index(name): paper["pcm_years_about"][app]
             for name, app in STANDS_FOR.items() if app in paper["pcm_years_about"] and name in names}
    mark_paper(axes, [place - 0.2 for place in known], list(known.values()), "PCM, paper, stated")
    axes.axhline(paper["flash_years_below_for_most"], color=common.PAPER, linestyle="--", linewidth=1,
                 label="paper: most flash below (a month)")
    axes.set_yscale("log")
    axes.set_ylabel("lifetime of 16 GB (years)")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def percent(value):
    # Adding nothing turns -0.0 into 0.0.
    shown = round(100 * value, 1) + 0
    return f"{shown:,.0f} %" if shown >= 1000 else f"{shown:.1f} %"


def tables(results, paper):
    programs, averages = results["programs"], results["averages"]
    stated = paper["inclusion"]
    about = {app: f"about {percent(value)}" for app, value in stated["eliminated_about"].items()}
    about |= {app: f"below {percent(value)}" for app, value in stated["eliminated_at_most"].items()}

    def year(value):
        if value is None:
            return "no writes"
        return f"{value:.1f} years" if value >= 1 else f"{value * 365.25:.1f} days"

    inclusion_rows = [
        [name, STANDS_FOR[name], about.get(STANDS_FOR[name], ""), percent(one["inclusion"]["eliminated"])]
        for name, one in programs.items()]
    inclusion_rows.append(["**average**", "", percent(stated["eliminated_average"]),
                           percent(averages["eliminated"])])
    stated_at_25 = paper["ratio"]["degradation_at_25_percent"]
    ratio_rows = [
        [memory.replace("pcm", "PCM"), ratio,
         percent(stated_at_25[memory.partition("-")[0]]) if ratio == "25%" else "",
         *(percent(averages["degradation"][memory][cost][ratio]) for cost in FAULT_COSTS)]
        for memory in ("pcm", "flash", "flash-2") for ratio in RATIOS]
    each_rows = [
        [name, f"{one['faults_a_ms']:.0f}",
         *(f"{one['slowdown'][memory][IMPLIED][ratio]:.2f}"
           for memory in ("pcm", "flash-2") for ratio in RATIOS)]
        for name, one in programs.items()]
    each_rows.append(["**average**", f"{averages['faults_a_ms']:.0f}",
                      *(f"{1 + averages['degradation'][memory][IMPLIED][ratio]:.2f}"
                        for memory in ("pcm", "flash-2") for ratio in RATIOS)])
    saved = paper["replacement"]["faults_saved_about"]

    def share(value):
        return "no faults" if value is None else percent(value)

    replacement_rows = [
        [name, STANDS_FOR[name],
         f"roughly {percent(1 - saved[STANDS_FOR[name]])}" if STANDS_FOR[name] in saved
         else "about 100 % or more",
         *(share(one["faults_relative_to_fifo"][policy][ratio])
           for policy in ("clock", "age") for ratio in RATIOS)]
        for name, one in programs.items()]
    latency_rows = [
        [flash, ratio, *(f"{slow[str(us)] / pcm_slowdown(results, ratio):.2f}" for us in WRITE_LATENCIES)]
        for flash, ratios in averages["slowdown_by_write_latency"].items() for ratio, slow in ratios.items()]
    years = paper["lifetime"]["pcm_years_about"]
    lifetime_rows = [
        [name, STANDS_FOR[name],
         f"about {years[STANDS_FOR[name]]} years" if STANDS_FOR[name] in years else "",
         year(one["lifetime_years"]["pcm exclusive"]), year(one["lifetime_years"]["pcm inclusive"]),
         year(one["lifetime_years"]["flash exclusive"])]
        for name, one in programs.items()]
    program_rows = [
        [name, STANDS_FOR[name], results["about"]["programs"][name], one["footprint_mb"],
         f"{one['accesses'] / 1e6:.0f} M"]
        for name, one in programs.items()]
    by_ratio = [f"{policy} {ratio}" for policy in ("clock", "age") for ratio in RATIOS]
    sizes = [f"{memory} {ratio}" for memory in ("PCM", "flash-2") for ratio in RATIOS]
    costs = ["ours, 9 us (`linux`)", "ours, 5 us (implied)", "ours, `none`"]
    latencies = [f"{us} us" for us in WRITE_LATENCIES]
    who = ["program", "stands for"]
    return {
        "programs": table([*who, "what it is", "MB", "rows"], program_rows),
        "inclusion": table([*who, "paper", "ours, simulated"], inclusion_rows),
        "ratio": table(["memory", "DRAM:NVM", "paper", *costs], ratio_rows),
        "each": table(["program", "faults a ms", *sizes], each_rows),
        "replacement": table([*who, "paper", *by_ratio], replacement_rows),
        "latency": table(["memory", "DRAM:NVM", *latencies], latency_rows),
        "lifetime": table([*who, "paper, PCM", "PCM", "PCM, inclusive", "flash"], lifetime_rows),
        **prefetching.tables(results, paper, STANDS_FOR),
        **applications.tables(paper),
        **replacement_live.tables(STANDS_FOR),
    }


def measure_all(bench, names, limit):
    found = {}
    for name in names:
        trace = bench.record(name, limit, "--level", "pages")
        common.say(f"simulating {name}")
        found[name] = measure(trace, common.trace_info(trace)["accesses"])
    return {
        "figures": "simulated by terrace sim pages over recordings of real programs",
        "about": bench.versions(names),
        "programs": found,
        "averages": averages(found),
    }


def draw(results, paper, folder):
    draw_inclusion(results, paper, folder / "inclusion.svg")
    draw_ratio(results, paper, folder / "ratio.svg")
    draw_replacement(results, paper, folder / "replacement.svg")
    draw_write_latency(results, folder / "write-latency.svg")
    draw_lifetime(results, paper, folder / "lifetime.svg")
    prefetching.draw_waiting(results, folder / "prefetch-waiting.svg")
    prefetching.draw_depth(results, paper, folder / "prefetch-depth.svg", STANDS_FOR)


def main():
    def measure(bench, _, quick):
        return measure_all(bench, list(STANDS_FOR), 30_000_000 if quick else 150_000_000)

    common.repeat(FOLDER, __doc__, measure, draw, tables)


if __name__ == "__main__":
    main()
