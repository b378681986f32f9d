"""Bounds of results, by all operands of small ranges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from irad.ops.core import OPS

NUMBERS = range(-6, 7)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_bit_by_bit(name: str) -> None:
    of = OPS[name].intervals
    assert of is not None
    table = getattr(np, name)(np.arange(-6, 7)[:, None], np.arange(-6, 7)[None])
    for a, b, c, d in itertools.product(NUMBERS, repeat=4):
        if a <= b and c <= d:
            lo, hi = of((a, b), (c, d))
            inside = table[a + 6 : b + 7, c + 6 : d + 7]
            assert lo <= inside.min() and inside.max() <= hi
    assert of((0, np.inf), (0, 3)) == (-np.inf, np.inf)
    assert of((0, 2**63 - 1), (1, 2**63 - 1))[0] == 0
