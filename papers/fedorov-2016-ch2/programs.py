"""The programs of this paper: which of them are there, and their recordings.

Usage: programs.py    names the Debian packages that they are in
"""

import sys
import tomllib
from functools import partial
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

import common  # noqa: E402
import inputs  # noqa: E402

# Only what the private levels let through.
RECORDING = ["--filter", "l1l2"]


class Programs(common.Installed):
    """The programs of `programs/programs.toml`, without those that are not installed."""

    def __init__(self, work):
        made = {name: partial(inputs.make, name=name) for name in inputs.MAKERS}
        super().__init__(work, FOLDER / "programs", made)
        self.places["cc1"] = common.first_line(["gcc", "-print-prog-name=cc1"])

    def compile(self, source):
        if source.stem not in self.missing:
            super().compile(source)

    def trace(self, name, rows, setup):
        """Of a program after the first `setup` rows: `rows` at most."""
        return common.main_part(self.record(name, setup + rows, *RECORDING), setup)

    def setup(self, name):
        """Rows that a program makes before what it is here for."""
        return self.programs[name].get("setup", 0)


def packages():
    programs = tomllib.loads((FOLDER / "programs" / "programs.toml").read_text())
    return sorted({package for program in programs.values() for package in program["packages"]})


if __name__ == "__main__":
    print(*packages())
