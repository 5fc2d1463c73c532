"""Traces of every source."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import terrace_sim as ts


def misses(source: Any, **how: Any) -> list[int]:
    found = ts.pages(ts.open(source, **how), dram=["20p", "100p"], memory="pcm", warmup=0)
    return [run["misses"] for run in found.to_dict()["runs"]]


def test_every_source_of_the_same_accesses_is_the_same_trace(zipf: Path) -> None:
    table = pyarrow.parquet.read_table(zipf)
    address, write = (table.column(name).to_numpy() for name in ("address", "write"))
    expected = misses(zipf)
    assert misses(str(zipf)) == expected
    assert misses(table) == expected
    assert misses(table.to_pandas()) == expected
    assert misses(polars.from_arrow(table)) == expected
    assert misses(address, writes=write) == expected
    assert misses(address.astype("int64"), writes=list(write)) == expected
    assert misses(address.tolist(), writes=write) == expected


def test_a_trace_is_a_table_again(zipf: Path) -> None:
    trace, table = ts.open(zipf), pyarrow.parquet.read_table(zipf)
    whole = trace.to_arrow()
    assert whole.num_rows == table.num_rows
    assert whole.column("address").to_pylist() == table.column("address").to_pylist()
    assert whole.column("write").to_pylist() == table.column("write").to_pylist()
    assert trace.to_polars().shape == (20_000, 7)
    assert trace.to_pandas()["size"].sum() == 0
    head = trace.head(3).to_pandas()
    assert list(head["address"]) == table.column("address").to_pylist()[:3]
    assert trace.head(0).to_arrow().num_rows == 0
    assert trace.head(10**9).to_arrow().num_rows == 20_000


def test_columns_of_a_table_are_kept() -> None:
    table = pyarrow.table(
        {
            "address": pyarrow.array([8, 16, 4096], "int32"),
            "thread": pyarrow.array([0, 1, 1], "uint8"),
            "size": [4, 8, 8],
            "write": [0, 1, 0],
            "colour": ["red", "green", "blue"],
        }
    )
    with pytest.warns(UserWarning, match="colour"):
        trace = ts.open(table)
    assert trace.to_arrow().column("thread").to_pylist() == [0, 1, 1]
    assert trace.to_arrow().column("size").to_pylist() == [4, 8, 8]
    assert trace.info().to_dict()["writes"] == 1


@pytest.mark.parametrize(
    ("source", "how", "why"),
    [
        ("nothing.parquet", {}, "nothing.parquet"),
        (pyarrow.table({"a": [1]}), {}, "no column `address`"),
        (pyarrow.table({"address": ["x"]}), {}, "takes whole numbers"),
        (pyarrow.table({"address": [1, None]}), {}, "without a value"),
        (pyarrow.table({"address": [-1]}), {}, "negative"),
        (pyarrow.table({"address": [1], "thread": [70_000]}), {}, "too large"),
        (numpy.array([1.5]), {}, "whole numbers"),
        (numpy.array([-1]), {}, "negative"),
        (numpy.zeros((2, 2), "u8"), {}, "2 dimensions"),
        ([-1], {}, "whole numbers"),
        (["x"], {}, "whole numbers"),
        ([], {}, "no access"),
        ([True, False], {}, "not booleans"),
        (b"/data/traces", {}, "bytes are no trace"),
        (numpy.ma.masked_array([0, 8], mask=[0, 1]), {}, "mask"),
        ([1, 2], {"writes": ["no", "yes"]}, "a boolean for each"),
        ([1, 2], {"writes": "01"}, "a boolean for each"),
        ([1, 2], {"writes": [True]}, "as many writes"),
        ([1], {"keys": True}, "of files"),
        (5, {}, "not a int"),
        (pandas.DataFrame({"address": [1]}), {"writes": [True]}, "column `write`"),
    ],
)
def test_what_is_no_trace_is_one_sentence(source: Any, how: dict[str, Any], why: str) -> None:
    with pytest.raises(ts.TerraceError, match=why) as raised:
        ts.open(source, **how)
    assert "\n" not in str(raised.value)


def test_a_trace_that_is_cut_is_one_sentence(zipf: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(zipf.read_bytes()[:-100])
    with pytest.raises(ts.Failure, match="cut.parquet"):
        ts.open(cut)


def test_info_is_of_all_of_the_trace(zipf: Path) -> None:
    found = ts.open(zipf).info().to_dict()
    assert (found["accesses"], found["reads"] + found["writes"]) == (20_000, 20_000)


def test_a_column_of_a_table_is_an_array() -> None:
    addresses = [0, 4096, 8192]
    for column in (
        pandas.Series(addresses),
        polars.Series(addresses),
        pyarrow.array(addresses),
        pyarrow.chunked_array([addresses]),
    ):
        assert ts.open(column).to_arrow().column("address").to_pylist() == addresses
    numbers = list(numpy.array(addresses))
    assert ts.pages(numbers, dram="2p", memory="none").to_dict()["runs"][0]["misses"] == 3


def test_a_trace_in_memory_leaves_no_file_and_is_its_own_in_a_child(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    trace = ts.open([0, 4096, 8192])
    assert list(tmp_path.iterdir()) == []
    child = os.fork()
    if child == 0:
        del trace
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert trace.info().to_dict()["accesses"] == 3


def test_an_error_calls_a_trace_by_its_name() -> None:
    backwards = pyarrow.table({"address": [0, 8], "instruction": [5, 3]})
    with pytest.raises(ts.TerraceError, match="`mine`") as raised:
        ts.open(backwards, name="mine").info()
    assert "/proc" not in str(raised.value)
