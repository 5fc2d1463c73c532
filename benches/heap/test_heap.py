"""Tests of the heap's benchmark: its arithmetic on made-up runs, and a small real run of what is there.

python3 -m unittest discover -s benches/heap
"""

import bisect
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

import bars  # noqa: E402
import jobs  # noqa: E402
import peers  # noqa: E402
import repeat  # noqa: E402
import tables  # noqa: E402

TARGET = peers.ROOT / "target"


def a_run(peer, way, operation, seconds, medium=jobs.MEMORY, repetition=0, threads=1, **more):
    """Returns a run of a thousand operations on a table of a thousand, as a peer prints it."""
    return {
        "peer": peer, "way": way, "entries": 1000, "threads": threads, "operation": operation, "operations": 1000,
        "wall_s": seconds, "cpu_s": seconds, "medium": medium, "repetition": repetition, "data": jobs.ITEMS,
    } | more  # fmt: skip


def of_bytes(peer, way, operation, seconds, medium=jobs.MEMORY, **more):
    return a_run(peer, way, operation, seconds, medium, data=jobs.BYTES, **more)


def a_count(peer, way, operation, lines, fences, streamed_bytes=0):
    return a_run(
        peer, way, operation, 9.0, jobs.COUNTS, lines=lines, fences=fences, streamed_bytes=streamed_bytes
    )


def found_of(runs, start):
    """Returns the first bar whose name begins with `start`."""
    return next(bar for bar in bars.bars(runs) if bar["bar"].startswith(start))


class Bars(unittest.TestCase):
    def test_ratios_are_of_medians_and_spreads_of_pairs(self):
        runs = []
        for repetition, (ours, theirs) in enumerate([(1.0, 4.0), (2.0, 4.0), (1.0, 8.0)]):
            runs.append(a_run("terrace", "sized", "put", ours, repetition=repetition))
            runs.append(a_run("libpmemobj", "transactions", "put", theirs, repetition=repetition))
        bar = found_of(runs, "puts per CPU second, against libpmemobj's transactions")
        self.assertEqual(bar["found"], {"median": 4.0, "smallest": 2.0, "largest": 8.0})
        self.assertTrue(bar["ok"])

    def test_a_repetition_that_failed_has_no_pair(self):
        runs = [a_run("terrace", "sized", "put", 1.0, repetition=which) for which in (0, 1)]
        runs.append(a_run("libpmemobj", "actions", "put", 2.0, repetition=1))
        bar = found_of(runs, "puts per CPU second, against libpmemobj's actions")
        self.assertEqual(bar["found"]["smallest"], 2.0)
        self.assertFalse(bar["ok"])

    def test_the_faster_of_lmdb_s_ways_is_the_bar(self):
        runs = [a_run("terrace", "synchronous", "put", 1.0, jobs.FILE), a_run("terrace", "sized", "put", 1.0)]
        runs += [a_run("LMDB", "synchronous", "put", 0.5, jobs.FILE)]
        runs += [a_run("LMDB", "synchronous-writemap", "put", 2.0, jobs.FILE)]
        bar = found_of(runs, "puts on a plain file")
        self.assertEqual((bar["found"]["median"], bar["ok"]), (0.5, False))

    def test_what_is_stored_past_the_cache_takes_lines(self):
        (row,) = bars.counts([a_count("libpmemobj", "transactions", "put", 6000, 7000, streamed_bytes=384_000)])
        self.assertEqual((row["lines"], row["fences"]), (12, 7))

    def test_costs_are_of_a_table_that_does_not_grow(self):
        runs = [a_count("terrace", "growing", "put", 7000, 2000), a_count("terrace", "sized", "put", 5010, 2001)]
        bar = found_of(runs, "put: at most")
        self.assertEqual((bar["found"], bar["ok"]), ([5.01, 2.001], True))
        self.assertFalse(found_of([a_count("terrace", "sized", "put", 5100, 2000)], "put:")["ok"])

    def test_what_an_allocation_and_a_free_cost_is_more_than_what_is_written_anyway(self):
        costs = (("allocate", 5000), ("free", 3000), ("set", 2000))
        runs = [a_count("terrace", "allocator", operation, lines, 1000) for operation, lines in costs]
        self.assertEqual([found_of(runs, name)["found"] for name in ("allocate:", "free:")], [[2], [1]])
        self.assertTrue(found_of(runs, "free:")["ok"])
        self.assertIsNone(found_of(runs[:2], "free:")["ok"])

    def test_what_was_not_measured_is_not_judged(self):
        for bar in bars.bars([a_run("floor", "one-fence", "put", 1.0)]):
            self.assertIsNone(bar["ok"], bar)

    def test_opening_is_judged_by_its_time(self):
        opened = a_run("terrace", "sized", "open", 0.04, operations=1)
        self.assertTrue(found_of([opened], "ms to open")["ok"])
        self.assertFalse(found_of([opened | {"wall_s": 0.06}], "ms to open")["ok"])

    def test_puts_of_bytes_are_beside_peers_as_durable(self):
        runs = [of_bytes("terrace", "tree", "put", 1.0), of_bytes("redb", "immediate", "put", 0.5)]
        runs += [of_bytes("LMDB", "synchronous", "put", 3.0), of_bytes("LMDB", "synchronous-writemap", "put", 2.0)]
        runs += [of_bytes("LMDB", "unsynchronised", "put", 0.25)]
        into = "bytes: puts into a tree in memory, against "
        bar = found_of(runs, into + "LMDB's, as durable")
        self.assertEqual((bar["found"]["median"], bar["ok"]), (2.0, True))
        self.assertFalse(found_of(runs, into + "redb's, as durable")["ok"])
        bar = found_of(runs, into + "LMDB's that nothing synchronises")
        self.assertEqual((bar["found"]["median"], bar["ok"]), (0.25, None))

    def test_puts_of_bytes_on_a_plain_file_are_no_puts_of_items(self):
        runs = [of_bytes("terrace", "tree-synchronous", "put", 1.0, jobs.FILE)]
        runs += [of_bytes("LMDB", "synchronous", "put", 2.0, jobs.FILE)]
        runs += [a_run("LMDB", "synchronous", "put", 8.0, jobs.FILE), a_run("terrace", "sized", "put", 1.0)]
        bar = found_of(runs, "bytes: puts into a tree on a plain file, against LMDB's")
        self.assertEqual(bar["found"]["median"], 2.0)
        self.assertIsNone(found_of(runs, "puts on a plain file, each durable")["found"])

    def test_reads_of_bytes_may_take_a_fifth_more_than_lmdb_s(self):
        for seconds, ok in ((1.19, True), (1.21, False)):
            runs = [of_bytes("terrace", "tree", "get", seconds), of_bytes("LMDB", "unsynchronised", "get", 1.0)]
            self.assertEqual(found_of(runs, "bytes: gets of a tree, against LMDB's with")["ok"], ok)

    def test_runs_of_old_results_are_of_items(self):
        old = a_run("terrace", "sized", "put", 1.0)
        del old["data"]
        self.assertEqual(bars.grouped([old]).keys(), bars.grouped([old | {"data": jobs.ITEMS}]).keys())

    def test_what_was_not_read_alike_is_named(self):
        runs = [of_bytes("LMDB", "unsynchronised", "scan", 1.0, sum="1"), of_bytes("redb", "immediate", "scan", 1.0, sum="1")]
        self.assertEqual(bars.different([*runs, of_bytes("terrace", "tree", "iterate", 1.0, sum="2")]), [])
        different = bars.different([*runs, of_bytes("terrace", "tree", "range", 1.0, sum="2")])
        self.assertEqual(different, ["scan, bytes, 1,000 entries"])


class Telling(unittest.TestCase):
    def test_every_table_has_as_many_cells_in_every_line(self):
        runs = [a_run("terrace", "sized", operation, 0.5) for operation in ("put", "get", "delete", "iterate", "open")]
        runs += [of_bytes("terrace", "tree", operation, 0.5) for operation in ("put", "scan", "open-killed")]
        runs += [a_run("LMDB", "batched", "put", 0.5, jobs.FILE), a_count("terrace", "sized", "put", 5000, 2000)]
        report = tables.report({"runs": runs, "missing": ["a peer"], "failed": [{"job": "one", "error": "why"}]})
        for part in report.split("\n\n"):
            self.assertEqual(len({line.count("|") for line in part.splitlines()}), 1, part)
        self.assertIn("| terrace | sized | 1 | 1,000 | 2 (2 to 2) |", report)
        self.assertIn("MISSING: a peer", report)
        self.assertIn("FAILED: one: why", report)

    def test_figures_have_three_digits(self):
        self.assertEqual([tables.figure(value) for value in (1234.5, 99.99, 0.01234)], ["1,234", "100", "0.0123"])


class Peers(unittest.TestCase):
    def test_counts_go_to_the_operation_behind_them(self):
        lines = peers.merged([{"lines": 1}, {"operation": "put"}, {"operation": "get"}])
        self.assertEqual(lines, [{"operation": "put", "lines": 1}, {"operation": "get"}])


    def test_a_version_is_as_it_is_locked(self):
        self.assertRegex(peers.locked_version("redb"), r"^\d+\.\d+\.\d+$")


def xorshift(state):
    """Same as in common.h."""
    state ^= state << 13 & ALL
    state ^= state >> 7
    return state ^ state << 17 & ALL


ALL, MIX = 2**64 - 1, 0x9E3779B97F4A7C15


def pair_of(index):
    """Returns the key and the value of an index, as common.h defines them."""
    words, state = [], 88172645463325252 ^ (index + 1) * MIX & ALL
    for _ in range(6):
        state = xorshift(state)
        words.append(state)
    lengths = words.pop()
    key = b"".join(word.to_bytes(8, "little") for word in words)
    value = b"".join((words[0] ^ place * MIX & ALL).to_bytes(8, "little") for place in range(1, 51))
    return key[: 8 + lengths % 2**32 % 33], value[: 20 + (lengths >> 32) % 381]


def sum_of(pairs):
    total = 0
    for key, value in pairs:
        total += len(key) + (len(value) << 32)
        for part in (key, value):
            total += sum(int.from_bytes(part[at : at + 8], "little") for at in range(0, len(part), 8))
    return f"{total & ALL:016x}"


def sum_of_scans(pairs, entries):
    """Returns the sum of scans of a hundred entries from each of some keys on."""
    ordered = sorted(pairs)
    visited = []
    for turn in range(-(-entries // 100)):
        first = bisect.bisect_left(ordered, pairs[turn * 2654435761 % entries])
        visited += ordered[first : first + 100]
    return sum_of(visited)


def skipped(why):
    """Prints what is not tested, even if reasons of skipped tests are not asked for."""
    print(f"SKIPPED: {why}", file=sys.stderr, flush=True)
    return why


def what_is_missing():
    """Returns why nothing can be run here; None if runs are possible."""
    if platform.machine() != "x86_64" or not shutil.which("cc"):
        return skipped("the heap's benchmark: it needs an x86-64 processor and a C compiler")
    return None if repeat.MEMORY_FOLDER.is_dir() else skipped("the heap's benchmark: there is no /dev/shm")


MISSING = what_is_missing()


@unittest.skipIf(MISSING, MISSING)
class Run(unittest.TestCase):
    """Real runs on small tables, with the peers that are installed."""

    def setUp(self):
        TARGET.mkdir(exist_ok=True)
        self.folder = tempfile.TemporaryDirectory(dir=TARGET)
        self.addCleanup(self.folder.cleanup)
        self.out = Path(self.folder.name) / "results.json"
        self.command = [sys.executable, FOLDER / "repeat.py", "--quick", "--entries", "2000"]
        self.command += ["--directory", self.folder.name, "--out", self.out]

    def left(self, process):
        """Returns the leftovers of a run in the directory of pools."""
        places = (repeat.MEMORY_FOLDER, Path(self.folder.name))
        return [place / f"{repeat.PREFIX}{process.pid}" for place in places if (place / f"{repeat.PREFIX}{process.pid}").exists()]

    def test_everything_that_is_there_is_measured(self):
        process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said, progress = process.communicate()
        self.assertEqual(process.returncode, 0, said + progress)
        self.assertEqual(self.left(process), [])
        results = json.loads(self.out.read_text())
        for sentence in results["missing"]:
            skipped(sentence)
        measured = {run["peer"] for run in results["runs"]}
        there = {peer for peer in (*peers.SOURCES, *peers.BUILT) if not self.missing(results, peer)}
        self.assertEqual(measured, there)
        self.check_counts(results)
        self.check_sums(results)

    def missing(self, results, peer):
        return any(sentence.startswith(f"{peer} is not there") for sentence in results["missing"])

    def check_counts(self, results):
        """The bare loop writes five lines back and waits once or twice: the counter must find exactly that."""
        counts = bars.counts(results["runs"])
        floor = {row["way"]: (row["lines"], row["fences"]) for row in counts if row["peer"] == "floor"}
        self.assertEqual(floor, {"one-fence": (5, 1), "two-fences": (5, 2)} if counts else {})

    def check_sums(self, results):
        """Checks that the visited entries are those to be put, computed in a third language."""
        pairs = [pair_of(index) for index in range(2000)]
        expected = {"iterate": sum_of(pairs), "scan": sum_of_scans(pairs, 2000)}
        expected["range"] = expected["scan"]
        visits = [run for run in results["runs"] if run["data"] == jobs.BYTES and "sum" in run]
        for run in visits:
            self.assertEqual(run["sum"], expected[run["operation"]], run)
        trees = {"LMDB", "redb", "terrace"} & {run["peer"] for run in results["runs"]}
        self.assertEqual({run["peer"] for run in visits if run["operation"] == "scan"}, trees)

    def test_pools_are_removed_when_it_is_ended(self):
        process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and not self.left(process):
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 128 + signal.SIGTERM)
        self.assertEqual(self.left(process), [])

    def test_what_a_kill_left_is_removed_by_the_next(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        left = Path(self.folder.name) / f"{repeat.PREFIX}{gone.pid}"
        left.mkdir()
        with repeat.pools(Path(self.folder.name)) as folder:
            self.assertFalse(left.exists())
            self.assertEqual(folder.name, f"{repeat.PREFIX}{os.getpid()}")
        self.assertFalse(folder.exists())


if __name__ == "__main__":
    unittest.main()
