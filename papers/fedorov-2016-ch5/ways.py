"""Names of the chapter's runs, and places of their figures in the results."""

from hashlib import sha256

# The program that stands for each program of SparkBench.
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
# How programs hold their records (programs/objects.h), and those that differ from the first.
LAYOUTS = {"arrays": "", "objects": "-boxed", "collected": "-collected"}
BOXED = [name for name in STANDS_FOR if name not in ("kmeans", "tree")]
# Programs that run together: two, four and eight neighbours in the order of their names' hashes.
BY_HASH = sorted(STANDS_FOR, key=lambda name: sha256(name.encode()).hexdigest())
TOGETHER = {size: [BY_HASH[at:at + size] for at in range(0, len(BY_HASH), size)] for size in (1, 2, 4, 8)}
SCHEMES = ["spatial", "temporal", "combo", "vldp", "corp"]
EXTRA = [1, 3, 7]
LADDER = ["deadline", "no readahead", "10 devices", "corp"]
FULL = "full DRAM"
# Constituents of combo, which name pages.
CONSTITUENTS = ["spatial", "temporal", "spatial+temporal"]
ENDS = ["filtered", "wiped", "in_memory", "issued"]
TITLES = {"recorded": "0.5 ns an instruction", "calibrated": "instructions slower, so that DRAM alone saves 34 %"}


def of_pace(programs, pace, latency):
    return {name: one[pace][str(latency)] for name, one in programs.items()}


def value_of(one, way):
    return one["full_dram"] if way == FULL else one["ways"][way]["improvement"]


def average_of(average, way):
    return average["full_dram"] if way == FULL else average["improvement"][way]


def constituents(results, one_device):
    """Returns the fates of combo's prefetches by constituent, for each program and on average."""
    if one_device:
        each = [one["constituents_on_one_device"] for one in results["programs"].values()]
        return each, results["constituents_on_one_device"]
    each = [one["constituents"] for one in of_pace(results["programs"], "calibrated", 50).values()]
    return each, results["averages"]["calibrated"]["50"]["constituents"]
