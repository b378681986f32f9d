"""Variables that are an array on some paths and a number, list or tuple on the others: `total = 0.0`, then `total = total + x`
under a condition; `best = []`, then `best = np.flatnonzero(x > t)`. And those that are one of several functions, classes or members of
an enumeration, by data (irad.frontend.values.choices).

An operation on one is read once for each thing that it may be, under the condition that it is that one; results of one kind become
one value again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from irad.core.foreign import is_mapped
from irad.errors import ShapeError
from irad.frontend.control.facts import assume, known
from irad.frontend.control.flow import branch, by_halves
from irad.frontend.control.regions import Dead, raise_always
from irad.frontend.reader import Reader
from irad.frontend.values.objects import Choice, Nullable, Poison, Varying
from irad.ops.text import escaped

KINDS = (Varying, Choice)


def varies(xs: Sequence[Any]) -> bool:
    return any(type(x) in KINDS for x in xs)


def split(r: Reader, xs: Sequence[Any], f: Callable[..., Any]) -> Any:
    """f(*xs) for each kind of each that varies."""
    for k, x in enumerate(xs):
        if type(x) is Varying:
            one = functools.partial(_with, r, xs, k, f)
            if known(r, x.there):
                return one(x.value)
            if known(r, x.there, False):
                return _of_other(r, x.other, one)
            out = branch(r, x.there, lambda: _where(r, x, True, one), lambda: _where(r, x, False, one))  # noqa: B023
            if isinstance(out, Poison):
                raise out.error("what is computed of it")
            return out
        if type(x) is Choice:
            return _each(r, x, functools.partial(_with, r, xs, k, f))
    return f(*xs)


def _where(r: Reader, x: Varying, there: bool, f: Callable[[Any], Any]) -> Any:
    """f of what x is on one side, where that is known; what has shapes that do not fit raises where the program comes there."""
    assume(r, x.there, there)
    try:
        return f(x.value) if there else _of_other(r, x.other, f)
    except ShapeError as e:
        raise_always("ValueError", escaped(str(e.args[0])))
        raise Dead from None


def _of_other(r: Reader, v: Any, f: Callable[[Any], Any]) -> Any:
    """f of what is no array, which may be None."""
    return branch(r, v.there, lambda: f(v.value), lambda: f(None)) if type(v) is Nullable else f(v)


def _with(r: Reader, xs: Sequence[Any], k: int, f: Callable[..., Any], v: Any) -> Any:
    return split(r, [*xs[:k], v, *xs[k + 1 :]], f)


def _each(r: Reader, x: Choice, f: Callable[[Any], Any]) -> Any:
    """f of the thing that x is."""
    out = by_halves(r, x.at, range(len(x.options)), lambda k: f(x.options[k]))
    if isinstance(out, Poison):
        raise out.error("what is computed of it")
    return out


def call(r: Reader, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """fn(*args, **kwargs) of a function that is not the program's, where an argument varies."""
    n = len(args)
    return split(r, [*args, *kwargs.values()], lambda *xs: r.call(fn, list(xs[:n]), dict(zip(kwargs, xs[n:]))))


def call_on_items(r: Reader, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """fn(*args, **kwargs), where an item of an argument that is a list or tuple varies: `np.concatenate([x, y])`."""
    k = next(k for k, x in enumerate(args) if type(x) in (list, tuple) and any(type(e) is Varying for e in x))
    return split(r, args[k], lambda *items: r.call(fn, [*args[:k], type(args[k])(items), *args[k + 1 :]], kwargs))


def of_each_kind_of_key(f: Callable[..., Any]) -> Callable[..., Any]:
    """f(r, obj, key, ...) for each kind of a key that varies, or of a part of it."""

    @functools.wraps(f)
    def call(r: Reader, obj: Any, key: Any, *rest: Any, **named: Any) -> Any:
        if is_mapped(obj):  # its methods look for any key
            return f(r, obj, key, *rest, **named)
        if type(key) is tuple:
            return (
                split(r, key, lambda *parts: f(r, obj, parts, *rest, **named)) if varies(key) else f(r, obj, key, *rest, **named)
            )
        return split(r, (key,), lambda k: f(r, obj, k, *rest, **named))

    return call
