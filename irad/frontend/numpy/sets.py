"""NumPy's set functions whose result has a shape known beforehand."""

from __future__ import annotations

from typing import Any

from irad.frontend.numpy.elementwise import apply_ufunc
from irad.frontend.numpy.reduce import any_of
from irad.frontend.numpy.shape import ravel, reshape_array
from irad.frontend.registry import numpy
from irad.frontend.values.arr import Arr, lift, materialise, static_int


@numpy("isin")
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> Arr:
    """np.isin, comparing every element with every test element."""
    x, found = lift(element), ravel(test_elements)
    if not static_int(found.shape[0], "the number of test elements"):
        hit = Arr(materialise(False, "bool", x.shape))
    else:
        hit = any_of(apply_ufunc("equal", reshape_array(x, (*x.shape, 1)), found), -1)
    return apply_ufunc("logical_not", hit) if invert else hit
