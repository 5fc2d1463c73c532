"""Tests of the simulated cluster: cases whose answer is obvious.

python3 -m unittest discover -s benches/python
"""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import model  # noqa: E402

#: Nothing but tasks.
ALONE = dict(
    passes=4, scheduler=0.0, sending=0.0, requests=float("inf"), latency=0.0, bandwidth=float("inf"),
    decoding=0.0,
)  # fmt: skip


def found(traces, workers, **more):
    p = model.Parameters(traces, workers, **(ALONE | more))
    return p, model.lengths(p, 3), model.simulate(p, seed=3)


class Bounds(unittest.TestCase):
    def test_one_worker_takes_the_sum(self):
        _, tasks, one = found(10, 1)
        self.assertAlmostEqual(one.makespan, sum(tasks))
        self.assertAlmostEqual(one.utilisation, 1)
        self.assertEqual((one.begin, one.end, one.again), (0, 0, 0))

    def test_enough_workers_take_the_longest(self):
        _, tasks, many = found(10, 40)
        self.assertAlmostEqual(many.makespan, max(tasks))

    def test_a_slow_scheduler_is_the_limit(self):
        p, tasks, slow = found(10, 40, task=0.0, scheduler=2.0)
        self.assertAlmostEqual(slow.makespan, 2.0 * len(tasks))
        self.assertAlmostEqual(slow.scheduler, 1)
        self.assertEqual(model.limit(p), 80)

    def test_between_the_bounds_of_any_list_schedule(self):
        for workers in (2, 3, 7):
            _, tasks, some = found(10, workers)
            even = sum(tasks) / workers
            self.assertGreaterEqual(some.makespan, max(even, max(tasks)) - 1e-6)
            self.assertLessEqual(some.makespan, even + max(tasks) + 1e-6)

    def test_a_slow_store_is_the_limit(self):
        p, tasks, slow = found(10, 40, task=0.0, requests=2.0, reads=1, lists_all=False)
        self.assertAlmostEqual(slow.makespan, 3 / 2 * len(tasks))
        self.assertEqual(slow.requests, 3 * len(tasks) + 41 + (40 + 1 + 40))

    def test_a_task_may_list_what_is_finished(self):
        whole = found(10, 1, names=1, lists_all=True)[2].requests
        self.assertEqual(whole - found(10, 1, names=1)[2].requests, sum(range(1, 40)) - 39)


class Stops(unittest.TestCase):
    def test_what_died_is_done_again(self):
        _, tasks, one = found(10, 4, lives=200.0, returns=5.0)
        self.assertGreater(one.again, 0)
        self.assertGreater(one.makespan, found(10, 4)[2].makespan)

    def test_to_go_on_is_the_rest(self):
        p = model.Parameters(10, 1, **ALONE)
        tasks = model.lengths(p, 3)
        self.assertAlmostEqual(model.simulate(p, tasks, finished=25).makespan, sum(tasks[25:]))
        self.assertEqual(model.simulate(p, tasks, finished=40).makespan, 0)


if __name__ == "__main__":
    unittest.main()
