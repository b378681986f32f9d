"""Python's `sum` of arrays, where the number of elements is known at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irad.errors import UnsupportedError
from irad.frontend.control.flow import negated
from irad.frontend.control.regions import attempt, kept_exception
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, materialise
from irad.frontend.values.objects import Array, Poison, StructureError
from irad.ops.control import raise_if

NOTHING = (
    "the sum() of nothing is a number here, and of something an array, which compiled code cannot give; "
    "start from an array: sum(xs, np.zeros(...))"
)
Step = Callable[[Any, Any], Any]


def from_a_number(r: Reader, start: Any, fold: Callable[[Any, Step], Any]) -> Any:
    """A sum from a number on; where the elements are arrays, and there may be none, from an array on, with an error for none.

    `fold(start, step)` goes over the elements.
    """
    totals: list[Any] = []

    def add(total: Any, x: Any) -> Any:
        if isinstance(total, Poison):
            raise StructureError(total.message)
        totals.append(r.operator("add", total, x))
        return totals[-1]

    def settled() -> Any:
        out = fold(start, add)
        if isinstance(out, Poison):
            raise StructureError(out.message)
        return out

    try:
        return attempt(r, settled)
    except StructureError:
        first = next(iter(totals), None)
        if not isinstance(first, Array) or not first.type.static:
            raise
    wide = r.wrap(Arr(materialise(start, first.type.dtype, first.shape)))
    total, some = fold((wide, False), lambda t, x: (r.operator("add", t[0], x), True))
    if isinstance(some, Arr):
        raise_if(negated(some).value, exc=kept_exception(r, UnsupportedError(NOTHING)), message=NOTHING)
    return total
