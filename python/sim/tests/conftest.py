"""What several tests need."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def terrace() -> Callable[..., bytes]:
    """Run the command and return what it prints."""
    built = _ROOT / "target/debug/terrace"
    command = os.environ.get("TERRACE") or (
        str(built) if built.exists() else shutil.which("terrace")
    )
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


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    """Start a store, and return its endpoint."""
    moto = pytest.importorskip("moto.server", reason="moto is not there, which plays an S3 server")
    server = moto.ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    settings = {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key-of-nobody",
        "AWS_SECRET_ACCESS_KEY": "secret-of-nobody",
        "AWS_REGION": "us-east-1",
        "TERRACE_CACHE": str(tmp_path / "cache"),
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    yield endpoint
    server.stop()
