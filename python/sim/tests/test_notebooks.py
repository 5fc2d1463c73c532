"""The notebooks of the book run from the first cell to the last."""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
import pytest

_NOTEBOOKS = Path(__file__).parents[3] / "book/src/notebooks"


@pytest.mark.parametrize("path", sorted(_NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "it is kept without outputs"
    client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3")
    client.execute()
    shown = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.outputs]
    assert len(shown) > 2


def test_there_are_notebooks() -> None:
    assert len(list(_NOTEBOOKS.glob("*.ipynb"))) == 3
