"""oracle.py OUT PROCESSES PAGES HOT COLD: looks where the pages of terrace's programs lie, until OUT.stop is there;
writes what it saw to OUT.

It asks the kernel by move_pages(2) of every private page of every process in a group of terrace; a page that several
processes map counts once. Of the ranges that the file PAGES_AT names, the shares on node 0 at the last look are told.

They are as they should be when at least PAGES pages are on node 0, and of each of so many PROCESSES at least the share
HOT of the hot part and at most COLD of the cold part. When that was so at five looks in succession, it makes the file
that PAGES_ENOUGH names, for the programs to end: how long it takes depends on the machine.
"""

import ctypes
import glob
import json
import os
import struct
import sys
import time

PAGE = 4096
MOVE_PAGES = 279
SUCCESSION = 5  # looks
libc = ctypes.CDLL(None, use_errno=True)


def nodes_of(process, addresses):
    """Returns the node of each page, or a negative error."""
    count = len(addresses)
    pointers = (ctypes.c_void_p * count)(*addresses)
    status = (ctypes.c_int * count)()
    done = libc.syscall(MOVE_PAGES, process, ctypes.c_ulong(count), pointers, None, status, 2)
    return list(status) if done == 0 else [-1] * count


def processes():
    for file in glob.glob("/sys/fs/cgroup/**/terrace-*/cgroup.procs", recursive=True):
        try:
            yield from (int(line) for line in open(file))
        except OSError:
            pass


def private(process):
    """Yields the address and the frame of each private page in memory."""
    with open(f"/proc/{process}/maps") as maps, open(f"/proc/{process}/pagemap", "rb", 0) as pagemap:
        for line in maps:
            addresses, permissions = line.split()[:2]
            if permissions[1] != "w" or permissions[3] != "p":
                continue
            start, end = (int(part, 16) for part in addresses.split("-"))
            pagemap.seek(start // PAGE * 8)
            entries = pagemap.read((end - start) // PAGE * 8)
            for index, (entry,) in enumerate(struct.iter_unpack("<Q", entries)):
                # In memory, and neither of a file nor shared.
                if entry >> 63 & 1 and not entry >> 61 & 1:
                    yield start + index * PAGE, entry & (1 << 55) - 1


def on_node_0():
    frames = set()
    for process in processes():
        try:
            pages = list(private(process))
        except OSError:
            continue
        found = nodes_of(process, [address for address, _ in pages])
        frames.update(frame for (_, frame), node in zip(pages, found) if node == 0)
    return len(frames)


def share(process, start, pages):
    found = nodes_of(process, range(start, start + pages * PAGE, PAGE))
    return found.count(0) / pages if -1 not in found else None


def placed():
    """Returns the shares of the hot and the cold part of each process that are on node 0."""
    shares = {}
    try:
        lines = open(os.environ["PAGES_AT"]).read().splitlines()
    except OSError:
        lines = []
    for line in lines:
        process, start, pages, hot_start, hot = map(int, line.split())
        found = share(process, hot_start, hot), share(process, start, pages - hot)
        if None not in found:
            shares[process] = found
    return shares


def main():
    out = sys.argv[1]
    count, least = map(int, sys.argv[2:4])
    hot, cold = map(float, sys.argv[4:])
    seen = {"looks": 0, "most": 0, "placed": {}, "in_succession": 0}
    while not os.path.exists(out + ".stop"):
        pages, shares = on_node_0(), placed()
        seen["looks"] += 1
        seen["most"] = max(seen["most"], pages)
        # Processes that are about to end have no pages.
        if seen["in_succession"] < SUCCESSION and shares:
            is_right = len(shares) == count and pages >= least
            is_right = is_right and all(of_hot >= hot and of_cold <= cold for of_hot, of_cold in shares.values())
            seen["in_succession"] = seen["in_succession"] + 1 if is_right else 0
            seen["placed"], seen["pages"] = shares, pages
            if seen["in_succession"] == SUCCESSION:
                open(os.environ["PAGES_ENOUGH"], "w").close()
        time.sleep(0.2)
    with open(out, "w") as file:
        json.dump(seen, file)


main()
