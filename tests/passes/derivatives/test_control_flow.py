"""Derivatives through control flow, calls, in-place stores, tapes and transforms inside the program."""

from __future__ import annotations

import numpy as np
import pytest

from irad.core.interp import interpret
from irad.core.ir import Builder, build, emit, size
from irad.core.types import F64, I64
from irad.core.verify import verify
from irad.errors import IradTypeError, IradValueError, Loc, UnsupportedError, VerifyError
from irad.ops import control
from irad.ops import elementwise as ew
from irad.ops.core import Op
from irad.ops.loop import Map, Out, loop
from irad.passes.clean.dce import dce
from irad.passes.derivatives.autodiff import grad, jvp, vjp
from irad.passes.derivatives.expand import expand
from irad.passes.derivatives.split import Residual, split
from tests.support.agree import agree, halves_agree
from tests.support.derivatives import check
from tests.support.programs import CASES, Call, Case, Checkpoint, For, Grad, If, Sym, While, fn, lt, sin, vec


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_case(case: Case) -> None:
    check(case.program, case.args, rtol=1e-8 if case.h > 1e-5 else 1e-6, h=case.h)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_split(case: Case) -> None:
    ct = np.ones(np.shape(interpret(expand(case.program), *case.args)[0]))[()]
    halves_agree(case.program, case.args, ct)


def test_split_keeps_only_what_the_backward_needs() -> None:
    @fn(vec(5), vec(5), vec(5))
    def f(x, y, z):
        return (sin(x) * 2.0 + y * z + z).sum()

    s = split(vjp({"f": f}, wrt=[0, 1]), 3, 1)
    assert s.residuals == (Residual("argument", 0), Residual("argument", 2))
    assert not any(n.op.name == "cos" for n in s.forward["f.forward"].nodes)  # the backward computes it from x


def test_split_saves_a_scalar_rather_than_its_broadcast() -> None:
    @fn(vec(5), F64)
    def f(x, y):
        return (x * sin(y)).sum()

    s = split(vjp({"f": f}, wrt=[0]), 2, 1)
    assert [v.type for v in s.backward["f.backward"].params] == [F64, F64]


def test_second_derivative_of_a_slope_that_reads_no_tape() -> None:
    """The slope in y is 0 whatever x is, so that nothing of the first backward is needed; the tape of cotangents stays paired."""

    @fn(vec(3), F64)
    def f(x, y):
        return If(lt(x[0], 1.0), lambda: For(3, x, lambda i, s: s * s), lambda: x).sum()

    first = grad({"f": f})
    assert agree(vjp(first, results=[2]), np.array([0.5, 0.7, -0.3]), 2.0, 1.0)[3:] == [pytest.approx(np.zeros(3)), 0.0]


# ---- effects -------------------------------------------------------------------------------------------------------


def noisy(x: Sym) -> Sym:
    control.raise_if(lt(x, 0.0).v, exc="ValueError", message="negative")
    control.print_(x.v, text="<{}>")
    return sin(x)


def test_checks_and_output_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The forward raises and prints as the function does; a region run again in the backward is silent."""

    @fn(F64)
    def f(x):
        return For(2, x, lambda i, s: Checkpoint(lambda: noisy(s)) * s)

    for program in ({"f": f}, vjp({"f": f}), jvp({"f": f}), vjp(jvp({"f": f}), wrt=[0], results=[1])):
        n = len(next(iter(program.values())).params)
        interpret(verify(program), *[1.5] * n)
        assert capsys.readouterr().out == f"<1.5><{1.5 * np.sin(1.5)}>"
        with pytest.raises(control.RaisedInGraph, match="ValueError: negative"):
            interpret(program, *[-1.0] * n)


def test_effects_of_a_function_keep_its_calls(capsys: pytest.CaptureFixture[str]) -> None:
    p = build([F64, F64], lambda x, y: [noisy(Sym(x)).v, y], "p")

    @fn(F64)
    def f(x):
        Call("p", [F64, F64], x, 2.0)
        return x * 2.0

    program = dce({"f": f, "p": p})
    assert interpret(program, 3.0) == [6.0] and capsys.readouterr().out == "<3.0>"
    assert len(program["p"].params) == 1  # what only the dead result needs goes all the same


# ---- errors --------------------------------------------------------------------------------------------------------


def test_error_names_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irad.ops.core.OPS", {})
    wright = Op("wright", lambda x: (x,), lambda x: x)
    loc = Loc("user.py", 7, 4)
    with Builder(loc):
        f = build([F64], lambda x: wright(x), "f")
    with pytest.raises(UnsupportedError) as e:
        vjp({"f": f})
    assert e.value.loc == loc and str(e.value).startswith("user.py:7:5: `wright` has no derivative")


def test_fused_loops_are_not_differentiated() -> None:
    out = Out("store", Map.identity(1))
    body = build([I64], lambda i: control.zero(F64))
    f = build([vec(3)], lambda x: emit(loop, x, extents=(3,), outs=(out,), regions=[body]), "f")
    with pytest.raises(VerifyError, match="autodiff runs before fusion"):
        vjp({"f": f})


def test_bad_positions() -> None:
    program = {"f": build([F64, I64], lambda x, n: [x, n], "f")}
    with pytest.raises(IradValueError, match="there is no parameter 5: the function has 2"):
        vjp(program, wrt=[5])
    with pytest.raises(IradValueError, match="name one twice"):
        jvp(program, wrt=[0, 0])
    with pytest.raises(IradTypeError, match="result 1 has type i64"):
        vjp(program, results=[1])
    with pytest.raises(IradTypeError, match="it must be a scalar"):
        grad({"f": build([vec(3)], lambda x: x, "f")})


def test_function_that_differentiates_itself() -> None:
    @fn(F64, I64)
    def p(x, n):
        return If(lt(n, 1), lambda: sin(x), lambda: Grad(lambda u: Call("p", [F64], u, n - 1), x))

    with pytest.raises(UnsupportedError, match="@p differentiates itself"):
        expand({"f": build([F64, I64], lambda x, n: control.call(x, n, callee="p", types=(F64,)), "f"), "p": p})


# ---- what does not change stays --------------------------------------------------------------------------------------


def test_same_objects_where_nothing_changes() -> None:
    @fn(F64, I64)
    def f(x, n):
        return For(n, x, lambda i, s: If(lt(s, 1.0), lambda: sin(s), lambda: s * x))

    program = {"f": f}
    assert expand(program)["f"] is f and dce(program)["f"] is f
    joint = vjp(program)
    assert dce(joint)[f"{f.name}.vjp"] is joint["f.vjp"]


def test_dce_keeps_the_nodes_beside_a_dead_one() -> None:
    f = build([F64], lambda x: [x, ew.sin(x), ew.mul(x, x)][::2], "f")
    assert dce({"f": f})["f"].nodes[0] is f.nodes[1]


def test_a_loop_that_no_result_needs_goes() -> None:
    @fn(F64)
    def f(x):
        While(x, lambda s: lt(s, 9.0), lambda s: s * 2.0)
        return x

    assert dce({"f": f})["f"].nodes == ()


def test_compile_time_is_linear_in_straight_line_code() -> None:
    """Not timed: every pass over a chain of 3000 nodes must stay within Python's recursion limit."""

    @fn(F64)
    def f(x):
        s = x
        for _ in range(1500):
            s = s * x + x
        return s

    program = vjp({"f": f})
    assert size(program) < 5 * size(f)

    @fn(F64, I64)
    def g(x, n):
        def body(i, s):
            for _ in range(1500):
                s = s * 1.0 + x
            return s * s

        return For(n, x, body)

    looped = vjp({"f": g})
    assert agree(looped, 0.001, 1, 1.0)[1] == pytest.approx(2 * 0.001 * 1501 * 1501, rel=1e-9)
