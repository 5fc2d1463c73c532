#!/usr/bin/env python3
"""Kills terraced and terraced-web again and again under load, and checks that nothing is lost.

    cargo build --release -p terrace-daemon -p terrace-web
    benches/daemon/kills.py [--lives 200] [--seed 1] [--tier file|zram] [--json FILE]

As root; an hour with the defaults. Four programs that know the content of their memory change it
all the time, each a third of it, and each four seconds another third. Two are targets with a size
(`dram`), which is reclaimed from the first second on, one has a `slowdown` and one a `pressure`. A
life of terraced ends by SIGKILL at a time of chance: within the first second, between eight and
eighteen, or after three quarters of a minute; terraced-web beside it is killed at another time, and
started again at once. After each life:

- the limits of all groups and the swap area are as they were;
- the budget on disk can be read;
- terraced-web answers, and says that terraced does not;
- every other time, each program reads all of its memory and finds it right;
- terraced, started again, answers and has all targets, and its budget is no larger than what was
  kept and has come in since.

At the end all memory is touched and back in DRAM, and the tier can be switched off. Prints in how
many lives memory had left (the groups' counts) and what was wrong, and ends with 1 if anything was.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import time

from daemon import Daemon, Web
from machine import MIB, PAGE, RELEASE, Machine, areas, build, fail, save, verdict

# MiB of each program, pages that it touches each hundredth of a second, and the goals.
MEMORY, HOT = 64, 20
GOALS = {"size": f'dram = "{MEMORY // 2}M"', "small": f'dram = "{MEMORY // 4}M"',
         "slow": 'slowdown = "5%"', "senpai": 'pressure = "20%"'}
WEAR = ("600TB", "5years")
A_DAY = 600e12 / (5 * 365.25)
# Lives by chance: weight, and their shortest and longest length in seconds.
LIVES = ((3, 0, 1), (15, 8, 18), (2, 40, 50))
# What has left in a life in which memory had left, at least.
LEFT = MIB
# Time between two looks at the groups.
EVERY = 0.2
# Memory of a program that it does not touch itself, as of its loader.
UNTOUCHED = MIB


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", default=RELEASE, help="folder of the programs")
    parser.add_argument("--lives", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="of the times of all kills")
    parser.add_argument("--tier", choices=("file", "zram"), default="file", help="the swap area")
    parser.add_argument("--json", help="file for all figures")
    return parser.parse_args()


class Trial:
    """The programs, both daemons, and what was wrong so far."""

    def __init__(self, machine, asked):
        self.machine, self.chance, self.wrong = machine, random.Random(asked.seed), []
        program = build("holder.c", machine.folder)
        self.groups = {name: machine.group(name, 4 * MEMORY * MIB) for name in GOALS}
        self.programs = {}
        for number, (name, group) in enumerate(self.groups.items()):
            self.programs[name] = machine.start(
                [program, MEMORY, number, HOT], group=group, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE)
        for name, process in self.programs.items():
            if process.stdout.readline() != b"ready\n":
                fail(f"the program of {name} did not start")
        targets = {name: (self.groups[name], goal) for name, goal in GOALS.items()}
        self.daemon = Daemon(machine, asked.programs, "terraced", targets, WEAR)
        self.web = Web(machine, asked.programs, self.daemon)
        self.before = self.found()

    def found(self):
        """Returns what no life may change."""
        groups = [self.machine.above, *self.groups.values()]
        # Of other areas somebody else may take some away meanwhile.
        own = [area for area in areas() if area[0] == self.machine.tier.path]
        return {"limits": [group.limits() for group in groups], "areas": own}

    def expect(self, holds, what):
        if not holds:
            self.wrong.append(what)
            print(f"WRONG: {what}", flush=True)

    def live(self, number):
        """Has terraced live for a while; returns what happened."""
        weights, shortest, longest = zip(*LIVES)
        kind = self.chance.choices(range(len(LIVES)), weights)[0]
        length = self.chance.uniform(shortest[kind], longest[kind])
        web_at = self.chance.uniform(0, length)
        is_checked = self.chance.random() < 0.5
        kept = self.kept(number)
        began = time.monotonic()
        self.daemon.start()
        answered = None
        if length > 1:
            self.daemon.wait()
            answered = time.monotonic() - began
            self.check_start(number, kept)
            length, web_at = max(length, answered), max(web_at, answered)
        left = self.wait(began + web_at)
        self.web.kill()
        self.web.start()
        left += self.wait(began + length)
        if self.daemon.is_ended():
            self.expect(False, f"life {number}: terraced ended by itself")
        self.daemon.kill()
        swapped = sum(self.swapped())
        self.check_end(number)
        if is_checked:
            self.check_content(number)
        return {"length": length, "answered": answered, "left_bytes": left,
                "swapped_bytes": swapped, "checked": is_checked}

    def swapped(self):
        return [group.held()["swapped"] for group in self.groups.values()]

    def wait(self, until):
        """Waits until a time; returns the memory that has left DRAM meanwhile, at least: of each
        group what is more in the tier at each look than at the look before."""
        left, before = 0, self.swapped()
        while True:
            time.sleep(max(0, min(EVERY, until - time.monotonic())))
            now = self.swapped()
            left += sum(max(0, new - old) for new, old in zip(now, before))
            before = now
            if time.monotonic() >= until:
                return left

    def check_start(self, number, kept):
        status = self.daemon.status()
        until = time.monotonic() + 10
        while time.monotonic() < until:
            running = [it["name"] for it in status["targets"] if it["state"] == "running"]
            if len(running) == len(GOALS):
                break
            time.sleep(0.1)
            status = self.daemon.status()
        self.expect(sorted(running) == sorted(GOALS), f"life {number}: only {running} are found")
        if kept:
            away = time.time() - kept["time_ms"] / 1000
            share = sum(it["share"] for it in status["targets"])
            share += status["tier"]["budget"]["common"]
            most = sum(kept["shares"].values()) + kept["common"] + away / 86400 * A_DAY + PAGE
            self.expect(share <= most, f"life {number}: the budget has {share - most:.0f} B more "
                        "than was kept and came in")

    def kept(self, number):
        """Returns the budget on disk, if there is one."""
        try:
            with open(self.daemon.file("state", "budget.json"), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return None
        except ValueError:
            self.expect(False, f"life {number}: the budget on disk cannot be read")
            return None

    def check_end(self, number):
        found = self.found()
        for what, before in self.before.items():
            self.expect(found[what] == before, f"life {number}: {what} are {found[what]} in place "
                        f"of {before}")
        self.kept(number)
        until, said = time.monotonic() + 10, None
        while time.monotonic() < until and said is not False:
            said = self.web.is_up()
            time.sleep(0.1)
        self.expect(said is False, f"life {number}: terraced-web says {said} of a dead terraced")

    def check_content(self, number):
        """Has all programs read all of their memory."""
        for process in self.programs.values():
            process.stdin.write(b"check\n")
            process.stdin.flush()
        for name, process in self.programs.items():
            said = process.stdout.readline().decode().strip()
            right = f"right {MEMORY * 256}"
            self.expect(said == right, f"life {number}: the memory of {name} is {said or 'gone'}")

    def check_all(self):
        """Checks that all memory comes back, by touch and by the end of the tier."""
        self.check_content("the last")
        for name, group in self.groups.items():
            swapped = group.held()["swapped"]
            self.expect(swapped <= UNTOUCHED, f"{swapped} bytes of {name} do not come back")
            self.expect(not group.held()["oom_kills"], f"the kernel has killed {name}")
        self.machine.tier.off()
        self.check_content("the tier's end")

    def web_comes_back(self, number):
        """Checks that terraced-web sees a terraced that was started again."""
        self.daemon.start()
        self.daemon.wait()
        until, said = time.monotonic() + 10, None
        while time.monotonic() < until and not said:
            said = self.web.is_up()
            time.sleep(0.1)
        self.expect(said, f"life {number}: terraced-web does not see terraced again")
        self.daemon.kill()


def main():
    asked = arguments()
    lives = []
    with Machine(asked.tier, 8 * MEMORY * MIB) as machine:
        trial = Trial(machine, asked)
        trial.web.start()
        for number in range(1, asked.lives + 1):
            lives.append(trial.live(number))
            # Of one that is killed at its start, nobody has seen whether it would have answered.
            if number % 10 == 0:
                trial.web_comes_back(number)
                left = sum(life["left_bytes"] >= LEFT for life in lives)
                print(f"{number} lives, in {left} memory left; {len(trial.wrong)} wrong",
                      flush=True)
        trial.check_all()
        save(asked.json, {"about": machine.about(), "asked": vars(asked), "lives": lives,
                          "wrong": trial.wrong})
    moved = [life["left_bytes"] for life in lives if life["left_bytes"] >= LEFT]
    answers = [life["answered"] for life in lives if life["answered"] is not None]
    print(f"\n{len(lives)} lives of terraced and of terraced-web ended by SIGKILL; in {len(moved)} "
          f"of them memory left, {statistics.median(moved or [0]) / MIB:.1f} MiB at the median; "
          f"{sum(life['swapped_bytes'] > 0 for life in lives)} ended with memory in the tier; "
          f"terraced answered {max(answers, default=0):.2f} s after its start at the latest")
    print(f"nothing is lost, and both go on: {verdict(not trial.wrong)}")
    for what in trial.wrong:
        print(f"- {what}")
    sys.exit(1 if trial.wrong else 0)


if __name__ == "__main__":
    main()
