"""The time that the paper's machine would take for the work of a program."""

from dataclasses import dataclass

from common import geometric_mean

# Cycles of a fault in figure 2.
CYCLES = [700, 1400, 2800, 5500, 13000, 27000, 55000]
# The simulator's time of an instruction, by which instructions are counted after the warm-up.
INSTRUCTION_NS = 0.5


@dataclass(frozen=True)
class Model:
    """Times of the paper's machine: its clock, an access to fast memory in ns, and how much longer one to slow memory takes."""

    ghz: float
    fast: float
    ratio: float


def instructions(run):
    """Returns the instructions of a run of `terrace sim pages` after its warm-up."""
    return round(run["times_ns"]["compute"] / INSTRUCTION_NS)


class Work:
    """The work of a program after its warm-up, and the time that the paper's machine would take for it.

    The model: an instruction takes a cycle; what misses the private caches takes `fast` ns in
    fast memory and `ratio` times as long in slow memory; a fault takes its cycles. The threads
    share all of it evenly, so that their number cancels out.
    """

    def __init__(self, found, ghz, ratio):
        self.compute = found["instructions"] / ghz
        self.accesses, self.faults = found["memory_accesses"], found["faults"]
        self.ghz, self.ratio = ghz, ratio

    def time(self, access, cycles=0):
        """Returns the time in ns, with `access` ns per access to memory and `cycles` per fault."""
        faults = self.faults if cycles else 0
        return self.compute + self.accesses * access + faults * cycles / self.ghz

    def all_fast(self, fast):
        """Returns the speed-up of fast memory for everything."""
        return self.time(fast * self.ratio) / self.time(fast)

    def page_cache(self, fast, cycles):
        """Returns the speed-up of a page cache in fast memory over slow memory for everything."""
        return self.time(fast * self.ratio) / self.time(fast, cycles)

    def fault_rate(self, fast):
        """Returns the faults per million cycles of the time with slow memory alone."""
        return 1e6 * self.faults / (self.time(fast * self.ratio) * self.ghz)


def calibrate(works, wanted):
    """Returns the time of a fast access, in ns, at which the mean speed-up of all-fast is `wanted`."""
    low, high = 0.0, 1000.0
    for _ in range(100):
        middle = (low + high) / 2
        if geometric_mean([work.all_fast(middle) for work in works]) < wanted:
            low = middle
        else:
            high = middle
    return high
