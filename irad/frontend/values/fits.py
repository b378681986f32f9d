"""Numbers that become elements of narrower dtypes: checked at run time as NumPy checks them, unless their bounds show that they fit."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from irad.core.ir import Value
from irad.core.types import DTYPES, is_complex, is_int
from irad.errors import IradOverflowError
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to, eq, logical_or, ne, trunc
from irad.ops.intervals import bound, int_range, interval

if TYPE_CHECKING:
    from irad.frontend.values.arr import Arr


def check_scalar(x: Arr, dtype: str) -> None:
    """NumPy's scalars go into signed integers by way of Python's int, which raises where they do not fit; arrays are cast."""
    if x.weak or x.shape or not is_int(dtype) or dtype[0] == "u" or x.name == "bool" or is_complex(x.name):
        return
    if not is_int(x.name):
        check_whole(x.value, dtype)
    elif x.name == "u64" and interval(x.value)[1] >= 2**63:
        large = x.value > 2**63 - 1
        raise_if(large, exc="OverflowError", message="Python int too large to convert to C long")
        check_fits(cast_to(x.value, "i64"), dtype)
    elif x.name != dtype:
        check_fits(cast_to(x.value, "i64"), dtype)


def check_whole(v: Value, dtype: str) -> None:
    """A float that becomes an element of an integer array on its own is checked at run time, as NumPy checks it."""
    x = cast_to(v, "f64")
    lo, hi = int_range(dtype)
    a, b = interval(x)
    if lo <= a and b <= hi:
        return
    raise_if(ne(x, x), exc="ValueError", message="cannot convert float NaN to integer")
    whole = trunc(x)
    infinite = eq(abs(x), float("inf"))
    raise_if(infinite, exc="OverflowError", message="cannot convert float infinity to integer")
    end = 2.0**64 if dtype == "u64" else 2.0**63
    large = (whole < -(2.0**63)) | (whole >= end)
    raise_if(large, exc="OverflowError", message="Python int too large to convert to C long")
    if dtype == "u64":
        negative = whole < 0
        raise_if(negative, whole, exc="OverflowError", message="Python integer {:.0f} out of bounds for uint64")
    elif dtype != "i64":
        check_fits(cast_to(whole, "i64"), dtype)


def check_fits(v: Value, dtype: str) -> None:
    """An int is checked at run time to fit a dtype, unless its interval shows it."""
    lo, hi = int_range(dtype)
    a, b = interval(v)
    if b < lo or a > hi:
        raise IradOverflowError(f"Python integer out of bounds for {DTYPES[dtype]}")
    checks = [v < lo] if a < lo else []
    checks += [v > hi] if b > hi else []
    if checks:
        bad = reduce(logical_or, checks)
        raise_if(bad, v, exc="OverflowError", message=f"Python integer {{}} out of bounds for {DTYPES[dtype]}")
        bound(v, lo, hi)
