"""Finds errors in the papers' READMEs: tables and numbers that differ from results.json.

Usage: readmes.py [--fill]    prints the errors; or makes the tables anew, from results.json alone
"""

import importlib
import json
import re
import sys
from pathlib import Path

PAPERS = Path(__file__).resolve().parent
sys.path.insert(0, str(PAPERS))

import common  # noqa: E402
from marks import Source, Wrong, marks, unmarked_percentages, without_number  # noqa: E402

FOLDERS = sorted(path.parent.name for path in PAPERS.glob("*/results.json"))
TABLE = re.compile(r"<!-- (?P<name>[\w-]+) -->\n\n(?P<table>.*?)\n\n<!-- /(?P=name) -->", re.DOTALL)
# An indented line is a command.
CODE = re.compile(r"^    .*$", re.MULTILINE)


def script(folder):
    """Imports `repeat.py` of a folder with the folder's own modules, whose names other folders use too."""
    def ours():
        return [name for name, module in sys.modules.items()
                if Path(getattr(module, "__file__", None) or "/").parent.parent == PAPERS]

    kept = {name: sys.modules.pop(name) for name in ours()}
    path = list(sys.path)
    try:
        sys.path.insert(0, str(PAPERS / folder))
        sys.modules.pop("repeat", None)
        return importlib.import_module("repeat")
    finally:
        for name in ours():
            del sys.modules[name]
        sys.modules.update(kept)
        sys.path[:] = path


class Readme:
    """A paper's README and the files that it is made from."""

    def __init__(self, folder):
        self.folder = PAPERS / folder
        self.text = (self.folder / "README.md").read_text()
        self.results, self.paper = (json.loads((self.folder / name).read_text()) for name in ("results.json", "paper.json"))
        self.script = script(folder)
        self.tables = self.tables_of(self.results)

    def tables_of(self, results):
        return self.script.tables(results, self.paper)

    def source(self):
        return Source(self.folder, self.results, self.tables)

    def problems(self, text=None):
        """Returns a sentence for each error in the README, or in `text` instead of it."""
        text = self.text if text is None else text
        return [*self.wrong_tables(text), *self.wrong_numbers(text), *self.unsaid(text)]

    def wrong_tables(self, text):
        shown = {found["name"]: found["table"] for found in TABLE.finditer(text)}
        for name in sorted({*shown, *self.tables}):
            if shown.get(name) != self.tables.get(name):
                yield f"the table `{name}` is not that of results.json"
        if re.search(r"^\|", prose(text), re.MULTILINE):
            yield "a table stands outside of those that are made"

    def wrong_numbers(self, text):
        source = self.source()
        for mark in without_number(text):
            yield f"no number stands before {mark}"
        for mark in marks(text):
            try:
                if mark.holds:
                    source.check(mark)
            except Wrong as error:
                yield str(error)

    def unsaid(self, text):
        for number in unmarked_percentages(prose(text)):
            yield f"nothing is said of {number} %"


def prose(text):
    """Returns the text without generated tables and commands."""
    return CODE.sub("", TABLE.sub("", text))


def main():
    wrong = 0
    for folder in FOLDERS:
        if "--fill" in sys.argv:
            readme = Readme(folder)
            common.fill_in(readme.folder / "README.md", readme.tables)
        for problem in Readme(folder).problems():
            print(f"{folder}: {problem}")
            wrong += 1
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
