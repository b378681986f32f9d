"""What a compiled function may return beside numbers and arrays: what Python would give again at the next call."""

from __future__ import annotations

import enum
import functools
import numbers
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from irad.core.foreign import is_library
from irad.core.lazy_dataclass import dataclass
from irad.core.tree import flatten, register
from irad.errors import UnsupportedError
from irad.frontend.control.lists import with_items
from irad.frontend.control.sequences import Generator, Seq, Stream
from irad.frontend.reader import Reader
from irad.frontend.transforms.custom import Special
from irad.frontend.transforms.transform import Transform
from irad.frontend.values.callables import Callback, Native
from irad.frontend.values.choices import number_of, options
from irad.frontend.values.objects import (
    Array,
    Choice,
    Closure,
    Method,
    Nullable,
    Stand,
    Text,
    Varying,
    holds_traced,
    is_number,
    is_traced_deep,
)
from irad.frontend.values.unfit import UNFIT

_HEAP_TYPE = 1 << 9
_FUNCTIONS = (Closure, Method, Native, Callback, Special)
_MADE_OF_FUNCTIONS = (types.MethodType, functools.partial, Transform)


@dataclass(frozen=True, eq=False)
class Perhaps:
    """A part of a result that is `value`, or `other` (None, or a number) where the bool `there` does not hold."""

    there: Any
    value: Any
    other: Any = None


@dataclass(frozen=True, eq=False)
class Chosen:
    """A part of a result that is one of some strings or known things: the one of a number."""

    options: tuple[Any, ...]
    at: Any


register(Chosen, lambda x: ((x.at,), x.options), lambda options, given: options[given[0]])
register(Perhaps, lambda x: ((x.there, x.value, x.other), None), lambda _, given: given[1] if given[0] else given[2])


def with_perhaps(r: Reader, out: Any) -> Any:
    """A result in which what may be None is said to be so."""
    leaves, tree = flatten(out, lambda x: is_number(x) or isinstance(x, (Array, *UNFIT)), r.is_opened, nondiff=True)
    if not any(isinstance(x, (Nullable, Choice, Text)) for x in leaves):
        return out
    return tree.unflatten([_given(r, x) for x in leaves])


def _given(r: Reader, x: Any) -> Any:
    if isinstance(x, Nullable):
        return Perhaps(x.there, with_perhaps(r, with_items(r, x.value, False)), x.other if isinstance(x, Varying) else None)
    found = options(x) if isinstance(x, (Choice, Text)) else None
    if found is None:
        return x
    check_returned(r, list(found))
    return Chosen(found, number_of(x))


def check_returned(r: Reader, statics: list[Any]) -> None:
    """Raises UnsupportedError for a part of a result that stands for something while a function is read, and only then."""
    for x in statics:
        if isinstance(x, np.ndarray) and r.captures.path(x) is None:
            x.flags.writeable = False  # of times or texts: all calls return this one
        what = _unreturnable(r, x)
        if what:
            raise UnsupportedError(
                f"{what} cannot be returned from compiled code: return the numbers and arrays that it is made of, in tuples, "
                "lists, dicts, dataclasses, or a class given to irad.register_type"
            )


def _unreturnable(r: Reader, x: Any) -> str:
    """A name of x if the caller could not use it, else ""."""
    if isinstance(x, (Seq, Generator, Stream, Iterator)):
        return "an iterator"
    if isinstance(x, slice):
        return "a slice that depends on data" if is_traced_deep(x) else ""
    if isinstance(x, Stand):
        return f"a {x.cls.__name__}"
    if isinstance(x, _FUNCTIONS):
        return "a function made in compiled code"
    if r.captures.path(x) is not None or isinstance(x, (type, enum.Enum, np.dtype, numbers.Number)):
        return ""
    if isinstance(x, _MADE_OF_FUNCTIONS):
        return "a function made in compiled code"
    cls = type(x)
    if cls.__flags__ & _HEAP_TYPE and (not is_library(cls.__module__) or holds_traced(x)):
        return f"an object of class {cls.__name__} made in compiled code"
    return ""
