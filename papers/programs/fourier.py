"""Fast Fourier transforms of a square, in place. Usage: fourier.py SIDE TIMES THREADS"""

import sys

import numpy
import scipy.fft

side, times, threads = (int(argument) for argument in sys.argv[1:4])
values = numpy.ones((side, side), dtype=numpy.complex128)
for _ in range(times):
    values = scipy.fft.fft2(values, overwrite_x=True, workers=threads)
    values /= side
print(abs(values[0, 0]))
