"""hash() of numbers that data decide, as CPython computes it, as plain Python that is read.

Numbers that are equal have one hash: what they are modulo the prime 2**61 - 1 ("Hashing of numeric types" in the documentation of
Python's built-in types). That of a tuple mixes those of its items as xxHash64 does.
"""

import math
import sys

import numpy as np

PRIME, _INFINITE = sys.hash_info.modulus, sys.hash_info.inf
_START, _ROUND, _LANE = np.uint64(2870177450012600261), np.uint64(11400714785074694791), np.uint64(14029467366897019727)


def hash_of(key):
    """hash() of a number, or of a tuple of such ones; of anything else 0. The reader answers where data decide the number."""
    return hash(key) if hashed(key) else 0


def hashed(key):
    """Is it a number, or a tuple of numbers? The hashes of others are not the same in each process. The reader answers."""
    return all(map(hashed, key)) if isinstance(key, tuple) else isinstance(key, (int, float, np.number, np.bool_))


def _signed(h):
    return -2 if h == -1 else h


def of_whole(n):
    """hash() of a whole number."""
    if n >= 0:
        return int(n % PRIME)
    h = int(-(n + 1)) % PRIME + 1  # -n need not be a number of 64 bits
    return 0 if h == PRIME else _signed(-h)


def of_float(v):
    """hash() of a float; 0 for NaN, of which Python takes the address."""
    if v != v:
        return 0
    if math.isinf(v):
        return _INFINITE if v > 0 else -_INFINITE
    fraction, exponent = math.frexp(abs(v))
    high = int(fraction * 2.0**28)
    low = int((fraction * 2.0**28 - high) * 2.0**28)
    x, turn = high << 28 | low, (exponent - 56) % 61
    h = (x & ((1 << (61 - turn)) - 1)) << turn | x >> (61 - turn)
    return _signed(h if v > 0 else -h)


def of_tuple(hashes):
    """hash() of a tuple of what has these hashes."""
    out = _START
    for h in hashes:
        out = out + np.array(h).astype(np.uint64) * _LANE
        out = (out << np.uint64(31) | out >> np.uint64(33)) * _ROUND
    out = out + (np.uint64(len(hashes)) ^ _START ^ np.uint64(3527539))
    h = int(out.astype(np.int64))
    return 1546275796 if h == -1 else h
