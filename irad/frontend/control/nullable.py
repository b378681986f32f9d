"""Variables that are None on some paths and something else on others: a value, and a traced bool that says whether it is there.

What needs the value checks the bool, unless it is known to hold, see irad.frontend.control.facts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.control.facts import known, note
from irad.frontend.control.flow import branch, conjunction, disjunction, inverse, negated
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Array, Nullable, class_of_number, describe, is_number
from irad.ops.control import raise_if
from irad.ops.text import escaped

NEEDED = "is None here, and compiled code needs its value"
"""The end of the message where Python might go on with None: no handler of the program catches it."""

_SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "** or pow()", "matmul": "@", "and_": "&",
    "or_": "|", "xor": "^", "lshift": "<<", "rshift": ">>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "neg": "-", "pos": "+",
    "invert": "~",
}  # fmt: skip


def narrowed(r: Reader, x: Nullable) -> Any:
    """The value, if it is known to be there; else x."""
    return x.value if known(r, x.there) else x


def definite(r: Reader, x: Nullable, what: str) -> Any:
    """The value where one is needed. Where it is None, TypeError is raised at run time."""
    return needed(r, x, f"{what} {NEEDED}")


def needed(r: Reader, x: Nullable, message: str) -> Any:
    """The value where Python raises TypeError if it is None."""
    if not known(r, x.there):
        raise_if(~x.there.value, exc="TypeError", message=escaped(message))
        note(r, x.there.value, True)
    return x.value


def is_none(x: Nullable) -> Arr:
    return negated(x.there)


def truth(r: Reader, x: Nullable) -> Any:
    """bool(x): None is false."""
    if is_number(x.value):
        return conjunction(x.there, r.truth(x.value))
    return branch(r, x.there, lambda: r.truth(x.value), lambda: False)


def identical(r: Reader, x: Any, y: Any) -> Any:
    """x is y, where one of them may be None."""
    if not isinstance(x, Nullable):
        x, y = y, x
    if y is None:
        return is_none(x)
    if isinstance(y, Nullable):
        if x.there.value is y.there.value and x.value is y.value:
            return True
        raise UnsupportedError("'is' of two variables that may be None; test each with 'is None', and compare with ==")
    return conjunction(x.there, r.identical(x.value, y))


def operator(r: Reader, name: str, *xs: Any) -> Any:
    """A Python operator on operands of which some may be None."""
    if name in ("eq", "ne"):
        same = _equal(r, *xs)
        if name == "eq":
            return same
        return inverse(same)
    return r.operator(name, *operands(r, name, *xs))


def operands(r: Reader, name: str, *xs: Any, suffix: str = "") -> list[Any]:
    """The operands of an operator (with `suffix`: of an assignment) that are there; else TypeError with Python's words."""
    kinds = ["NoneType" if isinstance(x, Nullable) else _class_name(x) for x in xs]
    symbol = ("**" if suffix and name == "pow" else _SYMBOLS[name]) + suffix
    if len(xs) == 1:
        words = f"bad operand type for unary {symbol}: 'NoneType'"
    elif name in ("lt", "le", "gt", "ge"):
        words = f"'{symbol}' not supported between instances of '{kinds[0]}' and '{kinds[1]}'"
    else:
        words = f"unsupported operand type(s) for {symbol}: '{kinds[0]}' and '{kinds[1]}'"
    return [needed(r, x, words) if isinstance(x, Nullable) else x for x in xs]


def _class_name(x: Any) -> str:
    """The class as Python's message names it: NumPy lets float and complex speak for its own."""
    if not is_number(x):
        return "ndarray" if isinstance(x, Array) else type(x).__name__
    cls = class_of_number(x)
    return next((k.__name__ for k in (float, complex) if issubclass(cls, k)), cls.__name__)


def _equal(r: Reader, x: Any, y: Any) -> Any:
    """x == y: None equals None only."""
    if not isinstance(x, Nullable):
        x, y = y, x
    if y is None:
        return is_none(x)
    if any(isinstance(v.value if isinstance(v, Nullable) else v, (Array, np.ndarray)) for v in (x, y)):
        raise UnsupportedError(f"== of {describe(x)} and {describe(y)}; test with 'is None' first")
    if isinstance(y, Nullable):
        both = conjunction(x.there, y.there)
        return disjunction(conjunction(is_none(x), is_none(y)), conjunction(both, _same_where(r, both, x.value, y.value)))
    return conjunction(x.there, _same_where(r, x.there, x.value, y))


def _same_where(r: Reader, there: Arr, x: Any, y: Any) -> Any:
    if is_number(x) and is_number(y):
        return r.truth(r.operator("eq", x, y))
    return branch(r, there, lambda: r.truth(r.operator("eq", x, y)), lambda: False)
