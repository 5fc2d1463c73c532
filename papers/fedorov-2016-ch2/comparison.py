"""Policies against LRU: cuts of one program, and averages over several."""

from statistics import median

from common import geometric_mean


def total(found, key):
    """Returns misses or write-backs of a run, or both together: the lines that go over the memory bus."""
    return found["misses"] + found["writebacks"] if key == "traffic" else found[key]


def ratio(policies, policy, key):
    """Returns the ratio to LRU's count; a count of 0 is taken as 1, so that averages can be taken."""
    return max(total(policies[policy], key), 1) / max(total(policies["lru"], key), 1)


def cut(policies, policy, key):
    """Returns the share of LRU's count that is saved; negative if there is more."""
    return 1 - ratio(policies, policy, key)


def average_cut(programs, policy, key):
    """Returns the cut over the programs' runs by policy, by the geometric mean of the remaining shares."""
    return 1 - geometric_mean([ratio(policies, policy, key) for policies in programs])


def median_cut(programs, policy, key):
    """Returns the median cut, in which programs that save nearly everything weigh no more than others."""
    return median(cut(policies, policy, key) for policies in programs)


def gain(policies, policy, memory):
    """Returns the gain in instructions per cycle with a memory over LRU; None if it is not known."""
    ours, lru = (policies[name]["memories"][memory]["ipc"] for name in (policy, "lru"))
    return ours / lru - 1 if ours and lru else None


def average_saving(programs, policy, memory):
    """Returns the share of LRU's energy that is saved with a memory, by the geometric mean; None if no
    energy is known."""
    joules = [[policies[name]["memories"][memory]["joules"] for name in (policy, "lru")] for policies in programs]
    known = [ours / lru for ours, lru in joules if ours and lru]
    return 1 - geometric_mean(known) if known else None


# Cycles a second of the core: table 2.1 has none, and `crates/sim/src/llc/core.rs` assumes this.
CLOCK = 2e9


def seconds(one, policy, memory):
    """Returns the time of what was measured of a program, with a share of the recording's instructions that is
    that of its requests."""
    share = one["requests"] / (one["requests"] + (one["warmup"] or 0))
    return share * one["instructions"] / (one["policies"][policy]["memories"][memory]["ipc"] * CLOCK)


def saved_watts(one, memory):
    """Returns the power that ARI saves in a memory, beside LRU's energy for the same work."""
    ours, lru = (one["policies"][policy]["memories"][memory]["joules"] for policy in ("ari", "lru"))
    return (lru - ours) / seconds(one, "ari", memory)


def saving_with(programs, memory, watts):
    """Returns the share of LRU's energy that ARI saves if its own hardware takes `watts`, by the geometric mean."""
    def left(one):
        ours, lru = (one["policies"][policy]["memories"][memory]["joules"] for policy in ("ari", "lru"))
        return (ours + watts * seconds(one, "ari", memory)) / lru
    return 1 - geometric_mean([left(one) for one in programs])


def longer(policies, policy):
    """Returns how many times as long memory lasts as with LRU if it endures a fixed number of writes:
    the paper's lifetimes are the inverse of its write-backs."""
    return 1 / ratio(policies, policy, "writebacks")


def average_gain(values):
    """Returns the geometric mean of the known gains; None if none is known."""
    known = [1 + value for value in values if value is not None]
    return geometric_mean(known) - 1 if known else None
