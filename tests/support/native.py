"""Helpers of the code generation tests: run a kernel on NumPy arrays; a few lowering rules of their own."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from irad.codegen import jit
from irad.codegen.emit.kernels import emit
from irad.codegen.kernel.form import Apply, Const, Kernel, Let
from irad.codegen.kernel.parse import parse
from irad.codegen.kernel.show import show, simplest
from irad.core.affine import Affine

_ARITH = {"add": "add", "sub": "sub", "mul": "mul", "logical_and": "and_", "logical_or": "or_", "bitwise_xor": "xor"}


def _exact(name: str) -> Callable[..., Any]:
    return lambda E, a, dtype: E.intrinsic(name, *a)


def _minmax(pred: str) -> Callable[..., Any]:
    def rule(E: Any, a: Any, dtype: str) -> Any:
        if dtype[0] != "f":
            return E.select(E.cmp(pred, a[0], a[1]), a[0], a[1])
        return E.intrinsic("maximum" if pred == "gt" else "minimum", *a)

    return rule


def _floordiv(E: Any, a: Any, dtype: str) -> Any:
    """Truncating division of nonnegative integers; inactive lanes divide by 1."""
    x, y = a
    y = E.select(E.mask, y, E.const(1, dtype)) if E.mask is not None else y
    return E.sdiv(x, y) if dtype[0] == "i" else E.udiv(x, y)


RULES: dict[str, Callable[..., Any]] = {
    **{k: (lambda E, a, dtype, m=m: getattr(E, m)(*a)) for k, m in _ARITH.items()},
    **{k: (lambda E, a, dtype, k=k: E.cmp(k, *a)) for k in ("lt", "le", "gt", "ge", "eq", "ne")},
    "div": lambda E, a, dtype: E.fdiv(*a),
    "neg": lambda E, a, dtype: E.neg(*a),
    "select": lambda E, a, dtype: E.either(*a),
    "cast": lambda E, a, dtype: E.convert(a[0], dtype),
    "sqrt": _exact("sqrt"),
    "abs": _exact("fabs"),
    "maximum": _minmax("gt"),
    "minimum": _minmax("lt"),
    "floor_divide": _floordiv,
}

_SCALARS = {"f64": ctypes.c_double, "f32": ctypes.c_float, "i64": ctypes.c_int64, "i32": ctypes.c_int32, "bool": ctypes.c_uint8}


def normal(x: Any) -> Any:
    """A kernel with affine integers of one term, and i64 literals, written as the names and numbers they are."""
    if isinstance(x, Affine):
        return simplest(x)
    if isinstance(x, Const):
        return int(x.value) if x.dtype == "i64" else x
    if isinstance(x, (list, tuple)):
        return [normal(y) for y in x]
    if hasattr(type(x), "__record__"):
        return [type(x), *[normal(getattr(x, name)) for name in type(x).__record__]]
    return x


def native(kernel: Kernel, *others: Kernel, symbols: dict[str, int] | None = None) -> Callable[..., int]:
    """The kernel as a Python function of arrays and numbers; returns its code."""
    for k in (kernel, *others):
        assert normal(parse(show(k))) == normal([k])
    lib = jit.load(emit([kernel, *others], rules=RULES, vector_bits=jit.vector_bits()), [kernel.name], symbols)
    types = [ctypes.c_void_p if p.shape is not None else _SCALARS[p.dtype] for p in kernel.params]
    f = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(lib.address(kernel.name))

    def call(*args: Any) -> int:
        assert lib
        return f(*[a.ctypes.data if isinstance(a, np.ndarray) else a for a in args])

    return call


def let(name: str, dtype: str, op: str, *args: Any, contract: bool = False) -> Let:
    """name = op(args); Python numbers are literals of the dtype."""
    return Let(name, dtype, Apply(op, tuple(Const(a, dtype) if isinstance(a, (int, float)) else a for a in args)), contract)
