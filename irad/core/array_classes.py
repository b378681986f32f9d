"""Subclasses of NumPy's arrays, np.matrix among them: what stands for their objects, and how those are taken apart.

An object of such a class is an array and attributes. While a function is read, an object of a class made here stands for it (`stand_in`):
it has the methods of the user's class, the array under a name that no program can write, and behind them, for what `np.ndarray` has
itself, functions that are called by name (irad.frontend.reading.array_classes says what they do).
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.foreign import own_dict

ARRAY, CLASS = "<array>", "<class>"  # names, which no program can write, of the array and of the class
_KEPT_OUT = {  # what an object has otherwise than by the array
    *vars(object), "__class_getitem__", "__array_interface__", "__array_struct__", "__buffer__", "__setstate__", "__dlpack__",
    "__dlpack_device__", "__array_priority__",
} - {"__str__", "__repr__", "__format__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}  # fmt: skip


def is_of_class(x: Any) -> bool:
    """Is x an array of numbers of a subclass of np.ndarray that means more than its numbers?"""
    cls = type(x)
    return cls is not np.ndarray and isinstance(x, np.ndarray) and has_stand_in(cls)


def has_stand_in(cls: type) -> bool:
    """A subclass of np.ndarray that is written in Python; masked arrays are not followed, memory maps and recarrays by other means."""
    return issubclass(cls, np.ndarray) and not issubclass(cls, (np.memmap, np.recarray, np.ma.MaskedArray, np.char.chararray))


def _by_name(name: str) -> Callable[..., Any]:
    """A function that is never run: what it means is looked up."""

    def method(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(f"{name} of an array is not read")

    method.__name__ = name
    return method


def _settable(name: str) -> property:
    return property(_by_name(name), _by_name(f"set {name}"))


def _members(cls: type, names: Sequence[str]) -> dict[str, Any]:
    """A function or a property for everything that a class of NumPy's has under some names."""
    found: dict[str, Any] = {}
    for name in names:
        x = getattr(cls, name)
        if callable(x):
            found[name] = _by_name(name)  # __array_finalize__ too
        elif isinstance(x, (types.GetSetDescriptorType, types.MemberDescriptorType, property)):
            found[name] = _settable(name)
    return found


class ArrayOfClass:
    """Stands for an object of a subclass of np.ndarray."""


setattr(ArrayOfClass, CLASS, np.ndarray)


def array_in(x: ArrayOfClass) -> Any:
    """The numbers of an object: what stands for an array."""
    return vars(x)[ARRAY]


def class_behind(x: ArrayOfClass) -> type:
    """The subclass of np.ndarray that an object is of."""
    return getattr(type(x), CLASS)  # type: ignore[no-any-return]


ROOT: Any = type("ndarray", (ArrayOfClass,), _members(np.ndarray, [n for n in dir(np.ndarray) if n not in _KEPT_OUT]))
ROOT.__hash__ = None
# What np.matrix has itself. Its `__new__` and `__array_finalize__` are no methods of what stands for it.
_OWN = [n for n in vars(np.matrix) if not n.startswith("_") or n.startswith(("__get", "__mul", "__rm", "__im", "__po", "__ip"))]
MATRIX: Any = type("matrix", (ROOT,), {**_members(np.matrix, _OWN), CLASS: np.matrix, "__array_priority__": 10.0})
for _cls in (ROOT, MATRIX):
    _cls.__module__ = "array_classes"  # they are read as classes of the user's are
_made: dict[type, tuple[tuple[Any, ...], type]] = {}


def stand_in(cls: type) -> type:
    """The class of what stands for objects of a subclass of np.ndarray; another one if methods were replaced since."""
    if cls is np.ndarray or cls is np.matrix:
        return ROOT if cls is np.ndarray else MATRIX
    now = tuple((k, v) for c in cls.__mro__ if not issubclass(np.ndarray, c) for k, v in vars(c).items())
    known = _made.get(cls)
    if known is None or len(known[0]) != len(now) or any(a[0] != b[0] or a[1] is not b[1] for a, b in zip(known[0], now)):
        bases = tuple(stand_in(b) if issubclass(b, np.ndarray) else b for b in cls.__bases__)
        left_out = ("__dict__", "__weakref__", "__init_subclass__", "__slots__")
        content = {k: v for k, v in vars(cls).items() if k not in left_out}
        new = types.new_class(cls.__name__, bases, {}, lambda names: names.update(content))
        setattr(new, CLASS, cls)
        known = _made[cls] = (now, new)
    return known[1]


def is_own(method: Any) -> bool:
    """Is a function of a stand-in that of np.ndarray or np.matrix, and not of the user's class?"""
    return getattr(method, "__module__", "") == __name__


def parts_of(x: Any) -> tuple[type, tuple[str, ...], tuple[Any, ...]]:
    """The class of the stand-in, names and values of the attributes of an object of such a class, or of what stands for one."""
    if isinstance(x, ArrayOfClass):
        own = vars(x)
        return type(x), tuple(own), tuple(own.values())
    own = attributes_of(x)
    return stand_in(type(x)), (ARRAY, *own), (x.view(np.ndarray), *own.values())


def attributes_of(x: np.ndarray) -> dict[str, Any]:
    """The attributes that the program knows of; np.matrix has one of its own."""
    return {k: v for k, v in own_dict(x).items() if k != "_getitem" or not isinstance(x, np.matrix)}


class _Bare(np.ndarray):
    """An array that becomes one of another class without being asked by `__array_finalize__`."""


def rebuilt(cls: Any, names: Sequence[str], children: Sequence[Any]) -> Any:
    """What `parts_of` took apart, with other children: an object of the user's class where the first is a NumPy array or number."""
    array, *rest = children
    if not isinstance(array, (np.ndarray, np.generic, float, int, complex)):
        out = object.__new__(cls)
        vars(out).update(zip(names, children))
        return out
    real, owner = np.asarray(array).view(_Bare), getattr(cls, CLASS)
    try:
        real.__class__ = owner
    except TypeError:  # its objects are laid out otherwise
        real = np.asarray(array).view(owner)
    if isinstance(real, np.matrix):
        real._getitem = False  # type: ignore[attr-defined]
    for name, value in zip(names[1:], rest):
        object.__setattr__(real, name, value)
    return real
