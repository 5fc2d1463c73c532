"""Simulations of all levels."""

from __future__ import annotations

from os import PathLike
from typing import Any

from . import _native
from ._results import Results
from ._simulation import simulated
from ._traces import opened

_Path = str | PathLike[str]


def pages(
    traces: Any,
    *,
    limit: int | None = None,
    memories: _Path | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Results:
    """Simulate machines with DRAM and a slower memory at the level of pages (`terrace sim pages`).

    Where settings have several values, all combinations are simulated in one pass.

    Args:
        traces: A trace, a path or anything else that `open` takes, or a list of them: programs that
            share a machine.
        limit: Simulate only the first accesses of each trace.
        memories: A TOML file of memories of your own.
        progress: Show a bar; without a value only where somebody looks.
        settings: The settings; `settings("pages")` lists them. A value is a text as on the command
            line, a number, a class of `Replacement`, or a list of these.

    Raises:
        UsageError: a setting is not known, or has a wrong value.
        Failure: a trace is damaged, or there is not enough memory.
    """
    return simulated("pages", _native.pages, _opened(traces), limit, memories, progress, settings)


def curve(
    traces: Any,
    *,
    limit: int | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Results:
    """Say how often programs miss at every size of DRAM (`terrace sim curve`).

    Arguments and errors are those of `pages`, with the settings of `settings("curve")`.
    """
    return simulated("curve", _native.curve, _opened(traces), limit, None, progress, settings)


def llc(
    traces: Any,
    *,
    limit: int | None = None,
    memories: _Path | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Results:
    """Simulate last-level caches under policies, and the memory behind them (`terrace sim llc`).

    Arguments and errors are those of `pages`, with the settings of `settings("llc")`.
    """
    return simulated("llc", _native.llc, _opened(traces), limit, memories, progress, settings)


def mix(
    traces: Any,
    *,
    limit: int | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Results:
    """Simulate tasks that take turns on cores with a shared last-level cache (`terrace sim mix`).

    Arguments and errors are those of `pages`, with the settings of `settings("mix")`.
    """
    return simulated("mix", _native.mix, _opened(traces), limit, None, progress, settings)


def files(
    traces: Any,
    *,
    limit: int | None = None,
    memories: _Path | None = None,
    progress: bool | None = None,
    **settings: Any,
) -> Results:
    """Simulate a page cache in DRAM with flash behind it and a disk (`terrace sim files`).

    Arguments and errors are those of `pages`, with the settings of `settings("files")`.
    """
    return simulated("files", _native.files, _opened(traces), limit, memories, progress, settings)


def settings(level: str) -> dict[str, str]:
    """Return the settings of a level (`pages`, `curve`, `llc`, `mix`, `files`) with their help.

    >>> settings("pages")["dram"].startswith("DRAM")
    True
    """
    known = _native.settings(level)
    with_default = ((name, text, default) for name, text, default in known)
    return {
        name.replace("-", "_"): text if default is None else f"{text} [default: {default}]"
        for name, text, default in with_default
    }


def _opened(traces: Any) -> list[_native.Trace]:
    return [trace._native for trace in opened(traces)]
