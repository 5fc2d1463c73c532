#!/usr/bin/env python3
"""Measures how long Redis stalls when a table that has left for the tier is read at once.

    cargo build --release -p terrace-daemon
    benches/daemon/burst.py [--rounds 3] [--goal 2%] [--tier file|zram] [--json FILE]

As root, on an idle machine; ten minutes a round. Of 90,000 keys of 4 kB a third is asked for at a
fixed rate, 500 requests a second for twenty keys each. The other two thirds are a table that nobody
reads. Then it is read as a whole, by one client as fast as it can,

- once with all of it in DRAM (`in DRAM`),
- once when it has left under terraced, which goes on (`terraced`),
- once when it has left under terraced, which was killed before (`alone`): the kernel brings back
  what is touched, and nobody gives back.

Prints of each: what of the table was in the tier, how long it took to read it, and of the requests
for the hot third the longest; the stall, which is the time in tenths of a second in which half of
the requests took longer than `SLOW`; the longest time in which none was answered; after how long
the median of a second is what it was before, for good; and the 99th percentile before and in the
last half minute. All times are clients', since a request was due. Nothing is done by hand after the
burst.
"""

import argparse
import bisect
import os
import subprocess
import sys
import time

from daemon import Daemon
from machine import (
    HERE,
    MIB,
    RELEASE,
    Machine,
    fail,
    mib,
    save,
    table,
    verdict,
    wait_for,
)
from resp import Redis, fill
from services import quantile

KEYS, RATE, BUNCH = 90_000, 500, 16
WAYS = ("in DRAM", "terraced", "alone")
# The table has left when no more than this of it is in DRAM, or after this time in seconds.
COLD, PATIENCE = 0.15, 600
# A request is slow that takes longer than this, and requests of such a span are looked at together.
SLOW, SPAN = 0.1, 0.1
STALL = 2.0
# Time before a burst that it is compared with, and after it in which the service has to recover.
BEFORE, AFTER, LAST = 20, 60, 30
# Times are as before if they are at most so many times as long, and so much longer, in seconds.
AS_BEFORE, MORE = 2.0, 0.001


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", default=RELEASE, help="folder of the programs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--goal", default="2%", help="slow-down that terraced is told")
    parser.add_argument("--tier", choices=("file", "zram"), default="file", help="the swap area")
    parser.add_argument("--json", help="file for all figures")
    return parser.parse_args()


class Table:
    """Redis with a hot third and a table, and its steady load."""

    def __init__(self, machine):
        self.machine = machine
        self.group = machine.group("redis", 2048 * MIB)
        self.socket, self.log = machine.path("redis.socket"), machine.path("units")
        with open(machine.path("redis.log"), "ab") as log:
            self.server = machine.start(
                ["redis-server", "--port", 0, "--unixsocket", self.socket, "--dir", machine.folder,
                 "--save", "", "--appendonly", "no", "--daemonize", "no"], group=self.group,
                stdout=log)
        wait_for("the socket of Redis", lambda: os.path.exists(self.socket))
        fill(Redis(self.socket), KEYS)
        self.size = 2 / 3 * self.group.held()["resident"]
        program = os.path.join(HERE, "programs", "requests.py")
        command = [sys.executable, program, self.socket, KEYS, RATE, self.log]
        self.load = machine.start(command)

    def require(self):
        for process in (self.server, self.load):
            if process.poll() is not None:
                fail(f"Redis or its load ended with {process.returncode}")

    def read_all(self):
        """Reads the whole table; returns the times of its begin and end."""
        began = time.time()
        program = ("import sys; from resp import Redis\n"
                   "redis = Redis(sys.argv[1])\n"
                   "first, last, bunch = map(int, sys.argv[2:])\n"
                   "for key in range(first, last, bunch):\n"
                   "    some = range(key, min(key + bunch, last))\n"
                   "    redis.send(*(('GET', it) for it in some))\n"
                   "    for _ in some: redis.answer()\n")
        subprocess.run([sys.executable, "-c", program, self.socket, str(KEYS // 3), str(KEYS),
                        str(BUNCH)], cwd=HERE, check=True)
        return began, time.time()


def leave(table, daemon):
    """Has the table leave DRAM; returns the time that it took, in seconds."""
    began = time.monotonic()
    while table.group.held()["swapped"] < (1 - COLD) * table.size:
        daemon.require()
        table.require()
        if time.monotonic() - began > PATIENCE:
            break
        time.sleep(1)
    return time.monotonic() - began


def burst(asked, table, way, number):
    """Measures a burst in one way."""
    daemon, took = None, None
    if way != "in DRAM":
        name = f"{way}{number}"
        targets = {"redis": (table.group, f'slowdown = "{asked.goal}"')}
        daemon = Daemon(table.machine, asked.programs, name, targets)
        daemon.start()
        daemon.wait()
        took = leave(table, daemon)
        if way == "alone":
            daemon.kill()
    time.sleep(BEFORE)
    before = table.group.held()
    began, ended = table.read_all()
    after = table.group.held()
    held = []
    while time.time() < ended + AFTER:
        time.sleep(1)
        table.require()
        held.append({"time": time.time()} | table.group.held())
    found = {"way": way, "round": number, "began": began, "ended": ended, "left_s": took,
             "before": before, "after": after, "held": held,
             "kills": table.group.held()["oom_kills"]}
    if way == "terraced":
        found["events"] = daemon.ask("events", after=0, wait=0)
        daemon.stop()
    # All comes back, for the next one.
    table.machine.tier.off()
    table.machine.tier.on()
    return found


def units(path):
    """Returns the requests of the load: when each was due, and how long it took since then. One
    that was left out took longer than the second after which it is."""
    with open(path, encoding="ascii") as file:
        lines = [line.split() for line in file if line.endswith("\n")]
    return [(float(line[0]), float(line[1]) / 1e6 if len(line) > 1 else 1.0) for line in lines]


def judge(found, requests):
    """Adds what the clients saw of a burst."""
    dues = [due for due, _ in requests]

    def between(since, until):
        return requests[bisect.bisect_left(dues, since):bisect.bisect_left(dues, until)]

    def times(since, until):
        return sorted(took for _, took in between(since, until))

    began, over = found["began"], found["ended"] + AFTER
    usual, last = times(began - BEFORE, began), times(over - LAST, over)
    spans = [times(began + at * SPAN, began + (at + 1) * SPAN)
             for at in range(int((over - began) / SPAN))]
    again = None
    for second in range(int(over - began)):
        took = times(began + second, began + second + 1)
        if not took or quantile(took, 0.5) > AS_BEFORE * quantile(usual, 0.5) + MORE:
            again = None
        elif again is None:
            again = second
    part = between(began, over)
    answers = sorted(due + took for due, took in part)
    found |= {"usual_p50_s": quantile(usual, 0.5), "usual_p99_s": quantile(usual, 0.99),
              "last_p99_s": quantile(last, 0.99), "longest_s": max(took for _, took in part),
              "stall_s": SPAN * sum(bool(span) and quantile(span, 0.5) > SLOW for span in spans),
              "silence_s": max(b - a for a, b in zip([began, *answers], answers)),
              "again_s": again,
              "spans": [{"p50_s": quantile(span, 0.5), "longest_s": quantile(span, 1)}
                        for span in spans]}
    found["recovers"] = (again is not None and not found["kills"]
                         and found["last_p99_s"] <= AS_BEFORE * found["usual_p99_s"] + MORE)


def main():
    asked = arguments()
    with Machine(asked.tier, 1 << 30) as machine:
        redis = Table(machine)
        document = {"about": machine.about(), "asked": vars(asked), "bursts": []}
        bursts, size = document["bursts"], redis.size
        for number in range(asked.rounds):
            for way in WAYS:
                print(f"round {number + 1}: {way}", flush=True)
                bursts.append(burst(asked, redis, way, number))
                judge(bursts[-1], units(redis.log))
                save(asked.json, document)
    rows = [[found["way"], mib(found["before"]["swapped"]),
             f"{found['before']['swapped'] / size:.0%}",
             "-" if found["left_s"] is None else f"{found['left_s']:.0f}",
             f"{found['ended'] - found['began']:.2f}", f"{found['longest_s']:.3f}",
             f"{found['stall_s']:.1f}", f"{found['silence_s']:.3f}",
             "never" if found["again_s"] is None else found["again_s"],
             f"{1e3 * found['usual_p99_s']:.1f} / {1e3 * found['last_p99_s']:.1f}", found["kills"]]
            for way in WAYS for found in bursts if found["way"] == way]
    table(["way", "in the tier", "of the table", "left within s", "table read in s", "longest s",
           "stall s", "no answer for s", "as before after s", "p99 ms before / at the end",
           "OOM kills"], rows)
    own = [found for found in bursts if found["way"] == "terraced"]
    longest = max(found["stall_s"] for found in own)
    print(f"\nthe stall lasts {longest:.2f} s at most (at most {STALL:.0f} s: "
          f"{verdict(longest <= STALL)}); Redis recovers without a hand: "
          f"{verdict(all(found['recovers'] for found in own))}")


if __name__ == "__main__":
    main()
