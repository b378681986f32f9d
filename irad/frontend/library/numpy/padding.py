"""np.pad."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.registry import written

_STATISTICS = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}


def _pairs(x, ndim, what):
    """A pad width or value for both sides of each axis, from NumPy's short forms."""
    if isinstance(x, dict):
        given = [(0, 0)] * ndim
        for k, v in x.items():
            given[k] = tuple(v) if isinstance(v, (tuple, list)) else (v, v)
        return given
    if np.ndim(x) == 0:
        return [(x, x)] * ndim
    rows = [r if np.ndim(r) else (r,) for r in x]
    if np.ndim(x) == 1 and len(rows) == 2:
        rows = [(rows[0][0], rows[1][0])]
    if len(rows) == 1:
        rows = rows * ndim
    if len(rows) != ndim or any(len(r) not in (1, 2) for r in rows):
        raise ValueError(f"operands could not be broadcast together: {what} {x} for an array with {ndim} axes")
    return [(r[0], r[-1]) for r in rows]


@written("numpy.pad")
def pad(array, pad_width, mode="constant", **options):
    """np.pad with static widths, all modes but a function; statistics are of the whole axis or of `stat_length`."""
    x = np.asarray(array)
    widths = _pairs(pad_width, x.ndim, "pad_width")
    for a, b in widths:
        if a < 0 or b < 0:
            raise ValueError("index can't contain negative values")
    if mode in ("constant", "empty"):
        return _constant(x, widths, options.get("constant_values", 0))
    for k in range(x.ndim):
        a, b = widths[k]
        if a or b:
            x = np.moveaxis(_first_axis(np.moveaxis(x, k, 0), int(a), int(b), mode, options, k, x.ndim), 0, k)
    return x.copy()


def _constant(x, widths, values):
    """One store into a filled array, and one for each side if they have values of their own."""
    shape = [a + d + b for (a, b), d in zip(widths, x.shape)]
    one = np.ndim(values) == 0 and not isinstance(values, dict)
    out = np.full(shape, values if one else 0, x.dtype)
    out[tuple([slice(a, a + d) for (a, _), d in zip(widths, x.shape)])] = x
    for k in range(0 if one else x.ndim):
        (a, b), (low, high) = widths[k], _pairs(values, x.ndim, "constant_values")[k]
        around = tuple([slice(p, p + d) for (p, _), d in zip(widths[k + 1 :], x.shape[k + 1 :])])
        if a:
            out[(*[slice(None)] * k, slice(0, a), *around)] = low
        if b:
            out[(*[slice(None)] * k, slice(a + x.shape[k], None), *around)] = high
    return out


def _first_axis(x, before, after, mode, options, k, ndim):
    """Padded along the first axis, which was axis k of `ndim`."""
    n = len(x)
    if n == 0:
        raise ValueError(f"can't extend empty axis {k} using modes other than 'constant' or 'empty'")
    odd = options.get("reflect_type", "even") == "odd"
    if mode in ("edge", "wrap") or mode in ("reflect", "symmetric") and not odd:
        return np.concatenate(_runs(x, np.pad(np.arange(n), (before, after), mode)))
    if mode in ("reflect", "symmetric"):
        return _odd(x, before, after, mode == "reflect")
    if mode == "linear_ramp":
        low, high = _pairs(options.get("end_values", 0), ndim, "end_values")[k]
        return np.concatenate((_ramp(x[:1], before, low)[::-1], x, _ramp(x[-1:], after, high)))
    if mode not in _STATISTICS:
        raise UnsupportedError(f"np.pad(mode={mode!r})")
    first, last = _pairs(options.get("stat_length"), ndim, "stat_length")[k]
    front, back = x[:first], x if last is None else x[max(n - last, 0) :]
    return np.concatenate((_statistic(front, mode, before), x, _statistic(back, mode, after)))


def _runs(x, at):
    """Elements at known positions, read as slices: runs of step 1, -1 or 0."""
    parts, start = [], 0
    while start < len(at):
        stop = start + 1
        step = int(at[stop] - at[start]) if stop < len(at) and abs(at[stop] - at[start]) <= 1 else 0
        while stop < len(at) and at[stop] - at[stop - 1] == step:
            stop += 1
        first, last = int(at[start]), int(at[stop - 1])
        if step < 0:
            parts.append(x[last : first + 1][::-1])
        else:
            parts.append(x[first : last + 1] if step else np.repeat(x[first : first + 1], stop - start, 0))
        start = stop
    return parts


def _odd(x, before, after, inner):
    """Reflection through the edge point: 2*edge - mirrored; in rounds no wider than the array."""
    shift = 1 if inner else 0
    if len(x) <= shift and (before or after):
        raise UnsupportedError("np.pad(reflect_type='odd') of an axis too short to reflect")
    while before or after:
        n = len(x)
        a, b = min(before, n - shift), min(after, n - shift)
        left, right = 2 * x[:1] - x[shift : shift + a][::-1], 2 * x[-1:] - x[n - shift - b : n - shift][::-1]
        x = np.concatenate((left.astype(x.dtype), x, right.astype(x.dtype)))
        before, after = before - a, after - b
    return x


def _ramp(edge, width, end):
    """From next to the edge (excluded) to the end value, `width` elements."""
    whole = edge.dtype.kind not in "fc"
    last = np.asarray(end).astype(np.float64 if whole else edge.dtype)
    steps = np.arange(width - 1, -1, -1).astype(last.dtype).reshape((-1,) + (1,) * (edge.ndim - 1))
    ramp = steps * ((edge.astype(last.dtype) - last) / max(width, 1)) + last
    return (np.floor(ramp) if whole else ramp).astype(edge.dtype)


def _statistic(block, mode, width):
    v = _STATISTICS[mode](block, 0, keepdims=True)
    return np.repeat((v if block.dtype.kind in "fc" else np.rint(v)).astype(block.dtype), width, 0)
