"""Derivative loops with short chains through what they carry, and the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from irad.core.interp import interpret
from irad.core.ir import Graph, Node, Program, Value, walk
from irad.core.types import F64, I64
from irad.core.verify import verify
from irad.passes.clean.cse import cse
from irad.passes.clean.dce import dce
from irad.passes.clean.reciprocal import reciprocal
from irad.passes.clean.simplify import simplify
from irad.passes.derivatives.autodiff import grad, jvp, vjp
from irad.passes.small_arrays.linear_carry import linear_carry
from tests.support.agree import agree
from tests.support.programs import For, fn, sin, vec


def tidy(program: Program) -> Program:
    return dce(cse(reciprocal(simplify(program))))


def shortened(program: Program) -> Program:
    return tidy(verify(linear_carry(program)))


def logistic() -> tuple[Graph, list[Any]]:
    @fn(F64, F64, I64)
    def f(x, r, n):
        return For(n, x, lambda i, v: r * v * (1.0 - v))

    return f, [0.3, 3.1, 9]


def quotients() -> tuple[Graph, list[Any]]:
    @fn(F64, F64, I64)
    def f(x, r, n):
        return For(n, x, lambda i, v: r / (1.0 + v * v) - v / r)

    return f, [0.3, 1.7, 5]


def two_carries() -> tuple[Graph, list[Any]]:
    """a step of Euler's method for predator and prey"""

    @fn(F64, F64, F64, I64)
    def f(x, y, h, n):
        x, y = For(n, [x, y], lambda i, x, y: (x + h * (x - x * y), y + h * (x * y - y)))
        return x * y

    return f, [1.2, 0.7, 0.1, 8]


def with_an_array() -> tuple[Graph, list[Any]]:
    @fn(vec(6), F64)
    def f(a, x):
        return For(6, x, lambda i, v: v * a[i] * (1.0 - v) * a[i] + sin(a[i]))

    return f, [np.linspace(0.4, 1.3, 6), 0.3]


ALL = [logistic, quotients, two_carries, with_an_array]


def chain(loop: Node) -> int:
    """The longest chain from a carried float to itself in the next trip; a sum takes a product in for nothing."""
    (body,) = loop.regions
    carry = [k for k, p in enumerate(body.params[1:]) if p.type.differentiable and not p.type.shape]
    return max(_links(body, body.params[1 + k]).get(body.results[k], 0) for k in carry)


def _links(body: Graph, start: Value) -> dict[Value, int]:
    links, products = {start: 0}, set()
    for n in body.nodes:
        into = [links[v] - (n.op.name in ("add", "sub") and v in products) for v in n.inputs if v in links]
        if into and not n.out.type.shape:
            links[n.out] = max(into) + 1
            if n.op.name in ("mul", "szmul"):
                products.add(n.out)
    return links


def loops(program: Program) -> list[Node]:
    return [n for g in program.values() for n in walk(g) if n.op.name == "for"]


def derivatives(f: Graph, args: list[Any]) -> list[tuple[Program, list[Any]]]:
    floats = [k for k, p in enumerate(f.params) if p.type.differentiable]
    program = {"f": f}
    second = jvp(grad(program))
    return [
        (grad(program), args),
        (vjp(program), [*args, 0.7]),
        (jvp(program), [*args, *(np.cos(args[k]) for k in floats)]),
        (second, [*args, *(np.cos(args[k]) for k in floats)]),
    ]


@pytest.mark.parametrize("make", ALL, ids=lambda f: f.__name__)
def test_numbers_stay(make: Callable[[], tuple[Graph, list[Any]]]) -> None:
    for program, args in derivatives(*make()):
        before = tidy(program)
        for want, got in zip(agree(before, *args), interpret(shortened(before), *args), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("make", "before", "after"),
    [(logistic, 2, 1), (quotients, 4, 1), (with_an_array, 3, 1)],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_chain_of_the_backward(make: Callable[[], tuple[Graph, list[Any]]], before: int, after: int) -> None:
    program = tidy(grad({"f": make()[0]}))
    assert chain(loops(program)[1]) == before
    assert chain(loops(shortened(program))[1]) == after


def test_chain_of_the_tangent_with_strong_zeros() -> None:
    program = tidy(jvp({"f": logistic()[0]}))
    new = shortened(program)
    assert any(n.op.name == "szmul" for n in loops(new)[0].regions[0].nodes)
    zero_times_inf = [np.inf, 3.1, 1, 0.0, 0.0]
    assert agree(program, *zero_times_inf)[1] == interpret(new, *zero_times_inf)[1] == 0


def test_the_function_itself_stays() -> None:
    """Its sums and products keep the order that NumPy has."""
    program = {"f": logistic()[0]}
    assert linear_carry(program)["f"] is program["f"]
    joint = tidy(grad(program))
    assert loops(linear_carry(joint))[0] is loops(joint)[0]


def test_a_chain_that_is_short_stays() -> None:
    @fn(F64, I64)
    def f(x, n):
        return For(n, x, lambda i, v: v * 0.9 + 1.0)

    joint = tidy(grad({"f": f}))
    assert loops(linear_carry(joint))[1] is loops(joint)[1]


def test_many_operations_more_are_not_worth_it() -> None:
    """Coefficients of four carried cotangents by each other would cost more than the chain."""

    @fn(F64, F64, F64, F64, I64)
    def f(a, b, c, d, n):
        def step(i, a, b, c, d):
            s = a * b + c * d
            return s * a, s * b, s * c, s * d

        a, b, c, d = For(n, [a, b, c, d], step)
        return a + b + c + d

    joint = tidy(grad({"f": f}))
    nodes = lambda program: len(loops(program)[1].regions[0].nodes)
    assert nodes(shortened(joint)) <= nodes(joint) + 4 * 4
