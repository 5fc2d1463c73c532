"""How a simulation of any level is asked, watched and told."""

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

_Native = Callable[[list[_native.Trace], dict[str, object]], _native.Results]
_Path = str | PathLike[str]


def simulated(
    level: str,
    simulate: _Native,
    traces: list[_native.Trace],
    limit: int | None,
    memories: _Path | None,
    progress: bool | None,
    settings: dict[str, Any],
) -> Results:
    """Simulate traces at a level, and warn of what changes nothing or was read otherwise.

    It is called by what a user calls, at whose line the warnings are.
    """
    given, _ = texts(settings)
    limit, memories = checked_limit(limit), checked_memories(memories)
    with Bar(progress) as bar:
        found = simulate(traces, asked(given, limit, memories, bar))
    for sentence in found.remarks():
        warnings.warn(sentence, stacklevel=3)
    return Results(found, _call(level, traces, given, limit, memories))


def asked(
    given: dict[str, str], limit: int | None, memories: _Path | None, bar: Bar | None
) -> dict[str, object]:
    """Return what a simulation in Rust is asked."""
    return {
        "settings": [(name.replace("_", "-"), text) for name, text in given.items()],
        "limit": limit,
        "memories": memories,
        "progress": bar,
    }


def texts(settings: dict[str, Any]) -> tuple[dict[str, str], dict[str, type[Replacement]]]:
    """Return the values of settings as they are written on the command line.

    The classes among them are returned as well, by the names of their policies.
    """
    given: dict[str, str] = {}
    classes: dict[str, type[Replacement]] = {}
    for name, value in settings.items():
        name = name.replace("-", "_")
        if value is None:
            continue
        if name in given:
            raise UsageError(f"`{name}` is given twice")
        given[name] = _text(name, value, classes)
    return given, classes


def checked_limit(limit: Any) -> int | None:
    """Return a limit of accesses, if it is one."""
    if limit is None:
        return None
    if not isinstance(limit, Integral) or not 0 < int(limit) < 2**64:
        raise UsageError(f"`limit` is a number of accesses from 1 on, not {limit!r}")
    return int(limit)


def checked_memories(memories: Any) -> _Path | None:
    """Return the path of a file of memories, if it is one."""
    if memories is not None and not isinstance(memories, (str, PathLike)):
        raise UsageError(f"`memories` is the path of a file, not a {type(memories).__name__}")
    return memories


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


def _text(name: str, value: Any, classes: dict[str, type[Replacement]]) -> str:
    """Return a value as it is written on the command line, and keep a class that it has."""
    if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0:
        value = value.item()
    if isinstance(value, str):
        return value
    if isinstance(value, type) and issubclass(value, Replacement):
        policy = named(value)
        classes[policy] = value
        return policy
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, Iterable) and not isinstance(value, (bytes, bytearray)):
        texts = [_text(name, one, classes) for one in value]
        if not texts:
            raise UsageError(f"`{name}` has no value: the list is empty")
        return ",".join(texts)
    raise UsageError(
        f"`{name}` takes a text, a number or a list of these, not a {type(value).__name__}"
    )


class Bar:
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
        if not part:
            # Traces are opened, which is no part of its own.
            return
        if part != self._part:
            if self._bar is not None:
                self._bar.close()
            self._part = part
            self._bar = self._make(total=of, desc=part, unit_scale=True, leave=False, delay=1)
        self._bar.update(done - self._bar.n)


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules
