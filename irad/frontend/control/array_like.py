"""What NumPy makes an array of: ranges, deques and the like beside arrays, and in indices."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np

from irad.core.foreign import is_container, is_library, is_mapped
from irad.errors import PythonTypeError, UnsupportedError
from irad.frontend.control.sequences import Range
from irad.frontend.control.stands import Stands
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, NeedStatic
from irad.frontend.values.objects import Array, describe, python_method

_LISTS = (collections.deque, collections.UserList)


def array_like(r: Reader, x: Any) -> Any:
    """A sequence that is no list or tuple, as the array that NumPy makes of it; anything else as it is."""
    if isinstance(x, range):
        return r.wrap(np.arange(x.start, x.stop, x.step))
    if isinstance(x, Range):
        if isinstance(x.length, Arr) and r.from_arguments(x.length):
            raise NeedStatic(x.length, "the number of elements of a range that becomes an array")
        return x.get(r.call(np.arange, [x.length]))
    if isinstance(x, Stands):
        return x.array(r)
    if is_mapped(x):
        if type(x).MAPPED is np.ndarray:
            return r.call(r.getattr(x, "now"), [])
        if type(x).MAPPED is not list:
            raise UnsupportedError(f"NumPy makes an array of objects of a {type(x).MAPPED.__name__}; give it a list")
        return r.call(r.getattr(x, "whole"), [])
    return list(x) if type(x) in _LISTS else x


def index_like(r: Reader, key: Any) -> Any:
    """The key of an array, with arrays for the ranges in it."""
    key = _position(r, key)
    return tuple(array_like(r, k) for k in key) if type(key) is tuple else array_like(r, key)


def position_like(r: Reader, obj: Any, key: Any, method: str) -> Any:
    """The key of a sequence, with what `__index__` of objects of the program gives; of a dict, or for a method of the program, as it is,
    and of an array, for which `index_like` does that."""
    return key if isinstance(obj, (dict, Array)) or python_method(obj, method) is not None else _position(r, key)


def _position(r: Reader, key: Any) -> Any:
    if type(key) is tuple:
        return tuple(_position(r, k) for k in key)
    if type(key) is slice:
        return slice(*(_position(r, k) for k in (key.start, key.stop, key.step)))
    index = python_method(key, "__index__")
    return key if index is None else r.call(index, [key])


def is_array(x: Any) -> bool:
    """Does NumPy, and not Python, say what an operator on x means?"""
    return isinstance(x, (Array, np.ndarray, np.generic)) or (isinstance(x, Arr) and not x.weak)


def numpy_operands(r: Reader, xs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of an operator; beside an array or a NumPy scalar, sequences become what NumPy makes of them, and objects of the
    user's what their `__array__` gives."""
    if not any(map(is_array, xs)) or all(isinstance(x, (Arr, Array)) for x in xs):
        return xs
    return tuple(_as_numpy(r, x) for x in xs)


def is_read_by_numpy(x: Any) -> bool:
    """Is it an object of the user's that NumPy asks for an array, or for its items?"""
    if is_library(type(x).__module__) or is_container(x):
        return False
    return python_method(x, "__array__") is not None or is_sequence(x)


def is_sequence(x: Any) -> bool:
    """Does NumPy take an object of the user's for a sequence?"""
    return all(python_method(x, name) is not None for name in ("__len__", "__getitem__"))


def _as_numpy(r: Reader, x: Any) -> Any:
    if isinstance(x, (Arr, Array)):
        return x
    if is_read_by_numpy(x):
        return r.call(np.asarray, [x])
    return array_like(r, x)


def repeats(xs: tuple[Any, ...]) -> Arr | None:
    """Of an operator `*`: the traced number by which a list, tuple or text is repeated; None if it is a product of numbers.

    Raises IradTypeError, with Python's words, for a number that is no int.
    """
    if not any(isinstance(x, (list, tuple, str)) for x in xs):
        return None
    count = next((x for x in xs if isinstance(x, Arr)), None)
    if count is None:
        return None
    if count.name[0] not in "iu" and not (count.weak and count.name == "bool"):
        kind = describe(count).split(" ", 1)[1]
        e = PythonTypeError(f"can't multiply sequence by non-int of type '{kind}'")
        e.sources = set()
        raise e
    return count
