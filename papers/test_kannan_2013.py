"""Tests of the scripts of Kannan 2013, on made-up results."""

import importlib.util
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

FOLDER = Path(__file__).resolve().parent / "kannan-2013"


def load(name):
    """Imports a script of the folder; another paper's script may have the same name."""
    kept = {other: sys.modules.pop(other, None) for other in ("comparison", "drawing", "experiments", "programs",
                                                               "tables")}
    sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]
    try:
        spec = importlib.util.spec_from_file_location(f"kannan_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        del sys.path[:2]
        for other, module in kept.items():
            sys.modules.pop(other, None)
            if module:
                sys.modules[other] = module


comparison, counting, drawing, experiments, programs, tables, repeat = map(
    load, ("comparison", "counting", "drawing", "experiments", "programs", "tables", "repeat"))
PAPER = json.loads((FOLDER / "paper.json").read_text())
LINES = {"naive": 5, "nvwa": 1}


class Bench:
    """Replaces `persistence_cost`: naive allocation flushes five lines, and everything else ten."""

    def count(self, options, elements, phases):
        lines = LINES[options[options.index("--allocator") + 1]]
        return {phase: {"phase": phase, "operations": elements, "lines": (10 + lines) * elements,
                        "fences": elements, "bytes": 100 * elements, "data_lines": 10 * elements, "cpu_s": 1e-6}
                for phase in phases}


def simulated(traces, ips, pages, flush, seed=1):
    """Replaces the simulator: programs miss more where lines are evicted and pages are scattered."""
    misses = 1000 + (100 if flush == "clflush" else 0) - (50 if pages.startswith("caa") else 0)
    core = {"instructions": 1_000_000, "misses": misses, "writebacks": 10, "flushes": 5, "flush_writes": 5}
    pages = {"touched": 160, "contiguity_misses": {"jit": 160, "caa": 40, "col": 160}[pages[:3]]}
    return {"runs": [core | {"cores": [core] * len(traces)}], "pages": [pages] * len(traces), "accesses": 10,
            "instructions": 1_000_000}


def made_up_results():
    trace = (Path("table.parquet"), "0x1")
    tables, trees = ({name: trace for name in of} for of in (programs.TABLES, programs.TREES))
    with mock.patch.object(experiments, "simulate", simulated):
        apps = {name: experiments.beside(Path("app.parquet"), tables, experiments.RUNS, [1, 2])
                for name in ("x264", "astar")}
        beside_trees = {name: experiments.beside(Path("app.parquet"), trees, experiments.TREE_RUNS, [1])
                        for name in apps}
        alone = {name: experiments.alone(*trace) for name in (*programs.TABLES, *programs.TREES)}
    what = {program: "a program" for program, _ in programs.APPS.values()}
    return {
        "about": {"programs": what}, "missing": [], "apps": apps, "beside_trees": beside_trees,
        "allocations": counting.allocations(Bench(), [500_000]), "operations": counting.operations(Bench(), 10, 3),
        "growing": {"100": alone}, "tables": alone, "trees": alone}


class Counting(unittest.TestCase):
    def test_an_allocator_s_lines_are_those_beyond_the_objects(self):
        found = counting.allocations(Bench(), [100])["100"]
        self.assertEqual(found["naive"]["allocate"]["lines"], 500)
        self.assertEqual(found["nvwa"]["free"]["lines"], 100)

    def test_times_have_a_median_and_a_spread(self):
        rounds = [{"operations": 1, "lines": 2, "fences": 1, "bytes": 8, "cpu_s": seconds} for seconds in (3e-6, 1e-6, 9e-6)]
        measured = counting.an_operation(rounds)["measured_us"]
        self.assertEqual([round(measured[key], 6) for key in ("median", "least", "most")], [3, 1, 9])

    def test_every_combination_is_counted(self):
        found = counting.operations(Bench(), 10, 1)
        self.assertEqual(len(found), 2 * 3 + 2)
        self.assertEqual(counting.of(found, "table", "naive", "hybrid")["put"]["lines"], 15)


class Experiments(unittest.TestCase):
    def test_figures_are_for_1000_instructions(self):
        with mock.patch.object(experiments, "simulate", simulated):
            found = experiments.together(Path("a"), (Path("b"), "off"), "jit:run=1", "clflush", [1])
        self.assertAlmostEqual(found["app"]["misses"], 1.1)

    def test_cuts_are_shares_of_the_baseline_s(self):
        runs = made_up_results()["apps"]["x264"]
        self.assertAlmostEqual(comparison.cut(runs, "caa-4"), 50 / 1100)
        self.assertAlmostEqual(comparison.cut(runs, "caa-16", "contiguity_misses"), 0.75)
        self.assertAlmostEqual(comparison.increase(runs, "baseline", "misses", "clwb"), 0.1)

    def test_the_same_work_is_the_same_operations(self):
        """Tests a table that takes half the instructions for its operations, and misses as often."""
        core = {"instructions": 1_000_000, "misses": 1.0, "writebacks": 0.0}
        runs = {name: {"app": core, "persistent": core} for name in ("baseline", "all")}
        tables = {"slow": {"instructions": 500_000}, "fast": {"instructions": 250_000}}
        arguments = (runs, tables, {"baseline": "slow", "all": "fast"})
        self.assertAlmostEqual(comparison.work(*arguments, "baseline"), 1000 + 1000)
        self.assertAlmostEqual(comparison.work(*arguments, "all"), 1000 + 500)
        self.assertGreater(comparison.estimated_cut(*arguments, 1), comparison.estimated_cut(*arguments, 1 / 3))

    def test_simulations_are_of_what_there_is(self):
        for name, (program, *_) in experiments.RUNS.items():
            self.assertIn(program, programs.TABLES, name)
        for name, (program, *_) in experiments.TREE_RUNS.items():
            self.assertIn(program, programs.TREES, name)


class Results(unittest.TestCase):
    def test_applications_are_longer_than_what_runs_beside_them(self):
        """An application that ends first begins anew, and misses its first touches again."""
        results = json.loads((FOLDER / "results.json").read_text())
        for apps, alone in ((results["apps"], results["tables"]), (results["beside_trees"], results["trees"])):
            longest = max(one["instructions"] for one in alone.values())
            for name, runs in apps.items():
                for run, found in runs.items():
                    self.assertGreater(found["app"]["instructions"], 1.01 * longest, f"{name}, {run}")


class Programs(unittest.TestCase):
    def test_what_the_program_says_of_its_instruction(self):
        self.assertEqual(programs.flush_ip("a line\nflush-ip 0x401136\n"), "0x401136")
        self.assertEqual(programs.flush_ip(""), "off")

    def test_what_stands_for_the_paper_s_programs_is_there(self):
        self.assertTrue(programs.packages())


class Telling(unittest.TestCase):
    def test_the_rows_of_a_table_have_as_many_cells(self):
        for name, text in tables.tables(made_up_results(), PAPER).items():
            widths = {line.count("|") for line in text.splitlines()}
            self.assertEqual(len(widths), 1, name)

    def test_the_paper_s_table_2_stands_beside_ours(self):
        text = tables.tables(made_up_results(), PAPER)["allocations"]
        self.assertIn("| 500,000 | 2,500,036 | 2,500,000 |", text)

    def test_what_is_measured_is_marked(self):
        self.assertIn("**measured**", tables.tables(made_up_results(), PAPER)["time"])


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
class Drawing(unittest.TestCase):
    def test_every_picture_of_the_page_is_drawn(self):
        page = (FOLDER / "page.md.jinja").read_text()
        with tempfile.TemporaryDirectory() as folder:
            drawing.draw(made_up_results(), PAPER, Path(folder))
            for picture in Path(folder).iterdir():
                self.assertIn(f"({FOLDER.name}/{picture.name})", page)
            self.assertEqual(page.count(".svg)"), len(list(Path(folder).iterdir())))


if __name__ == "__main__":
    unittest.main()
