"""What was measured, as medians with their spreads, and beside what must hold."""

from collections import defaultdict
from statistics import median

from jobs import COUNTS, FILE, MEMORY

KEY = ("medium", "peer", "way", "threads", "entries", "operation")
# At most so many lines and fences for each operation; None where only lines are bounded.
COSTS = {"put": (5, 2), "delete": (3, 2), "allocate": (2, None), "free": (1, None)}
# How many times the rate of puts per CPU second of libpmemobj's ways; of the lean ones nothing is demanded.
TIMES = {"transactions": 4, "actions": 2.5, "lean-transactions": None, "lean-actions": None}
SYNCHRONOUS_TIMES, BATCHED_TIMES = 1, 20
OPEN_MS = 50
THREADS_TIMES = 1.6
LINE = 64


def grouped(runs):
    """Lines of all repetitions by what they are of; each list has one a repetition."""
    found = defaultdict(list)
    for line in runs:
        found[tuple(line[name] for name in KEY)].append(line)
    return dict(found)


def by_repetition(lines, clock):
    """Operations a second, by repetition; without a time that the clock can see there is no rate."""
    return {line["repetition"]: line["operations"] / line[clock] for line in lines if line[clock] > 0}


def rates(lines, clock):
    return list(by_repetition(lines, clock).values())


def spread(values):
    return {"median": median(values), "smallest": min(values), "largest": max(values)} if values else None


def rows(runs):
    """A row each: its key and, as spreads, operations per CPU second and per second of wall time."""
    found = []
    for key, lines in grouped(runs).items():
        if key[0] != COUNTS:
            speeds = {"per_cpu_s": spread(rates(lines, "cpu_s")), "per_wall_s": spread(rates(lines, "wall_s"))}
            found.append(dict(zip(KEY, key)) | {"operations": lines[0]["operations"]} | speeds)
    return found


def counts(runs):
    """Lines and fences per operation. What is stored past the cache takes its lines too."""
    found = []
    for key, (line, *_) in grouped(runs).items():
        if key[0] == COUNTS:
            lines = line["lines"] + line["streamed_bytes"] / LINE
            each = {"lines": lines / line["operations"], "fences": line["fences"] / line["operations"]}
            found.append(dict(zip(KEY, key)) | each)
    return found


# Bars


def bars(runs):
    """What must hold, each with what was found: None where it was not measured."""
    groups, costs = grouped(runs), counts(runs)
    sizes = sorted({key[4] for key in groups if key[0] == MEMORY})
    found = [cost_bar(costs, operation, *most) for operation, most in COSTS.items()]
    for entries in sizes:
        found += memory_bars(groups, entries)
    for entries in sizes:
        found += file_bars(groups, entries)
    return found + [open_bar(groups, entries) for entries in sizes[-1:]]


def cost_bar(costs, operation, lines, fences):
    name = f"{operation}: at most {lines} {'line' if lines == 1 else 'lines'}" + (f" and {fences} fences" if fences else "")
    ours = [row for row in costs if (row["peer"], row["operation"]) == ("terrace", operation) and row["way"] != "growing"]
    bar = {"bar": name, "entries": None, "needs": [lines, fences], "found": None, "ok": None}
    if not ours:
        return bar
    # Records of chunks come on top of each operation's own, once in thousands.
    ok = round(ours[0]["lines"], 1) <= lines and (fences is None or round(ours[0]["fences"], 1) <= fences)
    return bar | {"found": [ours[0]["lines"], ours[0]["fences"]], "ok": ok}


def memory_bars(groups, entries):
    def puts(peer, way, threads=1):
        return groups.get((MEMORY, peer, way, threads, entries, "put"))

    ours = puts("terrace", "sized")
    found = []
    for way, times in TIMES.items():
        name = f"puts per CPU second, against libpmemobj's {way}"
        found.append(times_bar(name, entries, times, ours, puts("libpmemobj", way), "cpu_s"))
    # Its way is the instruction that it uses.
    loop = next((key[2] for key in groups if key[1] == "floor"), None)
    floor = puts("floor", loop)
    found.append(times_bar("puts per CPU second, against the bare loop", entries, None, ours, floor, "cpu_s"))
    for name, times, both, one in (
        ("puts of two threads, against one", THREADS_TIMES, puts("terrace", "sized", 2), ours),
        ("the same of the bare loop, which is what the machine can", None, puts("floor", loop, 2), floor),
    ):
        found.append(times_bar(name, entries, times, both, one, "wall_s"))
    return found


def file_bars(groups, entries):
    def puts(peer, way):
        return groups.get((FILE, peer, way, 1, entries, "put"))

    # LMDB's faster way.
    ways = [puts("LMDB", way) for way in ("synchronous", "synchronous-writemap")]
    theirs = max(filter(None, ways), key=lambda lines: median(rates(lines, "wall_s")), default=None)
    return [
        times_bar(name, entries, times, puts("terrace", way), theirs, "wall_s")
        for name, way, times in (
            ("puts on a plain file, each durable, against LMDB's", "synchronous", SYNCHRONOUS_TIMES),
            ("the same, 100 a commit, against LMDB's of one", "batched", BATCHED_TIMES),
        )
    ]


def times_bar(name, entries, needs, ours, theirs, clock):
    """How many times as fast ours is: of the medians, and the smallest and largest of a repetition."""
    bar = {"bar": name, "entries": entries, "needs": needs, "found": None, "ok": None}
    if not ours or not theirs:
        return bar
    mine, others = by_repetition(ours, clock), by_repetition(theirs, clock)
    pairs = [mine[repetition] / others[repetition] for repetition in mine.keys() & others.keys()]
    if not pairs:
        return bar
    found = spread(pairs) | {"median": median(mine.values()) / median(others.values())}
    return bar | {"found": found, "ok": None if needs is None else found["median"] >= needs}


def open_bar(groups, entries):
    lines = groups.get((MEMORY, "terrace", "sized", 1, entries, "open"))
    found = spread([1e3 * line["wall_s"] for line in lines]) if lines else None
    ok = found["median"] < OPEN_MS if found else None
    return {"bar": "ms to open and get once", "entries": entries, "needs": OPEN_MS, "found": found, "ok": ok}
