"""Functions of a symmetric matrix, V f(w) V^T, whose derivative is right where eigenvalues are equal.

With P = V^T dA V: d(V f(w) V^T) = V (L o P) V^T, where L_ij is the divided difference (f_i - f_j) / (w_i - w_j), and f'(w) where they are
equal (Yu. Daletskii and S. Krein, 1951). Its own derivative is of second divided differences, which are not known at equal
eigenvalues: NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Type
from irad.ops.array import iota
from irad.ops.core import Op, type_error
from irad.ops.elementwise import ZERO, abs_, add, div, eq, full, le, mul, neg, select, sub
from irad.ops.matrix import along_columns, along_rows, diagonal, from_diagonal, hermitian_part, hmm, mm, mmh, plus
from irad.ops.slopes import formula
from irad.ops.spectral import half, read_symmetric, to_triangle


def _near(x: Value, y: Value) -> Value:
    """So close that the mean of the slopes is nearer the truth than a quotient of differences."""
    edge = float(np.finfo(Type(x.type.dtype).numpy).eps) ** (1 / 3)
    return le(abs_(sub(x, y)), mul(full(edge, x), add(abs_(x), abs_(y))))


def _divided(x: Value, y: Value, f: Value, g: Value, df: Value, dg: Value) -> Value:
    near, gap = _near(x, y), sub(x, y)
    return select(near, half(add(df, dg)), div(sub(f, g), select(near, full(1.0, gap), gap)))


def _divided_partials(x: Value, y: Value, f: Value, g: Value, df: Value, dg: Value, o: Value) -> Sequence[Any]:
    near, gap = _near(x, y), sub(x, y)
    inverse = div(full(1.0, gap), select(near, full(np.nan, gap), gap))
    slope = mul(o, inverse)
    return neg(slope), slope, inverse, neg(inverse), ZERO, ZERO


divided = formula("divided", _divided, _divided_partials, ((0.0, 1.0), (2.0, 3.0), *[(-2.0, 2.0)] * 4),
                  doc="(f - g) / (x - y), f and g being values of one function at x and y; the mean of its slopes where x and y are close")  # fmt: skip


def _infer(m: Type, a: Type, w: Type, v: Type, *vectors: Type, lower: bool, known: bool) -> tuple[Type, ...]:
    if m != a or v != a or any(t != w for t in vectors) or a.dtype[0] != "f":
        raise type_error("matrix_function wants real matrices of one type and vectors of one type", m, a, w, v, *vectors)
    return (m,)


def _slopes(w: Value, f: Value, df: Value, like: Value, known: bool) -> Value:
    """The matrix L, with a diagonal of 0 if the slopes are not known."""
    x, y, fx, fy, dx, dy = (along(v, like) for v in (w, f, df) for along in (along_columns, along_rows))
    wide = like.type.with_dtype("i64")
    k = like.type.rank
    same = eq(iota(type=wide, axis=k - 2), iota(type=wide, axis=k - 1))
    return select(same, dx if known else full(0.0, dx), divided(x, y, fx, fy, dx, dy))


def _vjp(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    _, a, w, v, f, df, h = node.inputs
    basis = ad.need(v)
    core = mm(hmm(basis, cts[0]), basis)
    if ad.active(a):
        turned = mul(core, _slopes(ad.need(w), ad.need(f), ad.need(df), basis, node.attrs["known"]))
        adj.add(a, to_triangle(hermitian_part(mmh(mm(basis, turned), basis)), node.attrs["lower"]))
    if ad.active(h):
        adj.add(h, diagonal(core))


def _jvp(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    _, a, w, v, f, df, h = node.inputs
    da, dh = tan.get(a), tan.get(h)
    core = None
    if da is not None:
        core = mul(mm(hmm(v, read_symmetric(da, node.attrs["lower"])), v), _slopes(w, f, df, v, node.attrs["known"]))
    core = plus(core, None if dh is None else from_diagonal(dh, v.type))
    return [None if core is None else mmh(mm(v, core), v)]


matrix_function = Op("matrix_function", _infer, lambda m, *rest, lower, known: np.array(m), _vjp, _jvp, extra={"expand": lambda m, *rest, lower, known: (m,)},
                     doc="m = V diag(f) V^T, with w, V the eigenvalues and eigenvectors of a, f = f(w) and slopes df; h is f again, for "
                     "what else f depends on, or, if df is not known (NaN), for all. Slopes by a and h")  # fmt: skip
