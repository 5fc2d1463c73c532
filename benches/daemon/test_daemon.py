"""Tests how the benchmarks of terraced judge, on units of work whose answer is known."""

import unittest

import burst
import hour
import services


class Steady:
    """A service with units each tenth of a second, which take so long in the given spans."""

    workers, pauses = 1, False

    def __init__(self, took, seconds=20, left_out=()):
        self.took, self.seconds, self.left_out = took, seconds, left_out

    def lines(self):
        for number in range(10 * self.seconds):
            due = number / 10
            took = None if number in self.left_out else self.took(due)
            yield due, took, took


class Judged(unittest.TestCase):
    def test_units_count_in_the_window_in_which_they_were_due(self):
        service = Steady(lambda due: 0.001 if due < 10 else 0.003, left_out={150})
        first, second = services.measure(service, [(0, 10), (10, 20)])
        self.assertEqual((first["done"], first["left_out"]), (100, 0))
        self.assertEqual((second["done"], second["left_out"]), (99, 1))
        self.assertEqual((first["p99_s"], second["p50_s"]), (0.001, 0.003))
        self.assertEqual([span["done"] for span in second["spans"]], [99])

    def test_lost_time_is_what_units_take_longer_by_their_distance(self):
        service = Steady(lambda due: 0.001 if due < 10 else 0.003)
        first, second = services.measure(service, [(0, 10), (10, 20)])
        self.assertAlmostEqual(hour.lost(service, first, second), 0.02)
        service.workers = 2
        self.assertAlmostEqual(hour.lost(service, first, second), 0.01)
        service.pauses = True
        self.assertAlmostEqual(hour.lost(service, first, second), 2.0)

    def test_a_minute_without_work_is_the_worst(self):
        service = Steady(lambda due: 0.001, 300, left_out=range(1000, 1600))
        (found,) = services.measure(service, [(0, 300)])
        self.assertEqual(hour.worst(service, found), 0)
        (found,) = services.measure(Steady(lambda due: 0.001, 300), [(0, 300)])
        self.assertEqual(hour.worst(service, found), 1)

    def test_what_is_in_the_tier_is_a_share_of_all(self):
        sample = {"a": {"resident": 60, "swapped": 30}, "b": {"resident": 10, "swapped": 0}}
        segment = {"samples": [sample, {name: {"resident": 1, "swapped": 0} for name in "ab"}]}
        self.assertAlmostEqual(hour.given(segment, ["a", "b"]), 0.15)

    def test_a_stall_is_the_spans_in_which_half_is_slow(self):
        def requests(slow):
            return [(at / 100, slow(at / 100)) for at in range(-2000, 7000)]

        found = {"began": 0.0, "ended": 5.0, "kills": 0}
        burst.judge(found, requests(lambda due: 0.5 if 1 <= due < 2.5 else 0.001))
        self.assertAlmostEqual(found["stall_s"], 1.5)
        self.assertEqual((found["again_s"], found["recovers"]), (3, True))
        burst.judge(found, requests(lambda due: 0.5 if due >= 1 else 0.001))
        self.assertEqual((found["again_s"], found["recovers"]), (None, False))
        # One slow request in ten is none, and the server answers.
        burst.judge(found, requests(lambda due: 0.5 if int(due * 100) % 10 == 0 else 0.001))
        self.assertEqual((found["stall_s"], found["recovers"]), (0, True))


if __name__ == "__main__":
    unittest.main()
