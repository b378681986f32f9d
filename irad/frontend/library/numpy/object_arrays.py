"""Arrays of dtype object: lists with a shape, of numbers and arrays, as plain Python that is read.

Views share the list `base`; `places` are the positions in it, in C order. What NumPy does with such an array it does with each element.
"""

import operator

import numpy as np

from irad.errors import UnsupportedError


class ObjectArray:
    """np.ndarray of dtype object."""

    __array_priority__ = 10.1
    __array_ufunc__ = None
    __hash__ = None

    def __init__(self, base, shape, places=None):
        self.base, self.shape = base, shape
        self.places = list(range(len(base))) if places is None else places

    def shown_class(self):
        """The class of NumPy's that it is."""
        return np.ndarray

    def for_result(self):
        """The elements, which the caller gets in an array."""
        return self._elements()

    # ---- what it holds

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return len(self.places)

    @property
    def dtype(self):
        return np.dtype(object)

    @property
    def T(self):
        found = np.array(self.places, int).reshape(self.shape).T
        return ObjectArray(self.base, found.shape, found.ravel().tolist())

    @property
    def flat(self):
        return self._elements()

    def _elements(self):
        return [self.base[k] for k in self.places]

    def _at(self, key):
        return np.array(self.places, int).reshape(self.shape)[key]

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __iter__(self):
        return iter(self._elements() if len(self.shape) == 1 else [self[k] for k in range(len(self))])

    def __getitem__(self, key):
        if len(self.shape) == 1 and isinstance(key, (int, np.integer)):
            return self.base[self.places[key]]
        found = self._at(key)
        if np.ndim(found) == 0:
            return self.base[found]
        places = found.ravel().tolist()
        if any(isinstance(k, (list, np.ndarray)) for k in (key if isinstance(key, tuple) else (key,))):
            return ObjectArray([self.base[k] for k in places], found.shape)
        return ObjectArray(self.base, found.shape, places)

    def __setitem__(self, key, value):
        if len(self.shape) == 1 and isinstance(key, (int, np.integer)):
            self.base[self.places[key]] = value
            return
        found = self._at(key)
        if np.ndim(found) == 0:
            self.base[found] = value
            return
        values = self._like(value, found.shape)
        for k, v in zip(found.ravel().tolist(), values):
            self.base[k] = v

    def _like(self, value, shape):
        """The elements of something as an array of a shape has them."""
        if isinstance(value, ObjectArray):
            places = np.broadcast_to(np.array(value.places, int).reshape(value.shape), shape).ravel().tolist()
            return [value.base[k] for k in places]
        if isinstance(value, (list, tuple)) and len(shape) == 1 and len(value) == shape[0]:
            return list(value)
        size = int(np.prod(shape))
        if isinstance(value, (list, tuple)):
            value = np.asarray(value)
        if isinstance(value, np.ndarray) and np.ndim(value) > 0:
            numbers = np.broadcast_to(value, shape).reshape(size)
            return [numbers[k] for k in range(size)]
        return [value for _ in range(size)]

    def __contains__(self, x):
        return any(np.all(y == x) for y in self._elements())

    # ---- operators

    def _with(self, other, op):
        shape = self.shape
        if isinstance(other, ObjectArray):
            shape = np.broadcast_shapes(shape, other.shape)
        elif isinstance(other, (list, tuple, np.ndarray)):
            shape = np.broadcast_shapes(shape, np.shape(other))
        pairs = zip(self._like(self, shape), self._like(other, shape))
        return ObjectArray([op(x, y) for x, y in pairs], shape)

    def __add__(self, other):
        return self._with(other, operator.add)

    def __radd__(self, other):
        return self._with(other, lambda x, y: y + x)

    def __sub__(self, other):
        return self._with(other, operator.sub)

    def __rsub__(self, other):
        return self._with(other, lambda x, y: y - x)

    def __mul__(self, other):
        return self._with(other, operator.mul)

    def __rmul__(self, other):
        return self._with(other, lambda x, y: y * x)

    def __truediv__(self, other):
        return self._with(other, operator.truediv)

    def __rtruediv__(self, other):
        return self._with(other, lambda x, y: y / x)

    def __pow__(self, other):
        return self._with(other, operator.pow)

    def __rpow__(self, other):
        return self._with(other, lambda x, y: y**x)

    def __matmul__(self, other):
        return self.dot(other)

    def __rmatmul__(self, other):
        return ObjectArray(self._like(other, np.shape(other)), np.shape(other)).dot(self)

    def __neg__(self):
        return ObjectArray([-x for x in self._elements()], self.shape)

    def __pos__(self):
        return self.copy()

    def __abs__(self):
        return ObjectArray([abs(x) for x in self._elements()], self.shape)

    def _compared(self, other, op):
        out = self._with(other, op)
        return np.array(out._elements(), bool).reshape(out.shape)

    def __eq__(self, other):
        return self._compared(other, operator.eq)

    def __ne__(self, other):
        return self._compared(other, operator.ne)

    def __lt__(self, other):
        return self._compared(other, operator.lt)

    def __le__(self, other):
        return self._compared(other, operator.le)

    def __gt__(self, other):
        return self._compared(other, operator.gt)

    def __ge__(self, other):
        return self._compared(other, operator.ge)

    def _in_place(self, new):
        self[...] = new
        return self

    def __iadd__(self, other):
        return self._in_place(self + other)

    def __isub__(self, other):
        return self._in_place(self - other)

    def __imul__(self, other):
        return self._in_place(self * other)

    def __itruediv__(self, other):
        return self._in_place(self / other)

    # ---- methods

    def copy(self, order="C"):
        """A new array of the same elements."""
        return ObjectArray(self._elements(), self.shape)

    def tolist(self):
        """The elements in lists."""
        return self._elements() if len(self.shape) == 1 else [row.tolist() for row in self]

    def flatten(self, order="C"):
        """A copy with one axis."""
        return ObjectArray(self._elements(), (self.size,))

    def ravel(self, order="C"):
        """A view with one axis."""
        return ObjectArray(self.base, (self.size,), self.places)

    def reshape(self, *shape):
        """A view of another shape."""
        found = np.array(self.places, int).reshape(*shape)
        return ObjectArray(self.base, found.shape, self.places)

    def transpose(self):
        """A view with the axes the other way round."""
        return self.T

    def astype(self, dtype, copy=True):
        """Its numbers as an array of another dtype."""
        return self.copy() if dtype in (object, "O") else np.array(self.tolist(), dtype)

    def fill(self, value):
        """Put one thing everywhere."""
        for k in self.places:
            self.base[k] = value

    def item(self, *at):
        """One element."""
        return self.base[self.places[0]] if not at else self[at if len(at) > 1 else at[0]]

    def sum(self, axis=None):
        """The elements added up, or those along an axis."""
        if axis is None or (len(self.shape) == 1 and axis in (0, -1)):
            return self._total(self._elements())
        rows = np.moveaxis(np.array(self.places, int).reshape(self.shape), axis, -1)
        shape = rows.shape[:-1]
        found = [self._total([self.base[k] for k in row]) for row in rows.reshape(-1, rows.shape[-1]).tolist()]
        return ObjectArray(found, shape)

    def _total(self, xs):
        if not xs:
            return 0
        out = xs[0]
        for x in xs[1:]:
            out = out + x
        return out

    def mean(self, axis=None):
        """The sum by how many there are."""
        return self.sum(axis) / (self.size if axis is None else self.shape[axis])

    def max(self):
        """The greatest element."""
        return max(self._elements())

    def min(self):
        """The least element."""
        return min(self._elements())

    def dot(self, other):
        """The inner product with another array of one axis."""
        if len(self.shape) != 1 or len(np.shape(other)) != 1:
            raise UnsupportedError("a matrix product of arrays of objects; write the sums, or np.array(a.tolist(), float)")
        return self._total((self * other)._elements())

    def __array_function__(self, func, types, args, kwargs):
        given = [x.tolist() if isinstance(x, ObjectArray) else x for x in args]
        if func in OF_LISTS:
            return func(*given, **kwargs)
        if func in OF_METHODS:
            return getattr(args[0], OF_METHODS[func])(*args[1:], **kwargs)
        if func in OF_OPERATORS:
            return OF_OPERATORS[func](*args, **kwargs)
        if func is np.shape:
            return self.shape
        if func is np.ndim:
            return self.ndim
        if func is np.size:
            return self.size
        raise UnsupportedError(
            f"np.{func.__name__} of an array of objects; call it of each element ([np.{func.__name__}(x) for x in a]), or of "
            "np.array(a.tolist(), float)"
        )


OF_LISTS = {
    np.array, np.asarray, np.concatenate, np.stack, np.vstack, np.hstack, np.column_stack, np.dstack, np.array_equal, np.allclose,
}  # fmt: skip
OF_METHODS = {
    np.sum: "sum", np.mean: "mean", np.copy: "copy", np.ravel: "ravel", np.reshape: "reshape", np.dot: "dot", np.max: "max",
    np.min: "min", np.transpose: "transpose", np.abs: "__abs__", np.negative: "__neg__",
}  # fmt: skip
OF_OPERATORS = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv, np.power: operator.pow,
    np.equal: operator.eq, np.square: lambda x: x * x, np.matmul: operator.matmul,
}  # fmt: skip
