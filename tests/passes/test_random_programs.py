"""Random programs: every pass keeps the program valid, its text and its results, bit for bit."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irad.core.interp import interpret
from irad.core.ir import Program, Value, build, walk
from irad.core.text import parse, show
from irad.core.types import F64
from irad.core.verify import verify
from irad.ops import OPS
from irad.ops.control import RaisedInGraph
from irad.passes.manager import run
from tests.fuzz.graphs import Case, control_flow, straight_line

PASSES = ("simplify", "fold", "cse", "licm", "ranges", "inline", "dce")
PIPELINE = ("inline", "simplify", "fold", "ranges", "simplify", "cse", "licm", "simplify", "cse", "dce")


def outcome(program: Program, args: list[Any]) -> list[Any]:
    try:
        return interpret(program, *args)
    except RaisedInGraph as e:
        return [str(e), *e.kept.values()]


def sums_of_sums(program: Program) -> bool:
    """Is there a sum of sums, which simplify makes one of, in another order?"""
    summed = {v for g in program.values() for n in walk(g) if n.op.name == "sum" for v in n.outputs}
    return any(n.op.name == "sum" and n.inputs[0] in summed for g in program.values() for n in walk(g))


def assert_same(want: list[Any], got: list[Any], program: Program, what: str, rounded: bool = False) -> None:
    """Equal bits, or nearly equal if `rounded`; all NaNs are one."""
    assert len(want) == len(got), what
    for w, g in zip(want, got):
        if isinstance(w, str) or isinstance(g, str):
            assert w == g, what
        else:
            same = (w == g) & (np.signbit(w) == np.signbit(g)) | (np.isnan(w) & np.isnan(g))
            same |= rounded & np.isclose(w, g, rtol=1e-13)
            assert np.all(same), f"after {what}: {w} became {g}\n{show(program)}"


def check(case: Case) -> None:
    verify(case.program)
    text = show(case.program)
    again = parse(text)
    assert show(again) == text
    want, rounded = outcome(case.program, case.args), sums_of_sums(case.program)
    assert_same(want, outcome(again, case.args), again, "print and parse")
    for names in [*((p,) for p in PASSES), PIPELINE]:
        after = run(case.program, names)
        assert_same(want, outcome(after, case.args), after, ", ".join(names), rounded)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_straight_line(rng: Random) -> None:
    check(straight_line(rng))


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_control_flow(rng: Random) -> None:
    check(control_flow(rng))


@pytest.mark.parametrize("seed", range(60))
def test_control_flow_of_seed(seed: int) -> None:
    """Larger programs than hypothesis draws."""
    check(control_flow(Random(seed), nodes=14))


def polynomial(rng: Random) -> Program:
    """Sums and products of a derivative over small integers, which are exact in any order."""

    def body(*params: Value) -> list[Value]:
        values, degree = list(params), dict.fromkeys(params, 1)
        for _ in range(14):
            op, x, y = rng.choice(("add", "add", "sub", "mul", "neg")), rng.choice(values), rng.choice(values)
            size = degree[x] + degree[y] if op == "mul" else max(degree[x], degree[y])
            if size <= 6:
                v = OPS["neg"](x) if op == "neg" else OPS[op](x, y)
                values.append(v)
                degree[v] = size
        return values[-3:]

    graph = build([F64] * 3, body, "f")
    for n in graph.nodes:
        n.deriv = rng.random() < 0.8
    return {"f": graph}


@pytest.mark.parametrize("seed", range(100))
def test_like_terms(seed: int) -> None:
    rng = Random(seed)
    program = polynomial(rng)
    after = run(program, ("simplify", "cse", "simplify", "dce"))
    for _ in range(3):
        args = [float(rng.randrange(-3, 4)) for _ in range(3)]
        assert interpret(program, *args) == interpret(after, *args), f"{show(program)}\n{show(after)}"
