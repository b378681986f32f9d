"""Eigenvalues of general real matrices, which are complex: everything comes and goes as real and imaginary parts.

With V the right eigenvectors (columns), L = V^-1 and M = L dA V: dw = diag M, and up to factors on which no eigenvalue depends
dV = V (F o M), dL = -(F o M) L with F_ij = 1 / (w_j - w_i) (M. Giles, 2008). There is no native code: Python runs NumPy's
functions, see irad.codegen.lower_host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.ir import Value
from irad.ops.array import zeros
from irad.ops.complex import complex_, imag, real
from irad.ops.core import Op
from irad.ops.elementwise import div, eq, full, mul, neg, select, sub
from irad.ops.matrix import along_columns, along_rows, diagonal, from_diagonal, info_type, mm, plus, square
from irad.types import Type


def _infer(a: Type) -> tuple[Type, ...]:
    square(a, "eig")
    w = a.with_shape(a.shape[:-1])
    return w, w, a, a, a, a, info_type(a)


def _eval(a: Any) -> tuple[Any, ...]:
    batch, n = a.shape[:-2], a.shape[-1]
    w, v = np.full((*batch, n), np.nan, complex), np.full((*batch, n, n), np.nan, complex)
    left, info = v.copy(), np.zeros(batch, np.int64)
    for at in np.ndindex(batch):
        try:
            w[at], v[at] = np.linalg.eig(a[at])
            left[at] = np.linalg.inv(v[at])
        except np.linalg.LinAlgError:
            info[at] = not np.all(np.isfinite(w[at]))  # no inverse: a matrix without a basis of eigenvectors
    parts = (x for z in (w, v, left) for x in (z.real, z.imag))
    return (*(np.ascontiguousarray(x, a.dtype) for x in parts), info[()])


def _gaps(w: Value, like: Value) -> Value:
    """1 / (w_j - w_i), 0 where they are equal."""
    gap = sub(along_rows(w, like), along_columns(w, like))
    zero = eq(gap, full(0.0, gap))
    return select(zero, full(0.0, gap), div(full(1.0, gap), select(zero, full(1.0, gap), gap)))


def _cotangent(re: Value | None, im: Value | None, t: Type) -> Value | None:
    """The cotangent of a complex value from those of its parts: re - i im, see irad.ops.complex."""
    if re is None and im is None:
        return None
    return complex_(zeros(t) if re is None else re, zeros(t) if im is None else neg(im))


def _vjp(ad: Any, node: Any, cts: Sequence[Value | None], adj: Any) -> None:
    """A' = Re(L^T (diag w' + F o (V^T V' - L' L^T)) V^T), cotangents without conjugation."""
    (a,), outs = node.inputs, node.outputs
    if not ad.active(a):
        return
    cw, cv, cl = (_cotangent(cts[k], cts[k + 1], ad.need(outs[k]).type) for k in (0, 2, 4))
    w, v, left = (complex_(ad.need(outs[k]), ad.need(outs[k + 1])) for k in (0, 2, 4))
    g = plus(None if cv is None else mm(v, cv, ta=True), None if cl is None else neg(mm(cl, left, tb=True)))
    core = plus(None if cw is None else from_diagonal(cw, v.type), None if g is None else mul(g, _gaps(w, v)))
    if core is not None:
        adj.add(a, real(mm(mm(left, core, ta=True), v, tb=True)))


def _jvp(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    da = tan.get(node.inputs[0])
    if da is None:
        return [None] * 7
    w, v, left = (complex_(node.outputs[k], node.outputs[k + 1]) for k in (0, 2, 4))
    m = mm(mm(left, complex_(da, zeros(da.type))), v)
    turn = mul(m, _gaps(w, m))
    ds = (diagonal(m), mm(v, turn), neg(mm(turn, left)))
    return [*(part(d) for d in ds for part in (real, imag)), None]


eig = Op("eig", _infer, _eval, _vjp, _jvp,
         doc="parts of the eigenvalues, of right eigenvectors and of their inverse; info. Slopes of the vectors leave their factors free")  # fmt: skip
eig_vectors = Op("eig_vectors", lambda re, im: (re, im), lambda re, im: (re, im),
                 doc="eigenvectors as the user sees them: without derivative, as their factors are arbitrary")  # fmt: skip
