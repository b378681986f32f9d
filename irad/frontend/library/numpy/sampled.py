"""NumPy's tools for sampled functions: convolve, correlate, interp, gradient, unwrap."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from irad.frontend.registry import known, written

# ---- convolution -----------------------------------------------------------------------------------------------------


def _overlapping(a, v):
    """Where all of v overlaps with a: shifted products if v is short, else windows times v."""
    n, m = len(a), len(v)
    if m > 16:
        return sliding_window_view(a, m) @ v[::-1]
    out = v[0] * a[m - 1 :]
    for k in range(1, m):
        out = out + v[k] * a[m - 1 - k : n - k]
    return out


def _edge(block, v, first: bool):
    """Windows of the block times v, but for what lies outside of the array: 0 times an infinity there would be NaN."""
    m = len(v)
    inside = (np.arange(m - 1)[:, None] + np.arange(m) >= m - 1) == first
    return np.sum(np.where(inside, sliding_window_view(block, m) * v[::-1], np.array(0, block.dtype)), 1)


def _whole(a, v):
    """sum_k v[k] * a[i - k] for all i where they overlap; v is no longer than a."""
    n, m = len(a), len(v)
    inside = _overlapping(a, v)
    if m == 1:
        return inside
    zeros = np.zeros(m - 1, a.dtype)
    left = _edge(np.concatenate((zeros, a[: m - 1])), v, True)
    right = _edge(np.concatenate((a[n - m + 1 :], zeros)), v, False)
    return np.concatenate((left, inside, right))


def _lines(a, v):
    """Both as arrays of one axis and one dtype."""
    dtype = np.result_type(np.asarray(a), np.asarray(v))
    for x, name in ((a, "a"), (v, "v")):
        if np.ndim(x) > 1:
            raise ValueError("object too deep for desired array")
        if np.size(x) == 0:
            raise ValueError(f"{name} cannot be empty")
    return np.atleast_1d(np.asarray(a, dtype)), np.atleast_1d(np.asarray(v, dtype))


def _part(a, v, start, mode):
    """The part of a convolution that `mode` asks for; v is no longer than a."""
    n, m = len(a), len(v)
    if mode == "valid":
        out = _overlapping(a, v)
    elif mode in ("full", "same"):
        out = _whole(a, v)[0 if mode == "full" else start :][: n + m - 1 if mode == "full" else n]
    else:
        raise ValueError(f"mode must be one of 'full', 'same' or 'valid', not {mode!r}")
    return out.astype(a.dtype)


def _part_by_data(a, v, start, mode):
    """The same where data decide which of two is the longer one, and the length of one is known. `start` is that of "same"."""
    a, v = (a, v) if known(len(v)) else (v, a)
    zeros = np.zeros(len(v) - 1, a.dtype)
    whole = sliding_window_view(np.concatenate((zeros, a, zeros)), len(v)) @ v[::-1]
    shorter, longer = min(len(a), len(v)), max(len(a), len(v))
    if mode == "full":
        out = whole
    elif mode == "same":
        out = whole[start : start + longer]
    elif mode == "valid":
        out = whole[shorter - 1 : longer]
    else:
        raise ValueError(f"mode must be one of 'full', 'same' or 'valid', not {mode!r}")
    return out.astype(a.dtype)


def _undecided(x, y):
    return not known(len(y) > len(x)) and (known(len(x)) or known(len(y)))


@written("numpy.convolve")
def convolve(a, v, mode="full"):
    x, y = _lines(a, v)
    if _undecided(x, y):
        n = min(len(x), len(y))
        return _part_by_data(x, y, n - 1 - n // 2, mode)
    if len(y) > len(x):
        x, y = y, x
    return _part(x, y, len(y) - 1 - len(y) // 2, mode)


@written("numpy.correlate")
def correlate(a, v, mode="valid"):
    """np.correlate: the second operand is conjugated."""
    x, y = _lines(a, np.conj(v) if np.iscomplexobj(v) else v)
    if _undecided(x, y):
        return _part_by_data(x, y[::-1], len(y) - 1 - len(y) // 2 if len(y) <= len(x) else len(x) // 2, mode)
    if len(y) <= len(x):
        return _part(x, y[::-1], len(y) - 1 - len(y) // 2, mode)
    # NumPy swaps the operands and reverses the result
    return _part(y[::-1], x, len(x) // 2, mode)


# ---- interpolation and differences -------------------------------------------------------------------------------------


@written("numpy.interp")
def interp(x, xp, fp, left=None, right=None, period=None):
    """np.interp: piecewise linear, constant (or `left`, `right`) outside; always in double precision. Values may be complex."""
    at, points = np.asarray(x, np.float64), np.asarray(xp, np.float64)
    values = np.asarray(fp, np.complex128 if np.iscomplexobj(fp) else np.float64)
    if points.ndim != 1 or values.ndim != 1:
        raise ValueError("Data points must be 1-D sequences")
    if len(points) != len(values):
        raise ValueError("fp and xp are not of the same length.")
    if len(points) == 0:
        raise ValueError("array of sample points is empty")
    if period is not None:
        at, points, values = _periodic(at, points, values, period)
        left = right = None
    inner = np.broadcast_to(values[0], at.shape) if len(points) == 1 else _segments(at, points, values)
    out = np.where(at < points[0], values[0] if left is None else left, inner)
    out = np.where(at > points[-1], values[-1] if right is None else right, out)
    return np.where(np.isnan(at), at, out)[()]


def _segments(at, points, values):
    """values[j] + slope_j * (at - points[j]) on the segment that holds each position; exact at the points."""
    j = np.clip(np.searchsorted(points, at, side="right") - 1, 0, len(points) - 2)
    x0, y0, x1, y1 = points[j], values[j], points[j + 1], values[j + 1]
    slope = (y1 - y0) / (x1 - x0)
    y = slope * (at - x0) + y0
    if not np.iscomplexobj(values):  # from an infinite end of the segment nothing can be said, perhaps from the other one
        other = slope * (at - x1) + y1
        y = np.where(np.isnan(y), np.where(np.isnan(other) & (y0 == y1), y0, other), y)
    return np.where(at == x1, y1, np.where(at == x0, y0, y))


def _periodic(at, points, values, period):
    """All positions in one period, with a point before and after it."""
    points = points % period
    order = np.argsort(points)
    points, values = points[order], values[order]
    points = np.concatenate((points[-1:] - period, points, points[:1] + period))
    return at % period, points, np.concatenate((values[-1:], values, values[:1]))


@written("numpy.gradient")
def gradient(f, *varargs, axis=None, edge_order=1):
    """np.gradient: second-order central differences inside, one-sided of `edge_order` at the ends."""
    x = np.asarray(f)
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = [range(x.ndim)[k] for k in axes]
    spacing = varargs or (1.0,)
    if len(spacing) == 1 and np.ndim(spacing[0]) == 0:
        spacing = spacing * len(axes)
    if len(spacing) != len(axes):
        raise TypeError("invalid number of arguments")
    if edge_order not in (1, 2):
        raise ValueError("'edge_order' greater than 2 not supported")
    out = [_slope(np.moveaxis(x, k, 0), h, edge_order) for k, h in zip(axes, spacing)]
    out = [np.moveaxis(d, 0, k).astype(x.dtype) for d, k in zip(out, axes)]
    return out[0] if len(out) == 1 else tuple(out)


def _slope(x, h, edge_order):
    """Along the first axis."""
    if len(x) < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements are required."
        )
    if np.ndim(h) > 0:
        if np.ndim(h) != 1:
            raise ValueError("distances must be either scalars or 1d")
        if len(h) != len(x):
            raise ValueError("when 1d, distances must match the length of the corresponding dimension")
        return _uneven(x, np.diff(np.asarray(h)), edge_order)
    first, last = (x[1:2] - x[:1]) / h, (x[-1:] - x[-2:-1]) / h
    if edge_order == 2:
        first = -1.5 / h * x[:1] + 2.0 / h * x[1:2] + -0.5 / h * x[2:3]
        last = 0.5 / h * x[-3:-2] + -2.0 / h * x[-2:-1] + 1.5 / h * x[-1:]
    return np.concatenate((first, (x[2:] - x[:-2]) / (2.0 * h), last))


def _uneven(x, steps, edge_order):
    """With distances between the coordinates."""
    h = steps.reshape((-1,) + (1,) * (x.ndim - 1))
    d, e = h[:-1], h[1:]
    inside = -e / (d * (d + e)) * x[:-2] + (e - d) / (d * e) * x[1:-1] + d / (e * (d + e)) * x[2:]
    first, last = (x[1:2] - x[:1]) / h[:1], (x[-1:] - x[-2:-1]) / h[-1:]
    if edge_order == 2:
        d, e = h[:1], h[1:2]
        first = -(2.0 * d + e) / (d * (d + e)) * x[:1] + (d + e) / (d * e) * x[1:2] + -d / (e * (d + e)) * x[2:3]
        d, e = h[-2:-1], h[-1:]
        last = e / (d * (d + e)) * x[-3:-2] + -(e + d) / (d * e) * x[-2:-1] + (2.0 * e + d) / (e * (d + e)) * x[-1:]
    return np.concatenate((first, inside, last))


# ---- phases ----------------------------------------------------------------------------------------------------------


@written("numpy.unwrap")
def unwrap(p, discont=None, axis=-1, *, period=2 * np.pi):
    """np.unwrap: jumps larger than half a period are taken out."""
    x = np.asarray(p, np.result_type(p, period))
    d, floating = np.diff(x, axis=axis), x.dtype.kind == "f"
    half = period / 2 if floating else period // 2
    wrapped = np.remainder(d + half, period) - half
    if floating or period % 2 == 0:
        wrapped = np.where((wrapped == -half) & (d > 0), half, wrapped)
    jumps = np.where(np.abs(d) < (period / 2 if discont is None else discont), 0, wrapped - d)
    first, rest = np.split(x, [1], axis)
    return np.concatenate((first, rest + np.cumsum(jumps, axis)), axis)
