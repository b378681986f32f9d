"""An item that is of one kind on one path and of another on the other is refused where it is read, compared or hashed inside its
container, too: it is never taken for something that is equal to nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad


def items(x: float) -> list[Any]:
    found: list[Any] = [1, 2]
    if x > 1:
        found[0] = "ab"
    else:
        found[0] = [1, 2]
    return found


class Weight:
    def __init__(self, b: float):
        self.b = b

    def __lt__(self, other: Weight) -> bool:
        return self.b < other.b


light, heavy = Weight(1.0), Weight(2.0)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: items(x) == ["ab", 2],
        lambda x: items(x) != ["ab", 2],
        lambda x: (items(x), 3) == (["ab", 2], 3),
        lambda x: {"a": items(x)} == {"a": ["ab", 2]},
        lambda x: "ab" in items(x),
        lambda x: items(x).index("ab"),
        lambda x: items(x).count("ab"),
        lambda x: set(items(x)) == {"ab", 2},
        lambda x: tuple(items(x)) in {("ab", 2): 1},
        lambda x: {tuple(items(x)): 1.0}[("ab", 2)],
        lambda x: np.array(items(x)).dtype.kind == "U",
        lambda x: np.array_equal(items(x), ["ab", 2]),
        lambda x: max(items(x)),
    ],
)
def test_such_an_item_is_refused(f: Callable[[float], Any]) -> None:
    with pytest.raises(irad.UnsupportedError, match="cannot be used here: it is str 'ab' on one path and a list"):
        irad.compile(f)(1.5)


def test_objects_from_outside_are_sorted_among_others() -> None:
    f = lambda x: [w.b for w in sorted([light, heavy, Weight(x)])]
    c, slope = irad.compile(f), irad.grad(lambda x: f(x)[0])
    for x in (1.5, 0.5, 3.0):
        assert c(x) == f(x) and slope(x) == float(x < 1.0)


def test_the_other_items_are_as_in_python() -> None:
    c = irad.compile(lambda x: (items(x)[1], np.sum(items(x)[1:]), len(items(x)), set(items(x)[1:]) == {2}))
    assert c(1.5) == (2, 2, 2, True) and c(0.5) == (2, 2, 2, True)
