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
