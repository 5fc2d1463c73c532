"""judge.py FILE MIB: checks the figures of a run of program.py in a file of `terrace run --json`."""

import json
import sys

PYTHON = 24 << 20  # the most that the interpreter takes for itself

document = json.load(open(sys.argv[1]))
size = int(sys.argv[2]) << 20
for way in document["runs"]:
    print(json.dumps(way, indent=1))
    assert way["exit"] == {"code": 0}, "the program failed"
    assert way["oom_kills"] == 0, "processes were killed"
    assert size <= way["footprint_bytes"] <= size + PYTHON, "footprint"
    if way["way"] != "all-dram":
        assert way["major_faults"] > 0, "no major fault"
        assert way["tier_written_bytes"] >= size // 4, "the tier was not written to"
    zram = way.get("zram", {})
    if "demoted" in zram:
        pages = size // 4096 // 4
        assert zram["demoted"] >= pages, "idle pages stayed in DRAM"
        assert zram["read_back"] >= pages, "demoted pages were not read"
