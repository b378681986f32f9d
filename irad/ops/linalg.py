"""Matrix factorisations and solves, each over stacks of matrices (the last two axes), and their derivatives.

The formulas are from M. Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation"
(2008); M. Seeger et al., "Auto-differentiating linear algebra" (2017); I. Murray, "Differentiation of the Cholesky decomposition"
(2016); S. Walter and L. Lehmann, "Algorithmic differentiation of linear algebra functions" (2010); and de Hoog, Anderssen
and Lukas, "Differentiation of matrix functionals using triangular factorization" (2011) for LU. On complex matrices, C. Boeddeker,
P. Hanebrink, L. Drude, J. Heymann and R. Haeb-Umbach, "On the computation of complex-valued gradients with application to
statistically optimum beamforming" (2017), and D. Roberts and L. Roberts, "QR and LQ decomposition matrix backpropagation
algorithms for square, wide, and deep matrices" (2020); what is holomorphic (LU with its pivots, solves) has its real rule.

No op here raises for a singular or indefinite matrix: who emits it asks the pivots or the output `info` (0: all is well).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Type, is_complex
from irad.errors import IradTypeError, ShapeError, UnsupportedError
from irad.ops.array import broadcast, dim_value, iota, max_, zeros
from irad.ops.complex import complex_, imag, real
from irad.ops.core import Op
from irad.ops.elementwise import eq, full, hypot, logical_and, plus, select
from irad.ops.matrix import (
    check_float,
    cj,
    diagonal,
    from_diagonal,
    from_symmetric,
    halved,
    hermitian_part,
    hmm,
    identity,
    info_type,
    mh,
    mm,
    mmh,
    mt,
    place_rows,
    square,
    symmetrised,
    take_rows,
    triangle,
)

# ---- LU -----------------------------------------------------------------------------------------------------------------------


def _infer_lu(a: Type) -> tuple[Type, ...]:
    n = square(a, "lu")
    order = Type("i64", (*a.shape[:-2], n))
    return a, order, order


def _eval_lu(a: Any) -> tuple[Any, ...]:
    lu = np.array(a)
    n = lu.shape[-1]
    swaps, rows = np.zeros(lu.shape[:-1], np.int64), np.zeros(lu.shape[:-1], np.int64)
    for at in np.ndindex(lu.shape[:-2]):
        m, order = lu[at], np.arange(n)
        for k in range(n):
            p = k + int(np.argmax(np.abs(m[k:, k].real) + np.abs(m[k:, k].imag)))  # LAPACK's size of a complex number
            m[[k, p]], order[[k, p]], swaps[(*at, k)] = m[[p, k]], order[[p, k]], p
            if m[k, k] != 0:
                m[k + 1 :, k] /= m[k, k]
                m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
        rows[at] = order
    return lu, swaps, rows


def _jvp_lu(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    """With F = L^-1 P dA and M = tril(F U^-1, -1): dL = L M, dU = F - M U. The last pivot is not divided by: it may be 0."""
    lu_, _, rows = node.outputs
    f = triangular_solve(lu_, take_rows(tan.get(node.inputs[0]), rows), lower=True, trans=False, unit=True)
    m = triangle(mt(triangular_solve(_last_pivot_used(lu_), mt(f), lower=False, trans=True, unit=False)), strict=True)
    low, up = _unit_lower(lu_), triangle(lu_, lower=False)
    return [mm(low, m) + triangle(f - mm(m, up), lower=False), None, None]


def _unit_lower(lu_: Value) -> Value:
    return triangle(lu_, strict=True) + identity(lu_.type)


def _last_pivot_used(lu_: Value) -> Value:
    """The factors with 1 for a last pivot that is 0, as of generators of Markov chains: what is divided by it is not read."""
    d = diagonal(lu_)
    n = d.type.shape[-1]
    assert isinstance(n, int)
    at = iota(type=d.type.with_dtype("i64"), axis=d.type.rank - 1)
    last = eq(at, full(n - 1, at))
    return lu_ + from_diagonal(select(logical_and(last, eq(d, full(0, d))), full(1, d), full(0, d)), lu_.type)


def _vjp_lu(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    """A' = P^T L^-T (U' + tril(L^T L' - U' U^T, -1) U^-T)."""
    (a,), ct = node.inputs, cts[0]
    lu_, rows = ad.need(node.outputs[0]), ad.need(node.outputs[2])
    low, up, above = _unit_lower(lu_), triangle(lu_, lower=False), triangle(ct, lower=False)
    inner = triangle(mm(low, triangle(ct, strict=True), ta=True) - mm(above, up, tb=True), strict=True)
    inner = mt(triangular_solve(_last_pivot_used(lu_), mt(inner), lower=False, trans=False, unit=False)) + above
    inner = triangular_solve(lu_, inner, lower=True, trans=True, unit=True)
    adj.add(a, place_rows(inner, rows))


lu = Op("lu", _infer_lu, _eval_lu, _vjp_lu, _jvp_lu,
        stacks=True, doc="L (unit diagonal, not stored) and U in one matrix; the row exchanged with each row; the rows of A in order: A[rows] = L U")  # fmt: skip

# ---- solves -----------------------------------------------------------------------------------------------------------------------


def _check_right_side(a: Type, b: Type, what: str) -> None:
    if b.dtype != a.dtype or b.rank != a.rank or b.shape[:-1] != a.shape[:-1]:
        raise ShapeError(f"{what}: a right side of type {b} does not fit matrices of type {a}")


def _infer_triangular(a: Type, b: Type, *, lower: bool, trans: bool, unit: bool) -> tuple[Type, ...]:
    square(a, "triangular_solve")
    _check_right_side(a, b, "triangular_solve")
    return (b,)


def _eval_triangular(a: Any, b: Any, *, lower: bool, trans: bool, unit: bool) -> Any:
    a = np.swapaxes(a, -1, -2) if trans else a
    x, n = np.array(b), a.shape[-1]
    with np.errstate(all="ignore"):
        for k in range(n) if lower != trans else reversed(range(n)):
            if not unit:
                x[..., k, :] /= a[..., k, k, None]
            rest = np.s_[k + 1 :] if lower != trans else np.s_[:k]
            x[..., rest, :] -= a[..., rest, k, None] * x[..., k, None, :]
    return x


def _triangular_adjoint(x: Value, w: Value, lower: bool, trans: bool, unit: bool) -> Value:
    """The cotangent of the triangle, given the solution and the cotangent of the right side."""
    return -triangle(mm(x, w, tb=True) if trans else mm(w, x, tb=True), lower, unit)


def _vjp_triangular(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (a, b), at = node.inputs, node.attrs
    w = triangular_solve(ad.need(a), cts[0], **{**at, "trans": not at["trans"]})
    adj.add(b, w)
    if ad.active(a):
        adj.add(a, _triangular_adjoint(ad.need(node.outputs[0]), w, **at))


def _jvp_triangular(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    """op(A) dX = dB - op(dA) X."""
    (a, b), at, x = node.inputs, node.attrs, node.outputs[0]
    da, db = tan.get(a), tan.get(b)
    moved = None if da is None else -mm(triangle(da, at["lower"], at["unit"]), x, ta=at["trans"])
    right = plus(db, moved)
    return [None if right is None else triangular_solve(a, right, **at)]


triangular_solve = Op("triangular_solve", _infer_triangular, _eval_triangular, _vjp_triangular, _jvp_triangular,
                      stacks=True, doc="X of op(A) X = B, from one triangle of A; trans: op transposes; unit: the diagonal counts as 1")  # fmt: skip


def _infer_solve(a: Type, lu_: Type, rows: Type, b: Type, *, trans: bool) -> tuple[Type, ...]:
    square(a, "solve")
    if (lu_, rows) != (a, Type("i64", a.shape[:-1])):
        raise IradTypeError(f"solve wants A, and the factors and row order that `lu` gives for it; got {a}, {lu_}, {rows}")
    _check_right_side(a, b, "solve")
    return (b,)


def _eval_solve(a: Any, lu_: Any, rows: Any, b: Any, *, trans: bool) -> Any:
    kinds = ({"lower": True, "unit": True}, {"lower": False, "unit": False})
    if not trans:
        x = np.take_along_axis(b, rows[..., None], -2)
        for kind in kinds:
            x = _eval_triangular(lu_, x, trans=False, **kind)
        return x
    x = b
    for kind in kinds[::-1]:
        x = _eval_triangular(lu_, x, trans=True, **kind)
    out = np.empty_like(x)
    np.put_along_axis(out, np.broadcast_to(rows[..., None], x.shape), x, -2)
    return out


def _vjp_solve(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    """B' = op(A)^-T X'; A' = -B' X^T, transposed for a transposed solve. The factors are those of A: they carry nothing."""
    (a, lu_, rows, b), trans = node.inputs, node.attrs["trans"]
    w = solve(*map(ad.need, (a, lu_, rows)), cts[0], trans=not trans)
    adj.add(b, w)
    if ad.active(a):
        x = ad.need(node.outputs[0])
        adj.add(a, -(mm(x, w, tb=True) if trans else mm(w, x, tb=True)))


def _jvp_solve(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (a, lu_, rows, b), trans = node.inputs, node.attrs["trans"]
    da, db = tan.get(a), tan.get(b)
    right = plus(db, None if da is None else -mm(da, node.outputs[0], ta=trans))
    return [None if right is None else solve(a, lu_, rows, right, trans=trans)]


solve = Op("solve", _infer_solve, _eval_solve, _vjp_solve, _jvp_solve,
           stacks=True, doc="X of A X = B (trans: of A^T X = B), given A and the factors and row order of `lu(A)`; slopes go by A")  # fmt: skip


def solution(a: Value, b: Value, trans: bool = False) -> Value:
    """X of A X = B; infinite or NaN where A is singular."""
    factors, _, rows = lu(a)
    return solve(a, factors, rows, b, trans=trans)


def inverse_transposed(a: Value) -> Value:
    """The transposed inverses; infinite or NaN where there is none."""
    return solution(a, identity(a.type), trans=True)


# ---- Cholesky ---------------------------------------------------------------------------------------------------------------


def _infer_cholesky(a: Type) -> tuple[Type, ...]:
    square(a, "cholesky")
    return a, info_type(a)


def _eval_cholesky(a: Any) -> tuple[Any, ...]:
    out, info = np.zeros_like(a), np.zeros(a.shape[:-2], np.int64)
    for at in np.ndindex(info.shape):
        try:
            out[at] = np.linalg.cholesky(a[at])
        except np.linalg.LinAlgError:
            info[at] = 1
    return out, info[()]


def _vjp_cholesky(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    """A' of the lower triangle, from S = L^-H phi(L^H L') L^-1, phi the lower triangle with half the diagonal."""
    (a,), ct = node.inputs, cts[0]
    low = ad.need(node.outputs[0])
    kind, right = {"lower": True, "trans": True, "unit": False}, cj(low)
    s = triangular_solve(right, halved(hmm(low, triangle(cj(ct)))), **kind)
    s = mh(triangular_solve(right, mh(s), **kind))
    adj.add(a, cj(from_symmetric(hermitian_part(s))))


def _jvp_cholesky(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    """dL = L phi(L^-1 dA L^-H)."""
    low, kind = node.outputs[0], {"lower": True, "trans": False, "unit": False}
    m = triangular_solve(low, symmetrised(tan.get(node.inputs[0])), **kind)
    m = triangular_solve(low, mh(m), **kind)
    return [mm(low, halved(m)), None]


cholesky = Op("cholesky", _infer_cholesky, _eval_cholesky, _vjp_cholesky, _jvp_cholesky,
              stacks=True, doc="L with A = L L^H, from the lower triangle of A; info: not 0 where A is not positive definite")  # fmt: skip

# ---- QR ---------------------------------------------------------------------------------------------------------------------


def _infer_qr(a: Type, *, full: bool) -> tuple[Type, ...]:
    check_float(a, "qr")
    m, n = a.shape[-2:]
    if not (isinstance(m, int) and isinstance(n, int) and m >= n):
        raise UnsupportedError(f"qr wants matrices that are at least as high as wide, of static extents; got {a}")
    k, batch = (m if full else n), a.shape[:-2]
    return Type(a.dtype, (*batch, m, k)), Type(a.dtype, (*batch, k, n))


def _not_full(node: Any) -> None:
    q, r = node.outputs
    if q.type.shape[-1] != r.type.shape[-1]:
        raise UnsupportedError(
            "np.linalg.qr(mode='complete') of a matrix that is not square has no derivative: which vectors complete Q is arbitrary",
            node.loc,
        )


def _divisor(r: Value, whole: bool) -> Value:
    """R as it is divided by: its last element 1 if Q is square, where nothing depends on it, and NaN where it is singular up to
    rounding."""
    k, n = r.type.rank, r.type.shape[-1]
    i, j = (iota(type=r.type.with_dtype("i64"), axis=a) for a in (k - 2, k - 1))
    size = abs(r) if not is_complex(r.type.dtype) else hypot(real(r), imag(r))
    if not n or any(d == 0 for d in r.type.shape):
        return r
    top = broadcast(max_(size, axes=(k - 2, k - 1)), shape=size.type.shape, dims=tuple(range(k - 2)))
    eps = float(np.finfo(size.type.numpy).eps) * (n if isinstance(n, int) else 4)
    gone = eq(i, j) & (size <= top * eps)
    out = select(gone, np.nan, r)
    end = broadcast(dim_value(n), shape=i.type.shape, dims=())
    last = eq(i, j) & eq(i + 1, end)
    return select(last, 1, out) if whole else out


def _vjp_qr(ad: Any, node: Any, cts: Sequence[Value | None], adj: Any) -> None:
    """A' = (Q' + Q sym(R R'^H - Q'^H Q)) R^-H, sym made from the lower triangle, with a real diagonal as R has.

    If Q is square and real, with B = Q^T Q' - R' R^T: A' = Q tril(B - B^T, -1) R^-T + Q R', where the last element of R plays no part.
    """
    _not_full(node)
    (a,), (cq, cr) = node.inputs, (None if c is None else cj(c) for c in cts)
    q, r = map(ad.need, node.outputs)
    upper = None if cr is None else triangle(cr, lower=False)
    over_r = lambda y, d: mt(triangular_solve(cj(d), mt(y), lower=False, trans=False, unit=False))
    if _square_q(node):
        b = plus(None if cq is None else mm(q, cq, ta=True), None if upper is None else -mm(upper, r, tb=True))
        assert b is not None
        turned = mm(q, over_r(triangle(b - mt(b), strict=True), _divisor(r, True)))
        total = plus(turned, None if upper is None else mm(q, upper))
        assert total is not None
        adj.add(a, total)
        return
    m = plus(None if upper is None else mmh(r, upper), None if cq is None else -hmm(cq, q))
    assert m is not None
    y = plus(cq, mm(q, symmetrised(m)))
    assert y is not None
    adj.add(a, cj(over_r(y, _divisor(r, False))))


def _square_q(node: Any) -> bool:
    t = node.outputs[0].type
    return t.shape[-1] == t.shape[-2] and not is_complex(t.dtype)


def _jvp_qr(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    """With M = dA R^-1, C = Q^H M and W = tril(C, -1) - tril(C, -1)^H + i Im diag C: dQ = M + Q (W - C), dR = (C - W) R.

    If Q is square and real: dQ = Q W and dR = Q^T dA - W R, as for the reverse.
    """
    _not_full(node)
    da, (q, r) = tan.get(node.inputs[0]), node.outputs
    whole = _square_q(node)
    m = mt(triangular_solve(_divisor(r, whole), mt(da), lower=False, trans=True, unit=False))
    c = hmm(q, m)
    low = triangle(c, strict=True)
    turned = low - mh(low)
    if whole:
        return [mm(q, turned), triangle(hmm(q, da) - mm(turned, r), lower=False)]
    rest = c - turned
    if is_complex(c.type.dtype):
        turn = imag(diagonal(c))
        rest = rest - from_diagonal(complex_(zeros(turn.type), turn), c.type)
    return [m - mm(q, rest), mm(rest, r)]


qr = Op("qr", _infer_qr, lambda a, *, full: tuple(np.linalg.qr(a, "complete" if full else "reduced")), _vjp_qr, _jvp_qr,
        stacks=True, doc="A = Q R for matrices at least as high as wide; full: Q is square")  # fmt: skip
