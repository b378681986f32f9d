"""Random kernels: native code against one iteration after another. Whole numbers, so that sums are exact in any order."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, Kernel, Let, Load, Param, Part, integer
from irad.codegen.kernel.interp import run
from irad.core.affine import Integer
from tests.support.native import native

SIZE = 24
FLOATS = ("x", "y", "z", "u")
PARAMS = [
    Param("n", "i64", None),
    *[Param(b, "f64", (SIZE,)) for b in FLOATS],
    Param("ix", "i64", (SIZE,)),
    Param("err", "i64", (1,)),
]


class Maker:
    """Grows a random kernel. `values` are f64 names in scope, `ints` i64 names with the range of their values.

    In a vec loop (`vec` is its variable) buffers are loaded, stored or added to, each one way only, and a store has one
    element per iteration: iterations are independent, as the form demands.
    """

    def __init__(self, seed: int):
        self.r = random.Random(seed)
        self.count = 0
        self.values: list[str] = []
        self.ints: dict[str, tuple[int, int]] = {}
        self.vars: list[str] = []
        self.folds: list[kf.Fold] = []
        self.vec = ""
        self.uniform: set[str] = set()
        self.role: dict[str, str] = {}
        self.work = 1  # iterations of the loops around, and copies in the text; both bounded
        self.copies = 1

    def kernel(self) -> Kernel:
        body = [s for _ in range(6) for s in self.statements(0)]
        return Kernel("fuzz", PARAMS, body)

    def fresh(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def index(self, only_vec: bool = False) -> Integer:
        """An affine index within [0, SIZE)."""
        names = [self.vec] if only_vec else [n for n, (lo, hi) in self.ints.items() if 0 <= lo and hi < SIZE]
        if not names or not only_vec and self.r.random() < 0.2:
            return self.r.randrange(SIZE)
        name = self.r.choice(names)
        lo, hi = self.ints[name]
        forms = [integer(name), SIZE - 1 - integer(name), integer(name) + (SIZE - 1 - hi), integer(name) - lo]
        forms += [integer(name) * 2 - 2 * lo] if 2 * (hi - lo) < SIZE else []
        return self.r.choice(forms)

    def operand(self, uniform: bool = False) -> Any:
        names = [v for v in (*self.values, *self.vars) if not uniform or not self.vec or v in self.uniform]
        return self.r.choice(names) if names and self.r.random() < 0.8 else Const(float(self.r.randrange(-4, 5)), "f64")

    def let(self, expr: kf.Expr, dtype: str = "f64", uniform: bool = False) -> tuple[str, Let]:
        s = Let(self.fresh("v"), dtype, expr)
        if dtype == "f64":
            self.values.append(s.name)
        if uniform:
            self.uniform.add(s.name)
        return s.name, s

    def arithmetic(self) -> list[kf.Stmt]:
        """Clamped, so that numbers stay small whatever the loops do."""
        op = self.r.choice(["add", "sub", "maximum", "minimum", "mul"])
        a, s = self.let(Apply(op, (self.operand(), self.operand())))
        b, t = self.let(Apply("minimum", (a, Const(50.0, "f64"))))
        _, u = self.let(Apply("maximum", (b, Const(-50.0, "f64"))))
        return [s, t, u]

    def buffer(self, role: str) -> str | None:
        """A buffer that may be used in this way."""
        free = [b for b in FLOATS if not self.vec or self.role.get(b, role) == role]
        if not free:
            return None
        b = self.r.choice(free)
        if self.vec:
            self.role[b] = role if role != "store" else "stored"
        return b

    def load(self) -> list[kf.Stmt]:
        b = self.buffer("load")
        if b is None:
            return []
        out: list[kf.Stmt] = []
        at: Any = self.index()
        if self.r.random() < 0.25:
            k, s = self.let(Load("ix", (at,)), "i64")
            out, at = [s], k
        _, s = self.let(Load(b, (at,)))
        return [*out, s, *self.arithmetic()]

    def store(self) -> list[kf.Stmt]:
        add = self.r.random() < 0.5
        b = self.buffer("add" if add else "store")
        if b is None:
            return []
        at: Any = self.index(only_vec=bool(self.vec) and not add)
        out: list[kf.Stmt] = []
        if add and self.r.random() < 0.4:
            at, s = self.let(Load("ix", (at,)), "i64")
            out = [s]
        return [*out, kf.Store(b, (at,), self.operand(), add)]

    def fold(self) -> list[kf.Stmt]:
        """A fold over a loop, and what it gives."""
        comb = self.r.choice(["add", "maximum", "minimum", "argmax", "argmin"])
        start = {"add": 0.0, "maximum": -99.0, "minimum": 99.0, "argmax": -np.inf, "argmin": np.inf}[comb]
        arg = comb.startswith("arg")
        lanes = self.r.choice([1, 1, 4, 8]) if not self.vec else 1
        init = (Const(start, "f64"), Const(-1, "i64")) if arg else (Const(start, "f64"),)
        f = kf.Fold(self.fresh("f"), comb, ("f64", "i64") if arg else ("f64",), init, lanes=lanes, copies=self.r.choice([1, 2]))
        if self.vec:
            f.copies = 1
        self.folds.append(f)
        loop = self.loop(1 if not self.vec else 2, [f])
        self.folds.remove(f)
        out = [f, *loop]
        for k in range(len(f.dtypes)):
            v, s = self.let(Part(f.name, k), f.dtypes[k])
            out.append(s)
            if k:
                _, t = self.let(Apply("cast", (v,)))
                out.append(t)
        return out

    def combine(self) -> list[kf.Stmt]:
        if not self.folds or self.vec and not self.ints:
            return []
        f = self.r.choice(self.folds)
        at = self.r.choice(list(self.ints)) if self.ints else Const(0, "i64")
        return [kf.Combine(f.name, (self.operand(), at) if len(f.dtypes) == 2 else (self.operand(),))]

    def assign(self) -> list[kf.Stmt]:
        return [kf.Assign(self.r.choice(self.vars), self.operand())] if self.vars else []

    def variable(self) -> list[kf.Stmt]:
        s = kf.Var(self.fresh("c"), "f64", self.operand())
        self.vars.append(s.name)
        return [s]

    def branch(self, depth: int) -> list[kf.Stmt]:
        cond, s = self.let(Apply("lt", (self.operand(True), self.operand(True))), "bool")
        return [s, kf.If(cond, self.inner(depth + 1), self.inner(depth + 1) if self.r.random() < 0.5 else [])]

    def loop(self, depth: int, folds: list[kf.Fold] | None = None) -> list[kf.Stmt]:
        kind = self.r.choice(["seq", "unroll", "vec", "vec"] if not self.vec else ["seq", "unroll"])
        lo = self.r.randrange(0, 3)
        hi: Any = self.r.choice(["n", lo + self.r.randrange(0, 5 if kind == "unroll" else 20)])
        hi = hi if kind != "unroll" or hi != "n" else lo + 2
        s = kf.For(self.fresh("i"), kind, lo, hi)
        if kind == "vec":
            s.lanes, s.unroll = self.r.choice([1, 2, 4, 8, 16]), self.r.choice([1, 1, 2, 3])
            s.full = hi != "n" and self.r.random() < 0.3
        trips = (SIZE if hi == "n" else hi) - lo
        work, copies = self.work, self.copies
        self.work *= max(1, trips)
        self.copies *= (
            max(1, trips) if kind == "unroll" else 2 * s.unroll + (trips // s.lanes if s.full else 0) if kind == "vec" else 1
        )
        keep = (self.vec, self.role, list(self.vars), list(self.folds), dict(self.ints), set(self.uniform))
        self.ints[s.var] = (lo, max(lo, (SIZE if hi == "n" else hi) - 1))
        if kind == "vec":
            self.vec, self.role, self.vars = s.var, {}, []
            self.uniform = {*self.values}
            outside, self.values = list(self.values), list(self.values)
            self.folds = list(folds or [])
            s.body = self.inner(depth + 1)
            s.twice = kf.repeatable(s.body)
            self.values = outside
        else:
            s.body = self.inner(depth + 1)
        self.vec, self.role, self.vars, self.folds, self.ints, self.uniform = keep
        self.work, self.copies = work, copies
        return [s]

    def inner(self, depth: int) -> list[kf.Stmt]:
        values, variables, ints = list(self.values), list(self.vars), dict(self.ints)
        body = [s for _ in range(self.r.randrange(1, 5)) for s in self.statements(depth)]
        body += self.combine()
        self.values, self.vars, self.ints = values, variables, ints
        return body

    def statements(self, depth: int) -> list[kf.Stmt]:
        simple = [self.arithmetic, self.load, self.load, self.store, self.store, self.variable, self.assign, self.combine]
        if depth < 3 and self.work < 300 and self.copies < 12 and self.r.random() < 0.45:
            return self.r.choice([lambda: self.branch(depth), lambda: self.loop(depth), lambda: self.loop(depth), self.fold])()
        return self.r.choice(simple)()


@pytest.mark.parametrize("seed", range(120))
def test_random_kernels(seed: int) -> None:
    k = Maker(seed).kernel()
    f, rng = native(k), np.random.default_rng(seed)
    for n in (0, 1, 7, SIZE):
        args = [n, *[rng.integers(-9, 10, SIZE).astype("f8") for _ in FLOATS], rng.integers(0, SIZE, SIZE), np.zeros(1, "i8")]
        expect = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        assert f(*args) == run(k, *expect)
        for p, a, e in zip(k.params, args, expect):
            assert np.array_equal(a, e), (seed, n, p.name)
