"""Repeats the fault-cost sweep, the parts of a fault and prefetching of Oskin & Loh 2015.

Usage: repeat.py [--quick]
"""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import bandwidths  # noqa: E402
import climbing  # noqa: E402
import common  # noqa: E402
import figures_6_to_8 as prefetching  # noqa: E402
import implementation  # noqa: E402
import migration  # noqa: E402
import own_programs  # noqa: E402
import static_placement  # noqa: E402
from common import geometric_mean, table  # noqa: E402
from page_cache import CYCLES, Model, Work, calibrate, instructions  # noqa: E402

# The program that stands for each program of the paper's table I; the last one for section VI's.
STANDS_FOR = {
    "hydro-4": "OCEAN, LULESH",
    "solve": "miniFE",
    "factorize": "LU",
    "fourier": "FFT",
    "neighbours": "BARNES, FMM",
    "graph-csr": "g500-csr",
    "graph-list": "g500-list",
}
LOW_LOCALITY = "graph-list"
GRAPHS = ["graph-csr", LOW_LOCALITY]
# Programs that are not in figures 7 and 8: with some settings they fault so often that 46 machines take a quarter of an hour.
FAULT_MUCH = [*GRAPHS, "neighbours"]
THREADS = [2, 4, 8, 16, 32]
# Rows of a recording at most, and of a quick one.
LIMIT, QUICK = 20_000_000, 10_000_000
PARTS = ["copy", "trap", "map", "unmap", "shootdown"]
COLOURS = ["#7cb518", "#5c4d7d", "#f3a712", "#e07a5f", "#2a9d8f", "#8d6346", "#6c757d"]

def measure(trace, info):
    """Measures one trace; its first half is the warm-up."""
    warmup = info["accesses"] // 2
    [first] = common.simulate(trace, warmup, **prefetching.MACHINE)
    return {
        "footprint_mb": round(first["footprint_pages"] * 4096 / 1e6, 1),
        "rows": info["accesses"],
        "warmup": warmup,
        "threads": info["threads"],
        "instructions": instructions(first),
        "memory_accesses": first["accesses"],
        "faults": first["misses"],
        "settings": first["settings"],
    }


def fault_parts(trace, warmup):
    """Returns cycles per fault by part, way and threads, as simulated; they are the same wherever a fault evicts."""
    base = {"dram": "20%", "memory": "dram", "replacement": "fifo", "eviction_buffer": 0}
    runs = common.simulate(trace, warmup, **base, fault_cost="oskin-loh",
                           shootdown=["interrupt", "hardware"], threads=THREADS)
    found = {}
    for run in runs:
        way, threads = run["settings"]["fault"]["shootdown"], str(run["settings"]["threads"])
        found.setdefault(way, {})[threads] = {
            part: round(1.9 * run["times_ns"][part] / run["misses"]) for part in PARTS}
    return found


def model(works, paper):
    """Returns speed-ups by the model, calibrated with the programs in the paper's averages."""
    setup = paper["setup"]
    usual = [work for name, work in works.items() if name != LOW_LOCALITY]
    fast = calibrate(usual, paper["all_fast"]["average_speedup"])
    speedups = {
        name: {
            "all_fast": round(work.all_fast(fast), 3),
            "page_cache": {str(cycles): round(work.page_cache(fast, cycles), 4) for cycles in CYCLES},
            "faults_a_million_slow_cycles": round(work.fault_rate(fast), 1),
        }
        for name, work in works.items()
    }

    def average(those):
        return {
            "all_fast": round(geometric_mean([work.all_fast(fast) for work in those]), 3),
            "page_cache": {
                str(cycles): round(geometric_mean([work.page_cache(fast, cycles) for work in those]), 3)
                for cycles in CYCLES
            },
        }

    return {
        "fast_access_ns": round(fast, 3),
        "slow_access_ns": round(fast * setup["slow_over_fast"], 3),
        "speedups": speedups,
        "average": average(usual),
        "average_without_graphs": average([works[name] for name in works if name not in GRAPHS]),
    }, fast


def stated_speedups(paper):
    """Returns the paper's averages by cycles of a fault."""
    cost = paper["fault_cost"]
    stated = {int(cycles): value for cycles, value in cost["average_speedup"].items()}
    hardware, kernel = cost["hardware_managed"], cost["kernel_managed"]
    stated |= dict.fromkeys(hardware["cycles"], hardware["average_speedup_about"])
    slowdowns = kernel["average_slowdown_percent"]
    stated |= {cycles: 1 - slower / 100 for cycles, slower in zip(kernel["cycles"], slowdowns)}
    return dict(sorted(stated.items()))


def draw_fault_cost(results, paper, path):
    plt = common.pyplot()
    figure, axes = plt.subplots(figsize=(7.5, 3.8))
    found = results["model"]
    for (name, one), colour in zip(found["speedups"].items(), COLOURS):
        style = ":" if name == LOW_LOCALITY else "-"
        axes.plot(CYCLES, [one["page_cache"][str(c)] for c in CYCLES], style, color=colour,
                  linewidth=1.2, label=f"{name} ({STANDS_FOR[name]})")
    for key, style, label in (("average", "o-", "average, ours, simulated"),
                              ("average_without_graphs", "--", "same without both graphs")):
        axes.plot(CYCLES, [found[key]["page_cache"][str(c)] for c in CYCLES], style,
                  color=common.OURS, linewidth=2, label=label)
    stated = stated_speedups(paper)
    axes.plot(list(stated), list(stated.values()), "D", color=common.PAPER,
              label="average, paper, stated", zorder=4)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(CYCLES, [f"{c:,}" for c in CYCLES])
    axes.minorticks_off()
    ticks = [0.002, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlabel("cycles of a fault")
    axes.set_ylabel("speed-up over slow DRAM alone")
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def draw_fault_parts(results, paper, path):
    plt = common.pyplot()
    figure, panels = plt.subplots(1, 2, figsize=(7.5, 3.2), sharey=True)
    colours = ["#013a63", "#2a6f97", "#61a5c2", "#a9d6e5", "#f3a712"]
    called = {"copy": "migration", "shootdown": "shoot-downs"}
    for axes, way in zip(panels, ("interrupt", "hardware")):
        bottom = [0] * len(THREADS)
        for part, colour in zip(PARTS, colours):
            heights = [results["parts"][way][str(threads)][part] / 1000 for threads in THREADS]
            axes.bar(range(len(THREADS)), heights, 0.7, bottom, label=called.get(part, part), color=colour)
            bottom = [low + height for low, height in zip(bottom, heights)]
        axes.set_xticks(range(len(THREADS)), THREADS)
        axes.grid(False, axis="x")
        axes.set_xlabel("threads")
    stated = paper["fault_parts"]
    for total in stated["total_cycles"]:
        panels[0].axhline(total / 1000, color=common.PAPER, linestyle="--", linewidth=1.2,
                          label="paper, stated" if total == stated["total_cycles"][0] else None)
    panels[1].axhline(stated["fault_with_hardware_shootdown_cycles"] / 1000, color=common.PAPER,
                      linestyle="--", linewidth=1.2)
    panels[0].set_title("interrupts")
    panels[1].set_title("hardware-assisted")
    panels[0].set_ylabel("1000 cycles a fault\n(ours, simulated)")
    handles, texts = panels[0].get_legend_handles_labels()
    panels[-1].legend(handles, texts, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


def two_digits(speedup):
    return f"{speedup:.2f}" if speedup >= 0.1 else f"{speedup:.2g}"


def average_of_all(speedups):
    """Returns the geometric means over all programs, including programs of low locality."""
    each = list(speedups.values())
    return {
        "all_fast": geometric_mean([one["all_fast"] for one in each]),
        "page_cache": {str(cycles): geometric_mean([one["page_cache"][str(cycles)] for one in each]) for cycles in CYCLES},
    }


def model_tables(results, paper):
    programs, found = results["programs"], results["model"]
    program_rows = [
        [name, STANDS_FOR[name], results["about"]["programs"][name], one["threads"], one["footprint_mb"],
         f"{1000 * one['memory_accesses'] / one['instructions']:.1f}",
         f"{found['speedups'][name]['faults_a_million_slow_cycles']:,.0f}"]
        for name, one in programs.items()]
    sweep_rows = [
        [name, f"{one['all_fast']:.2f}", *(two_digits(one["page_cache"][str(c)]) for c in CYCLES)]
        for name, one in found["speedups"].items()]
    for title, average in (("**average**", average_of_all(found["speedups"])),
                           (f"**average** without {LOW_LOCALITY}", found["average"]),
                           ("**average** without both graphs", found["average_without_graphs"])):
        sweep_rows.append([title, f"{average['all_fast']:.2f}",
                           *(f"{average['page_cache'][str(c)]:.2f}" for c in CYCLES)])
    stated = stated_speedups(paper)
    sweep_rows.append(["**paper**, average", f"{paper['all_fast']['average_speedup']:.2f}",
                       *(f"{stated[c]:.2f}" if c in stated else "" for c in CYCLES)])
    part_rows = [
        [way, threads, *(f"{results['parts'][way][str(threads)][part]:,}" for part in PARTS),
         f"{sum(results['parts'][way][str(threads)].values()):,}"]
        for way in ("interrupt", "hardware") for threads in THREADS]
    heads = ["program", "stands for", "what it is", "threads", "MB",
             "accesses to memory, 1000 instructions", "faults, M cycles of slow memory alone"]
    return {
        "programs": table(heads, program_rows),
        "sweep": table(["program", "all fast", *(f"{c:,}" for c in CYCLES)], sweep_rows),
        "parts": table(["shoot-down", "threads", *PARTS, "all"], part_rows),
    }


def tables(results, paper):
    parts = (model_tables(results, paper), prefetching.tables(results, paper, LOW_LOCALITY), migration.tables(), static_placement.tables(),
             bandwidths.tables(), climbing.tables(), own_programs.tables(paper), implementation.tables(paper))
    return {mark: table for part in parts for mark, table in part.items()}


def measure_all(bench, paper, names, limit):
    found, parameters, traces = {}, {}, {}
    for name in names:
        traces[name] = trace = bench.record(name, limit, "--filter", "l1l2")
        common.say(f"simulating {name}")
        found[name] = measure(trace, common.trace_info(trace))
        if name not in FAULT_MUCH:
            parameters[name] = prefetching.parameters(trace, found[name]["warmup"])
    setup = paper["setup"]
    works = {name: Work(one, setup["clock_ghz"], setup["slow_over_fast"]) for name, one in found.items()}
    modelled, fast = model(works, paper)
    times = Model(setup["clock_ghz"], fast, setup["slow_over_fast"])
    for name, one in found.items():
        common.say(f"simulating figure 6 of {name}")
        one["prefetching"] = prefetching.ways_of_prefetching(traces[name], one["warmup"], times, one["threads"])
    return {
        "figures": "faults simulated by terrace sim pages over recordings of real programs; "
                   "times of figure 2 by the model in page_cache.py",
        "about": bench.versions(names),
        "programs": found,
        "model": modelled,
        "parts": fault_parts(traces[LOW_LOCALITY], found[LOW_LOCALITY]["warmup"]),
        "ways": prefetching.compare_ways({name: one["prefetching"] for name, one in found.items()}, times.ghz, LOW_LOCALITY),
        "parameters": parameters,
        "parameter_averages": prefetching.averages(parameters),
    }


def draw(results, paper, folder):
    draw_fault_cost(results, paper, folder / "fault-cost.svg")
    draw_fault_parts(results, paper, folder / "fault-parts.svg")
    prefetching.draw_ways(results["ways"], paper, folder / "prefetching.svg", STANDS_FOR)
    prefetching.draw_parameters(results, folder / "prefetch-parameters.svg", COLOURS)
    prefetching.draw_design_space(results, folder / "prefetch-design-space.svg")


def main():
    def measure(bench, paper, quick):
        return measure_all(bench, paper, list(STANDS_FOR), QUICK if quick else LIMIT)

    common.repeat(FOLDER, __doc__, measure, draw, tables)


if __name__ == "__main__":
    main()
