"""Long loops cut into checkpointed blocks: the same numbers, a tape of O(sqrt(n)) states, and only where it pays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from irad.core.interp import _Frame, interpret
from irad.core.ir import Graph, Program, walk
from irad.core.notes import Notes
from irad.core.types import F64, I64
from irad.core.verify import verify
from irad.passes.derivatives import checkpointing as schedule_loops
from irad.passes.derivatives.autodiff import vjp
from irad.passes.derivatives.checkpointing import Asked
from tests.support.agree import agree
from tests.support.derivatives import check
from tests.support.programs import Call, For, fn, mat, sin, vec
from tests.support.random_programs import Maker


def ops(program: Program, *names: str) -> int:
    return sum(n.op.name in names for g in program.values() for n in walk(g))


def fisher(n: int, trips: Any = None) -> Graph:
    """a step of a non-linear wave, over the whole array"""
    m = n - 2

    @fn(mat(n, n), F64, I64)
    def f(u, r, t):
        def step(k, u):
            c = u[(1, m), (1, m)]
            d = u[(2, m), (1, m)] + u[(0, m), (1, m)] + u[(1, m), (2, m)] + u[(1, m), (0, m)] - 4.0 * c
            return u.put_add(0.2 * d + r * c * (1.0 - c), (1, m), (1, m))

        u = For(t if trips is None else trips, u, step)
        return (u * u).sum()

    return f


SMALL = {"BUDGET": 0, "STATE": 1, "UNKNOWN_STATE": 1, "BLOCK": 3, "GAIN": 1}


def in_blocks(program: Program) -> int:
    """How many loops of a program are differentiated in blocks."""
    notes = Notes()
    vjp(program, asked=Asked(None, notes))
    return len(notes.decisions)


def whole(program: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    """The derivatives with all loops in one piece."""
    with monkeypatch.context() as m:
        for name in ("BUDGET", "UNKNOWN_STATE"):
            m.setattr(schedule_loops, name, 1 << 60)
        assert in_blocks(program) == 0
        return vjp(program)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut loops that are small enough for a test."""
    for name, value in SMALL.items():
        monkeypatch.setattr(schedule_loops, name, value)


@pytest.mark.parametrize("trips", [0, 1, 3, 4, 9, 23])
def test_blocks_change_nothing(trips: int, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(trips)
    args = [rng.uniform(0.1, 0.9, (8, 8)), 0.05, trips, 1.0]
    for known in (None, trips) if trips > 6 else (None,):
        program = {"f": fisher(8, known)}
        assert in_blocks(program) == 1
        for a, b in zip(agree(verify(vjp(program)), *args), interpret(whole(program, monkeypatch), *args), strict=True):
            np.testing.assert_array_equal(a, b)


def test_derivatives_of_blocks(small: None) -> None:
    rng = np.random.default_rng(0)
    check({"f": fisher(8)}, [rng.uniform(0.1, 0.9, (8, 8)), 0.05, 11])


def test_blocks_in_a_loop_and_in_a_function(small: None) -> None:
    """the blocks are counted in a frame that is itself run again and again"""

    @fn(mat(8, 8), I64)
    def p(u, t):
        return For(t, u, lambda k, u: sin(u) * u[k % 8, 0])

    @fn(mat(8, 8), I64)
    def f(u, t):
        return For(3, u, lambda k, u: Call("p", [mat(8, 8)], u, t + k) + For(t + k, u, lambda j, u: sin(u) * 0.9)).sum()

    program: Program = {"f": f, "p": p}
    assert in_blocks(program) >= 2
    check(program, [np.random.default_rng(0).uniform(0.1, 0.9, (8, 8)), 5], rtol=1e-7)


def test_random_programs_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit the derivatives of the same programs in one piece."""
    for name, value in (SMALL | {"BLOCK": 1}).items():
        monkeypatch.setattr(schedule_loops, name, value)
    cut = 0
    for seed in range(16):
        program = Maker(seed).program()
        rng = np.random.default_rng(seed)
        args = [rng.uniform(-1, 1), rng.uniform(-1, 1, 4), np.int64(2), 1.0]
        one_piece = whole(program, monkeypatch)
        cut += in_blocks(program)
        for a, b in zip(agree(verify(vjp(program)), *args), interpret(one_piece, *args), strict=True):
            np.testing.assert_array_equal(a, b)
    assert cut >= 5


def states(program: Program, *args: Any) -> int:
    """The most array elements that the tapes hold at a time, found by running the forward parts."""
    peak = 0

    def held(tape: Any) -> int:
        n = 0
        while tape is not None:
            tape, _, entries = tape
            n += sum(np.size(x) for x in entries)
        return n

    class Watch(_Frame):
        def node(self, node: Any, env: Any) -> Any:
            nonlocal peak
            out = super().node(node, env)
            if node.op.name == "for" and not node.deriv:
                peak = max(peak, sum(held(x) for x, v in zip(out, node.outputs) if v.type.dtype == "tape"))
            return out

    Watch(program).graph(next(iter(program.values())), [np.asarray(a)[()] for a in args], {})
    return peak


def test_states_kept_grow_as_the_square_root(small: None) -> None:
    u = np.random.default_rng(0).uniform(0.1, 0.9, (8, 8))
    program = vjp({"f": fisher(8)})
    kept = [states(program, u, 0.05, t, 1.0) for t in (16, 64, 256)]
    assert kept[2] <= 25 * u.size and kept[1] <= 2.3 * kept[0] and kept[2] <= 2.3 * kept[1]


def test_only_what_exceeds_the_budget_is_cut() -> None:
    assert in_blocks({"f": fisher(128)}) == 1
    assert in_blocks({"f": fisher(128, 8)}) == 0  # few trips
    assert in_blocks({"f": fisher(10)}) == 0  # small states

    @fn(mat(512, 512), vec(512))
    def rows(a, x):
        return For(512, a, lambda i, a: a.put(sin(a[i] * x), i))

    assert in_blocks({"f": rows}) == 0  # a state is far more than what a trip saves

    @fn(F64)
    def scalars(x):
        return For(10**6, x, lambda i, s: sin(s) * s)

    assert in_blocks({"f": scalars}) == 0
