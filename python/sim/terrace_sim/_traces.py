"""Traces: what programs did."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral
from operator import index
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _native
from ._native import UsageError
from ._results import Results
from ._simulation import simulated
from ._table import Table

if TYPE_CHECKING:
    import pyarrow


class Trace(Table):
    """A trace. As a table it has a row for each access of the program."""

    def __init__(self, native: _native.Trace, kept: object = None) -> None:
        """Keep a trace, and what its file goes with."""
        self._native = native
        self._kept = kept

    @property
    def name(self) -> str:
        """The path, or the name that was given."""
        return self._native.name

    def info(self) -> Results:
        """Read all of the trace, and say what is in it."""
        return Results(self._native.info(), f"terrace_sim.open({self.name!r}).info()")

    def head(self, rows: int = 10) -> Head:
        """Return the first accesses."""
        return Head(self._native, rows)

    def __reduce__(self) -> tuple[Any, ...]:
        """Have another process open the same file."""
        found = self._native.opened
        if found is None:
            raise UsageError(
                f"the trace `{self.name}` is in the memory of this process; write it to a file that "
                "others see"
            )
        path, how = found
        where = path if "://" in path else os.path.abspath(path)
        return reopened, (where, how, self.name)

    def curve(self, *policies: Any, **settings: Any) -> Results:
        """Say how often the program misses at every size of DRAM; see `terrace_sim.curve`."""
        if policies:
            settings["replacement"] = list(policies)
        limit, progress = settings.pop("limit", None), settings.pop("progress", None)
        return simulated("curve", _native.curve, [self._native], limit, None, progress, settings)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the accesses as a stream of Arrow."""
        return self._native.stream()

    def __repr__(self) -> str:
        """Return what it is."""
        return f"<Trace {self.name}>"


class Head(Table):
    """The first accesses of a trace."""

    def __init__(self, native: _native.Trace, rows: int) -> None:
        try:
            self._rows = index(rows)
        except TypeError:
            self._rows = -1
        if not 0 <= self._rows < 2**64:
            raise UsageError(f"a trace has no {rows!r} first accesses; name a number from 0 on")
        self._native = native

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the accesses as a stream of Arrow."""
        return self._native.stream(self._rows)

    def __repr__(self) -> str:
        """Return the rows, if a library can show them."""
        table: pyarrow.Table = self.to_arrow()
        return str(table.to_pydict())


def open(
    source: Any,
    *,
    writes: Any = None,
    format: str | None = None,
    columns: str | None = None,
    keys: bool = False,
    name: str | None = None,
) -> Trace:
    """Open a trace.

    Args:
        source: The path of a file of any format that the command reads; a table of PyArrow, pandas,
            Polars or any library with Arrow's interface, with a column `address` and, where it has
            them, `write`, `thread`, `process`, `size`, `ip`, `instruction`; or addresses of bytes, as
            an array of NumPy or a list of whole numbers.
        writes: Whether each of the addresses of an array is written; none is without it.
        format: The format of a file, where nothing else tells.
        columns: What the columns of a CSV file hold: `time=1,object=2,size=3`, or a known layout.
        keys: Take the addresses of a file for names of objects.
        name: What results call a trace that is no file.

    Raises:
        UsageError: it is nothing of these.
        Failure: the file cannot be read, or is damaged.
    """
    if isinstance(source, Trace):
        return source
    if isinstance(source, (str, PathLike)):
        if writes is not None:
            raise UsageError("a file says itself what is written; leave `writes` out")
        return Trace(_native.Trace(fspath(source), format, columns, keys))
    if format is not None or columns is not None or keys:
        raise UsageError("`format`, `columns` and `keys` are of files; leave them out here")
    if isinstance(source, (bytes, bytearray, memoryview)):
        raise UsageError("bytes are no trace; give a path as a text, or addresses as numbers")
    if not hasattr(source, "columns") and not hasattr(source, "column_names"):
        # A column of a table is an array.
        source = source.to_numpy() if hasattr(source, "to_numpy") else source
    if hasattr(source, "__arrow_c_stream__") and not hasattr(source, "__array_interface__"):
        if writes is not None:
            raise UsageError("a table says in its column `write` what is written; leave `writes` out")
        native = _native.Trace.of_table(source, name or "table")
        # pandas keeps the numbers of rows that were chosen in a column of its own.
        left_out = [column for column in native.ignored if not column.startswith("__index_level_")]
        if left_out:
            ignored = ", ".join(f"`{column}`" for column in left_out)
            warnings.warn(f"of `{native.name}` these columns are not read: {ignored}", stacklevel=2)
        return Trace(native)
    addresses = _numbers(source)
    flags = None if writes is None else _flags(writes)
    return Trace(_native.Trace.of_addresses(addresses, flags, name or "array"))


def opened(traces: Any) -> list[Trace]:
    """Return all of some traces, or the one that is given."""
    if isinstance(traces, (list, tuple)) and not all(isinstance(one, Integral) for one in traces):
        if not all(isinstance(one, (str, PathLike)) for one in traces):
            return [open(trace) for trace in traces]
        # In a store each takes round trips.
        with ThreadPoolExecutor(32) as threads:
            return list(threads.map(open, traces))
    return [open(traces)]


def reopened(path: str, how: tuple[str | None, str | None, bool], name: str) -> Trace:
    """Open the file of a trace again, in another process."""
    return Trace(_native.Trace(path, *how, name))


def _flags(writes: Any) -> bytes:
    """Return booleans as a byte each."""
    if getattr(getattr(writes, "dtype", None), "kind", None) == "b":
        whole: bytes = writes.tobytes()
        return whole
    values = writes.tolist() if hasattr(writes, "tolist") else writes
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise UsageError(f"`writes` is a boolean for each address, not {writes!r}")
    flags = [value.item() if hasattr(value, "item") else value for value in values]
    if not all(isinstance(flag, int) and flag in (0, 1) for flag in flags):
        raise UsageError("`writes` is a boolean for each address")
    return bytes(flags)


def _numbers(source: Any) -> bytes:
    """Return whole numbers as 8 bytes each."""
    kind = getattr(getattr(source, "dtype", None), "kind", None)
    if getattr(source, "mask", False) is not False:
        raise UsageError("an array with a mask is no trace; give what is not masked")
    if kind in ("u", "i"):
        if source.ndim != 1:
            raise UsageError(f"an array of {source.ndim} dimensions is no trace; give one of one")
        if kind == "i" and len(source) > 0 and source.min() < 0:
            raise UsageError("an address is negative")
        numbers: bytes = source.astype("u8", copy=False).tobytes()
        return numbers
    if kind is not None:
        raise UsageError(f"addresses are whole numbers, not {source.dtype}")
    if not isinstance(source, Sequence):
        raise UsageError(
            f"a trace is a path, a table or an array of addresses, not a {type(source).__name__}"
        )
    if any(isinstance(one, bool) for one in source):
        raise UsageError("addresses are whole numbers, not booleans")
    import array

    try:
        return array.array("Q", source).tobytes()
    except (TypeError, OverflowError) as error:
        raise UsageError(f"addresses are whole numbers from 0 on: {error}") from None
