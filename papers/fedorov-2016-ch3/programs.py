"""The programs of this paper, and their recordings."""

import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

import common  # noqa: E402

# Records only the requests that miss the private levels.
RECORDING = ["--filter", "l1l2"]
# Rows before the main work: reading input, building tables, clearing memory.
SETUP = 1_000_000


class Programs(common.Bench):
    """The programs of `programs/programs.toml`, and chapter 2's that are compiled here."""

    def __init__(self, work):
        super().__init__(work, FOLDER / "programs")
        wanted = {Path(program["command"][0]).name for program in self.programs.values()}
        for source in (FOLDER.parent / "fedorov-2016-ch2" / "programs").glob("*.c"):
            if source.stem in wanted:
                self.compile(source)

    def trace(self, name, rows):
        """Returns the trace of a program after its set-up: `rows` at most."""
        return common.main_part(self.record(name, SETUP + rows, *RECORDING), SETUP)

    def aggressor(self):
        """Returns a trace that reads a new line with every access: the microkernel of figure 3.1."""
        trace = self.work / "aggressor.parquet"
        if not trace.exists():
            generate = [common.TERRACE, "trace", "gen", "strided", "--footprint", "64M", "--stride", "64",
                        "--accesses", "4M", "-o", trace]
            common.subprocess.run([str(part) for part in generate], check=True)
        return trace
