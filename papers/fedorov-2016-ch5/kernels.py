"""The chapter's kernel, Linux 3.13, beside today's: what a fault costs, and what readahead reads."""

from common import known_mean, percent, table
from machine import READAHEAD, RECORDED_NS, improvement, simulate
from ways import FULL, SCHEMES, STANDS_FOR, average_of

# Readahead of the chapter's kernel, of Linux 3.14, and of Linux 4.14, by what it reads around a page.
READAHEADS = {"fixed": READAHEAD, "slots": "readahead:slots", "addresses": "readahead"}
# Faults of 33 us beside the device, which the paper's two averages imply.
DEAR = {"fault_cost": "fedorov"}


def readaheads_of(trace, calibrated_ns):
    """Returns what each readahead saves of the first one's time, and its accuracy, at 50 us on one device."""
    return {pace: readaheads_at(trace, time)
            for pace, time in {"recorded": RECORDED_NS, "calibrated": calibrated_ns}.items()}


def readaheads_at(trace, instruction_ns):
    runs = simulate(trace, 50, devices=1, prefetch=list(READAHEADS.values()), instruction_time=f"{instruction_ns}ns")
    return {name: {"improvement": round(improvement(run, runs[0]), 4), "accuracy": known(run["prefetch"]["accuracy"])}
            for name, run in zip(READAHEADS, runs)}


def known(share):
    return None if share is None else round(share, 4)


def tables(results, paper):
    return {"readaheads": readaheads_table(results["programs"]), "fault-cost": fault_cost_table(results, paper)}


def readaheads_table(programs):
    """Shows, by what readahead reads around a page, how much of it is used, and the time that it saves."""
    later = list(READAHEADS)[1:]
    found = {name: one["readaheads"] for name, one in programs.items()}
    values = {name: [*(one["calibrated"][by]["accuracy"] for by in READAHEADS),
                     *(one[pace][by]["improvement"] for pace in ("recorded", "calibrated") for by in later)]
              for name, one in found.items()}
    rows = [[name, STANDS_FOR[name], *map(percent, line)] for name, line in values.items()]
    rows.append(["**mean**", "", *(percent(known_mean(column)) for column in zip(*values.values()))])
    return table(["program", "stands for", *(f"used, {by}" for by in READAHEADS),
                  *(f"{pace}, {by}" for pace in ("recorded", "calibrated") for by in later)], rows)


def fault_cost_table(results, paper):
    """Shows average savings by the cost of a fault beside the device."""
    ways = ["no readahead", "10 devices", *SCHEMES, FULL]
    slow, fast = paper["schemes_50us"], paper["schemes_10us"]
    stated = {
        50: paper["ladder"]["improvement_percent"] | {"combo": slow["combo_average_percent"],
                                                      FULL: slow["full_dram_average_percent"]},
        10: {"spatial": fast["spatial_average_percent"], "combo": fast["combo_average_percent"],
             FULL: fast["full_dram_average_percent"]},
    }
    gained = {"9 us": results["baseline_faster_at_10us"], "33 us": results["baseline_faster_at_10us_dear"]}
    rows = []
    for latency, known_ways in stated.items():
        for cost, pace in (("9 us", "calibrated"), ("33 us", "dear")):
            average = results["averages"][pace][str(latency)]
            rows.append([f"{latency} us", cost, *(percent(average_of(average, way)) for way in ways),
                         percent(gained[cost]) if latency == 10 else ""])
        rows.append([f"{latency} us", "**paper**", *(f"{known_ways[way]} %" if way in known_ways else "" for way in ways),
                     f"{fast['baseline_faster_than_at_50us_percent']} %" if latency == 10 else ""])
    return table(["devices", "a fault", *ways, "baseline faster than at 50 us"], rows)
