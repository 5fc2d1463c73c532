"""Which half of the programs one is in, and its footprint: by a hash of its name, written down before any of them ran.

Nothing is chosen on programs that are held out; what is chosen on the others is reported on those.
"""

import hashlib

CACHE_BYTES = 2 << 20


def digest(name):
    return hashlib.sha256(name.encode()).digest()


def held_out(name):
    """Whether a program is reported and never tuned on: the first byte of its name's SHA-256 is odd."""
    return digest(name)[0] % 2 == 1


def footprint_bytes(name):
    """Returns the footprint of a program that has a size: 2, 4, 8 or 16 times the cache, by the second byte."""
    return CACHE_BYTES << 1 + digest(name)[1] % 4
