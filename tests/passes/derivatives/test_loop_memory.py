"""What the derivative of a loop keeps: nothing, elements of arrays that last, or a tape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from irad.core.ir import Graph, Program, build, inline, walk
from irad.core.types import F64
from irad.passes.clean.cse import cse
from irad.passes.clean.dce import dce
from irad.passes.clean.simplify import simplify
from irad.passes.derivatives.autodiff import vjp
from tests.support.derivatives import check
from tests.support.programs import For, If, While, exp, fn, lt, mat, sin, sqrt, vec


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


def counted_in_a_while() -> tuple[Graph, list[Any]]:
    @fn(vec(9), vec(9))
    def f(x, y):
        def body(y, k, j):
            return y.put(y[k - 1] * x[j] * y[k + 1], k), k + 2, j - 1

        return While([y, 1, 8], lambda y, k, j: lt(k, 8), body)[0]

    return f, [np.linspace(0.5, 1.4, 9), np.linspace(0.6, 1.2, 9)]


def counted_beside_the_index() -> tuple[Graph, list[Any]]:
    """a carried counter and the index of the loop in one nest"""

    @fn(mat(4, 4))
    def f(a):
        def row(i, a, k):
            a = For(i + 1, a, lambda j, a: a.put(a[k - 1, j] * a[k - 1, j + 1], k, j))
            return a, k + 1

        return For(3, [a, 1], row)[0]

    return f, [np.random.default_rng(6).normal(size=(4, 4))]


def rows_by_slices() -> tuple[Graph, list[Any]]:
    @fn(mat(5, 3))
    def f(a):
        return For(4, a, lambda i, a: a.put(a[i] * a[i, 1], i + 1))

    return f, [np.random.default_rng(5).normal(size=(5, 3))]


KEPT_NOWHERE = [
    heat,
    seidel,
    recurrence,
    downwards,
    even_from_odd,
    cholesky,
    lu,
    trisolv,
    stored_in_a_branch,
    rows_by_slices,
    counted_in_a_while,
    counted_beside_the_index,
]


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


# ---- shared work ------------------------------------------------------------------------------------------------------------


def test_one_forward_loop_serves_the_function_and_its_gradient() -> None:
    @fn(vec(6))
    def f(x):
        return For(5, x, lambda i, y: y.put(y[i] * x[i + 1], i + 1)).sum()

    joint = next(iter(vjp({"f": f}).values()))
    both = build([*joint.params], lambda x, ct: [*inline(f, x), *inline(joint, x, ct), *inline(joint, x, ct)], "both")
    assert ops(tidy({"both": both}), "for") == 2
