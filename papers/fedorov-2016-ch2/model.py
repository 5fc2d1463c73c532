"""A model of LRU, nHm and ARI that was written from the paper, in another language than the simulator, and that has
to count exactly what the simulator does.

Usage: model.py CSV [POLICY...]

CSV holds requests to a last level of 2 MB in 16 ways, as `terrace trace convert` writes them. Prints misses, misses of
write-backs, and write-backs of each policy: lru, nhm:n=N, nhm:n=N,insert=lh or ari.
"""

import csv
import sys

SETS, WAYS, LINE_BYTES = 2048, 16, 64
PROCESS_BITS = 45
MASK = (1 << 64) - 1


class Set:
    """Lines of a set, the most recently used first; None where there is none yet."""

    def __init__(self):
        self.order = [None] * WAYS
        self.dirty = set()

    def access(self, line, writes, high, insertion):
        """Returns whether the line was missing, and whether a dirty one was evicted for it."""
        missing = line not in self.order
        written = False
        if missing:
            if None in self.order:
                self.order.remove(None)
            else:
                victim = self.victim(high)
                self.order.remove(victim)
                written = victim in self.dirty
                self.dirty.discard(victim)
            self.order.insert(insertion, line)
        else:
            self.order.remove(line)
            self.order.insert(0, line)
        if writes:
            self.dirty.add(line)
        return missing, written

    def victim(self, high):
        """2.2: the least recent clean line of the low-hit partition; else that at LRU."""
        clean = [line for line in self.order[high:] if line not in self.dirty]
        return clean[-1] if clean else self.order[-1]


class Static:
    """A partitioning nHm in force all the time, with insertion of clean lines at MRU or below the high-hit ways."""

    def __init__(self, high=WAYS, low=False):
        self.high, self.low = high, low
        self.sets = [Set() for _ in range(SETS)]

    def access(self, line, writes):
        insertion = self.high if self.low and not writes else 0
        return self.sets[line % SETS].access(line, writes, self.high, insertion)


class Ari(Static):
    """2.2 and 2.3: 32 sampled sets, 9 partitionings with both insertions, epochs of 25,000, averages and threshold of
    a sixteenth, tags of 12 bits of which the upper six are folded onto the lower six (longer ones likewise)."""

    EPOCH = 25_000

    def __init__(self):
        super().__init__()
        highs = range(WAYS, -1, -2)
        self.candidates = [(high, low) for low in (False, True) for high in highs]
        self.averages = [(0.0, 0.0)] * len(self.candidates)
        self.counts = [[0, 0] for _ in self.candidates]
        self.shadows = {place: [Set() for _ in self.candidates] for place in sampled(32)}
        self.requests = 0

    def access(self, line, writes):
        if self.requests and self.requests % self.EPOCH == 0:
            self.decide()
        self.requests += 1
        shadows = self.shadows.get(line % SETS)
        if shadows:
            tag = folded(line // SETS)
            for shadow, (high, low), counts in zip(shadows, self.candidates, self.counts):
                missing, written = shadow.access(tag, writes, high, high if low and not writes else 0)
                counts[0] += missing and not writes
                counts[1] += written
        return super().access(line, writes)

    def decide(self):
        self.averages = [tuple(15 / 16 * old + 1 / 16 * new for old, new in zip(*pair))
                         for pair in zip(self.averages, self.counts)]
        self.counts = [[0, 0] for _ in self.candidates]
        most = self.averages[0][0] * (1 + 1 / 16)
        allowed = [place for place, (misses, _) in enumerate(self.averages) if misses <= most]
        least = min(sum(self.averages[place]) for place in allowed)
        best = [self.candidates[place] for place in allowed if sum(self.averages[place]) == least]
        if (self.high, self.low) not in best:
            self.high, self.low = best[0]


def folded(tag):
    bits = 0
    while tag:
        bits ^= tag & 63
        tag >>= 6
    return bits


def sampled(count, seed=1):
    """Draws sets with SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), each among those that are left."""
    left, drawn = list(range(SETS)), []
    for draw in range(1, count + 1):
        z = (seed + draw * 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & MASK
        at = (z ^ z >> 31) % len(left)
        left[0], left[at] = left[at], left[0]
        drawn.append(left.pop(0))
    return drawn


def requests(path):
    """Returns line and whether it is written of each row; the kernel numbers lines within a process by 45 bits."""
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            line = int(row["address"], 0) // LINE_BYTES % (1 << PROCESS_BITS)
            yield line + (int(row.get("process") or 0) << PROCESS_BITS), row["write"] in ("1", "true")


def named(policy):
    name, _, settings = policy.partition(":")
    settings = dict(setting.split("=") for setting in settings.split(",") if setting)
    if name == "ari":
        return Ari()
    return Static(int(settings.get("n", WAYS)), settings.get("insert") == "lh")


def count(rows, policy):
    """Returns how often reads and write-backs of the level above miss, and the lines that are written to memory."""
    cache, found = named(policy), {"misses": 0, "writeback_misses": 0, "writebacks": 0}
    for line, writes in rows:
        missing, written = cache.access(line, writes)
        found["writeback_misses" if writes else "misses"] += missing
        found["writebacks"] += written
    return found


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rows = list(requests(sys.argv[1]))
    for policy in sys.argv[2:] or ["lru", "ari"]:
        print(policy, *count(rows, policy).values())


if __name__ == "__main__":
    main()
