"""Compares every table and every marked number of the papers' READMEs with their sources."""

import random
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import readmes  # noqa: E402
from marks import NUMBER, Mark, Source, Wrong, agrees, marks, unmarked_percentages  # noqa: E402

READMES = [readmes.Readme(folder) for folder in readmes.FOLDERS]


def next_digit(found):
    """Returns the same number with its last digit changed."""
    text = found[0]
    return text[:-1] + str((int(text[-1]) + 1) % 10)


class Readmes(unittest.TestCase):
    def test_there_are_nine(self):
        self.assertEqual(len(READMES), 9)

    def test_all_they_say_is_so(self):
        for readme in READMES:
            with self.subTest(readme.folder.name):
                self.assertEqual(readme.problems(), [])

    def test_each_has_numbers_that_are_held(self):
        for readme in READMES:
            held = [mark for mark in marks(readme.text) if mark.holds]
            self.assertGreater(len(held), 20, readme.folder.name)

    def test_what_is_not_held_says_why(self):
        for readme in READMES:
            for mark in marks(readme.text):
                self.assertTrue(mark.said, f"{readme.folder.name}: {mark.number}")


class Altered(unittest.TestCase):
    """Changes one thing in a copy of a README, and checks that it is found."""

    def test_any_cell(self):
        for readme in READMES:
            for table in readmes.TABLE.finditer(readme.text):
                for number in re.finditer(r"\d", table["table"]):
                    at = table.start("table") + number.start()
                    text = readme.text[:at] + str((int(number[0]) + 1) % 10) + readme.text[at + 1:]
                    found = next(iter(readme.wrong_tables(text)), "")
                    self.assertIn(table["name"], found, readme.folder.name)

    def test_any_marked_number(self):
        for readme in READMES:
            source = readme.source()
            for mark in marks(readme.text):
                if not mark.holds:
                    continue
                altered = re.sub(r"\d(?=0*$)" if "~" in mark.said else r"\d$", next_digit, mark.number, count=1)
                if altered == mark.number:
                    altered = "fifteen"
                with self.assertRaises(Wrong, msg=f"{readme.folder.name}: {mark.number} {mark.said}"):
                    source.check(Mark(altered, "=", mark.said))

    def test_a_number_that_is_none(self):
        readme = READMES[0]
        mark = next(mark for mark in marks(readme.text) if mark.holds)
        text = readme.text.replace(f"{mark.number}<!--={mark.said}", f"many<!--={mark.said}", 1)
        self.assertTrue(any("no number" in problem for problem in readme.problems(text)))

    def test_a_table_left_out_and_one_too_many(self):
        readme = READMES[0]
        first = readmes.TABLE.search(readme.text)
        self.assertTrue(readme.problems(readme.text.replace(first[0], "")))
        self.assertTrue(readme.problems(readme.text + "\n| a |\n| --- |\n| 1 |\n"))

    def test_results(self):
        """Checks that every table with results in it changes with the results."""
        def shaken(value, chance):
            if isinstance(value, dict):
                return {key: shaken(one, chance) for key, one in value.items()}
            if isinstance(value, list):
                return [shaken(one, chance) for one in value]
            return type(value)(value * chance.uniform(0.4, 1.6) + 0.5) if type(value) in (int, float) else value

        for readme in READMES:
            tables = readme.tables_of(shaken(readme.results, random.Random(1)))
            same = {name for name, table in readme.tables.items() if tables[name] == table}
            # Tables made from other files: what was measured live, and what has results of its own.
            of_others = {"climbing", "flash-time", "live", "live-alone", "large", "live-lengths", "live-series", "migration", "spark", "static",
                         "times", "times-programs"}
            of_others |= {name for name in readme.tables if name.startswith(("halves", "models", "own"))}
            self.assertLessEqual(same, of_others, readme.folder.name)

    def test_a_number_whose_mark_is_gone(self):
        for readme in READMES:
            shown = re.search(rf"({NUMBER})<!--[=:][^>]*-->(\s%)", readmes.prose(readme.text))
            text = readme.text.replace(shown[0], shown[1] + shown[2], 1)
            self.assertEqual(len(readme.problems(text)), 1, readme.folder.name)


class Language(unittest.TestCase):
    """Expressions that marks can hold."""

    def setUp(self):
        table = "| program | of | a | b | b |\n| --- | --- | --- | --- | --- |\n" \
            "| `x` | one | 1.5 % | yes | -2 |\n| x | two |  | no | 3,000 (y) |\n| **x** |  | 9 |  | 9 |"
        self.source = Source(readmes.PAPERS / readmes.FOLDERS[0], {"p": {"x": 0.25, "y": [1, 2]}}, {"t": table})

    def assert_value(self, expression, value):
        self.assertEqual(self.source.value(expression), value, expression)

    def test_paths_and_cells(self):
        self.assert_value("100*[p|x]", 25)
        self.assert_value("[p|y|1]", 2)
        self.assert_value("sum([p|y|*]) - 1", 2)
        self.assert_value("{t|x|one|a}", 1.5)
        self.assert_value("{t|x|tw|b#2}", 3000)
        self.assert_value("len({t|*|a})", 1)
        self.assert_value("mean({t|x|*|b#1})", 0.5)
        self.assert_value("-{t|x|one|b#2} / 4", 0.5)

    def test_what_is_not_there(self):
        for said in ("[p|z]", "{t|x|a}", "{t|x|one|c}", "{t|x|one|b}", "{u|x|a}", "{t|x|two|a}", "{t|one|a}", "[p|y]", "1 +",
                     "open(1)", "[p]", "'a'"):
            with self.assertRaises(Wrong, msg=said):
                self.source.check(Mark("1", "=", said))

    def test_numbers_are_rounded_and_no_more(self):
        for printed, decimals, value, step, right in [
                (13, 0, 12.6, None, True), (13, 0, 12.4, None, False), (12.3, 1, 12.34, None, True),
                (12.3, 1, 12.36, None, False), (13_000, 0, 12_600, 1000, True), (13_000, 0, 12_400, 1000, False),
                (13_000, 0, 12_600, None, False), (0.5, 1, 0.45, None, True)]:
            self.assertEqual(agrees(printed, decimals, value, step), right, (printed, value))

    def test_marks_are_found_behind_numbers_and_words(self):
        found = marks("1,234.5<!--=[a]--> and three<!--=[b]\n[c]--> and -2<!--:why--> % 7")
        self.assertEqual([(mark.number, mark.kind, mark.said) for mark in found],
                         [("1,234.5", "=", "[a]"), ("three", "=", "[b] [c]"), ("-2", ":", "why")])

    def test_percentages_without_a_mark(self):
        text = "8<!--=x--> %, 9 %, 1<!--=x--> to\n2 %, 3 and 4<!--:x--> %, 5 to 6 of 7; -8.5, 9.1<!--=x--> and 10 %"
        self.assertEqual(unmarked_percentages(text), ["9", "2", "3", "-8.5", "10"])


if __name__ == "__main__":
    unittest.main()
