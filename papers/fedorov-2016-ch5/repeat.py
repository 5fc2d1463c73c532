"""Repeats chapter 5 of Fedorov 2016: prefetching by the pager from emulated NVM devices.

Usage: repeat.py [--quick]
"""

import csv
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

import common  # noqa: E402
from common import geometric_mean, mean, table  # noqa: E402

# Which program stands for which of SparkBench's.
STANDS_FOR = {
    "kmeans": "KMeans",
    "tree": "DecisionTree",
    "ratings": "SVD++",
    "distances": "PregelOps",
    "triangles": "TriangleCount",
    "components": "ConnectedComponent",
    "strong": "StronglyConnectedComponent",
    "ranks": "PageRank",
}
TUNKRANK = ["tunkrank-1", "tunkrank-2", "tunkrank-3"]
SCHEMES = ["spatial", "temporal", "combo", "vldp", "corp"]
# Pages that readahead reads beside the demanded one, by vm.page-cluster; 3 is the baseline's.
CLUSTERS = {1: 1, 2: 3}
EXTRA = [1, 3, 7]
# Readaheads of an epoch of the simulator's timeline, and parts of a run that are drawn of them.
EPOCH, PARTS = 100, 50
RECORDING = ["--level", "pages", "--filter", "l1l2"]
LADDER = ["no readahead", "10 devices", "corp"]
FULL = "full DRAM"
ENDS = ["filtered", "wiped", "in_memory", "issued"]
TITLES = {"recorded": "0.5 ns an instruction", "calibrated": "instructions slower, so that DRAM alone saves 34 %"}
SHORT = {"ConnectedComponent": "CC", "StronglyConnectedComponent": "SCC", "TriangleCount": "Triangles",
         "DecisionTree": "Dec.Tree"}
BLUES = ["#013a63", "#2a6f97", "#61a5c2", "#a9d6e5"]
COLOURS = ["#7cb518", "#f3a712", "#2a6f97", "#5c4d7d", "#e07a5f", "#6c757d"]
# The simulator's own time of an instruction, and those between which the calibrated one is sought.
RECORDED_NS = 0.5
PACES_NS = [0.5, 1.5, 4.5, 13.5, 40, 120, 360]
BASE = {"dram": "50%", "memory": "flash", "channels": 1, "order": "plain", "replacement": "linux",
        "fault_cost": "linux"}


def simulate(traces, latency, **options):
    """Runs of a machine whose devices take `latency` us, from the programs' start to their end."""
    device = {"read_latency": f"{latency}us", "write_latency": f"{latency}us"}
    return common.simulate(traces, 0, **(BASE | device | options))


def ladder_of(trace, latency, instruction_ns):
    """One run a way: the kernel's own, and the schemes on ten devices."""
    pace = {"instruction_time": f"{instruction_ns}ns"}
    off, baseline = simulate(trace, latency, devices=1, prefetch=["off", "readahead"], **pace)
    many = simulate(trace, latency, devices=10, prefetch=["readahead", *SCHEMES], **pace)
    return {"baseline": baseline, "no readahead": off, **dict(zip(["10 devices", *SCHEMES], many))}


def latencies_of(trace, instruction_ns, ladder):
    """Mean fault and device latencies by extra pages, relative to no readahead, at 50 us."""
    none, runs = ladder["no readahead"], {7: ladder["baseline"]}
    for cluster, extra in CLUSTERS.items():
        [runs[extra]] = simulate(trace, 50, devices=1, prefetch="readahead", page_cluster=cluster,
                                 instruction_time=f"{instruction_ns}ns")
    keys = ("fault_latency_ns", "device_latency_ns")
    relative = {str(extra): [round(runs[extra][key] / none[key], 3) for key in keys] for extra in EXTRA}
    return {"none_ns": [round(none[key]) for key in keys], **relative}


def improvement(run, baseline):
    """By how much of the baseline's time a run is shorter."""
    return 1 - run["time_ns"] / baseline["time_ns"]


def full_dram(baseline):
    return 1 - baseline["all_dram_ns"] / baseline["time_ns"]


def faults(run):
    """Touches of pages that are in the tier, or on their way from there."""
    return run["full_misses"] + run["partial_misses"]


def summary(runs):
    """What is kept of one program's runs at one latency and pace."""
    baseline = runs["baseline"]
    ways = {
        name: {
            "improvement": round(improvement(run, baseline), 4),
            "faults": faults(run),
            "full_misses": run["full_misses"],
            "accuracy": run["prefetch"]["accuracy"] and round(run["prefetch"]["accuracy"], 4),
        }
        for name, run in runs.items()}
    return {
        "ways": ways,
        "full_dram": round(full_dram(baseline), 4),
        "time_ms": round(baseline["time_ns"] / 1e6, 1),
        "story": story(runs["combo"]["prefetch"]),
        "settings": {name: run["settings"] for name, run in runs.items()},
    }


def story(prefetch):
    """What became of predictions, as shares of them."""
    predicted = max(prefetch["predicted"], 1)
    return {"predicted": prefetch["predicted"], **{end: round(prefetch[end] / predicted, 4) for end in ENDS}}


def average_improvement(values):
    """Geometric mean of normalized times, as the chapter's AVG bars."""
    return round(1 - geometric_mean([1 - value for value in values]), 4)


def averages(found):
    """Over all programs, of one latency and pace."""
    ways = next(iter(found.values()))["ways"]
    full = average_improvement([one["full_dram"] for one in found.values()])
    improvements = {
        way: average_improvement([one["ways"][way]["improvement"] for one in found.values()])
        for way in ways}
    return {
        "improvement": improvements,
        "full_dram": full,
        "won_back": {way: round(value / full, 4) for way, value in improvements.items()},
        "story": {end: round(mean([one["story"][end] for one in found.values()]), 4) for end in ENDS},
    }


def calibrate(points, wanted):
    """The time of an instruction at which DRAM alone would save a share `wanted`.

    `points` are pairs of the one, rising, and the other. Between them the odds of the share are
    taken as a power of the time; beyond them, the nearest stands.
    """
    odds = [(time, share / (1 - share)) for time, share in points]
    odds_wanted = wanted / (1 - wanted)
    for (time, more), (later, less) in zip(odds, odds[1:]):
        if more >= odds_wanted > less:
            part = math.log(more / odds_wanted) / math.log(more / less)
            return time * (later / time) ** part
    return points[0][0] if odds[0][1] < odds_wanted else points[-1][0]


def pace_of(trace, wanted):
    """The time of an instruction, in ns, at which DRAM alone would save a share `wanted`."""
    times = [f"{time}ns" for time in PACES_NS]
    runs = simulate(trace, 50, devices=1, prefetch="readahead", instruction_time=times)
    return round(calibrate([(time, full_dram(run)) for time, run in zip(PACES_NS, runs)], wanted), 2)


def accuracy_of(traces, work):
    """How accurate readahead was in the course of a run, and on the whole, at 50 us."""
    file = work / "timeline.csv"
    [run] = simulate(traces, 50, prefetch="readahead", timeline=file, timeline_epoch=EPOCH)
    with file.open() as rows:
        epochs = [(int(row["prefetches"]), int(row["used"]) + int(row["late"]), int(row["wasted"]))
                  for row in csv.DictReader(rows)]
    file.unlink()
    return {
        "dram_pages": run["settings"]["dram_pages"],
        "readaheads": run["prefetch"]["issued"],
        "faults": faults(run),
        "accuracy": round(run["prefetch"]["accuracy"], 4),
        "course": in_parts(epochs),
    }


def in_parts(epochs):
    """The end and the accuracy of equal parts of a run, from epochs of (end, useful, wasted)."""
    length = -(-len(epochs) // PARTS)
    parts = [epochs[begin:begin + length] for begin in range(0, len(epochs), length)]
    sums = [(part[-1][0], sum(one[1] for one in part), sum(one[2] for one in part)) for part in parts]
    return [[end, round(useful / (useful + wasted), 4)] for end, useful, wasted in sums if useful + wasted]


def tunkrank(bench, limit):
    """Readahead's accuracy with one program and with three, which share DRAM for half of them."""
    traces = [bench.record(name, limit, *RECORDING) for name in TUNKRANK]
    common.say("simulating tunkrank")
    return {
        "one": accuracy_of(traces[:1], bench.work),
        "three": accuracy_of(traces, bench.work),
    }


def measure(trace, wanted):
    """All that is taken of one trace: as recorded, and with slower instructions."""
    pace = pace_of(trace, wanted)
    recorded, slow = ladder_of(trace, 50, RECORDED_NS), ladder_of(trace, 50, pace)
    baseline = recorded["baseline"]
    return {
        "footprint_mb": round(baseline["footprint_pages"] * 4096 / 1e6, 1),
        "accesses": baseline["accesses"],
        "all_dram_ms": round(baseline["all_dram_ns"] / 1e6, 1),
        "faults_a_ms": round(faults(baseline) / (baseline["all_dram_ns"] / 1e6), 1),
        "calibrated_ns": pace,
        "recorded": {"50": summary(recorded)},
        "calibrated": {"50": summary(slow), "10": summary(ladder_of(trace, 10, pace))},
        "latency": latencies_of(trace, pace, slow),
    }


def of_pace(programs, pace, latency):
    return {name: one[pace][str(latency)] for name, one in programs.items()}


def faster_devices(programs):
    """By how much the baseline is faster with devices of 10 us than of 50 us."""
    pairs = [(one["calibrated"]["50"], one["calibrated"]["10"]) for one in programs.values()]
    return average_improvement([1 - fast["time_ms"] / slow["time_ms"] for slow, fast in pairs])


def measure_all(bench, paper, limit):
    names = list(STANDS_FOR)
    wanted = paper["schemes_50us"]["full_dram_average_percent"] / 100

    def one(name):
        trace = bench.record(name, limit, *RECORDING)
        common.say(f"simulating {name}")
        return measure(trace, wanted)

    with ThreadPoolExecutor(2) as pool:
        programs = dict(zip(names, pool.map(one, names)))
    return {
        "figures": "simulated by terrace sim pages over recordings of real programs",
        "about": bench.versions([*names, *TUNKRANK]),
        "programs": programs,
        "averages": {
            "recorded": {"50": averages(of_pace(programs, "recorded", 50))},
            "calibrated": {str(us): averages(of_pace(programs, "calibrated", us)) for us in (50, 10)},
        },
        "baseline_faster_at_10us": faster_devices(programs),
        "tunkrank": tunkrank(bench, 3 * limit),
    }


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
    """Bars by program for each pace; `stated` maps ways to what the paper states of the average."""
    plt = common.pyplot()
    paces = [pace for pace, found in results["averages"].items() if str(latency) in found]
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


def value_of(one, way):
    return one["full_dram"] if way == FULL else one["ways"][way]["improvement"]


def average_of(average, way):
    return average["full_dram"] if way == FULL else average["improvement"][way]


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
    figure, axes = plt.subplots(figsize=(11.5, 3))
    programs = of_pace(results["programs"], "calibrated", 50)
    names = list(programs)
    values = {way: [100 * (one["ways"][way]["accuracy"] or 0) for one in programs.values()]
              for way in ("combo", "spatial", "temporal")}
    values = {way: [*found, mean(found)] for way, found in values.items()}
    series = {"ours, simulated: combo": values["combo"], "spatial alone": values["spatial"],
              "temporal alone": values["temporal"]}
    common.grouped_bars(axes, labels(names), series, [common.OURS, "#61a5c2", "#a9d6e5"])
    stated = paper["story"]["utilisation_percent"]
    marks = {names.index(name) - 0.27: stated[app] for name, app in STANDS_FOR.items() if app in stated}
    axes.plot(list(marks), list(marks.values()), "D", color=common.PAPER, label="combo, paper, stated", zorder=3)
    axes.set_ylabel("prefetched pages used (%)")
    axes.set_ylim(0, 105)
    axes.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    common.save(figure, path)


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


def draw(results, paper, folder):
    ladder, slow, fast = paper["ladder"], paper["schemes_50us"], paper["schemes_10us"]
    short = fast["spatial_average_percent"] - fast["corp_and_temporal_short_of_the_best_percent"]
    draw_accuracy(results, paper, folder / "accuracy.svg")
    draw_latency(results, paper, folder / "latency.svg")
    draw_improvements(results, ["no readahead", "10 devices", "corp"], ladder["improvement_percent"], 50,
                      folder / "ladder.svg")
    draw_improvements(
        results, [*SCHEMES, FULL],
        {"combo": slow["combo_average_percent"], FULL: slow["full_dram_average_percent"]}, 50,
        folder / "schemes-50us.svg")
    draw_improvements(
        results, [*SCHEMES, FULL],
        {"spatial": fast["spatial_average_percent"], "combo": fast["combo_average_percent"], "temporal": short, "corp": short,
         FULL: fast["full_dram_average_percent"]}, 10, folder / "schemes-10us.svg")
    draw_faults(results, folder / "faults.svg")
    draw_utilisation(results, paper, folder / "utilisation.svg")
    draw_story(results, paper, folder / "story.svg")


def percent(share):
    # Adding nothing turns -0.0 into 0.0.
    return "" if share is None else f"{round(100 * share, 1) + 0:.1f} %"


def improvement_rows(results, pace, latency, ways, stated):
    programs, average = of_pace(results["programs"], pace, latency), results["averages"][pace][str(latency)]
    rows = [[name, STANDS_FOR[name], *(percent(value_of(one, way)) for way in ways)]
            for name, one in programs.items()]
    rows.append(["**average**", "", *(percent(average_of(average, way)) for way in ways)])
    rows.append(["**paper**, average", "", *(stated.get(way, "") for way in ways)])
    return rows


def tables(results, paper):
    about, heads = results["about"]["programs"], ["program", "stands for"]
    parts = {"programs": table(
        [*heads, "what it is", "MB", "rows", "ms in DRAM alone", "faults a ms of it", "calibrated, ns an instruction"],
        [[name, STANDS_FOR[name], about[name], one["footprint_mb"], f"{one['accesses'] / 1e6:.1f} M",
          one["all_dram_ms"], one["faults_a_ms"], one["calibrated_ns"]] for name, one in results["programs"].items()])}
    found = results["tunkrank"]
    parts["accuracy"] = table(
        ["programs", "DRAM, MB", "pages read ahead", "times those of one", "first tenth", "last half", "least", "all"],
        [[name, f"{one['dram_pages'] * 4096 / 1e6:.0f}", f"{one['readaheads']:,}",
          f"{one['readaheads'] / found['one']['readaheads']:.1f}",
          *(percent(share) for share in course_shares(one["course"])), percent(one["accuracy"])]
         for name, one in found.items()])
    parts["latency"] = table(
        [*heads, "no readahead, us", *(f"{extra} extra" for extra in EXTRA),
         "device, no readahead, us", *(f"{extra} extra" for extra in EXTRA)],
        [[name, STANDS_FOR[name],
          *(cell for part in (0, 1)
            for cell in (f"{line['none_ns'][part] / 1000:.1f}",
                         *(f"{line[str(extra)][part]:.2f}" for extra in EXTRA)))]
         for name, line in ((name, one["latency"]) for name, one in results["programs"].items())])
    slow = {"combo": "18 %", "corp": "16 %", FULL: "34 %"}
    for pace in TITLES:
        parts[f"ladder-{pace}"] = table(
            [*heads, *LADDER],
            improvement_rows(results, pace, 50, LADDER,
                             {"no readahead": "1 %, up to 6 %", "10 devices": "7 %", "corp": "16 %"}))
        parts[f"schemes-50us-{pace}"] = table(
            [*heads, *SCHEMES, FULL], improvement_rows(results, pace, 50, [*SCHEMES, FULL], slow))
    fast = {"spatial": "7.7 %", "combo": "7 %", "temporal": "about 6.2 %", "corp": "about 6.2 %", FULL: "21 %"}
    parts["schemes-10us"] = table(
        [*heads, *SCHEMES, FULL], improvement_rows(results, "calibrated", 10, [*SCHEMES, FULL], fast))
    programs = of_pace(results["programs"], "calibrated", 50)
    ways = ["baseline", "no readahead", *SCHEMES]
    parts["faults"] = table(
        [*heads, *ways],
        [[name, STANDS_FOR[name], *(f"{one['ways'][way]['faults']:,}" for way in ways)]
         for name, one in programs.items()])
    stated = paper["story"]["utilisation_percent"]
    utilised = ["baseline", "combo", "spatial", "temporal", "vldp", "corp"]
    parts["utilisation"] = table(
        [*heads, "paper, combo", *utilised],
        [[name, STANDS_FOR[name], f"about {stated[STANDS_FOR[name]]} %" if STANDS_FOR[name] in stated else "",
          *(percent(one["ways"][way]["accuracy"]) for way in utilised)]
         for name, one in programs.items()])
    parts["story"] = table(
        [*heads, "predictions", "filtered", "queued", "wiped", "considered", "fetched"],
        [[name, STANDS_FOR[name], f"{one['story']['predicted']:,}", *story_cells(one["story"])]
         for name, one in programs.items()]
        + [["**average**", "", "", *story_cells(results["averages"]["calibrated"]["50"]["story"])],
           ["**paper**", "", "", "about 50 %", "about 50 %", "", "about 20 %", ""]])
    return parts


def story_cells(one):
    considered = one["in_memory"] + one["issued"]
    return [percent(share) for share in
            (one["filtered"], 1 - one["filtered"], one["wiped"], considered, one["issued"])]


def course_shares(course):
    """Of (end, accuracy): those of the first tenth and the last half, and the least."""
    end = course[-1][0]
    first = [share for at, share in course if at <= end / 10] or [course[0][1]]
    last = [share for at, share in course if at > end / 2]
    return mean(first), mean(last), min(share for _, share in course)


def main():
    def measure(bench, paper, quick):
        return measure_all(bench, paper, 4_000_000 if quick else 6_000_000)

    common.repeat(FOLDER, __doc__, measure, draw, tables)


if __name__ == "__main__":
    main()
