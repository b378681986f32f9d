"""Methods of ufuncs: reduce, accumulate, outer, at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import DTYPES, Type
from irad.errors import IradValueError
from irad.frontend.numpy.elementwise import COMPARE, LOWER, apply_ufunc, convert, truth
from irad.frontend.numpy.reduce import all_of, any_of, keep, max_of, min_of, prod_of, sum_of
from irad.frontend.numpy.scan import cumprod_of, cumsum_of, join, part
from irad.frontend.registry import NAMES, TABLE
from irad.frontend.values.arr import Arr, irad_dtype, lift, materialise, normalize_axes, normalize_axis, size_of
from irad.frontend.values.index import add_at
from irad.ops.array import reshape_to, transpose_to
from irad.ops.constant import const
from irad.ops.elementwise import select

_NONE = np._NoValue


def _axis0(reduction: Callable[..., Arr], takes_dtype: bool) -> Callable[..., Arr]:
    """A reduction with the signature of ufunc.reduce, whose axis defaults to 0."""

    def call(
        array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _NONE, where: Any = True
    ) -> Arr:  # fmt: skip
        given = {} if initial is _NONE or initial is None else {"initial": initial}
        if takes_dtype:
            return reduction(array, axis, dtype, None, keepdims, where=where, **given)
        return reduction(array, axis, None, keepdims, where=where, **given)

    return call


def _operand(name: str, array: Any, dtype: Any) -> Arr:
    """The array in the dtype in which its elements are combined: truth values for logical functions."""
    x = lift(array)
    if name.startswith("logical_"):
        return Arr(truth(x.value))
    return own_dtype(name, x, dtype)


def own_dtype(name: str, x: Arr, dtype: Any) -> Arr:
    """x in the dtype in which the ufunc combines its elements."""
    if dtype is not None:
        return convert(x, irad_dtype(dtype))
    one = Arr(const(value=1, type=Type(x.name)))
    return convert(x, apply_ufunc(name, one, one).name)


def _identity(name: str, dtype: str) -> Any:
    """The identity of a ufunc as an element of a dtype: NumPy's -1 for all bits is the largest number of an unsigned one."""
    return np.asarray(getattr(np, name).identity).astype(DTYPES[dtype])[()]


def _tree_reduce(name: str) -> Callable[..., Arr]:
    """Reduction by an associative ufunc that has no op of its own: halves combined until one element is left."""

    def call(
        array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: Any = False, initial: Any = _NONE, where: Any = True
    ) -> Arr:  # fmt: skip
        x = _operand(name, array, dtype)
        axes = normalize_axes(axis, x.ndim)
        shape = x.shape
        x = _flatten_axes(x, axes)
        identity = getattr(np, name).identity
        if where is not True:
            if identity is None:
                raise IradValueError(f"reduction operation '{name}' does not have an identity: where= needs one")
            mask = _flatten_axes(Arr(materialise(where, "bool", shape)), axes)
            x = Arr(select(mask.value, x.value, _identity(name, x.name).item()))
        n = x.shape[-1]
        if n == 0 and identity is not None:
            x, n = Arr(materialise(_identity(name, x.name), x.name, (*x.shape[:-1], 1))), 1
        if not isinstance(n, int) or n == 0:
            raise IradValueError(f"np.{name}.reduce of an axis that is empty or of run-time extent")
        while n > 1:
            k = n // 2
            head = apply_ufunc(name, part(x, x.ndim - 1, 0, k), part(x, x.ndim - 1, k, k))
            x = head if n % 2 == 0 else join([head, part(x, x.ndim - 1, 2 * k, 1)], x.ndim - 1)
            n = k + n % 2
        v = reshape_to(x.value, x.shape[:-1])
        if initial is not _NONE and initial is not None:
            v = apply_ufunc(name, Arr(v), initial).value
        return keep(v, shape, axes, keepdims)

    return call


def _flatten_axes(x: Arr, axes: tuple[int, ...]) -> Arr:
    """The given axes merged into one, last."""
    kept = tuple(k for k in range(x.ndim) if k not in axes)
    v: Value = transpose_to(x.value, kept + axes)
    return Arr(reshape_to(v, (*(x.shape[k] for k in kept), size_of(x.shape[k] for k in axes))))


def _doubling_scan(name: str) -> Callable[..., Arr]:
    """Accumulation by an associative ufunc that has no scan op: spans of 1, 2, 4... elements are combined."""

    def call(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Arr:
        x = _operand(name, array, dtype)
        k = normalize_axis(axis, x.ndim)
        n = x.shape[k]
        if not isinstance(n, int):
            raise IradValueError(f"np.{name}.accumulate along an axis of run-time extent")
        span = 1
        while span < n:
            combined = apply_ufunc(name, part(x, k, 0, n - span), part(x, k, span, n - span))
            x = join([part(x, k, 0, span), combined], k)
            span *= 2
        return Arr(x.value)

    return call


def _outer(name: str) -> Callable[..., Any]:
    def call(A: Any, B: Any, /, **kw: Any) -> Any:
        a, b = lift(A), lift(B)
        wide = Arr(reshape_to(a.value, a.shape + (1,) * b.ndim), a.weak)
        return apply_ufunc(name, wide, b, **kw)

    return call


_REDUCE: dict[str, Callable[..., Arr]] = {
    "add": _axis0(sum_of, True), "multiply": _axis0(prod_of, True), "maximum": _axis0(max_of, False),
    "minimum": _axis0(min_of, False), "logical_or": _axis0(any_of, False), "logical_and": _axis0(all_of, False),
}  # fmt: skip
_TREE = (
    "fmax", "fmin", "logaddexp", "logaddexp2", "hypot", "bitwise_and", "bitwise_or", "bitwise_xor", "logical_xor", "gcd", "lcm",
)  # fmt: skip
_SCAN: dict[str, Callable[..., Arr]] = {
    "add": lambda array, axis=0, dtype=None, out=None: cumsum_of(array, axis, dtype),
    "multiply": lambda array, axis=0, dtype=None, out=None: cumprod_of(array, axis, dtype),
}


def add_method(name: str, kind: str, builder: Callable[..., Any]) -> None:
    """Put a builder of a method of a ufunc into the table."""
    TABLE[getattr(getattr(np, name), kind)] = builder
    NAMES[f"np.{name}.{kind}"] = getattr(getattr(np, name), kind)


def _register() -> None:
    for name in (*_REDUCE, *_TREE):
        add_method(name, "reduce", _REDUCE[name] if name in _REDUCE else _tree_reduce(name))
    for name in ("add", "multiply", "maximum", "minimum", *_TREE):
        add_method(name, "accumulate", _SCAN[name] if name in _SCAN else _doubling_scan(name))
    for name in [*LOWER, *COMPARE]:
        if isinstance(getattr(np, name, None), np.ufunc) and getattr(np, name).nin == 2:
            add_method(name, "outer", _outer(name))
    add_method("add", "at", lambda a, indices, b: Arr(add_at(a, indices, b)))
    add_method("subtract", "at", lambda a, indices, b: Arr(add_at(a, indices, apply_ufunc("negative", b))))


_register()
