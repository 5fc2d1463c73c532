"""Two interleaved strided walks: down the columns of one matrix, up the columns of another.

Each product takes one element of `a` and one of `b` in turn: forwards by 19.5
pages in the one, backwards by 11.7 pages in the other. The number of rows may be
given: 128 kB of memory each.
"""
import sys

import numpy as np

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
COLUMNS_A, COLUMNS_B = 10000, 6000  # with 5000 rows 400 MB + 240 MB of float64
STEP = 64  # as in column_pass.py: a page holds 512 neighbouring columns

a = np.ones((ROWS, COLUMNS_A))
b = np.arange(ROWS * COLUMNS_B, dtype=np.float64).reshape(ROWS, COLUMNS_B)

total = expected = 0
for j in range(0, COLUMNS_A, STEP):
    k = j * COLUMNS_B // COLUMNS_A
    # A plain product and not `@`, which would copy the reversed column first
    # and so make two walks one after the other out of the two interleaved ones.
    total += int((a[:, j] * b[::-1, k]).sum())
    expected += COLUMNS_B * (ROWS * (ROWS - 1) // 2) + ROWS * k

assert total == expected, (total, expected)
print(total)
