"""The command and the package say the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import terrace_sim as ts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

#: Values of settings of pages, as Python has them.
PAGES: dict[str, Any] = {
    "dram": st.lists(st.sampled_from(["20p", "100p", "25%", "400p"]), min_size=1, max_size=2, unique=True),
    "replacement": st.lists(
        st.sampled_from(["lru", "fifo", "arc", "s3fifo", "cflru:window=0.3", "belady"]),
        min_size=1,
        max_size=3,
        unique=True,
    ),
    "memory": st.sampled_from(["pcm", "flash", ["pcm", "flash"]]),
    "prefetch": st.sampled_from(["off", "stream", "stride", ["off", "spatial"]]),
    "fault_cost": st.sampled_from([None, "700", "awad"]),
    "seed": st.integers(0, 9),
    "warmup": st.sampled_from([0, 1000, 5000]),
}


def words(values: dict[str, Any]) -> list[str]:
    """Return settings as words of the command line."""
    texts = {
        name: ",".join(map(str, value)) if isinstance(value, list) else str(value)
        for name, value in values.items()
        if value is not None
    }
    return [f"--{name.replace('_', '-')}={text}" for name, text in texts.items()]


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.fixed_dictionaries(PAGES))
def test_settings_through_both_give_the_same_bytes(
    terrace: Callable[..., bytes], zipf: Path, values: dict[str, Any]
) -> None:
    said = terrace("sim", "pages", zipf, "--json=-", "-q", *words(values))
    assert ts.pages(zipf, **values).to_json().encode() == said


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("level", "values"),
    [
        ("curve", {"replacement": ["lru", "arc"], "dram": ["64K", "256K"]}),
        ("llc", {"policy": ["lru", "drrip"], "llc": "64K", "l1": "off", "l2": "off"}),
        ("mix", {"llc": "64K", "l1": "off", "l2": "off", "turn": ["off", "fill"], "time": "1ms", "warmup": "0ms"}),
        ("files", {"dram": "64K", "flash_size": ["off", "256K"]}),
    ],
)
@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_every_level_gives_the_same_bytes(
    terrace: Callable[..., bytes], zipf: Path, tmp_path: Path, level: str, values: dict[str, Any], form: str
) -> None:
    theirs, ours = tmp_path / f"theirs.{form}", tmp_path / f"ours.{form}"
    terrace("sim", level, zipf, f"--{form}={theirs}", "-q", *words(values))
    found = getattr(ts, level)(zipf, **values)
    found.write(ours)
    assert ours.read_bytes() == theirs.read_bytes()
    assert len(found.to_polars()) == len(found.to_arrow()) > 0


def test_info_gives_the_same_bytes(terrace: Callable[..., bytes], zipf: Path) -> None:
    assert ts.open(zipf).info().to_json().encode() == terrace("trace", "info", zipf, "--json=-", "-q")


def test_columns_have_units_and_meanings(zipf: Path) -> None:
    schema = ts.pages(zipf, dram="100p", memory="pcm", warmup=1000).to_arrow().schema
    misses, time = schema.field("misses"), schema.field("time_ns")
    assert b"not in DRAM" in misses.metadata[b"help"]
    assert time.metadata[b"unit"] == b"ns"
    assert json.loads(ts.pages(zipf, dram="100p", memory="pcm", warmup=1000).to_json())["runs"]


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"dram": "100p", "memory": "pcm", "colour": "red"}, "no setting `colour`"),
        ({"dram": "100p", "memory": "cheese"}, "cheese"),
        ({"dram": "x", "memory": "pcm"}, "`dram`: `x`"),
        ({"memory": "pcm"}, "`dram` is missing"),
        ({"dram": "100p", "memory": "pcm", "replacement": "best"}, "best"),
        ({"dram": [], "memory": "pcm"}, "the list is empty"),
        ({"dram": object(), "memory": "pcm"}, "takes a text"),
        ({"dram": b"25%", "memory": "pcm"}, "takes a text"),
        ({"dram": "20p", "memory": "pcm", "limit": -1}, "`limit`"),
        ({"dram": "20p", "memory": "pcm", "fault_cost": "700", "fault-cost": "1400"}, "given twice"),
        ({"dram": "100p", "memory": "pcm", "memories": "none.toml"}, "none.toml"),
    ],
)
def test_a_wrong_setting_is_one_sentence(zipf: Path, values: dict[str, Any], why: str) -> None:
    with pytest.raises(ts.TerraceError, match=why) as raised:
        ts.pages(zipf, **values)
    assert "‘" not in str(raised.value)


def test_a_setting_that_changes_nothing_is_told(zipf: Path) -> None:
    with pytest.warns(UserWarning, match="`fault_cost` changes nothing"):
        ts.pages(zipf, dram="100p", memory="none", fault_cost="700")
