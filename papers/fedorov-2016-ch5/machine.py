"""The machine of the chapter, in simulation."""

import common

# The dissertation ran Linux 3.13, which reads whole blocks, used or not.
READAHEAD = "readahead:fixed"
# The simulator's own time of an instruction.
RECORDED_NS = 0.5
BASE = {"dram": "50%", "memory": "flash", "channels": 1, "order": "plain", "replacement": "linux",
        "fault_cost": "linux"}


def simulate(traces, latency, warmup=0, **options):
    """Simulates a machine whose devices take `latency` us, to the programs' end."""
    device = {"read_latency": f"{latency}us", "write_latency": f"{latency}us"}
    return common.simulate(traces, warmup, **(BASE | device | options))


def improvement(run, baseline):
    """Returns the share of the baseline's time by which a run is shorter."""
    return 1 - run["time_ns"] / baseline["time_ns"]


def average_improvement(values):
    """Returns the geometric mean of normalized times, as the chapter's AVG bars."""
    return round(1 - common.geometric_mean([1 - value for value in values]), 4)
