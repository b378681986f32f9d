"""Tracing through NumPy's protocols: for callees whose source cannot be read (exec, C code that calls back).

The callee is run by Python on `TracerArray`s. What it does with them by operators, indexing, NumPy functions and methods
goes through the same table as code that is read; what would need a number (`bool`, `float`, a branch, `np.asarray`) raises.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from irad.core.foreign import CODE, advice, is_instance, is_library, is_value, with_article, with_each
from irad.core.once import import_later
from irad.core.structured import Bytes, Structured
from irad.errors import UnsupportedError
from irad.frontend.reader import Reader
from irad.frontend.reading.subscripts import augmented
from irad.frontend.reading.unread import rely_on
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Array, Closure, Method, Stand, describe, is_traced_deep


class TracerArray:
    """Stands for a traced array or number inside code that is run and not read."""

    __slots__ = ("_reader", "_object", "_callee")
    __array_priority__ = 1000.0

    def __init__(self, reader: Reader, obj: Any, callee: str):
        self._reader, self._object, self._callee = reader, obj, callee

    def _wrap(self, x: Any) -> Any:
        return wrap(self._reader, x, self._callee)

    # ---- NumPy ----

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        fn = ufunc if method == "__call__" else getattr(ufunc, method)
        return self._wrap(self._reader.call(fn, list(map(unwrap, inputs)), unwrap(kwargs)))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return self._wrap(self._reader.call(func, list(unwrap(args)), unwrap(kwargs)))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise self._needs("a NumPy array of it is made")

    # ---- objects ----

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        out = self._reader.getattr(self._object, name)
        return self._wrap(out)

    def __getitem__(self, key: Any) -> Any:
        return self._wrap(self._reader.getitem(self._object, unwrap(key)))

    def __setitem__(self, key: Any, value: Any) -> None:
        self._reader.setitem(self._object, unwrap(key), unwrap(value))

    def __len__(self) -> int:
        n = self._reader.call(len, [self._object])
        if isinstance(n, Arr):
            raise self._needs("its length is needed")
        return int(n)

    def __iter__(self) -> Iterator[Any]:
        return iter([self._wrap(x) for x in self._reader.items(self._object)])

    def __repr__(self) -> str:
        return f"<traced: {describe(self._object)}>"

    def __str__(self) -> str:
        raise self._needs("the text of a traced value is needed")

    def __format__(self, spec: str) -> str:
        raise self._needs("the text of a traced value is needed")

    # ---- what would need its number ----

    def _needs(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"{what} ({describe(self._object)}) in {self._callee}, whose source cannot be read, so control flow in it cannot "
            "depend on traced values; define it in a file, or pass the number as a static argument"
        )

    def __bool__(self) -> bool:
        raise self._needs("the truth value of a traced value is needed")

    def __float__(self) -> float:
        raise self._needs("a traced value is converted to a Python float")

    def __int__(self) -> int:
        raise self._needs("a traced value is converted to a Python int")

    def __index__(self) -> int:
        raise self._needs("a traced value is used as an index or a count")

    def __complex__(self) -> complex:
        raise self._needs("a traced value is converted to a Python complex")

    def __hash__(self) -> int:
        raise self._needs("a traced value is used as a key")


def _binary(name: str) -> Callable[..., Any]:
    return lambda self, other: self._wrap(self._reader.operator(name, self._object, unwrap(other)))


def _reflected(name: str) -> Callable[..., Any]:
    return lambda self, other: self._wrap(self._reader.operator(name, unwrap(other), self._object))


def _unary(name: str) -> Callable[..., Any]:
    return lambda self: self._wrap(self._reader.operator(name, self._object))


def _in_place(name: str) -> Callable[..., Any]:
    return lambda self, other: self._wrap(augmented(self._reader, name, self._object, unwrap(other)))


_ARITHMETIC = "add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift".split()
for _name in _ARITHMETIC:
    _dunder = _name.rstrip("_")
    setattr(TracerArray, f"__{_dunder}__", _binary(_name))
    setattr(TracerArray, f"__r{_dunder}__", _reflected(_name))
    setattr(TracerArray, f"__i{_dunder}__", _in_place(_name))
for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(TracerArray, f"__{_name}__", _binary(_name))
for _name in ("neg", "pos", "invert", "abs"):
    setattr(TracerArray, f"__{_name}__", _unary(_name))


def wrap(r: Reader, x: Any, callee: str) -> Any:
    """A value of the reader as code that is run sees it."""
    if isinstance(x, Array) and not is_traced_deep(x):
        return r.operand(x)
    if isinstance(x, (Arr, Array, Stand)):
        return TracerArray(r, x, callee)
    if isinstance(x, (Structured, Bytes)):
        raise UnsupportedError(f"{describe(x)} is given to {callee}, whose source cannot be read; give it the fields")
    inside = with_each(lambda e: wrap(r, e, callee), x)
    if inside is not x:
        return inside
    if isinstance(x, (Method, Closure)) or isinstance(x, types.FunctionType) and not is_library(x.__module__):
        return lambda *args, **kwargs: wrap(r, r.call(x, list(unwrap(args)), unwrap(kwargs)), callee)
    if is_instance(x) and not is_value(x) and not isinstance(x, CODE):
        raise UnsupportedError(
            f"{describe(x)} is given to {callee}, which cannot be read: it would be looked at once, at compile time; "
            + (advice(x) if hasattr(type(x), "to_numpy") else "give it the numbers and arrays")
        )
    return x


def unwrap(x: Any) -> Any:
    """The way back."""
    if isinstance(x, TracerArray):
        return x._object
    return with_each(unwrap, x)


def run_without_source(r: Reader, fn: Any, args: list[Any], kwargs: dict[str, Any], why: str) -> Any:
    """Run a callee that cannot be read, on tracers. Raises UnsupportedError, with the reason `why`, where that fails."""
    name = getattr(fn, "__name__", None) or with_article(type(fn).__name__)
    if inspect.isgeneratorfunction(fn):
        raise UnsupportedError(f"generator function {name}: collect the values in a list or array and return it")
    if isinstance(fn, types.FunctionType) and not is_library(fn.__module__):
        rely_on(r.captures, fn, name)
    try:
        out = fn(*(wrap(r, a, name) for a in args), **{k: wrap(r, v, name) for k, v in kwargs.items()})
    except (TypeError, ValueError) as e:
        if isinstance(e, UnsupportedError):
            raise
        text = str(e).replace(TracerArray.__name__, "a traced value")
        raise UnsupportedError(
            f"{name} cannot be read ({why}), and does not work on traced values: {text}; call it outside, or through irad.callback"
        ) from e
    return r.wrap(unwrap(out))


def elements(r: Reader, x: Any) -> Any:
    """The items of an object that has `__len__` and `__getitem__`, as a list; data may decide how many there are."""
    n = r.call(len, [x])
    if isinstance(n, Arr):
        return r.call(import_later("irad.frontend.library.python.standard").elements, [x])
    return [r.getitem(x, k) for k in range(n)]
