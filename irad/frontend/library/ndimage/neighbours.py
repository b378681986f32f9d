"""scipy.ndimage: the smallest, largest, middle one of an element's neighbours, any function of them, and morphology."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.library.ndimage.images import gaussian_filter, widened
from irad.frontend.registry import written

# ---- neighbours --------------------------------------------------------------------------------------------------------------------------


def _every(v, n):
    """v for each of n axes."""
    if np.ndim(v) == 0:
        return [v] * n
    if len(v) != n:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return list(v)


def _region(x, size, footprint):
    """Which of the neighbours count, as a known array of bools."""
    if footprint is None:
        if size is None:
            raise RuntimeError("no footprint or filter size provided")
        return np.ones([int(n) for n in _every(size, x.ndim)], bool)
    found = np.asarray(footprint, bool)
    if found.ndim != x.ndim:
        raise RuntimeError("footprint array has incorrect shape.")
    if not found.any():
        raise ValueError("All-zero footprint is not supported.")
    return found


def _around(x, region, mode, cval, origins):
    """Each neighbour that counts, as an array of the shape of x, and the place in the region that it stands at."""
    if not isinstance(mode, str):
        raise UnsupportedError("scipy.ndimage with a mode for each axis: one mode")
    before = [n // 2 + o for n, o in zip(region.shape, origins)]
    if any([b < 0 or b >= n for b, n in zip(before, region.shape)]):
        raise ValueError("invalid origin")
    wide = widened(x, [(b, n - 1 - b) for b, n in zip(before, region.shape)], mode, cval)
    return [(at, wide[tuple([slice(k, k + n) for k, n in zip(at, x.shape)])]) for at in np.ndindex(*region.shape) if region[at]]


def _extreme(x, region, structure, mode, cval, origins, reduce):
    """The smallest or largest; one axis after the other where all of a box count."""
    if structure is None and region.all():
        for k in range(x.ndim):
            n = region.shape[k]
            if n > 1:
                line = np.ones([n if d == k else 1 for d in range(x.ndim)], bool)
                only = [o if d == k else 0 for d, o in enumerate(origins)]
                x = reduce(np.stack([v for _, v in _around(x, line, mode, cval, only)]), 0)
        return x
    found = _around(x, region, mode, cval, origins)
    if structure is not None:
        found = [(at, v + structure[at]) for at, v in found]
    return reduce(np.stack([v for _, v in found]), 0)


def _of_neighbours(name, reduce):
    @written(f"scipy.ndimage.{name}")
    def call(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
        x = np.asarray(input)
        return _extreme(x, _region(x, size, footprint), None, mode, cval, _every(origin, x.ndim), reduce)

    return call


def _in_a_line(name, whole):
    @written(f"scipy.ndimage.{name}")
    def call(input, size, axis=-1, output=None, mode="reflect", cval=0.0, origin=0):
        line = lambda n: [n if d == axis % np.ndim(input) else 1 for d in range(np.ndim(input))]
        return whole(input, line(size), None, None, mode, cval, [o - 1 for o in line(origin + 1)])

    return call


minimum_filter, maximum_filter = _of_neighbours("minimum_filter", np.min), _of_neighbours("maximum_filter", np.max)
minimum_filter1d = _in_a_line("minimum_filter1d", minimum_filter)
maximum_filter1d = _in_a_line("maximum_filter1d", maximum_filter)


def _ranked(x, rank, region, mode, cval, origin):
    """The neighbour of a rank among those that count; a function of their number gives it."""
    count = int(region.sum())
    rank = rank(count)
    rank = rank + count if rank < 0 else rank
    if rank < 0 or rank >= count:
        raise RuntimeError("rank not within filter footprint size")
    found = np.stack([v for _, v in _around(x, region, mode, cval, _every(origin, x.ndim))], -1)
    return np.sort(found, -1)[..., rank]


@written("scipy.ndimage.rank_filter")
def rank_filter(input, rank, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    x = np.asarray(input)
    return _ranked(x, lambda n: rank, _region(x, size, footprint), mode, cval, origin)


@written("scipy.ndimage.median_filter")
def median_filter(input, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    """scipy.ndimage.median_filter: of an even number the upper one in the middle."""
    x = np.asarray(input)
    return _ranked(x, lambda n: n // 2, _region(x, size, footprint), mode, cval, origin)


@written("scipy.ndimage.percentile_filter")
def percentile_filter(
    input, percentile, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None
):
    x, share = np.asarray(input), percentile + 100.0 if percentile < 0 else percentile
    if share < 0 or share > 100:
        raise RuntimeError("invalid percentile")
    rank = lambda n: n - 1 if share == 100 else int(n * share / 100.0)
    return _ranked(x, rank, _region(x, size, footprint), mode, cval, origin)


@written("scipy.ndimage.generic_filter", always=True)
def generic_filter(
    input, function, size=None, footprint=None, output=None, mode="reflect", cval=0.0, origin=0, extra_arguments=(),
    extra_keywords=None, *, axes=None,
):  # fmt: skip
    """scipy.ndimage.generic_filter: a function of the neighbours, called for each element."""
    x = np.asarray(input)
    region, named = _region(x, size, footprint), {} if extra_keywords is None else extra_keywords
    found = np.stack([v for _, v in _around(x + 0.0, region, mode, cval, _every(origin, x.ndim))], -1)
    rows = found.reshape((x.size, found.shape[-1]))
    out = np.zeros(x.size, x.dtype)
    for k in range(x.size):
        out[k] = function(rows[k], *extra_arguments, **named)
    return out.reshape(x.shape)


# ---- grey morphology ---------------------------------------------------------------------------------------------------------------------------


def _box(x, size, footprint, structure):
    if structure is not None and footprint is None:
        return np.ones(np.shape(structure), bool)
    return _region(x, size, footprint)


@written("scipy.ndimage.grey_erosion")
def grey_erosion(input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
    x = np.asarray(input)
    heights = None if structure is None else -np.asarray(structure)
    out = _extreme(x, _box(x, size, footprint, structure), heights, mode, cval, _every(origin, x.ndim), np.min)
    return out.astype(x.dtype)


@written("scipy.ndimage.grey_dilation")
def grey_dilation(
    input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None
):
    x = np.asarray(input)
    region = np.flip(_box(x, size, footprint, structure))
    heights = None if structure is None else np.flip(np.asarray(structure))
    origins = [-o - (n % 2 == 0) for o, n in zip(_every(origin, x.ndim), region.shape)]
    return _extreme(x, region, heights, mode, cval, origins, np.max).astype(x.dtype)


def _grey(name, combine):
    """scipy.ndimage.NAME, of the array and its erosion and dilation."""

    @written(f"scipy.ndimage.{name}")
    def call(input, size=None, footprint=None, structure=None, output=None, mode="reflect", cval=0.0, origin=0, *, axes=None):
        given = (size, footprint, structure, None, mode, cval, origin)
        low, high = (lambda v: grey_erosion(v, *given)), (lambda v: grey_dilation(v, *given))
        return combine(np.asarray(input), low, high)

    return call


grey_opening = _grey("grey_opening", lambda x, low, high: high(low(x)))
grey_closing = _grey("grey_closing", lambda x, low, high: low(high(x)))
white_tophat = _grey("white_tophat", lambda x, low, high: x - high(low(x)))
black_tophat = _grey("black_tophat", lambda x, low, high: low(high(x)) - x)
morphological_gradient = _grey("morphological_gradient", lambda x, low, high: high(x) - low(x))
morphological_laplace = _grey("morphological_laplace", lambda x, low, high: high(x) + low(x) - 2 * x)

# ---- binary morphology --------------------------------------------------------------------------------------------------------------------------


def cross(ndim):
    """An element and its neighbours along the axes."""
    return np.sum([np.abs(v - 1) for v in np.indices((3,) * ndim)], 0) <= 1


def _step(x, structure, mask, border, origins, dilate):
    found = [v for _, v in _around(x, structure, "constant", bool(border), origins)]
    out = found[0]
    for v in found[1:]:
        out = (out | v) if dilate else (out & v)
    return out if mask is None else np.where(mask, out, x)


def _repeated(x, structure, iterations, mask, border, origin, dilate):
    x = np.asarray(x) != 0
    structure = cross(x.ndim) if structure is None else np.asarray(structure, bool)
    if structure.ndim != x.ndim:
        raise RuntimeError("structure and input must have same dimensionality")
    origins = _every(origin, x.ndim)
    if dilate:
        structure, origins = np.flip(structure), [-o - (n % 2 == 0) for o, n in zip(origins, structure.shape)]
    mask = None if mask is None else np.asarray(mask) != 0
    if iterations >= 1:
        for _ in range(iterations):
            x = _step(x, structure, mask, border, origins, dilate)
        return x
    changed = True
    while changed:
        new = _step(x, structure, mask, border, origins, dilate)
        x, changed = new, np.any(new != x)
    return x


@written("scipy.ndimage.binary_erosion")
def binary_erosion(
    input, structure=None, iterations=1, mask=None, output=None, border_value=0, origin=0, brute_force=False, *, axes=None
):
    return _repeated(input, structure, iterations, mask, border_value, origin, False)


@written("scipy.ndimage.binary_dilation")
def binary_dilation(
    input, structure=None, iterations=1, mask=None, output=None, border_value=0, origin=0, brute_force=False, *, axes=None
):
    return _repeated(input, structure, iterations, mask, border_value, origin, True)


def _twice(name, first, second):
    @written(f"scipy.ndimage.{name}")
    def call(
        input, structure=None, iterations=1, output=None, origin=0, mask=None, border_value=0, brute_force=False, *, axes=None
    ):
        given = (structure, iterations, mask, None, border_value, origin)
        return second(first(input, *given), *given)

    return call


binary_opening = _twice("binary_opening", binary_erosion, binary_dilation)
binary_closing = _twice("binary_closing", binary_dilation, binary_erosion)


@written("scipy.ndimage.binary_propagation")
def binary_propagation(input, structure=None, mask=None, output=None, border_value=0, origin=0, *, axes=None):
    return binary_dilation(input, structure, -1, mask, None, border_value, origin)


@written("scipy.ndimage.binary_fill_holes")
def binary_fill_holes(input, structure=None, output=None, origin=0, *, axes=None):
    mask = np.asarray(input) == 0
    return ~binary_dilation(np.zeros(mask.shape, bool), structure, -1, mask, None, 1, origin)


# ---- derivatives of a Gaussian -----------------------------------------------------------------------------------------------------------------


def _along(x, sigma, order, mode, cval, named):
    """The derivatives of this order along each axis."""
    orders = lambda k: [order if d == k else 0 for d in range(x.ndim)]
    return [gaussian_filter(x, sigma, orders(k), None, mode, cval, **named) for k in range(x.ndim)]


@written("scipy.ndimage.gaussian_laplace")
def gaussian_laplace(input, sigma, output=None, mode="reflect", cval=0.0, *, axes=None, **kwargs):
    return sum(_along(np.asarray(input), sigma, 2, mode, cval, kwargs))


@written("scipy.ndimage.gaussian_gradient_magnitude")
def gaussian_gradient_magnitude(input, sigma, output=None, mode="reflect", cval=0.0, *, axes=None, **kwargs):
    x = np.asarray(input)
    return np.sqrt(sum([d**2 for d in _along(x, sigma, 1, mode, cval, kwargs)])).astype(x.dtype)
