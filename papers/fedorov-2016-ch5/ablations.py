"""What parts of the chapter's design are worth: LIFO, the overweight, the degree, and throttling by occupancy."""

from common import percent, table
from machine import READAHEAD, RECORDED_NS, average_improvement, improvement, simulate
from ways import STANDS_FOR

# Schemes with a secondary queue, as the chapter has them: LIFO, combo with an overweight of 10 % and a degree of 16.
QUEUED = ["spatial", "temporal", "combo", "vldp"]
# Others than their own. Combo's children name 24 pages at most.
DEGREES = {"spatial": [4, 16], "temporal": [4, 8], "combo": [4, 8, 24]}
# The chapter does not say how many hints its queue holds. Ours holds 2048, hardly ever so many.
FEW = "hints=32"
VARIANTS = [
    *QUEUED,
    *(f"{scheme}:queue=fifo" for scheme in QUEUED),
    *(f"combo:{FEW}{order}" for order in ("", ",queue=fifo")),
    "combo:overweight=0",
    *(f"{scheme}:degree={degree}" for scheme, degrees in DEGREES.items() for degree in degrees),
    "combo:throttle=occupancy",
    f"combo:{FEW},throttle=occupancy",
]
# Devices and time of an instruction; none is the calibrated one. With one device hints wait.
MACHINES = {"recorded, ten devices": (10, RECORDED_NS), "calibrated, ten devices": (10, None),
            "recorded, one device": (1, RECORDED_NS)}
# Changes of combo, each with what it is compared with.
CHANGES = {
    "FIFO": ("combo:queue=fifo", "combo"),
    "FIFO, 32 hints": (f"combo:{FEW},queue=fifo", f"combo:{FEW}"),
    "no overweight": ("combo:overweight=0", "combo"),
    **{f"degree of {degree}": (f"combo:degree={degree}", "combo") for degree in DEGREES["combo"]},
    "throttled": ("combo:throttle=occupancy", "combo"),
    "throttled, 32 hints": (f"combo:{FEW},throttle=occupancy", f"combo:{FEW}"),
}


def ablations_of(trace, calibrated_ns):
    """Returns, by machine, the time that each variant saves of the baseline's, at 50 us."""
    return {name: saved(trace, devices, instruction_ns or calibrated_ns)
            for name, (devices, instruction_ns) in MACHINES.items()}


def saved(trace, devices, instruction_ns):
    pace = {"instruction_time": f"{instruction_ns}ns"}
    [baseline] = simulate(trace, 50, devices=1, prefetch=READAHEAD, **pace)
    runs = simulate(trace, 50, devices=devices, prefetch=VARIANTS, **pace)
    return {variant: round(improvement(run, baseline), 4) for variant, run in zip(VARIANTS, runs)}


def averages(programs):
    """Returns the average of each variant over all programs, by machine."""
    found = [one["ablations"] for one in programs.values()]
    return {machine: {variant: average_improvement([one[machine][variant] for one in found]) for variant in VARIANTS}
            for machine in MACHINES}


def tables(results):
    """Returns the averages of all variants, and what combo gains in each program by each change."""
    found = {name: one["ablations"] for name, one in results["programs"].items()}
    rows = [[scheme, settings.replace(",", ", ") or "the chapter's",
             *(percent(results["ablations"][machine][variant]) for machine in MACHINES)]
            for variant in VARIANTS for scheme, _, settings in [variant.partition(":")]]
    gains = {machine: [[name, STANDS_FOR[name], *(gain(one[machine], *pair) for pair in CHANGES.values())]
                       for name, one in found.items()] for machine in MACHINES}
    return {
        "ablations": table(["scheme", "settings", *MACHINES], rows),
        **{f"ablations-{name}": table(["program", "stands for", *CHANGES], gains[machine])
           for name, machine in (("ten", "recorded, ten devices"), ("one", "recorded, one device"))},
    }


def gain(found, variant, other):
    """Returns the points by which a variant saves more than another."""
    return percent(found[variant] - found[other], sign=True)
