"""Loops in parts, in which conditions on their own index are known: the same memory as in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np

import irad
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.check import verify
from irad.codegen.kernel.form import Apply, Const, Kernel, Let, Load, Param, Store, integer
from irad.codegen.kernel.interp import Machine
from irad.codegen.kernel.show import show
from irad.codegen.transform.split_trips import LEAST, split_trips
from irad.core.switches import without
from tests.support.native import native
from tests.support.random_kernels import Maker

SIZE = 80
PARAMS = [*[Param(b, "f64", (SIZE,)) for b in "ab"], Param("err", "i64", (8,))]


class _Random(Maker):
    """Two loops, one in the other, that ask for their indices in every way, and choose numbers and places by it."""

    def condition(self, var: str, bools: list[str]) -> list[kf.Stmt]:
        r, name = self.r, self.fresh()
        if bools and r.random() < 0.4:
            op = r.choice(("logical_and", "logical_or", "logical_not"))
            args = tuple(r.choice(bools) for _ in range(1 if op == "logical_not" else 2))
            bools.append(name)
            return [Let(name, "bool", Apply(op, args))]
        bools.append(name)
        at = integer(var) * r.choice((1, 1, 2, -1)) + r.randrange(-3, 4)
        edge = r.choice((0, 1, 15, 16, 19, 20, -1))
        return [Let(name, "bool", Apply(r.choice(("lt", "le", "gt", "ge", "eq", "ne")), (at, Const(edge, "i64"))))]

    def block(self, var: str, values: list[str], bools: list[str], depth: int) -> list[kf.Stmt]:
        r, out = self.r, list[kf.Stmt]()
        values, bools = list(values), list(bools)
        for _ in range(r.randrange(2, 5)):
            kind, name = r.random(), self.fresh()
            if kind < 0.35 or not bools:
                out += self.condition(var, bools)
            elif kind < 0.42:
                at = r.choice((integer(var), 30 - integer(var))) + r.randrange(-3, 4)
                pair = (at, r.choice((Const(r.choice((0, 1, 5, 15, 16, 19, 20)), "i64"), 2 * integer(var))))
                out += [Let(name, "i64", Apply(r.choice(("maximum", "minimum")), pair if r.random() < 0.5 else pair[::-1]))]
                out += [Let(f"{name}x", "f64", Load("a", (integer(name) + 5 + r.randrange(4),)))]
                values.append(f"{name}x")
            elif kind < 0.5:
                out.append(
                    kf.If(
                        r.choice(bools),
                        self.block(var, values, bools, 2),
                        self.block(var, values, bools, 2) if r.random() < 0.5 else [],
                    )
                )
            elif kind < 0.65:
                out += [Let(name, "i64", Apply("select", (r.choice(bools), integer(var) + 3, integer(var) + 20)))]
                out += [Let(f"{name}x", "f64", Load("a", (integer(name) + r.randrange(4),)))]
                values.append(f"{name}x")
            elif kind < 0.75:
                out.append(Let(name, "f64", Apply("select", (r.choice(bools), r.choice(values), Const(2.0, "f64")))))
                values.append(name)
            elif kind < 0.85 and depth == 0:
                out.append(kf.For("k", "seq", 1, r.choice((5, 18, 21)), self.block("k", values, bools, 1)))
            else:
                out.append(Store(r.choice("ab"), (integer(var) + r.randrange(40),), r.choice(values), r.random() < 0.5))
        return out

    def kernel(self) -> Kernel:
        up = self.r.random() < 0.7
        lo, hi, step = (self.r.randrange(0, 2), self.r.choice((17, 20, 30)), 1) if up else (19, -1, -1)
        return Kernel(
            "k",
            PARAMS,
            [Let("start", "f64", Load("b", (0,))), kf.For("i", "seq", lo, hi, self.block("i", ["start"], [], 0), step)],
        )


def _after(kernel: Kernel) -> list[Any]:
    r = np.random.default_rng(0)
    args = [*[r.integers(-4, 4, SIZE) * 0.5 for _ in "ab"], np.zeros(8, int)]
    Machine().run(kernel, *args)
    return args


def test_random_loops() -> None:
    split = 0
    for seed in range(400):
        kernel = _Random(seed).kernel()
        new = split_trips(kernel)
        if show([new]) == show([kernel]):
            continue
        split += 1
        verify(new)
        want = _after(kernel)
        assert all(np.array_equal(x, y) for x, y in zip(_after(new), want)), show([kernel, new])
        if seed % 40 == 0:
            r = np.random.default_rng(0)
            args = [*[r.integers(-4, 4, SIZE) * 0.5 for _ in "ab"], np.zeros(8, int)]
            native(new)(*args)
            assert all(np.array_equal(x, y) for x, y in zip(args, want))
    assert split > 80


def distances(w, d):
    """A sweep with borders, and one on a ring."""
    d = d.copy()
    n, m = d.shape
    for i in range(n):
        for j in range(m):
            best = d[i, j]
            if i > 0:
                best = min(best, d[i - 1, j] + w[i, j])
            if j < m - 1 and i > 0:
                best = min(best, d[i - 1, j + 1] + 1.4 * w[i, j])
            d[i, j] = best + 0.1 * d[i, (j + 1) % m]
    return d


def test_borders_and_rings() -> None:
    for n, m in ((3, LEAST + 1), (LEAST, LEAST - 1), (17, 33)):
        w, d = np.random.default_rng(n).random((2, n, m))
        f = lambda w, d: distances(w, d)
        np.testing.assert_array_equal(irad.compile(f)(w, d), distances(w, d))
        grad = irad.grad(lambda w, d: np.sum(distances(w, d) ** 2), argnums=(0, 1))
        found = grad(w, d)
        with without("split"):
            np.testing.assert_allclose(
                irad.grad(lambda w, d: np.sum(distances(w, d) ** 2), argnums=(0, 1))(w, d), found, rtol=1e-12
            )
    kernel = irad.compile(f).lower(w, d).kernel
    assert all(f"for {loop}:" in kernel for loop in ("i_1 in seq(1, 17)", "j in seq(0, 32)", "j in seq(32, 33)"))
