"""Anything that Arrow can take over as a table."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ._native import TerraceError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


def library(name: str, extra: str) -> Any:
    """Return a library that is optional.

    Raises:
        TerraceError: it is not installed; the sentence says how to install it.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise TerraceError(
            f"this needs {name}, which is not installed: pip install 'terrace-sim[{extra}]'"
        ) from None


class Table:
    """Rows with named columns, without a copy where Arrow allows that."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Return the rows as a stream of Arrow."""
        raise NotImplementedError

    def to_arrow(self) -> pyarrow.Table:
        """Return the rows as a table of PyArrow."""
        table: pyarrow.Table = library("pyarrow", "arrow").table(self)
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a frame of pandas."""
        library("pandas", "pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Return the rows as a frame of Polars."""
        frame: polars.DataFrame = library("polars", "polars").DataFrame(self)
        return frame
