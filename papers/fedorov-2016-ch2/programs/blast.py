"""A blast wave, implicit in time: blocks of five unknowns a cell in three dimensions, solved by
stabilized biconjugate gradients without a stored matrix, as in bwaves. Usage: blast.py SIDE STEPS
"""

import sys

import numpy

side, steps = (int(argument) for argument in sys.argv[1:3])
numbers = numpy.random.default_rng(1)
coupling = numpy.eye(5) + 0.05 * numbers.standard_normal((5, 5))
drift = [0.1 * numbers.standard_normal((5, 5)) for _ in range(3)]


def operate(state):
    """A block of coefficients times each cell, and times what its neighbours differ by."""
    result = state @ coupling
    for axis, block in enumerate(drift):
        result += (numpy.roll(state, -1, axis) - numpy.roll(state, 1, axis)) @ block
    return result


def product(a, b):
    return float(numpy.einsum("ijkl,ijkl", a, b))


def solve(wanted, state, iterations):
    """Stabilized biconjugate gradients, van der Vorst 1992."""
    rest = wanted - operate(state)
    shadow, way = rest.copy(), rest.copy()
    old = product(shadow, rest)
    for _ in range(iterations):
        image = operate(way)
        alpha = old / product(shadow, image)
        half = rest - alpha * image
        turned = operate(half)
        omega = product(turned, half) / product(turned, turned)
        state += alpha * way + omega * half
        rest = half - omega * turned
        new = product(shadow, rest)
        way = rest + new / old * alpha / omega * (way - omega * image)
        old = new
    return state


state = numpy.ones((side, side, side, 5))
state[side // 2, side // 2, side // 2] = 100
for _ in range(steps):
    state = solve(state, state.copy(), 5)
print(float(state.sum()))
