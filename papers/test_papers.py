"""Tests of the papers' scripts' own calculations: python3 -m unittest papers/test_papers.py"""

import importlib.util
import json
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

PAPERS = Path(__file__).resolve().parent
sys.path.insert(0, str(PAPERS))

import common  # noqa: E402


def script(folder):
    spec = importlib.util.spec_from_file_location(folder.replace("-", "_"), PAPERS / folder / "repeat.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class All(unittest.TestCase):
    def setUp(self):
        specification = importlib.util.spec_from_file_location("all_papers", PAPERS / "all.py")
        self.all = importlib.util.module_from_spec(specification)
        sys.modules["all_papers"] = self.all
        specification.loader.exec_module(self.all)

    def test_every_file_of_results_is_made_or_kept(self):
        for paper, scripts in self.all.SCRIPTS.items():
            made = {name for script in scripts for name in script.makes}
            found = {path.name for path in (PAPERS / paper).glob("*.json")} - {"paper.json"}
            self.assertEqual(found, made | set(self.all.KEPT.get(paper, [])), paper)

    def test_every_paper_is_made(self):
        self.assertEqual(set(self.all.SCRIPTS), {path.parent.name for path in PAPERS.glob("*/paper.json")})

    def test_scripts_are_there_and_know_what_they_are_told(self):
        for paper, scripts in self.all.SCRIPTS.items():
            for script in scripts:
                text = (PAPERS / paper / script.name).read_text()
                for word in [*script.arguments, *["--quick"] * script.quick]:
                    self.assertIn(word, text, f"{paper}/{script.name}")

    def test_what_lacks_something_is_not_run(self):
        script = self.all.Script("x.py", (), needs=("BENCH_SOURCES",), root=True)
        with mock.patch.dict("os.environ", clear=True), mock.patch("os.geteuid", return_value=1):
            self.assertEqual(script.lacks(True), "BENCH_SOURCES is not set, this needs root, it has no --quick")
        with mock.patch.dict("os.environ", {"BENCH_SOURCES": "/x"}), mock.patch("os.geteuid", return_value=0):
            self.assertEqual(script.lacks(False), "")


class Common(unittest.TestCase):
    def test_a_table_has_a_line_a_row(self):
        self.assertEqual(common.table(["a", "b"], [[1, 2]]), "| a | b |\n| --- | --- |\n| 1 | 2 |")

    def test_the_geometric_mean(self):
        self.assertAlmostEqual(common.geometric_mean([2, 8]), 4)

    def test_a_readme_is_filled_in_again_and_again(self):
        with tempfile.TemporaryDirectory() as folder:
            readme = Path(folder) / "README.md"
            readme.write_text("before\n<!-- x -->\nold\n<!-- /x -->\nafter\n")
            for text in ("one", r"two \1"):
                common.fill_in(readme, {"x": text})
                self.assertEqual(readme.read_text(),
                                 f"before\n<!-- x -->\n\n{text}\n\n<!-- /x -->\nafter\n")


    def test_what_a_recorded_program_writes_stays_in_the_work_directory(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(common, "TERRACE", Path(folder) / "recorder"):
            programs = Path(folder) / "programs"
            programs.mkdir()
            (programs / "programs.toml").write_text('[writer]\ncommand = ["true"]\n')
            # Makes the trace that `-o` names, and writes a file of its own as some programs do.
            common.TERRACE.write_text('#!/bin/sh\ntouch left-behind.yaml\nwhile [ "$1" != -o ]; do shift; done\ntouch "$2"\n')
            common.TERRACE.chmod(0o755)
            with mock.patch.object(common.Bench, "compile"), mock.patch.object(common, "say"):
                trace = common.Bench(Path(folder) / "work", programs).record("writer", 1)
            self.assertTrue(trace.exists())
            self.assertTrue((trace.parent / "written" / "left-behind.yaml").exists())


    def test_a_source_is_compiled_with_the_macro_that_a_program_names(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(common, "TERRACE", Path(folder)):
            programs = Path(folder) / "programs"
            programs.mkdir()
            (programs / "speak.c").write_text("""#include <stdio.h>
int main(void) {
#ifdef LOUD
    puts("HELLO");
#else
    puts("hello");
#endif
}
""")
            (programs / "programs.toml").write_text('[soft]\ncommand = ["{bin}/speak"]\n'
                '[loud]\nsource = "speak"\ndefine = "LOUD"\ncommand = ["{bin}/speak-loud"]\n')
            with mock.patch.object(common, "PROGRAMS", programs):
                bench = common.Bench(Path(folder) / "work", programs)
            said = [subprocess.run(bench.command(name), capture_output=True, text=True).stdout for name in ("soft", "loud")]
            self.assertEqual(said, ["hello\n", "HELLO\n"])

    def test_misses_are_the_rows_that_do_not_write(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(common, "TERRACE", Path(folder) / "convert"):
            # Converts nothing: the trace is its text.
            common.TERRACE.write_text('#!/bin/sh\ncp "$4" "$5"\n')
            common.TERRACE.chmod(0o755)
            trace = Path(folder) / "some.2M.parquet"
            trace.write_text("instruction,address,write\n10,64,0\n20,0,1\n30,10,0\n")
            misses = common.without_writebacks(trace)
            self.assertEqual(misses.read_text(), "instruction,address,write\n10,64,0\n30,10,0\n")
            self.assertEqual({path.name for path in Path(folder).iterdir()}, {"convert", trace.name, misses.name})
            other = Path(folder) / "other.parquet"
            other.write_text("address,write,size\n64,0,8\n")
            with self.assertRaises(SystemExit):
                common.without_writebacks(other)


class Awad(unittest.TestCase):
    def setUp(self):
        self.awad = script("awad-2016")

    def test_sizes_are_matched_with_ratios_in_any_order(self):
        runs = [{"settings": {"dram_pages": pages}} for pages in (50, 12, 25)]
        self.assertEqual([ratio for ratio, _ in self.awad.sized(runs)], ["50%", "12.5%", "25%"])

    def test_writes_saved_are_of_the_exclusive_ones(self):
        def run(way, writes, memory="pcm"):
            return {"settings": {"inclusion": way, "memory": memory}, "writebacks": writes}

        pairs = [run("inclusive", 25), run("exclusive", 100), run("inclusive", 1, "flash")]
        self.assertEqual(self.awad.inclusion(pairs)["eliminated"], 0.75)

    def test_no_faults_are_no_share_of_none(self):
        runs = [
            {"settings": {"dram_pages": pages, "replacement": policy},
             "full_misses": misses, "partial_misses": 0, "rescues": 0}
            for pages, fifo, clock in ((1, 10, 5), (2, 4, 4), (3, 0, 0))
            for policy, misses in (("fifo", fifo), ("clock", clock), ("age", fifo))
        ]
        self.assertEqual(self.awad.relative_faults(runs)["clock"],
                         {"12.5%": 0.5, "25%": 1.0, "50%": None})

    def test_the_implied_fault_cost_follows_from_the_paper(self):
        """From two slow-downs n (x + 150 ns) and n (x + 25 us) follows x, the cost beside the device."""
        paper = json.loads((PAPERS / "awad-2016" / "paper.json").read_text())
        slow = paper["ratio"]["degradation_at_25_percent"]
        reads = {memory: paper["setup"][memory]["read_ns"] for memory in slow}
        factor = slow["flash"] / slow["pcm"]
        implied = (reads["flash"] - factor * reads["pcm"]) / (factor - 1)
        self.assertAlmostEqual(implied * 1.9, float(self.awad.IMPLIED), delta=50)

    def test_runs_are_told_apart_by_depth_in_any_order_of_settings(self):
        depth = self.awad.prefetching.depth_of
        self.assertEqual(depth("stride:occurrences=5,depth=8,strides=8"), 8)
        self.assertEqual(depth("stride"), 1)

    def test_prefetching_is_measured_against_none(self):
        off = {"full_misses": 100, "partial_misses": 0, "time_ns": 1000, "fault_latency_ns": 10}
        run = {"full_misses": 20, "partial_misses": 30, "time_ns": 800, "fault_latency_ns": 15,
               "prefetch": {"accuracy": 0.5},
               "times_ns": {"prefetch": 60 + 100}, "settings": {"fault": {"prefetch": 3}}}
        self.assertEqual(self.awad.prefetching.against(run, off),
                         {"full": 0.2, "partial": 0.3, "time": 0.8, "latency": 1.7, "accuracy": 0.5})


    def test_shorter_runs_are_those_of_the_programs(self):
        live = self.awad.replacement_live
        programs = tomllib.loads((PAPERS / "programs" / "programs.toml").read_text())
        for name, shorter in live.SHORTER.items():
            command = live.shortened(programs[name]["command"], name)
            self.assertEqual(command == programs[name]["command"], shorter is None, name)
        with self.assertRaises(SystemExit):
            live.shortened(["hydro", "1000", "1000"], "hydro")

    def test_a_soft_fault_is_no_page_fault(self):
        live = self.awad.replacement_live
        measured = {"fetches": 30, "returns": 10, "references": 500}
        self.assertEqual(live.faults(measured), 40)
        of_ratio = {"live": {"fifo": {"faults": 80}, "clock": {"faults": 40}}, "simulated": {"fifo": 0, "clock": 0}}
        self.assertEqual(live.relative(of_ratio, "live", "clock"), 0.5)
        self.assertIsNone(live.relative(of_ratio, "simulated", "clock"))

    def test_the_share_chosen_is_the_smallest_with_few_enough_faults(self):
        own = self.awad.applications
        found = {"shares": {"25%": {"faults_a_ms": 400}, "50%": {"faults_a_ms": 122}, "75%": {"faults_a_ms": 1}}}
        self.assertEqual(own.chosen(found), "50%")
        self.assertEqual(own.chosen({"shares": {"25%": {"faults_a_ms": 400}}}), own.SHARES[-1])


class OskinLoh(unittest.TestCase):
    def setUp(self):
        self.script = script("oskin-loh-2015")
        found = {"instructions": 1900, "memory_accesses": 100, "faults": 2}
        self.work = self.script.Work(found, 1.9, 4.5)

    def test_times_are_added_up(self):
        self.assertAlmostEqual(self.work.time(2), 1000 + 200)
        self.assertAlmostEqual(self.work.time(2, 1900), 1000 + 200 + 2000)
        self.assertAlmostEqual(self.work.all_fast(2), 1900 / 1200)
        self.assertAlmostEqual(self.work.page_cache(2, 1900), 1900 / 3200)

    def test_the_calibration_finds_the_speed_up_it_is_asked_for(self):
        fast = self.script.calibrate([self.work], 1.56)
        self.assertAlmostEqual(self.work.all_fast(fast), 1.56)

    def test_dearer_faults_never_make_it_faster(self):
        speedups = [self.work.page_cache(2, cycles) for cycles in self.script.CYCLES]
        self.assertEqual(speedups, sorted(speedups, reverse=True))
        self.assertLess(max(speedups), self.work.all_fast(2))

    def test_the_share_chosen_is_the_smallest_with_few_enough_faults(self):
        paper = {"setup": {"clock_ghz": 1.9, "slow_over_fast": 4.5}}
        found = {"instructions": 1_000_000, "memory_accesses": 0, "faults": {"5%": 30, "20%": 20, "50%": 10}}
        one = self.script.own_programs.Shares(found, paper)
        self.assertAlmostEqual(one.works["5%"].fault_rate(3), 30)
        self.assertEqual(one.chosen(3), "20%")
        self.assertEqual(self.script.own_programs.Shares(found | {"faults": {"5%": 30}}, paper).chosen(3), "100%")

    def test_the_front_has_what_nothing_beats(self):
        points = {"a": (1, 1), "b": (3, 2), "c": (2, 2), "d": (4, 9), "e": (4, 9)}
        points = {name: {"successful": s, "useless": u} for name, (s, u) in points.items()}
        self.assertEqual(self.script.prefetching.front(points), ["a", "b", "d", "e"])

    def test_gains_are_of_times_and_computed_of_counts(self):
        off = {"time_ns": 4000, "compute_ns": 1000, "faults": 2, "late": 0, "issued": 0}
        runs = {"slow": {"time_ns": 6000}, "off": off, "hardware": {"time_ns": 2000, "faults": 1, "late": 1, "issued": 9},
                "software": {"time_ns": 5000, "faults": 1, "late": 0, "issued": 2}}
        ways = self.script.prefetching.Prefetching(runs, 1.9)
        self.assertAlmostEqual(ways.gain("hardware"), 2)
        self.assertAlmostEqual(ways.speedup("software"), 6 / 5)
        copied = self.script.prefetching.COPY
        without = 1000 + 2 * 2800 / 1.9
        self.assertAlmostEqual(ways.computed("hardware"), without / (1000 + (1400 + copied) / 1.9))
        self.assertAlmostEqual(ways.computed("software"), without / (1000 + (2800 + 2 * copied) / 1.9))

    def test_a_fault_costs_the_cycles_that_are_stated(self):
        prefetching = self.script.prefetching
        for name, cycles in (("software", prefetching.SOFTWARE), ("hardware", prefetching.HARDWARE)):
            machine = tomllib.loads((PAPERS / "oskin-loh-2015" / f"{name}.toml").read_text())
            fault = machine["fault"]
            time = machine["tier"]["read"] + sum(value for value in fault.values() if type(value) is int)
            self.assertAlmostEqual(time * 1.9, cycles, delta=3)
            self.assertAlmostEqual(machine["tier"]["read"] * 1.9, prefetching.COPY, delta=2)

    def test_every_panel_shows_what_was_simulated(self):
        prefetching = self.script.prefetching
        shown = {setting for settings in prefetching.panels().values() for setting in settings.values()}
        self.assertLessEqual(shown, set(prefetching.named_settings()) | {f"cache {n}" for n in prefetching.CACHES})

    def test_the_papers_prefetching_is_put_on_one_scale(self):
        paper = json.loads((PAPERS / "oskin-loh-2015" / "paper.json").read_text())
        gains = self.script.prefetching.stated_gains(paper)
        self.assertAlmostEqual(gains["software"], 1.39 / 1.27)
        self.assertAlmostEqual(gains["assisted, synchronous"], 0.96 * 1.44 / 1.27)

    def test_what_the_paper_states_is_read_as_speed_ups(self):
        paper = json.loads((PAPERS / "oskin-loh-2015" / "paper.json").read_text())
        stated = self.script.stated_speedups(paper)
        self.assertEqual(list(stated), [700, 1400, 2800, 13000, 55000])
        self.assertAlmostEqual(stated[55000], 0.52)


class Fedorov(unittest.TestCase):
    def setUp(self):
        self.fedorov = script("fedorov-2016-ch5")

    def test_improvements_are_of_the_baseline_s_time(self):
        baseline = {"time_ns": 200, "all_dram_ns": 50}
        self.assertAlmostEqual(self.fedorov.improvement({"time_ns": 150}, baseline), 0.25)
        self.assertAlmostEqual(self.fedorov.full_dram(baseline), 0.75)

    def test_averages_are_geometric_means_of_normalized_times(self):
        self.assertAlmostEqual(self.fedorov.average_improvement([0.5, -1.0]), 0.0)

    def test_the_calibration_finds_what_dram_alone_is_to_save(self):
        points = [(time, 30 / (30 + time)) for time in (1, 10, 100)]
        self.assertAlmostEqual(self.fedorov.calibrate(points, 0.34), 30 * 0.66 / 0.34)
        self.assertEqual(self.fedorov.calibrate(points, 0.99), 1)
        self.assertEqual(self.fedorov.calibrate(points, 0.01), 100)

    def test_a_run_s_course_is_taken_in_parts(self):
        epochs = [(10 * (index + 1), 9, 1) for index in range(2 * self.fedorov.PARTS)]
        course = self.fedorov.in_parts(epochs)
        self.assertEqual(len(course), self.fedorov.PARTS)
        self.assertEqual(course[0], [20, 0.9])

    def test_parts_in_which_nothing_ended_have_no_accuracy(self):
        self.assertEqual(self.fedorov.in_parts([(10, 0, 0), (20, 3, 1)]), [[20, 0.75]])

    def test_groups_have_each_program_once(self):
        for size, groups in self.fedorov.TOGETHER.items():
            self.assertEqual({len(group) for group in groups}, {size})
            self.assertEqual(sorted(name for group in groups for name in group), sorted(self.fedorov.STANDS_FOR))

    def test_the_layouts_of_a_program_do_the_same_work(self):
        programs = tomllib.loads((PAPERS / "programs" / "programs.toml").read_text())
        for layout, ending in self.fedorov.LAYOUTS.items():
            for name in self.fedorov.BOXED if layout == "objects" else self.fedorov.STANDS_FOR:
                program, *arguments = [word for word in programs[name + ending]["command"]
                                       if word != "env" and not word.startswith("HEAP_MB=")]
                plain, *expected = programs[name]["command"]
                self.assertEqual((program, arguments), (plain + ending, expected))

    def test_a_larger_size_is_one_argument_of_the_program(self):
        with mock.patch.object(sys, "path", [str(PAPERS / "fedorov-2016-ch5"), *sys.path]):
            large = importlib.import_module("large")
        programs = tomllib.loads((PAPERS / "programs" / "programs.toml").read_text())
        for name, (small, size, ratio) in large.SIZES.items():
            self.assertEqual(programs[name]["command"].count(small), 1)
            times = 2 ** (int(size) - int(small)) if int(size) < 100 else int(size) / int(small)
            self.assertEqual(times, ratio)

    def test_an_ablation_saves_of_the_time_of_the_baseline_on_one_device(self):
        with mock.patch.object(sys, "path", [str(PAPERS / "fedorov-2016-ch5"), *sys.path]):
            ablations = importlib.import_module("ablations")

        def simulate(_, latency, devices, prefetch, instruction_time):
            if prefetch == ablations.READAHEAD:
                return [{"time_ns": 200}]
            return [{"time_ns": 100 / devices} for _ in prefetch]

        with mock.patch.object(ablations, "simulate", simulate):
            found = ablations.ablations_of("trace", 2)
        self.assertEqual({machine: set(saved.values()) for machine, saved in found.items()},
                         {"recorded, ten devices": {0.95}, "calibrated, ten devices": {0.95},
                          "recorded, one device": {0.5}})
        for variant, other in ablations.CHANGES.values():
            self.assertEqual(ablations.gain(found["recorded, one device"], variant, other), "+0.0 %")
        self.assertEqual(set(ablations.averages({"program": {"ablations": found}})["recorded, one device"].values()), {0.5})

    def test_ends_are_shares_of_all_predictions(self):
        prefetch = {"predicted": 10, "filtered": 5, "wiped": 2, "in_memory": 1, "issued": 2}
        story = self.fedorov.story(prefetch)
        self.assertEqual([story[end] for end in ("filtered", "wiped", "in_memory", "issued")],
                         [0.5, 0.2, 0.1, 0.2])

    def test_constituents_share_what_is_predicted_and_fetched(self):
        def part(names, predicted, issued, accuracy):
            return {"names": names, "predicted": predicted, "issued": issued, "accuracy": accuracy}

        parts = [part("spatial", 6, 3, 0.5), part("spatial+temporal", 2, 1, None)]
        found = self.fedorov.constituents({"constituents": parts})
        self.assertEqual(found["spatial"], {"of_predictions": 0.75, "of_prefetches": 0.75, "accuracy": 0.5})
        averages = self.fedorov.average_constituents([found, {}])
        self.assertEqual(averages["spatial+temporal"], {"of_predictions": 0.25, "of_prefetches": 0.25, "accuracy": None})


if __name__ == "__main__":
    unittest.main()
