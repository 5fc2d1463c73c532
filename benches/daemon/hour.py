#!/usr/bin/env python3
"""Measures four services without terraced, with it, with senpai's rule, and with fixed limits.

    cargo build --release -p terrace-daemon
    benches/daemon/hour.py [--minutes 60] [--rounds 3] [--tier file|zram] [--json FILE]

As root, on an idle machine with 3 GB of memory and 5 GB of disk to spare. Redis with a hot third,
PostgreSQL under pgbench, a JVM and a build that comes and goes have a control group each, and a
load that stays the same from the first minute to the last. In each round each side has a segment of
the same length, one after the other:

- without: nothing is reclaimed;
- terraced: with the goal `slowdown`;
- senpai: terraced with Meta's rule (`pressure = "0.1%"`, the settings of the paper);
- static: limits that give each group the DRAM that it had with terraced in this round.

Between segments all memory comes back (swapoff). Everything is judged from outside of terraced: by
the loads' own clocks, the files of the groups and /proc/vmstat. README.md says what the columns
mean. Several hours with the defaults; `--minutes 2 --rounds 1` is a smoke test.
"""

import argparse
import os
import statistics
import time

from daemon import Daemon
from machine import (
    PAGE,
    RELEASE,
    Machine,
    areas,
    fail,
    mib,
    save,
    swap_counts,
    table,
    verdict,
)
from services import SERVICES, SPAN, measure

SIDES = ("without", "terraced", "senpai", "static")
# A drive of 250 GB, as its maker warrants it, and how long it should last.
WEAR = ("150TB", "5years")
A_DAY = 150e12 / (5 * 365.25)
GIVEN = 0.30
# Time between two samples, time for the load to settle before a segment, and time that the loads
# go on behind a round, so that their logs have all of it: a build takes the longest.
EVERY, SETTLE, BEYOND = 5, 20, 30
# A service starves if it does less than half of its usual work in this time.
STARVED = 0.5
LONGEST = 60


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", default=RELEASE, help="folder of the programs")
    parser.add_argument("--minutes", type=float, default=60, help="of each side, in all")
    parser.add_argument("--rounds", type=int, default=3, help="segments of each side")
    parser.add_argument("--sides", default=",".join(SIDES), help="which sides, in this order")
    parser.add_argument("--slowdown", default="2%", help="the goal of each service")
    parser.add_argument("--tier", choices=("file", "zram"), default="file", help="the swap area")
    parser.add_argument("--json", help="file for all figures")
    asked = parser.parse_args()
    asked.sides = asked.sides.split(",")
    unknown = [side for side in asked.sides if side not in SIDES]
    if unknown:
        parser.error(f"there is no side {unknown[0]}")
    order = [side for side in asked.sides if side in ("terraced", "static")]
    if "static" in order and order[0] != "terraced":
        parser.error("the side static needs terraced before it")
    return asked


class Series:
    """The services, and the segments that were measured so far."""

    def __init__(self, asked, machine):
        self.asked, self.machine = asked, machine
        self.services = [make(machine) for make in SERVICES]
        self.daemons = {side: self.daemon(side) for side in asked.sides
                        if side in ("terraced", "senpai")}
        self.segments = []
        self.document = {"about": machine.about(), "asked": vars(asked), "areas": areas(),
                         "segments": self.segments}

    def daemon(self, side):
        goal = {"terraced": f'slowdown = "{self.asked.slowdown}"', "senpai": 'pressure = "0.1%"'}
        targets = {service.name: (service.group, goal[side]) for service in self.services}
        return Daemon(self.machine, self.asked.programs, side, targets, WEAR)

    def run(self):
        for service in self.services:
            service.begin()
        for number in range(self.asked.rounds):
            for side in self.asked.sides:
                self.reset()
                self.segments.append(self.segment(side, number))
            time.sleep(BEYOND)
            self.measure()
            save(self.asked.json, self.document)

    def measure(self):
        """Reads what the loads have logged of all segments so far."""
        windows = [(segment["began"], segment["ended"]) for segment in self.segments]
        for service in self.services:
            for segment, found in zip(self.segments, measure(service, windows)):
                segment["services"][service.name] |= found

    def reset(self):
        """Brings all memory back, and lets the loads settle."""
        for service in self.services:
            service.group.limit(service.limit)
        self.machine.tier.off()
        self.machine.tier.on()
        time.sleep(SETTLE)

    def segment(self, side, number):
        """Measures a side for a while."""
        print(f"round {number + 1}: {side}", flush=True)
        daemon = self.daemons.get(side)
        limits = {}
        if side == "static":
            limits = self.limits()
        if daemon:
            daemon.start()
            daemon.wait()
        for service in self.services:
            if service.name in limits:
                service.group.limit(limits[service.name])
        before, kills = swap_counts(), self.kills()
        began = time.time()
        samples, costs = [], []
        until = began + 60 * self.asked.minutes / self.asked.rounds
        while time.time() < until:
            time.sleep(max(0, min(EVERY, until - time.time())))
            samples.append({"time": time.time()} | {
                service.name: service.group.held() | {"busy": bool(service.group.processes())}
                for service in self.services})
            for service in self.services:
                service.require()
            if daemon:
                daemon.require()
                costs.append(daemon.cost())
        ended, after = time.time(), swap_counts()
        killed = {name: count - kills[name] for name, count in self.kills().items()}
        segment = {
            "side": side, "round": number, "began": began, "ended": ended, "samples": samples,
            "written_bytes": (after[1] - before[1]) * PAGE,
            "fetched_bytes": (after[0] - before[0]) * PAGE,
            "limits": limits, "cost": costs, "status": daemon and daemon.status(),
            "events": daemon and daemon.ask("events", after=0, wait=0),
            "load": os.getloadavg(),
            "services": {name: {"oom_kills": count} for name, count in killed.items()},
        }
        if daemon:
            daemon.stop()
        return segment

    def kills(self):
        return {service.name: service.group.held()["oom_kills"] for service in self.services}

    def limits(self):
        """Returns limits that give each group the DRAM that it had with terraced in this round,
        with the page cache: the median of the second half, of a build while it runs."""
        last = next(it for it in reversed(self.segments) if it["side"] == "terraced")
        samples = last["samples"][len(last["samples"]) // 2:]
        limits = {}
        for service in self.services:
            own = [sample[service.name] for sample in samples]
            own = [sample for sample in own if sample["busy"]] or own
            limits[service.name] = int(statistics.median(sample["usage"] for sample in own))
        return limits


def given(segment, names):
    """Returns the mean share of the memory of these services that was in the tier."""
    shares = []
    for sample in segment["samples"]:
        away = sum(sample[name]["swapped"] for name in names)
        all_of_it = away + sum(sample[name]["resident"] for name in names)
        shares.append(away / all_of_it if all_of_it else 0)
    return statistics.fmean(shares) if shares else 0


def lost(service, base, found):
    """Returns the share of its time that a service lost against another segment: how much longer a
    unit takes, by the time between two units of a worker."""
    if found["mean_s"] is None:
        return 1.0
    longer = found["mean_s"] - base["mean_s"]
    every = base["mean_s"] if service.pauses else service.workers / base["rate"]
    return longer / every


def worst(service, found):
    """Returns the least work in a time, as a share of the median of that."""
    spans = max(1, LONGEST // SPAN)
    if service.pauses:
        # Few units: one that takes twice as long as usual is as bad.
        return found["p50_s"] / found["longest_s"]
    done = [span["done"] for span in found["spans"]]
    sums = [sum(done[at:at + spans]) for at in range(0, len(done) - spans + 1)]
    usual = statistics.median(sums) if sums else 0
    return min(sums) / usual if usual else 1.0


def spread(values, form):
    """Returns the median of values, and their range if there are several."""
    values = [value for value in values if value is not None]
    if not values:
        return "-"
    middle = form(statistics.median(values))
    if len(values) == 1:
        return middle
    return f"{middle} ({form(min(values))} to {form(max(values))})"


def percent(value):
    return f"{value:.2%}"


def milliseconds(value):
    return f"{1e3 * value:.2f}"


def judge(series):
    """Returns the rows of the two tables, and the figures behind them."""
    rows, sums = [], []
    goal = float(series.asked.slowdown.rstrip("%")) / 100
    names = [service.name for service in series.services]
    sides = {side: [it for it in series.segments if it["side"] == side]
             for side in series.asked.sides}
    for side, segments in sides.items():
        slow = starved = killed = False
        for service in series.services:
            own = [segment["services"][service.name] for segment in segments]
            base = [it["services"][service.name] for it in sides.get("without", segments)]
            if any(not found["done"] for found in own + base):
                fail(f"{service.name} did nothing in a segment of {side}; take longer ones")
            rates = [1 - found["rate"] / one["rate"] for one, found in zip(base, own)]
            losses = [lost(service, one, found) for one, found in zip(base, own)]
            least = [worst(service, found) for found in own]
            kills = sum(found["oom_kills"] for found in own)
            share = [given(segment, [service.name]) for segment in segments]
            # How many builds begin in a segment is chance.
            is_slow = statistics.median(losses) > goal
            is_slow |= not service.pauses and statistics.median(rates) > goal
            slow |= is_slow
            starved |= min(least) < STARVED
            killed |= kills > 0
            rows.append([
                side, service.name, spread([found["rate"] for found in own], "{:.2f}".format),
                *(spread([found[key] for found in own], milliseconds)
                  for key in ("mean_s", "p50_s", "p99_s", "longest_s")),
                spread(rates, percent), spread(losses, percent),
                "-" if side == "without" else verdict(not is_slow), spread(share, percent),
                percent(min(least)), kills])
        seconds = [segment["ended"] - segment["began"] for segment in segments]
        written = [it["written_bytes"] * 86400 / passed for it, passed in zip(segments, seconds)]
        share = [given(segment, names) for segment in segments]
        held = [statistics.fmean(sum(sample[name]["resident"] for name in names)
                                 for sample in it["samples"]) for it in segments]
        bars = {"slow": not slow, "given": statistics.fmean(share) >= GIVEN,
                "writes": statistics.fmean(written) <= A_DAY, "kills": not killed,
                "starved": not starved}
        cost = [(it["cost"][-1]["cpu"] - it["cost"][0]["cpu"])
                / max(1, it["cost"][-1]["time"] - it["cost"][0]["time"])
                for it in segments if it["cost"]]
        rss = [max(one["rss"] for one in it["cost"]) for it in segments if it["cost"]]
        sums.append([side, spread(held, mib), spread(share, percent),
                     spread([value / 1e9 for value in written], "{:.1f}".format),
                     spread(cost, percent), spread(rss, mib),
                     *("-" if side == "without" else verdict(bar) for bar in bars.values())])
    return rows, sums


def show(series):
    rows, sums = judge(series)
    table(["side", "service", "units/s", "mean ms", "p50 ms", "p99 ms", "longest ms", "units fewer",
           "time lost", f"within {series.asked.slowdown}", "given", "worst minute", "OOM kills"],
          rows)
    table(["side", "DRAM held", "given", "GB written a day", "own CPU", "own RSS", "slow-down",
           f"given {GIVEN:.0%}", f"writes below {A_DAY / 1e9:.0f} GB", "no OOM kill",
           "none starves"], sums)


def main():
    asked = arguments()
    with Machine(asked.tier) as machine:
        series = Series(asked, machine)
        series.run()
        show(series)
        others = machine.before
    if others:
        print(f"\nother swap areas of the machine: {', '.join(area[0] for area in others)}")


if __name__ == "__main__":
    main()
