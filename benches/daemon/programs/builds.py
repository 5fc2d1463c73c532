#!/usr/bin/env python3
"""Runs a command again and again, with the end of each at most once a period, until it is ended.

    builds.py PERIOD LOG COMMAND...

A line of the log has the time at which the command was due (seconds since 1970), and twice how long
it took (microseconds). It begins at the next period that has not begun when the one before ends.
"""

import math
import subprocess
import sys
import time


def main():
    period, log, command = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
    with open(log, "w", encoding="ascii") as file:
        begin = time.time()
        while True:
            periods = math.ceil((time.time() - begin) / period)
            due = begin + periods * period
            time.sleep(max(0, due - time.time()))
            began = time.time()
            subprocess.run(command, check=True)
            took = 1e6 * (time.time() - began)
            file.write(f"{due:.6f} {took:.0f} {took:.0f}\n")
            file.flush()


if __name__ == "__main__":
    main()
