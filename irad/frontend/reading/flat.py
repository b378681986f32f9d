"""`x.flat`: the elements of an array in C order, read and stored by one position."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.types import Type
from irad.errors import UnsupportedError
from irad.frontend.control.array_like import array_like, index_like
from irad.frontend.control.sequences import Seq
from irad.frontend.control.stands import Stands
from irad.frontend.numpy.views import is_basic
from irad.frontend.reader import Reader
from irad.frontend.reading.subscripts import array_item, store
from irad.frontend.values.arr import Arr, from_dim, lift, shape_of, size_of
from irad.frontend.values.index import plan
from irad.frontend.values.objects import Array, Either
from irad.frontend.values.steps import Reshape


def elements_of(x: Array) -> Array:
    """The elements of an array in C order, whatever its memory order, as a view: stores reach the array."""
    size = size_of(x.shape)
    return x.view(Reshape((size,)), Type(x.type.dtype, (size,)), None)


class Flat(Stands):
    """x.flat."""

    cls = np.flatiter

    def __init__(self, base: Array):
        self.base = base
        self.line = elements_of(base)

    def elements(self, r: Reader) -> Seq:
        return Seq(self.length(r), lambda i: array_item(r, self.line, r.operand(i)))

    def length(self, r: Reader) -> Any:
        return from_dim(self.line.shape[0])

    def array(self, r: Reader) -> Any:
        return r.call(np.copy, [self.line])

    def item(self, r: Reader, key: Any) -> Any:
        """An element; of slices, masks and index arrays a copy."""
        out = array_item(r, self.line, r.operand(index_like(r, key)))
        return r.call(np.copy, [out]) if isinstance(out, Array) else out

    def store(self, r: Reader, key: Any, value: Any) -> None:
        """Values are repeated, or cut off, as need be."""
        k = r.operand(index_like(r, key))
        v = r.operand(array_like(r, value))
        if len(shape_of(v)) and not (is_basic(k) and not isinstance(k, slice) and k is not Ellipsis):
            count = plan(self.line.shape, k).shape
            v = r.operand(r.call(np.ravel, [r.wrap(lift(v)) if isinstance(v, (list, tuple, Arr)) else r.wrap(np.asarray(v))]))
            if shape_of(v) != count:
                v = r.operand(r.call(np.resize, [r.wrap(v), [from_dim(n) for n in count]]))
        store(r, self.line, k, v)

    def assign(self, r: Reader, name: str, value: Any) -> None:
        raise AttributeError(f"attribute '{name}' of 'numpy.flatiter' objects is not writable")

    METHODS = {"copy": lambda r, f: f.array(r), "__array__": lambda r, f, *args: f.array(r)}
    ATTRIBUTES = {"base": lambda r, f: f.base}


def flat_of(x: Array) -> Flat:
    """x.flat."""
    if isinstance(x, Either):
        raise UnsupportedError("flat of an array that is one of two, depending on data; copy it first")
    return Flat(x)
