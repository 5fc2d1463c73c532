"""The programs of this paper, and their recordings.

Usage: programs.py    prints the Debian packages that contain them
"""

import sys
import tomllib
from functools import partial
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

import common  # noqa: E402
import inputs  # noqa: E402

# Records only the requests that miss the private levels.
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
        """Returns the trace of a program after its first `setup` rows: `rows` at most."""
        return common.main_part(self.record(name, setup + rows, *RECORDING), setup)

    def setup(self, name):
        """Returns the number of rows of a program's set-up, which is left out."""
        return self.programs[name].get("setup", 0)


def packages():
    programs = tomllib.loads((FOLDER / "programs" / "programs.toml").read_text())
    return sorted({package for program in programs.values() for package in program["packages"]})


if __name__ == "__main__":
    print(*packages())
