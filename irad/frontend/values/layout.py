"""Memory layout of arrays as NumPy would have it: strides (in elements) of new arrays and of views, and whether a view is possible.

Layout means nothing to the graph. It tells views from copies: `ravel` of a Fortran-ordered array is a copy, and a store into
it does not reach the array. Strides are None where they are not known; those of axes of extent 1 do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.types import Dim

Strides = tuple[int, ...] | None


def c_strides(shape: Sequence[Dim]) -> tuple[int, ...] | None:
    """Strides in elements of a C-ordered array; None with run-time extents."""
    out, n = [], 1
    for d in reversed(shape):
        if not isinstance(d, int):
            return None
        out.append(n)
        n *= d
    return tuple(reversed(out))


def f_strides(shape: Sequence[int]) -> tuple[int, ...]:
    out, n = [], 1
    for d in shape:
        out.append(n)
        n *= d
    return tuple(out)


def ghost(shape: Sequence[Any], strides: Sequence[int]) -> np.ndarray:
    """A NumPy array of a shape and strides that has no storage to speak of: for functions that look at layout only."""
    return np.lib.stride_tricks.as_strided(np.zeros((), np.int8), tuple(shape), tuple(strides))


def is_c(shape: Sequence[Dim], strides: Strides) -> bool:
    """Is it known to be C-contiguous?"""
    if strides is None:
        return False
    n = 1
    for d, s in zip(reversed(shape), reversed(strides)):
        if not isinstance(d, int):
            return False
        if d == 0:
            return True
        if d != 1 and s != n:
            return False
        n *= d
    return True


def is_f(shape: Sequence[Dim], strides: Strides) -> bool:
    """Is it known to be Fortran-contiguous?"""
    return is_c(shape[::-1], None if strides is None else strides[::-1])


def new_like(shape: Sequence[Dim], strides: Strides, order: str = "K") -> Strides:
    """Strides of a copy in an order ("C", "F", "A" or "K") of an array."""
    if order == "C" or len(shape) < 2 or not all(isinstance(d, int) for d in shape):
        return c_strides(shape) if order == "C" or len(shape) < 2 else None
    dims: Any = shape
    if order == "F":
        return f_strides(dims)
    if strides is None:
        return None
    like = np.empty_like(ghost(dims, strides), order=order)  # type: ignore[call-overload]
    return tuple(like.strides)


def of_elementwise(shape: Sequence[Dim], operands: Sequence[tuple[Sequence[Dim], Strides]]) -> Strides:
    """Strides of what a ufunc makes of operands of these shapes and strides."""
    wide = [(s, t) for s, t in operands if len(s) > 1]
    if len(shape) < 2 or all(is_c(s, t) for s, t in wide):
        return c_strides(shape)
    if any(t is None for _, t in wide) or not all(isinstance(d, int) for s, _ in wide for d in (*s, *shape)):
        return None
    ghosts: list[Any] = [ghost(s, t) for s, t in wide if t is not None]
    flags: Any = [["readonly"]] * len(ghosts) + [["writeonly", "allocate"]]
    it = np.nditer([*ghosts, None], ["zerosize_ok"], flags, [np.int8] * (len(ghosts) + 1), itershape=tuple(shape))  # type: ignore[arg-type]
    return tuple(it.operands[-1].strides)


def in_memory_order(shape: Sequence[Dim], order: Sequence[int]) -> Strides:
    """Strides of dense storage whose axes are in this order in memory, the slowest first."""
    dense = c_strides([shape[k] for k in order])
    return None if dense is None else tuple(dense[list(order).index(k)] for k in range(len(shape)))


def memory_order(strides: Sequence[int]) -> list[int]:
    """The axes from the slowest to the fastest in memory, as order "K" goes through them."""
    found: list[int] = []  # the fastest first; an axis of stride 0 stays where it is, as in NumPy's iterator
    for k in reversed(range(len(strides))):
        place = len(found)
        for j in reversed(range(len(found))):
            if strides[found[j]] and strides[k]:
                if abs(strides[found[j]]) <= abs(strides[k]):
                    break
                place = j
        found.insert(place, k)
    return found[::-1]


def dense_order(shape: Sequence[Dim], strides: Strides) -> tuple[int, ...]:
    """The axes of dense storage of these strides, the slowest first; () where that is C's order, or where it is not dense or not known."""
    if len(shape) < 2 or strides is None or c_strides(shape) is None or is_c(shape, strides):
        return ()
    order = memory_order(strides)
    return tuple(order) if in_memory_order(shape, order) == tuple(strides) else ()


def nocopy_strides(
    shape: Sequence[Dim], strides: Sequence[int] | None, new: Sequence[Dim]
) -> tuple[bool | None, tuple[int, ...] | None]:
    """Does NumPy reshape without copying (None: not known), and the strides (in elements) of the result, None if not known."""
    if strides is None or not all(isinstance(n, int) for n in (*shape, *new)):
        if [d for d in shape if d != 1] != [d for d in new if d != 1]:
            return None, None
        return True, None if strides is None else _spread([(n, s) for n, s in zip(shape, strides) if n != 1], new)
    pairs: list[tuple[Any, int]] = [(n, s) for n, s in zip(shape, strides) if n != 1]
    if 0 in shape:
        return True, tuple(0 for _ in new)
    out: list[int] = []
    todo: list[Any] = [n for n in new if n != 1]
    k = 0
    while pairs:
        size, group = pairs[0][0], [pairs.pop(0)]
        want = todo[k]
        j = k + 1
        while size != want:
            if want < size:
                want *= todo[j]
                j += 1
            else:
                group.append(pairs.pop(0))
                size *= group[-1][0]
        if any(a[1] != b[0] * b[1] for a, b in zip(group, group[1:])):
            return False, None
        s, part = group[-1][1], []
        for n in reversed(todo[k:j]):
            part.append(s)
            s *= n
        out += reversed(part)
        k = j
    return True, _spread(list(zip(todo, out)), new)


def _spread(pairs: list[tuple[Any, int]], shape: Sequence[Dim]) -> tuple[int, ...]:
    """Strides of a shape, those of extent 1 put in as 0."""
    rest = iter(s for _, s in pairs)
    return tuple(0 if d == 1 else next(rest) for d in shape)
