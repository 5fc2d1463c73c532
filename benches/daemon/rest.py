#!/usr/bin/env python3
"""Measures what terraced takes at rest: 50 targets that sleep, each with some memory.

    cargo build --release -p terrace-daemon
    benches/daemon/rest.py [--targets 50] [--settle 15] [--minutes 5] [--json FILE]

As root, on an idle machine. Each target is a control group with a program that has filled its
memory and sleeps. Prints terraced's share of a core (/proc/PID/stat), its RSS and its PSS
(/proc/PID/smaps_rollup), by minute from its start: at first it still takes the targets' memory out
of DRAM. The bars are those of the minutes after `--settle`.
"""

import argparse
import statistics
import subprocess
import time

from daemon import Daemon
from machine import MIB, RELEASE, Machine, build, fail, mib, save, table, verdict

CPU = 0.005
MEMORY = 30e6


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", default=RELEASE, help="folder of the programs")
    parser.add_argument("--targets", type=int, default=50)
    parser.add_argument("--memory", type=int, default=8, help="MiB of each")
    parser.add_argument("--settle", type=int, default=15, help="minutes until it is at rest")
    parser.add_argument("--minutes", type=int, default=5, help="minutes that are measured")
    parser.add_argument("--tier", choices=("file", "zram"), default="file", help="the swap area")
    parser.add_argument("--json", help="file for all figures")
    return parser.parse_args()


def sleepers(machine, asked):
    """Starts the programs; returns their groups by name."""
    program, groups, programs = build("holder.c", machine.folder), {}, []
    for number in range(asked.targets):
        name = f"sleeper{number:03}"
        groups[name] = machine.group(name, (asked.memory + 64) * MIB)
        command = [program, asked.memory, number, 0]
        programs.append(machine.start(command, group=groups[name], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE))
    for process in programs:
        if process.stdout.readline() != b"ready\n":
            fail("a program did not start")
    return groups


def held(groups):
    """Returns the memory of all groups: in DRAM, and in the tier."""
    each = [group.held() for group in groups.values()]
    return sum(it["resident"] for it in each), sum(it["swapped"] for it in each)


def main():
    asked = arguments()
    rows, minutes = [], []
    with Machine(asked.tier, 2 * asked.targets * asked.memory * MIB + 64 * MIB) as machine:
        groups = sleepers(machine, asked)
        targets = {name: (group, 'slowdown = "2%"') for name, group in groups.items()}
        daemon = Daemon(machine, asked.programs, "terraced", targets, ("150TB", "5years"))
        daemon.start()
        daemon.wait()
        before = daemon.cost()
        for minute in range(asked.settle + asked.minutes):
            time.sleep(60)
            daemon.require()
            now = daemon.cost()
            share = (now["cpu"] - before["cpu"]) / (now["time"] - before["time"])
            resident, swapped = held(groups)
            minutes.append(now | {"share": share, "resident": resident, "swapped": swapped})
            rows.append([minute + 1, f"{share:.2%}", f"{now['rss'] / 1e6:.1f}",
                         f"{now['pss'] / 1e6:.1f}", mib(resident), mib(swapped)])
            print(f"minute {minute + 1}: {share:.2%}, {now['rss'] / 1e6:.1f} MB", flush=True)
            before = now
        states = [target["state"] for target in daemon.status()["targets"]]
        daemon.stop()
        save(asked.json, {"about": machine.about(), "asked": vars(asked), "minutes": minutes})
    table(["minute", "of a core", "RSS MB", "PSS MB", "targets' DRAM", "in the tier"], rows)
    rest = minutes[asked.settle:]
    share = statistics.fmean(it["share"] for it in rest)
    memory = max(it["rss"] for it in rest)
    print(f"\n{states.count('running')} of {asked.targets} targets run; at rest terraced takes "
          f"{share:.3%} of a core (below {CPU:.1%}: {verdict(share < CPU)}) and "
          f"{memory / 1e6:.1f} MB (below {MEMORY / 1e6:.0f} MB: {verdict(memory < MEMORY)})")


if __name__ == "__main__":
    main()
