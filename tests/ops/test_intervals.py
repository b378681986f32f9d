"""Bounds of results, by all operands of small ranges."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from irad.core.ir import Builder, Value
from irad.core.types import I64
from irad.ops import intervals
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


def test_builders_around_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Questions in the innermost of many builders do not look at all of them again; what is known around holds in it."""
    count, update = 0, intervals._Scope.update

    def counted(scope: Any, nodes: Any) -> None:
        nonlocal count
        count += 1
        update(scope, nodes)

    monkeypatch.setattr(intervals._Scope, "update", counted)
    v = Value(I64)
    with ExitStack() as around:
        for _ in range(50):
            around.enter_context(Builder())
            intervals.bound(v, 0, 9)
            last = v + 1
        count = 0
        for _ in range(100):
            assert intervals.interval(last) == (1, 10)
        assert count == 100
        with Builder():
            assert intervals.interval(last) == (1, 10)
            after = last + 1
            assert intervals.interval(after) == (2, 11)
        assert intervals.definition(after) is None and intervals.definition(last) is not None
