"""A derivative costs a constant times its primal: nodes of the program, operations run, array elements written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from irad.core.interp import _Frame, interpret
from irad.core.ir import Graph, Node, Program, Value, build, size
from irad.core.types import F64, I64
from irad.ops.control import for_, if_, push
from irad.passes.derivatives.autodiff import jvp, vjp
from tests.support.programs import Call, For, If, Sym, While, cos, fn, lt, mat, sin, vec

_IN_PLACE = ("update", "update_add", "for", "while", "if", "call", "checkpoint")


class Counter(_Frame):
    """Runs a program and counts the nodes run and the array elements written by ops that do not write in place."""

    def __init__(self, program: Program):
        super().__init__(program)
        self.ops = self.elements = 0

    def node(self, node: Node, env: dict[Value, Any]) -> Any:
        out = super().node(node, env)
        self.ops += 1
        if node.op is push:
            self.elements += sum(v.type.size for v in node.inputs[1:] if v.type.shape)
        elif node.op.name not in _IN_PLACE:
            self.elements += sum(np.size(x) for x, v in zip(out, node.outputs) if v.type.shape)
        return out


def cost(program: Program, *args: Any) -> tuple[int, int]:
    counter = Counter(program)
    counter.graph(next(iter(program.values())), [np.asarray(a)[()] for a in args], {})
    return counter.ops, counter.elements


def recurrence(n: int) -> tuple[Any, tuple[int, ...]]:
    return build([vec(n)], lambda x: [For(n - 1, Sym(x), lambda i, y: y.put(y[i] * Sym(x)[i + 1], i + 1)).sum().v]), (n,)


def branches(n: int) -> tuple[Any, tuple[int, ...]]:
    """a store in one branch, reads in the other, a captured array"""

    @fn(vec(n))
    def f(x):
        def body(i, y, s):
            def store():
                t = s * y[0]
                return y.put(s * x[i], i), t

            return If(lt(y[i], s), store, lambda: (y, s + sin(x[i])))

        y, s = For(n, [x, 0.1], body)
        return y.sum() * s

    return f, (n,)


def sweep(n: int) -> tuple[Any, tuple[int, ...]]:
    @fn(mat(n, n))
    def f(a):
        def row(i, a):
            return For(n - 1, a, lambda j, a: a.put(sin(a[i, j + 1] * a[i + 1, j]), i + 1, j + 1))

        return For(n - 1, a, row).sum()

    return f, (n, n)


def dots(n: int) -> tuple[Any, tuple[int, ...]]:
    """a ragged nest that only reads its array; the inner loop carries a scalar"""

    @fn(mat(n, n))
    def f(a):
        return For(n, 0.0, lambda i, s: s + sin(For(i, 0.0, lambda j, t: t + a[i, j] * a[j, i])))

    return f, (n, n)


def tree(n: int) -> tuple[Any, tuple[int, ...]]:
    @fn(vec(n), I64, I64)
    def t(x, lo, k):
        def rec():
            h = k // 2
            return Call("t", [F64], x, lo, h) * Call("t", [F64], x, lo + h, k - h) + sin(x[lo])

        return If(lt(k, 2), lambda: x[lo], rec)

    @fn(vec(n))
    def f(x):
        return Call("t", [F64], x, 0, n)

    return {"f": f, "t": t}, (n,)


def while_store(n: int) -> tuple[Any, tuple[int, ...]]:
    @fn(vec(n))
    def f(x):
        def body(y, s, k):
            t = s * 0.9 + y[k]
            return y.put_add(s * x[k], (k + 3) % n), t, k + 1

        y, s, _ = While([x, 0.1, 0], lambda y, s, k: lt(k, n), body)
        return y.sum() * s

    return f, (n,)


def fill(n: int) -> tuple[Any, tuple[int, ...]]:
    """a recursive function that writes the array it is given and returns it"""

    @fn(vec(n), I64, I64)
    def t(y, lo, k):
        def rec():
            h = k // 2
            b = Call("t", [vec(n)], Call("t", [vec(n)], y, lo, h), lo + h, k - h)
            return b.put(b[lo] * b[lo + h], lo)

        return If(lt(k, 2), lambda: y.put(sin(y[lo]), lo), rec)

    @fn(vec(n))
    def f(x):
        return Call("t", [vec(n)], x, 0, n).sum()

    return {"f": f, "t": t}, (n,)


def ladder(make: Callable[[int], Any], n: int) -> list[tuple[int, int]]:
    """(operations, elements) of the program, its gradient, its second derivative; then the size of the input."""
    program, shape = make(n)
    program = program if isinstance(program, dict) else {"f": program}
    x = np.random.default_rng(0).uniform(0.3, 0.9, shape)
    first = vjp(program)
    second = vjp(first, wrt=[0], results=[1])
    return [cost(program, x), cost(first, x, 1.0), cost(second, x, 1.0, np.ones(shape)), (x.size, x.size)]


@pytest.mark.parametrize("make", [recurrence, branches, sweep, dots, tree, while_store, fill], ids=lambda f: f.__name__)
def test_run_time_is_linear(make: Callable[[int], Any]) -> None:
    small, large = ladder(make, 12), ladder(make, 48)
    for order in (1, 2):
        for what, bound in ((0, 5.0), (1, 8.0)):
            ratio = [row[order][what] / max(row[order - 1][what], row[3][what]) for row in (small, large)]
            assert ratio[1] <= bound and ratio[1] <= 1.3 * ratio[0], (order, what, ratio)


def nested_ifs(depth: int) -> Graph:
    @fn(F64, F64)
    def f(x, y):
        def level(k, s):
            if not k:
                return s
            return If(lt(s, y), lambda: level(k - 1, sin(s) * s), lambda: cos(s) * x)

        return level(depth, x)

    return f


def nested_fors(depth: int) -> Graph:
    @fn(F64)
    def f(x):
        def level(k, s):
            return For(2, s, lambda i, s: level(k - 1, sin(s) * x)) if k else s

        return level(depth, x)

    return f


def chain(length: int) -> Graph:
    @fn(F64)
    def f(x):
        s = x
        for k in range(length):
            s = If(lt(s, 0.5), lambda: sin(s) * x, lambda: s + x) if k % 4 == 0 else s * cos(s)  # noqa: B023
        return s

    return f


@pytest.mark.parametrize("make", [nested_ifs, nested_fors, chain], ids=lambda f: f.__name__)
def test_program_size_is_linear(make: Callable[[int], Graph]) -> None:
    counts = []
    for n in (12, 24, 48):
        program = {"f": make(n)}
        first = vjp(program)
        counts.append([size(program), size(first), size(jvp(first)), size(vjp(first))])
    for a, b, c in zip(*counts):
        assert abs((c - b) - 2 * (b - a)) <= 0.02 * c, counts
    assert all(b <= 8 * a for a, b in zip(counts[-1], counts[-1][1:])), counts


def test_a_hundred_nested_ifs() -> None:
    program = {"f": nested_ifs(100)}
    first = vjp(program)
    second = vjp(first, wrt=[0], results=[1])
    assert size(first) <= 6 * size(program) and size(second) <= 6 * size(first)
    y, dx, dy = interpret(first, 0.3, 2.0, 1.0)
    h = 1e-6
    want = (interpret(program, 0.3 + h, 2.0)[0] - interpret(program, 0.3 - h, 2.0)[0]) / (2 * h)
    assert abs(dx - want) < 1e-7 and dy == 0


def test_linear_loop_stores_nothing() -> None:
    """The derivative of a loop that is linear in its carry needs no tape."""

    @fn(vec(8), F64)
    def f(x, y):
        return For(8, y, lambda i, s: s * 0.5 + x[i] * 3.0)

    program = vjp({"f": f})
    assert not any(v.type.dtype == "tape" for n in next(iter(program.values())).nodes for v in n.outputs)
    assert sum(n.op is for_ for n in next(iter(program.values())).nodes) == 2


def test_branch_without_derivative_has_no_backward() -> None:
    @fn(F64, I64)
    def f(x, n):
        k = If(lt(n, 3), lambda: n + 1, lambda: n * 2)
        return x * If(lt(k, 5), lambda: 2.0, lambda: 3.0)

    graph = next(iter(vjp({"f": f}).values()))
    assert sum(n.op is if_ for n in graph.nodes) == 2
