"""Statements of array programs: SciPy's special functions, decompositions, transforms, recurrences along an axis."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

SPECIAL = (
    "special.expit({x})", "special.log_expit({x})", "special.erf({x})", "special.erfc({x})", "special.gammaln(1.5 + np.abs({x}))", "special.digamma(1.5 + np.abs({x}))",
    "special.xlogy(np.abs({x}), 1.0 + np.abs({y}))", "special.xlog1py(np.abs({x}), np.abs({y}))", "special.rel_entr(np.abs({x}), 1.0 + np.abs({y}))",
    "special.pseudo_huber(1.5, {x})", "special.huber(1.5, {x})", "special.boxcox(1.0 + np.abs({x}), 0.5)", "np.i0(np.tanh({x}))", "special.i1(np.tanh({x}))",
    "special.entr(np.abs({x}) + 0.1)", "special.ndtr({x})", "special.polygamma(1, 1.5 + np.abs({x}))", "np.arccosh(1.5 + np.abs({x}))", "np.nextafter({x}, 9.0)",
    "special.log_ndtr({x})", "special.logit(0.2 + 0.5 * special.expit({x}))", "special.exprel(np.tanh({x}))", "special.kl_div(np.abs({x}), 1.0 + np.abs({y}))",
)  # fmt: skip


class Functions:
    """A part of tests.fuzz.arrays.Maker, which has the variables."""

    r: random.Random
    lines: list[str]
    pick: Callable[..., Any]
    add: Callable[..., str]
    _axis: Callable[..., int]

    def _special(self) -> None:
        """SciPy's special functions; log-sum-exp and softmax along an axis."""
        v = self.pick()
        assert v is not None
        y = self.pick(shape=v[1])
        assert y is not None
        if v[1] and 0 not in v[1] and self.r.random() < 0.2:
            axis = self._axis(v[1])
            kind = self.r.choice(["logsumexp", "softmax", "log_softmax"])
            shape = v[1][:axis] + v[1][axis + 1 :] if kind == "logsumexp" else v[1]
            self.add(f"special.{kind}({v[0]}, axis={axis})", shape, "special")
        else:
            self.add(self.r.choice(SPECIAL).format(x=v[0], y=y[0]), v[1], "special")

    def _spectrum(self) -> None:
        """Decompositions, by what does not depend on the signs and factors of their vectors."""
        a = self.pick(rank=2)
        if a is None or 0 in a[1]:
            return
        x, (n, m) = a
        if max(n, m) > 9:
            n, m = min(n, 9), min(m, 7)
            x = self.add(f"{x}[:{n}, :{m}]", (n, m))
        spd = self.add(f"{x}.T @ {x} / {n}.0 + np.diag(1.0 + np.arange({m}) / {m})", (m, m), "spectrum")
        rest = self.add(f"np.tanh({spd}) * 0.1 + np.diag(np.arange(1.0, {m} + 1.0))", (m, m))
        text, shape = self.r.choice([
            (f"np.sqrt(np.linalg.eigvalsh({spd}))", (m,)), (f"np.sum(np.exp(-np.linalg.eigh({spd})[0]))", ()), (f"np.linalg.svd({x}, compute_uv=False)[0]", ()),
            (f"np.linalg.norm({x} + 0.1, 'nuc')", ()), (f"np.abs(np.linalg.qr({rest})[1])", (m, m)), (f"np.linalg.det({rest} / {m}.0)", ()),
            (f"np.linalg.pinv({rest})", (m, m)), (f"np.sum(np.linalg.eigvals({rest})).real", ()), (f"np.abs(np.linalg.eigvals({rest})).sum()", ()),
            (f"linalg.solve_triangular(np.tril({rest}) + np.eye({m}), {spd}, lower=True)", (m, m)), (f"linalg.cho_solve(linalg.cho_factor({spd}), {rest})", (m, m)),
            (f"linalg.expm(-0.1 * {spd})", (m, m)), (f"(lambda w, v: (v * np.log(w)) @ v.T)(*np.linalg.eigh({spd}))", (m, m)),
            (f"linalg.lu_solve(linalg.lu_factor({rest}), {spd})", (m, m)), (f"np.linalg.cond({rest})", ()),
        ])  # fmt: skip
        self.add(text, shape)

    def _fourier(self) -> None:
        """Transforms and complex numbers between real ones."""
        a = self.pick(rank=self.r.choice((1, 2)))
        if a is None or 0 in a[1] or a[1][-1] < 2:
            return
        x, s = a
        half = (*s[:-1], s[-1] // 2 + 1)
        text, shape = self.r.choice([
            (f"np.abs(np.fft.rfft({x})) ** 2 / {s[-1]}.0", half), (f"np.fft.irfft(np.fft.rfft({x}) * 0.5, {s[-1]})", s), (f"np.fft.fft({x}).real / {s[-1]}.0", s),
            (f"np.abs(np.exp(1j * {x}) + 0.5)", s), (f"np.real(np.sqrt({x} + 2.0j))", s), (f"np.angle({x} + 1.0j)", s), (f"(({x} + 1j) * ({x} - 2j)).imag", s),
            (f"np.fft.ifft(np.fft.fft({x}) * np.exp(-1j * np.arange({s[-1]}))).real", s),
        ])  # fmt: skip
        self.add(text, shape, "fourier")

    def _smoothing(self) -> None:
        """Recurrences along the first axis, the last of them a search for the smallest."""
        a = self.pick(rank=self.r.choice((1, 2)))
        if a is None or a[1][0] < 2 or a[1][0] > 600:
            return
        x, s = a
        y = self.add(f"{x}.copy()", s, "smoothing")
        c = self.r.choice(["0.5", "0.9", "-0.3"])
        lines = self.r.choice([
            [f"for i in range(1, {s[0]}):", f"    {y}[i] = {c} * {y}[i - 1] + {x}[i]"],
            [f"for i in range({s[0]} - 2, -1, -1):", f"    {y}[i] = {y}[i + 1] * {c} + {x}[i] * 0.1"],
            [f"for i in range(1, {s[0]}):", f"    {y}[i] = np.tanh({x}[i]) * {y}[i - 1] + {x}[i]"],
            [f"for i in range(1, {s[0]} - 1):", f"    {y}[i] = 0.25 * {y}[i - 1] + 0.5 * {y}[i] + 0.25 * {y}[i + 1]"],
            ["z = 0.0", f"for i in range({s[0]}):", f"    z = {c} * z + np.sum({x}[i])", f"    {y}[i] = z"],
        ])  # fmt: skip
        self.lines += ["    " + line for line in lines]
        if 0 not in s and self.r.random() < 0.3:
            self.add(f"{y}[np.argmin(np.sum({y}.reshape({s[0]}, -1), axis=1))] * 1.0", s[1:])
