"""Programs that are recorded or run by the command `terrace`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from . import _native
from ._native import Failure, TerraceError, UsageError
from ._results import Results
from ._table import library
from ._traces import Trace

_Word = str | PathLike[str]


def record(
    program: Sequence[_Word], output: str | PathLike[str] | None = None, **options: Any
) -> Trace:
    """Record what a program does to its memory (`terrace record`), and return the trace.

    Args:
        program: The program and its arguments.
        output: The file of the trace; without it the trace goes with the object.
        options: Options of the command: `level="pages"` is `--level pages`, `contents=True` is
            `--contents`.

    Raises:
        UsageError: an option is not known, or has a wrong value.
        Failure: the program cannot be recorded.
    """
    words = _texts(program)
    kept = None
    if output is None:
        kept = _Directory()
        output = kept.path / f"{Path(words[0]).name}.parquet"
    before = Path(output).exists() and Path(output).stat().st_mtime_ns
    _run(["record", "-o", fspath(output), *_words(options), "--", *words], Path(output))
    if not Path(output).exists() or Path(output).stat().st_mtime_ns == before:
        raise Failure(f"there is no access of `{words[0]}` in the recording")
    return Trace(_native.Trace(fspath(output)), kept)


def run(program: Sequence[_Word], **options: Any) -> Results:
    """Run a program with part of its memory in a slower tier (`terrace run`): as root, or with the
    capabilities that `terrace doctor` names.

    Args:
        program: The program and its arguments.
        options: Options of the command: `dram="25%", compare=True`.

    Raises:
        UsageError: an option is not known, or has a wrong value.
        Failure: the machine lacks something that it needs.
    """
    with tempfile.TemporaryDirectory(prefix="terrace-") as directory:
        files = {form: Path(directory) / f"run.{form}" for form in _Written.FORMS}
        asked = [word for form, path in files.items() for word in (f"--{form}", str(path))]
        words = ["run", *asked, *_words(options), "--", *_texts(program)]
        said = _run(words, files["json"])
        written = _Written({form: path.read_bytes() for form, path in files.items()}, said)
    call = [repr([*_texts(program)]), *(f"{key}={value!r}" for key, value in options.items())]
    return Results(written, f"terrace_sim.run({', '.join(call)})")


class _Directory:
    """A directory that goes with an object, in the process that has made it."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="terrace-"))
        self._finalizer = weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)


class _Written:
    """Results that the command has written."""

    FORMS = ("json", "csv", "parquet", "html")

    def __init__(self, files: dict[str, bytes], said: str) -> None:
        self._files = files
        self._said = said

    def json(self) -> str:
        return self._files["json"].decode()

    def csv(self) -> bytes:
        return self._files["csv"]

    def parquet(self) -> bytes:
        return self._files["parquet"]

    def html(self, call: str) -> str:
        return self._files["html"].decode()

    def text(self) -> str:
        return self._said

    def remarks(self) -> list[str]:
        return []

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        arrow, parquet = library("pyarrow", "arrow"), library("pyarrow.parquet", "arrow")
        table = parquet.read_table(arrow.BufferReader(self.parquet()))
        stream: object = table.__arrow_c_stream__(requested_schema)
        return stream


def _texts(program: Sequence[_Word]) -> list[str]:
    if isinstance(program, (str, bytes, PathLike)) or not program:
        raise UsageError("a program is a list of words: its path, and its arguments")
    return [fspath(word) for word in program]


def _words(options: dict[str, Any]) -> list[str]:
    """Return options as words of the command line."""
    words = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            listed = isinstance(value, (list, tuple))
            words.append(f"{option}={','.join(map(str, value)) if listed else value}")
    return words


def _run(words: list[str], results: Path | None = None) -> str:
    """Run the command, pass on what it says, and return that.

    Where a program was run, the exit code is the program's own: results tell that it was.
    """
    command = shutil.which("terrace")
    if command is None:
        raise TerraceError("the command `terrace` is not in PATH; install it: make install")
    done = subprocess.run([command, *words], stderr=subprocess.PIPE, text=True, check=False)
    has_results = results is not None and results.exists() and results.stat().st_size > 0
    if done.returncode == 0 or has_results:
        sys.stderr.write(done.stderr)
        return done.stderr
    said = [line for line in done.stderr.splitlines() if line.startswith("terrace: ")]
    sentence = said[-1].removeprefix("terrace: ") if said else done.stderr.strip()
    if done.returncode == 2:
        raise UsageError(sentence)
    raise Failure(sentence or f"the command has ended with {done.returncode}")
