"""Two worker processes at once, each passing over data of its own in address order."""
from multiprocessing import get_context

import numpy as np

WORKERS, WORDS = 2, 40_000_000  # 2 x 320 MB of int64
PASSES = 2


def work(worker):
    data = np.arange(WORDS) + worker
    return sum(int(data.sum()) for _ in range(PASSES))


if __name__ == "__main__":
    with get_context("fork").Pool(WORKERS) as pool:
        total = sum(pool.map(work, range(WORKERS), chunksize=1))

    one_pass = WORDS * (WORDS - 1) // 2
    assert total == PASSES * (WORKERS * one_pass + WORDS * sum(range(WORKERS))), total
    print(total)
