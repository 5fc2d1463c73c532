"""The programs of this paper: which of them are there, and their recordings.

Usage: programs.py    names the Debian packages that they are in
"""

import subprocess
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


class Programs(common.Bench):
    """The programs of `programs/programs.toml`, without those that are not installed."""

    def __init__(self, work):
        made = {name: partial(inputs.make, name=name) for name in inputs.MAKERS}
        super().__init__(work, FOLDER / "programs", made)
        self.places["cc1"] = common.first_line(["gcc", "-print-prog-name=cc1"])

    def read(self):
        programs = super().read()
        self.missing = [name for name, program in programs.items() if not succeeds(program["check"])]
        for name in self.missing:
            common.say(f"MISSING: {name} is left out; apt-get install {' '.join(programs[name]['packages'])}")
            del programs[name]
        return programs

    def compile(self, source):
        if source.stem not in self.missing:
            super().compile(source)

    def versions(self, names):
        found = super().versions(names)
        packages = sorted({package for name in names for package in self.programs[name]["packages"]})
        query = ["dpkg-query", "-W", "-f", "${Version}"]
        return found | {"packages": {package: common.first_line([*query, package]) for package in packages}}

    def trace(self, name, rows, setup):
        """Of a program after the first `setup` rows: `rows` at most."""
        whole = self.record(name, setup + rows, *RECORDING)
        if setup == 0:
            return whole
        trace = whole.with_suffix(".main.parquet")
        if not trace.exists():
            convert = [common.TERRACE, "trace", "convert", "--quiet", "--skip", str(setup), whole, trace]
            subprocess.run(convert, check=True)
        return trace

    def setup(self, name):
        """Rows that a program makes before what it is here for."""
        return self.programs[name].get("setup", 0)


def succeeds(command):
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def packages():
    programs = tomllib.loads((FOLDER / "programs" / "programs.toml").read_text())
    return sorted({package for program in programs.values() for package in program["packages"]})


if __name__ == "__main__":
    print(*packages())
