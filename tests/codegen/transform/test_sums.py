"""Loops that change variables from outside, in place of copies of them: the same numbers, found in one walk."""

from __future__ import annotations

import random
import sys
from typing import Any

import numpy as np

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.check import verify
from irad.codegen.kernel.form import Apply, Assign, Const, Kernel, Let, Load, Param, Store, Var
from irad.codegen.kernel.interp import Machine
from irad.codegen.kernel.show import show
from irad.codegen.transform.sums import direct
from irad.core.lazy_dataclass import replace

N = 3


class _Random:
    """Nested loops that hand on copies of what they carry, and sometimes read what they copied, or the copy, elsewhere."""

    def __init__(self, seed: int):
        self.r, self.names = random.Random(seed), 0

    def fresh(self, hint: str) -> str:
        self.names += 1
        return f"{hint}_{self.names}"

    def body(self, carried: list[str], depth: int) -> list[kf.Stmt]:
        """Statements that change the variables, in inner loops or by themselves."""
        out: list[kf.Stmt] = []
        if depth and self.r.random() < 0.8:
            inner = [self.fresh("w") for _ in carried]
            out += [Var(w, "f64", c) for w, c in zip(inner, carried)]
            out.append(self.loop(inner, depth - 1))
            if self.r.random() < 0.3:
                out += self.step(self.r.choice(carried), self.r.choice(carried + inner))
            out += [Assign(c, w) for w, c in zip(inner, carried)]
            if self.r.random() < 0.2:
                out += self.step(carried[0], self.r.choice(inner))
        else:
            for c in carried:
                out += self.step(c, c if self.r.random() < 0.8 else self.r.choice(carried))
        return out

    def step(self, var: str, read: str) -> list[kf.Stmt]:
        name = self.fresh("n")
        return [Let(name, "f64", Apply("sub", (read, self.r.choice(("x", Const(0.25, "f64")))))), Assign(var, name)]

    def loop(self, carried: list[str], depth: int) -> kf.Stmt:
        body = self.body(carried, depth)
        if self.r.random() < 0.6:
            return kf.For(self.fresh("i"), "seq", 0, N, body)
        below, name = self.fresh("below"), self.r.choice(carried)
        more = Let(self.fresh("n"), "f64", Apply("sub", (name, Const(0.5, "f64"))))
        test = [Let(below, "bool", Apply("lt", (Const(-9.0, "f64"), name)))]
        within = body if self.r.random() < 0.5 else []
        return kf.While([*test, *(body if not within else ())], below, [*within, more, Assign(name, more.name)])

    def kernel(self, variables: int) -> Kernel:
        names = [self.fresh("c") for _ in range(variables)]
        start = [Let("x", "f64", Load("X", (0,))), *(Var(c, "f64", "x") for c in names)]
        end = [Store("R", (k,), c) for k, c in enumerate(names)]
        params = [Param("X", "f64", (1,)), Param("R", "f64", (variables,)), Param("err", "i64", (8,))]
        return Kernel("k", params, [*start, kf.For("i", "seq", 0, N, self.body(names, 3)), *end])


def _results(k: Kernel) -> Any:
    out = np.zeros(len([s for s in k.body if isinstance(s, Store)]))
    Machine().run(k, np.array([0.7]), out, np.zeros(8, int))
    return out


def test_random_loops() -> None:
    fewer = 0
    for seed in range(300):
        k = _Random(seed).kernel(1 + seed % 3)
        verify(k)
        new = replace(k, body=[replace(s, body=direct(s.body)) if isinstance(s, kf.For) else s for s in k.body])
        verify(new)
        fewer += show(new) != show(k)
        np.testing.assert_array_equal(_results(new), _results(k), err_msg=show(k) + show(new))
    assert fewer > 100


def test_copies_of_all_depths_go_at_once() -> None:
    body: list[kf.Stmt] = [Let("n", "f64", Apply("add", ("w4", "x"))), Assign("w4", "n")]
    for k in range(4, 0, -1):
        body = [Var(f"w{k}", "f64", f"w{k - 1}"), kf.For(f"i{k}", "seq", 0, N, body), Assign(f"w{k - 1}", f"w{k}")]
    left = list(kf.walk(direct(body)))
    assert not any(isinstance(s, Var) for s in left)
    assert [s.name for s in left if isinstance(s, Assign)] == ["w0"]


def _calls(copies: int) -> int:
    """Calls that it takes for so many copies, each in a loop in the loop before."""
    body: list[kf.Stmt] = []
    for k in range(copies):
        inner = [Let(f"n{k}", "f64", Apply("add", (f"w{k}", "x"))), Assign(f"w{k}", f"n{k}")]
        body += [Var(f"w{k}", "f64", f"c{k}"), kf.For(f"i{k}", "seq", 0, N, inner), Assign(f"c{k}", f"w{k}")]
    count = 0

    def seen(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(seen)
    try:
        found = direct(body)
    finally:
        sys.setprofile(None)
    assert len(found) == copies
    return count


def test_work_is_linear() -> None:
    assert _calls(200) < 4.4 * _calls(50)
