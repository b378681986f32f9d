"""What the derivative of a loop keeps: nothing, elements of arrays that last, a tape, or every k-th state."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from irad.interp import _Frame, interpret
from irad.ir import Graph, Program, Value, build, inline, walk
from irad.passes import schedule_loops
from irad.passes.autodiff import vjp
from irad.passes.cse import cse
from irad.passes.dce import dce
from irad.passes.final_values import FinalValues
from irad.passes.polyhedron import is_empty
from irad.passes.simplify import simplify
from irad.types import F64, I64, affine
from irad.verify import verify
from tests.derivatives import check
from tests.programs import Call, For, If, Sym, While, exp, fn, lt, mat, sin, sqrt, vec


def ops(program: Program, *names: str) -> int:
    return sum(n.op.name in names for g in program.values() for n in walk(g))


def tidy(program: Program) -> Program:
    return dce(cse(simplify(program)))


# ---- nothing is kept ----------------------------------------------------------------------------------------------


def heat() -> tuple[Graph, list[Any]]:
    """linear, in place, by slices"""

    @fn(vec(8))
    def f(u):
        return For(5, u, lambda t, u: u.put_add((u[(2, 6),] + u[(0, 6),] - 2.0 * u[(1, 6),]) * 0.1, (1, 6)))

    return f, [np.linspace(0.3, 1.0, 8)]


def seidel() -> tuple[Graph, list[Any]]:
    @fn(mat(5, 5))
    def f(a):
        def cell(i, j, a):
            return a.put((a[i, j + 1] + a[i + 2, j + 1] + a[i + 1, j] + a[i + 1, j + 2]) * 0.25, i + 1, j + 1)

        return For(2, a, lambda t, a: For(3, a, lambda i, a: For(3, a, lambda j, a: cell(i, j, a))))

    return f, [np.random.default_rng(0).normal(size=(5, 5))]


# ---- the array is the tape ----------------------------------------------------------------------------------------


def recurrence() -> tuple[Graph, list[Any]]:
    """y[i+1] = y[i] * x[i+1] + sin(x[i])"""

    @fn(vec(6), vec(6))
    def f(x, y):
        return For(5, y, lambda i, y: y.put(y[i] * x[i + 1] + sin(x[i]), i + 1))

    return f, [np.linspace(0.5, 1.4, 6), np.linspace(-0.5, 0.5, 6)]


def downwards() -> tuple[Graph, list[Any]]:
    @fn(vec(6))
    def f(y):
        return For(5, y, lambda k, y: y.put(exp(y[5 - k] * 0.5), 4 - k))

    return f, [np.linspace(0.1, 0.6, 6)]


def even_from_odd() -> tuple[Graph, list[Any]]:
    """reads and stores interleave, at different residues"""

    @fn(vec(12))
    def f(y):
        return For(5, y, lambda i, y: y.put(y[2 * i + 1] * y[2 * i + 3], 2 * i))

    return f, [np.linspace(0.1, 0.9, 12)]


def cholesky() -> tuple[Graph, list[Any]]:
    @fn(mat(5, 5))
    def f(a):
        def row(i, a):
            def col(j, a):
                a = For(j, a, lambda k, a: a.put(a[i, j] - a[i, k] * a[j, k], i, j))
                return a.put(a[i, j] / a[j, j], i, j)

            a = For(i, a, col)
            a = For(i, a, lambda k, a: a.put(a[i, i] - a[i, k] * a[i, k], i, i))
            return a.put(sqrt(a[i, i]), i, i)

        return For(5, a, row)

    m = np.random.default_rng(2).normal(size=(5, 5))
    return f, [m @ m.T + 5 * np.eye(5)]


def lu() -> tuple[Graph, list[Any]]:
    """right-looking, by rows"""

    @fn(mat(5, 5))
    def f(a):
        def step(k, a):
            def row(r, a):
                i = k + 1 + r
                a = a.put(a[i, k] / a[k, k], i, k)
                return For(4 - k, a, lambda c, a: a.put(a[i, k + 1 + c] - a[i, k] * a[k, k + 1 + c], i, k + 1 + c))

            return For(4 - k, a, row)

        return For(5, a, step)

    return f, [np.random.default_rng(3).normal(size=(5, 5)) + 5 * np.eye(5)]


def trisolv() -> tuple[Graph, list[Any]]:
    @fn(mat(5, 5), vec(5))
    def f(m, b):
        def row(i, x):
            s = For(i, b[i], lambda j, s: s - m[i, j] * x[j])
            return x.put(s / m[i, i], i)

        return For(5, b * 0.0, row)

    return f, [np.random.default_rng(4).normal(size=(5, 5)) + 3 * np.eye(5), np.linspace(0.5, 1, 5)]


def stored_in_a_branch() -> tuple[Graph, list[Any]]:
    """the store and the read of what it made are in branches"""

    @fn(vec(7), F64)
    def f(y, x):
        def body(i, y):
            a = y[i]
            return If(lt(i % 2, 1), lambda: y.put(a * y[i] + x, i + 1), lambda: y.put(exp(a), i + 1))

        return For(6, y, body)

    return f, [np.linspace(0.1, 0.6, 7), 0.3]


def rows_by_slices() -> tuple[Graph, list[Any]]:
    @fn(mat(5, 3))
    def f(a):
        return For(4, a, lambda i, a: a.put(a[i] * a[i, 1], i + 1))

    return f, [np.random.default_rng(5).normal(size=(5, 3))]


KEPT_NOWHERE = [heat, seidel, recurrence, downwards, even_from_odd, cholesky, lu, trisolv, stored_in_a_branch, rows_by_slices]


@pytest.mark.parametrize("make", KEPT_NOWHERE, ids=lambda f: f.__name__)
def test_no_tape(make: Callable[[], tuple[Graph, list[Any]]]) -> None:
    f, args = make()
    assert ops(vjp({"f": f}), "push", "tape") == 0
    check({"f": f}, args, rtol=1e-7)


# ---- what is overwritten is taped -----------------------------------------------------------------------------------


def overwritten_in_the_next_trip() -> tuple[Graph, list[Any]]:
    @fn(vec(6))
    def f(y):
        return For(5, y, lambda i, y: y.put(y[i] * y[i + 1], i + 1).put(sin(y[i]), i))

    return f, [np.linspace(0.5, 1.4, 6)]


def overwritten_in_an_outer_trip() -> tuple[Graph, list[Any]]:
    @fn(vec(6))
    def f(y):
        return For(3, y, lambda t, y: For(5, y, lambda i, y: y.put(y[i] * y[i + 1], i + 1)))

    return f, [np.linspace(0.5, 1.4, 6)]


def overwritten_after_the_loop() -> tuple[Graph, list[Any]]:
    @fn(vec(6))
    def f(y):
        y = For(5, y, lambda i, y: y.put(y[i] * y[i], i + 1))
        return For(6, y, lambda i, y: y.put(0.5 * y[5 - i], i))

    return f, [np.linspace(0.5, 1.4, 6)]


def at_a_computed_place() -> tuple[Graph, list[Any]]:
    """no affine form: 3 * i % 7 repeats nothing, but that takes more than affine arithmetic"""

    @fn(vec(7))
    def f(y):
        return For(6, y, lambda i, y: y.put(sin(y[(i * 3) % 7] * y[0]), (i * 3 + 3) % 7))

    return f, [np.linspace(0.5, 1.4, 7)]


def in_a_while() -> tuple[Graph, list[Any]]:
    @fn(vec(9))
    def f(y):
        return While([y, 1], lambda y, k: lt(k, 8), lambda y, k: (y.put(y[k - 1] * y[k], k), k + 2))[0]

    return f, [np.linspace(0.5, 1.4, 9)]


@pytest.mark.parametrize(
    "make",
    [overwritten_in_the_next_trip, overwritten_in_an_outer_trip, at_a_computed_place, in_a_while],
    ids=lambda f: f.__name__,
)
def test_taped(make: Callable[[], tuple[Graph, list[Any]]]) -> None:
    f, args = make()
    assert ops(vjp({"f": f}), "push") > 0
    check({"f": f}, args, rtol=1e-7)


def test_a_copy_of_the_array_is_kept_where_a_later_loop_writes_it() -> None:
    f, args = overwritten_after_the_loop()
    assert ops(vjp({"f": f}), "push") == 0
    check({"f": f}, args, rtol=1e-7)


# ---- random nests -----------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize("start", [0, 60, 120])
def test_random_nests(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit the derivatives of the engine that tapes everything; the second ones too, but for the order of sums."""
    find, fewer = FinalValues.find, 0
    for seed in range(start, start + 60):
        program = Nest(seed).program()
        rng = np.random.default_rng(seed)
        x, u, v = (rng.uniform(-1, 1, Nest.SIZE) for _ in range(3))
        joints = []
        for how in (lambda *_: None, find):
            monkeypatch.setattr(FinalValues, "find", how)
            joints.append(verify(vjp(program)))
        fewer += ops(joints[1], "push") < ops(joints[0], "push")
        for want, got in zip(*(interpret(joint, x, u) for joint in joints), strict=True):
            np.testing.assert_array_equal(got, want)
        if seed % 6 == 0:
            second = [verify(vjp(joint, wrt=[0], results=[1])) for joint in joints]
            for want, got in zip(*(interpret(joint, x, u, v) for joint in second), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    assert fewer >= 4


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


# ---- old versions -------------------------------------------------------------------------------------------------------


def store_then_read(at: Callable[[Any], Any]) -> Callable[[int], Graph]:
    def make(n: int) -> Graph:
        @fn(vec(n))
        def f(x):
            def body(i, y, s):
                new = y.put(sin(s) * x[i], i + 1)
                return new, s * 0.5 + y[at(i)] * y[i]

            y, s = For(n - 1, [x, 0.1], body)
            return y.sum() * s

        return f

    return make


def two_stores(n: int) -> Graph:
    """reads of three versions, in the wrong order"""

    @fn(vec(n))
    def f(x):
        def body(i, y, s):
            y1 = y.put(s, i)
            y2 = y1.put_add(sin(y[i]), i + 1)
            return y2, y1[i] * y[i + 1] + y[i] * y1[i + 1]

        y, s = For(n - 1, [x, 0.1], body)
        return y.sum() * s

    return f


OLD = [store_then_read(lambda i: i + 1), store_then_read(lambda i: i), store_then_read(lambda i: 0), two_stores]


@pytest.mark.parametrize("make", OLD, ids=["at_the_store", "before_it", "first", "two_stores"])
def test_reading_an_old_version_costs_no_pass_over_the_array(make: Callable[[int], Graph]) -> None:
    check({"f": make(5)}, [np.linspace(0.3, 0.9, 5)], rtol=1e-7)
    whole = [n for n in _in_loops(vjp({"f": make(64)})) if any(v.type.shape for v in n.outputs)]
    assert {n.op.name for n in whole} <= {"update", "update_add"}


def _in_loops(program: Program) -> Iterator[Any]:
    for g in program.values():
        for n in walk(g):
            if n.op.name == "for":
                yield from walk(n.regions[0])


# ---- checkpoints ---------------------------------------------------------------------------------------------------------


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


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut loops that are small enough for a test."""
    for name, value in (("BUDGET", 0), ("STATE", 1), ("BLOCK", 3)):
        monkeypatch.setattr(schedule_loops, name, value)


@pytest.mark.parametrize("trips", [0, 1, 3, 4, 9, 23])
def test_blocks_change_nothing(trips: int, small: None, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(trips)
    args = [rng.uniform(0.1, 0.9, (8, 8)), 0.05, trips, 1.0]
    for known in (None, trips) if trips > 6 else (None,):
        monkeypatch.setattr(schedule_loops, "BUDGET", 0)
        cut = verify(vjp({"f": fisher(8, known)}))
        monkeypatch.setattr(schedule_loops, "BUDGET", 1 << 60)
        whole = vjp({"f": fisher(8, known)})
        assert ops(cut, "checkpoint") == 1 and ops(whole, "checkpoint") == 0
        for a, b in zip(interpret(cut, *args), interpret(whole, *args), strict=True):
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
    assert ops(vjp(program), "checkpoint") >= 2
    check(program, [np.random.default_rng(0).uniform(0.1, 0.9, (8, 8)), 5], rtol=1e-7)


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
    assert kept[2] <= 20 * u.size and kept[1] <= 2.3 * kept[0] and kept[2] <= 2.3 * kept[1]


def test_only_what_exceeds_the_budget_is_cut() -> None:
    assert ops(vjp({"f": fisher(128)}), "checkpoint") == 1
    assert ops(vjp({"f": fisher(128, 8)}), "checkpoint") == 0  # few trips
    assert ops(vjp({"f": fisher(16)}), "checkpoint") == 0  # small states

    @fn(mat(512, 512), vec(512))
    def rows(a, x):
        return For(512, a, lambda i, a: a.put(sin(a[i] * x), i))

    assert ops(vjp({"f": rows}), "checkpoint") == 0  # a state is far more than what a trip saves

    @fn(F64)
    def scalars(x):
        return For(10**6, x, lambda i, s: sin(s) * s)

    assert ops(vjp({"f": scalars}), "checkpoint") == 0


# ---- shared work ------------------------------------------------------------------------------------------------------------


def test_one_forward_loop_serves_the_function_and_its_gradient() -> None:
    @fn(vec(6))
    def f(x):
        return For(5, x, lambda i, y: y.put(y[i] * x[i + 1], i + 1)).sum()

    joint = next(iter(vjp({"f": f}).values()))
    both = build([*joint.params], lambda x, ct: [*inline(f, x), *inline(joint, x, ct), *inline(joint, x, ct)], "both")
    assert ops(tidy({"both": both}), "for") == 2
