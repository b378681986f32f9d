"""NumPy's products and norms: matmul, dot, tensordot, kron, cross, linalg.norm..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Dim, Type
from irad.errors import IradValueError, PythonValueError, ShapeError
from irad.frontend.numpy.complex import conj
from irad.frontend.numpy.elementwise import apply_ufunc
from irad.frontend.numpy.join import stack
from irad.frontend.numpy.reduce import sum_of
from irad.frontend.numpy.shape import ravel, reshape_array
from irad.frontend.registry import method, numpy, operator
from irad.frontend.values.arr import (
    Arr,
    broadcast_shapes,
    in_f32,
    lift,
    materialise,
    normalize_axis,
    require_equal_dims,
    resolve,
    result_dtype,
    retype_extents,
    shape_of,
    show_shape,
    size_of,
    static_int,
)
from irad.frontend.values.extents import equal
from irad.frontend.values.index import getitem
from irad.frontend.values.reshapes import in_shape
from irad.ops.array import dim_value, iota, reshape_to, transpose_to
from irad.ops.array import dot as dot_op
from irad.ops.elementwise import maximum, minimum
from irad.ops.intervals import affine_of, dim_interval


def _pair(name: str, a: Any, b: Any) -> tuple[Value, Value]:
    """Both operands as values of the dtype in which NumPy multiplies them."""
    dtype = resolve(np.matmul, a, b)[0] if name == "matmul" else result_dtype(a, b)
    return lift(a, dtype).value, lift(b, dtype).value


def _match(x: Value, y: Value, i: int, j: int, name: str) -> Value:
    """y with the extent of axis j renamed to that of x's axis i; they must be equal."""
    words = f"{name}: shapes {show_shape(x.type.shape)} and {show_shape(y.type.shape)} not aligned: {x.type.shape[i]} (dim {i}) != {y.type.shape[j]} (dim {j})"
    require_equal_dims(y.type.shape[j], x.type.shape[i], words, "ValueError")
    return retype_extents(y, tuple(x.type.shape[i] if k == j else d for k, d in enumerate(y.type.shape)))


def contract(x: Value, y: Value, cx: Sequence[int], cy: Sequence[int], bx: Sequence[int] = (), by: Sequence[int] = ()) -> Value:
    """The `dot` op; float16 through float32. Nothing to contract or pair is a plain product."""
    return in_f32(dot_op, x, y, contract=(tuple(cx), tuple(cy)), batch=(tuple(bx), tuple(by)))


# ---- matmul and friends --------------------------------------------------------------------------------------------


@operator("matmul")
@numpy("matmul", "linalg.matmul")
def matmul(
    x1: Any, x2: Any, /, out: Any = None, *, dtype: Any = None, casting: str = "same_kind", order: str = "K", **_: Any
) -> Arr:
    """np.matmul: vectors, matrices, and stacks of matrices that broadcast."""
    a, b = _pair("matmul", x1, x2)
    if not a.type.rank or not b.type.rank:
        raise PythonValueError("matmul: an operand is a scalar, for which * is to be used instead")
    i, j = a.type.rank - 1, max(b.type.rank - 2, 0)
    b = _match(a, b, i, j, "matmul")
    if a.type.rank <= 2 and b.type.rank <= 2:
        return Arr(contract(a, b, [i], [j]))
    if b.type.rank <= 2:  # free axes of a come first, as they shall
        return Arr(contract(a, b, [i], [j]))
    return Arr(_batched(a, b))


def _batched(a: Value, b: Value) -> Value:
    """b is a stack of matrices; a is a vector, a matrix or a stack."""
    ra, rb = a.type.rank, b.type.rank
    if ra <= 2:  # one matrix for the whole stack: (row, stack..., column)
        v = contract(a, b, [ra - 1], [rb - 2])
        rows = ra - 1
        n = v.type.rank
        return transpose_to(v, (*range(rows, n - 1), *range(rows), n - 1))
    stack_shape = broadcast_shapes(a.type.shape[:-2], b.type.shape[:-2])
    x = materialise(Arr(a), a.type.dtype, stack_shape + a.type.shape[-2:])
    y = materialise(Arr(b), b.type.dtype, stack_shape + b.type.shape[-2:])
    k = len(stack_shape)
    return contract(x, y, [k + 1], [k], range(k), range(k))


@numpy("dot", method="dot")
def dot(a: Any, b: Any, out: Any = None) -> Arr:
    """np.dot: the last axis of a with the last but one of b; scalars multiply."""
    if not shape_of(a) or not shape_of(b):
        return apply_ufunc("multiply", a, b)
    x, y = _pair("dot", a, b)
    i, j = x.type.rank - 1, max(y.type.rank - 2, 0)
    return Arr(contract(x, _match(x, y, i, j, "dot"), [i], [j]))


@numpy("vdot")
def vdot(a: Any, b: Any, /) -> Arr:
    """np.vdot: the inner product of the flattened operands, the first one conjugated."""
    return dot(conj(ravel(a)), ravel(b))


@numpy("inner")
def inner(a: Any, b: Any, /) -> Arr:
    """np.inner: the last axes of both."""
    if not shape_of(a) or not shape_of(b):
        return apply_ufunc("multiply", a, b)
    x, y = _pair("inner", a, b)
    i, j = x.type.rank - 1, y.type.rank - 1
    return Arr(contract(x, _match(x, y, i, j, "inner"), [i], [j]))


@numpy("outer", "linalg.outer")
def outer(a: Any, b: Any, out: Any = None) -> Arr:
    """np.outer of the flattened operands."""
    x, y = ravel(a), ravel(b)
    return apply_ufunc("multiply", Arr(reshape_to(x.value, (*x.shape, 1))), y)


@numpy("tensordot", "linalg.tensordot")
def tensordot(a: Any, b: Any, axes: Any = 2) -> Arr:
    """np.tensordot: `axes` is a number, or the axes of either operand."""
    x, y = _pair("tensordot", a, b)
    if isinstance(axes, (tuple, list)):
        ca, cb = ([k] if not isinstance(k, (tuple, list)) else list(k) for k in axes)
    else:
        n = static_int(axes, "axes")
        ca, cb = list(range(x.type.rank - n, x.type.rank)), list(range(n))
    if len(ca) != len(cb):
        raise ShapeError("shape-mismatch for sum: the numbers of axes differ")
    ca = [normalize_axis(k, x.type.rank) for k in ca]
    cb = [normalize_axis(k, y.type.rank) for k in cb]
    for i, j in zip(ca, cb):
        y = _match(x, y, i, j, "tensordot")
    if not ca:
        return _outer_product(x, y)
    return Arr(contract(x, y, ca, cb))


def _outer_product(x: Value, y: Value) -> Arr:
    wide = reshape_to(x, x.type.shape + (1,) * y.type.rank)
    return apply_ufunc("multiply", Arr(wide), Arr(y))


@numpy("vecdot", "linalg.vecdot")
def vecdot(x1: Any, x2: Any, /, out: Any = None, *, axis: Any = -1, **_: Any) -> Arr:
    """np.vecdot: inner products along an axis, the first operand conjugated."""
    p = apply_ufunc("multiply", conj(x1), x2)
    return sum_of(p, normalize_axis(axis, p.ndim), p.value.type.numpy)


@numpy("kron")
def kron(a: Any, b: Any) -> Arr:
    x, y = lift(a), lift(b)
    n = max(x.ndim, y.ndim)
    xs, ys = (1,) * (n - x.ndim) + x.shape, (1,) * (n - y.ndim) + y.shape
    spread = lambda s, first: tuple(d for pair in zip(s, (1,) * n) for d in (pair if first else pair[::-1]))
    p = apply_ufunc(
        "multiply", Arr(reshape_to(x.value, spread(xs, True)), x.weak), Arr(reshape_to(y.value, spread(ys, False)), y.weak)
    )
    return Arr(in_shape(p.value, tuple(size_of(pair) for pair in zip(xs, ys))))


@numpy("linalg.multi_dot")
def multi_dot(arrays: Any, *, out: Any = None) -> Arr:
    """np.linalg.multi_dot: the order of products by the fewest multiplications."""
    xs = [lift(a) for a in arrays]
    if len(xs) < 2:
        raise IradValueError("Expecting at least two arrays.")
    first, last = xs[0].ndim == 1, xs[-1].ndim == 1
    if first:
        xs[0] = reshape_array(xs[0], (1, *xs[0].shape))
    if last:
        xs[-1] = reshape_array(xs[-1], (*xs[-1].shape, 1))
    v = _chain(xs)
    shape = v.shape[1 if first else 0 : -1 if last else None]
    return Arr(reshape_to(v.value, shape))


def _chain(xs: list[Arr]) -> Arr:
    """Matrix chain product by dynamic programming; left to right where an extent is not static."""
    dims = [xs[0].shape[0], *(x.shape[1] for x in xs)]
    if not all(isinstance(d, int) for d in dims):
        out = xs[0]
        for x in xs[1:]:
            out = matmul(out, x)
        return out
    best: dict[tuple[int, int], tuple[int, int]] = {(i, i): (0, i) for i in range(len(xs))}
    for span in range(1, len(xs)):
        for i in range(len(xs) - span):
            j = i + span
            cost = lambda k, i=i, j=j: best[i, k][0] + best[k + 1, j][0] + dims[i] * dims[k + 1] * dims[j + 1]
            best[i, j] = min((cost(k), k) for k in range(i, j))

    def go(i: int, j: int) -> Arr:
        return xs[i] if i == j else matmul(go(i, best[i, j][1]), go(best[i, j][1] + 1, j))

    return go(0, len(xs) - 1)


@numpy("cross", "linalg.cross")
def cross(a: Any, b: Any, axisa: Any = -1, axisb: Any = -1, axisc: Any = -1, axis: Any = None) -> Arr:
    """np.cross of vectors of 3 (or 2) elements."""
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = lift(a), lift(b)
    u = _components(x, normalize_axis(axisa, x.ndim, "axisa"))
    v = _components(y, normalize_axis(axisb, y.ndim, "axisb"))
    mul, sub = lambda p, q: apply_ufunc("multiply", p, q), lambda p, q: apply_ufunc("subtract", p, q)
    last = sub(mul(u[0], v[1]), mul(u[1], v[0]))
    if len(u) == len(v) == 2:
        return last
    zero = lambda w: w if len(w) == 3 else [*w, apply_ufunc("multiply", w[0], 0)]
    u, v = zero(u), zero(v)
    parts = [sub(mul(u[1], v[2]), mul(u[2], v[1])), sub(mul(u[2], v[0]), mul(u[0], v[2])), last]
    return stack(parts, axis=axisc)


def _components(x: Arr, axis: int) -> list[Arr]:
    n = x.shape[axis]
    if n not in (2, 3):
        raise IradValueError(f"incompatible dimensions for cross product (dimension must be 2 or 3, not {n})")
    return [getitem(x, (slice(None),) * axis + (k,)) for k in range(n)]  # type: ignore[arg-type]


@method("trace")
@numpy("trace")
def trace(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None) -> Arr:
    return sum_of(diagonal(a, offset, axis1, axis2), -1, dtype)


@numpy("linalg.trace")
def linalg_trace(x: Any, /, *, offset: Any = 0, dtype: Any = None) -> Arr:
    """np.linalg.trace: of the last two axes."""
    return trace(x, offset, -2, -1, dtype)


@numpy("diagonal", method="diagonal", view=True)
def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Arr:
    """np.diagonal: the diagonal of two axes, last."""
    x, k = lift(a), static_int(offset, "offset")
    if x.ndim < 2:
        raise IradValueError("diag requires an array of at least two dimensions")
    i, j = normalize_axis(axis1, x.ndim, "axis1"), normalize_axis(axis2, x.ndim, "axis2")
    if i == j:
        raise IradValueError("axis1 and axis2 cannot be the same")
    rest = [m for m in range(x.ndim) if m not in (i, j)]
    moved = Arr(transpose_to(x.value, (*rest, i, j)))
    rows, cols = moved.shape[-2:]
    return getitem(moved, (Ellipsis, *diagonal_places(rows, cols, k)))


def diagonal_places(rows: Dim, cols: Dim, k: int) -> tuple[Any, Any]:
    """Where the elements of a diagonal stand along both axes: positions that are known, or of a number known at run time."""
    down, right = max(-k, 0), max(k, 0)
    height, width = rows - down, cols - right
    if isinstance(height, int) and isinstance(width, int):
        at = np.arange(max(0, min(height, width)))
        return at + down, at + right
    length = height if equal(height, width) else affine_of(minimum(dim_value(height), dim_value(width)))
    if dim_interval(length)[0] < 0:
        length = affine_of(maximum(dim_value(length), 0))
    every = iota(type=Type("i64", (length,)), axis=0)
    return tuple(Arr(every + by) if by else Arr(every) for by in (down, right))  # type: ignore[return-value]


@numpy("linalg.diagonal", view=True)
def linalg_diagonal(x: Any, /, *, offset: Any = 0) -> Arr:
    """np.linalg.diagonal: of the last two axes."""
    return diagonal(x, offset, -2, -1)
