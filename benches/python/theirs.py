"""Runs a plug-in of libCacheSim, and prints the seconds that it took and the misses, as JSON.

Usage: theirs.py POLICY TRACE PAGES
"""

import json
import resource
import sys
import time
from collections import OrderedDict, deque

import libcachesim


class Fifo:
    """The object that came first leaves."""

    def __init__(self, parameters):
        self.order = deque()

    def hit(self, request):
        pass

    def miss(self, request):
        self.order.append(request.obj_id)

    def evict(self, request):
        return self.order.popleft()

    def remove(self, name):
        self.order.remove(name)


class Clock:
    """An object that was asked for since the hand came by stays."""

    def __init__(self, parameters):
        self.order, self.asked = deque(), {}

    def hit(self, request):
        self.asked[request.obj_id] = True

    def miss(self, request):
        self.order.append(request.obj_id)
        self.asked[request.obj_id] = False

    def evict(self, request):
        order, asked = self.order, self.asked
        while asked[name := order.popleft()]:
            asked[name] = False
            order.append(name)
        del asked[name]
        return name

    def remove(self, name):
        self.order.remove(name)
        del self.asked[name]


class Lru:
    """The object leaves that was asked for longest ago."""

    def __init__(self, parameters):
        self.order = OrderedDict()

    def hit(self, request):
        self.order.move_to_end(request.obj_id)

    def miss(self, request):
        self.order[request.obj_id] = True

    def evict(self, request):
        return self.order.popitem(last=False)[0]

    def remove(self, name):
        del self.order[name]


POLICIES = {"fifo": Fifo, "clock": Clock, "lru": Lru}


def now():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), usage.ru_utime + usage.ru_stime


def main():
    name, trace, pages = sys.argv[1:]
    policy = POLICIES[name]
    alike = libcachesim.ReaderInitParam(ignore_obj_size=True)
    kind = libcachesim.TraceType.ORACLE_GENERAL_TRACE
    reader = libcachesim.TraceReader(trace, kind, alike)
    hooks = [policy, policy.hit, policy.miss, policy.evict, policy.remove, lambda policy: None]
    cache = libcachesim.PluginCache(int(pages), *hooks, cache_name=name)
    begin = now()
    ratio, _ = cache.process_trace(reader)
    seconds = [end - begin for end, begin in zip(now(), begin, strict=True)]
    print(json.dumps({"seconds": seconds, "miss_ratio": ratio}))


if __name__ == "__main__":
    main()
