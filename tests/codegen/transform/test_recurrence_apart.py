"""Loops with a recurrence, in two: the same numbers as in one piece, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.check import verify
from irad.codegen.kernel.form import Apply, Const, Kernel, Let, Load, Param, Store, integer
from irad.codegen.kernel.interp import Machine
from irad.codegen.kernel.show import show
from irad.codegen.transform import outer_lanes, recurrence_apart
from irad.core.lazy_dataclass import replace
from tests.support.random_kernels import Maker

SIZE = 90
PARAMS = [*[Param(b, "f64", (SIZE,)) for b in "abc"], Param("err", "i64", (8,))]


class _Random(Maker):
    """A loop that hands on variables and elements of arrays, and computes beside them, in branches and small loops too."""

    def place(self, buf: str) -> int:
        return self.r.choice((2, 2, 2, 1, 3, 40) if buf == "b" else (2, 2, 0, 41))

    def number(self, values: list[str]) -> Any:
        return self.r.choice(values) if self.r.random() < 0.85 else Const(0.5, "f64")

    def block(self, values: list[str], variables: list[str], depth: int) -> list[kf.Stmt]:
        r, out, values = self.r, list[kf.Stmt](), list(values)
        for _ in range(r.randrange(3, 8) if depth == 0 else r.randrange(1, 3)):
            kind, name = r.random(), self.fresh()
            if kind < 0.2:
                buf = r.choice("abc")
                out.append(Let(name, "f64", Load(buf, (integer("i") + self.place(buf),))))
                values.append(name)
            elif kind < 0.55:
                op = r.choice(("add", "mul", "sub", "maximum", "exp", "sin", "exp"))
                args = tuple(self.number(values) for _ in range(1 if op in ("exp", "sin") else 2))
                if op == "exp":  # nothing grows without end
                    out.append(Let(f"{name}n", "f64", Apply("minimum", (args[0], Const(1.0, "f64")))))
                    args = (f"{name}n",)
                out.append(Let(name, "f64", Apply(op, args)))
                values.append(name)
            elif kind < 0.7:
                v = r.choice(variables)
                out += [Let(name, "f64", Apply("mul", (self.number(values), Const(0.5, "f64")))), kf.Assign(v, name)]
            elif kind < 0.8 and depth == 0:
                v = self.fresh()
                out.append(kf.Var(v, "f64", self.number(values)))
                values.append(v)
                variables = [*variables, v]
            elif kind < 0.9 and depth < 2:
                out.append(Let(name, "bool", Apply("lt", (self.number(values), Const(0.3, "f64")))))
                orelse = self.block(values, variables, depth + 1) if r.random() < 0.5 else []
                out.append(kf.If(name, self.block(values, variables, depth + 1), orelse))
            else:
                buf = r.choice("bc")
                out.append(Store(buf, (integer("i") + self.place(buf),), self.number(values), r.random() < 0.3))
        return out

    def kernel(self) -> Kernel:
        r = self.r
        body = self.block(["x", "y", "k"], ["x", "y"], 0)
        lo, hi, step = (0, r.choice((17, 36, 45)), 1) if r.random() < 0.7 else (40, -1, -1)
        start: list[kf.Stmt] = [kf.Var("x", "f64", Const(0.25, "f64")), kf.Var("y", "f64", Const(-1.0, "f64"))]
        start.append(Let("k", "f64", Load("a", (0,))))
        end: list[kf.Stmt] = [Store("c", (SIZE - 1,), "x"), Store("c", (SIZE - 2,), "y")]
        return Kernel("k", PARAMS, [*start, kf.For("i", "seq", lo, hi, body, step), *end])


def _after(kernel: Kernel) -> list[Any]:
    r = np.random.default_rng(0)
    args = [*[r.uniform(-1, 1, SIZE) for _ in "abc"], np.zeros(8, int)]
    Machine().run(kernel, *args)
    return args


@pytest.mark.parametrize("size", [1 << 14, 400])
def test_random_loops(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`size`: bytes of the buffers, so that there is one block or there are many."""
    monkeypatch.setattr(recurrence_apart, "BYTES", size)
    apart = 0
    for seed in range(250):
        kernel = _Random(seed).kernel()
        new = outer_lanes.laned(kernel)
        if "_ahead_" not in show(new):
            continue
        apart += 1
        verify(new)
        want = _after(kernel)
        got = _after(new)
        assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(got, want)), show(kernel) + show(new)
    assert apart > 15


def test_loops_of_no_trips() -> None:
    """They are left when other passes take loops in parts."""
    for seed in range(60):
        kernel = _Random(seed).kernel()
        body = [replace(t, hi=t.lo) if isinstance(t, kf.For) else t for t in kernel.body]
        none = replace(kernel, body=body)
        new = outer_lanes.laned(none)
        verify(new)
        assert all(np.array_equal(x, y) for x, y in zip(_after(new), _after(none)))


def level_and_gain(x, threshold, ratio):
    """A recurrence, and what is dear of each of its numbers."""
    out, level = np.zeros(len(x)), 0.0
    for k in range(len(x)):
        level = 0.9 * level + 0.1 * abs(x[k])
        out[k] = x[k] * np.exp(-ratio * max(level - threshold, 0.0))
    return out


def volatility(r, a, b):
    """A recurrence in an array, and a sum in order of logarithms of it."""
    h, s = np.zeros(len(r)), 0.0
    h[0] = 1.0
    for t in range(1, len(r)):
        h[t] = 0.1 + a * r[t - 1] ** 2 + b * h[t - 1]
        s += np.log(h[t]) + r[t] ** 2 / h[t]
    return s


def growth(r, a, b):
    """What is dear comes before the recurrence, whose loop has branches."""
    s, t = 1.0, 0.0
    for k in range(len(r)):
        s *= np.exp(a * r[k])
        if s > b:
            s *= 0.5
        t += s
    return t


@pytest.mark.parametrize("f", [level_and_gain, volatility, growth])
def test_programs(f: Any) -> None:
    for n in (50, 2500):
        r = np.random.default_rng(n).standard_normal(n)
        compiled = irad.compile(f)
        np.testing.assert_allclose(compiled(r, 0.1, 0.7), f(r, 0.1, 0.7), rtol=1e-11)
        assert "_ahead_" in compiled.lower(r, 0.1, 0.7).kernel
        total = lambda r, a, b, f=f: np.sum(np.asarray(f(r, a, b)))
        slope = irad.grad(total, argnums=(1, 2))(r, 0.1, 0.7)
        for k, found in enumerate(slope):
            ends = [total(r, *(v + s * 1e-6 * (j == k) for j, v in enumerate((0.1, 0.7)))) for s in (1, -1)]
            np.testing.assert_allclose(found, (ends[0] - ends[1]) / 2e-6, rtol=2e-5)
