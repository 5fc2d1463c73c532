"""Policies that are written in Python."""

from __future__ import annotations

import os
import signal
import tempfile
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest
import terrace_sim as ts


class PythonLru(ts.Replacement):
    """The page that was touched longest ago leaves."""

    def __init__(self, capacity: int, seed: int) -> None:
        self.pages: OrderedDict[int, bool] = OrderedDict()

    def touch(self, page: int, write: bool) -> None:
        self.pages[page] = write
        self.pages.move_to_end(page)

    def evict(self) -> int:
        return self.pages.popitem(last=False)[0]

    def remove(self, page: int) -> None:
        del self.pages[page]


class PythonFifo(PythonLru):
    """The page that came first leaves."""

    name = "fifo-of-python"

    def touch(self, page: int, write: bool) -> None:
        self.pages.setdefault(page, write)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("ours", "theirs"), [(PythonLru, "lru"), (PythonFifo, "fifo")])
def test_a_policy_is_what_ours_is(zipf: Path, ours: type[ts.Replacement], theirs: str) -> None:
    drams = ["1p", "20p", "100p", "499p"]
    found = ts.pages(zipf, dram=drams, replacement=[ours, theirs], memory="pcm").to_dict()["runs"]
    names = [run["settings"].pop("replacement") for run in found]
    assert found[0::2] == found[1::2]
    assert names[1::2] == [theirs] * 4 and theirs not in names[0::2]


class Keeper(PythonLru):
    """Keeps what it is told, beside a copy that it makes at once."""

    told: list[tuple[Any, Any, list[int], list[bool]]] = []

    def touches(self, pages: Any, writes: Any) -> None:
        self.told.append((pages, writes, pages.tolist(), writes.tolist()))
        super().touches(pages, writes)


@pytest.mark.parametrize("dram", ["1p", "50p", "250p"])
def test_what_a_policy_was_told_stays_as_it_was(dram: str) -> None:
    numpy = pytest.importorskip("numpy")
    # More than are told at once, and the first of them before any page leaves.
    first = numpy.arange(140_000) % 200
    addresses = numpy.concatenate([first, numpy.random.default_rng(3).integers(0, 300, 70_000)])
    writes = addresses % 3 == 0
    Keeper.told = []
    trace = ts.open(addresses * 4096, writes=writes)
    found = ts.pages(trace, dram=dram, replacement=[Keeper, "lru"], memory="none").to_dict()["runs"]
    assert found[0]["misses"] == found[1]["misses"]
    assert sum(len(pages) for _, _, pages, _ in Keeper.told) > 200_000
    for pages, flags, was, were in Keeper.told:
        assert (pages.tolist(), flags.tolist()) == (was, were)
        assert pages.readonly and flags.readonly
        assert numpy.asarray(pages).dtype == "uint32" and numpy.asarray(flags).dtype == "bool"
        # Pages are numbered in the order in which they came, and here that is by the address.
        if dram == "250p":
            assert all(flag == (page % 3 == 0) for page, flag in zip(was, were) if page < 200)


def test_a_fork_simulates(zipf: Path, tmp_path: Path) -> None:
    trace = ts.open(zipf)

    def misses() -> int:
        found = ts.pages(trace, dram=["20p", "50p"], replacement=[PythonLru, "lru"], memory="none")
        return int(found.to_dict()["runs"][0]["misses"])

    def swept() -> bool:
        grid = ts.grid(dram=["20p", "50p"], replacement=[PythonLru, "lru"], memory="none")
        results = tempfile.mkdtemp(dir=tmp_path)
        return bool(ts.sweep(trace, grid, results=results).to_dict()["runs"])

    expected = misses()
    assert swept()
    # Its threads are not there in the child, which would wait for them.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if misses() == expected and swept() else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_pages_that_are_fetched_ahead_are_told(zipf: Path) -> None:
    found = ts.pages(zipf, dram="50p", replacement=PythonLru, memory="pcm", prefetch="stream")
    assert found.to_dict()["runs"][0]["misses"] > 0


def test_names_come_from_classes(zipf: Path) -> None:
    def again() -> type[ts.Replacement]:
        class TwiceMade(PythonLru):
            pass

        return TwiceMade

    names = [
        ts.pages(zipf, dram="400p", replacement=made, memory="pcm", warmup=10_000).to_dict()[
            "runs"
        ][0]
        for made in (again(), again())
    ]
    assert [run["settings"]["replacement"] for run in names] == ["twice-made", "twice-made-2"]

    class Lru(PythonLru):
        pass

    found = ts.pages(zipf, dram="400p", replacement=["lru", Lru], memory="none").to_dict()["runs"]
    assert [run["settings"]["replacement"] for run in found] == ["lru", "lru-2"]


class Broken(PythonLru):
    """Fails after some touches."""

    def evict(self) -> int:
        raise ZeroDivisionError("the policy's own")


class Liar(PythonLru):
    """Evicts what is not there."""

    def evict(self) -> int:
        return 10**6


class Mute(PythonLru):
    """Evicts nothing."""

    def evict(self) -> int:
        return None  # type: ignore[return-value]


class Unfinished(ts.Replacement):
    """Has no methods."""


class Unmade(ts.Replacement):
    """Cannot be made."""

    def __init__(self, capacity: int, seed: int) -> None:
        raise KeyError("no")


class Taken(PythonLru):
    """Has the name of another."""

    name = "lru"


@pytest.mark.parametrize(
    ("policy", "kind", "why"),
    [
        (Broken, ZeroDivisionError, "the policy's own"),
        (Liar, ts.UsageError, "which is not in DRAM"),
        (Mute, ts.UsageError, "`mute` evicts page None"),
        (Unfinished, NotImplementedError, "touch"),
        (Unmade, KeyError, "no"),
        (Taken, ts.UsageError, "lru"),
    ],
)
def test_what_a_policy_raises_is_raised(
    zipf: Path, policy: Any, kind: type[Exception], why: str
) -> None:
    with pytest.raises(kind, match=why):
        ts.pages(zipf, dram="20p", replacement=policy, memory="pcm")
    # And the next simulation is as any.
    ts.pages(zipf, dram="20p", replacement="lru", memory="pcm", warmup=1000)
