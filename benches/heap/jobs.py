"""The measurements: each job is one peer in one way, on a new pool."""

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
# Ways on a plain file, each with the way that fills the table beforehand, and the amount that is put.
SYNCHRONOUS = {
    "libpmemobj": {way: (way, "slow") for way in ("lean-transactions", "lean-actions")},
    "LMDB": {
        "synchronous": ("unsynchronised", "committed"),
        "synchronous-writemap": ("unsynchronised", "slow"),
        "batched": ("unsynchronised", "batched"),
    },
    "terrace": {"synchronous": ("sized", "committed"), "batched": ("sized", "batched")},
}
# Operations on objects alone; changing a word without freeing is a part of the work of freeing.
ALLOCATORS = {"libpmemobj": ("allocate", "free"), "terrace": ("allocate", "free", "set")}
# Ways with several writers at a time.
THREADED = {"floor": ["two-fences", "one-fence"], "libpmemobj": ["lean-transactions", "lean-actions"], "terrace": ["sized"]}
# Ways with keys and values of any length, as SYNCHRONOUS has them; libpmemobj has no such map.
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
# Ways that are read in memory, one per peer: reading is the same for all ways of writing.
GETS, SCANS = ("get", "get-batched"), ("iterate", "scan")
READ = {
    ("LMDB", "unsynchronised"): GETS + SCANS,
    ("redb", "immediate"): GETS + SCANS,
    ("terrace", "sized"): ("get", "iterate"),
    ("terrace", "tree"): ("get", *SCANS, "range"),
}
# The last operation of a process that ends as if by `kill -9`.
DIE = "die"


@dataclass(frozen=True)
class Amounts:
    """Numbers of operations: on a plain file with a commit each, in ways that take a millisecond per commit,
    with shared commits, and counted. The numbers for fast ways are enough to fill Terrace's journal."""

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
    # The operations of each process.
    steps: tuple = ()
    # The keys that the steps use: the first, and how many; all, if not given.
    keys: tuple = None
    data: str = ITEMS
    # The step that uses all keys nevertheless.
    reads: tuple = None

    def run(self, peers, pool):
        """Runs the job; returns its lines. The caller removes the pool."""
        lines = []
        if self.filled:
            peers.run(self, pool, ["put"], (0, self.keys[0]), way=self.filled)
            # Data that filling left unwritten must not be written by the measured operations.
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
    """Returns the given number of last keys of a table, at most half of them; the table is filled with the others."""
    count = min(count, entries // 2)
    return (entries - count, count)


def measured(entries, amounts):
    """Returns the jobs of a repetition for tables with this number of entries, even if their peers are missing."""
    whole = (("put", "get"), ("open", "iterate", "delete"))
    jobs = []
    for peer, ways in WAYS.items():
        steps = (("put",),) if peer == "floor" else whole
        shared = (("put",),) if peer == "floor" else (("put", "get", "delete"),)
        for way in ways:
            jobs.append(Job(MEMORY, peer, way, entries, steps=steps))
            # Directly afterwards, because their share of the machine differs from minute to minute.
            if way in THREADED.get(peer, []):
                jobs.append(Job(MEMORY, peer, way, entries, threads=2, steps=shared))
    jobs += [Job(MEMORY, peer, "allocator", entries, steps=(steps,)) for peer, steps in ALLOCATORS.items()]
    for peer, ways in SYNCHRONOUS.items():
        for way, (filled, amount) in ways.items():
            keys = last(entries, getattr(amounts, amount))
            jobs.append(Job(FILE, peer, way, entries, filled=filled, steps=(("put",),), keys=keys))
    return jobs


def of_bytes(entries, amounts):
    """Returns the jobs of a repetition with keys and values of any length: a table is filled but for the last
    entries, which are put; the process is killed, and another opens the table; a third opens a closed table."""
    jobs = []
    for medium, peers in BYTES_WAYS.items():
        for peer, ways in peers.items():
            for way, (filled, amount) in ways.items():
                keys = last(entries, getattr(amounts, amount))
                reads = ("open-killed", *(READ.get((peer, way), ()) if medium == MEMORY else ()))
                # On a plain file deletes would repeat the same synchronisations.
                steps = (("put", DIE), reads, ("open", "delete") if medium == MEMORY else ("open",))
                jobs.append(Job(medium, peer, way, entries, filled=filled, steps=steps, keys=keys, data=BYTES, reads=reads))
    return jobs


def counted(entries, amounts):
    """Returns the jobs that count lines and fences: exactly, so that once is enough."""
    keys = last(entries, amounts.counted)
    jobs = [Job(COUNTS, "floor", way, amounts.counted, steps=(("put",),)) for way in WAYS["floor"]]
    for peer in ("libpmemobj", "terrace"):
        ways = WAYS[peer]
        jobs += [Job(COUNTS, peer, way, entries, filled=way, steps=(("put", "delete"),), keys=keys) for way in ways]
    keys = (0, amounts.counted)
    jobs += [Job(COUNTS, peer, "allocator", entries, steps=(steps,), keys=keys) for peer, steps in ALLOCATORS.items()]
    return jobs
