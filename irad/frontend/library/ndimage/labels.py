"""scipy.ndimage: connected parts of an image, and sums, means, ends and centres of labelled parts."""

import numpy as np

from irad.frontend.library.ndimage.neighbours import cross
from irad.frontend.registry import written


@written("scipy.ndimage.label")
def label(input, structure=None, output=None):
    """scipy.ndimage.label: (labels, their number), which have no derivative."""
    x = np.asarray(input) != 0
    structure = cross(x.ndim) if structure is None else np.asarray(structure) != 0
    if structure.shape != (3,) * x.ndim:
        raise RuntimeError("structure dimensions must be equal to 3")
    shape = tuple([n + 2 for n in x.shape])
    open_ = np.pad(x, 1).reshape(-1)
    steps = np.array([int(np.dot(np.array(at) - 1, np.cumprod((1,) + shape[:0:-1])[::-1])) for at in np.argwhere(structure)])
    found, todo, count = np.zeros(open_.size, np.int32), np.zeros(open_.size, np.int64), 0
    for k in range(open_.size):
        if open_[k] and found[k] == 0:
            count = count + 1
            found[k], todo[0], waiting = count, k, 1
            while waiting > 0:
                waiting = waiting - 1
                at = todo[waiting]
                for s in steps:
                    if open_[at + s] and found[at + s] == 0:
                        found[at + s] = count
                        todo[waiting] = at + s
                        waiting = waiting + 1
    inner = found.reshape(shape)[tuple([slice(1, n - 1) for n in shape])]
    return inner.copy(), count


def _of_parts(x, labels, index, of):
    """`of` the array and which elements there are, for each label asked for."""
    x = np.asarray(x)
    if labels is None:
        return of(x, np.ones(x.shape, bool))
    labels = np.broadcast_to(np.asarray(labels), x.shape)
    if index is None:
        return of(x, labels > 0)
    if np.ndim(index) == 0:
        return of(x, labels == index)
    index = np.asarray(index)
    parts = [of(x, labels == index.reshape(-1)[k]) for k in range(index.size)]
    return np.stack(parts).reshape(index.shape) if np.ndim(parts[0]) == 0 else parts


def _sum(x, there):
    return np.sum(np.where(there, x, 0.0))


def _mean(x, there):
    return _sum(x, there) / np.sum(there)


def _largest(x, there):
    x = x + 0.0
    return np.where(np.any(there), np.max(np.where(there, x, -np.inf)), 0.0)[()]


def _smallest(x, there):
    x = x + 0.0
    return np.where(np.any(there), np.min(np.where(there, x, np.inf)), 0.0)[()]


def _middle(x, there):
    """The median of those that are there."""
    s, n = np.sort(np.where(there, x, np.inf).reshape(-1)), np.sum(there)
    return 0.5 * (s[np.maximum(n - 1, 0) // 2] + s[np.minimum(n // 2, s.size - 1)])


def _written(of, *names):
    @written(*(f"scipy.ndimage.{name}" for name in names))
    def call(input, labels=None, index=None):
        return _of_parts(input, labels, index, of)

    return call


def _centre(x, there):
    whole, grids = _sum(x, there), np.indices(x.shape)
    return tuple([_sum(x * grids[d], there) / whole for d in range(x.ndim)])


sum_labels = _written(_sum, "sum_labels", "sum")
mean = _written(_mean, "mean")
variance = _written(lambda x, there: _mean((x - _mean(x, there)) ** 2, there), "variance")
maximum = _written(_largest, "maximum")
minimum = _written(_smallest, "minimum")
median = _written(_middle, "median")
center_of_mass = _written(_centre, "center_of_mass")


@written("scipy.ndimage.standard_deviation")
def standard_deviation(input, labels=None, index=None):
    return np.sqrt(variance(input, labels, index))
