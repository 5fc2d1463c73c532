"""Repeated sequential passes over one array: every page in address order, again and again."""
import numpy as np

WORDS = 80_000_000  # 640 MB of int64
PASSES = 3

data = np.arange(WORDS)

total = sum(int(data.sum()) for _ in range(PASSES))

assert total == PASSES * WORDS * (WORDS - 1) // 2, total
print(total)
