"""Tests of the programs that stand for the papers' own: python3 -m unittest papers/test_programs.py"""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PAPERS = Path(__file__).resolve().parent
# Ends a program with this process, however that ends: a defect that makes it run for ever leaves nothing behind.
WITH_US = ["setpriv", "--pdeathsig", "KILL"]
# Seconds after which a program that takes one or two counts as one that runs for ever.
PATIENCE = 300
SANITIZED = ["-g", "-fsanitize=address,undefined"]
# Small runs of programs that hold their records in three ways, with a heap in which some are collected, and smaller
# ones in which each object that is made moves all others.
SMALL = {
    "points kmeans 10000 4": (3, "points kmeans 300 2"),
    "points tree 10000 5": (3, "points tree 300 3"),
    "ratings 4000 3": (2, "ratings 1000 2"),
    "triangles 10": (2, "triangles 6"),
    "pregel distances 9 8": (2, "pregel distances 6 5"),
    "pregel components 9 8": (2, "pregel components 6 5"),
    "pregel strong 9 16": (2, "pregel strong 6 9"),
    "pregel ranks 9 6": (2, "pregel ranks 6 5"),
}


def compiled(folder, source, name, *flags):
    program = Path(folder) / name
    subprocess.run(["cc", "-O1", "-Wall", "-Wextra", f"-I{PAPERS / 'programs'}", *flags, "-o", program, source, "-lm"],
                   check=True)
    return program


def ended(program, *arguments, heap):
    """Runs a program to its end; it ends with this process in any case."""
    return subprocess.run([*WITH_US, program, *arguments], env=os.environ | {"HEAP_MB": str(heap)}, capture_output=True,
                          text=True, timeout=PATIENCE)


def run(program, *arguments, heap=0):
    """Returns what a program prints, and how many young and full collections it says it made."""
    done = ended(program, *arguments, heap=heap)
    if done.returncode != 0:
        raise AssertionError(f"{program.name} {' '.join(arguments)}: {done.stdout}{done.stderr}")
    said = re.search(r"(\d+) young collections, (\d+) full", done.stderr)
    return done.stdout, said and [int(number) for number in said.groups()]


def runs(pid):
    """Returns whether a process runs: one that has ended may be left to a parent who does not ask for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


class Harness(unittest.TestCase):
    def test_a_program_that_runs_for_ever_ends_with_a_killed_test(self):
        with tempfile.TemporaryDirectory() as folder:
            program, told = Path(folder) / "endless", Path(folder) / "pid"
            program.write_text(f"#!/bin/sh\necho $$ >{told}.new\nmv {told}.new {told}\nwhile :; do :; done\n")
            program.chmod(0o755)
            script = f"import test_programs; test_programs.ended({str(program)!r}, heap=0)"
            test = subprocess.Popen([*WITH_US, sys.executable, "-c", script], cwd=PAPERS)
            while not told.exists():
                self.assertIsNone(test.poll(), "the test ended before its program")
                time.sleep(0.01)
            pid = int(told.read_text())
            test.kill()
            test.wait()
            end = time.monotonic() + PATIENCE
            try:
                while runs(pid) and time.monotonic() < end:
                    time.sleep(0.01)
                self.assertFalse(runs(pid))
            finally:
                if runs(pid):
                    os.kill(pid, signal.SIGKILL)


class Collector(unittest.TestCase):
    def test_objects_are_as_a_copy_in_arrays_has_them(self):
        with tempfile.TemporaryDirectory() as folder:
            program = compiled(folder, PAPERS / "test_collector.c", "test_collector", *SANITIZED)
            for heap, seed in ((9, 4), (9, 5), (10, 2)):
                with self.subTest(heap=heap, seed=seed):
                    _, (young, full) = run(program, str(seed), "100000", heap=heap)
                    self.assertGreater(young, 10)
                    self.assertGreater(full, 2)

    def test_a_heap_that_is_too_small_is_said_to_be(self):
        with tempfile.TemporaryDirectory() as folder:
            program = compiled(folder, PAPERS / "test_collector.c", "test_collector")
            for heap, sentence in (("2", "the heap is too small"), ("", "HEAP_MB is to say")):
                done = ended(program, "1", "60000", heap=heap)
                self.assertEqual(done.returncode, 1)
                self.assertIn(sentence, done.stderr)


class Layouts(unittest.TestCase):
    """A program computes the same however it holds its records."""

    def test_what_is_printed_is_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            programs = {}
            for name in sorted({words.split()[0] for words in SMALL}):
                source = PAPERS / "programs" / f"{name}.c"
                programs[name] = [
                    compiled(folder, source, f"{name}-{layout}", *SANITIZED, *flags) for layout, flags in (
                        ("flat", []), ("boxed", ["-DBOXED"]), ("collected", ["-DCOLLECTED"]),
                        ("always", ["-DCOLLECTED", "-DCOLLECT_ALWAYS"]))]
            for words, (heap, fewer) in SMALL.items():
                with self.subTest(words):
                    name, *arguments = words.split()
                    flat, boxed, collected, always = programs[name]
                    expected, _ = run(flat, *arguments)
                    self.assertEqual(run(boxed, *arguments)[0], expected)
                    printed, (young, _) = run(collected, *arguments, heap=heap)
                    self.assertEqual(printed, expected)
                    self.assertGreater(young, 0)
                    _, *arguments = fewer.split()
                    self.assertEqual(run(always, *arguments, heap=heap)[0], run(flat, *arguments)[0])


if __name__ == "__main__":
    unittest.main()
