"""What is measured: each job is one peer in one way, on a new pool."""

import os
from dataclasses import dataclass

MEMORY, FILE, COUNTS = "memory", "file", "counts"
# Ways with the pool in memory.
WAYS = {
    "floor": ["two-fences", "one-fence"],
    "libpmemobj": ["transactions", "actions", "lean-transactions", "lean-actions"],
    "LMDB": ["unsynchronised"],
    "terrace": ["sized", "growing"],
}
# Ways on a plain file, each with the way that fills the table beforehand, and which of the amounts is put.
SYNCHRONOUS = {
    "libpmemobj": {way: (way, "slow") for way in ("lean-transactions", "lean-actions")},
    "LMDB": {
        "synchronous": ("unsynchronised", "committed"),
        "synchronous-writemap": ("unsynchronised", "slow"),
        "batched": ("unsynchronised", "batched"),
    },
    "terrace": {"synchronous": ("sized", "committed"), "batched": ("sized", "batched")},
}
# Operations on objects by themselves; to change a word without freeing takes a part of what freeing does.
ALLOCATORS = {"libpmemobj": ("allocate", "free"), "terrace": ("allocate", "free", "set")}
# What has several writers at a time.
THREADED = {"floor": ["two-fences", "one-fence"], "libpmemobj": ["lean-transactions", "lean-actions"], "terrace": ["sized"]}


@dataclass(frozen=True)
class Amounts:
    """How many operations: on a plain file with a commit each, in ways that take a millisecond for it, with
    shared commits, and counted. Those that are to be fast are enough to fill Terrace's journal."""

    committed: int
    slow: int
    batched: int
    counted: int


FULL = Amounts(committed=50_000, slow=2_000, batched=200_000, counted=5_000)
QUICK = Amounts(committed=100, slow=100, batched=1_000, counted=200)


@dataclass(frozen=True)
class Job:
    medium: str
    peer: str
    way: str
    entries: int
    threads: int = 1
    # The way that fills the table beforehand with the other keys, in a process of its own.
    filled: str = None
    # One process each: the operations.
    steps: tuple = ()
    # Which keys the steps use: the first, and how many; all, if not said.
    keys: tuple = None

    def run(self, peers, pool):
        """Its lines. The caller removes the pool."""
        lines = []
        if self.filled:
            peers.run(self, pool, ["put"], (0, self.keys[0]), way=self.filled)
            # What filling has left to be written is not for those that are measured to write.
            synchronise(pool)
        for operations in self.steps:
            lines += peers.run(
                self, pool, operations, self.keys, forced=self.medium != FILE, counted=self.medium == COUNTS
            )
        return [line | {"medium": self.medium} for line in lines]


def synchronise(path):
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.close(file)


def last(entries, count):
    """The last so many keys of a table, at most half of them: for the others it is filled beforehand."""
    count = min(count, entries // 2)
    return (entries - count, count)


def measured(entries, amounts):
    """The jobs of a repetition for tables of so many entries, whether or not their peers are there."""
    whole = (("put", "get"), ("open", "iterate", "delete"))
    jobs = []
    for peer, ways in WAYS.items():
        steps = (("put",),) if peer == "floor" else whole
        shared = (("put",),) if peer == "floor" else (("put", "get", "delete"),)
        for way in ways:
            jobs.append(Job(MEMORY, peer, way, entries, steps=steps))
            # Right behind, for what they share of the machine differs from minute to minute.
            if way in THREADED.get(peer, []):
                jobs.append(Job(MEMORY, peer, way, entries, threads=2, steps=shared))
    jobs += [Job(MEMORY, peer, "allocator", entries, steps=(steps,)) for peer, steps in ALLOCATORS.items()]
    for peer, ways in SYNCHRONOUS.items():
        for way, (filled, amount) in ways.items():
            keys = last(entries, getattr(amounts, amount))
            jobs.append(Job(FILE, peer, way, entries, filled=filled, steps=(("put",),), keys=keys))
    return jobs


def counted(entries, amounts):
    """The jobs that count lines and fences: exact, so that once is enough."""
    keys = last(entries, amounts.counted)
    jobs = [Job(COUNTS, "floor", way, amounts.counted, steps=(("put",),)) for way in WAYS["floor"]]
    for peer in ("libpmemobj", "terrace"):
        ways = WAYS[peer]
        jobs += [Job(COUNTS, peer, way, entries, filled=way, steps=(("put", "delete"),), keys=keys) for way in ways]
    keys = (0, amounts.counted)
    jobs += [Job(COUNTS, peer, "allocator", entries, steps=(steps,), keys=keys) for peer, steps in ALLOCATORS.items()]
    return jobs
