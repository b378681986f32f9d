"""Ranges of which data decide the bounds, or which of several known ones it is: how long they are, and their elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irad.errors import IradTypeError, UnsupportedError
from irad.frontend.control.sequences import element_of
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, NeedStatic
from irad.frontend.values.choices import one_of
from irad.frontend.values.objects import Choice, describe
from irad.ops.control import raise_if
from irad.ops.elementwise import eq
from irad.ops.intervals import interval

Progression = tuple[Any, Callable[[Any], Any]]  # the length, and the element at a position


def of_bounds(r: Reader, args: Sequence[Any]) -> Progression:
    """range(...) with at least one traced bound."""
    for a in args:
        if not isinstance(a, (int, Arr)) or (isinstance(a, Arr) and a.name[0] not in "iu"):
            raise IradTypeError(f"range wants integers, got {describe(a)}")
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    if isinstance(step, Arr):
        lo, hi = interval(step.value)
        if lo <= 0 <= hi:
            raise_if(eq(step.value, 0), exc="ValueError", message="range() arg 3 must not be zero")
        if lo < 0 < hi:
            raise NeedStatic(step, "the sign of the step of a range")
        up = lo >= 0
    else:
        if step == 0:
            raise ValueError("range() arg 3 must not be zero")
        up = step > 0
    return _count(r, start, stop, step, up), lambda i: element_of(r, start, i, step)


def _count(r: Reader, start: Any, stop: Any, step: Any, up: bool) -> Any:
    """max(0, ceil((stop - start) / step))."""
    span = r.operator("sub", stop, start) if up else r.operator("sub", start, stop)
    size = step if up else r.operator("neg", step)
    if not (isinstance(size, int) and size == 1):
        span = r.operator("floordiv", r.operator("add", span, r.operator("sub", size, 1)), size)
    return r.call(max, [0, span]) if not (isinstance(span, Arr) and interval(span.value)[0] >= 0) else span


def of_choice(r: Reader, x: Choice) -> Progression:
    """One of several ranges, by data."""
    if all(type(o) is tuple for o in x.options):
        return _of_tuples(r, x)
    if not all(isinstance(o, range) for o in x.options):
        raise UnsupportedError(
            f"a loop goes over {one_of(x.options)}, by data; write the loop in a method or function that is called of each "
            "(xs.total() instead of for v in xs), or go over a list that is made on both paths"
        )
    start, step, length = (r.getitem([f(o) for o in x.options], x.at) for f in (lambda o: o.start, lambda o: o.step, len))
    return length, lambda i: element_of(r, start, i, step)


def _of_tuples(r: Reader, x: Choice) -> Progression:
    """One of several tuples of numbers, by data, of which one after another stands in one list."""
    width = max(map(len, x.options))
    rows = [[*o, *[0] * (width - len(o))] for o in x.options]
    flat = [e for row in rows for e in row]
    at = lambda i: r.operator("add", r.operator("mul", x.at, width), i)
    return r.getitem([len(o) for o in x.options], x.at), lambda i: r.getitem(flat, at(i))
