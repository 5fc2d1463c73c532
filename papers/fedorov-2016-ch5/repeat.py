"""Repeats chapter 5 of Fedorov 2016: prefetching by the pager from emulated NVM devices.

Usage: repeat.py [--quick]
"""

import csv
import math
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import ablations  # noqa: E402
import common  # noqa: E402
import figures  # noqa: E402
from common import known_mean, mean  # noqa: E402
from kernels import DEAR, readaheads_of  # noqa: E402
from machine import READAHEAD, RECORDED_NS, average_improvement, improvement, simulate  # noqa: E402
from tables import tables  # noqa: E402
from ways import (  # noqa: E402
    BOXED,
    CONSTITUENTS,
    ENDS,
    EXTRA,
    LAYOUTS,
    SCHEMES,
    STANDS_FOR,
    TOGETHER,
    of_pace,
)

TUNKRANK = ["tunkrank-1", "tunkrank-2", "tunkrank-3"]
# Pages that readahead reads beside the demanded one, by vm.page-cluster; 3 is the baseline's.
CLUSTERS = {1: 1, 2: 3}
# Readaheads per epoch of the simulator's timeline, and parts of a run that are drawn from them.
EPOCH, PARTS = 100, 50
RECORDING = ["--level", "pages", "--filter", "l1l2"]
# Times of an instruction between which the calibrated one is sought.
PACES_NS = [0.5, 1.5, 4.5, 13.5, 40, 120, 360]


def ladder_of(trace, latency, instruction_ns, warmup=0, **machine):
    """Returns one run per way: the kernel's own, and the schemes on ten devices."""
    common_to_all = {"instruction_time": f"{instruction_ns}ns", "warmup": warmup, **machine}
    off, baseline = simulate(trace, latency, devices=1, prefetch=["off", READAHEAD], **common_to_all)
    [sorted_by_place] = simulate(trace, latency, devices=1, prefetch=READAHEAD, order="elevator", **common_to_all)
    many = simulate(trace, latency, devices=10, prefetch=[READAHEAD, *SCHEMES], **common_to_all)
    own = {"baseline": baseline, "deadline": sorted_by_place, "no readahead": off}
    return {**own, **dict(zip(["10 devices", *SCHEMES], many))}


def latencies_of(trace, instruction_ns, ladder):
    """Returns mean fault and device latencies by extra pages, relative to no readahead, at 50 us."""
    none, runs = ladder["no readahead"], {7: ladder["baseline"]}
    for cluster, extra in CLUSTERS.items():
        [runs[extra]] = simulate(trace, 50, devices=1, prefetch=READAHEAD, page_cluster=cluster,
                                 instruction_time=f"{instruction_ns}ns")
    keys = ("fault_latency_ns", "device_latency_ns")
    relative = {str(extra): [round(runs[extra][key] / none[key], 3) for key in keys] for extra in EXTRA}
    return {"none_ns": [round(none[key]) for key in keys], **relative}


def one_device(trace, instruction_ns):
    """Returns the constituents of combo if all neighbours in the tier are on one device, at 50 us."""
    [run] = simulate(trace, 50, devices=1, prefetch="combo", instruction_time=f"{instruction_ns}ns")
    return constituents(run["prefetch"])


def full_dram(baseline):
    return 1 - baseline["all_dram_ns"] / baseline["time_ns"]


def faults(run):
    """Returns the number of touches of pages that are in the tier, or on their way from there."""
    return run["full_misses"] + run["partial_misses"]


def summary(runs):
    """Summarizes one program's runs at one latency and pace."""
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
        "constituents": constituents(runs["combo"]["prefetch"]),
        "settings": {name: run["settings"] for name, run in runs.items()},
    }


def story(prefetch):
    """Returns the fates of predictions, as shares of all predictions."""
    predicted = max(prefetch["predicted"], 1)
    return {"predicted": prefetch["predicted"], **{end: round(prefetch[end] / predicted, 4) for end in ENDS}}


def constituents(prefetch):
    """Returns, by constituent of a combination, its share of all pages named, its share of all pages
    fetched, and its accuracy."""
    found = {one["names"]: one for one in prefetch.get("constituents", [])}
    all_of = {key: max(sum(one[key] for one in found.values()), 1) for key in ("predicted", "issued")}
    return {
        name: {
            "of_predictions": round(one["predicted"] / all_of["predicted"], 4),
            "of_prefetches": round(one["issued"] / all_of["issued"], 4),
            "accuracy": one["accuracy"] and round(one["accuracy"], 4),
        }
        for name, one in found.items()}


def averages(found):
    """Returns averages over all programs at one latency and pace."""
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
        "constituents": average_constituents([one["constituents"] for one in found.values()]),
    }


def average_constituents(found):
    """Returns means over the programs that have something to count."""
    def average(name, key):
        known = known_mean([one[name][key] for one in found if name in one])
        return None if known is None else round(known, 4)

    return {name: {key: average(name, key) for key in ("of_predictions", "of_prefetches", "accuracy")}
            for name in CONSTITUENTS}


def calibrate(points, wanted):
    """Returns the time of an instruction at which DRAM alone would save a share `wanted`.

    `points` are pairs of a time, rising, and a share. Between them the odds of the share are
    taken as a power of the time; beyond them, the nearest point is used.
    """
    odds = [(time, share / (1 - share)) for time, share in points]
    odds_wanted = wanted / (1 - wanted)
    for (time, more), (later, less) in zip(odds, odds[1:]):
        if more >= odds_wanted > less:
            part = math.log(more / odds_wanted) / math.log(more / less)
            return time * (later / time) ** part
    return points[0][0] if odds[0][1] < odds_wanted else points[-1][0]


def pace_of(trace, wanted, **machine):
    """Returns the time of an instruction, in ns, at which DRAM alone would save a share `wanted`."""
    times = [f"{time}ns" for time in PACES_NS]
    runs = simulate(trace, 50, devices=1, prefetch=READAHEAD, instruction_time=times, **machine)
    return round(calibrate([(time, full_dram(run)) for time, run in zip(PACES_NS, runs)], wanted), 2)


def accuracy_of(traces, work):
    """Returns the accuracy of readahead in the course of a run, and over all of it, at 50 us."""
    file = work / "timeline.csv"
    [run] = simulate(traces, 50, prefetch=READAHEAD, timeline=file, timeline_epoch=EPOCH)
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
    """Returns the end and the accuracy of equal parts of a run, from epochs of (end, useful, wasted)."""
    length = -(-len(epochs) // PARTS)
    parts = [epochs[begin:begin + length] for begin in range(0, len(epochs), length)]
    sums = [(part[-1][0], sum(one[1] for one in part), sum(one[2] for one in part)) for part in parts]
    return [[end, round(useful / (useful + wasted), 4)] for end, useful, wasted in sums if useful + wasted]


def tunkrank(bench, limit):
    """Returns readahead's accuracy with one program and with three, which share DRAM for half of them."""
    traces = [bench.record(name, limit, *RECORDING) for name in TUNKRANK]
    common.say("simulating tunkrank")
    return {
        "one": accuracy_of(traces[:1], bench.work),
        "three": accuracy_of(traces, bench.work),
    }


def measure(trace, wanted):
    """Measures one trace: as recorded, and with slower instructions."""
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
        "constituents_on_one_device": one_device(trace, pace),
        "readaheads": readaheads_of(trace, pace),
        "ablations": ablations.ablations_of(trace, pace),
        **measure_dear(trace, wanted),
    }


def measure_dear(trace, wanted):
    """Measures a trace with the faults that the paper's averages imply, at a pace of its own."""
    pace = pace_of(trace, wanted, **DEAR)
    runs = {str(latency): without_settings(summary(ladder_of(trace, latency, pace, **DEAR))) for latency in (50, 10)}
    return {"dear_ns": pace, "dear": runs}


def faster_devices(programs, pace):
    """Returns the share of time that the baseline saves with devices of 10 us instead of 50 us."""
    pairs = [(one[pace]["50"], one[pace]["10"]) for one in programs.values()]
    return average_improvement([1 - fast["time_ms"] / slow["time_ms"] for slow, fast in pairs])


def measure_paces(traces, wanted):
    """Measures a trace, or several that share DRAM and the devices, at 50 us only."""
    pace = pace_of(traces, wanted)
    recorded, slow = (ladder_of(traces, 50, time) for time in (RECORDED_NS, pace))
    baseline = recorded["baseline"]
    return {
        "footprint_mb": round(baseline["footprint_pages"] * 4096 / 1e6, 1),
        "accesses": baseline["accesses"],
        "calibrated_ns": pace,
        "recorded": {"50": without_settings(summary(recorded))},
        "calibrated": {"50": without_settings(summary(slow))},
    }


def without_settings(one):
    """Leaves out the settings of runs, which are those of the same ways in the first layout but for DRAM."""
    return {key: value for key, value in one.items() if key != "settings"}


def readahead(traces):
    """Measures readahead alone, as recorded, at 50 us."""
    off, baseline = simulate(traces, 50, devices=1, prefetch=["off", READAHEAD])
    return {
        "footprint_mb": round(baseline["footprint_pages"] * 4096 / 1e6, 1),
        "accesses": baseline["accesses"],
        "accuracy": round(baseline["prefetch"]["accuracy"], 4),
        "no_readahead": round(improvement(off, baseline), 4),
    }


class Layout:
    """Programs that hold their records in one way."""

    def __init__(self, bench, name, limit):
        self.bench, self.name, self.limit = bench, name, limit

    def traces(self, programs):
        return [self.bench.record(program + LAYOUTS[self.name], self.limit, *RECORDING) for program in programs]

    def each(self, groups, measure):
        """Measures groups of programs, each of which shares DRAM and the devices."""
        def one(group):
            traces = self.traces(group)
            common.say(f"simulating {', '.join(group)}: {self.name}")
            return measure(traces)

        with ThreadPoolExecutor(2) as pool:
            return dict(zip(map(" + ".join, groups), pool.map(one, groups)))


def paces(programs):
    """Returns programs that `measure_paces` measured, and averages."""
    return {"programs": programs,
            "averages": {pace: {"50": averages(of_pace(programs, pace, 50))} for pace in ("recorded", "calibrated")}}


def measure_layouts(bench, wanted, limit, layout_limit):
    """Measures programs on a collected heap, and readahead by layout and by how many programs run together."""
    alone = [[name] for name in STANDS_FOR]
    arrays, objects, collected = (Layout(bench, name, of) for name, of in zip(LAYOUTS, (limit, layout_limit, layout_limit)))
    return {
        "collected": paces(collected.each(alone, lambda traces: measure_paces(traces, wanted))),
        "pairs": {layout.name: paces(layout.each(TOGETHER[2], lambda traces: measure_paces(traces, wanted)))
                  for layout in (arrays, collected)},
        "readahead": {
            "objects": objects.each([[name] for name in BOXED], readahead),
            **{layout.name: layout.each([group for groups in TOGETHER.values() for group in groups], readahead)
               for layout in (arrays, collected)},
        },
    }


def measure_all(bench, paper, limit, layout_limit):
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
            **{pace: {str(us): averages(of_pace(programs, pace, us)) for us in (50, 10)}
               for pace in ("calibrated", "dear")},
        },
        "constituents_on_one_device": average_constituents(
            [one["constituents_on_one_device"] for one in programs.values()]),
        "baseline_faster_at_10us": faster_devices(programs, "calibrated"),
        "baseline_faster_at_10us_dear": faster_devices(programs, "dear"),
        "ablations": ablations.averages(programs),
        "tunkrank": tunkrank(bench, 3 * limit),
        "layouts": measure_layouts(bench, wanted, limit, layout_limit),
    }


def main():
    def measure(bench, paper, quick):
        return measure_all(bench, paper, *((4_000_000, 4_000_000) if quick else (6_000_000, 20_000_000)))

    common.repeat(FOLDER, __doc__, measure, figures.draw, tables)


if __name__ == "__main__":
    main()
