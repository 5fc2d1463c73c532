"""Marks in a README: where a number in its prose is from, behind the number and invisible.

    ARI spares 26.6<!--={averages|2.6|ari: write-backs|ours}--> % of the write-backs

`[programs|bzip2|setup]` is what results.json has there, `[paper.json|ipc|...]` likewise of a file
beside it, and `{table|row|column}` a cell of a table of the README, its row named by the first cell,
or by the first ones. A name that is not there stands for the only one that begins with it, `*` for
all but what is printed bold: the values are then a list. Cells without a number are left out, `yes`
counts as 1. Marks may calculate: + - * / and min, max, sum, mean, median, len. A number is right if
it is the value, rounded to as many places as it has; `~1000` behind it all rounds to thousands
instead.

    it was 12<!--:an earlier run--> %

says why there is nothing to compare the number with.
"""

import ast
import json
import operator
import re
import statistics
from dataclasses import dataclass

NUMBER = r"(?<![\w.,])[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?"
WORDS = {word: value for value, word in enumerate(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split())}
WORDS |= {"no": 0, "none": 0, "once": 1, "twice": 2}
MARK = re.compile(rf"(?P<number>{NUMBER}|\b(?:{'|'.join(WORDS)})\b)<!--(?P<kind>[=:])(?P<said>.*?)-->",
                  re.DOTALL | re.IGNORECASE)
COMMENT = "<!--(?:(?!-->).)*-->"
# Numbers that a percent sign follows, each with its mark if it has one.
MARKED = rf"{NUMBER}(?:{COMMENT})?"
PERCENTAGES = re.compile(rf"(?:{MARKED},?\s+(?:(?:to|and|or|in place of|instead of|against)\s+)?)*{MARKED}\s%", re.DOTALL)
ATOM = re.compile(r"\[([^\]]+)\]|\{([^}]+)\}", re.DOTALL)
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
FUNCTIONS = {"min": min, "max": max, "sum": sum, "mean": statistics.mean, "median": statistics.median, "len": len}


class Wrong(Exception):
    """An error in a mark, or in the number that it stands behind."""


@dataclass
class Mark:
    """A number with its mark."""
    number: str
    kind: str
    said: str

    @property
    def holds(self):
        return self.kind == "="


def marks(text):
    return [Mark(found["number"], found["kind"], " ".join(found["said"].split())) for found in MARK.finditer(text)]


def without_number(text):
    """Returns the marks that stand behind no number, and so check nothing."""
    return re.findall(r"<!--[=:].*?-->", MARK.sub("", text), re.DOTALL)


def unmarked_percentages(prose):
    """Returns the numbers before a percent sign that have no mark."""
    found = []
    for group in PERCENTAGES.finditer(prose):
        found += re.findall(NUMBER, without_marked(group[0]))
    return found


def without_marked(text):
    return re.sub(rf"{NUMBER}{COMMENT}", "", text, flags=re.DOTALL)


class Source:
    """The values that marks may name: files beside a README, and the tables made from them."""

    def __init__(self, folder, results, tables):
        self.folder, self.results = folder, results
        self.tables = {name: rows_of(text) for name, text in tables.items()}

    def check(self, mark):
        """Raises `Wrong` if the number is not what its mark says."""
        expression, _, step = mark.said.partition("~")
        value = self.value(expression.strip())
        if isinstance(value, list):
            raise Wrong(f"`{mark.said}` is {len(value)} values, not one")
        printed = parsed(mark.number)
        if not agrees(printed, places(mark.number), value, float(step) if step else None):
            raise Wrong(f"{mark.number} is said, and `{mark.said}` is {value:.6g}")

    def value(self, expression):
        """Evaluates an expression; returns a number, or a list."""
        atoms = []

        def name(found):
            atoms.append(self.at(found[1]) if found[1] else self.cell(found[2]))
            return f"_{len(atoms) - 1}"

        try:
            tree = ast.parse(ATOM.sub(name, expression), mode="eval")
        except SyntaxError as error:
            raise Wrong(f"`{expression}` cannot be calculated") from error
        return calculate(tree.body, atoms, expression)

    def at(self, path):
        first, *rest = [key.strip() for key in path.split("|")]
        if first.endswith(".json"):
            return numbers(walk(json.loads((self.folder / first).read_text()), rest, path))
        return numbers(walk(self.results, [first, *rest], path))

    def cell(self, path):
        table, *row, column = [key.strip() for key in path.split("|")]
        if table not in self.tables:
            raise Wrong(f"`{path}`: there is no table `{table}`")
        heads, rows = self.tables[table]
        place = column_of(heads, column, path)
        found = [cells[place] for cells in rows_named(rows, row, path)]
        values = [value for value in map(first_number, found) if value is not None]
        if "*" in row:
            return values
        if not values:
            raise Wrong(f"`{path}` has no number: `{found[0]}`")
        return values[0]


def calculate(node, atoms, expression):
    match node:
        case ast.Constant(value=int() | float()):
            return node.value
        case ast.Name() if re.fullmatch(r"_\d+", node.id):
            return atoms[int(node.id[1:])]
        case ast.UnaryOp(op=ast.USub()):
            return -calculate(node.operand, atoms, expression)
        case ast.BinOp() if type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](calculate(node.left, atoms, expression),
                                            calculate(node.right, atoms, expression))
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            arguments = [calculate(part, atoms, expression) for part in node.args]
            return FUNCTIONS[name](*arguments)
    raise Wrong(f"`{expression}` cannot be calculated")


def walk(value, keys, path):
    """Returns the value under the keys, a list if a key is `*`."""
    if not keys:
        return value
    key, *rest = keys
    if key == "*":
        return [walk(one, rest, path) for one in (value.values() if isinstance(value, dict) else value)]
    if isinstance(value, list):
        return walk(value[int(key)], rest, path)
    if not isinstance(value, dict) or key not in value:
        raise Wrong(f"`{path}`: there is no `{key}`")
    return walk(value[key], rest, path)


def numbers(value):
    if isinstance(value, list):
        return [one for one in value if one is not None]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Wrong(f"`{value}` is no number")
    return value


def rows_of(text):
    """Returns the heads and the rows of a table in Markdown, without backticks."""
    lines = [[cell.replace("`", "").strip() for cell in f"{line} ".strip("|").split(" |")] for line in text.splitlines()]
    heads = [head.replace("*", "") for head in lines[0]]
    return heads, lines[2:]


def column_of(heads, name, path):
    name, _, number = name.partition("#")
    places = [place for place, head in enumerate(heads) if head == name] \
        or [place for place, head in enumerate(heads) if head.startswith(name)]
    if not places or len(places) > 1 and not number:
        raise Wrong(f"`{path}`: {len(places)} columns are called `{name}`")
    return places[int(number or 1) - 1]


def rows_named(rows, names, path):
    """Returns the rows whose first cells are these names, or else begin with them."""
    if "*" in names:
        rows = [cells for cells in rows if not any(cell.startswith("**") for cell in cells)]
    for same in (str.__eq__, str.startswith):
        found = [cells for cells in rows
                 if all(name == "*" or same(cell.replace("*", ""), name) for name, cell in zip(names, cells))]
        if found:
            break
    if not found or len(found) > 1 and "*" not in names:
        raise Wrong(f"`{path}`: {len(found)} rows are called so")
    return found


def first_number(cell):
    """Returns the first number in a cell, with `yes` as 1 and `no` as 0; None if there is none."""
    found = re.search(NUMBER, cell)
    if found:
        return parsed(found[0])
    return {"yes": 1, "no": 0}.get(cell)


def parsed(number):
    return WORDS[number.lower()] if number.lower() in WORDS else float(number.replace(",", ""))


def places(number):
    """Returns the number of digits behind the point."""
    return len(number.partition(".")[2])


def agrees(printed, decimals, value, step=None):
    """Returns whether `printed` is `value` rounded to this number of decimals, or to multiples of `step`."""
    if step:
        return printed == step * round(value / step)
    return printed == float(f"{value:.{decimals}f}") or abs(printed - value) < 0.5 * 10 ** -decimals - 1e-9
