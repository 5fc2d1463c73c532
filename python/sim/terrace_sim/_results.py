"""Results of simulations, and of looking at traces."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

from ._native import Failure, UsageError
from ._table import Table, library

#: Height of the page in a notebook, in pixels.
_HEIGHT = 600
#: Rows up to which a plot shows each as a point.
_POINTS = 200


class Document(Protocol):
    """What results are shown of."""

    def json(self) -> str:
        """Return the JSON."""

    def csv(self) -> bytes:
        """Return the rows as CSV."""

    def parquet(self) -> bytes:
        """Return the rows as a Parquet file."""

    def html(self, call: str) -> str:
        """Return the page, with the call that has made the results."""

    def text(self) -> str:
        """Return what a terminal shows."""

    def remarks(self) -> list[str]:
        """Return sentences that belong to the results."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as a stream of Arrow."""


class Results(Table):
    """What was found: rows, JSON, a page, and the text that a terminal shows.

    Units and meanings of the columns are in the metadata of their Arrow fields.
    """

    def __init__(self, native: Document, call: str) -> None:
        self._native = native
        self._call = call

    def to_json(self) -> str:
        """Return the JSON, the same bytes as the command's `--json`."""
        return self._native.json()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON as Python's own values."""
        found: dict[str, Any] = json.loads(self.to_json())
        return found

    def to_html(self) -> str:
        """Return the page, which needs nothing else: tables, plots, and settings."""
        return self._native.html(self._call)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the results to a file; its ending tells what: .json, .csv, .parquet or .html.

        Raises:
            UsageError: the ending is another one.
            Failure: the file cannot be written.
        """
        forms: dict[str, Callable[[], bytes]] = {
            ".json": lambda: self.to_json().encode(),
            ".csv": self._native.csv,
            ".parquet": self._native.parquet,
            ".html": lambda: self.to_html().encode(),
        }
        form = forms.get(Path(path).suffix)
        if form is None:
            endings = ", ".join(forms)
            raise UsageError(f"the ending of `{path}` names no form of results; use {endings}")
        try:
            Path(path).write_bytes(form())
        except OSError as error:
            raise Failure(f"cannot write `{path}`: {error.strerror}") from None

    @property
    def remarks(self) -> list[str]:
        """Sentences on settings that change nothing, and on what was read otherwise of traces."""
        return self._native.remarks()

    def plot(self, x: str | None = None, y: str | None = None, color: str | None = None) -> Any:
        """Return a chart of Altair: a column over another, a line for each value of a third.

        Without names it is the misses over DRAM, a line for each policy.

        Raises:
            UsageError: the results have no such column.
        """
        altair = library("altair", "plots")
        frame = self.to_polars()
        x = x or _first(frame.columns, "dram_pages", "llc_bytes", "dram")
        y = y or _first(frame.columns, "miss_ratio", "slowdown", "misses")
        color = color or _first(frame.columns, "replacement", "policy", "prefetch")
        for name in (x, y, color):
            if name not in frame.columns:
                columns = ", ".join(frame.columns)
                raise UsageError(f"the results have no column `{name}`; there are {columns}")
        shown = frame.select(list(dict.fromkeys([x, y, color])))

        def axis(name: str) -> str:
            return f"{name}:{'Q' if frame[name].dtype.is_numeric() else 'N'}"

        # As values, of which there may be more than the rows of a frame that Altair takes.
        chart = altair.Chart(altair.InlineData(values=shown.to_dicts()))
        # Many points hide the line.
        chart = chart.mark_line(point=len(shown) <= _POINTS)
        return chart.encode(x=axis(x), y=axis(y), color=f"{color}:N")

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as a stream of Arrow."""
        return self._native.__arrow_c_stream__(requested_schema)

    def __str__(self) -> str:
        """Return the tables and sentences that a terminal shows."""
        return self._native.text()

    def __repr__(self) -> str:
        """Return the same: it is what a session shows."""
        return str(self)

    def _repr_html_(self) -> str:
        """Return the page for a notebook, in a frame of its own."""
        page = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" sandbox="allow-scripts" title="results" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0"></iframe>'
        )


def _first(columns: list[str], *names: str) -> str:
    return next((name for name in names if name in columns), names[0])
