"""Stacked matrices (the last two axes of an array): products, triangles, diagonals, rows; what derivatives of linear algebra
are written in.

Of complex matrices: the formulas of the literature are for gradients g with dL = Re tr(g^H dA), and a cotangent here is the conjugate of
such a gradient (irad.ops.complex). So rules begin and end with `cj`, which does nothing to real numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Dim, Type, is_complex
from irad.errors import IradTypeError, ShapeError, UnsupportedError
from irad.ops.array import broadcast, dot, index, iota, sum_, transpose_to, update_add, zeros
from irad.ops.complex import conj, real
from irad.ops.constant import const
from irad.ops.elementwise import cast_to, eq, ge, gt, select, szmul


def mm(a: Value, b: Value, ta: bool = False, tb: bool = False) -> Value:
    """Products of stacked matrices; `ta`, `tb`: of the transposed ones."""
    k = a.type.rank - 2
    return dot(a, b, contract=((k if ta else k + 1,), (k + 1 if tb else k,)), batch=(tuple(range(k)),) * 2)


def over_matrices(v: Value, like: Value) -> Value:
    """A number per matrix, at each of its places."""
    return broadcast(v, shape=like.type.shape, dims=tuple(range(v.type.rank)))


def inner(x: Value, y: Value) -> Value:
    """The inner product of matrices."""
    k = x.type.rank
    return sum_(szmul(x, y), axes=(k - 2, k - 1))


def mt(x: Value) -> Value:
    """Transposes of stacked matrices."""
    k = x.type.rank
    return transpose_to(x, (*range(k - 2), k - 1, k - 2))


def cj(x: Value) -> Value:
    """The conjugate; real numbers as they are."""
    return conj(x) if is_complex(x.type.dtype) else x


def mh(x: Value) -> Value:
    """Conjugate transposes of stacked matrices."""
    return mt(cj(x))


def hmm(a: Value, b: Value) -> Value:
    """a^H b."""
    return mm(cj(a), b, ta=True)


def mmh(a: Value, b: Value) -> Value:
    """a b^H."""
    return mm(a, cj(b), tb=True)


def _rows_and_columns(t: Type) -> tuple[Value, Value]:
    i64 = t.with_dtype("i64")
    return iota(type=i64, axis=t.rank - 2), iota(type=i64, axis=t.rank - 1)


def triangle(x: Value, lower: bool = True, strict: bool = False) -> Value:
    """x with the other triangle 0; `strict`: the diagonal too."""
    i, j = _rows_and_columns(x.type)
    a, b = (i, j) if lower else (j, i)
    return select((gt if strict else ge)(a, b), x, 0)


def halved(x: Value) -> Value:
    """The lower triangle of x with half of its diagonal."""
    i, j = _rows_and_columns(x.type)
    return select(eq(i, j), x * 0.5, triangle(x))


def _real_diagonal(x: Value) -> Value:
    """x without the imaginary parts of its diagonal; real numbers as they are."""
    if not is_complex(x.type.dtype):
        return x
    i, j = _rows_and_columns(x.type)
    re = real(x)
    return select(eq(i, j), cast_to(re, x.type.dtype), x)


def symmetrised(x: Value) -> Value:
    """The symmetric (Hermitian) matrix that the lower triangle of x stands for; its diagonal is real."""
    return _real_diagonal(triangle(x)) + mh(triangle(x, strict=True))


def from_symmetric(g: Value) -> Value:
    """The gradient of a matrix of which the lower triangle is read, given that, Hermitian, of the matrix it stands for."""
    i, j = _rows_and_columns(g.type)
    return select(eq(i, j), _real_diagonal(g), triangle(g + mh(g), strict=True))


def hermitian_part(g: Value) -> Value:
    """(g + g^H) / 2."""
    return (g + mh(g)) * 0.5


def identity(t: Type) -> Value:
    """Stacked identity matrices of a type."""
    i, j = _rows_and_columns(t)
    return select(eq(i, j), const(value=1, type=t), zeros(t))


def along_rows(v: Value, like: Value) -> Value:
    """v[..., j] at every place (i, j) of `like`, in its dtype."""
    k = like.type.rank
    return cast_to(broadcast(v, shape=like.type.shape, dims=(*range(k - 2), k - 1)), like.type.dtype)


def along_columns(v: Value, like: Value) -> Value:
    """v[..., i] at every place (i, j) of `like`, in its dtype."""
    k = like.type.rank
    return cast_to(broadcast(v, shape=like.type.shape, dims=tuple(range(k - 1))), like.type.dtype)


def _diagonal_places(t: Type, n: Dim) -> tuple[list[Value], tuple[str, ...]]:
    g = Type("i64", (*t.shape[:-2], n))
    at = [iota(type=g, axis=min(k, t.rank - 2)) for k in range(t.rank)]
    return at, ("g",) * t.rank


def diagonal(x: Value) -> Value:
    """The main diagonals."""
    n = min(x.type.shape[-2:])  # type: ignore[type-var]
    at, spec = _diagonal_places(x.type, n)
    return index(x, *at, spec=spec)


def from_diagonal(v: Value, t: Type) -> Value:
    """Matrices of type t that are 0 but for their main diagonals v."""
    at, spec = _diagonal_places(t, v.type.shape[-1])
    return update_add(zeros(t), cast_to(v, t.dtype), *at, spec=spec)


def _row_places(rows: Value, t: Type) -> list[Value]:
    over = broadcast(rows, shape=t.shape, dims=tuple(range(t.rank - 1)))
    return [over if k == t.rank - 2 else iota(type=t.with_dtype("i64"), axis=k) for k in range(t.rank)]


def take_rows(x: Value, rows: Value) -> Value:
    """x[..., rows[..., i], j]: the rows of each matrix in another order."""
    return index(x, *_row_places(rows, x.type), spec=("g",) * x.type.rank)


def place_rows(x: Value, rows: Value) -> Value:
    """The transpose of `take_rows`: row i of x becomes row rows[..., i]."""
    return update_add(zeros(x.type), x, *_row_places(rows, x.type), spec=("g",) * x.type.rank)


def square(t: Type, what: str) -> Dim:
    """The order of square matrices of floats or complex numbers. Raises ShapeError or IradTypeError."""
    if t.rank < 2 or t.shape[-1] != t.shape[-2]:
        raise ShapeError(f"{what}: the last 2 axes of the array must be square; it has type {t}")
    check_float(t, what)
    return t.shape[-1]


def check_float(t: Type, what: str) -> None:
    if t.dtype not in ("f32", "f64", "c64", "c128"):
        raise IradTypeError(f"{what} wants float32, float64, complex64 or complex128, got {t}")
    if not all(isinstance(d, int) for d in t.shape[-2:]):  # what decides them may be made known
        raise UnsupportedError(f"{what} of matrices whose extents are known at run time only ({t})")


def info_type(t: Type) -> Type:
    """The type of the output that says for each matrix whether all is well."""
    return Type("i64", t.shape[:-2])


def each_matrix(function: Callable[..., Any], a: Any, shapes: Sequence[tuple[int, ...]], dtype: Any = None) -> tuple[Any, ...]:
    """function(matrix) -> arrays of `shapes`, for each matrix of a stack; NaN and info 1 where it does not converge.

    `dtype`: of all arrays; by default vectors are real, as eigenvalues of symmetric matrices and singular values are.
    """
    batch = a.shape[:-2]
    outs = [np.full((*batch, *s), np.nan, dtype or (a.real.dtype if len(s) == 1 else a.dtype)) for s in shapes]
    info = np.zeros(batch, np.int64)
    for at in np.ndindex(batch):
        try:
            for out, x in zip(outs, function(a[at])):
                out[at] = x
        except np.linalg.LinAlgError:
            info[at] = 1
    return (*outs, info[()])
