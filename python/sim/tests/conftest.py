"""What several tests need."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def terrace() -> Callable[..., bytes]:
    """Run the command and return what it prints."""
    built = _ROOT / "target/debug/terrace"
    command = os.environ.get("TERRACE") or (str(built) if built.exists() else shutil.which("terrace"))
    if command is None:
        pytest.skip("the command terrace is not there: build it, or name it in TERRACE")

    def run(*words: object) -> bytes:
        done = subprocess.run([command, *map(str, words)], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    return run


@pytest.fixture(scope="session")
def zipf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace of some thousand accesses, half of them to few pages."""
    import numpy
    import pyarrow
    import pyarrow.parquet

    draw = numpy.random.default_rng(7)
    pages = draw.zipf(1.2, 20_000) % 500
    table = pyarrow.table(
        {
            "address": pyarrow.array(pages * 4096 + draw.integers(0, 512, 20_000) * 8, "uint64"),
            "write": pyarrow.array(draw.random(20_000) < 0.3),
        }
    )
    path = tmp_path_factory.mktemp("traces") / "zipf.parquet"
    pyarrow.parquet.write_table(table, path)
    return path
