"""Column-wise pass over a row-major matrix: one fixed stride, a new page at every step.

A row is 80,000 bytes, 19.5 pages, so the stride is not a multiple of the page.
"""
import numpy as np

ROWS, COLUMNS = 8000, 10000  # 640 MB of float64
# A page holds 512 neighbouring columns.  Walking every 64th column touches
# every page of the matrix eight times and leaves out the arithmetic that would
# only warm the cache: what remains of the run is the walk over the pages.
STEP = 64

matrix = np.arange(ROWS * COLUMNS, dtype=np.float64).reshape(ROWS, COLUMNS)

total = 0
for column in range(0, COLUMNS, STEP):
    total += int(matrix[:, column].sum())

columns = range(0, COLUMNS, STEP)
expected = len(columns) * COLUMNS * (ROWS * (ROWS - 1) // 2) + ROWS * sum(columns)
assert total == expected, (total, expected)
print(total)
