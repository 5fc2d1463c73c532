"""One write to every page of fresh memory, then exit: what first-touch faults cost."""
import numpy as np

PAGES, PAGE = 262_144, 4096  # 1 GiB

memory = np.empty((PAGES, PAGE), dtype=np.uint8)
touched = 0
for first in range(0, PAGES, 1024):
    block = memory[first : first + 1024, 0]
    block[:] = 1
    touched += int(block.sum())

assert touched == PAGES, touched
print(touched)
