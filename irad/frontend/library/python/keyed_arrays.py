"""Arrays that are values of a dict whose keys data decide, and are changed in place, as plain Python that is read.

The arrays stand in a list, one behind another, and what stands for one of them is its position there. So a change is seen under every name.
"""

import operator

import numpy as np

from irad.errors import UnsupportedError


def named(array):
    """Has a variable of the program an array? The reader answers."""
    raise NotImplementedError


def watching(array, stores):
    """An array that may not be read any more once something is stored into the other one. The reader makes it."""
    raise NotImplementedError


def plain(x):
    """An operand, as an array."""
    return x.now() if isinstance(x, KeyedArray) else x


class ArrayPool:
    """Arrays of one shape: `arrays`, in the order in which they came; `stores` counts changes of them."""

    def __init__(self):
        self.arrays = []
        self.stores = np.zeros(1)

    def added(self, x):
        """The position of another one."""
        if isinstance(x, KeyedArray):
            if x.pool is not self:
                raise UnsupportedError(
                    "an array that is a value of one dict is put into another: put a copy into it (d[k] = x.copy())"
                )
            return x.number
        if named(x):
            raise UnsupportedError(
                "an array that a variable has is put into a dict whose keys depend on data, and arrays in that are changed in place: "
                "put a copy into it (d[k] = x.copy())"
            )
        self.arrays.append(x)
        return len(self.arrays) - 1


class KeyedArray:
    """One of the arrays."""

    MAPPED = np.ndarray

    def __init__(self, pool, number):
        self.pool, self.number = pool, number

    def same_as(self, other):
        """Are they one array?"""
        return self.pool is other.pool and self.number == other.number

    def now(self):
        """What is in it."""
        return watching(self.pool.arrays[self.number], self.pool.stores)

    def _become(self, new):
        self.pool.arrays[self.number] = new
        self.pool.stores[0] += 1.0

    def __array__(self):
        return self.now()

    def __getitem__(self, k):
        return self.now()[k]

    def __setitem__(self, k, v):
        new = self.pool.arrays[self.number].copy()
        new[k] = plain(v)
        self._become(new)

    def augment(self, k, op, v, old):
        """self[k] op= v; `old`: what a number there was before v was found."""
        new = self.pool.arrays[self.number].copy()
        new[k] = op(new[k] if np.ndim(old) else old, plain(v))
        self._become(new)

    def __len__(self):
        return len(self.now())

    def __iter__(self):
        return iter(self.now())

    def __bool__(self):
        return bool(self.now())

    def __neg__(self):
        return -self.now()

    def __pos__(self):
        return +self.now()

    def __abs__(self):
        return abs(self.now())

    def __repr__(self):
        raise UnsupportedError("the text of an array that is a value of a dict whose keys depend on data: print a copy")

    def fill(self, v):
        """Store a number everywhere."""
        self[...] = v

    def sort(self):
        """Bring the elements into order."""
        self[...] = np.sort(self.now())

    def __getattr__(self, name):
        return getattr(self.now(), name)


def _binary(op):
    def forward(self, other):
        return op(self.now(), plain(other))

    return forward


def _reflected(op):
    def backward(self, other):
        return op(plain(other), self.now())

    return backward


def _in_place(op):
    def changed(self, other):
        new = self.pool.arrays[self.number].copy()
        self._become(op(new, plain(other)))
        return self

    return changed


_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(KeyedArray, f"__{_name}__", _binary(getattr(operator, _name)))
    setattr(KeyedArray, f"__r{_name}__", _reflected(getattr(operator, _name)))
    setattr(KeyedArray, f"__i{_name}__", _in_place(getattr(operator, f"i{_name}")))
for _name in _COMPARISONS:
    setattr(KeyedArray, f"__{_name}__", _binary(getattr(operator, _name)))
