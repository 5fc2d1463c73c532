"""Processor time of commands that take turns, and the ratios of their times in each round."""

import os
import statistics
import subprocess
import sys
import tempfile


def run(command):
    """Runs a command to its end; returns its processor time in seconds, and its standard output."""
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdout=said, stderr=errors)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            errors.seek(0)
            sys.exit(f"{' '.join(map(str, command))}: {errors.read().decode(errors='replace')}")
        said.seek(0)
        return usage.ru_utime + usage.ru_stime, said.read()


def rounds(count, jobs):
    """Runs each job once a round, every other round in reverse order, so that what else the machine
    does meets all alike. A job returns seconds of processor time. Returns a list of them by name.
    """
    times = {name: [] for name in jobs}
    for number in range(count):
        for name in list(jobs)[:: -1 if number % 2 else 1]:
            times[name].append(jobs[name]())
    return times


def ratio(times, others):
    """Returns the ratio of the times of each round: the median, the least and the most."""
    each = [one / other for one, other in zip(times, others, strict=True)]
    return statistics.median(each), min(each), max(each)


def shown(ratio):
    """Returns a ratio as text: the median, and in brackets the least and the most."""
    median, least, most = ratio
    return f"{median:.2f} ({least:.2f} to {most:.2f})"


def table(heading, rows):
    """Prints a table."""
    print("| " + " | ".join(heading) + " |")
    print("|---" * len(heading) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
