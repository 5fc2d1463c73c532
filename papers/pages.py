"""Renders the pages of the papers into the book, from templates and results. Runs nothing else.

Usage: pages.py

A paper's folder has `page.md.jinja`, a template that calls what `source.py` offers, and
`claims.toml`, what the paper claims. `book/src/results/NAME.md` is made from them, and
`book/src/results/papers.md` has the claims of all papers.
"""

import importlib
import json
import re
import sys
import tomllib
from pathlib import Path

PAPERS = Path(__file__).resolve().parent
sys.path.insert(0, str(PAPERS))

import common  # noqa: E402
from jinja2 import Environment, StrictUndefined, TemplateError, TemplateSyntaxError  # noqa: E402
from source import NUMBER, Source, Wrong, places, word  # noqa: E402

BOOK = PAPERS.parent / "book" / "src" / "results"
FOLDERS = sorted(path.parent.name for path in PAPERS.glob("*/results.json"))
PLACEHOLDER = re.compile(r"\{\{.*?\}\}", re.DOTALL)
# An indented line is a command.
CODE = re.compile(r"^    .*$", re.MULTILINE)
# Numbers that a percent sign follows; `§` is a placeholder.
PERCENTAGES = re.compile(
    rf"(?:(?:{NUMBER}|§),?\s+(?:(?:to|and|or|in place of|instead of|against)\s+)?)*"
    rf"(?:{NUMBER}|§)\s%")
HEADS = ["claim", "paper", "ours", "holds", "why"]
HOLDS = {True: "yes", False: "**no**", None: "cannot be said"}


class Page:
    """A paper's page and the files that it is made from."""

    def __init__(self, name):
        self.name, self.folder = name, PAPERS / name
        self.template = (self.folder / "page.md.jinja").read_text()
        self.declared = tomllib.loads((self.folder / "claims.toml").read_text())
        self.results, self.paper = (json.loads((self.folder / file).read_text())
                                    for file in ("results.json", "paper.json"))
        self.script = script(name)

    def tables(self, results):
        return self.script.tables(results, self.paper)

    def environment(self, results=None):
        """Returns the environment of the templates, with these results or those of the folder."""
        results = self.results if results is None else results
        source = Source(self.folder, results, self.tables(results))
        environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True,
                                  autoescape=False)
        environment.globals |= source.functions()
        environment.filters |= {"places": places, "word": word}
        return environment

    def rendered(self, results=None):
        """Returns the page in Markdown."""
        environment = self.environment(results)
        environment.globals["claims"] = lambda: self.claims(environment)
        note = f"<!-- Made by papers/pages.py from papers/{self.name}. -->\n\n"
        return note + environment.from_string(self.template).render()

    def claims(self, environment=None):
        """Returns the table of the paper's claims: what the paper has, what we have, and whether
        the claim holds by it, which is calculated."""
        environment = environment or self.environment()

        def text(given):
            return environment.from_string(given).render()

        def row(claim):
            if not {"claim", "paper", "ours"} <= set(claim) <= set(HEADS):
                raise Wrong(f"a claim has {', '.join(HEADS)}, and this one {', '.join(claim)}")
            holds = None
            if "holds" in claim:
                holds = bool(environment.compile_expression(claim["holds"])())
            cells = [claim["claim"], text(claim["paper"]), text(claim["ours"]), HOLDS[holds],
                     text(claim.get("why", ""))]
            return [cell.replace("|", "\\|") for cell in cells]

        return common.table(HEADS, map(row, self.declared["claim"]))

    def bare_percentages(self):
        """Returns the percentages of the templates that stand there as numbers. Each has to come
        from a file, or be `given` with a reason."""
        claims = [claim.get(key, "") for claim in self.declared["claim"] for key in HEADS if key != "holds"]
        text = PLACEHOLDER.sub("§", CODE.sub("", "\n\n".join([self.template, *claims])))
        return [number for group in PERCENTAGES.finditer(text)
                for number in re.findall(NUMBER, group[0])]

    def unshown(self):
        """Returns the names of the tables that the page does not show."""
        shown = set(re.findall(r'\{\{ table\("([\w-]+)"\) \}\}', self.template))
        return sorted(set(self.tables(self.results)) - shown)


def script(name):
    """Imports `repeat.py` of a folder with the folder's own modules, whose names other folders use
    too."""
    def ours():
        return [name for name, module in sys.modules.items()
                if Path(getattr(module, "__file__", None) or "/").parent.parent == PAPERS]

    kept = {name: sys.modules.pop(name) for name in ours()}
    path = list(sys.path)
    try:
        sys.path.insert(0, str(PAPERS / name))
        sys.modules.pop("repeat", None)
        return importlib.import_module("repeat")
    finally:
        for module in ours():
            del sys.modules[module]
        sys.modules.update(kept)
        sys.path[:] = path


def page(name):
    """Returns a page with its text; an error says of which folder it is."""
    try:
        one = Page(name)
        return one, one.rendered()
    except (Wrong, TemplateError, tomllib.TOMLDecodeError, ValueError, TypeError, KeyError,
            OSError) as error:
        line = f", line {error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
        raise Wrong(f"papers/{name}{line}: {error}") from error


def index(pages):
    """Returns the page of all claims."""
    parts = [f"## [{page.declared['paper']}]({page.name}.md)\n\n{page.claims()}\n"
             for page in pages]
    return (PAPERS / "claims.md").read_text() + "\n" + "\n".join(parts)


def rendered():
    """Returns all pages by their file names."""
    pages = [page(name) for name in FOLDERS]
    texts = {f"{one.name}.md": text for one, text in pages}
    return texts | {"papers.md": index([one for one, _ in pages])}


def main():
    try:
        for name, text in rendered().items():
            (BOOK / name).write_text(text)
    except Wrong as error:
        sys.exit(f"pages.py: {error}")


if __name__ == "__main__":
    main()
