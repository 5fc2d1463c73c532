"""Tests of the scripts of Fedorov 2016, chapter 2, on made-up results."""

import importlib.util
import json
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

FOLDER = Path(__file__).resolve().parent / "fedorov-2016-ch2"
sys.path[:0] = [str(FOLDER.parent), str(FOLDER)]

import ahead  # noqa: E402
import comparison  # noqa: E402
import drawing  # noqa: E402
import experiments  # noqa: E402
import inputs  # noqa: E402
import programs  # noqa: E402
import stack  # noqa: E402
import tables  # noqa: E402
import verdict  # noqa: E402

PAPER = json.loads((FOLDER / "paper.json").read_text())
PROGRAMS = tomllib.loads((FOLDER / "programs" / "programs.toml").read_text())


def a_run(policy, misses, writebacks, size=2 << 20, ways=16):
    """Returns a run as `terrace sim llc` writes it, with the fields that the scripts read."""
    memory = {"ipc": 1.0, "energy": {"total": 2.0}}
    return {
        "policy": policy, "llc": {"bytes": size, "ways": ways, "sets": size // ways // 64}, "accesses": 1000,
        "misses": misses, "writebacks": writebacks, "hits_by_position": [400, 100, 50] + [0] * 13,
        "warmup": {"accesses": 10, "misses": 10, "writebacks": 0}, "warning": None,
        "memories": [{"memory": name, **memory} for name in experiments.MEMORIES],
        "epochs": [{"high": 4, "low_insertion": True, "writebacks": 7}, {"high": 16, "low_insertion": False, "writebacks": 3}],
    }


def made_up(traces, policies, warmup, **options):
    """Replaces the simulator: ARI writes half as much as LRU."""
    shapes = [(int(size[:-1]) << 20, ways) for size in options.get("llc", ["2M"]) for ways in options.get("ways", [16])]
    return [a_run(policy, 100, 50 if policy.startswith("ari") else 100, *shape)
            for shape in shapes for policy in ["lru", *policies]]


def made_up_results():
    with mock.patch.object(experiments, "simulate", made_up):
        one = experiments.alone("a.parquet", 10) | {
            "spec": "mcf", "setup": 0, "instructions": 5000,
            "sizes": experiments.sizes("a.parquet", 10), "ways": experiments.associativities("a.parquet", 10),
            "candidates": experiments.candidates("a.parquet", 10)}
        return {
            "about": {"programs": {"a": "a program", "b": "another"}, "versions": {}}, "missing": [],
            "programs": {"a": one, "b": one | {"spec": None, "candidates": None}},
            "shared": {"mix 1": experiments.shared(["a.parquet"], 10, 100)},
            "adaptation": {"a": experiments.adaptation("a.parquet")},
            "course": {"a": {"period": 10, "policies": experiments.course("a.parquet", 10)}},
        }


class Comparison(unittest.TestCase):
    RUNS = {"lru": {"misses": 100, "writebacks": 50}, "ari": {"misses": 90, "writebacks": 0}}

    def test_cuts_are_shares_of_lru_s(self):
        self.assertAlmostEqual(comparison.cut(self.RUNS, "ari", "misses"), 0.1)
        self.assertAlmostEqual(comparison.cut(self.RUNS, "ari", "traffic"), 0.4)

    def test_what_never_happens_counts_as_once(self):
        self.assertAlmostEqual(comparison.cut(self.RUNS, "ari", "writebacks"), 0.98)

    def test_averages_are_geometric_means_of_what_is_left(self):
        worse = {"lru": {"misses": 100, "writebacks": 0}, "ari": {"misses": 160, "writebacks": 0}}
        self.assertAlmostEqual(comparison.average_cut([self.RUNS, worse], "ari", "misses"), 1 - 1.2)

    def test_the_hardware_of_ari_takes_what_its_time_takes(self):
        # Seven of eight requests were measured: 7e9 instructions at 2e9 cycles a second and one a cycle, 3.5 s.
        runs = {name: {"memories": {"dram": {"ipc": 1.0, "joules": joules}}} for name, joules in (("lru", 2.0), ("ari", 1.5))}
        one = {"instructions": 8e9, "requests": 7, "warmup": 1, "policies": runs}
        self.assertAlmostEqual(comparison.saved_watts(one, "dram"), 0.5 / 3.5)
        self.assertAlmostEqual(comparison.saving_with([one], "dram", 0), 0.25)
        self.assertAlmostEqual(comparison.saving_with([one], "dram", 0.1), 1 - (1.5 + 0.35) / 2)

    def test_the_median_does_not_see_how_much_one_program_saves(self):
        programs = [{"lru": {"misses": 100}, "ari": {"misses": misses}} for misses in (1, 90, 100)]
        self.assertAlmostEqual(comparison.median_cut(programs, "ari", "misses"), 0.1)

    def test_a_third_fewer_writes_last_the_paper_s_lifetime(self):
        runs = {"lru": {"misses": 0, "writebacks": 1000}, "ari": {"misses": 0, "writebacks": 670}}
        self.assertAlmostEqual(comparison.longer(runs, "ari"), PAPER["lifetime"]["times"]["ari"], delta=0.01)

    def test_unknown_gains_are_left_out(self):
        self.assertAlmostEqual(comparison.average_gain([0.21, None, 0.0]), 0.1)
        self.assertIsNone(comparison.average_gain([None]))


class Experiments(unittest.TestCase):
    def test_options_are_written_as_the_command_has_them(self):
        seen = []
        with mock.patch.object(experiments.common, "output_json", lambda command: seen.append(command) or {"runs": []}):
            experiments.simulate(["x"], ["nhm:n=4,insert=lh", "ari"], 5, llc=["1M", "2M"], memory=["dram"])
        command = " ".join(map(str, seen[0]))
        self.assertIn("--l1 off --l2 off --policy lru,nhm:n=4,insert=lh,ari --warmup 5 --llc 1M,2M --memory dram x", command)

    def test_shapes_are_told_apart(self):
        found = made_up_results()["programs"]["a"]
        self.assertEqual(list(found["sizes"]), experiments.SIZES)
        self.assertEqual(list(found["ways"]), [str(ways) for ways in experiments.ASSOCIATIVITIES])
        self.assertEqual(found["sizes"]["4M"]["ari"], {"misses": 100, "writebacks": 50})

    def test_the_best_candidates_may_not_miss_too_often(self):
        runs = {name: {"misses": 100, "writebacks": 100} for name in ("lru", *experiments.CANDIDATES)}
        runs["nhm:n=0"] = {"misses": 107, "writebacks": 10}
        runs["nhm:n=4"] = {"misses": 106, "writebacks": 50}
        runs["nhm:n=8,insert=lh"] = {"misses": 40, "writebacks": 90}
        found = experiments.best_candidates(runs)
        self.assertEqual({why: one["policy"] for why, one in found.items()},
                         {"traffic": "nhm:n=8,insert=lh", "writebacks": "nhm:n=4", "any": "nhm:n=0"})

    def test_no_policy_is_simulated_twice(self):
        self.assertEqual(len(experiments.ways()), len(set(experiments.ways())))
        self.assertLessEqual({*experiments.STATIC, *experiments.COMPARED}, set(experiments.ways()))


class Stack(unittest.TestCase):
    LIKE_MCF = [20, 20, 17, 9] + [5, 4, 4, 3, 3, 3, 3, 2, 2, 2, 2, 2]

    def test_the_shape_is_high_then_low_and_flat(self):
        self.assertTrue(stack.published(self.LIKE_MCF))
        self.assertAlmostEqual(stack.high_share(self.LIKE_MCF), 66 / 101)
        self.assertAlmostEqual(stack.flatness(self.LIKE_MCF), 13 / 22)

    def test_a_tail_that_falls_or_is_as_high_has_another(self):
        self.assertFalse(stack.published([20, 20, 17, 9] + [5] * 6 + [1] * 6))
        self.assertFalse(stack.published([20, 20, 17, 9] + [2] * 11 + [9]))
        self.assertFalse(stack.published([5] * 16))

    def test_no_hits_have_no_shape(self):
        self.assertFalse(stack.published([0] * 16))


class Verdict(unittest.TestCase):
    def test_what_was_to_hold_is_answered(self):
        found = verdict.demands(made_up_results())
        self.assertIn("| `ari`: misses at most 5 % more than LRU's in any program | +0.0 % (a) | yes |", found)
        self.assertIn("in 1, 4 or 8 MB, or in 4, 8 or 32 ways | +0.0 % (a, 1MB) | yes |", found)
        self.assertIn("| `ari`: fewer misses and write-backs than `dip`, average | -25.0 %, and +0.0 % with `dip` | yes |",
                      found)

    def test_it_says_in_how_many_a_demand_does_not_hold(self):
        runs = {name: {"lru": {"misses": 100}, "ari": {"misses": misses}} for name, misses in (("a", 107), ("b", 104))}
        found = verdict.worst_row("ari", runs, "here", "misses", 0.05)
        self.assertEqual(found[1:], ["+7.0 % (a)", "**no**, in 1 of 2"])

    def test_averages_agree_within_two_points(self):
        self.assertEqual([verdict.against(33, share) for share in (0.32, 0.4, 0.2, None)],
                         ["agrees", "more", "less", "not known"])


class Telling(unittest.TestCase):
    def test_every_table_is_made(self):
        found = tables.tables(made_up_results(), PAPER)
        for name, text in found.items():
            self.assertEqual(len({line.count("|") for line in text.splitlines()}), 1, name)
        self.assertIn("| **average** |  | 0.0 % | 0.0 % | 0.0 % | 0.0 % | 50.0 % |", found["writebacks"])
        self.assertIn("| **paper**, average |  | 25 % | 11 % | 18 % | 13 % | 33 % |", found["writebacks"])

    def test_what_is_read_ahead_is_no_miss_and_a_read(self):
        run = {"policy": "lru", "accesses": 30, "misses": 10, "writebacks": 4, "prefetches": {"misses": 7}}
        found = ahead.counted({"prefetches": {"issued": 9}, "runs": [run]})
        self.assertEqual(found["policies"]["lru"], {"requests": 30, "misses": 10, "writebacks": 4, "reads": 17})

    def test_candidates_are_told_of_programs_that_have_them(self):
        found = tables.tables(made_up_results(), PAPER)["candidates"]
        self.assertIn("| a | 2MB | 50.0 % | 0.0 % | LRU | 0.0 % | 0.0 % |", found)
        self.assertNotIn("| b |", found)

    def test_variants_are_compared_with_ari(self):
        self.assertIn("| p = 3 | 0.0 % | 0.0 % | 6 points | 3.2 points |",
                      tables.tables(made_up_results(), PAPER)["hardware"])

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
    def test_every_figure_is_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            drawing.draw(made_up_results(), PAPER, Path(folder))
            drawn = {path.name for path in Path(folder).iterdir()}
        page = (FOLDER / "page.md.jinja").read_text()
        for name in drawn:
            self.assertIn(f"]({FOLDER.name}/{name})", page)


class Results(unittest.TestCase):
    RESULTS = FOLDER / "results.json"

    def test_the_results_are_of_all_programs(self):
        results = json.loads(self.RESULTS.read_text())
        alone = [name for name, program in PROGRAMS.items() if "threads" not in program]
        self.assertEqual(list(results["programs"]), alone)
        self.assertEqual(set(results["shared"]), {*experiments.MIXES, *set(PROGRAMS).difference(alone)})
        for name, one in results["programs"].items():
            self.assertEqual(bool(one["candidates"]), stack.published(one["positions"]), name)


class Programs(unittest.TestCase):
    def test_there_are_enough_and_all_say_what_they_are(self):
        alone = [program for program in PROGRAMS.values() if "threads" not in program]
        self.assertGreaterEqual(len(alone), 14)
        for name, program in PROGRAMS.items():
            self.assertLessEqual({"packages", "what", "check", "command"}, set(program), name)
            self.assertIn(program.get("input", "text"), {*inputs.MAKERS, *programs.common.INPUTS})

    def test_mixes_are_of_eight_programs_that_there_are(self):
        for name, members in experiments.MIXES.items():
            self.assertEqual(len(set(members)), experiments.CORES, name)
            self.assertLessEqual(set(members), set(PROGRAMS), name)

    def test_a_command_that_is_not_there_does_not_succeed(self):
        self.assertFalse(programs.common.succeeds(["/nowhere/at-all"]))
        self.assertFalse(programs.common.succeeds(["false"]))
        self.assertTrue(programs.common.succeeds(["true"]))

    def test_what_is_missing_is_named_and_left_out(self):
        absent = {"there": {"check": ["true"]}, "not": {"check": ["false"], "packages": ["some-package"]}}
        bench = object.__new__(programs.Programs)
        with mock.patch.object(programs.common.Bench, "read", lambda self: dict(absent)), \
                mock.patch.object(programs.common, "say") as say:
            self.assertEqual(list(bench.read()), ["there"])
        self.assertIn("apt-get install some-package", say.call_args[0][0])
        self.assertEqual(bench.missing, ["not"])

    def test_inputs_are_the_same_each_time(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            for name in ("flows.lp", "moves.gtp"):
                contents = [inputs.make(Path(folder), name).read_bytes() for folder in (one, other)]
                self.assertEqual(*contents)

    def test_what_is_sent_and_produced_balances(self):
        with tempfile.TemporaryDirectory() as folder:
            lines = inputs.make(Path(folder), "network.min").read_text().splitlines()
        self.assertEqual(sum(int(line.split()[2]) for line in lines if line.startswith("n ")), 0)


if __name__ == "__main__":
    unittest.main()
