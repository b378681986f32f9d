"""Determinants over stacks of matrices, right at singular matrices, where the derivative is the cofactor matrix and not 0/0.

With A = U S V^T, the matrix of cofactors is det(U) det(V) U C V^T, where C is diagonal and C_ii the product of all other singular
values; no division anywhere. Its derivative is likewise made of products of all but two. Of complex matrices U and V^T are conjugated there
(with A = U S V^H), and the sign of a determinant, which is a number of modulus 1, has a slope.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Type, is_complex, real_dtype
from irad.errors import UnsupportedError
from irad.ops.array import Slice, broadcast, cumprod, index, iota, prod_, sum_, zeros
from irad.ops.complex import complex_, imag, real
from irad.ops.constant import const
from irad.ops.core import Op, type_error
from irad.ops.elementwise import cast_to, eq, exp, hypot, log, ne, plus, select, sign, szmul
from irad.ops.linalg import inverse_transposed, lu
from irad.ops.matrix import along_rows, cj, diagonal, from_diagonal, hmm, identity, inner, mm, mmh, mt, over_matrices, square
from irad.ops.spectral import svd


def _scalars(t: Type) -> Type:
    return t.with_shape(t.shape[:-2])


def _infer_det(a: Type) -> tuple[Type, ...]:
    square(a, "det")
    return (_scalars(a),)


def _sign_and_log(a: Value) -> tuple[Value, Value]:
    """sign det A and log |det A| by LU, as NumPy has them."""
    factors, swaps, _ = lu(a)
    d = diagonal(factors)
    k = d.type.rank - 1
    moved = ne(swaps, iota(type=swaps.type, axis=k))
    odd = sum_(cast_to(moved, "i64"), axes=(k,)) % 2
    parity = 1 - cast_to(odd + odd, d.type.dtype)
    signs, sizes = _direction_and_size(d)
    return parity * prod_(signs, axes=(k,)), sum_(log(sizes), axes=(k,))


def _direction_and_size(d: Value) -> tuple[Value, Value]:
    """d / |d|, 0 at 0, and |d|, a real number."""
    if not is_complex(d.type.dtype):
        return sign(d), abs(d)
    x, y = real(d), imag(d)
    size = hypot(x, y)
    zero = eq(size, 0)
    scale = select(zero, 1, size)
    return complex_(x / scale, y / scale), size


def _det_by_lu(a: Value) -> Value:
    s, logarithm = _sign_and_log(a)
    return s * cast_to(exp(logarithm), s.type.dtype)


def _vjp_det(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (a,) = node.inputs
    c = cofactor(ad.need(a))
    adj.add(a, szmul(over_matrices(cts[0], c), c))


def _jvp_det(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (a,) = node.inputs
    return [inner(tan.get(a), cofactor(a))]


det = Op("det", _infer_det, lambda a: np.linalg.det(a), _vjp_det, _jvp_det, extra={"expand": lambda a: (_det_by_lu(a),)},
         stacks=True, doc="determinants")  # fmt: skip

# ---- cofactors -------------------------------------------------------------------------------------------------------------------


def _others(s: Value) -> Value:
    """The product of all other elements along the last axis."""
    k = s.type.rank - 1
    before, after = (cumprod(s, axis=k, reverse=r, exclusive=True) for r in (False, True))
    return before * after


def _all_but_two(s: Value, like: Type) -> Value:
    """At (i, j): the product of all elements but i and j; 0 where i = j."""
    k = like.rank
    wide = Type(s.type.dtype, (*like.shape, like.shape[-1]))
    i, j, m = (iota(type=wide.with_dtype("i64"), axis=a) for a in (k - 2, k - 1, k))
    every = broadcast(s, shape=wide.shape, dims=(*range(k - 2), k))
    rest = prod_(select(eq(m, i) | eq(m, j), 1, every), axes=(k,))
    two = like.with_dtype("i64")
    return select(eq(iota(type=two, axis=k - 2), iota(type=two, axis=k - 1)), 0, rest)


def _orientation(u: Value, vt: Value) -> Value:
    """det(U) det(V^H), which has modulus 1."""
    return _sign_and_log(u)[0] * _sign_and_log(vt)[0]


def _cofactor_by_svd(a: Value) -> Value:
    u, s, vt, _ = svd(a, full=False)
    c = mm(cj(u) * along_rows(_others(s), u), cj(vt))
    return c * over_matrices(_orientation(u, vt), c)


def _eval_orientation(u: Any, vt: Any) -> Any:
    d = np.linalg.det(u) * np.linalg.det(vt)
    return (d if np.iscomplexobj(d) else np.round(d))[..., None, None]


def _eval_cofactor(a: Any) -> Any:
    u, s, vt = np.linalg.svd(a)
    n = a.shape[-1]
    rest = np.stack([np.prod(np.delete(s, k, -1), -1) for k in range(n)], -1) if n else s
    return ((u.conj() * rest[..., None, :]) @ vt.conj() * _eval_orientation(u, vt)).astype(a.dtype)


def _vjp_cofactor(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    """The second derivative of det is symmetric, so the rule is its own transpose."""
    (a,) = node.inputs
    adj.add(a, cofactor_along(ad.need(a), cts[0]))


def _jvp_cofactor(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (a,) = node.inputs
    return [cofactor_along(a, tan.get(a))]


cofactor = Op("cofactor", lambda a: (a,), _eval_cofactor, _vjp_cofactor, _jvp_cofactor, extra={"expand": lambda a: (_cofactor_by_svd(a),)},
              stacks=True, doc="matrices of cofactors: the gradient of det")  # fmt: skip


def _infer_along(a: Type, e: Type) -> tuple[Type, ...]:
    if a != e:
        raise type_error("cofactor_along wants matrices and directions of one type", a, e)
    return (a,)


def _along_by_svd(a: Value, e: Value) -> Value:
    """The derivative in the bases of the SVD: diag(P diag B) - P o B^T, where B is the direction and P holds the products of all
    singular values but two."""
    u, s, vt, _ = svd(a, full=False)
    b = mmh(hmm(u, e), vt)
    p = cast_to(_all_but_two(s, b.type), b.type.dtype)
    k = b.type.rank
    on = sum_(p * along_rows(diagonal(b), p), axes=(k - 1,))
    core = from_diagonal(on, b.type) - p * mt(b)
    c = mm(mm(cj(u), core), cj(vt))
    return c * over_matrices(_orientation(u, vt), c)


def _eval_along(a: Any, e: Any) -> Any:
    u, s, vt = np.linalg.svd(a)
    n = a.shape[-1]
    b = np.swapaxes(u.conj(), -1, -2) @ e @ np.swapaxes(vt.conj(), -1, -2)
    core = np.zeros_like(a)
    for i in range(n):
        for j in range(n):
            if i != j:
                p = np.prod(np.delete(s, [i, j], -1), -1)
                core[..., i, i] += p * b[..., j, j]
                core[..., i, j] -= p * b[..., j, i]
    return (u.conj() @ core @ vt.conj() * _eval_orientation(u, vt)).astype(a.dtype)


LARGEST_THIRD = 12  # order of the largest matrix whose third derivative is given: the recurrence loses about a bit per row


def _second(a: Value, e: Value, f: Value, node: Any) -> Value:
    """The second derivative of the cofactors along e and f, without division by an element.

    The recurrence of Faddeev and Le Verrier for the adjugate, M <- A M + c 1 with c = -tr(A M) / k, is carried out on
    values together with their derivatives along e, along f and along both.
    """
    n = a.type.shape[-1]
    if not isinstance(n, int) or n > LARGEST_THIRD:
        raise UnsupportedError(
            f"the third derivative of np.linalg.det, for matrices larger than {LARGEST_THIRD} x {LARGEST_THIRD}", node.loc
        )
    one = identity(a.type)
    jet: list[Value | None] = [one, None, None, None]
    for k in range(1, n):
        jet = [plus(p, _shifted(p, one, k)) for p in _times(a, e, f, jet)]
    out = mt(jet[3]) if jet[3] is not None else zeros(a.type)
    return out if n % 2 else -out


def _shifted(p: Value | None, one: Value, k: int) -> Value | None:
    """-tr(p) / k on the diagonal."""
    if p is None:
        return None
    trace = sum_(diagonal(p), axes=(p.type.rank - 2,))
    return over_matrices(trace * (-1.0 / k), one) * one


def _times(a: Value, e: Value, f: Value, m: list[Value | None]) -> list[Value | None]:
    """The product rule, for A with its derivatives e and f, and M with its own."""
    by = lambda x, y: None if y is None else mm(x, y)
    return [
        by(a, m[0]),
        plus(by(e, m[0]), by(a, m[1])),
        plus(by(f, m[0]), by(a, m[2])),
        plus(by(e, m[2]), by(f, m[1]), by(a, m[3])),
    ]


def _vjp_along(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    a, e = node.inputs
    if ad.active(a):
        adj.add(a, _second(ad.need(a), ad.need(e), cts[0], node))
    adj.add(e, cofactor_along(ad.need(a), cts[0]))


def _jvp_along(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    a, e = node.inputs
    da, de = tan.get(a), tan.get(e)
    second = None if da is None else _second(a, e, da, node)
    return [plus(None if de is None else cofactor_along(a, de), second)]


cofactor_along = Op("cofactor_along", _infer_along, _eval_along, _vjp_along, _jvp_along, extra={"expand": lambda a, e: (_along_by_svd(a, e),)},
                    stacks=True, doc="derivative of the cofactors along a direction: the second derivative of det")  # fmt: skip

# ---- sign and logarithm -------------------------------------------------------------------------------------------------------------


def _infer_slogdet(a: Type) -> tuple[Type, ...]:
    (t,) = _infer_det(a)
    return t, t.with_dtype(real_dtype(t.dtype))


def _vjp_slogdet(ad: Any, node: Any, cts: Sequence[Value | None], adj: Any) -> None:
    """(log |det A|)' = A^-T; infinite or NaN at a singular matrix, where the logarithm is -inf; a masked cotangent stays 0.

    Of a complex matrix, with t = tr(A^-1 dA): d log |det| = Re t and d sign = i sign Im t.
    """
    (a,), (turned, ct) = node.inputs, cts
    dtype = a.type.dtype
    along = None if turned is None or not is_complex(dtype) else imag(turned * ad.need(node.outputs[0]))
    if ct is along is None:
        return
    if is_complex(dtype):
        some = ct if ct is not None else along
        assert some is not None
        nothing = zeros(some.type)
        ct = complex_(nothing if ct is None else ct, nothing if along is None else along)
    assert ct is not None
    inverse = inverse_transposed(ad.need(a))
    adj.add(a, szmul(over_matrices(ct, inverse), inverse))


def _jvp_slogdet(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (a,), s = node.inputs, node.outputs[0]
    t = inner(tan.get(a), inverse_transposed(a))
    if not is_complex(a.type.dtype):
        return [None, t]
    turn = imag(t)
    return [s * complex_(zeros(turn.type), turn), real(t)]


slogdet = Op("slogdet", _infer_slogdet, lambda a: tuple(np.linalg.slogdet(a)), _vjp_slogdet, _jvp_slogdet,
             extra={"expand": _sign_and_log}, stacks=True, doc="sign of the determinant (no slope where it is real), logarithm of its absolute value")  # fmt: skip


# ---- small matrices -------------------------------------------------------------------------------------------------------------------


def polynomial(a: Value) -> Value:
    """det of matrices of order up to 4, Laplace's expansion along rows: derivatives of every order follow."""
    n = square(a.type, "det")
    assert isinstance(n, int) and n <= 4
    rest = tuple(Slice(0, d) for d in a.type.shape[:-2])
    memo: dict[tuple[int, tuple[int, ...]], Value] = {}

    def minor(row: int, columns: tuple[int, ...]) -> Value:
        if (row, columns) not in memo:
            out: Value | None = None
            for k, c in enumerate(columns):
                term = index(a, spec=(*rest, row, c))
                if len(columns) > 1:
                    term = term * minor(row + 1, columns[:k] + columns[k + 1 :])
                out = term if out is None else out - term if k % 2 else out + term
            assert out is not None
            memo[row, columns] = out
        return memo[row, columns]

    return minor(0, tuple(range(n))) if n else const(value=1, type=_scalars(a.type))
