"""Sums of derivatives after branches: the same numbers as with the sums in them, but for rounding."""

from __future__ import annotations

import linecache
import os
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import irad
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.check import verify
from irad.codegen.kernel.form import Apply, Assign, Const, If, Kernel, Let, Load, Param, Store, Var, integer
from irad.codegen.kernel.interp import Machine
from irad.codegen.kernel.mentions import reads
from irad.codegen.kernel.show import show
from irad.codegen.transform import branch_sums, outer_lanes
from irad.codegen.transform.branch_sums import unbranched
from irad.core.lazy_dataclass import replace

SIZE = 40


class _Random:
    """A loop whose branches add to what it hands on, take away from it, or do something else."""

    def __init__(self, seed: int):
        self.r, self.names = random.Random(seed), 0

    def fresh(self, hint: str = "n") -> str:
        self.names += 1
        return f"{hint}_{self.names}"

    def value(self, base: str, depth: int) -> tuple[list[kf.Stmt], str]:
        """Statements of a side, and what it hands on."""
        r, name, kind = self.r, self.fresh(), self.r.random()
        if kind < 0.3:
            return [], base
        if kind < 0.45 and depth < 2:
            return self.branch(base, depth + 1)
        x = r.choice(("x", "y"))
        if kind < 0.6:
            return [Let(name, "f64", Apply("mul", (base, x)), contract=True)], name
        op, flip = r.choice(("add", "sub")), r.random() < 0.3
        args = (x, base) if flip else (base, x)
        return [Let(name, "f64", Apply(op, args), contract=r.random() < 0.9)], name

    def branch(self, base: str, depth: int = 0) -> tuple[list[kf.Stmt], str]:
        names, out = [self.fresh("v") for _ in range(self.r.choice((1, 1, 2)))], list[kf.Stmt]()
        sides: list[list[kf.Stmt]] = [[], []]
        for name in names:
            out.append(Var(name, "f64", Const(0.0, "f64")))
            for side in sides:
                body, v = self.value(base, depth)
                side += [*body, Assign(name, v)]
        out.append(If(self.r.choice(("p", "q")), *sides))
        total = self.fresh()
        out.append(Let(total, "f64", Apply("add", (names[0], names[-1])), contract=True))
        return out, names[0] if len(names) == 1 else total

    def kernel(self) -> Kernel:
        r = self.r
        body: list[kf.Stmt] = [Let(n, "f64", Load(n.upper(), ("i",))) for n in "xy"]
        body += [Let("p", "bool", Apply("lt", ("x", "y"))), Let("q", "bool", Apply("lt", ("x", Const(0.1, "f64"))))]
        base, other = self.branch("s"), self.branch("t")
        halved = [
            Let(f"half_{k}", "f64", Apply("mul", (v, Const(0.5, "f64"))), contract=True)
            for k, v in (("s", base[1]), ("t", other[1]))
        ]
        body += [*base[0], *other[0], *halved, Assign("s", "half_s"), Assign("t", "half_t" if r.random() < 0.5 else other[1])]
        start = [Var("s", "f64", Const(1.0, "f64")), Var("t", "f64", Const(0.5, "f64"))]
        end = [Store("R", (0,), "s"), Store("R", (1,), "t")]
        params = [Param("X", "f64", (SIZE,)), Param("Y", "f64", (SIZE,)), Param("R", "f64", (2,)), Param("err", "i64", (8,))]
        return Kernel("k", params, [*start, kf.For("i", "seq", 0, integer(SIZE), body), *end])


def _results(k: Kernel) -> np.ndarray:
    r = np.random.default_rng(0)
    out = np.zeros(2)
    Machine().run(k, r.uniform(-1, 1, SIZE), r.uniform(-1, 1, SIZE), out, np.zeros(8, int))
    return out


def test_random_branches() -> None:
    changed = 0
    for seed in range(300):
        made = _Random(seed)
        k = made.kernel()
        body = [replace(s, body=unbranched(s.body, made.fresh)) if isinstance(s, kf.For) else s for s in k.body]
        new = replace(k, body=body)
        verify(new)
        changed += show(new) != show(k)
        np.testing.assert_allclose(_results(new), _results(k), rtol=1e-12, atol=1e-12, err_msg=show(k) + show(new))
        laned = outer_lanes.laned(k)
        verify(laned)
        np.testing.assert_allclose(_results(laned), _results(k), rtol=1e-12, atol=1e-12)
    assert changed > 200


def gain(x: Any, a: Any, threshold: Any, power: Any) -> Any:
    """A recurrence that data decide, and a power under a condition on it."""
    level, s = 0.1, 0.0
    for k in range(len(x)):
        if x[k] > level:
            level = a * level + (1 - a) * x[k]
        else:
            level = 0.9 * level
        if level > threshold:
            s += x[k] * (level / threshold) ** power
        else:
            s -= x[k]
    return s


@pytest.mark.parametrize("n", [40, 3000])
def test_a_power_under_a_condition(n: int) -> None:
    x = np.random.default_rng(n).random(n)
    compiled = irad.compile(irad.value_and_grad(gain, argnums=(0, 1, 2, 3)))
    args = x, 0.3, 0.4, -0.7
    value, grads = compiled(*args)
    np.testing.assert_allclose(value, gain(*args), rtol=1e-12)
    along = np.random.default_rng(1).standard_normal(n)
    moved = lambda h: gain(x + h * along, 0.3 + 0.5 * h, 0.4 - 0.2 * h, -0.7 + h)
    slope = grads[0] @ along + 0.5 * grads[1] - 0.2 * grads[2] + grads[3]
    np.testing.assert_allclose(slope, (moved(1e-7) - moved(-1e-7)) / 2e-7, rtol=1e-4)
    if os.environ.get("IRAD_CHECK") == "memory":  # what checks memory is not in lanes
        return
    inside = compiled.lower(*args).kernel.split("for ")
    assert any("in vec(" in part.split("\n")[0] and "log(" in part for part in inside)  # its logarithms are in lanes


def test_what_sides_read_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a branch that changes n numbers the sides are not read again for each of them."""
    read = 0

    def counted(body: Any) -> Iterator[str]:
        nonlocal read
        for name in reads(body):
            read += 1
            yield name

    def work(n: int) -> int:
        nonlocal read
        read = 0
        made = "".join(f" v{k} = x[{k % 7}]\n" for k in range(n))
        one, other = ("".join(f"   v{k} = v{k} * {c}{k} + x[i]\n" for k in range(n)) for c in ("0.1", "0.2"))
        text = f"def f(x):\n{made} for i in range(9):\n  if x[i] > 0.1:\n{one}  else:\n{other} return {'+'.join(f'v{k}' for k in range(n))}\n"
        name = f"<ways {n}>"
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        scope: dict[str, Any] = {}
        exec(compile(text, name, "exec"), scope)
        x = np.linspace(0.05, 0.2, 9)
        value, slope = irad.value_and_grad(scope["f"])(x)
        np.testing.assert_allclose(value, scope["f"](x), rtol=1e-13)
        moved = [(scope["f"](x + h) - scope["f"](x - h)) / 2e-6 for h in 1e-6 * np.eye(9)]
        np.testing.assert_allclose(slope, moved, rtol=1e-6, atol=1e-8)
        return read

    monkeypatch.setattr(branch_sums, "reads", counted)
    few, many = work(5), work(20)
    assert 0 < many < 5 * few, (few, many)
