"""Singular values, symmetric eigenvalues and the pseudo-inverse, over stacks of matrices, and their derivatives.

The formulas: M. Giles (2008), J. Townsend, "Differentiating the singular value decomposition" (2016), and G. Golub and V. Pereyra,
"The differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate" (1973); of complex
matrices, Z.-Q. Wan and S.-X. Zhang, "Automatic differentiation for complex valued SVD" (2019).

Vectors of equal eigenvalues or singular values are arbitrary within their space. A function of the vectors alone that does not
depend on the choice, such as the projector on the whole space, has a cotangent whose part that would be divided by the gap is 0,
and that part then counts as 0. If it is not 0, or if the values count besides, the derivative is not determined by what the rule
is given, and is NaN: V f(w) V^T, U f(s) V^T and sums of f have rules of their own, see irad.ops.matrix_functions. In forward mode
a direction that mixes such vectors gives NaN. An eigenvalue that is equal to another one by itself has a kink: its slope is that
along the vector that was found, as those of `np.max` go to the first of several largest. The phases of complex vectors are
arbitrary too: a change of A leaves those of eigenvectors, and the products of those of a left and its right singular vector, as
they are. Of the vectors that complete a basis of singular vectors, one is determined but for its sign; several are arbitrary
within their space, as those of equal values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Type, is_complex, real_dtype
from irad.errors import UnsupportedError
from irad.ops.array import broadcast, concat, iota, max_, restore, slice_axis, zeros
from irad.ops.complex import complex_, imag, real
from irad.ops.core import OPS, Op
from irad.ops.elementwise import cast_to, eq, full, maximum, ne, plus, select, szmul
from irad.ops.matrix import (
    along_columns,
    along_rows,
    check_float,
    cj,
    diagonal,
    each_matrix,
    from_diagonal,
    from_symmetric,
    hermitian_part,
    hmm,
    info_type,
    mh,
    mm,
    mmh,
    mt,
    square,
    symmetrised,
)

TIE = 32  # units of rounding of the largest value within which two count as equal


def _reciprocal(x: Value) -> Value:
    """1/x, 0 where x is 0."""
    zero = eq(x, 0)
    return select(zero, 0, 1 / select(zero, 1, x))


# ---- symmetric eigenvalues ---------------------------------------------------------------------------------------------------


def _infer_eigh(a: Type, *, lower: bool) -> tuple[Type, ...]:
    square(a, "eigh")
    return Type(real_dtype(a.dtype), a.shape[:-1]), a, info_type(a)


def read_symmetric(x: Value, lower: bool) -> Value:
    """The symmetric (Hermitian) matrix that one triangle of x stands for."""
    return symmetrised(x if lower else mh(x))


def to_triangle(g: Value, lower: bool) -> Value:
    """The cotangent of the triangle, given the gradient of the symmetric matrix."""
    low = from_symmetric(g)
    return cj(low) if lower else mt(low)


def gaps(w: Value, like: Value, looseness: Value | None = None) -> tuple[Value, Value]:
    """1 / (w_j - w_i), 0 where they are equal, up to rounding of the largest; and where they are, though i is not j.

    `looseness`: how many times that rounding is in each of the values.
    """
    t = like if is_complex(w.type.dtype) else _real_like(like)
    k = w.type.rank - 1
    gap, size = along_rows(w, t) - along_columns(w, t), _size(w)
    real_t = _size(t)
    top = along_rows(restore(max_(size, axes=(k,)), size.type, (k,)), real_t) if w.type.shape[-1] else real_t
    room = top * (TIE * float(np.finfo(Type(size.type.dtype).numpy).eps))
    if looseness is not None:
        room = room * maximum(along_rows(looseness, real_t), along_columns(looseness, real_t))
    equal = eq(gap, 0) | (_size(gap) <= room)
    inverse = select(equal, 0, 1 / select(equal, 1, gap))
    return cast_to(inverse, like.type.dtype), equal & off_diagonal(real_t.type)


def _size(x: Value) -> Value:
    """|x|, or of complex numbers |Re x| + |Im x|."""
    return abs(real(x)) + abs(imag(x)) if is_complex(x.type.dtype) else abs(x)


def off_diagonal(t: Type) -> Value:
    """Which places of stacked matrices of a type are not on a diagonal."""
    wide = t.with_dtype("i64")
    return ne(iota(type=wide, axis=t.rank - 2), iota(type=wide, axis=t.rank - 1))


def divided_by_gaps(turn: Value, w: Value, scale: Value, values: bool, looseness: Value | None = None) -> Value:
    """turn / (w_j - w_i); at equal values 0 if turn is 0 but for rounding of `scale`, else NaN. `looseness`: see `gaps`.

    `values`: the function depends on w besides. Then a turn of 0 does not say what belongs there, and equal values give NaN.
    """
    inverse, equal = gaps(w, turn, looseness)
    if values:
        return select(equal, np.nan, szmul(turn, inverse))
    k, s = turn.type.rank, _size(scale)
    eps = float(np.finfo(Type(s.type.dtype).numpy).eps)
    largest = broadcast(max_(s, axes=(k - 2, k - 1)), shape=s.type.shape, dims=tuple(range(k - 2))) if w.type.shape[-1] else s
    undetermined = equal & (_size(turn) > largest * eps**0.5)
    nan = cast_to(select(undetermined, np.nan, full(0.0, s)), turn.type.dtype)
    return szmul(turn, inverse) + nan


def _real_like(v: Value) -> Value:
    """A value of v's shape and of the dtype of its parts."""
    return real(v) if is_complex(v.type.dtype) else v


def _real_diagonal(m: Value) -> Value:
    return _real_like(diagonal(m))


def _vjp_eigh(ad: Any, node: Any, cts: Sequence[Value | None], adj: Any) -> None:
    """A' = V (diag w' + F o (K - K^H) / 2) V^H with K = V^H V' and F_ij = 1 / (w_j - w_i)."""
    (a,), (cw, cv, _) = node.inputs, cts
    w, v = ad.need(node.outputs[0]), ad.need(node.outputs[1])
    inner = None if cw is None else from_diagonal(cw, v.type)
    if cv is not None:
        turned = hmm(v, cj(cv))
        inner = plus(inner, divided_by_gaps(half(turned - mh(turned)), w, turned, cw is not None))
    assert inner is not None
    adj.add(a, to_triangle(hermitian_part(mmh(mm(v, inner), v)), node.attrs["lower"]))


def _jvp_eigh(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    """dw = diag M and dV = V (F o M), with M = V^H dA V."""
    da, (w, v, _) = tan.get(node.inputs[0]), node.outputs
    m = mm(hmm(v, read_symmetric(da, node.attrs["lower"])), v)
    return [_real_diagonal(m), mm(v, divided_by_gaps(m, w, m, False)), None]


eigh = Op("eigh", _infer_eigh, lambda a, *, lower: each_matrix(lambda m: np.linalg.eigh(m, "L" if lower else "U"), a, [a.shape[-1:], a.shape[-2:]]), _vjp_eigh, _jvp_eigh,
          stacks=True, doc="eigenvalues, ascending, eigenvectors, info; of the symmetric matrix that one triangle of A stands for")  # fmt: skip


def _vjp_eigvalsh(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (a,), ct = node.inputs, cts[0]
    w, v, _ = eigh(ad.need(a), **node.attrs)
    g = mmh(v * along_rows(ct, v), v)
    if not is_complex(v.type.dtype):
        g = OPS["spectral_matrix"](g, ad.need(a), w, v, ct, **node.attrs)
    adj.add(a, to_triangle(g, node.attrs["lower"]))


def _jvp_eigvalsh(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (a,) = node.inputs
    _, v, _ = eigh(a, **node.attrs)
    return [_real_diagonal(mm(hmm(v, read_symmetric(tan.get(a), node.attrs["lower"])), v)), None]


eigvalsh = Op("eigvalsh", lambda a, *, lower: _infer_eigh(a, lower=lower)[::2], lambda a, *, lower: each_matrix(lambda m: (np.linalg.eigvalsh(m, "L" if lower else "U"),), a, [a.shape[-1:]]),
              _vjp_eigvalsh, _jvp_eigvalsh, stacks=True, doc="eigenvalues of `eigh`, and info")  # fmt: skip

# ---- singular values ------------------------------------------------------------------------------------------------------------


def _infer_svd(a: Type, *, full: bool) -> tuple[Type, ...]:
    check_float(a, "svd")
    m, n = a.shape[-2:]
    if not (isinstance(m, int) and isinstance(n, int)):
        raise UnsupportedError(f"svd wants matrices of static extents; got {a}")
    k, batch = min(m, n), a.shape[:-2]
    made = lambda *s: Type(a.dtype, (*batch, *s))
    return made(m, m if full else k), made(k).with_dtype(real_dtype(a.dtype)), made(n if full else k, n), info_type(a)


def _eval_svd(a: Any, *, full: bool) -> tuple[Any, ...]:
    m, n = a.shape[-2:]
    k = min(m, n)
    return each_matrix(lambda x: np.linalg.svd(x, full), a, [(m, m if full else k), (k,), (n if full else k, n)])


def half(x: Value) -> Value:
    """x / 2"""
    return x * 0.5


def _sums(s: Value, like: Value) -> Value:
    """1 / (s_i + s_j), 0 where both are 0 and on the diagonal, which is left to `_turns`."""
    t = _real_like(like)
    inverse = _reciprocal(along_columns(s, t) + along_rows(s, t))
    return cast_to(select(off_diagonal(t.type), inverse, 0), like.type.dtype)


def _outside(x: Value, basis: Value) -> Value:
    """The part of x's columns outside of the space of an orthonormal basis."""
    return x - mm(basis, hmm(basis, x))


def _turns(c: Value, s: Value) -> Value | None:
    """The change of phase that goes to a left and, with the other sign, to its right singular vector: i Im(c_ii) / (2 s_i)."""
    if not is_complex(c.type.dtype):
        return None
    turn = imag(diagonal(c))
    inv = _reciprocal(s)
    half = turn * (inv * 0.5)
    return from_diagonal(complex_(zeros(half.type), half), c.type)


def _columns(x: Value, k: int) -> tuple[Value, Value]:
    """The first k columns, and those after them."""
    axis, n = x.type.rank - 1, x.type.shape[-1]
    return slice_axis(x, axis, 0, k), slice_axis(x, axis, k, n - k)


def _onto_first(g: Value, basis: Value, k: int) -> Value:
    """The cotangent of the first k columns of a full basis, which the columns that complete it follow: dB2 = -B1 dB1^H B2.

    Several of those are arbitrary within their space: NaN for a function that depends on the choice.
    """
    (b1, b2), (g1, g2) = _columns(basis, k), _columns(g, k)
    g1 = g1 - mm(b2, mh(hmm(b1, g2)))
    if b2.type.shape[-1] == 1:
        return g1
    c = hmm(b2, g2)
    axes = (g.type.rank - 2, g.type.rank - 1)
    largest = lambda x: max_(_size(x), axes=axes)
    eps = float(np.finfo(Type(real_dtype(g.type.dtype)).numpy).eps)
    depends = largest(c - mh(c)) > largest(g) * eps**0.5
    nan = select(depends, np.nan, full(0.0, largest(g)))
    return g1 + cast_to(broadcast(nan, shape=g1.type.shape, dims=tuple(range(axes[0]))), g1.type.dtype)


def _completed(d: Value, basis: Value, k: int) -> Value:
    """The tangent of a full basis, given that of its first k columns; NaN for several columns that complete it."""
    b1, b2 = _columns(basis, k)
    rest = -mm(b1, hmm(d, b2)) if b2.type.shape[-1] == 1 else full(np.nan, b2)
    return concat(d, rest, axis=d.type.rank - 1)


def _thin(node: Any, u: Value, vt: Value) -> tuple[Value, Value, int]:
    """The singular vectors that belong to singular values, and how many those are."""
    k = node.outputs[1].type.shape[-1]
    return slice_axis(u, u.type.rank - 1, 0, k), slice_axis(vt, vt.type.rank - 2, 0, k), k


def _vjp_svd(ad: Any, node: Any, cts: Sequence[Value | None], adj: Any) -> None:
    """Townsend's formula; 1 / (s_j^2 - s_i^2), which mixes turns of left vectors L and of right ones R, in partial fractions:
    (L + R) / (2 (s_j - s_i)) + (L - R) / (2 (s_j + s_i)). Only a turn of both together is undetermined at equal values."""
    (a,), (cu, cs, cvt, _) = node.inputs, cts
    if cu is None and cvt is None and node.attrs["full"]:
        whole_u, s, whole_vt, _ = svd(ad.need(a), full=False)
    else:
        whole_u, s, whole_vt = map(ad.need, node.outputs[:3])
    u, vt, k = _thin(node, whole_u, whole_vt)
    core = None if cs is None else from_diagonal(cs, _core_type(node))
    extra: Value | None = None
    left: Value | None = None
    right: Value | None = None
    scale: Value | None = None
    inv = _reciprocal(s)
    if cu is not None:
        gu = cj(cu)
        gu = gu if whole_u is u else _onto_first(gu, whole_u, k)
        c = hmm(u, gu)
        left, scale = c - mh(c), c
        core = plus(core, _turns(c, s))
        if u.type.shape[-2] != u.type.shape[-1]:
            out = _outside(gu, u)
            extra = mm(out * along_rows(inv, out), vt)
    if cvt is not None:
        gv = mt(cvt)
        gv = gv if whole_vt is vt else _onto_first(gv, mh(whole_vt), k)
        c = mm(vt, gv)
        right, scale = c - mh(c), c if scale is None else scale + c
        turns = _turns(c, s)
        core = plus(core, None if turns is None else -turns)
        if vt.type.shape[-2] != vt.type.shape[-1]:
            out = mh(_outside(gv, mh(vt)))
            extra = plus(extra, mm(u, out * along_columns(inv, out)))
    both, apart = plus(left, right), plus(left, None if right is None else -right)
    if both is not None and apart is not None and scale is not None:
        core = plus(core, divided_by_gaps(half(both), s, scale, cs is not None), half(apart) * _sums(s, apart))
    assert core is not None
    total = plus(mm(mm(u, core), vt), extra)
    assert total is not None
    adj.add(a, cj(total))


def _core_type(node: Any) -> Type:
    u, s = node.outputs[0].type, node.outputs[1].type
    return u.with_shape((*s.shape, s.shape[-1]))


def _jvp_svd(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    """With P = U^H dA V: ds = diag P, dU = U L + (1 - U U^H) dA V / s, and dV likewise with R; L and R in partial fractions:
    (P + P^H) / (2 (s_j - s_i)) plus, or minus, (P - P^H) / (2 (s_j + s_i))."""
    da, (whole_u, s, whole_vt, _) = tan.get(node.inputs[0]), node.outputs
    u, vt, k = _thin(node, whole_u, whole_vt)
    dav = mmh(da, vt)
    p = hmm(u, dav)
    turns, ph = _turns(p, s), mh(p)
    together, apart = divided_by_gaps(half(p + ph), s, p, False), half(p - ph) * _sums(s, p)
    left = plus(together + apart, turns)
    right = plus(together - apart, None if turns is None else -turns)
    assert left is not None and right is not None
    du, dv = mm(u, left), mm(mh(vt), right)
    inv = _reciprocal(s)
    if u.type.shape[-2] != u.type.shape[-1]:
        out = _outside(dav, u)
        du = du + out * along_rows(inv, out)
    if vt.type.shape[-2] != vt.type.shape[-1]:
        out = _outside(hmm(da, u), mh(vt))
        dv = dv + out * along_rows(inv, out)
    du = du if whole_u is u else _completed(du, whole_u, k)
    dv = dv if whole_vt is vt else _completed(dv, mh(whole_vt), k)
    return [du, _real_diagonal(p), mh(dv), None]


svd = Op("svd", _infer_svd, _eval_svd, _vjp_svd, _jvp_svd, stacks=True,
         doc="U, singular values (descending), V^H, info; full: square U and V")  # fmt: skip


def _vjp_svdvals(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (a,), ct = node.inputs, cts[0]
    u, _, vt, _ = svd(ad.need(a), full=False)
    adj.add(a, cj(mm(u * along_rows(ct, u), vt)))


def _jvp_svdvals(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (a,) = node.inputs
    u, _, vt, _ = svd(a, full=False)
    return [_real_diagonal(mmh(hmm(u, tan.get(a)), vt)), None]


svdvals = Op("svdvals", lambda a: _infer_svd(a, full=False)[1::2],
             lambda a: each_matrix(lambda m: (np.linalg.svd(m, compute_uv=False),), a, [(min(a.shape[-2:]),)]), _vjp_svdvals, _jvp_svdvals,
             stacks=True, doc="singular values of `svd`, and info")  # fmt: skip

# ---- pseudo-inverse ---------------------------------------------------------------------------------------------------------------


def _infer_pinv(a: Type, *, rcond: float) -> tuple[Type, ...]:
    _infer_svd(a, full=False)
    return (a.with_shape((*a.shape[:-2], a.shape[-1], a.shape[-2])), info_type(a))


def _made_of_svd(a: Value, *, rcond: float) -> tuple[Value, ...]:
    """V diag(1/s) U^H with singular values of at most rcond times the largest left out."""
    u, s, vt, info = svd(a, full=False)
    k = s.type.rank - 1
    if not s.type.shape[-1]:
        return mm(vt, u, ta=True, tb=True), info
    top = max_(s, axes=(k,))
    limit = broadcast(top * rcond, shape=s.type.shape, dims=tuple(range(k)))
    inv = select(s > limit, _reciprocal(s), 0)
    return cj(mm(vt * along_columns(inv, vt), u, ta=True, tb=True)), info


def _vjp_pinv(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    """A' = -P^H G P^H + (1 - A P) G^H P P^H + P^H P G^H (1 - P A), with P the pseudo-inverse and G its gradient."""
    (a,), ct = node.inputs, cts[0]
    x, p = ad.need(a), ad.need(node.outputs[0])
    ph, gh = mh(p), mt(ct)
    first = mm(mm(gh, p), ph)
    second = mm(ph, mm(p, gh))
    total = -mm(mm(ph, cj(ct)), ph)
    total = total + (first - mm(x, mm(p, first)))
    adj.add(a, cj(total + (second - mm(mm(second, p), x))))


def _jvp_pinv(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    """dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P."""
    (a,), p = node.inputs, node.outputs[0]
    da = tan.get(a)
    first = mmh(mmh(p, p), da)
    second = mm(hmm(da, mh(p)), p)
    total = -mm(mm(p, da), p)
    total = total + (first - mm(mm(first, a), p))
    return [total + (second - mm(p, mm(a, second))), None]


pinv = Op("pinv", _infer_pinv, lambda a, *, rcond: each_matrix(lambda m: (np.linalg.pinv(m, rcond),), a, [a.shape[:-3:-1]]), _vjp_pinv, _jvp_pinv, extra={"expand": _made_of_svd},
          stacks=True, doc="pseudo-inverse; singular values of at most rcond times the largest count as 0; info")  # fmt: skip
