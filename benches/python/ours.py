"""Simulates in this process, and prints the seconds that it took and the misses, as JSON.

Usage: ours.py array ADDRESSES WRITES MEMORY PAGES | ours.py POLICY TRACE PAGES
"""

import json
import resource
import sys
import time
from collections import deque

import numpy
import terrace_sim as ts


class Fifo(ts.Replacement):
    """The page that came first leaves."""

    def __init__(self, capacity, seed):
        self.order, self.inside = deque(), bytearray()

    def touches(self, pages, writes):
        inside = self.inside
        for page in pages:
            if page >= len(inside):
                inside.extend(bytes(page + 1))
            if not inside[page]:
                inside[page] = 1
                self.order.append(page)

    def evict(self):
        page = self.order.popleft()
        self.inside[page] = 0
        return page


class Clock(ts.Replacement):
    """A page that was touched since the hand came by stays."""

    def __init__(self, capacity, seed):
        # 0 is not in DRAM, 1 came there, 2 was touched since.
        self.order, self.states = deque(), bytearray()

    def touches(self, pages, writes):
        states = self.states
        for page in pages:
            if page >= len(states):
                states.extend(bytes(page + 1))
            if states[page]:
                states[page] = 2
            else:
                states[page] = 1
                self.order.append(page)

    def evict(self):
        order, states = self.order, self.states
        while states[page := order.popleft()] == 2:
            states[page] = 1
            order.append(page)
        states[page] = 0
        return page


class Lru(ts.Replacement):
    """The page leaves whose last touch is the oldest: that of which no later one is in the log."""

    def __init__(self, capacity, seed):
        self.log, self.logged = deque(), []

    def touches(self, pages, writes):
        logged = self.logged
        self.log.extend(pages)
        for page in pages:
            if page >= len(logged):
                logged.extend([0] * (page + 1))
            logged[page] += 1

    def evict(self):
        log, logged = self.log, self.logged
        while True:
            page = log.popleft()
            logged[page] -= 1
            if not logged[page]:
                return page


POLICIES = {"fifo": Fifo, "clock": Clock, "lru": Lru}


class Clocks:
    """The time on the wall and of processors since it was made."""

    def __init__(self):
        self.begin = self._now()

    def _now(self):
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return time.perf_counter(), usage.ru_utime + usage.ru_stime

    def seconds(self):
        """Returns both."""
        return [now - begin for now, begin in zip(self._now(), self.begin, strict=True)]


def main():
    what, *given, pages = sys.argv[1:]
    settings = {"dram": f"{pages}p", "progress": False}
    if what == "array":
        *arrays, memory = given
        addresses, writes = (numpy.load(array) for array in arrays)
        whole = Clocks()
        trace = ts.open(addresses, writes=writes)
        opened = Clocks()
        found = ts.pages(trace, replacement="lru", memory=memory, **settings)
        seconds = {"opened": opened.seconds(), "array": whole.seconds()}
    else:
        trace = ts.open(given[0])
        clocks = Clocks()
        found = ts.pages(trace, replacement=POLICIES[what], memory="none", **settings)
        seconds = {"policy": clocks.seconds()}
    run = found.to_dict()["runs"][0]
    print(json.dumps({"seconds": seconds, "misses": run["misses"], "accesses": run["accesses"]}))


if __name__ == "__main__":
    main()
