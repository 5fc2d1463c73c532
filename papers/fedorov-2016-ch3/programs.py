"""The programs of this paper, and their recordings."""

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

import common  # noqa: E402

# Records only the requests that miss the private levels.
RECORDING = ["--filter", "l1l2"]
# Rows before the main work: reading input, building tables, clearing memory.
SETUP = 1_000_000
# Requests to the last level after a program's set-up.
ROWS, QUICK_ROWS = 1_000_000, 300_000
# The microkernel of figure 3.1, which is in no mix.
AGGRESSOR = "aggressor"
BUILD = FOLDER.parent.parent / "benches" / "proxies" / "programs" / "build.sh"
# The first of the programs that it builds, from the root of them all.
FIRST = Path("apps") / "barnes" / "BARNES"


class Programs(common.Bench):
    """The programs of `programs/programs.toml`: of this folder, of chapter 2, and Splash-3's where they can be built."""

    def __init__(self, work):
        super().__init__(work, FOLDER / "programs")
        wanted = {Path(program["command"][0]).name for program in self.programs.values()}
        for source in (FOLDER.parent / "fedorov-2016-ch2" / "programs").glob("*.c"):
            if source.stem in wanted:
                self.compile(source)

    def read(self):
        programs, splash = super().read(), self.built("Splash-3")
        if splash is not None:
            self.places["splash"] = splash.parents[len(FIRST.parts) - 1]
            return programs
        missing = [name for name, program in programs.items() if "{splash}" in program["command"][0]]
        common.say(f"MISSING: {', '.join(missing)} are left out")
        return {name: program for name, program in programs.items() if name not in missing}

    def built(self, source):
        """Returns what build.sh has built of a source, or None where that is not possible, for which it says why."""
        environment = os.environ | {"BENCH_DATA": str(self.work)}
        done = subprocess.run(["sh", BUILD, source], env=environment, stdout=subprocess.PIPE, text=True)
        return Path(done.stdout.strip()) if done.returncode == 0 else None

    def trace(self, name, rows):
        """Returns the trace of a program after its set-up: `rows` at most."""
        return common.main_part(self.record(name, SETUP + rows, *RECORDING), SETUP)
