"""Where the numbers of a paper's page come from: JSON files, and the tables that are made from them."""

import json
import re
import statistics

NUMBER = r"(?<![\w.,])[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
WORDS = "no one two three four five six seven eight nine ten eleven twelve".split()


class Wrong(Exception):
    """A page names a value that is not there."""


class Source:
    """The values that a page may name."""

    def __init__(self, folder, results, tables):
        """`results` are those of `results.json` in the folder; `tables` maps names to Markdown."""
        self.folder, self.results = folder, results
        self.tables = tables

    def functions(self):
        """Returns what a template may call."""
        return {"result": self.result, "paper": self.paper, "file": self.file, "cell": self.cell,
                "table": self.table, "given": given, "near": near, "min": min, "max": max,
                "sum": sum, "len": len, "mean": statistics.mean, "median": statistics.median}

    def result(self, *keys):
        """Returns the number in `results.json` under these keys; `*` stands for all keys, and the
        numbers are a list then."""
        return numbers(walk(self.results, keys))

    def paper(self, *keys):
        """Returns the number in `paper.json` under these keys."""
        return self.file("paper.json", *keys)

    def file(self, name, *keys):
        """Returns the number in another JSON file of the folder under these keys."""
        return numbers(walk(json.loads((self.folder / name).read_text()), keys))

    def cell(self, table, *place):
        """Returns the number in a cell of a table. The place is the first cells of the row, and the
        head of the column. A name that is not there stands for the only one that begins with it;
        `HEAD#2` is the second column of this head; `*` is every row but bold ones, and the numbers
        are a list then. `yes` counts as 1 and `no` as 0; cells without a number are left out."""
        *row, column = place
        heads, rows = rows_of(self.table(table))
        at = column_of(heads, column)
        found = [cells[at] for cells in rows_named(rows, row)]
        values = [value for value in map(first_number, found) if value is not None]
        if "*" in row:
            return values
        if not values:
            raise Wrong(f"{(table, *place)} has no number: `{found[0]}`")
        return values[0]

    def table(self, name):
        """Returns a table in Markdown."""
        if name not in self.tables:
            raise Wrong(f"there is no table `{name}`")
        return self.tables[name]


def given(number, _reason):
    """Returns a number that no file holds; the reason is for those who read the template."""
    return number


def near(ours, papers, points=0):
    """Tells whether our number is within a tenth of the paper's, or within this many points. A list
    of the paper's numbers is a range."""
    known = papers if isinstance(papers, list) else [papers]
    least, most = min(known), max(known)
    below, above = (max(abs(end) / 10, points) for end in (least, most))
    return least - below <= ours <= most + above


def places(value, digits):
    """Writes a number with this many digits behind the point."""
    if isinstance(value, list):
        raise Wrong(f"{len(value)} values are no number")
    # Adding nothing turns -0.0 into 0.0.
    return f"{round(value, digits) + 0:,.{digits}f}"


def word(value):
    """Writes a number as the word of the nearest whole one."""
    if not 0 <= round(value) < len(WORDS):
        raise Wrong(f"there is no word for {value}")
    return WORDS[round(value)]


def walk(value, keys):
    """Returns the value under the keys, a list if a key is `*`."""
    for place, key in enumerate(keys):
        if key == "*":
            inner = value.values() if isinstance(value, dict) else value
            return [walk(one, keys[place + 1:]) for one in inner]
        if isinstance(value, list):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            raise Wrong(f"{keys}: there is no `{key}`")
    return value


def numbers(value):
    if isinstance(value, list):
        return [one for one in value if one is not None]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong(f"`{value}` is no number")
    return value


def rows_of(text):
    """Returns the heads and the rows of a table in Markdown, without backticks."""
    lines = [[cell.replace("`", "").strip() for cell in f"{line} ".strip("|").split(" |")]
             for line in text.splitlines()]
    heads = [head.replace("*", "") for head in lines[0]]
    return heads, lines[2:]


def column_of(heads, name):
    name, _, number = name.partition("#")
    found = [place for place, head in enumerate(heads) if head == name] \
        or [place for place, head in enumerate(heads) if head.startswith(name)]
    if not found or len(found) > 1 and not number:
        raise Wrong(f"{len(found)} columns are called `{name}`")
    return found[int(number or 1) - 1]


def rows_named(rows, names):
    """Returns the rows whose first cells are these names, or else begin with them."""
    if "*" in names:
        rows = [cells for cells in rows if not any(cell.startswith("**") for cell in cells)]
    for same in (str.__eq__, str.startswith):
        found = [cells for cells in rows
                 if all(name == "*" or same(cell.replace("*", ""), name)
                        for name, cell in zip(names, cells))]
        if found:
            break
    if not found or len(found) > 1 and "*" not in names:
        raise Wrong(f"{len(found)} rows are called {names}")
    return found


def first_number(cell):
    """Returns the first number in a cell, with `yes` as 1 and `no` as 0; None if there is none."""
    found = re.search(NUMBER, cell)
    if found:
        return float(found[0].replace(",", ""))
    return {"yes": 1, "no": 0}.get(cell)
