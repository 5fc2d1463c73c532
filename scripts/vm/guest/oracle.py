"""oracle.py OUT NODE PROCESSES PAGES HOT COLD: looks where the pages of terrace's programs lie, until OUT.stop is there;
writes what it saw to OUT.

It looks up the frame of every private page of every process in a group of terrace (pagemap), and of which node that
memory is (/sys/devices/system/memory); a page that several processes map counts once. It does not ask move_pages(2),
which by Linux 6.1 does not find pages that are marked for a hint fault. A look may take seconds, in which pages come
and go, so the most that it tells of are those that lay in the same frame at two looks in succession: all of them were
there at a moment between. Of the ranges that the file PAGES_AT names, the
shares on NODE at the last look are told.

They are as they should be when at least PAGES pages are on NODE, and of each of so many PROCESSES at least the share
HOT of the hot part and at most COLD of the cold part. When that was so at five looks in succession, it makes the file
that PAGES_ENOUGH names, for the programs to end: how long it takes depends on the machine.
"""

import glob
import json
import os
import struct
import sys
import time

PAGE = 4096
SUCCESSION = 5  # looks


def blocks_of(node):
    """Returns the numbers of the blocks of memory of a node, and the frames of a block."""
    with open("/sys/devices/system/memory/block_size_bytes") as size:
        frames = int(size.read(), 16) // PAGE
    blocks = glob.glob(f"/sys/devices/system/node/node{node}/memory[0-9]*")
    return {int(os.path.basename(block).removeprefix("memory")) for block in blocks}, frames


BLOCKS, FRAMES = blocks_of(sys.argv[2])


def is_on_node(frame):
    return frame // FRAMES in BLOCKS


def frames_of(pagemap, start, pages):
    """Yields the frame of each page, `None` of one that is not in memory, or is of a file or shared."""
    pagemap.seek(start // PAGE * 8)
    for (entry,) in struct.iter_unpack("<Q", pagemap.read(pages * 8)):
        yield entry & (1 << 55) - 1 if entry >> 63 & 1 and not entry >> 61 & 1 else None


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
            if permissions[1] == "w" and permissions[3] == "p":
                start, end = (int(part, 16) for part in addresses.split("-"))
                frames = enumerate(frames_of(pagemap, start, (end - start) // PAGE))
                yield from ((start + at * PAGE, frame) for at, frame in frames if frame is not None)


def on_node():
    """Returns the frames on the node, by process and address."""
    found = {}
    for process in processes():
        try:
            found.update(((process, at), frame) for at, frame in private(process) if is_on_node(frame))
        except OSError:
            continue
    return found


def share(process, start, pages):
    """Returns the share of a range that is on the node, or `None` unless all of it is in memory."""
    try:
        with open(f"/proc/{process}/pagemap", "rb", 0) as pagemap:
            found = list(frames_of(pagemap, start, pages))
    except OSError:
        return None
    return sum(map(is_on_node, found)) / pages if len(found) == pages and None not in found else None


def placed():
    """Returns the shares of the hot and the cold part of each process that are on the node."""
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
    count, least = map(int, sys.argv[3:5])
    hot, cold = map(float, sys.argv[5:])
    seen = {"looks": 0, "most": 0, "placed": {}, "in_succession": 0}
    before = {}
    while not os.path.exists(out + ".stop"):
        found, shares = on_node(), placed()
        stayed = {frame for _, frame in found.items() & before.items()}
        before, pages = found, len(set(found.values()))
        seen["looks"] += 1
        seen["most"] = max(seen["most"], len(stayed))
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
