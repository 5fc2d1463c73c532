"""Simulations of all levels."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable
from numbers import Integral
from os import PathLike
from typing import Any

from . import _native
from ._native import UsageError
from ._policies import Replacement, named
from ._results import Results
from ._traces import Trace, open

_Native = Callable[[list[_native.Trace], dict[str, object]], _native.Results]
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
    return _simulated("pages", _native.pages, traces, limit, memories, progress, settings)


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
    return _simulated("curve", _native.curve, traces, limit, None, progress, settings)


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
    return _simulated("llc", _native.llc, traces, limit, memories, progress, settings)


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
    return _simulated("mix", _native.mix, traces, limit, None, progress, settings)


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
    return _simulated("files", _native.files, traces, limit, memories, progress, settings)


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


def _simulated(
    level: str,
    simulate: _Native,
    traces: Any,
    limit: int | None,
    memories: _Path | None,
    progress: bool | None,
    settings: dict[str, Any],
) -> Results:
    opened = [trace._native for trace in _opened(traces)]
    given = {name: value for name, value in settings.items() if value is not None}
    texts: dict[str, str] = {}
    for name, value in given.items():
        name = name.replace("-", "_")
        if name in texts:
            raise UsageError(f"`{name}` is given twice")
        texts[name] = _text(name, value)
    if limit is not None and not (isinstance(limit, Integral) and 0 < limit < 2**64):
        raise UsageError(f"`limit` is a number of accesses from 1 on, not {limit!r}")
    if memories is not None and not isinstance(memories, (str, PathLike)):
        raise UsageError(f"`memories` is the path of a file, not a {type(memories).__name__}")
    asked: dict[str, object] = {
        "settings": [(name.replace("_", "-"), text) for name, text in texts.items()],
        "limit": None if limit is None else int(limit),
        "memories": memories,
        "progress": None,
    }
    with _Bar(progress) as bar:
        asked["progress"] = bar
        found = simulate(opened, asked)
    for sentence in found.remarks():
        warnings.warn(sentence, stacklevel=3)
    return Results(found, _call(level, opened, texts, limit, memories))


def _call(
    level: str,
    traces: list[_native.Trace],
    texts: dict[str, str],
    limit: int | None,
    memories: _Path | None,
) -> str:
    """Return what was asked for, as the page of results shows it."""
    names = [trace.name for trace in traces]
    beside = {"limit": limit, "memories": memories}
    named = {**texts, **{name: value for name, value in beside.items() if value is not None}}
    words = [repr(names[0] if len(names) == 1 else names)]
    words += [f"{name}={value!r}" for name, value in named.items()]
    return f"terrace_sim.{level}({', '.join(words)})"


def _opened(traces: Any) -> list[Trace]:
    """Return all of some traces, or the one that is given."""
    if isinstance(traces, (list, tuple)) and not all(isinstance(one, Integral) for one in traces):
        return [open(trace) for trace in traces]
    return [open(traces)]


def _text(name: str, value: Any) -> str:
    """Return a value as it is written on the command line."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, str):
        return value
    if isinstance(value, type) and issubclass(value, Replacement):
        return named(value)
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        texts = [_text(name, one) for one in value]
        if not texts:
            raise UsageError(f"`{name}` has no value: the list is empty")
        return ",".join(texts)
    raise UsageError(
        f"`{name}` takes a text, a number or a list of these, not a {type(value).__name__}"
    )


class _Bar:
    """A bar of progress, where somebody looks and `tqdm` is installed."""

    def __init__(self, progress: bool | None) -> None:
        self._bar: Any = None
        self._part = ""
        self._make: Any = None
        wanted = progress is True or progress is None and _is_watched()
        if wanted:
            try:
                with warnings.catch_warnings():
                    # Without ipywidgets it shows a bar of text, and says so.
                    warnings.simplefilter("ignore")
                    from tqdm.auto import tqdm
            except ImportError:
                if progress:
                    raise UsageError(
                        "a bar needs tqdm, which is not installed: "
                        "pip install 'terrace-sim[progress]'"
                    ) from None
            else:
                self._make = tqdm

    def __enter__(self) -> Any:
        return self if self._make else None

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, part: str, done: int, of: int | None) -> None:
        if part != self._part:
            if self._bar is not None:
                self._bar.close()
            self._part = part
            self._bar = self._make(total=of, desc=part, unit_scale=True, leave=False, delay=1)
        self._bar.update(done - self._bar.n)


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
