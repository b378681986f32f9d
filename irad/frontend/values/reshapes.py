"""Arrays in another shape where extents are known at run time only.

Where both shapes are seen to have as many elements it is a reshape; else elements are gathered: those of the axes between what both
shapes have in front and behind.
"""

from __future__ import annotations

from collections.abc import Sequence

from irad.core.ir import Value
from irad.core.types import Dim, Type, same_count, unlike
from irad.errors import UnsupportedError
from irad.frontend.values.arr import Arr, retype_extents, show_shape, size_of
from irad.frontend.values.extents import decided_by_data, equal, require, undecided
from irad.frontend.values.index import getitem
from irad.ops.array import broadcast_to, dim_value, iota, reshape_to
from irad.ops.constant import scalar
from irad.ops.intervals import bound, dim_interval


def gathers(have: Sequence[Dim], want: Sequence[Dim]) -> bool:
    """Are elements gathered where it is not seen that both shapes have as many? Not where extents that are known would do, but
    for those of one axis, which stand at positions that take no division."""
    of_sizes = undecided([d for d in (*have, *want) if not isinstance(d, int)], needed=True)
    return of_sizes and sum(d != 1 for d in have) == 1 or decided_by_data(*have, *want)


def in_shape(x: Value, shape: Sequence[Dim]) -> Value:
    """x in C order in another shape. That it has as many elements is checked at run time, where that is not known."""
    have, want = x.type.shape, tuple(shape)
    if (x.type.static and all(isinstance(d, int) for d in want)) or same_count(have, want):
        return reshape_to(x, want)
    if not gathers(have, want):
        try:
            return reshape_to(x, want)
        except UnsupportedError as e:
            e.sources = unlike(have, want)  # which may be made known
            raise
    words = f"cannot reshape array of shape {show_shape(have)} into shape {show_shape(want)}"
    require(size_of(have), size_of(want), words, "ValueError", empty=True)
    front = next((k for k, (a, b) in enumerate(zip(have, want)) if not equal(a, b)), min(len(have), len(want)))
    rest = list(zip(have[front:][::-1], want[front:][::-1]))
    back = next((k for k, (a, b) in enumerate(rest) if not equal(a, b)), len(rest))
    inner, outer = have[front : len(have) - back], want[front : len(want) - back]
    if not inner or not outer:  # what one has besides is of extent 1
        return reshape_to(x, want)
    if len(inner) == 1 and inner[0] != 1 and same_count(outer, (size := size_of(outer),)):
        return reshape_to(retype_extents(x, (*want[:front], size, *want[len(want) - back :])), want)
    flat = scalar(0, "i64")
    for k in range(len(outer)):
        step = size_of(outer[k + 1 :])
        at = iota(type=Type("i64", outer), axis=k)
        flat = _plus(flat, at * broadcast_to(dim_value(step), outer), outer)
    key: list[Arr] = []
    for k, n in enumerate(inner):
        step = size_of(inner[k + 1 :])
        at = flat if k == len(inner) - 1 and not key else flat // broadcast_to(dim_value(step), outer)
        at = at if k == 0 else at % broadcast_to(dim_value(n), outer)
        bound(at, 0, max(dim_interval(n)[1] - 1, 0))
        key.append(Arr(at))
    return retype_extents(getitem(Arr(x), (*(slice(None),) * front, *key)).value, want)


def _plus(a: Value, b: Value, shape: Sequence[Dim]) -> Value:
    return b if not a.type.shape and shape else a + b
