"""Random page accesses over one array: the next page is unpredictable."""
import numpy as np

WORDS = 80_000_000  # 640 MB of int64
STEPS, AT_A_TIME = 80_000, 1_000

data = np.arange(WORDS)
random = np.random.default_rng(1)

total = expected = 0
for _ in range(STEPS // AT_A_TIME):
    places = random.integers(WORDS, size=AT_A_TIME)
    total += int(data[places].sum())
    expected += int(places.sum())

assert total == expected, (total, expected)
print(total)
