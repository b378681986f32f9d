"""numpy.linalg: solves, inverses, determinants and the factorisations LU, Cholesky and QR."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import is_complex, is_float
from irad.errors import IradTypeError, IradValueError, ShapeError, UnsupportedError
from irad.frontend.numpy.elementwise import convert
from irad.frontend.numpy.linalg import matmul
from irad.frontend.registry import numpy
from irad.frontend.values.arr import Arr, broadcast_shapes, lift, materialise, result_dtype, show_shape, static_int
from irad.ops import elementwise as ew
from irad.ops import linalg as ops
from irad.ops import matrix
from irad.ops.array import Slice, any_, concat, index, reshape_to
from irad.ops.control import raise_if
from irad.ops.determinant import det as det_op
from irad.ops.determinant import polynomial
from irad.ops.determinant import slogdet as slogdet_op

SMALL_DET = 4  # orders up to it are expanded


def float_type(*xs: Any) -> str:
    """The dtype in which numpy.linalg computes: float32, float64 or complex. Raises IradTypeError for float16."""
    name = result_dtype(*xs)
    if name == "f16":
        raise IradTypeError("array type float16 is unsupported in linalg")
    return name if is_float(name) or is_complex(name) else "f64"


def matrices(a: Any, square: bool = False) -> Value:
    """The operand as matrices of floats or complex numbers. Raises ShapeError with NumPy's words."""
    x = lift(a)
    if x.ndim < 2:
        raise ShapeError(f"{x.ndim}-dimensional array given. Array must be at least two-dimensional")
    if square and x.shape[-1] != x.shape[-2]:
        raise ShapeError("Last 2 dimensions of the array must be square")
    return convert(x, float_type(x)).value


def widened(function: Callable[..., Any]) -> Callable[..., Any]:
    """A builder that computes in double precision and gives single where its first two operands are single, as numpy.linalg does."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        first = [x for x in args[:2] if isinstance(x, (Arr, np.ndarray, list, tuple))]
        name = result_dtype(*first) if first else "f64"
        if name not in SINGLE:
            return function(*args, **kwargs)
        out = function(*(convert(lift(x), SINGLE[name]) if any(x is y for y in first) else x for x in args), **kwargs)
        if not isinstance(out, tuple):
            return narrowed(out)
        parts = [narrowed(x) for x in out]
        cls: Any = type(out)
        return cls(parts) if cls is tuple else cls(*parts)

    return run


SINGLE = {"f32": "f64", "c64": "c128"}


def narrowed(x: Arr) -> Arr:
    """A result in single precision."""
    narrow = {wide: name for name, wide in SINGLE.items()}
    return convert(x, narrow.get(x.name, x.name))


def fail_if(bad: Value, message: str) -> None:
    """Raise LinAlgError at run time where a bool holds, for any matrix of a stack."""
    if bad.type.rank:
        bad = any_(bad, axes=tuple(range(bad.type.rank)))
    raise_if(bad, exc="LinAlgError", message=message)


def failed(info: Value, message: str) -> None:
    """Raise LinAlgError where LAPACK's info is not 0."""
    fail_if(ew.ne(info, 0), message)


def factored(a: Value) -> tuple[Value, Value]:
    """LU factors and row order of regular matrices; LinAlgError at run time for a singular one."""
    factors, _, rows = ops.lu(a)
    if a.type.shape[-1] != 0:
        d = matrix.diagonal(factors)
        fail_if(ew.eq(d, 0), "Singular matrix")
    return factors, rows


def solved(a: Value, b: Value, trans: bool = False) -> Value:
    """X of A X = B for matrices of one stack."""
    factors, rows = factored(a)
    return ops.solve(a, factors, rows, b, trans=trans)


def stacked(a: Value, b: Value, name: str) -> tuple[Value, Value]:
    """Both operands over their common stack."""
    batch = broadcast_shapes(a.type.shape[:-2], b.type.shape[:-2])
    return tuple(materialise(Arr(v), name, batch + v.type.shape[-2:]) for v in (a, b))  # type: ignore[return-value]


def with_columns(a: Any, b: Any, solve: Any) -> Arr:
    """solve(matrices, right sides) for `b` that is one vector or a stack of matrices, as NumPy 2 tells them apart."""
    x, y = matrices(a, square=True), lift(b)
    name = float_type(Arr(x), y)
    x, vector = convert(Arr(x), name).value, y.ndim == 1
    v = convert(y, name).value
    if vector:
        v = reshape_to(v, (*v.type.shape, 1))
    if v.type.rank < 2 or v.type.shape[-2] != x.type.shape[-1]:
        raise ShapeError(
            f"solve: a right side of shape {show_shape(y.shape)} does not fit matrices of shape {show_shape(x.type.shape)}"
        )
    out = solve(*stacked(x, v, name))
    return Arr(reshape_to(out, out.type.shape[:-1]) if vector else out)


@numpy("linalg.solve")
@widened
def solve(a: Any, b: Any) -> Arr:
    """np.linalg.solve; LinAlgError for a singular matrix."""
    return with_columns(a, b, solved)


@numpy("linalg.inv")
@widened
def inv(a: Any) -> Arr:
    """np.linalg.inv; LinAlgError for a singular matrix."""
    x = matrices(a, square=True)
    return Arr(solved(x, matrix.identity(x.type)))


@numpy("linalg.tensorsolve")
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Arr:
    """np.linalg.tensorsolve, without `axes`."""
    if axes is not None:
        raise UnsupportedError("np.linalg.tensorsolve with axes: move the axes with np.moveaxis first")
    x, y = lift(a), lift(b)
    rest = x.shape[y.ndim :]
    n = int(np.prod([static_int(d, "extent") for d in rest]))
    out = solve(Arr(reshape_to(x.value, (n, n))), Arr(reshape_to(y.value, (n,))))
    return Arr(reshape_to(out.value, rest))


@numpy("linalg.tensorinv")
def tensorinv(a: Any, ind: Any = 2) -> Arr:
    x, k = lift(a), static_int(ind, "ind")
    if k <= 0:
        raise IradValueError("Invalid ind argument.")
    n = int(np.prod([static_int(d, "extent") for d in x.shape[k:]]))
    out = inv(Arr(reshape_to(x.value, (n, n))))
    return Arr(reshape_to(out.value, (*x.shape[k:], *x.shape[:k])))


# ---- determinants ------------------------------------------------------------------------------------------------------------------


@numpy("linalg.det")
@widened
def det(a: Any) -> Arr:
    """np.linalg.det; right derivatives at singular matrices too."""
    x = matrices(a, square=True)
    n = x.type.shape[-1]
    return Arr(polynomial(x) if isinstance(n, int) and n <= SMALL_DET else det_op(x))


@numpy("linalg.slogdet")
@widened
def slogdet(a: Any) -> Any:
    """np.linalg.slogdet: (0, -inf) for a singular matrix."""
    x = matrices(a, square=True)
    return _named("slogdet", [np.eye(1)], slogdet_op(x))


def _named(function: str, args: Sequence[Any], values: Sequence[Value]) -> Any:
    """Results in the named tuple that the installed NumPy returns."""
    cls: Any = type(getattr(np.linalg, function)(*args))
    arrays = [Arr(v) for v in values]
    return tuple(arrays) if cls is tuple else cls(*arrays)


named = _named

# ---- factorisations --------------------------------------------------------------------------------------------------------------------


@numpy("linalg.cholesky")
@widened
def cholesky(a: Any, /, *, upper: Any = False) -> Arr:
    """np.linalg.cholesky: reads one triangle, and the derivative goes to that triangle."""
    x = matrices(a, square=True)
    low, info = ops.cholesky(matrix.mh(x) if upper else x)
    failed(info, "Matrix is not positive definite")
    return Arr(matrix.mh(low) if upper else low)


@numpy("linalg.qr")
@widened
def qr(a: Any, mode: str = "reduced") -> Any:
    """np.linalg.qr: modes "reduced", "complete" and "r"."""
    if mode not in ("reduced", "complete", "r"):
        raise UnsupportedError(f"np.linalg.qr(mode={mode!r}): supported are 'reduced', 'complete' and 'r'")
    x = matrices(a)
    q, r = _qr(x, mode == "complete")
    return Arr(r) if mode == "r" else _named("qr", [np.eye(1)], (q, r))


def _qr(x: Value, complete: bool) -> tuple[Value, Value]:
    """A wide matrix [X Y] has the Q of X, and R = [R of X, Q^H Y]."""
    m, n = (static_int(d, "extent") for d in x.type.shape[-2:])
    if m >= n:
        q, r = ops.qr(x, full=complete and m > n)
        return q, r
    whole = tuple(Slice(0, d) for d in x.type.shape[:-1])
    q, r = ops.qr(index(x, spec=(*whole, Slice(0, m))), full=False)
    rest = matrix.hmm(q, index(x, spec=(*whole, Slice(m, n - m))))
    return q, concat(r, rest, axis=x.type.rank - 1)


# ---- powers -----------------------------------------------------------------------------------------------------------------------------


@numpy("linalg.matrix_power")
def matrix_power(a: Any, n: Any) -> Arr:
    """np.linalg.matrix_power for a static n, by squaring; a negative power is one of the inverse."""
    x, k = lift(a), static_int(n, "the exponent of a matrix power")
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"Last 2 dimensions of the array must be square; the shape is {show_shape(x.shape)}")
    if k < 0:
        x, k = inv(x), -k
    out: Arr | None = None
    while k:
        out = (x if out is None else matmul(out, x)) if k & 1 else out
        k >>= 1
        x = matmul(x, x) if k else x
    if out is None:
        return Arr(materialise(np.eye(static_int(x.shape[-1], "extent")), x.name, x.shape))
    return out
