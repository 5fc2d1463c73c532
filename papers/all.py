"""Makes all figures of all papers anew, and then the pages: hours, on a machine on which nothing else runs.

Usage: all.py [--quick] [PAPER...]

--quick makes shorter recordings, to check that everything works; its figures stay in work directories. What cannot run
here is left out and named: scripts that need root, sources in BENCH_SOURCES, files in BENCH_DATA or TERRACE_DATA, or an
earlier build.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PAPERS = Path(__file__).resolve().parent
sys.path[:0] = [str(PAPERS)]

import common  # noqa: E402
from common import say  # noqa: E402

SOURCES, DATA = "BENCH_SOURCES", "BENCH_DATA"


@dataclass(frozen=True)
class Script:
    """What makes some results of a paper."""

    name: str
    # The files of results, in the paper's folder.
    makes: tuple
    arguments: tuple = ()
    # Environment variables that it cannot do without.
    needs: tuple = ()
    # Whether it can make short recordings.
    quick: bool = False
    root: bool = False

    def lacks(self, quick):
        """Says what it cannot run without and is not there; nothing if it can run."""
        missing = [f"{name} is not set" for name in self.needs if not os.environ.get(name)]
        if self.root and os.geteuid() != 0:
            missing.append("this needs root")
        if quick and not self.quick:
            missing.append("it has no --quick")
        return ", ".join(missing)


def repeat(**options):
    return Script("repeat.py", ("results.json",), **options)


# In this order: some take the recordings and results of those before.
SCRIPTS = {
    "awad-2016": [repeat(quick=True), Script("applications.py", ("own.json",), needs=(SOURCES,)),
                  Script("replacement_live.py", ("replacement-live.json",), root=True)],
    "awad-2016-writes": [repeat(quick=True, root=True)],
    "oskin-loh-2015": [
        repeat(quick=True),
        *(Script(f"{name}.py", (f"{makes}.json",), needs=(SOURCES,)) for name, makes in (
            ("static_placement", "static"), ("bandwidths", "bandwidths"), ("climbing", "climbing"), ("own_programs", "own"),
            ("implementation", "implementation"), ("migration", "migration"))),
    ],
    "fedorov-2016-ch2": [
        repeat(quick=True),
        Script("ahead.py", ("ahead.json",)),
        Script("early.py", ("early.json",), quick=True),
        Script("halves.py", ("halves.json",), needs=(SOURCES, DATA)),
        Script("times.py", ("times.json",), needs=(SOURCES, DATA)),
    ],
    "fedorov-2016-ch3": [repeat(quick=True), Script("live.py", ("live.json",), root=True)],
    "fedorov-2016-ch4": [repeat(needs=("TERRACE_DATA",))],
    "fedorov-2016-ch5": [
        repeat(quick=True),
        Script("large.py", ("large.json",)),
        Script("spark_live.py", ("spark-live.json",), root=True),
    ],
    "kannan-2013": [repeat(quick=True)],
    "koob-2010": [
        repeat(quick=True),
        Script("live.py", ("live.json",), root=True),
        Script("live.py", (), ("--series",), root=True),
        Script("live.py", (), ("--whole",), root=True),
    ],
}
# Results that no script makes anew: of an earlier build, beside which a page puts those of today, or recorded by hand.
KEPT = {
    "fedorov-2016-ch3": ["models.json"],
    "fedorov-2016-ch5": ["spark.json"],
    "kannan-2013": ["earlier.json"],
    "oskin-loh-2015": ["migration-earlier.json", "own-earlier.json"],
}


def run(paper, script, quick):
    """Runs a script; returns whether it succeeded."""
    words = [common.PYTHON, PAPERS / paper / script.name, *script.arguments, *["--quick"] * quick]
    say(f"papers: {paper}: {' '.join([script.name, *script.arguments])}")
    return subprocess.run(list(map(str, words))).returncode == 0


def main():
    words = [word for word in sys.argv[1:] if word != "--quick"]
    quick = "--quick" in sys.argv
    unknown = [word for word in words if word not in SCRIPTS]
    if unknown:
        sys.exit(f"all.py: there is no paper {unknown[0]}; there are {', '.join(SCRIPTS)}")
    left_out, failed = [], []
    for paper in words or SCRIPTS:
        left_out += [f"{paper}/{name}: no script makes it anew" for name in KEPT.get(paper, [])]
        for script in SCRIPTS[paper]:
            name = f"{paper}/{' '.join([script.name, *script.arguments])}"
            if lacks := script.lacks(quick):
                left_out.append(f"{name}: {lacks}")
            elif not run(paper, script, quick):
                failed.append(name)
    if not quick:
        common.render()
    for line in left_out:
        say(f"papers: LEFT OUT: {line}")
    if failed:
        sys.exit(f"papers: failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
