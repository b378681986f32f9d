"""np.pad."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.errors import IradValueError, UnsupportedError
from irad.frontend.arr import Arr, is_traced, lift, materialise, static_int
from irad.frontend.np_elementwise import apply_ufunc, convert
from irad.frontend.np_functions import add, div, mul, sub
from irad.frontend.np_index import setitem
from irad.frontend.np_move import flip_axis, repeat
from irad.frontend.np_reduce import max_of, mean, min_of
from irad.frontend.np_registry import numpy
from irad.frontend.np_scan import join, part
from irad.frontend.np_sort import median
from irad.ops.array import iota
from irad.types import Dim, Type, is_complex, is_float


def _pairs(x: Any, ndim: int, what: str) -> list[tuple[Any, Any]]:
    """A pad width or value for both sides of each axis, from NumPy's short forms."""
    if isinstance(x, dict):
        pairs = [(0, 0)] * ndim
        for k, v in x.items():
            pairs[k] = tuple(v) if isinstance(v, (tuple, list)) else (v, v)
        return pairs
    if not isinstance(x, (tuple, list, np.ndarray)) or isinstance(x, np.ndarray) and not x.ndim:
        return [(x, x)] * ndim
    rows = [tuple(r) if isinstance(r, (tuple, list, np.ndarray)) else (r,) for r in x]
    if all(len(r) == 1 for r in rows):
        flat = [r[0] for r in rows]
        if len(flat) == 1:
            return [(flat[0], flat[0])] * ndim
        if len(flat) == 2 and not any(isinstance(r, (tuple, list)) for r in x):
            return [(flat[0], flat[1])] * ndim
        rows = [(f, f) for f in flat]
    if len(rows) == 1:
        rows = rows * ndim
    if len(rows) != ndim or any(len(r) != 2 for r in rows):
        raise IradValueError(f"operands could not be broadcast together: {what} {x} for an array with {ndim} axes")
    return [(r[0], r[1]) for r in rows]


@numpy("pad")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kw: Any) -> Arr:
    """np.pad with static widths, all modes but a function; statistics are of the whole axis or of `stat_length`."""
    x = lift(array)
    widths = [(static_int(a, "a pad width"), static_int(b, "a pad width")) for a, b in _pairs(pad_width, x.ndim, "pad_width")]
    if any(w < 0 for pair in widths for w in pair):
        raise IradValueError("index can't contain negative values")
    if mode in ("constant", "empty"):
        return pad_constant(Arr(x.value), widths, _pairs(kw.get("constant_values", 0), x.ndim, "constant_values"))
    for k, (before, after) in enumerate(widths):
        if before or after:
            x = _pad_axis(x, k, before, after, mode, kw)
    return Arr(x.value)


def pad_constant(x: Arr, widths: list[tuple[int, int]], values: list[tuple[Any, Any]]) -> Arr:
    """One store into a filled array if there is one value, else blocks joined axis by axis."""
    flat = [v for pair in values for v in pair]
    if not is_traced(flat) and all(v == flat[0] for v in flat):
        shape: tuple[Dim, ...] = tuple(a + d + b for (a, b), d in zip(widths, x.shape))
        place = Arr(materialise(flat[0] if flat else 0, x.name, shape))
        key = tuple(slice(a, None if b == 0 else -b) for a, b in widths)
        return Arr(setitem(place, key, x))
    for k, ((a, b), (va, vb)) in enumerate(zip(widths, values)):
        side = lambda v, w, x=x, k=k: Arr(materialise(v, x.name, tuple(w if j == k else d for j, d in enumerate(x.shape))))
        x = join([side(va, a), x, side(vb, b)], k)
    return x


def _pad_axis(x: Arr, k: int, before: int, after: int, mode: str, kw: dict[str, Any]) -> Arr:
    n = x.shape[k]
    if mode in ("edge", "reflect", "symmetric", "wrap") and kw.get("reflect_type", "even") == "even":
        if not isinstance(n, int):
            raise UnsupportedError(f"np.pad(mode={mode!r}) along an axis of run-time extent")
        if n == 0:
            raise IradValueError(f"can't extend empty axis {k} using modes other than 'constant' or 'empty'")
        at = np.pad(np.arange(n), (before, after), mode)  # type: ignore[call-overload]
        return _take_runs(x, k, at)
    if mode in ("reflect", "symmetric"):
        return _pad_odd(x, k, before, after, mode == "reflect")
    if mode == "linear_ramp":
        low, high = _pairs(kw.get("end_values", 0), x.ndim, "end_values")[k]
        left = _ramp(x, k, 0, before, low)
        right = _ramp(x, k, n - 1, after, high)  # type: ignore[arg-type]
        return join([flip_axis(left, k), x, right], k)
    if mode in ("maximum", "minimum", "mean", "median"):
        if n == 0:
            raise IradValueError(f"can't extend empty axis {k} using modes other than 'constant' or 'empty'")
        lengths = _pairs(kw.get("stat_length"), x.ndim, "stat_length")[k]
        sides = [_statistic(x, k, mode, lengths[0], True, before), _statistic(x, k, mode, lengths[1], False, after)]
        return join([sides[0], x, sides[1]], k)
    raise UnsupportedError(f"np.pad(mode={mode!r})")


def _take_runs(x: Arr, k: int, at: np.ndarray) -> Arr:
    """Elements at static positions along an axis, read as slices: runs of step 1, -1 or 0."""
    parts, start = [], 0
    while start < len(at):
        stop = start + 1
        step = int(at[stop] - at[start]) if stop < len(at) and abs(at[stop] - at[start]) <= 1 else 0
        while stop < len(at) and at[stop] - at[stop - 1] == step:
            stop += 1
        size = stop - start
        if step == 0:
            parts.append(repeat(part(x, k, int(at[start]), 1), size, k))
        else:
            parts.append(part(x, k, int(at[start]), size, step))
        start = stop
    return parts[0] if len(parts) == 1 else join(parts, k)


def _pad_odd(x: Arr, k: int, before: int, after: int, inner: bool) -> Arr:
    """Reflection through the edge point: 2*edge - mirrored; in rounds no wider than the array."""
    while before or after:
        n = x.shape[k]
        most = static_int(n, "the extent") - (1 if inner else 0)
        if most < 1:
            raise UnsupportedError("np.pad(reflect_type='odd') of an axis too short to reflect")
        a, b = min(before, most), min(after, most)
        shift = 1 if inner else 0
        parts = []
        if a:
            mirrored = flip_axis(part(x, k, shift, a), k)
            parts.append(sub(mul(2, part(x, k, 0, 1)), mirrored))
        parts.append(x)
        if b:
            mirrored = flip_axis(part(x, k, static_int(n, "the extent") - shift - b, b), k)
            parts.append(sub(mul(2, part(x, k, static_int(n, "the extent") - 1, 1)), mirrored))
        x = join([convert(p, x.name) for p in parts], k)
        before, after = before - a, after - b
    return x


def _ramp(x: Arr, k: int, at: int, width: int, end: Any) -> Arr:
    """From next to the edge (excluded) to the end value, `width` elements."""
    edge = part(x, k, at, 1)
    t = tuple(width if j == k else 1 for j in range(x.ndim))
    work = x.name if is_float(x.name) or is_complex(x.name) else "f64"
    steps = convert(Arr(iota(type=Type("i64", t), axis=k)), work)
    last = materialise(end, work, edge.shape)
    slope = div(sub(convert(edge, work), Arr(last)), width) if width else edge
    ramp = add(mul(sub(width - 1, steps), slope), Arr(last))
    return convert(ramp if work == x.name else apply_ufunc("floor", ramp), x.name)


def _statistic(x: Arr, k: int, mode: str, length: Any, front: bool, width: int) -> Arr:
    n = static_int(x.shape[k], "the extent of a padded axis")
    m = n if length is None else min(static_int(length, "stat_length"), n)
    block = part(x, k, 0 if front else n - m, m)
    statistics: dict[str, Callable[..., Arr]] = {"maximum": max_of, "minimum": min_of, "mean": mean, "median": median}
    f = statistics[mode]
    v = f(block, k, keepdims=True)
    if not (is_float(x.name) or is_complex(x.name)):
        v = apply_ufunc("rint", v)
    shape = tuple(width if j == k else d for j, d in enumerate(x.shape))
    return Arr(materialise(convert(v, x.name), x.name, shape))
