"""Measures programs of chapter 5 at a footprint of 1 GB, and in the same way at their own size: to large.json.

Each is recorded up to ROWS rows, or its end, and the first half of them is warm-up, so that the figures are of the
middle of a program. At its own size it has as many rows less as it is smaller. Takes some 15 minutes a program.
Usage: large.py [PROGRAM...]
"""

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import common  # noqa: E402
from machine import RECORDED_NS  # noqa: E402
from repeat import RECORDING, ladder_of, summary  # noqa: E402
from ways import BY_HASH  # noqa: E402

RESULTS = FOLDER / "large.json"
ROWS = 150_000_000
# The argument that says how large a program is, here and there, and how much larger that makes it. Not here: the tree,
# which was done from its start to its end, and the triangles, whose graph is not made after so many rows.
SIZES = {
    "kmeans": ("150000", "5400000", 36),
    "ratings": ("800000", "26000000", 32.5),
    **dict.fromkeys(("distances", "components", "strong", "ranks"), ("16", "22", 64)),
}


def measure(trace, rows):
    """Measures the second half of a recording at 50 us, as recorded."""
    runs = ladder_of(trace, 50, RECORDED_NS, warmup=rows // 2)
    found = summary(runs)
    del found["settings"]
    return found | {"footprint_mb": round(runs["baseline"]["footprint_pages"] * 4096 / 1e6, 1), "rows": rows}


def measure_both(bench, name):
    """Measures a program at 1 GB and at its own size. The large recording is not kept."""
    small, large, ratio = SIZES[name]
    program = bench.programs[name]
    sized = [large if word == small else word for word in program["command"]]
    bench.programs[f"{name}-large"] = program | {"command": sized}
    trace = bench.record(f"{name}-large", ROWS, *RECORDING)
    rows = common.trace_info(trace)["accesses"]
    common.say(f"simulating {name}")
    found = {"large": measure(trace, rows)}
    trace.unlink()
    rows = round(rows / ratio)
    return found | {"small": measure(bench.record(name, rows, *RECORDING), rows)}


def main():
    names = sys.argv[1:] or [name for name in BY_HASH if name in SIZES]
    if not set(names) <= set(SIZES):
        sys.exit(__doc__)
    bench = common.Bench(common.work_directory(FOLDER))
    for name in names:
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        common.write_json(RESULTS, kept | {name: measure_both(bench, name)})


if __name__ == "__main__":
    main()
