"""Final values by affine positions: random loop nests, and the integer points behind them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from irad.core.dependence import is_empty
from irad.core.interp import interpret
from irad.core.ir import Program, Value, walk
from irad.core.types import I64, affine
from irad.core.verify import verify
from irad.passes.analyses.final_values import FinalValues
from irad.passes.derivatives.autodiff import vjp
from tests.support.agree import agree
from tests.support.programs import For, If, Sym, exp, fn, lt, sin, vec


def pushes(program: Program) -> int:
    return sum(n.op.name == "push" for g in program.values() for n in walk(g))


class Nest:
    """A random nest of loops that stores at affine places of one array and reads it at others."""

    SIZE = 16

    def __init__(self, seed: int):
        self.rng = random.Random(seed)

    def program(self) -> Program:
        @fn(vec(self.SIZE))
        def f(y):
            for _ in range(self.rng.choice([1, 1, 2])):
                y = self.loop([], y, 0)
            return y

        return {"f": f}

    def loop(self, indices: list[tuple[Sym, int]], y: Sym, depth: int) -> Sym:
        bound = self.rng.randrange(2, 5)
        ragged = indices and self.rng.random() < 0.4
        trips = indices[-1][0] + 1 if ragged else bound
        most = indices[-1][1] if ragged else bound
        if self.rng.random() < 0.3:  # by a counter that the loop carries
            step = lambda i, y, k: (self.block([*indices, (k, most)], y, depth + 1), k + 1)
            return For(trips, [y, 0], step)[0]
        return For(trips, y, lambda i, y: self.block([*indices, (i, most)], y, depth + 1))

    def block(self, indices: list[tuple[Sym, int]], y: Sym, depth: int) -> Sym:
        for _ in range(self.rng.choice([1, 1, 2])):
            kind = self.rng.random()
            if depth < 3 and kind < 0.4:
                y = self.loop(indices, y, depth)
            elif kind < 0.6:
                other = y
                y = If(lt(indices[0][0] % 2, 1), lambda: self.store(indices, other), lambda: other)  # noqa: B023
            else:
                y = self.store(indices, y)
        return y

    def store(self, indices: list[tuple[Sym, int]], y: Sym) -> Sym:
        a, b = y[self.place(indices)], y[self.place(indices)]
        kind = self.rng.random()
        if kind < 0.25:
            row = y[(self.place(indices, 3), 3),]
            return y.put(sin(row) * a, (self.place(indices, 3), 3))
        if kind < 0.4:
            return y.put_add(sin(a) * b, self.place(indices))
        return y.put(exp(sin(a * b)), self.place(indices))

    def place(self, indices: list[tuple[Sym, int]], width: int = 1) -> Any:
        """A random affine form that stays inside the array."""
        low = high = 0
        form: Any = 0
        for i, n in indices:
            c = self.rng.choice([-1, 0, 1, 1, 2])
            if c and high - low + abs(c) * (n - 1) <= self.SIZE - width:
                form = i * c + form
                low, high = low + min(0, c * (n - 1)), high + max(0, c * (n - 1))
        return form + self.rng.randrange(-low, self.SIZE - width - high + 1)


@pytest.mark.parametrize("start", [0, 15, 30])
def test_random_nests(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit the derivatives of the engine that tapes everything; the second ones too, but for the order of sums."""
    find, fewer = FinalValues.find, 0
    for seed in range(start, start + 15):
        program = Nest(seed).program()
        rng = np.random.default_rng(seed)
        x, u, v = (rng.uniform(-1, 1, Nest.SIZE) for _ in range(3))
        joints = []
        for how in (lambda *_: None, find):
            monkeypatch.setattr(FinalValues, "find", how)
            joints.append(verify(vjp(program)))
        fewer += pushes(joints[1]) < pushes(joints[0])
        for want, got in zip(*(interpret(joint, x, u) for joint in joints), strict=True):
            np.testing.assert_array_equal(got, want)
        if seed % 3 == 0:
            agree(joints[1], x, u)
        if seed % 6 == 0:
            second = [verify(vjp(joint, wrt=[0], results=[1])) for joint in joints]
            for want, got in zip(*(interpret(joint, x, u, v) for joint in second), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
            agree(second[1], x, u, v)
    assert fewer >= 1


# ---- integer points ---------------------------------------------------------------------------------------------------


def test_emptiness_is_sure() -> None:
    """Whatever is called empty holds no point of a box, and the simple cases are called so."""
    rng = random.Random(0)
    xs = [Value(I64) for _ in range(3)]
    found = 0
    for _ in range(300):

        def form() -> Any:
            return affine(rng.randrange(-4, 5), {v: rng.randrange(-2, 3) for v in xs})  # noqa: B023

        zero, rows = [form() for _ in range(rng.randrange(3))], [form() for _ in range(rng.randrange(4))]
        box = [e for v in xs for e in (affine(0, {v: -1}), affine(-4, {v: 1}))]
        points = (dict(zip(xs, p)) for p in np.ndindex(5, 5, 5))
        at = lambda e, p: e if isinstance(e, int) else e.const + sum(c * p[v] for v, c in e.terms)
        some = any(all(at(e, p) == 0 for e in zero) and all(at(e, p) <= 0 for e in rows) for p in points)
        empty = is_empty(zero, [*rows, *box])
        assert not (empty and some)
        found += empty == (not some)
    assert found > 270
