"""Python compares an int with a float exactly, however large the int is: not by the float nearest to it."""

from __future__ import annotations

import operator
import sys
from typing import Any

from irad.core.ir import Value
from irad.frontend.values.arr import Arr, dtype_of, lift
from irad.ops import elementwise as ew
from irad.ops.constant import scalar
from irad.ops.elementwise import cast_to, select
from irad.ops.intervals import DOUBLES, HIGHEST, LOWEST, interval

_SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def compared_exactly(name: str, x: Any, y: Any) -> Value | None:
    """x op y of Python numbers of which one is an int that may not be a double or has more than 64 bits; None of all others."""
    kinds = [dtype_of(v).replace("bool", "i64") for v in (x, y)]
    if kinds[1] == "i64" and kinds[0] != "i64":
        x, y, name, kinds = y, x, _SWAPPED[name], kinds[::-1]
    if kinds == ["i64", "f64"]:
        return _with_float(name, x, lift(y).value)
    if kinds == ["i64", "i64"]:
        for a, op in ((x, name), (y, _SWAPPED[name])):
            if not isinstance(a, Arr) and not LOWEST <= a <= HIGHEST:
                return scalar(getattr(operator, op)(a, 0), "bool")  # beyond every int that the other one may be
    return None


def _with_float(name: str, n: Any, x: Value) -> Value | None:
    if isinstance(n, Arr):
        lo, hi = interval(n.value)
        return None if -DOUBLES <= lo and hi <= DOUBLES else _traced_with_float(name, cast_to(n.value, "i64"), x)
    if -DOUBLES <= n <= DOUBLES:
        return None
    try:
        f = float(n)
    except OverflowError:
        f = sys.float_info.max if n > 0 else -sys.float_info.max
    near = scalar(f, "f64")
    if f == n:
        return getattr(ew, name)(near, x)
    if name in ("eq", "ne"):
        return scalar(name == "ne", "bool")
    above = f > n  # n lies between the float and its neighbour on this side
    return getattr(ew, {"lt": "le" if above else "lt", "le": "le" if above else "lt"}.get(name, "gt" if above else "ge"))(near, x)


def _traced_with_float(name: str, n: Value, x: Value) -> Value:
    """Compare the float nearest to n where that differs from x; elsewhere compare ints."""
    f = cast_to(n, "f64")
    if name == "ne":
        return ~_traced_with_float("eq", n, x)
    tie, fits = ew.eq(f, x), x < 2.0**63
    m = cast_to(select(fits, x, 0), "i64")
    among = getattr(ew, name)(n, m)
    if name in ("lt", "le"):
        return (f < x) | tie & (~fits | among)
    tied = tie & (fits & among)
    return tied if name == "eq" else (f > x) | tied
