"""Results as tables in Markdown."""

import bars
from jobs import BYTES, FILE, ITEMS, MEMORY

NOTHING = "–"
# Operations shown as a rate, in thousands per second, and operations shown as a duration, in ms.
BY_RATE = {
    (MEMORY, ITEMS): ["put", "get", "delete", "allocate", "free", "set"],
    (FILE, ITEMS): ["put"],
    (MEMORY, BYTES): ["put", "get", "get-batched", "scan", "range", "delete"],
    (FILE, BYTES): ["put"],
}
BY_TIME = ["iterate", "open", "open-killed"]


def report(results):
    runs = results["runs"]
    rows = bars.rows(runs)
    parts = [
        "Thousands per CPU second, pool in memory: median (smallest to largest)", rate_table(rows, MEMORY, ITEMS, "per_cpu_s"),
        "Thousands per second of wall time, pool in memory", rate_table(rows, MEMORY, ITEMS, "per_wall_s"),
        "Thousands per second of wall time, on a plain file, synchronised", rate_table(rows, FILE, ITEMS, "per_wall_s"),
        "Thousands per CPU second, on a plain file", rate_table(rows, FILE, ITEMS, "per_cpu_s"),
        "Bytes of any length: thousands per CPU second, pool in memory", rate_table(rows, MEMORY, BYTES, "per_cpu_s"),
        "The same per second of wall time", rate_table(rows, MEMORY, BYTES, "per_wall_s"),
        "Bytes of any length: thousands per second of wall time, on a plain file, synchronised",
        rate_table(rows, FILE, BYTES, "per_wall_s"),
        "Lines and fences per operation, counted", count_table(bars.counts(runs)),
        "What must hold", bar_table(bars.bars(runs)),
    ]  # fmt: skip
    said = [f"MISSING: {sentence}" for sentence in results["missing"]]
    said += [f"FAILED: {failed['job']}: {failed['error']}" for failed in results["failed"]]
    return "\n\n".join([*parts, *said])


def table(heads, lines):
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [heads, ["---"] * len(heads), *lines])


def rate_table(rows, medium, data, clock):
    """Returns a table with a line per peer, way, number of threads and of entries, and a column per operation."""
    found = {}
    for row in rows:
        if (row["medium"], row["data"]) == (medium, data):
            name = (row["peer"], row["way"], row["threads"], row["entries"])
            found.setdefault(name, {})[row["operation"]] = row[clock]
    operations = [name for name in BY_RATE[medium, data] if any(name in cells for cells in found.values())]
    timed = [name for name in BY_TIME if clock == "per_wall_s" and any(name in cells for cells in found.values())]
    heads = ["peer", "way", "threads", "entries", *operations, *(f"{name} ms" for name in timed)]
    lines = [
        [*name[:3], f"{name[3]:,}", *(thousands(cells.get(operation)) for operation in operations),
         *(milliseconds(rows, medium, data, name, operation) for operation in timed)]
        for name, cells in sorted(found.items(), key=lambda item: (item[0][3], item[0][:3]))
    ]  # fmt: skip
    return table(heads, lines) if lines else NOTHING


def milliseconds(rows, medium, data, name, operation):
    """Returns the time of the whole operation; for an iteration, over all entries."""
    wanted = (medium, *name, operation, data)
    row = next((row for row in rows if tuple(row[key] for key in bars.KEY) == wanted), None)
    if not row:
        return NOTHING
    taken = [1e3 * row["operations"] / row["per_wall_s"][which] for which in ("median", "largest", "smallest")]
    return spread_text(*taken)


def thousands(spread):
    if not spread:
        return NOTHING
    return spread_text(*(spread[which] / 1e3 for which in ("median", "smallest", "largest")))


def spread_text(median, smallest, largest):
    return f"{figure(median)} ({figure(smallest)} to {figure(largest)})"


def figure(value):
    """Writes a number with three digits, or as many as stand before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def count_table(costs):
    lines = [
        [row["peer"], row["way"], row["operation"], f"{row['lines']:.2f}", f"{row['fences']:.2f}"] for row in costs
    ]
    return table(["peer", "way", "operation", "lines", "fences"], lines)


def bar_table(found):
    return table(["what", "entries", "needs", "found", ""], map(bar_cells, found))


def bar_cells(bar):
    entries = f"{bar['entries']:,}" if bar["entries"] else NOTHING
    needs, found = bar["needs"], bar["found"]
    if isinstance(needs, list):
        needs = " + ".join(map(str, needs))
        found = found and " + ".join(f"{part:.2f}" for part in found)
    elif found:
        found = spread_text(*(found[which] for which in ("median", "smallest", "largest")))
    if isinstance(needs, float):
        needs = figure(needs)
    verdict = {True: "ok", False: "SHORT", None: "" if bar["found"] else "not measured"}[bar["ok"]]
    return [bar["bar"], entries, needs or NOTHING, found or NOTHING, verdict]
