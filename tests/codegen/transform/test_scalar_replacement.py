"""What a trip leaves in memory for the next one stays in a register: the same bits, and fewer loads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.check import verify
from irad.codegen.kernel.form import Apply, Const, Kernel, Let, Load, Param, Store, integer
from irad.codegen.kernel.interp import Machine
from irad.codegen.kernel.show import show
from irad.codegen.transform.scalar_replacement import forwarded
from irad.core.switches import without
from tests.support.native import native
from tests.support.random_kernels import Maker

SIZE = 40
PARAMS = [
    Param("n", "i64", None),
    *[Param(b, "f64", (SIZE,)) for b in "ab"],
    Param("at", "i64", (SIZE,)),
    Param("err", "i64", (8,)),
]


class _Random(Maker):
    """A loop that loads and stores near its index: under conditions, in loops inside, at places that data decides."""

    def __init__(self, seed: int):
        super().__init__(seed)
        self.values = ["start"]
        self.stride = self.r.choice((1, 1, 1, 2))
        self.step = self.r.choice((1, 1, 1, -1, 2))

    def place(self, var: str) -> kf.Index:
        return integer(var) * self.stride + self.r.randrange(8, 11)

    def statement(self, depth: int) -> list[kf.Stmt]:
        r, name = self.r, self.fresh()
        kind = r.random()
        if kind < 0.4:
            self.values.append(name)
            return [Let(name, "f64", Load(r.choice("aab"), (self.place("i"),)))]
        if kind < 0.7:
            value: Any = r.choice([*self.values, Const(0.5, "f64")])
            return [Store(r.choice("aab"), (self.place("i"),), value, r.random() < 0.3)]
        if kind < 0.8:
            args = (r.choice(self.values), r.choice(self.values))
            self.values.append(name)
            return [Let(name, "f64", Apply("add", args))]
        if kind < 0.95 and depth < 2:
            seen = list(self.values)
            inside = [t for _ in range(r.randrange(1, 4)) for t in self.statement(depth + 1)]
            self.values = seen
            if r.random() < 0.7:
                return [Let(name, "bool", Apply("lt", (r.choice(self.values), Const(1.0, "f64")))), kf.If(name, inside)]
            return [kf.For(name, "seq", 0, r.randrange(1, 3), inside)]
        if kind < 0.98:
            return [Let(name, "i64", Load("at", ("i",))), Store("a", (name,), r.choice(self.values))]
        return [Let(name, "bool", Apply("gt", (r.choice(self.values), Const(9.0, "f64")))), kf.Raise(name, 7)]

    def kernel(self) -> Kernel:
        body = [t for _ in range(self.r.randrange(2, 9)) for t in self.statement(0)]
        hi: kf.Index = self.r.choice((14, "n"))
        loop = kf.For("i", "seq", 1, hi, body, self.step) if self.step > 0 else kf.For("i", "seq", 13, 0, body, -1)
        return Kernel("k", PARAMS, [Let("start", "f64", Load("b", (0,))), loop])


def _memory(n: int) -> list[Any]:
    r = np.random.default_rng(n)
    return [n, *[r.integers(-4, 4, SIZE) * 0.5 for _ in "ab"], r.integers(0, SIZE, SIZE), np.zeros(8, int)]


def _loads(kernel: Kernel, *args: Any) -> tuple[int, list[Any], int]:
    machine = Machine()
    code = machine.run(kernel, *args)
    return machine.moved, list(args), code


def test_random_loops() -> None:
    """The same memory and the same code, for loops without trips too, by the kernel interpreter; a part natively."""
    kept = 0
    for seed in range(700):
        kernel = _Random(seed).kernel()
        new = forwarded(kernel)
        if show([new]) == show([kernel]):
            continue
        kept += 1
        verify(new)
        for n in (0, 1, 14):
            before, want, code = _loads(kernel, *_memory(n))
            after, got, code_after = _loads(new, *_memory(n))
            assert code_after == code and after <= before + 8 * 6, show([new])
            assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(want, got)), show([new])
        if seed % 40 == 0:
            got = _memory(14)
            native(new)(*got)
            assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(want, got)), show([new])
    assert kept > 100


def running(a):
    a = a.copy()
    for i in range(1, len(a)):
        a[i] = a[i] * np.cos(a[i - 1])
    return np.sum(a)


def table(a):
    d = np.zeros((len(a) + 1, len(a) + 1))
    for i in range(1, len(a) + 1):
        for j in range(1, len(a) + 1):
            d[i, j] = max(d[i - 1, j - 1] + a[i - 1] * a[j - 1], d[i - 1, j], d[i, j - 1])
    return d[-1, -1] + np.sum(d)


def two_terms(a):
    f = np.zeros(len(a))
    f[0], f[1] = a[0], a[1]
    for i in range(2, len(a)):
        f[i] = a[i] * f[i - 1] - f[i - 2]
    return np.sum(f * f)


def swaps(a):
    a = a.copy()
    for _ in range(len(a)):
        for i in range(len(a) - 1):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
    return np.sum(a * np.arange(len(a)))


def backwards(a):
    a = a.copy()
    for i in range(len(a) - 2, -1, -1):
        if a[i] > 0.2:
            a[i] += 0.5 * a[i + 1]
    return np.sum(a**2)


@pytest.mark.parametrize("f", [running, table, two_terms, swaps, backwards])
def test_values_and_slopes(f: Callable[..., Any]) -> None:
    """The very bits that come without it; values are NumPy's."""
    a = np.random.default_rng(3).uniform(0.1, 0.9, 21)
    value, slope = irad.compile(f).value_and_grad(a)
    assert np.isclose(value, f(a), rtol=1e-14)
    assert "_kept" in irad.compile(f).lower(a, grad=True).kernel
    with without("forward"):
        plain, same = irad.compile(f).value_and_grad(a)
    assert value == plain and np.allclose(slope, same, rtol=1e-13, atol=1e-15)
