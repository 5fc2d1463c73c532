"""What the persistent programs write and flush, counted exactly, and how long they take, measured."""

import statistics

ALLOCATORS = ["naive", "nvwa"]
LOGS = ["word", "object", "hybrid"]
PHASES = ["put", "update", "delete"]
COUNTED = ["lines", "fences", "bytes"]


def allocations(bench, sizes):
    """Lines that are the allocator's own, by number of elements and allocator: table 2."""
    found = {}
    for elements in sizes:
        of_size = found[str(elements)] = {}
        for allocator in ALLOCATORS:
            options = ["--program", "objects", "--allocator", allocator]
            phases = bench.count(options, elements, ["allocate", "free"])
            of_size[allocator] = {name: allocator_s(phase) for name, phase in phases.items()}
    return found


def allocator_s(phase):
    """Of a phase: all lines without those of objects and of pointers to them; fences."""
    return {"lines": phase["lines"] - phase["data_lines"], "fences": phase["fences"]}


def combinations():
    """Options of the example by (program, allocator, log)."""
    tables = {
        ("table", allocator, log): ["--allocator", allocator, "--log", log]
        for allocator in ALLOCATORS for log in LOGS}
    trees = {
        ("tree", allocator, "its own"): ["--program", "tree", "--allocator", allocator] for allocator in ALLOCATORS}
    return tables | trees


def operations(bench, elements, repeats):
    """By combination and phase what an operation costs: counts, which are the same each time, and
    processor time, of so many rounds that take turns."""
    rounds = {combination: [] for combination in combinations()}
    for _ in range(repeats):
        for combination, options in combinations().items():
            rounds[combination].append(bench.count(options, elements, PHASES))
    return [
        {"program": program, "allocator": allocator, "log": log, "phases": {
            phase: an_operation([found[phase] for found in founds]) for phase in PHASES}}
        for (program, allocator, log), founds in rounds.items()]


def an_operation(found):
    """Of one phase, from all its rounds."""
    operations = found[0]["operations"]
    seconds = [one["cpu_s"] / operations for one in found]
    return {key: found[0][key] / operations for key in COUNTED} | {
        "measured_us": {
            "median": 1e6 * statistics.median(seconds),
            "least": 1e6 * min(seconds),
            "most": 1e6 * max(seconds),
        }}


def of(rows, program, allocator, log):
    """The phases of a combination."""
    return next(row["phases"] for row in rows
                if (row["program"], row["allocator"], row["log"]) == (program, allocator, log))
