"""What else goes on while a simulation runs."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import numpy
import pytest
import terrace_sim as ts


@pytest.fixture(scope="module")
def long() -> ts.Trace:
    """Return a trace that takes seconds."""
    draw = numpy.random.default_rng(1)
    return ts.open((draw.integers(0, 100_000, 6_000_000) * 4096).astype("u8"), name="long")


def test_ctrl_c_stops_a_simulation(long: ts.Trace) -> None:
    begun = time.monotonic()
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    with pytest.raises(KeyboardInterrupt):
        ts.pages(long, dram=["1000p", "2000p"], replacement=["lru", "arc", "lirs"], memory="pcm")
    whole = time.monotonic() - begun
    assert whole < 60, "it went on"


def test_other_threads_go_on(long: ts.Trace) -> None:
    ended, counted = threading.Event(), 0

    def count() -> None:
        nonlocal counted
        while not ended.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    ts.pages(long, dram="1000p", memory="pcm", limit=2_000_000)
    ended.set()
    thread.join()
    assert counted > 20


def test_progress_is_told(long: ts.Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    import tqdm.auto

    seen: list[Any] = []

    class Bar:
        def __init__(self, total: int | None, desc: str, **_: Any) -> None:
            self.n = 0
            seen.append((desc, total))

        def update(self, by: int) -> None:
            self.n += by
            seen.append(self.n)

        def close(self) -> None:
            seen.append("closed")

    monkeypatch.setattr(tqdm.auto, "tqdm", Bar)
    ts.pages(long, dram="1000p", memory="pcm", progress=True, limit=4_000_000)
    assert seen and seen[-1] == "closed"
    steps = [step for step in seen if isinstance(step, int)]
    assert max(steps) > 100_000


def test_a_bar_is_told_before_anything_begins() -> None:
    pytest.importorskip("tqdm")
    from terrace_sim._simulation import Bar

    with Bar(True) as bar:
        bar("", 0, None)
        bar("simulating", 3, 10)
        assert bar._bar.n == 3


def test_results_are_shown(long: ts.Trace) -> None:
    found = ts.pages(long, dram="1000p", memory="pcm", limit=100_000, warmup=20_000)
    page = found._repr_html_()
    assert page.startswith("<iframe") and "<script" not in page
    assert "miss ratio" in str(found) and "miss ratio" in repr(found)
    with pytest.raises(ts.UsageError, match="names no form"):
        found.write("results.xlsx")
    chart = ts.curve(long, dram=["4M", "64M"], limit=100_000).plot().to_dict()
    assert chart["encoding"]["color"]["field"]
    with pytest.raises(ts.UsageError, match="no column `colour`"):
        found.plot(color="colour")
