"""Exact counts of the persistent programs' writes and flushes, and their measured times."""

import statistics

ALLOCATORS = ["naive", "nvwa"]
LOGS = ["word", "object", "hybrid"]
PHASES = ["put", "update", "delete"]
COUNTED = ["lines", "fences", "bytes"]


def allocations(bench, sizes):
    """Returns the allocator's own lines, by number of elements and allocator: table 2."""
    found = {}
    for elements in sizes:
        of_size = found[str(elements)] = {}
        for allocator in ALLOCATORS:
            options = ["--program", "objects", "--allocator", allocator]
            phases = bench.count(options, elements, ["allocate", "free"])
            of_size[allocator] = {name: allocator_s(phase) for name, phase in phases.items()}
    return found


def allocator_s(phase):
    """Returns the allocator's part of a phase: its lines without objects and the pointers to them; fences."""
    return {"lines": phase["lines"] - phase["data_lines"], "fences": phase["fences"]}


def combinations():
    """Returns options of `persistence_cost` by (program, allocator, log)."""
    tables = {
        ("table", allocator, log): ["--allocator", allocator, "--log", log]
        for allocator in ALLOCATORS for log in LOGS}
    trees = {
        ("tree", allocator, "its own"): ["--program", "tree", "--allocator", allocator] for allocator in ALLOCATORS}
    return tables | trees


def operations(bench, elements, repeats):
    """Returns the cost of an operation by combination and phase: counts, which are the same each time,
    and processor time, from interleaved rounds."""
    rounds = {combination: [] for combination in combinations()}
    for _ in range(repeats):
        for combination, options in combinations().items():
            rounds[combination].append(bench.count(options, elements, PHASES))
    return [
        {"program": program, "allocator": allocator, "log": log, "phases": {
            phase: an_operation([found[phase] for found in founds]) for phase in PHASES}}
        for (program, allocator, log), founds in rounds.items()]


def an_operation(found):
    """Returns the cost of an operation of one phase, from all its rounds."""
    operations = found[0]["operations"]
    seconds = [one["cpu_s"] / operations for one in found]
    return {key: found[0][key] / operations for key in COUNTED} | {
        "measured_us": {
            "median": 1e6 * statistics.median(seconds),
            "least": 1e6 * min(seconds),
            "most": 1e6 * max(seconds),
        }}


def of(rows, program, allocator, log):
    """Returns the phases of a combination."""
    return next(row["phases"] for row in rows
                if (row["program"], row["allocator"], row["log"]) == (program, allocator, log))
