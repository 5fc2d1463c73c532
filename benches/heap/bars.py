"""Measurements as medians with their spreads, and beside the required values."""

from collections import defaultdict
from statistics import median

from jobs import BYTES, COUNTS, FILE, ITEMS, MEMORY

KEY = ("medium", "peer", "way", "threads", "entries", "operation", "data")
# Greatest numbers of lines and fences for each operation; None if only lines are bounded.
COSTS = {"put": (5, 2), "delete": (3, 2)}
# Lines of an allocation or a free beyond those that would be written anyway.
ALLOCATE_LINES, FREE_LINES = 2, 1
# Of 144 bytes at a multiple of 16.
OBJECT_LINES = 3
# Required ratio of puts per CPU second to libpmemobj's ways; the lean ways have no requirement.
TIMES = {"transactions": 4, "actions": 2.5, "lean-transactions": None, "lean-actions": None}
LMDB_SYNCHRONOUS = ("synchronous", "synchronous-writemap")
SYNCHRONOUS_TIMES, BATCHED_TIMES = 1, 20
OPEN_MS = 50
THREADS_TIMES = 1.6
# With keys and values of any length: required ratios of puts to equally durable peers, and of reads.
AS_DURABLE_TIMES, READ_TIMES = 1, 1 / 1.2
LINE = 64


def grouped(runs):
    """Groups the lines of all repetitions by operation; each list has one line per repetition."""
    found = defaultdict(list)
    for line in runs:
        # Runs from before there were other kinds of data do not name it.
        line = {"data": ITEMS} | line
        found[tuple(line[name] for name in KEY)].append(line)
    return dict(found)


def different(runs):
    """Names the visits whose sums differ although the tables were the same."""
    sums = defaultdict(set)
    for key, lines in grouped(runs).items():
        _, _, _, _, entries, operation, data = key
        # An iterator visits what a cursor does.
        operation = "scan" if operation == "range" else operation
        sums[f"{operation}, {data}, {entries:,} entries"] |= {line["sum"] for line in lines if "sum" in line}
    return [name for name, found in sums.items() if len(found) > 1]


def by_repetition(lines, clock):
    """Returns operations per second, by repetition; there is no rate if the time is too short for the clock."""
    return {line["repetition"]: line["operations"] / line[clock] for line in lines if line[clock] > 0}


def rates(lines, clock):
    return list(by_repetition(lines, clock).values())


def spread(values):
    return {"median": median(values), "smallest": min(values), "largest": max(values)} if values else None


def rows(runs):
    """Returns rows: a key and, as spreads, operations per CPU second and per second of wall time."""
    found = []
    for key, lines in grouped(runs).items():
        if key[0] != COUNTS:
            speeds = {"per_cpu_s": spread(rates(lines, "cpu_s")), "per_wall_s": spread(rates(lines, "wall_s"))}
            found.append(dict(zip(KEY, key)) | {"operations": lines[0]["operations"]} | speeds)
    return found


def counts(runs):
    """Returns lines and fences per operation. Data stored past the cache counts as lines, too."""
    found = []
    for key, (line, *_) in grouped(runs).items():
        if key[0] == COUNTS:
            lines = line["lines"] + line["streamed_bytes"] / LINE
            each = {"lines": lines / line["operations"], "fences": line["fences"] / line["operations"]}
            found.append(dict(zip(KEY, key)) | each)
    return found


# Bars


def bars(runs):
    """Returns the requirements, each with its measured value, or None if it was not measured."""
    groups, costs = grouped(runs), counts(runs)
    sizes = sorted({key[4] for key in groups if key[0] == MEMORY and key[6] == ITEMS})
    found = [cost_bar(costs, operation, *most) for operation, most in COSTS.items()] + allocator_bars(costs)
    for entries in sizes:
        found += memory_bars(groups, entries)
    for entries in sizes:
        found += file_bars(groups, entries)
    found += [open_bar(groups, entries) for entries in sizes[-1:]]
    for entries in sorted({key[4] for key in groups if key[6] == BYTES}):
        found += put_bars_of_bytes(groups, entries) + read_bars_of_bytes(groups, entries)
    return found


def cost_bar(costs, operation, lines, fences):
    bar = {"bar": f"{operation}: at most so many lines and fences", "entries": None, "needs": [lines, fences]}
    ours = cost_of(costs, "sized", operation)
    if not ours:
        return bar | {"found": None, "ok": None}
    found = [ours["lines"], ours["fences"]]
    return bar | {"found": found, "ok": within(found, bar["needs"])}


def allocator_bars(costs):
    """Returns the allocator's bars, without an object's own lines for allocations, or the word's change for frees."""
    made, freed, changed = (cost_of(costs, "allocator", operation) for operation in ("allocate", "free", "set"))
    found = [
        ("allocate: at most so many lines besides the object's own", ALLOCATE_LINES, made and made["lines"] - OBJECT_LINES),
        ("free: at most so many lines besides those of the pointer's change", FREE_LINES,
         freed and changed and freed["lines"] - changed["lines"]),
    ]  # fmt: skip
    return [
        {"bar": name, "entries": None, "needs": [most], "found": lines and [lines], "ok": lines and within([lines], [most])}
        for name, most, lines in found
    ]


def cost_of(costs, way, operation):
    wanted = ("terrace", way, operation)
    return next((row for row in costs if (row["peer"], row["way"], row["operation"]) == wanted), None)


def within(found, most):
    """Returns whether counts are within bounds. Records of chunks and the like add to them once in hundreds of
    operations."""
    return all(round(value, 1) <= limit for value, limit in zip(found, most, strict=True))


def memory_bars(groups, entries):
    def puts(peer, way, threads=1):
        return groups.get((MEMORY, peer, way, threads, entries, "put", ITEMS))

    ours = puts("terrace", "sized")
    found = []
    for way, times in TIMES.items():
        name = f"puts per CPU second, against libpmemobj's {way}"
        found.append(times_bar(name, entries, times, ours, puts("libpmemobj", way), "cpu_s"))
    for way in ("two-fences", "one-fence"):
        name = f"puts per CPU second, against the bare loop with {way.replace('-', ' ')}"
        found.append(times_bar(name, entries, None, ours, puts("floor", way), "cpu_s"))
    floors = [puts("floor", "one-fence", threads) for threads in (2, 1)]
    for name, times, both, one in (
        ("puts of two threads, against one", THREADS_TIMES, puts("terrace", "sized", 2), ours),
        ("the same of the bare loop, which is what the machine can", None, *floors),
    ):
        found.append(times_bar(name, entries, times, both, one, "wall_s"))
    return found


def file_bars(groups, entries):
    def puts(peer, way):
        return groups.get((FILE, peer, way, 1, entries, "put", ITEMS))

    theirs = faster([puts("LMDB", way) for way in LMDB_SYNCHRONOUS], "wall_s")
    return [
        times_bar(name, entries, times, puts("terrace", way), theirs, "wall_s")
        for name, way, times in (
            ("puts on a plain file, each durable, against LMDB's", "synchronous", SYNCHRONOUS_TIMES),
            ("the same, 100 a commit, against LMDB's of one", "batched", BATCHED_TIMES),
        )
    ]


def faster(ways, clock):
    """Returns the faster of these ways; some may not have been measured."""
    return max(filter(None, ways), key=lambda lines: median(rates(lines, clock)), default=None)


def put_bars_of_bytes(groups, entries):
    """Returns bars of both maps of Terrace against peers that are as durable, and against less durable peers."""
    found = []
    for medium, clock, where, ours in (
        (MEMORY, "cpu_s", "in memory", {"tree": "tree", "hash map": "sized"}),
        (FILE, "wall_s", "on a plain file", {"tree": "tree-synchronous", "hash map": "synchronous"}),
    ):

        def puts(peer, *ways):
            return faster([groups.get((medium, peer, way, 1, entries, "put", BYTES)) for way in ways], clock)

        others = [("LMDB's, as durable", AS_DURABLE_TIMES, puts("LMDB", *LMDB_SYNCHRONOUS))]
        others += [("redb's, as durable", AS_DURABLE_TIMES, puts("redb", "immediate"))]
        if medium == MEMORY:
            others += [("LMDB's that nothing synchronises", None, puts("LMDB", "unsynchronised"))]
            others += [("redb's that nothing synchronises", None, puts("redb", "none"))]
        for name, way in ours.items():
            for whose, times, theirs in others:
                bar = f"bytes: puts into a {name} {where}, against {whose}"
                found.append(times_bar(bar, entries, times, puts("terrace", way), theirs, clock))
    return found


def read_bars_of_bytes(groups, entries):
    def reads(peer, way, operation):
        return groups.get((MEMORY, peer, way, 1, entries, operation, BYTES))

    found = []
    for name, way, operation, theirs, times in (
        ("gets of a tree, against {}'s with a transaction each", "tree", "get", "get", READ_TIMES),
        ("gets of a hash map, against {}'s with a transaction each", "sized", "get", "get", READ_TIMES),
        ("gets of a tree, against {}'s of 1000 a transaction", "tree", "get", "get-batched", None),
        ("gets of a hash map, against {}'s of 1000 a transaction", "sized", "get", "get-batched", None),
        ("scans of 100 with a cursor, against {}'s", "tree", "scan", "scan", READ_TIMES),
        ("scans of 100 with an iterator, against {}'s", "tree", "range", "scan", None),
        ("a scan of all with a cursor, against {}'s", "tree", "iterate", "iterate", READ_TIMES),
    ):
        ours = reads("terrace", way, operation)
        # Ratios to redb are shown without a requirement.
        for peer, peers_way, needs in (("LMDB", "unsynchronised", times), ("redb", "immediate", None)):
            others = reads(peer, peers_way, theirs)
            found.append(times_bar(f"bytes: {name.format(peer)}", entries, needs, ours, others, "cpu_s"))
    return found


def times_bar(name, entries, needs, ours, theirs, clock):
    """Returns how many times as fast Terrace is: the ratio of medians, and the smallest and largest ratio of a
    repetition."""
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
    lines = groups.get((MEMORY, "terrace", "sized", 1, entries, "open", ITEMS))
    found = spread([1e3 * line["wall_s"] for line in lines]) if lines else None
    ok = found["median"] < OPEN_MS if found else None
    return {"bar": "ms to open and get once", "entries": entries, "needs": OPEN_MS, "found": found, "ok": ok}
