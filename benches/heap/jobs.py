"""What is measured: each job is one peer in one way, on a new pool."""

import os
from dataclasses import dataclass

MEMORY, FILE, COUNTS = "memory", "file", "counts"
# Keys and values: of 64 bytes each, or of any length.
ITEMS, BYTES = "items", "bytes"
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
# Ways with keys and values of any length, as SYNCHRONOUS has them; libpmemobj has no map of such.
BYTES_WAYS = {
    MEMORY: {
        "LMDB": {
            way: ("unsynchronised", "committed") for way in ("unsynchronised", "synchronous", "synchronous-writemap")
        },
        "redb": {"none": ("filling", "committed"), "immediate": ("filling", "committed")},
        "terrace": {"tree": ("tree", "committed"), "sized": ("sized", "committed")},
    },
    FILE: {
        "LMDB": SYNCHRONOUS["LMDB"],
        "redb": {"immediate": ("filling", "committed"), "batched": ("filling", "batched")},
        "terrace": SYNCHRONOUS["terrace"]
        | {"tree-synchronous": ("tree", "committed"), "tree-batched": ("tree", "batched")},
    },
}
# What is read in memory, of one way a peer: to read is the same in all that write.
GETS, SCANS = ("get", "get-batched"), ("iterate", "scan")
READ = {
    ("LMDB", "unsynchronised"): GETS + SCANS,
    ("redb", "immediate"): GETS + SCANS,
    ("terrace", "sized"): ("get", "iterate"),
    ("terrace", "tree"): ("get", *SCANS, "range"),
}
# The last operation of a process that ends as a `kill -9` does.
DIE = "die"


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
    data: str = ITEMS
    # Which of the steps uses all keys nevertheless.
    reads: tuple = None

    def run(self, peers, pool):
        """Its lines. The caller removes the pool."""
        lines = []
        if self.filled:
            peers.run(self, pool, ["put"], (0, self.keys[0]), way=self.filled)
            # What filling has left to be written is not for those that are measured to write.
            synchronise(pool)
        for operations in self.steps:
            keys = None if operations == self.reads else self.keys
            lines += peers.run(self, pool, operations, keys, forced=self.medium != FILE, counted=self.medium == COUNTS)
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


def of_bytes(entries, amounts):
    """The jobs of a repetition with keys and values of any length: a table is filled but for the last entries,
    which are put; the process is killed, and another one opens the table; one opens it that was closed."""
    jobs = []
    for medium, peers in BYTES_WAYS.items():
        for peer, ways in peers.items():
            for way, (filled, amount) in ways.items():
                keys = last(entries, getattr(amounts, amount))
                reads = ("open-killed", *(READ.get((peer, way), ()) if medium == MEMORY else ()))
                # On a plain file deletes would be the same synchronisations over again.
                steps = (("put", DIE), reads, ("open", "delete") if medium == MEMORY else ("open",))
                jobs.append(Job(medium, peer, way, entries, filled=filled, steps=steps, keys=keys, data=BYTES, reads=reads))
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
