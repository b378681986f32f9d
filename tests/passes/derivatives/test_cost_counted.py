"""What derivatives cost, counted on the graphs: multiplications, sweeps, live bytes; and that they share work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad
from irad.core.interp import _Frame
from irad.core.ir import Graph, Node, Value, captures, size, walk
from irad.frontend.trace import trace
from irad.passes.manager import run
from irad.pipeline import DIFFERENTIATE

RNG = np.random.default_rng(0)


class Meter(_Frame):
    """Runs a program; counts products of numbers, and the peak of the bytes computed that are still to be read."""

    def __init__(self, program: Any):
        super().__init__(program)
        self.products = self.peak = 0

    def graph(self, graph: Graph, args: Any, outer: dict[Value, Any]) -> list[Any]:
        last = {v: k for k, n in enumerate(graph.nodes) for v in (*n.inputs, *(c for r in n.regions for c in captures(r)))}
        last.update(dict.fromkeys(graph.results, len(graph.nodes)))
        env, live = {**outer, **dict(zip(graph.params, args))}, set[Value]()
        for k, n in enumerate(graph.nodes):
            env.update(zip(n.outputs, self.node(n, env)))
            live = {v for v in (*live, *n.outputs) if last.get(v, -1) > k}
            self.peak = max(self.peak, sum(np.asarray(env[v]).nbytes for v in live))
        return [env[v] for v in graph.results]

    def node(self, node: Node, env: dict[Value, Any]) -> Any:
        out = super().node(node, env)
        if node.op.name in ("mul", "szmul"):
            self.products += np.size(out[0])
        elif node.op.name == "dot":
            contracted = node.attrs["contract"][0]
            self.products += np.size(out[0]) * int(np.prod([node.inputs[0].type.shape[k] for k in contracted]))
        return out


def derivative(fn: Any, *args: Any) -> Any:
    """The program of a function or transform, derivatives expanded and cleaned up."""
    return run(trace(fn, args).program, DIFFERENTIATE)


def measure(fn: Any, *args: Any) -> Meter:
    program = derivative(fn, *args)
    meter = Meter(program)
    meter.graph(next(iter(program.values())), [np.asarray(a)[()] for a in args], {})
    return meter


def chain(n: int, m: int, width: int = 20, depth: int = 6) -> tuple[Any, Any]:
    """A chain of `depth` dense layers from n numbers to m."""
    sizes = [n, *[width] * (depth - 1), m]
    ws = [RNG.normal(size=(b, a)) / np.sqrt(a) for a, b in zip(sizes, sizes[1:])]

    def f(x, *ws):
        for w in ws:
            x = np.sin(w @ x)
        return x

    return f, ws


def jacobian_cost(n: int, m: int, mode: str) -> int:
    f, ws = chain(n, m)
    return measure(irad.jacobian(f, mode=mode), RNG.normal(size=n), *ws).products


def test_forward_grows_with_inputs_and_reverse_with_outputs():
    assert jacobian_cost(10, 4, "forward") < 0.2 * jacobian_cost(80, 4, "forward")
    assert jacobian_cost(4, 10, "reverse") < 0.2 * jacobian_cost(4, 80, "reverse")
    assert jacobian_cost(4, 80, "forward") < 3.5 * jacobian_cost(4, 10, "forward")
    assert jacobian_cost(80, 4, "reverse") < 3.5 * jacobian_cost(10, 4, "reverse")


@pytest.mark.parametrize("n, m, best", [(1, 100, "forward"), (100, 1, "reverse"), (3, 40, "forward"), (40, 3, "reverse")])
def test_the_mode_chosen_is_the_cheaper(n, m, best):
    other = "reverse" if best == "forward" else "forward"
    chosen = jacobian_cost(n, m, "")
    assert chosen == jacobian_cost(n, m, best)
    assert chosen < 0.5 * jacobian_cost(n, m, other)


def test_one_to_a_hundred_is_one_sweep():
    f, ws = chain(1, 100)
    x = RNG.normal(size=1)
    primal, full = measure(f, x, *ws).products, jacobian_cost(1, 100, "")
    assert full <= 2.2 * primal
    f, ws = chain(100, 1)
    x = RNG.normal(size=100)
    primal, full = measure(f, x, *ws).products, jacobian_cost(100, 1, "")
    assert full <= 2.5 * primal


def test_live_bytes_of_a_gradient():
    """Reverse keeps one value per layer; forward along one direction keeps none."""
    deep, ws = chain(50, 50, width=50, depth=40)
    x = RNG.normal(size=50)
    loss = lambda x, *ws: np.sum(deep(x, *ws))
    along = lambda x, v, *ws: irad.jvp(lambda t: loss(t, *ws), (x,), (v,))
    forward = measure(along, x, RNG.normal(size=50), *ws).peak
    reverse = measure(irad.grad(loss), x, *ws).peak
    assert forward <= 8 * x.nbytes
    assert 30 * x.nbytes <= reverse <= 90 * x.nbytes


def operations(program: Any) -> int:
    """Operations, without constants and what only gives arrays another shape."""
    free = ("const", "broadcast", "reshape", "transpose")
    return sum(n.op.name not in free for g in program.values() for n in walk(g))


def newton(x):
    s = np.sum(x * x)
    return np.exp(-s) * np.sin(x[0]) + np.log(1 + s) / (2 + np.cos(s))


def many(x):
    for k in range(40):
        x = np.sin(x) * x + np.tanh(x) / (k + 2.0)
    return np.sum(x)


def loop(x):
    y = np.zeros(8)
    for i in range(1, 8):
        y[i] = y[i - 1] * x[i] + np.sin(x[i]) if x[i] > 0 else y[i - 1] / (1 + x[i] ** 2)
    return np.sum(y)


@pytest.mark.parametrize("f", [newton, many, loop])
def test_a_gradient_has_at_most_five_times_the_operations(f):
    x = RNG.normal(size=8)
    primal = operations(derivative(f, x))
    assert operations(derivative(irad.value_and_grad(f, mode="reverse"), x)) <= 5 * primal
    assert operations(derivative(irad.value_and_grad(f, mode="forward"), x)) <= 5 * primal


def test_a_function_and_its_derivatives_share_their_work():
    f = lambda x: np.exp(x) * np.sin(x)
    all_three = lambda x: (f(x), irad.grad(f)(x), irad.grad(irad.grad(f))(x))
    names = [n.op.name for g in derivative(all_three, 0.3).values() for n in walk(g)]
    assert [names.count(k) for k in ("exp", "sin", "cos")] == [1, 1, 1]
    np.testing.assert_allclose(
        irad.compile(all_three)(0.3),
        [np.exp(0.3) * v for v in (np.sin(0.3), np.sin(0.3) + np.cos(0.3), 2 * np.cos(0.3))],
        rtol=1e-14,
    )


def test_nested_derivatives_do_not_blow_up():
    """Each order of the derivative of a product of functions costs a bounded factor."""
    f = lambda x: np.exp(np.sin(x)) * np.tanh(x)
    sizes, d = [], f
    for _ in range(4):
        sizes.append(size(derivative(d, 0.3)))
        d = irad.grad(d)
    assert all(b <= 5 * a for a, b in zip(sizes, sizes[1:]))


def test_a_sparse_hessian_costs_its_colours():
    rosenbrock = lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
    for n in (50, 200):
        x = RNG.normal(size=n)
        assert measure(irad.hessian(rosenbrock), x).products <= 3 * 25 * n
