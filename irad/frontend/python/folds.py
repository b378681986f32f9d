"""sum, max and min over what is known, over arrays and over generators that are loops."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.foreign import is_instance
from irad.core.ir import Value
from irad.frontend.control.flow import branch
from irad.frontend.control.generators import as_stream, best, folded, made, opened, uncounted, where_found
from irad.frontend.control.sequences import Generator, Seq, Stream, iterate, positions, used_up
from irad.frontend.control.special import compares_itself, in_any_order
from irad.frontend.python.numbers import builtin
from irad.frontend.python.sums import from_a_number
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, is_weak, lift
from irad.frontend.values.objects import Array, describe, is_number, is_traced_deep, python_method
from irad.frontend.values.runs import has_run
from irad.ops.control import raise_if
from irad.ops.elementwise import maximum, minimum, select


def fold(r: Reader, obj: Any, start: Any, step: Callable[[Any, Any], Any]) -> Any:
    """step(...step(start, x0)..., xn) over an iterable: a loop where it rolls and is long or of unknown length."""
    obj = opened(r, obj)
    stream = None if isinstance(obj, Generator) and obj.element is not None else as_stream(obj)
    if stream is not None:
        total = folded(r, stream, start, step)
        used_up(r, obj)
        return total
    seq = iterate(r, obj)
    if seq.rolls and (isinstance(seq.length, Arr) or seq.length > 8):
        total = r.fold(seq, start, step)
    else:
        total = start
        for i in positions(seq):
            total = step(total, seq.get(i))
    used_up(r, obj)
    return total


@builtin(sum)
def sum_(r: Reader, iterable: Any, /, start: Any = 0) -> Any:
    iterable = opened(r, in_any_order(r, iterable))
    if isinstance(iterable, Array) and len(iterable.shape) == 1 and not isinstance(r.read(iterable), np.ndarray):
        return fold(r, iterable, start, lambda a, x: r.operator("add", a, x))
    if not is_traced_deep(iterable) and not isinstance(iterable, (Seq, Generator, Stream, Array)):
        items = r.items(iterable)
        if not any(isinstance(x, (Arr, Array)) or is_instance(x) for x in [start, *items]):
            return builtins.sum(items, start)
        iterable = items
    if not is_number(start) or isinstance(iterable, (list, tuple)) and not has_run(iterable):
        return fold(r, iterable, start, lambda a, x: r.operator("add", a, x))
    return from_a_number(r, start, lambda first, step: fold(r, iterable, first, step))


@builtin(max)
def max_(r: Reader, *args: Any, key: Any = None, **kwargs: Any) -> Any:
    return _extreme(r, "gt", max, args, key, kwargs)


@builtin(min)
def min_(r: Reader, *args: Any, key: Any = None, **kwargs: Any) -> Any:
    return _extreme(r, "lt", min, args, key, kwargs)


def _extreme(r: Reader, better: str, native: Any, args: tuple[Any, ...], key: Any, kwargs: dict[str, Any]) -> Any:
    """max or min: the first of the best ones, by Python's comparisons (so a NaN wins only if it comes first)."""
    obj = opened(r, args[0] if key is not None else in_any_order(r, args[0])) if len(args) == 1 else args
    if isinstance(obj, (Arr,)):
        raise TypeError(f"{describe(obj)} is not iterable")
    counted = has_run(obj) or (isinstance(obj, Array) and obj.shape and not isinstance(obj.shape[0], int))
    if key is None and len(args) == 1 and counted and "default" not in kwargs:
        obj = _some(r, iterate(r, obj), native.__name__)
    if key is None and len(args) == 1 and isinstance(obj, (Array, Seq)) and _long(obj):
        seq = iterate(r, obj)
        return fold(r, Seq(r.operator("sub", seq.length, 1), lambda i: seq.get(r.operator("add", i, 1)), seq.rolls), seq.get(0),
                    lambda a, x: _better(r, better, a, x))  # fmt: skip
    stream = uncounted(r, obj)
    if stream is not None:
        return _best(r, stream, better, native, key, kwargs)
    items = r.items(obj)
    if not items:
        if "default" in kwargs:
            return kwargs["default"]
        raise ValueError(f"{native.__name__}() iterable argument is empty")
    if key is not None:
        return _extreme_by_key(r, better, items, key)
    if not any(isinstance(x, (Arr, Array)) or is_traced_deep(x) or compares_itself(x) for x in items):
        return native(items)
    best = items[0]
    for x in items[1:]:
        best = _better(r, better, best, x)
    return best


def _best(r: Reader, stream: Stream, better: str, native: Any, key: Any, kwargs: dict[str, Any]) -> Any:
    """max or min of a generator."""
    found = made(r, best, stream, getattr(operator, better), key)
    default = [kwargs["default"]] if "default" in kwargs else []
    return where_found(r, found, "ValueError", f"{native.__name__}() iterable argument is empty", *default)


def _some(r: Reader, seq: Seq, name: str) -> Seq:
    """A sequence of which the extreme element is wanted: ValueError where it is empty."""
    if isinstance(seq.length, Arr):
        empty = r.operator("eq", seq.length, 0)
        raise_if(empty.value, exc="ValueError", message=f"{name}() iterable argument is empty")
    return seq


def _long(obj: Any) -> bool:
    n = obj.shape[0] if isinstance(obj, Array) and obj.shape else obj.length if isinstance(obj, Seq) else 0
    return not isinstance(n, int) or n > 8


def _better(r: Reader, name: str, best: Any, x: Any) -> Any:
    wins = r.truth(r.operator(name, x, best))
    if not isinstance(wins, Arr):
        return x if wins else best
    both = _alike(x, best)
    if both is not None and both[0].type.dtype[0] in "iu":
        return Arr((maximum if name == "gt" else minimum)(*both[:2]), both[2])
    if both is not None:
        return Arr(select(wins.value, *both[:2]), both[2])
    return branch(r, wins, lambda: x, lambda: best)


def _alike(x: Any, y: Any) -> tuple[Value, Value, bool] | None:
    """Two numbers of one kind, as values."""
    if not (is_number(x) and is_number(y)):
        return None
    weak = [is_weak(v) or isinstance(v, bool) or (isinstance(v, Arr) and v.weak) for v in (x, y)]
    a, b = lift(x), lift(y)
    if weak[0] != weak[1] or a.name != b.name:
        return None
    return a.value, b.value, weak[0]


def _extreme_by_key(r: Reader, better: str, items: list[Any], key: Any) -> Any:
    if r.several().many(items):
        place = _best_by_key(r, better, [*range(len(items))], lambda k: r.call(key, [items[k]]))
        return r.several().of(r, items, place) if isinstance(place, Arr) else items[place]
    return _best_by_key(r, better, items, lambda x: r.call(key, [x]))


def _best_by_key(r: Reader, better: str, items: list[Any], key: Callable[[Any], Any]) -> Any:
    best, best_key = items[0], key(items[0])
    for x in items[1:]:
        k = key(x)
        wins = r.truth(r.operator(better, k, best_key))
        if isinstance(wins, Arr):
            best, best_key = branch(r, wins, lambda x=x, k=k: (x, k), lambda b=best, bk=best_key: (b, bk))  # type: ignore[misc]
        elif wins:
            best, best_key = x, k
    return best


def ordered_by_class(x: Any) -> bool:
    """Does the class of an object say how it is compared?"""
    return any(python_method(x, name) is not None for name in ("__lt__", "__gt__"))
