"""Looks words up in a dictionary, in random order: ENTRIES, TIMES."""

import sys

entries, times = int(sys.argv[1]), int(sys.argv[2])
words = {f"word {number}": number for number in range(entries)}
keys = list(words)
place, total = 1, 0
for _ in range(times):
    place = (place * 1103515245 + 12345) & 0x7FFFFFFF
    total += words[keys[place % entries]]
assert total > 0
