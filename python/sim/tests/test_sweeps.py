"""Sweeps in the process, on a cluster, and with the command, in one folder."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import terrace_sim as ts

distributed = pytest.importorskip("distributed", reason="distributed is not there, the cluster")

#: Twenty machines: two passes of ten over each trace.
SETTINGS: dict[str, Any] = {
    "dram": ["5%", "10%", "20%", "40%", "60%"],
    "replacement": ["lru", "arc", "s3fifo", "clock"],
    "memory": "pcm",
}


class Last(ts.Replacement):
    """The page that was touched last leaves."""

    def __init__(self, capacity: int, seed: int) -> None:
        self.pages: dict[int, bool] = {}

    def touch(self, page: int, write: bool) -> None:
        self.pages.pop(page, None)
        self.pages[page] = write

    def evict(self) -> int:
        return self.pages.popitem()[0]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return three traces, each of other pages."""
    import numpy
    import pyarrow
    import pyarrow.parquet

    directory = tmp_path_factory.mktemp("sweep")
    paths = []
    for seed in range(3):
        pages = numpy.random.default_rng(seed).zipf(1.2, 30_000) % 700
        table = pyarrow.table({"address": pyarrow.array(pages * 4096, "uint64")})
        paths.append(str(directory / f"{seed}.parquet"))
        pyarrow.parquet.write_table(table, paths[-1])
    return paths


@pytest.fixture(scope="module")
def whole(traces: list[str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the JSON of a sweep that nothing has disturbed."""
    results = tmp_path_factory.mktemp("whole") / "results"
    return ts.sweep(traces, ts.grid(**SETTINGS), results=results).to_json()


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Start two workers with a process each."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as found,
        distributed.Client(found) as client,
    ):
        yield client


def options(**others: str) -> list[str]:
    """Return the settings as options of the command."""
    texts = {
        name: value if isinstance(value, str) else ",".join(value)
        for name, value in SETTINGS.items()
    }
    return [f"--{name}={value}" for name, value in (texts | others).items()]


def passes(results: Path) -> set[str]:
    return {path.name for path in results.glob("*.parquet")}


def test_it_is_what_each_trace_gives_alone(
    traces: list[str], whole: str, terrace: Callable[..., bytes], tmp_path: Path
) -> None:
    said = terrace("sweep", *options(), *traces, "-o", tmp_path / "out", "--json", "-")
    assert said.decode() == whole
    runs = json.loads(whole)["runs"]
    for at, trace in enumerate(traces):
        alone = ts.pages(trace, **SETTINGS).to_dict()["runs"]
        ours = runs[20 * at : 20 * (at + 1)]
        assert [run["misses"] for run in ours] == [run["misses"] for run in alone]
        assert {run["trace"] for run in ours} == {trace}


def test_a_worker_dies_and_another_comes(
    traces: list[str], whole: str, tmp_path: Path, cluster: Any
) -> None:
    results = tmp_path / "results"

    def disturb() -> None:
        while not passes(results):
            time.sleep(0.01)
        [pid, *_] = cluster.run(os.getpid).values()
        os.kill(pid, signal.SIGKILL)
        cluster.cluster.scale(3)

    other = threading.Thread(target=disturb)
    other.start()
    found = ts.sweep(traces, ts.grid(**SETTINGS), results=results, client=cluster)
    other.join()
    assert found.to_json() == whole
    assert len(passes(results)) == 6
    # Nothing is left to do.
    before = {path: path.stat().st_mtime_ns for path in results.iterdir()}
    assert ts.sweep(traces, ts.grid(**SETTINGS), results=results, client=cluster).to_json() == whole
    assert before == {path: path.stat().st_mtime_ns for path in results.iterdir()}


def test_the_command_begins_and_workers_go_on(
    traces: list[str], whole: str, terrace: Callable[..., bytes], tmp_path: Path, cluster: Any
) -> None:
    results = tmp_path / "shared"
    begin = [*options(dram="5%,10%,20%"), traces[0], "-o", tmp_path / "begun", "-q"]
    terrace("sweep", *begin, "--results", results)
    begun = passes(results)
    assert len(begun) == 1
    found = ts.sweep(traces, ts.grid(**SETTINGS), results=results, client=cluster)
    assert found.to_json() == whole
    # Of the first trace eight machines were missing.
    assert begun < passes(results) and len(passes(results)) == 1 + 1 + 2 * 2
    # And back: the command finds all.
    out = ["-o", tmp_path / "out", "--results", results, "--json", "-"]
    said = terrace("sweep", *options(), *traces, *out)
    assert said.decode() == whole
    assert len(passes(results)) == 6


def test_two_at_once_with_results_in_a_store(
    store: str, traces: list[str], whole: str, tmp_path: Path
) -> None:
    import boto3

    boto3.client("s3", endpoint_url=store).create_bucket(Bucket="sweeps")
    uris = []
    for path in traces:
        name = Path(path).name
        boto3.client("s3", endpoint_url=store).upload_file(path, "sweeps", f"traces/{name}")
        uris.append(f"s3://sweeps/traces/{name}")
    folder = "s3://sweeps/results/one"
    found: list[str] = []

    def run(client: Any) -> None:
        grid = ts.grid(**SETTINGS)
        found.append(ts.sweep(uris, grid, results=folder, client=client).to_json())

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as workers,
        distributed.Client(workers) as client,
    ):
        both = [threading.Thread(target=run, args=(one,)) for one in (client, None)]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
    expected = whole
    for path, uri in zip(traces, uris):
        expected = expected.replace(path, uri)
    assert found == [expected, expected]
    rows = ts.collect(folder).to_polars()
    assert rows.height == 60 and sorted(set(rows["trace"])) == uris
    # A store that refuses is one sentence.
    with pytest.raises(ts.Failure, match="s3://nobody/results") as raised:
        ts.sweep(traces[0], ts.grid(dram="10%"), results="s3://nobody/results")
    assert "secret-of-nobody" not in str(raised.value) and "\n" not in str(raised.value)


def test_a_policy_of_ones_own_on_workers(traces: list[str], tmp_path: Path, cluster: Any) -> None:
    grid = ts.grid(dram=["10%", "50%"], replacement=["lru", Last], memory="pcm")
    assert len(grid) == 4 and "last" in repr(grid)
    there = ts.sweep(traces, grid, results=tmp_path / "there", client=cluster)
    here = ts.sweep(traces, grid, results=tmp_path / "here")
    assert there.to_json() == here.to_json()
    assert passes(tmp_path / "there") == passes(tmp_path / "here")


def test_a_worker_with_other_code_of_a_policy_says_so(
    traces: list[str], tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module on the workers' hosts, which is older than the client's."""
    for version in (1, 2):
        (tmp_path / str(version)).mkdir()
        code = f"class Kept({__name__}.Last):\n    version = {version}\n"
        (tmp_path / str(version) / "kept_policy.py").write_text(f"import {__name__}\n{code}")
    here, there = Path(__file__).parent, tmp_path / "1"

    def older(dask_worker: Any) -> None:
        import sys

        sys.path[:0] = [str(there), str(here)]

    cluster.run(older)
    monkeypatch.syspath_prepend(tmp_path / "2")
    import kept_policy

    grid = ts.grid(dram="10%", replacement=kept_policy.Kept, memory="pcm")
    with pytest.raises(ts.Failure, match="a worker has other code of the class Kept"):
        ts.sweep(traces, grid, results=tmp_path / "results", client=cluster)


def test_collected_rows_are_those_of_the_table(traces: list[str], tmp_path: Path) -> None:
    results = tmp_path / "results"
    found = ts.sweep(traces, ts.grid(**SETTINGS), results=results)
    collected = ts.collect(results)
    assert len(collected) == 60 and "60 rows" in repr(collected)
    by = ["trace", "dram", "replacement"]
    assert collected.to_polars().sort(by).equals(found.to_polars().sort(by))
    field = collected.to_arrow().schema.field("time_ns")
    assert field.metadata[b"unit"]
    # A program that knows nothing of us reads the same.
    import polars

    assert polars.read_parquet(results / "*.parquet").sort(by).equals(found.to_polars().sort(by))
    [torn, *_] = results.iterdir()
    torn.write_bytes(torn.read_bytes()[:1000])
    with pytest.warns(UserWarning, match="a file is damaged"):
        assert len(ts.collect(results)) == 50


def test_a_worker_that_cannot_says_why(traces: list[str], tmp_path: Path, cluster: Any) -> None:
    broken = tmp_path / "broken.parquet"
    whole = Path(traces[0]).read_bytes()
    results = tmp_path / "results"
    grid = ts.grid(dram=["10%", "50%"], memory="pcm")
    # Its first columns are torn, and its footer is there.
    broken.write_bytes(whole[:100] + bytes(5000) + whole[5100:])
    with pytest.raises(ts.Failure, match="broken.parquet") as raised:
        ts.sweep([*traces, broken], grid, results=results, client=cluster)
    assert "what is finished stays in" in str(raised.value)
    # It is mended while its error is still held.
    broken.write_bytes(whole)
    found = ts.sweep([*traces, broken], grid, results=results, client=cluster)
    assert len(found.to_dict()["runs"]) == 8
    with pytest.raises(ts.UsageError, match="is in the memory of this process"):
        ts.sweep([0, 4096], grid, results=results, client=cluster)


def test_the_scheduler_opens_nothing_and_what_is_finished_is_dropped(
    traces: list[str], tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scheduler of this cluster is in this process."""
    import functools
    import types

    from terrace_sim import _sweeps, _traces

    log, opened = tmp_path / "log", []

    class Counted(distributed.WorkerPlugin):  # type: ignore[misc]
        """A worker that comes later has it as well."""

        def setup(self, worker: Any) -> None:
            import terrace_sim._sweeps as sweeps

            def part(file: Any, machines: list[int], common: bytes) -> list[str]:
                with log.open("a") as lines:
                    lines.write("a task\n")
                time.sleep(0.05)
                return []

            sweeps._part = part

    def disturb() -> None:
        while not log.exists() or log.read_text().count("\n") < 30:
            time.sleep(0.01)
        [pid, *_] = cluster.run(os.getpid).values()
        os.kill(pid, signal.SIGKILL)

    @functools.wraps(_traces.reopened)
    def reopened(*arguments: Any) -> Any:
        opened.append(arguments)

    cluster.register_plugin(Counted())
    monkeypatch.setattr(_traces, "reopened", reopened)
    left = iter([(0, [(0, [0], str(part)) for part in range(60)]), (0, [])])
    native: Any = types.SimpleNamespace(left=lambda bar: next(left))
    other = threading.Thread(target=disturb)
    other.start()
    common: Any = ({}, {}, None, None, str(tmp_path))
    assert list(_sweeps._on_cluster(native, [ts.open(traces[0])], common, cluster, None)) == []
    other.join()
    assert not opened
    # A worker had two tasks at most when it died, and two more may have ended unheard.
    assert log.read_text().count("\n") - 60 <= 4


def test_a_folder_that_workers_do_not_see(traces: list[str], tmp_path: Path, cluster: Any) -> None:
    """Workers of another host see another directory, or none: here one that was moved away."""
    results = tmp_path / "results"

    def moved(dask_worker: Any) -> None:
        import pickle

        import terrace_sim._sweeps as sweeps

        whole = sweeps._part

        def elsewhere(file: Any, machines: Any, common: bytes) -> Any:
            *settings, _ = pickle.loads(common)
            return whole(file, machines, pickle.dumps((*settings, str(tmp_path / "other"))))

        sweeps._part = elsewhere

    cluster.run(moved)
    grid = ts.grid(dram=["10%", "50%"], memory="pcm")
    with pytest.raises(ts.Failure, match="a worker does not see the directory"):
        ts.sweep(traces, grid, results=results, client=cluster)
    (tmp_path / "other").mkdir()
    with pytest.raises(ts.Failure, match="of 3 tasks nothing is in"):
        ts.sweep(traces, grid, results=results, client=cluster)


def test_a_cell_that_is_run_again_is_the_same_policy(traces: list[str], tmp_path: Path) -> None:
    code = "class Again(Last):\n    name = 'again'\n    keep = {}\n"
    for keep, names in ((1, {"again"}), (1, {"again"}), (2, {"again-2"})):
        cell: dict[str, Any] = {"Last": Last, "__name__": "__main__"}
        exec(code.format(keep), cell)
        grid = ts.grid(dram="10%", replacement=cell["Again"], memory="pcm")
        found = ts.sweep(traces[0], grid, results=tmp_path)
        assert set(found.to_polars()["replacement"]) == names
    assert len(passes(tmp_path)) == 2


def test_damaged_files_are_told_and_made_anew(traces: list[str], tmp_path: Path) -> None:
    grid = ts.grid(dram="10%", memory="pcm")
    whole = ts.sweep(traces[0], grid, results=tmp_path)
    [file] = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.warns(UserWarning, match="1 damaged files are not used"):
        found = ts.sweep(traces[0], grid, results=tmp_path)
    assert found.to_json() == whole.to_json()
    assert not ts.sweep(iter(traces[:1]), grid, results=tmp_path).remarks


def test_what_is_wrong_is_one_sentence(traces: list[str], tmp_path: Path) -> None:
    grid = ts.grid(dram="10%")
    with pytest.raises(ts.UsageError, match="there is no replacement policy"):
        ts.grid(dram="10%", replacement="magic")
    with pytest.raises(ts.UsageError, match="are a grid"):
        ts.sweep(traces, {"dram": "10%"}, results=tmp_path / "r")  # type: ignore[arg-type]
    with pytest.raises(ts.UsageError, match="not asynchronous"):
        ts.sweep(traces, grid, results=tmp_path / "r", client="tcp://nowhere")
    for wrong in (None, 3, b"r", ""):
        with pytest.raises(ts.UsageError, match="`results` is the path"):
            ts.sweep(traces, grid, results=wrong)  # type: ignore[arg-type]
        with pytest.raises(ts.UsageError, match="`results` is the path"):
            ts.collect(wrong)  # type: ignore[arg-type]
    with pytest.raises(ts.Failure, match="there are no results"):
        ts.collect(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ts.UsageError, match="is not a directory"):
        ts.sweep(traces, grid, results=tmp_path / "file")
    with pytest.raises(ts.UsageError, match="no trace is given"):
        ts.sweep([], grid, results=tmp_path / "r")
    with pytest.raises(ts.Failure, match="cannot"):
        ts.sweep(traces, grid, results=tmp_path / "none" / "r")
    assert not (tmp_path / "r").exists()


def test_addresses_in_memory_are_known_again(tmp_path: Path) -> None:
    grid, pages = ts.grid(dram="2p", memory="pcm"), [0, 4096, 8192, 0, 4096, 8192]
    found = [ts.sweep(pages, grid, results=tmp_path).to_json() for _ in range(2)]
    assert found[0] == found[1] and len(passes(tmp_path)) == 1
    ts.sweep([*pages, 0], grid, results=tmp_path)
    assert len(passes(tmp_path)) == 2


def test_ctrl_c_stops_it_and_it_goes_on(traces: list[str], whole: str, tmp_path: Path) -> None:
    results = tmp_path / "results"

    def interrupt() -> None:
        while not passes(results):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            ts.sweep(traces, ts.grid(**SETTINGS), results=results)
    other.join()
    assert ts.sweep(traces, ts.grid(**SETTINGS), results=results).to_json() == whole
