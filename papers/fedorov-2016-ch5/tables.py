"""The tables of the page, from results."""

import json
from pathlib import Path
from statistics import median

import ablations
import kernels
import spark_live
from common import geometric_mean, known_mean, mean, percent, table
from ways import (
    CONSTITUENTS,
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

FOLDER = Path(__file__).resolve().parent
ALL_WAYS = ["deadline", "no readahead", "10 devices", *SCHEMES, FULL]
# One recording of Spark, and SparkBench on a machine: neither is repeated with the rest.
SPARK, LIVE = FOLDER / "spark.json", FOLDER.parent.parent / "benches" / "osvpp" / "results.json"
# Of large.py.
LARGE = FOLDER / "large.json"


def improvement_rows(results, pace, latency, ways, stated):
    programs, average = of_pace(results["programs"], pace, latency), results["averages"][pace][str(latency)]
    rows = [[name, STANDS_FOR.get(name, ""), *(percent(value_of(one, way)) for way in ways)]
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
                             {"deadline": "-3 %", "no readahead": "1 %, up to 6 %", "10 devices": "7 %",
                              "corp": "16 %"}))
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
    for name, one_device in (("constituents", False), ("constituents-one-device", True)):
        each, average = constituents(results, one_device)
        parts[name] = table(
            [*heads, "used, spatial", "used, temporal", "used, both", "both, of predictions", "both, of prefetches"],
            [[program, STANDS_FOR[program], *constituent_cells(found)] for program, found in zip(programs, each)]
            + [["**average**", "", *constituent_cells(average)],
               ["**paper**", "", "", "", "very high", "about 10 %", "15 %"]])
    parts["story"] = table(
        [*heads, "predictions", "filtered", "queued", "wiped", "considered", "fetched"],
        [[name, STANDS_FOR[name], f"{one['story']['predicted']:,}", *story_cells(one["story"])]
         for name, one in programs.items()]
        + [["**average**", "", "", *story_cells(results["averages"]["calibrated"]["50"]["story"])],
           ["**paper**", "", "", "about 50 %", "about 50 %", "", "about 20 %", ""]])
    stated_ways = {"deadline": "-3 %", "no readahead": "1 %, up to 6 %", "10 devices": "7 %"} | slow
    layouts = results["layouts"]
    for pace in TITLES:
        parts[f"collected-{pace}"] = table([*heads, *ALL_WAYS],
                                           improvement_rows(layouts["collected"], pace, 50, ALL_WAYS, stated_ways))
        parts[f"pairs-{pace}"] = pairs_table(layouts["pairs"], pace, stated_ways)
    parts["layouts"] = layouts_table(layouts["readahead"])
    parts["groups"] = groups_table(layouts["readahead"])
    if LARGE.exists():
        parts["large"] = large_table(json.loads(LARGE.read_text()))
    parts |= spark_live.tables()
    parts["spark"] = spark_table(json.loads(SPARK.read_text()), {50: {"no readahead": "1 %, up to 6 %", "10 devices": "7 %"} | slow,
                                                                 10: fast})
    parts["live"] = live_table(json.loads(LIVE.read_text()))
    return parts | kernels.tables(results, paper) | ablations.tables(results)


def layouts_table(readahead):
    """Shows, by how programs hold their records, their size, readahead's accuracy, and what doing without it saves."""
    def cells(value, show):
        """Returns a list of cells for each program, and one of means."""
        lines = [[value(readahead[layout][name]) if name in readahead[layout] else None for layout in LAYOUTS]
                 for name in STANDS_FOR]
        means = [known_mean(column) for column in zip(*lines)]
        return [["" if value is None else show(value) for value in line] for line in [*lines, means]]

    kinds = {
        "MB": cells(lambda one: one["footprint_mb"], "{:.1f}".format),
        "rows": cells(lambda one: one["accesses"] / 1e6, "{:.1f} M".format),
        "used": cells(lambda one: one["accuracy"], percent),
        "no readahead": cells(lambda one: one["no_readahead"], percent),
    }
    names = [*([name, stands_for] for name, stands_for in STANDS_FOR.items()), ["**mean**", ""]]
    return table(["program", "stands for", *(f"{kind}, {layout}" for kind in kinds for layout in LAYOUTS)],
                 [[*name, *(cell for part in parts for cell in part)] for name, *parts in zip(names, *kinds.values())])


def pairs_table(pairs, pace, stated):
    """Shows pairs of programs at 50 us, by how they hold their records."""
    rows = {layout: improvement_rows(found, pace, 50, ALL_WAYS, stated) for layout, found in pairs.items()}
    *_, of_the_paper = rows["arrays"]
    lines = [[name, layout, *cells] for layout, found in rows.items() for name, _, *cells in found[:-1]]
    return table(["programs", "records", *ALL_WAYS], [*lines, of_the_paper])


def groups_table(readahead):
    """Shows readahead's accuracy, and what doing without it saves, by how many programs run together."""
    layouts = [layout for layout in LAYOUTS if layout != "objects"]
    rows = []
    for size, groups in TOGETHER.items():
        cells = []
        for layout in layouts:
            found = [readahead[layout][" + ".join(group)] for group in groups]
            used, without = ([one[key] for one in found] for key in ("accuracy", "no_readahead"))
            cells += [percent(value) for value in (mean(used), min(used), mean(without), max(without))]
        rows.append([size, len(groups), *cells])
    whats = ("used", "least used", "no readahead", "at most")
    return table(["at once", "groups", *(f"{what}, {layout}" for layout in layouts for what in whats)], rows)


def large_table(large):
    """Shows programs at 1 GB, and at their own size in the same way."""
    ways = ["no readahead", "10 devices", *SCHEMES]
    rows = [[name, size, one["footprint_mb"], f"{one['rows'] / 1e6:.1f} M", percent(one["ways"]["baseline"]["accuracy"]),
             *(percent(one["ways"][way]["improvement"]) for way in ways), percent(one["full_dram"])]
            for name, sizes in large.items() for size, one in sizes.items()]
    return table(["program", "size", "MB", "rows", "used", *ways, FULL], rows)


def spark_table(spark, stated):
    """Shows the recording of Spark, as recorded, by latency."""
    ways = ["no readahead", "10 devices", *SCHEMES]
    rows = []
    for latency, one in spark["latency_us"].items():
        rows.append([f"{latency} us, ours", *(percent(one["ways"][way]["improvement"]) for way in ways), percent(one["full_dram"])])
        rows.append([f"{latency} us, **paper**, average", *(stated[int(latency)].get(way, "") for way in [*ways, FULL])])
    return table(["latency", *ways, FULL], rows)


def live_table(live):
    """Shows SparkBench on a machine: medians of wall time by way, and the speed-up over the kernel alone."""
    times = {row["name"]: {run["way"]: median(run["wall_s"]) for run in row["comparison"]["runs"]} for row in live["rows"]}
    ways = ["all-dram", "kernel", "terrace"]
    faster = {name: one["kernel"] / one["terrace"] for name, one in times.items()}
    rows = [[name, *(f"{one[way]:.1f} s" for way in ways), f"{faster[name]:.2f}"] for name, one in times.items()]
    rows.append(["**geometric mean**", "", "", "", f"{geometric_mean(faster.values()):.2f}"])
    return table(["program", *ways, "speed-up"], rows)


def constituent_cells(found):
    used = [percent(found[name]["accuracy"]) if name in found else "" for name in CONSTITUENTS]
    both = found.get("spatial+temporal", {"of_predictions": 0, "of_prefetches": 0})
    return [*used, percent(both["of_predictions"]), percent(both["of_prefetches"])]


def story_cells(one):
    considered = one["in_memory"] + one["issued"]
    return [percent(share) for share in
            (one["filtered"], 1 - one["filtered"], one["wiped"], considered, one["issued"])]


def course_shares(course):
    """Returns the accuracy of the first tenth and of the last half, and the lowest, from (end, accuracy)."""
    end = course[-1][0]
    first = [share for at, share in course if at <= end / 10] or [course[0][1]]
    last = [share for at, share in course if at > end / 2]
    return mean(first), mean(last), min(share for _, share in course)
