"""Selections of floats on data are no branches, whatever the CPU; the bits of either operand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import irad
from irad.codegen import jit
from irad.codegen.kernel.parse import parse
from irad.codegen.selections import without_branches
from tests.support.native import native

VALUES = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 5e-324]

KERNEL = """
def choose(a: {t}[64], b: {t}[64], p: bool[64], out: {t}[448], err: i64[8]):
    for i in seq(0, 64):
        x: {t} = a[i]
        y: {t} = b[i]
        q: bool = p[i]
        c: bool = x < y
        d: bool = logical_and(c, q)
        u: {t} = select(c, x, y)
        v: {t} = select(c, x, {z})
        w: {t} = select(c, {z}, y)
        s: {t} = select(q, x, y)
        z: {t} = select(d, {m}, y)
        n: {t} = select(q, {z}, {z})
        m: {t} = select(d, x, {m})
        out[7*i] = u
        out[7*i+1] = v
        out[7*i+2] = w
        out[7*i+3] = s
        out[7*i+4] = z
        out[7*i+5] = n
        out[7*i+6] = m
"""


@pytest.mark.parametrize("dtype", ["f64", "f32"])
@pytest.mark.parametrize("bits", [256, 512])
def test_the_bits_of_one_of_both(dtype: str, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if bits < jit.vector_bits():
        monkeypatch.setattr(jit, "vector_bits", lambda target=None: bits)
    (kernel,) = parse(
        KERNEL.format(t=dtype, z="0.0" if dtype == "f64" else "f32(0.0)", m="-0.0" if dtype == "f64" else "f32(-0.0)")
    )
    pairs = list(itertools.product(VALUES, VALUES))
    a, b = (np.array(x, np.dtype(dtype[0] + str(int(dtype[1:]) // 8))) for x in zip(*pairs))
    p = np.arange(64) % 3 == 1
    out = np.full(448, 9.0, a.dtype)
    native(kernel)(a, b, p, out, np.zeros(8, int))
    c = a < b
    want = [(c, a, b), (c, a, 0.0), (c, 0.0, b), (p, a, b), (c & p, -0.0, b), (p, 0.0, 0.0), (c & p, a, -0.0)]
    for k, choice in enumerate(want):
        expected = np.where(*choice).astype(a.dtype)
        assert expected.tobytes() == out[k::7].tobytes(), k


def test_which_selections_are_changed() -> None:
    """Those on data whose comparison has other uses, or is none; special cases of functions stay."""
    text = """define i64 @f(double %a, double %b, i1 %q) {
entry:
 %c = fcmp olt double %a, %b
 %d = fcmp ogt double %a, %b
 %e = fcmp ogt double %a, 0x0000000000000000
 %u = select i1 %c, double %a, double %b ; either
 %v = select i1 %c, double %u, double 0x0000000000000000 ; either
 %w = select i1 %d, double %v, double %b ; either
 %x = select i1 %q, double %v, double %w ; either
 %y = select i1 %e, double %x, double %w
 %z = select i1 %e, double %y, double %w
 ret i64 0
}
"""
    changed = lambda new: "".join(n for n in "uvwxyz" if f" %{n} = select" not in new)
    assert changed(without_branches(text)) == "uvx"
    assert changed(without_branches(text, masks=True)) == "uvyz"  # where AVX-512 has masks, all of comparisons with other uses
    plain = text.replace(" ; either", "")
    assert without_branches(plain) == plain


def test_slopes_of_choices() -> None:
    def f(x, y):
        best = 0.0
        for k in range(len(x)):
            t = x[k] * y[k]
            if t > best:
                best = t + 0.1 * best
            best = max(best, y[k])
        return best

    rng = np.random.default_rng(0)
    for n in (1, 7, 40):
        x, y = rng.standard_normal((2, n))
        assert irad.compile(lambda x, y: f(x, y))(x, y) == f(x, y)
        irad.check_grads(lambda x, y: f(x, y), (x, y), modes=("rev",))
