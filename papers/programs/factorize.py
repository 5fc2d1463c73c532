"""LU factorization of a dense matrix by LAPACK. Usage: factorize.py SIDE TIMES"""

import sys

import numpy

side, times = int(sys.argv[1]), int(sys.argv[2])
matrix = numpy.random.default_rng(1).random((side, side))
for _ in range(times):
    print(numpy.linalg.slogdet(matrix)[1])
