#!/usr/bin/env python3
"""Asks Redis for values of a hot third of its keys, at a fixed rate, until it is ended.

    requests.py SOCKET KEYS RATE LOG

A request is for twenty keys (MGET); one in ten sets them to what they were (MSET). A line of the
log has the time at which a request was due (seconds since 1970), and how long it took since then
and since it was sent (microseconds). A request that is due for more than a second is left out: a
line with its time alone.
"""

import os
import random
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from resp import Redis, encoded, value  # noqa: E402

PATIENCE = 1.0
AT_ONCE = 20


def main():
    path, keys, rate, log = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    redis, draw = Redis(path), random.Random(1)
    # What is asked for is compared as well, so the values are kept ready.
    hot = keys // 3
    expected = [value(key) for key in range(hot)]
    due = time.time()
    with open(log, "w", encoding="ascii") as file:
        flushed = due
        while True:
            due += 1 / rate
            now = time.time()
            if now < due:
                time.sleep(due - now)
            elif now > due + PATIENCE:
                file.write(f"{due:.6f}\n")
                continue
            asked = [draw.randrange(hot) for _ in range(AT_ONCE)]
            is_set = draw.randrange(10) == 0
            values = [expected[key] for key in asked]
            pairs = [word for pair in zip(asked, values) for word in pair]
            command = encoded(["MSET", *pairs] if is_set else ["MGET", *asked])
            sent = time.time()
            redis.socket.sendall(command)
            answer = redis.answer()
            done = time.time()
            if answer != (b"OK" if is_set else values):
                sys.exit(f"requests.py: a value of the keys {asked} is wrong")
            file.write(f"{due:.6f} {1e6 * (done - due):.0f} {1e6 * (done - sent):.0f}\n")
            if done > flushed + 1:
                file.flush()
                flushed = done


if __name__ == "__main__":
    main()
