"""numpy.linalg: singular values, symmetric eigenvalues, and what is made of them: pseudo-inverse, least squares, rank, norms."""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Type, is_complex, real_dtype
from irad.errors import IradValueError, ShapeError
from irad.frontend.activations import are_real
from irad.frontend.numpy.elementwise import convert
from irad.frontend.numpy.functions import op
from irad.frontend.numpy.linalg_solve import SINGLE, fail_if, failed, float_type, matrices, named, widened
from irad.frontend.numpy.reduce import squared_modulus
from irad.frontend.registry import numpy
from irad.frontend.values.arr import Arr, lift, materialise, static_int, static_value
from irad.ops import eigen, matrix, spectral
from irad.ops import elementwise as ew
from irad.ops.array import any_, broadcast, max_, reshape_to, sum_
from irad.ops.complex import imag, real
from irad.ops.constant import const
from irad.ops.control import raise_if
from irad.ops.elementwise import cast_to, full, select

_COMPLEX = "these eigenvalues are complex, and real numbers are made of them; take np.real(w) or np.abs(w)"
_NO_SVD, _NO_EIG = "SVD did not converge", "Eigenvalues did not converge"


def singular_values(x: Value) -> Value:
    """Singular values, descending, found in double precision; LinAlgError at run time if there are none."""
    dtype = real_dtype(x.type.dtype)
    s, info = spectral.svdvals(cast_to(x, SINGLE.get(x.type.dtype, x.type.dtype)))
    failed(info, _NO_SVD)
    return cast_to(s, dtype)


@numpy("linalg.svd")
@widened
def svd(a: Any, full_matrices: Any = True, compute_uv: Any = True, hermitian: Any = False) -> Any:
    """np.linalg.svd. A derivative by several vectors that complete a basis is NaN if it depends on which were found."""
    x = matrices(a)
    if not compute_uv:
        return Arr(singular_values(x))
    m, n = x.type.shape[-2:]
    u, s, vt, info = spectral.svd(x, full=bool(full_matrices) and m != n)
    failed(info, _NO_SVD)
    return named("svd", [np.eye(1)], (u, s, vt))


@numpy("linalg.svdvals")
def svdvals(x: Any, /) -> Arr:
    return Arr(singular_values(matrices(x)))


def _lower(uplo: str) -> bool:
    if uplo.upper() not in ("L", "U"):
        raise IradValueError("UPLO argument must be 'L' or 'U'")
    return uplo.upper() == "L"


@numpy("linalg.eigh")
@widened
def eigh(a: Any, UPLO: str = "L") -> Any:
    """np.linalg.eigh: reads one triangle, and the derivative goes to that triangle."""
    w, v, info = spectral.eigh(matrices(a, square=True), lower=_lower(UPLO))
    failed(info, _NO_EIG)
    return named("eigh", [np.eye(1)], (w, v))


@numpy("linalg.eigvalsh")
@widened
def eigvalsh(a: Any, UPLO: str = "L") -> Arr:
    """np.linalg.eigvalsh: reads one triangle, and the derivative goes to that triangle."""
    w, info = spectral.eigvalsh(matrices(a, square=True), lower=_lower(UPLO))
    failed(info, _NO_EIG)
    return Arr(w)


# ---- eigenvalues of general matrices -------------------------------------------------------------------------------------------------


def _finite(a: Any) -> Value:
    """Square matrices; LinAlgError at run time if one has an infinite or NaN element."""
    x = matrices(a, square=True)
    parts = (real(x), imag(x)) if is_complex(x.type.dtype) else (x,)
    for part in parts:
        fail_if(~ew.isfinite(part), "Array must not contain infs or NaNs")
    return x


@numpy("linalg.eigvals")
@widened
def eigvals(a: Any) -> Arr:
    """np.linalg.eigvals: see irad.frontend.activations for when they are real."""
    x = _finite(a)
    w, info = eigen.eigvals(x)
    failed(info, _NO_EIG)
    return Arr(_as_numpy(x, w)[0])


@numpy("linalg.eig")
@widened
def eig(a: Any) -> Any:
    """np.linalg.eig. The eigenvectors' length is 1 and their largest element real, and the derivative keeps that."""
    x = _finite(a)
    w, v, info = eigen.eig(x)
    failed(info, _NO_EIG)
    return named("eig", [np.eye(1)], _as_numpy(x, w, eigen.eig_vectors(v)))


def _as_numpy(x: Value, w: Value, *vectors: Value) -> tuple[Value, ...]:
    """Eigenvalues and eigenvectors of a matrix: real ones of a real one, where the program wants them."""
    if is_complex(x.type.dtype) or not are_real():
        return w, *vectors
    rest = ew.ne(imag(w), full(0.0, real(w)))
    raise_if(any_(rest, axes=tuple(range(w.type.rank))), exc="TypeError", message=_COMPLEX)
    return tuple(map(real, (w, *vectors)))


# ---- pseudo-inverse and least squares --------------------------------------------------------------------------------------------------


def _static_float(x: Any, what: str) -> float:
    return float(static_value(x, what))


@numpy("linalg.pinv")
@widened
def pinv(a: Any, rcond: Any = None, hermitian: Any = False, *, rtol: Any = None) -> Arr:
    """np.linalg.pinv, for a static rcond."""
    x = matrices(a)
    cut = rtol if rtol is not None else rcond
    limit = 1e-15 if cut is None else _static_float(cut, "rcond")
    p, info = spectral.pinv(x, rcond=limit)
    failed(info, _NO_SVD)
    return Arr(p)


@numpy("linalg.lstsq")
@widened
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, ...]:
    """np.linalg.lstsq by the pseudo-inverse. Where NumPy gives no residuals for want of rank, they are NaN."""
    x, y = lift(a), lift(b)
    if x.ndim != 2 or y.ndim not in (1, 2):
        raise ShapeError(f"lstsq wants a matrix and one or two axes on the right; got {x.ndim} and {y.ndim} axes")
    if x.shape[0] != y.shape[0]:
        raise ShapeError("Incompatible dimensions")
    name = float_type(x, y)
    mat, right = convert(x, name).value, convert(y, name).value
    m, n = (static_int(d, "extent") for d in mat.type.shape)
    eps = float(np.finfo(mat.type.numpy).eps)
    given = None if rcond is None else _static_float(rcond, "rcond")
    limit = eps * max(m, n) if given is None else eps if given < 0 else given
    columns = reshape_to(right, (m, 1)) if y.ndim == 1 else right
    p, info = spectral.pinv(mat, rcond=limit)
    failed(info, _NO_SVD)
    out = matrix.mm(p, columns)
    s = singular_values(mat)
    rank = _count_above(s, _largest(s) * limit)
    residuals = _residuals(mat, out, columns, rank, m, n)
    return Arr(reshape_to(out, (n,)) if y.ndim == 1 else out), residuals, Arr(cast_to(rank, "i32")), Arr(s)


def _residuals(mat: Value, out: Value, columns: Value, rank: Value, m: int, n: int) -> Arr:
    """Sums of squares, for matrices of full rank with more rows than columns."""
    if m <= n:
        return Arr(const(value=0, type=Type(real_dtype(mat.type.dtype), (0,))))
    off = columns - matrix.mm(mat, out)
    total = sum_(squared_modulus(Arr(off)).value, axes=(0,))
    short = broadcast(rank < n, shape=total.type.shape, dims=())
    return Arr(select(short, float("nan"), total))


def _largest(s: Value) -> Value:
    return max_(s, axes=(s.type.rank - 1,))


def _count_above(s: Value, limit: Value) -> Value:
    """How many singular values are larger than the limit of their matrix."""
    k = s.type.rank - 1
    above = s > broadcast(limit, shape=s.type.shape, dims=tuple(range(k)))
    return sum_(cast_to(above, "i64"), axes=(k,))


@numpy("linalg.matrix_rank")
def matrix_rank(A: Any, tol: Any = None, hermitian: Any = False, *, rtol: Any = None) -> Arr:
    """np.linalg.matrix_rank: how many singular values are not small."""
    x = lift(A)
    if x.ndim < 2:
        return convert(op("any")(op("not_equal")(x, 0)) if x.ndim else op("not_equal")(x, 0), "i64")
    v = matrices(x)
    s = singular_values(v)
    top = _largest(s)
    if tol is not None:
        limit = materialise(tol, s.type.dtype, top.type.shape)
    else:
        m, n = (static_int(d, "extent") for d in v.type.shape[-2:])
        rel = float(np.finfo(v.type.numpy).eps) * max(m, n) if rtol is None else _static_float(rtol, "rtol")
        limit = top * rel
    return Arr(_count_above(s, limit))
