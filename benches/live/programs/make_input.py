"""make_input.py sort|xz: generates that program's input in $BENCH_DATA, once, from a fixed seed."""
import base64
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path


def sort_input(path):
    """Makes records of 4 to 12 KB with nothing in common, and the checksum of the sorted records."""
    rng = random.Random(1)
    records = [base64.b64encode(rng.randbytes(rng.randrange(3000, 9000))) + b"\n" for _ in range(70_000)]
    path.write_bytes(b"".join(records))
    cksum = subprocess.Popen(["cksum"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    path.with_suffix(".cksum").write_bytes(cksum.communicate(b"".join(sorted(records)))[0])


def xz_input(path):
    """Makes successive versions of one file, each with a few lines new and a few restored, as in a tar of backups.

    Nearly all of it matches the version just before, at memory still in DRAM; a
    restored line was last seen anywhere in the earlier versions, and finding it is a
    random read.  With many more restored lines the run would do little else under swap.
    """
    rng = random.Random(1)
    all_lines = []

    def new_line():
        all_lines.append(base64.b64encode(rng.randbytes(57)) + b"\n")
        return all_lines[-1]

    lines = [new_line() for _ in range(1000)]
    with path.open("wb") as file:
        for _ in range(800):
            for _ in range(10):
                lines[rng.randrange(1000)] = new_line()
            for _ in range(25):
                lines[rng.randrange(1000)] = rng.choice(all_lines)
            file.writelines(lines)


INPUTS = {"sort": sort_input, "xz": xz_input}


def main():
    name = sys.argv[1]
    data = Path(os.environ.get("BENCH_DATA") or Path(tempfile.gettempdir()) / "terrace-bench")
    data.mkdir(parents=True, exist_ok=True)
    path = data / f"{name}.txt"
    if not path.exists():
        half_made = data / f"{name}.part"
        INPUTS[name](half_made)
        half_made.rename(path)


main()
