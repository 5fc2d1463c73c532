"""Simulate memory: DRAM with a slower memory behind it, caches, files, and policies of your own.

The settings are those of the command `terrace sim`, with the same names and the same results; a
hyphen in a name is an underscore here.

>>> import terrace_sim as ts
>>> trace = ts.open([0, 4096, 8192, 0, 4096, 8192], name="three pages")
>>> found = ts.pages(trace, dram="2p", replacement=["lru", "fifo"], memory="pcm")
>>> [run["misses"] for run in found.to_dict()["runs"]]
[6, 6]
"""

from ._levels import curve, files, llc, mix, pages, settings
from ._native import Failure, TerraceError, UsageError, __version__
from ._policies import Replacement
from ._programs import record, run
from ._results import Results
from ._sweeps import Collected, Grid, collect, grid, sweep
from ._traces import Trace, open

__all__ = [
    "Collected",
    "Failure",
    "Grid",
    "Replacement",
    "Results",
    "TerraceError",
    "Trace",
    "UsageError",
    "__version__",
    "collect",
    "curve",
    "files",
    "grid",
    "llc",
    "mix",
    "open",
    "pages",
    "record",
    "run",
    "settings",
    "sweep",
]
