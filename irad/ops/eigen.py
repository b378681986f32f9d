"""Eigenvalues of general matrices, real or complex. They are complex whatever the matrix is.

With V the right eigenvectors (columns) and M = V^-1 dA V: dw = diag M, and up to factors on which no eigenvalue depends
dV = V (F o M) with F_ij = 1 / (w_j - w_i) (M. Giles, 2008). These maps are holomorphic. The factors that LAPACK chooses, vectors of
length 1 with a real largest element, are no analytic function of the matrix: `eig_vectors` adds their part of the derivative.

The lengths of the rows of V^-1 are the condition numbers of the eigenvalues: a change of A by its rounding moves each by so many units
of rounding. Eigenvalues that are nearer to each other than that count as equal (see irad.ops.spectral for what follows), and if their
conditions are large besides, as those of one vector: A has no basis of eigenvectors, and derivatives are NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Type, complex_dtype, is_complex
from irad.ops.array import argmax, broadcast, iota, sum_, zeros
from irad.ops.complex import complex_, conj, imag, real
from irad.ops.core import Op
from irad.ops.elementwise import cast_to, eq, full, hypot, select, szmul
from irad.ops.linalg import solution
from irad.ops.matrix import along_columns, along_rows, diagonal, each_matrix, from_diagonal, identity, info_type, mm, square
from irad.ops.spectral import divided_by_gaps, gaps

PARALLEL = 8  # conditions of so many times the root of rounding's inverse or more: the vectors of equal eigenvalues are one


def _infer(a: Type) -> tuple[Type, ...]:
    square(a, "eig")
    v = a.with_dtype(complex_dtype(a.dtype))
    return v.with_shape(a.shape[:-1]), v, info_type(a)


def _conditions(w: Value, v: Value) -> tuple[Value, Value]:
    """The condition numbers of the eigenvalues, from sums of magnitudes, which do not overflow; and NaN for eigenvalues that share a
    vector with another one, else 0."""
    parts = solution(v, identity(v.type))
    last = v.type.rank - 1
    c = sum_(abs(real(parts)) + abs(imag(parts)), axes=(last,))
    _, equal = gaps(w, v, c)
    eps = float(np.finfo(Type(c.type.dtype).numpy).eps)
    alike = equal & ~(along_columns(c, real(v)) < 1 / (PARALLEL * eps**0.5))
    return c, cast_to(sum_(select(alike, np.nan, full(0.0, real(v))), axes=(last,)), v.type.dtype)


def _masked(ct: Value, nan: Value) -> Value:
    """ct, NaN where `nan` is, but 0 where ct is 0."""
    return szmul(ct, 1 + nan)


def _pulled(v: Value, core: Value, a: Value) -> Value:
    """V^-T core V^T, the cotangent of A; of a real A its real part."""
    g = solution(v, mm(core, v, tb=True), trans=True)
    return g if is_complex(a.type.dtype) else real(g)


def _pushed(v: Value, da: Value) -> Value:
    """M = V^-1 dA V."""
    return solution(v, mm(cast_to(da, v.type.dtype), v))


def _vjp(ad: Any, node: Any, cts: Sequence[Value | None], adj: Any) -> None:
    """A' = V^-T (diag w' + F o V^T V') V^T, cotangents without conjugation."""
    (a,), (cw, cv, _) = node.inputs, cts
    w, v = ad.need(node.outputs[0]), ad.need(node.outputs[1])
    c, nan = _conditions(w, v)
    core = from_diagonal(nan if cw is None else _masked(cw, nan), v.type)
    if cv is not None:
        turn = mm(v, cv, ta=True)
        core = core + divided_by_gaps(turn, w, turn, cw is not None, c)
    adj.add(a, _pulled(v, core, a))


def _jvp(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    w, v, _ = node.outputs
    c, nan = _conditions(w, v)
    m = _pushed(v, tan.get(node.inputs[0])) + along_columns(nan, v)
    return [diagonal(m), mm(v, divided_by_gaps(m, w, m, False, c)), None]


eig = Op("eig", _infer, lambda a: each_matrix(np.linalg.eig, a, [a.shape[-1:], a.shape[-2:]], np.result_type(a.dtype, np.complex64)), _vjp, _jvp,
         stacks=True, doc="complex eigenvalues and right eigenvectors, info. Slopes of the vectors leave their factors free, see `eig_vectors`")  # fmt: skip


def _vjp_values(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    (a,), ct = node.inputs, cts[0]
    w, v, _ = eig(ad.need(a))
    adj.add(a, _pulled(v, from_diagonal(_masked(ct, _conditions(w, v)[1]), v.type), a))


def _jvp_values(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    (a,) = node.inputs
    w, v, _ = eig(a)
    return [diagonal(_pushed(v, tan.get(a))) + _conditions(w, v)[1], None]


eigvals = Op("eigvals", lambda a: _infer(a)[::2], lambda a: each_matrix(lambda m: (np.linalg.eigvals(m),), a, [a.shape[-1:]], np.result_type(a.dtype, np.complex64)), _vjp_values, _jvp_values,
             stacks=True, doc="eigenvalues of `eig`, and info")  # fmt: skip

# ---- factors of eigenvectors -------------------------------------------------------------------------------------------------------


def _largest(v: Value) -> Value:
    """Where in each column the element stands that LAPACK has made real: the largest one of those without imaginary part."""
    k = v.type.rank
    size = hypot(real(v), imag(v))
    whole = eq(imag(v), 0)
    row = argmax(select(whole, size, -1), axis=k - 2)
    wide = v.type.with_dtype("i64")
    return eq(iota(type=wide, axis=k - 2), broadcast(row, shape=wide.shape, dims=(*range(k - 2), k - 1)))


def _over_columns(x: Value) -> Value:
    return sum_(x, axes=(x.type.rank - 2,))


def _scales(v: Value, out: Value) -> tuple[Value, Value, Value, Value]:
    """Where the largest elements are; the elements v_p there, over their columns; v / |v|^2; the factor k in out = k v.

    k is 1 and |v| too, but they count as functions of v, whose own derivative leaves its factor free.
    """
    at = _largest(v)
    pick = lambda x: along_rows(_over_columns(select(at, x, 0)), x)
    size = _over_columns(real(conj(v) * v))
    safe = select(at, v, 1)
    return at, safe, v / along_rows(size, v), pick(out / safe)


def _jvp_vectors(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    """k dv - c out, with the c that keeps the length and element p, the largest one, real: Re(v^H dv) / |v|^2 + i Im(dv_p / v_p)."""
    (v,), out = node.inputs, node.outputs[0]
    dv = tan.get(v)
    at, safe, unit, k = _scales(v, out)
    stretch = _over_columns(real(conj(unit) * dv))
    turn = _over_columns(imag(select(at, dv / safe, 0)))
    return [k * dv - out * along_rows(complex_(stretch, turn), v)]


def _vjp_vectors(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    """The transpose, with s = sum out out': k out' - Re(s) v^H / |v|^2 - (i Im(s) / v_p at p)."""
    v, out, ct = ad.need(node.inputs[0]), ad.need(node.outputs[0]), cts[0]
    s = _over_columns(out * ct)
    at, safe, unit, k = _scales(v, out)
    nothing = zeros(real(s).type)
    stretch = conj(unit) * along_rows(complex_(real(s), nothing), v)
    turn = along_rows(complex_(nothing, -imag(s)), v) / safe
    adj.add(node.inputs[0], k * ct - stretch + select(at, turn, 0))


eig_vectors = Op("eig_vectors", lambda v: (v,), lambda v: v.copy(), _vjp_vectors, _jvp_vectors,
                 extra={"expand": lambda v: (v,)},
                 stacks=True, doc="eigenvectors as they are; their derivative keeps the factors that LAPACK gives them")  # fmt: skip
