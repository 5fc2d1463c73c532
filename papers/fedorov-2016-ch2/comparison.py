"""Policies against LRU: cuts of one program, and averages over several."""

from statistics import median

from common import geometric_mean


def total(found, key):
    """Misses or write-backs of a run, or both together: the lines that go over the memory bus."""
    return found["misses"] + found["writebacks"] if key == "traffic" else found[key]


def ratio(policies, policy, key):
    """Of LRU's; what never happened counts as once, so that averages can be taken."""
    return max(total(policies[policy], key), 1) / max(total(policies["lru"], key), 1)


def cut(policies, policy, key):
    """The share of LRU's that is saved; negative where there is more."""
    return 1 - ratio(policies, policy, key)


def average_cut(programs, policy, key):
    """Over programs' runs by policy, by the geometric mean of what is left."""
    return 1 - geometric_mean([ratio(policies, policy, key) for policies in programs])


def median_cut(programs, policy, key):
    """Of the program in the middle: two that save nearly all weigh no more than others in it."""
    return median(cut(policies, policy, key) for policies in programs)


def gain(policies, policy, memory):
    """Of instructions a cycle with a memory, over LRU's; None where they are not known."""
    ours, lru = (policies[name]["memories"][memory]["ipc"] for name in (policy, "lru"))
    return ours / lru - 1 if ours and lru else None


def average_saving(programs, policy, memory):
    """Of LRU's energy with a memory, by the geometric mean; None where no energy is known."""
    joules = [[policies[name]["memories"][memory]["joules"] for name in (policy, "lru")] for policies in programs]
    known = [ours / lru for ours, lru in joules if ours and lru]
    return 1 - geometric_mean(known) if known else None


def longer(policies, policy):
    """How many times as long memory lasts as with LRU if it takes so many writes and no more:
    the paper's lifetimes are the inverse of its write-backs."""
    return 1 / ratio(policies, policy, "writebacks")


def average_gain(values):
    """Geometric, over those that are known; None where none is."""
    known = [1 + value for value in values if value is not None]
    return geometric_mean(known) - 1 if known else None
