"""Singular values, symmetric eigenvalues and the pseudo-inverse, over stacks of matrices, and their derivatives.

The formulas: M. Giles (2008), J. Townsend, "Differentiating the singular value decomposition" (2016), and G. Golub and V. Pereyra,
"The differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate" (1973). Vectors of
equal eigenvalues or singular values are arbitrary within their space: what would divide by the gap of 0 counts as 0, which is right for
every function that does not depend on the choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.errors import ShapeError, UnsupportedError
from irad.ir import Value
from irad.ops.array import broadcast, max_
from irad.ops.core import Op
from irad.ops.elementwise import add, div, eq, full, gt, mul, neg, select, sub, szmul
from irad.ops.matrix import (
    along_columns,
    along_rows,
    check_float,
    diagonal,
    from_diagonal,
    from_symmetric,
    info_type,
    mm,
    mt,
    plus,
    square,
    symmetrised,
)
from irad.types import Type


def _reciprocal(x: Value) -> Value:
    """1/x, 0 where x is 0."""
    zero = eq(x, full(0.0, x))
    return select(zero, full(0.0, x), div(full(1.0, x), select(zero, full(1.0, x), x)))


def _each(function: Callable[..., Any], a: Any, shapes: Sequence[tuple[int, ...]]) -> tuple[Any, ...]:
    """function(matrix) -> arrays of `shapes`, for each matrix of a stack; NaN and info 1 where it does not converge."""
    batch = a.shape[:-2]
    outs = [np.full((*batch, *s), np.nan, a.dtype) for s in shapes]
    info = np.zeros(batch, np.int64)
    for at in np.ndindex(batch):
        try:
            for out, x in zip(outs, function(a[at])):
                out[at] = x
        except np.linalg.LinAlgError:
            info[at] = 1
    return (*outs, info[()])


# ---- symmetric eigenvalues ---------------------------------------------------------------------------------------------------


def _infer_eigh(a: Type, *, lower: bool) -> tuple[Type, ...]:
    square(a, "eigh")
    return a.with_shape(a.shape[:-1]), a, info_type(a)


def _read(x: Value, lower: bool) -> Value:
    """The symmetric matrix that one triangle of x stands for."""
    return symmetrised(x if lower else mt(x))


def _to_triangle(g: Value, lower: bool) -> Value:
    """The cotangent of the triangle, given that of the symmetric matrix."""
    low = from_symmetric(g)
    return low if lower else mt(low)


def _gaps(w: Value, like: Value) -> Value:
    """1 / (w_j - w_i), 0 where they are equal."""
    return _reciprocal(sub(along_rows(w, like), along_columns(w, like)))


def _vjp_eigh(ad: Any, node: Any, cts: Sequence[Value | None], adj: Any) -> None:
    """A' = V (diag w' + F o V^T V') V^T with F_ij = 1 / (w_j - w_i)."""
    (a,), (cw, cv, _) = node.inputs, cts
    if not ad.active(a):
        return
    w, v = ad.need(node.outputs[0]), ad.need(node.outputs[1])
    inner = plus(
        None if cw is None else from_diagonal(cw, v.type), None if cv is None else szmul(mm(v, cv, ta=True), _gaps(w, v))
    )
    if inner is None:
        return
    g = mm(mm(v, inner), v, tb=True)
    adj.add(a, _to_triangle(mul(add(g, mt(g)), full(0.5, g)), node.attrs["lower"]))


def _jvp_eigh(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    """With M = V^T dA V: dw = diag M, dV = V (F o M)."""
    da = tan.get(node.inputs[0])
    if da is None:
        return [None, None, None]
    w, v, _ = node.outputs
    m = mm(mm(v, _read(da, node.attrs["lower"]), ta=True), v)
    return [diagonal(m), mm(v, szmul(m, _gaps(w, v))), None]


eigh = Op("eigh", _infer_eigh, lambda a, *, lower: _each(lambda m: np.linalg.eigh(m, "L" if lower else "U"), a, [a.shape[-1:], a.shape[-2:]]), _vjp_eigh, _jvp_eigh,
          doc="eigenvalues, ascending, eigenvectors, info; of the symmetric matrix that one triangle of A stands for")  # fmt: skip


def _vjp_eigvalsh(ad: Any, node: Any, cts: Sequence[Value | None], adj: Any) -> None:
    (a,), ct = node.inputs, cts[0]
    if ct is not None and ad.active(a):
        _, v, _ = eigh(ad.need(a), **node.attrs)
        adj.add(a, _to_triangle(mm(mul(v, along_rows(ct, v)), v, tb=True), node.attrs["lower"]))


def _jvp_eigvalsh(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (a,) = node.inputs
    da = tan.get(a)
    if da is None:
        return [None, None]
    _, v, _ = eigh(a, **node.attrs)
    return [diagonal(mm(mm(v, _read(da, node.attrs["lower"]), ta=True), v)), None]


eigvalsh = Op("eigvalsh", lambda a, *, lower: _infer_eigh(a, lower=lower)[::2], lambda a, *, lower: _each(lambda m: (np.linalg.eigvalsh(m, "L" if lower else "U"),), a, [a.shape[-1:]]),
              _vjp_eigvalsh, _jvp_eigvalsh, doc="eigenvalues of `eigh`, and info")  # fmt: skip

# ---- singular values ------------------------------------------------------------------------------------------------------------


def _infer_svd(a: Type, *, full: bool) -> tuple[Type, ...]:
    check_float(a, "svd")
    m, n = a.shape[-2:]
    if not (isinstance(m, int) and isinstance(n, int)):
        raise ShapeError(f"svd wants matrices of static extents; got {a}")
    k, batch = min(m, n), a.shape[:-2]
    made = lambda *s: Type(a.dtype, (*batch, *s))
    return made(m, m if full else k), made(k), made(n if full else k, n), info_type(a)


def _eval_svd(a: Any, *, full: bool) -> tuple[Any, ...]:
    m, n = a.shape[-2:]
    k = min(m, n)
    return _each(lambda x: np.linalg.svd(x, full), a, [(m, m if full else k), (k,), (n if full else k, n)])


def _check_thin(node: Any) -> None:
    m, n = node.inputs[0].type.shape[-2:]
    if node.attrs["full"] and m != n:
        raise UnsupportedError(
            "np.linalg.svd with full_matrices=True of a matrix that is not square has no derivative: which vectors complete "
            "the bases is arbitrary; write full_matrices=False", node.loc,
        )  # fmt: skip


def _spread(s: Value, like: Value) -> Value:
    """1 / (s_j^2 - s_i^2), 0 where they are equal."""
    si, sj = along_columns(s, like), along_rows(s, like)
    return _reciprocal(mul(sub(sj, si), add(sj, si)))


def _outside(x: Value, basis: Value) -> Value:
    """The part of x's columns outside of the space of an orthonormal basis."""
    return sub(x, mm(basis, mm(basis, x, ta=True)))


def _vjp_svd(ad: Any, node: Any, cts: Sequence[Value | None], adj: Any) -> None:
    """Townsend's formula, with E = 1 / (s_j^2 - s_i^2)."""
    (a,), (cu, cs, cvt, _) = node.inputs, cts
    if not ad.active(a) or cu is cs is cvt is None:
        return
    u, s, vt = map(ad.need, node.outputs[:3])
    if cu is None and cvt is None and node.attrs["full"]:
        u, s, vt, _ = svd(ad.need(a), full=False)
    else:
        _check_thin(node)
    core = None if cs is None else from_diagonal(cs, _core_type(node))
    extra = None
    inv = _reciprocal(s)
    if cu is not None:
        c = mm(u, cu, ta=True)
        skew = szmul(sub(c, mt(c)), _spread(s, c))
        core = plus(core, mul(skew, along_rows(s, skew)))
        if u.type.shape[-2] != u.type.shape[-1]:
            out = _outside(cu, u)
            extra = mm(mul(out, along_rows(inv, out)), vt)
    if cvt is not None:
        c = mm(vt, cvt, tb=True)
        skew = szmul(sub(c, mt(c)), _spread(s, c))
        core = plus(core, mul(skew, along_columns(s, skew)))
        if vt.type.shape[-2] != vt.type.shape[-1]:
            out = mt(_outside(mt(cvt), mt(vt)))
            extra = plus(extra, mm(u, mul(out, along_columns(inv, out))))
    assert core is not None
    total = plus(mm(mm(u, core), vt), extra)
    adj.add(a, total)


def _core_type(node: Any) -> Type:
    s = node.outputs[1].type
    return s.with_shape((*s.shape, s.shape[-1]))


def _jvp_svd(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    """With P = U^T dA V: ds = diag P, dU = U (E o (P S + S P^T)) + (1 - U U^T) dA V / s, and dV likewise."""
    da = tan.get(node.inputs[0])
    if da is None:
        return [None, None, None, None]
    _check_thin(node)
    u, s, vt, _ = node.outputs
    dav = mm(da, vt, tb=True)
    p = mm(u, dav, ta=True)
    e, cols, rows = _spread(s, p), along_rows(s, p), along_columns(s, p)
    du = mm(u, szmul(add(mul(p, cols), mul(rows, mt(p))), e))
    dv = mm(mt(vt), szmul(add(mul(rows, p), mul(mt(p), cols)), e))
    inv = _reciprocal(s)
    if u.type.shape[-2] != u.type.shape[-1]:
        out = _outside(dav, u)
        du = add(du, mul(out, along_rows(inv, out)))
    if vt.type.shape[-2] != vt.type.shape[-1]:
        out = _outside(mm(da, u, ta=True), mt(vt))
        dv = add(dv, mul(out, along_rows(inv, out)))
    return [du, diagonal(p), mt(dv), None]


svd = Op("svd", _infer_svd, _eval_svd, _vjp_svd, _jvp_svd, doc="U, singular values (descending), V^T, info; full: square U and V")


def _infer_svdvals(a: Type) -> tuple[Type, ...]:
    return _infer_svd(a, full=False)[1::2]


def _vjp_svdvals(ad: Any, node: Any, cts: Sequence[Value | None], adj: Any) -> None:
    (a,), ct = node.inputs, cts[0]
    if ct is not None and ad.active(a):
        u, _, vt, _ = svd(ad.need(a), full=False)
        adj.add(a, mm(mul(u, along_rows(ct, u)), vt))


def _jvp_svdvals(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (a,) = node.inputs
    da = tan.get(a)
    if da is None:
        return [None, None]
    u, _, vt, _ = svd(a, full=False)
    return [diagonal(mm(mm(u, da, ta=True), vt, tb=True)), None]


svdvals = Op("svdvals", _infer_svdvals,
             lambda a: _each(lambda m: (np.linalg.svd(m, compute_uv=False),), a, [(min(a.shape[-2:]),)]), _vjp_svdvals, _jvp_svdvals,
             doc="singular values of `svd`, and info")  # fmt: skip

# ---- pseudo-inverse ---------------------------------------------------------------------------------------------------------------


def _infer_pinv(a: Type, *, rcond: float) -> tuple[Type, ...]:
    _infer_svd(a, full=False)
    return (a.with_shape((*a.shape[:-2], a.shape[-1], a.shape[-2])), info_type(a))


def _eval_pinv(a: Any, *, rcond: float) -> tuple[Any, ...]:
    return _each(lambda m: (np.linalg.pinv(m, rcond),), a, [a.shape[:-3:-1]])


def _made_of_svd(a: Value, *, rcond: float) -> tuple[Value, ...]:
    """V diag(1/s) U^T with singular values of at most rcond times the largest left out."""
    u, s, vt, info = svd(a, full=False)
    k = s.type.rank - 1
    if not s.type.shape[-1]:
        return mm(vt, u, ta=True, tb=True), info
    top = max_(s, axes=(k,))
    limit = broadcast(mul(top, full(rcond, top)), shape=s.type.shape, dims=tuple(range(k)))
    inv = select(gt(s, limit), _reciprocal(s), full(0.0, s))
    return mm(mul(vt, along_columns(inv, vt)), u, ta=True, tb=True), info


def _vjp_pinv(ad: Any, node: Any, cts: Sequence[Value | None], adj: Any) -> None:
    """A' = -P^T G P^T + (1 - A P) G^T P P^T + P^T P G^T (1 - P A), with P the pseudo-inverse and G its cotangent."""
    (a,), g = node.inputs, cts[0]
    if g is None or not ad.active(a):
        return
    x, p = ad.need(a), ad.need(node.outputs[0])
    pt, gt_ = mt(p), mt(g)
    first = mm(mm(gt_, p), pt)
    second = mm(pt, mm(p, gt_))
    total = neg(mm(mm(pt, g), pt))
    total = add(total, sub(first, mm(x, mm(p, first))))
    adj.add(a, add(total, sub(second, mm(mm(second, p), x))))


def _jvp_pinv(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    """dP = -P dA P + P P^T dA^T (1 - A P) + (1 - P A) dA^T P^T P."""
    (a,), p = node.inputs, node.outputs[0]
    da = tan.get(a)
    if da is None:
        return [None, None]
    first = mm(mm(p, p, tb=True), da, tb=True)
    second = mm(mm(da, p, ta=True, tb=True), p)
    total = neg(mm(mm(p, da), p))
    total = add(total, sub(first, mm(mm(first, a), p)))
    return [add(total, sub(second, mm(p, mm(a, second)))), None]


pinv = Op("pinv", _infer_pinv, _eval_pinv, _vjp_pinv, _jvp_pinv, extra={"expand": _made_of_svd},
          doc="pseudo-inverse; singular values of at most rcond times the largest count as 0; info")  # fmt: skip
