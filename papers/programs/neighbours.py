"""Neighbours of many bodies in space, found in a tree. Usage: neighbours.py BODIES THREADS"""

import sys

import numpy
from scipy.spatial import cKDTree

bodies, threads = int(sys.argv[1]), int(sys.argv[2])
places = numpy.random.default_rng(1).random((bodies, 3))
tree = cKDTree(places)
distances, _ = tree.query(places, k=8, workers=threads)
print(distances.sum())
