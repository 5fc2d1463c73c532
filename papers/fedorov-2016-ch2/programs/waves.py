"""Finite differences in the time domain: an electromagnetic pulse in a box, as in GemsFDTD.

Usage: waves.py SIDE STEPS
"""

import sys

import numpy

side, steps = (int(argument) for argument in sys.argv[1:3])
electric = [numpy.zeros((side, side, side)) for _ in range(3)]
magnetic = [numpy.zeros((side, side, side)) for _ in range(3)]


def change(field, axis):
    """The difference between neighbours along an axis, one plane shorter."""
    return numpy.diff(field, axis=axis)


def inner(field, *axes):
    """All but the last plane along these axes."""
    return field[tuple(slice(None, -1) if axis in axes else slice(None) for axis in range(3))]


def outer(field, *axes):
    """All but the first plane along these axes."""
    return field[tuple(slice(1, None) if axis in axes else slice(None) for axis in range(3))]


for step in range(steps):
    for axis in range(3):
        one, other = (axis + 1) % 3, (axis + 2) % 3
        inner(magnetic[axis], one, other)[...] -= 0.5 * (
            inner(change(electric[other], one), other) - inner(change(electric[one], other), one))
    for axis in range(3):
        one, other = (axis + 1) % 3, (axis + 2) % 3
        outer(electric[axis], one, other)[...] += 0.5 * (
            outer(change(magnetic[other], one), other) - outer(change(magnetic[one], other), one))
    electric[2][side // 2, side // 2, side // 2] += numpy.exp(-((step - 10) / 4) ** 2)
print(float(electric[2].sum()))
