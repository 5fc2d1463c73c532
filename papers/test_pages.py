"""Tests of the papers' pages in the book: made from their templates, claims and results."""

import random
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pages  # noqa: E402
from jinja2 import UndefinedError  # noqa: E402
from source import Source, Wrong, near, places, word  # noqa: E402

PAGES = [pages.Page(name) for name in pages.FOLDERS]
# Tables made from other files: what was measured live, and what has results of its own; and one of words.
OF_OTHER_FILES = {
    "ahead", "bandwidths", "climbing", "early", "early-programs", "flash-time", "large", "live", "live-alone", "live-cost",
    "live-lengths", "live-series", "live-shares", "live-whole", "migration", "migration-earlier", "spark", "spark-live",
    "spark-live-pages", "static", "technologies", "times", "times-programs"}


def is_of_another_file(table):
    return table in OF_OTHER_FILES or table.startswith(("halves", "models", "own"))


def headings(text):
    """Returns the anchors that mdBook gives to the headings of a page."""
    found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in found}


def shaken(value, chance, kinds=(int, float)):
    """Returns results with other numbers of these kinds."""
    if isinstance(value, dict):
        return {key: shaken(one, chance, kinds) for key, one in value.items()}
    if isinstance(value, list):
        return [shaken(one, chance, kinds) for one in value]
    if type(value) in kinds:
        return type(value)(value * chance.uniform(0.4, 1.6) + 0.5)
    return value


class Pages(unittest.TestCase):
    def test_there_are_nine(self):
        self.assertEqual(len(PAGES), 9)

    def test_the_book_has_them_as_they_are_made(self):
        for name, text in pages.rendered().items():
            found = (pages.BOOK / name).read_text()
            self.assertTrue(found == text, f"{name} is not up to date; run papers/pages.py")

    def test_every_percentage_has_a_source(self):
        for page in PAGES:
            self.assertEqual(page.bare_percentages(), [], page.name)

    def test_every_table_is_shown_and_none_is_written_by_hand(self):
        for page in PAGES:
            self.assertEqual(page.unshown(), [], page.name)
            self.assertNotRegex(page.template, re.compile(r"^\|", re.MULTILINE), page.name)

    def test_a_page_begins_with_its_claims(self):
        for page in PAGES:
            placeholder = pages.PLACEHOLDER.search(page.template)
            self.assertEqual(placeholder[0], "{{ claims() }}", page.name)
            self.assertGreater(len(page.declared["claim"]), 2, page.name)

    def test_a_claim_that_does_not_hold_says_why(self):
        for page in PAGES:
            for row in page.claims().splitlines()[2:]:
                cells = [cell.strip() for cell in row.strip("|").split(" | ")]
                if cells[3] != "yes":
                    self.assertTrue(cells[-1].strip(" |"), f"{page.name}: {cells[0]}")

    def test_every_figure_is_there(self):
        for page in PAGES:
            for picture in re.findall(r"\]\(([^)]*\.svg)\)", page.template):
                self.assertTrue((pages.BOOK / picture).exists(), picture)

    def test_links_lead_somewhere(self):
        for name, text in pages.rendered().items():
            for target, part in re.findall(r"\]\(([^):#]*)(?:#([^)]*))?\)", text):
                there = pages.BOOK / (target or name)
                self.assertTrue(there.exists(), f"{name}: {target}")
                if part:
                    self.assertIn(part, headings(there.read_text()), name)

    def test_tables_change_with_the_results(self):
        for page in PAGES:
            before, after = (page.tables(results) for results in
                             (page.results, shaken(page.results, random.Random(1))))
            same = {name for name in before if before[name] == after[name]}
            self.assertLessEqual(same, set(filter(is_of_another_file, before)), page.name)

    def test_numbers_in_the_prose_change_with_the_results(self):
        page = next(page for page in PAGES if page.name == "koob-2010")
        # Whole numbers are the settings here, by which rows are called.
        other = shaken(page.results, random.Random(1), (float,))
        sentence = re.search(r"With 1 GB PostMark reads.*?written\.", page.template, re.DOTALL)[0]
        before, after = (page.environment(results).from_string(sentence).render()
                         for results in (page.results, other))
        self.assertNotEqual(before, after)


class Claims(unittest.TestCase):
    def table(self, **claim):
        page = pages.Page("koob-2010")
        page.declared = {"claim": [claim]}
        return page.claims()

    def test_a_line_in_a_cell_does_not_end_it(self):
        table = self.table(claim="a | b", paper="1", ours="2", why="c")
        self.assertIn("| a \\| b | 1 | 2 |", table)

    def test_what_nothing_reads_is_refused(self):
        with self.assertRaisesRegex(Wrong, "whyy"):
            self.table(claim="a", paper="1", ours="2", whyy="c")
        with self.assertRaises(Wrong):
            self.table(claim="a", paper="1")

    def test_an_error_names_its_folder(self):
        with self.assertRaisesRegex(Wrong, "papers/there-is-none: "):
            pages.page("there-is-none")


class Percentages(unittest.TestCase):
    def setUp(self):
        self.page = object.__new__(pages.Page)

    def bare(self, template):
        self.page.template, self.page.declared = template, {"claim": []}
        return self.page.bare_percentages()

    def test_numbers_are_found_and_placeholders_are_none(self):
        self.assertEqual(self.bare("8 %, {{ x }} to\n2 %, 3 and {{ x }} %, 5 to 6 of 7"),
                         ["8", "2", "3"])
        self.assertEqual(self.bare("{{ given(80, 'assumed') }} % and {{ cell('a') }} %"), [])
        self.assertEqual(self.bare("    --dram 25 %\n-8.5, 9.1 and 10 %"), ["-8.5", "9.1", "10"])

    def test_numbers_are_found_in_claims(self):
        self.page.template = "5 and"
        self.page.declared = {"claim": [{"claim": "a", "paper": "8 %", "ours": "{{ x }} %",
                                         "holds": "7 % 2", "why": "9 and {{ x }} %"}]}
        self.assertEqual(self.page.bare_percentages(), ["8", "9"])


class Names(unittest.TestCase):
    """What a template can name."""

    def setUp(self):
        table = "| program | of | a | b | b |\n| --- | --- | --- | --- | --- |\n" \
            "| `x` | one | 1.5 % | yes | -2 |\n| x | two |  | no | 3,000 (y) |\n| **x** |  | 9 |  | 9 |"
        folder = pages.PAPERS / pages.FOLDERS[0]
        self.source = Source(folder, {"p": {"x": 0.25, "y": [1, 2]}}, {"t": table})

    def test_results_and_cells(self):
        self.assertEqual(self.source.result("p", "x"), 0.25)
        self.assertEqual(self.source.result("p", "y", "1"), 2)
        self.assertEqual(self.source.result("p", "y", "*"), [1, 2])
        self.assertEqual(self.source.cell("t", "x", "one", "a"), 1.5)
        self.assertEqual(self.source.cell("t", "x", "tw", "b#2"), 3000)
        self.assertEqual(self.source.cell("t", "*", "a"), [1.5])
        self.assertEqual(self.source.cell("t", "x", "*", "b#1"), [1, 0])

    def test_what_is_not_there(self):
        for name in (["x", "a"], ["x", "one", "c"], ["x", "one", "b"], ["x", "two", "a"],
                     ["one", "a"]):
            with self.assertRaises(Wrong, msg=name):
                self.source.cell("t", *name)
        for keys in (["p", "z"], ["p"]):
            with self.assertRaises(Wrong, msg=keys):
                self.source.result(*keys)
        self.assertRaises(Wrong, self.source.table, "u")
        environment = PAGES[0].environment()
        with self.assertRaises(UndefinedError):
            environment.from_string("{{ unknown }}").render()

    def test_a_number_is_near_within_a_tenth_or_some_points(self):
        self.assertTrue(near(9, 10) and near(11, 10) and near(-11, -10))
        self.assertFalse(near(8.9, 10) or near(11.1, 10))
        self.assertTrue(near(3, 1, 2) and near(-1, 1, 2))
        self.assertFalse(near(3.1, 1, 2))
        self.assertTrue(near(7.2, [8, 11]) and near(12, [8, 11]))
        self.assertFalse(near(7.1, [8, 11]) or near(12.2, [8, 11]))

    def test_numbers_are_rounded(self):
        self.assertEqual([places(12.6, 0), places(12.34, 1), places(12_600, 0), places(-0.04, 1)],
                         ["13", "12.3", "12,600", "0.0"])
        self.assertEqual(word(4.2), "four")
        self.assertRaises(Wrong, word, 40)
        self.assertRaises(Wrong, places, [1, 2], 0)


if __name__ == "__main__":
    unittest.main()
