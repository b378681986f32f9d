"""Python's functions of numbers (int, abs, round, the module operator) on traced numbers; the table of builtins."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from irad.core.once import import_later
from irad.frontend.control.special import special_method
from irad.frontend.numpy.table import OPERATORS
from irad.frontend.reader import Reader
from irad.frontend.registry import into
from irad.frontend.values.arr import Arr, static_value
from irad.frontend.values.objects import Text, is_traced_deep

Builtin = Callable[..., Any]
BUILTINS: dict[Any, Builtin] = {}
builtin = into(BUILTINS)  # Python functions: the decorated one gets the reader, then their arguments


def _converted(name: str, native: Any) -> Builtin:
    def convert(r: Reader, x: Any = 0, *rest: Any) -> Any:
        content = r.operand(x)
        if isinstance(content, Arr):
            return OPERATORS[name](content)
        if isinstance(content, Text):
            number = import_later("irad.frontend.python.text_pieces").number_shown(content)
            if number is None or rest or (native is int and (number[1] is not None or number[0].name != "i64")):
                raise content.unknown()
            shown, digits = number
            return OPERATORS[name](OPERATORS["round"](shown, digits) if digits is not None else shown)
        method = special_method(r, content, f"__{name}__")
        return r.call(method, []) if method is not None else native(content, *rest)

    return convert


BUILTINS[int] = _converted("int", int)
BUILTINS[float] = _converted("float", float)


@builtin(bool)
def bool_(r: Reader, x: Any = False) -> Any:
    return r.truth(x)


@builtin(abs, operator.abs)
def abs_(r: Reader, x: Any) -> Any:
    return r.operator("abs", x)


@builtin(round)
def round_(r: Reader, x: Any, ndigits: Any = None) -> Any:
    content = r.operand(x)
    static_value(r.operand(ndigits), "the number of digits of round()")
    if isinstance(content, Arr):
        return r.wrap(OPERATORS["round"](content, ndigits))
    method = special_method(r, content, "__round__")
    return r.call(method, [] if ndigits is None else [ndigits]) if method is not None else r.wrap(round(content, ndigits))


@builtin(divmod)
def divmod_(r: Reader, x: Any, y: Any) -> Any:
    if not is_traced_deep([x, y]):
        return r.wrap(divmod(r.operand(x), r.operand(y)))
    return r.wrap(OPERATORS["divmod"](r.operand(x), r.operand(y)))


@builtin(pow)
def pow_(r: Reader, x: Any, y: Any, mod: Any = None) -> Any:
    if mod is None:
        return r.operator("pow", x, y)
    static_value([x, y, mod], "an argument of pow(x, y, mod)")
    return pow(x, y, mod)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "neg", "pos", "lt", "le", "gt", "ge", "eq", "ne", "and_", "or_", "xor", "matmul", "lshift", "rshift", "invert"):  # fmt: skip
    BUILTINS[getattr(operator, _name)] = lambda r, *xs, _n=_name: r.operator(_n, *xs)
BUILTINS[operator.getitem] = lambda r, x, k: r.getitem(x, k)
BUILTINS[operator.setitem] = lambda r, x, k, v: r.setitem(x, k, v)
BUILTINS[operator.truth] = bool_
BUILTINS[operator.concat] = lambda r, x, y: r.operator("add", x, y)
