"""Sweeps: each of several traces on many machines, in this process or on a cluster."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from . import _native
from ._native import Failure, UsageError
from ._policies import Replacement, register_as, version
from ._results import Results
from ._simulation import Bar, asked, checked_limit, checked_memories, texts
from ._table import Table, library
from ._traces import opened, reopened

_Path = str | PathLike[str]
#: Policies by their names, each with its version.
_Classes = dict[str, tuple[type[Replacement], str]]
#: What a task of a cluster gets beside its trace: settings, policies, limit, memories, results.
_Common = tuple[dict[str, str], _Classes, int | None, _Path | None, str]


class Grid:
    """All combinations of values of settings: the machines of a sweep. `len` is their number."""

    def __init__(self, memories: _Path | None, settings: dict[str, Any]) -> None:
        """Check the settings; `grid` calls this."""
        self._memories = checked_memories(memories)
        self._texts, self._policies = texts(settings)
        self._machines, self._idle = _native.machines(asked(self._texts, None, memories, None))

    def __len__(self) -> int:
        """Return the number of machines."""
        return self._machines

    def __repr__(self) -> str:
        """Return the call that makes it."""
        words = [f"{name}={value!r}" for name, value in self._texts.items()]
        words += [] if self._memories is None else [f"memories={fspath(self._memories)!r}"]
        return f"terrace_sim.grid({', '.join(words)})"


class Collected(Table):
    """The rows of a folder of results: one for each trace and machine."""

    def __init__(self, native: _native.Collected) -> None:
        """Keep the rows."""
        self._native = native

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._native)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as a stream of Arrow."""
        return self._native.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Return how much it is."""
        return f"<{len(self)} rows of sweeps: .to_polars(), .to_pandas(), .to_arrow()>"


def grid(*, memories: _Path | None = None, **settings: Any) -> Grid:
    """Return all combinations of values of settings, for `sweep`.

    >>> len(grid(dram=["10%", "25%"], replacement=["lru", "arc", "s3fifo"], memory="pcm"))
    6

    Args:
        memories: A TOML file of memories of your own.
        settings: The settings, as of `pages`.

    Raises:
        UsageError: a setting is not known, or has a wrong value.
    """
    made = Grid(memories, settings)
    for sentence in made._idle:
        warnings.warn(sentence, stacklevel=2)
    return made


def sweep(
    traces: Any,
    machines: Grid,
    *,
    results: _Path = "sweep.results",
    client: Any = None,
    limit: int | None = None,
    progress: bool | None = None,
) -> Results:
    """Simulate each of several traces on many machines (`terrace sweep`).

    What is finished is kept in a folder, and any number of sweeps may use it at once, of this
    package and of the command, from any host. A sweep that was stopped goes on from there: call it
    again.

    Args:
        traces: Traces, paths, or anything else that `open` takes: one, or a list of them.
        machines: The machines: `grid(...)`.
        results: The folder: a directory, or the URI of one in a store (`s3://bucket/sweep`).
        client: A `distributed.Client`: its workers simulate. Without one this process does, with all
            processors. A task is a trace on at most 16 machines; workers must see the traces and the
            folder.
        limit: Simulate only the first accesses of each trace.
        progress: Show a bar; without a value only where somebody looks.

    Raises:
        UsageError: something is asked for that cannot be.
        Failure: a trace is damaged, a worker fails again and again, or there is not enough memory.
            What is finished stays.
    """
    if not isinstance(machines, Grid):
        raise UsageError(
            f"the machines of a sweep are a grid, as `grid(dram=['10%', '25%'])` returns it, not a "
            f"{type(machines).__name__}"
        )
    limit = checked_limit(limit)
    traces = list(traces) if isinstance(traces, Iterator) else traces
    if isinstance(traces, (list, tuple)) and not traces:
        raise UsageError("no trace is given: the list is empty")
    all_traces = opened(traces)
    folder = _folder(results)
    with Bar(progress) as bar:
        settings = asked(machines._texts, limit, machines._memories, None)
        native = _native.Sweep([trace._native for trace in all_traces], settings, folder)
        remarks: list[str] = []
        if client is None:
            _make(folder)
        else:
            classes = {
                name: (policy, version(policy)) for name, policy in machines._policies.items()
            }
            common = (machines._texts, classes, limit, machines._memories, folder)
            remarks = list(_on_cluster(native, all_traces, common, client, bar))
        found = native.run(bar, is_finished=client is not None)
    for sentence in dict.fromkeys([*remarks, *found.remarks()]):
        warnings.warn(sentence, stacklevel=2)
    names = [trace.name for trace in all_traces]
    return Results(found, f"terrace_sim.sweep({names!r}, {machines!r}, results={folder!r})")


def collect(results: _Path) -> Collected:
    """Return the rows of all passes in a folder of results, whoever has simulated them.

    A machine is there once for each trace, under the name that the trace had when it was simulated.

    Raises:
        Failure: there are none, or they cannot be read.
    """
    folder = _folder(results)
    found = _native.collect(folder)
    if found.skipped:
        files = "a file is" if found.skipped == 1 else f"{found.skipped} files are"
        warnings.warn(
            f"in `{folder}` {files} damaged or of another version, and left out",
            stacklevel=2,
        )
    return Collected(found)


def _folder(results: _Path) -> str:
    """Return the folder under a name that is the same in every directory."""
    name = fspath(results) if isinstance(results, (str, PathLike)) else None
    if not isinstance(name, str) or not name:
        raise UsageError(f"`results` is the path of a directory, or a URI, not {results!r}")
    return name if "://" in name else str(Path(name).expanduser().absolute())


def _on_cluster(
    native: _native.Sweep, traces: list[Any], common: _Common, client: Any, bar: Any
) -> Iterator[str]:
    """Have workers simulate what is left; yield sentences on how they have read the traces."""
    distributed = library("distributed", "cluster")
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise UsageError("`client` is a `distributed.Client` that is not asynchronous")
    if client.status != "running":
        raise UsageError(f"the client is not connected to its cluster: it is {client.status}")
    files = [trace.__reduce__()[1] for trace in traces]
    folder = common[-1]
    # Workers make no directory: one that does not see this one would make another.
    _make(folder)
    unused, left = native.left(bar)
    if unused:
        yield unused
    if not left:
        return
    # The scheduler makes all objects that it is sent. It gets texts of traces, so that it opens none,
    # and bytes of what is common. One message has all tasks.
    futures = client.map(
        _part,
        [files[trace] for trace, _, _ in left],
        [machines for _, machines, _ in left],
        common=library("cloudpickle", "cluster").dumps(common),
        key=[f"terrace-{key}" for _, _, key in left],
        pure=False,
    )
    try:
        ended = distributed.as_completed(
            futures, loop=client.loop, with_results=True, raise_errors=False
        )
        for done, (future, sentences) in enumerate(ended, 1):
            yield from _result(future, sentences, folder)
            # What a worker has finished is not done again when it ends.
            future.release()
            if bar is not None:
                bar("simulating", done, len(left))
    finally:
        # What nobody wants any more is dropped, and a task that has failed is tried again next time,
        # although a traceback may still name it.
        for future in futures:
            future.release()


def _make(folder: str) -> None:
    """Make the directory, unless it is there, or a store."""
    if "://" in folder:
        return
    try:
        Path(folder).mkdir(exist_ok=True)
    except OSError as error:
        raise Failure(f"cannot make the directory `{folder}`: {error.strerror}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Failure(f"the directory `{folder}` may not be written")


def _result(future: Any, sentences: list[str], folder: str) -> list[str]:
    """Return what a task has returned, or raise why it has failed."""
    stays = f"what is finished stays in `{folder}`, and the same sweep goes on from there"
    if future.cancelled():
        raise Failure(f"the cluster has given a task up, or is gone; {stays}")
    if future.status != "error":
        return sentences
    error = future.exception()
    if isinstance(error, library("distributed", "cluster").scheduler.KilledWorker):
        raise Failure(
            f"workers died again and again while they simulated the same task, as they do where memory "
            f"is short, or where a policy ends the process; {stays}"
        ) from error
    if isinstance(error, _native.TerraceError) and "what is finished stays" not in str(error):
        raise type(error)(f"{error}; {stays}") from error
    raise error


def _part(file: tuple[Any, ...], machines: list[int], common: bytes) -> list[str]:
    """Simulate a part of a sweep on a worker; return sentences on how the trace was read."""
    made: _Common = pickle.loads(common)
    settings, classes, limit, memories, folder = made
    if "://" not in folder and not Path(folder).is_dir():
        raise Failure(
            f"a worker does not see the directory `{folder}`; name one that all hosts share, or a store"
        )
    for name, (policy, expected) in classes.items():
        if version(policy) != expected:
            raise Failure(
                f"a worker has other code of the class {policy.__name__}, or another version of "
                "Python; give all workers the same module"
            )
        register_as(name, policy)
    asked_for = asked(settings, limit, memories, None)
    native = _native.Sweep([reopened(*file)._native], asked_for, folder, machines)
    # The worker has a thread for each of its tasks.
    return native.run(None, threads=1).remarks()
