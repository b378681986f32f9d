"""NumPy's functions that take functions: of axes, of positions."""

import numpy as np

from irad.frontend.registry import written


@written("numpy.apply_over_axes", always=True)
def apply_over_axes(func, a, axes):
    """np.apply_over_axes: func(a, axis) for one axis after the other; an axis that it drops comes back with extent 1."""
    x = np.asarray(a)
    n = x.ndim
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        new = func(x, axis + n if axis < 0 else axis)
        if new.ndim != x.ndim:
            new = np.expand_dims(new, axis + n if axis < 0 else axis)
            if new.ndim != x.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        x = new
    return x


@written("numpy.fromfunction", always=True)
def fromfunction(function, shape, *, dtype=float, like=None, **kwargs):
    """np.fromfunction: the function of the positions along each axis."""
    return function(*np.indices(shape, dtype=dtype), **kwargs)


def joined(leaves, dtype):
    """The numbers of some arrays as one vector, see irad.flat."""
    if not leaves:
        return np.zeros(0, dtype)
    return np.concatenate([np.reshape(x, -1).astype(dtype) for x in leaves])


def part_of(vector, start, stop, size, shape, dtype, array):
    """What lies in a vector of `size` numbers from `start` to `stop`, as an array or a NumPy number."""
    _check(vector, size)
    found = vector[start:stop] if np.issubdtype(dtype, np.complexfloating) else np.real(vector[start:stop])
    return np.reshape(found, shape).astype(dtype) if array else found[0].astype(dtype)


def number_at(vector, start, size, two_parts):
    """A number of a vector of `size` numbers, as Python's."""
    _check(vector, size)
    return complex(vector[start]) if two_parts else float(np.real(vector[start]))


def _check(vector, size):
    if np.shape(vector) != (size,):
        raise ValueError(f"a vector of {size} numbers is wanted, not an array of shape {np.shape(vector)}")
