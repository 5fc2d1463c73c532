"""Programs that the command records or runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import terrace_sim as ts

pytestmark = pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None, reason="qemu-x86_64 is not there: nothing is recorded"
)


@pytest.fixture(autouse=True)
def in_path(terrace: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    built = Path(__file__).parents[3] / "target/debug"
    monkeypatch.setenv("PATH", f"{built}:{os.environ['PATH']}")


def test_a_program_is_recorded(tmp_path: Path) -> None:
    trace = ts.record(["/bin/true"], level="pages")
    assert trace.info().to_dict()["accesses"] > 50
    place = Path(trace.name)
    assert place.exists()
    del trace
    assert not place.exists()
    assert ts.record(["/bin/false"], level="pages").info().to_dict()["accesses"] > 50
    kept = ts.record(["/bin/true"], tmp_path / "true.parquet")
    assert kept.info().to_dict()["accesses"] > 10_000


@pytest.mark.parametrize(
    ("program", "options", "kind", "why"),
    [
        (["/no/such/program"], {}, ts.TerraceError, "/no/such/program"),
        ([], {}, ts.UsageError, "a list of words"),
        ("/bin/true", {}, ts.UsageError, "a list of words"),
        (["/bin/true"], {"level": "atoms"}, ts.UsageError, "atoms"),
        (["/bin/true"], {"colour": True}, ts.UsageError, "--colour"),
    ],
)
def test_what_cannot_be_recorded_is_one_sentence(
    program: list[str] | str, options: dict[str, object], kind: type[Exception], why: str
) -> None:
    with pytest.raises(kind, match=why):
        ts.record(program, **options)


def test_without_the_command_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ts.TerraceError, match="make install"):
        ts.run(["/bin/true"], dram="64M")


def test_a_program_is_run() -> None:
    if os.geteuid() != 0 or subprocess.run(["terrace", "doctor"], stdout=-3, check=False).returncode:
        pytest.skip("this needs root, and what terrace doctor asks for")
    found = ts.run(["/bin/sh", "-c", "exit 3"], dram="64M", tier_size="64M", quiet=True)
    ways = found.to_dict()
    assert ways["schema"] == "terrace.run/1"
    assert len(found.to_polars()) == 1
    with pytest.raises(ts.UsageError, match="dram"):
        ts.run(["/bin/true"], dram="0%")
