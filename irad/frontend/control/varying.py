"""Variables that are an array on some paths and a number, or a list that is empty, on the others: `total = 0.0`, then `total = total + x`
under a condition; `best = []`, then `best = np.flatnonzero(x > t)`.

An operation on one is read twice, for the array and for the other, under the bool that says which it is; results of one kind
become one value again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from irad.frontend.control.facts import known
from irad.frontend.control.flow import branch
from irad.frontend.reader import Reader
from irad.frontend.values.objects import Poison, Varying


def varies(xs: Sequence[Any]) -> bool:
    return any(type(x) is Varying for x in xs)


def split(r: Reader, xs: Sequence[Any], f: Callable[..., Any]) -> Any:
    """f(*xs) for each kind of each that varies."""
    for k, x in enumerate(xs):
        if type(x) is Varying:
            one = lambda v, k=k: split(r, [*xs[:k], v, *xs[k + 1 :]], f)
            if known(r, x.there):
                return one(x.value)
            if known(r, x.there, False):
                return one(x.other)
            out = branch(r, x.there, lambda: one(x.value), lambda: one(x.other))  # noqa: B023
            if isinstance(out, Poison):
                raise out.error("what is computed of it")
            return out
    return f(*xs)


def call(r: Reader, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """fn(*args, **kwargs) of a function that is not the program's, where an argument varies."""
    n = len(args)
    return split(r, [*args, *kwargs.values()], lambda *xs: r.call(fn, list(xs[:n]), dict(zip(kwargs, xs[n:]))))


def call_on_items(r: Reader, fn: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """fn(*args, **kwargs), where an item of an argument that is a list or tuple varies: `np.concatenate([x, y])`."""
    k = next(k for k, x in enumerate(args) if type(x) in (list, tuple) and varies(x))
    return split(r, args[k], lambda *items: r.call(fn, [*args[:k], type(args[k])(items), *args[k + 1 :]], kwargs))


def of_each_kind_of_key(f: Callable[..., Any]) -> Callable[..., Any]:
    """f(r, obj, key, ...) for each kind of a key that varies, or of a part of it."""

    @functools.wraps(f)
    def call(r: Reader, obj: Any, key: Any, *rest: Any, **named: Any) -> Any:
        if type(key) is tuple:
            return (
                split(r, key, lambda *parts: f(r, obj, parts, *rest, **named)) if varies(key) else f(r, obj, key, *rest, **named)
            )
        return split(r, (key,), lambda k: f(r, obj, k, *rest, **named))

    return call
