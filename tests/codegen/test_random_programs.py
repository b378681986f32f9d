"""Random programs: native code agrees with the interpreter, and its gradients with differences.

The programs run in child processes, because an assertion inside LLVM, or a wrong address, ends the process.
"""

from __future__ import annotations

import subprocess
import sys
from random import Random

import numpy as np
import pytest

from irad.core.interp import interpret
from irad.core.ir import Program
from irad.core.text import show
from irad.core.types import Type
from irad.ops.control import RaisedInGraph
from irad.passes.derivatives.autodiff import grad, jvp, vjp
from irad.passes.manager import run
from irad.pipeline import PIPELINE, native, optimise
from tests.fuzz.graphs import Case, control_flow, straight_line
from tests.support import ROOT
from tests.support.agree import agree, halves_agree, run_keeping

KINDS = {
    "straight": lambda rng, smooth: straight_line(rng, 15, smooth),
    "control": lambda rng, smooth: control_flow(rng, 8, smooth),
    "single": lambda rng, smooth: control_flow(rng, 12, smooth, "f32"),
    "large": lambda rng, smooth: control_flow(rng, 12, smooth),
}


def outcome(run: object, *args: object) -> list[object]:
    try:
        return list(run(*args))  # type: ignore[operator]
    except RaisedInGraph as e:
        return [e.exc, e.message, *e.kept.values()]


def run_native(program: Program, args: list[object]) -> list[object]:
    code = native(optimise(program))
    return run_keeping(code, [np.asarray(a, t.numpy).reshape(t.shape) for a, t in zip(args, code.params)])


def check_value(case: Case, seed: int) -> None:
    want = outcome(lambda: interpret(case.program, *case.args))
    where = f"seed {seed}\n{show(case.program)}"
    compare(outcome(lambda: run_native(case.program, case.args)), want, where)
    program = case.program
    for name in PIPELINE if seed % 10 == 0 else ():
        program = run(program, [name])
        compare(outcome(lambda: interpret(program, *case.args)), want, f"{name}: {where}")  # noqa: B023


def compare(got: list[object], want: list[object], where: str) -> None:
    assert len(want) == len(got), where
    for w, g in zip(want, got):
        if isinstance(w, str):
            assert w == g, where
        else:
            if "copysign" in where:  # may read the sign of a NaN, which means nothing
                g, w = np.abs(g), np.abs(w)  # type: ignore[call-overload]
            close = (1e-4, 1e-5) if np.asarray(w).dtype == np.float32 else (1e-9, 1e-12)
            np.testing.assert_allclose(g, w, *close, err_msg=where)


def check_gradient(case: Case, seed: int) -> None:
    """Native as interpreted; along a random direction, against central differences of the interpreter."""
    entry = next(iter(case.program.values()))
    results = [k for k, v in enumerate(entry.results) if v.type == Type("f64")]
    wrt = [k for k, p in enumerate(entry.params) if p.type.differentiable]
    if not results:
        return
    out = results[0]
    rng = np.random.default_rng(seed)
    direction = {k: rng.standard_normal(np.shape(case.args[k])) for k in wrt}
    moved = lambda h: [a + h * direction[k] if k in direction else a for k, a in enumerate(case.args)]
    h = 1e-6
    hi, lo = (float(interpret(case.program, *moved(s * h))[out]) for s in (1, -1))
    grads = agree(grad(case.program, wrt, out), *case.args)[len(entry.results) :]
    exact = sum(float(np.sum(g * direction[k])) for g, k in zip(grads, wrt))
    np.testing.assert_allclose(exact, (hi - lo) / (2 * h), rtol=1e-4, atol=1e-6, err_msg=f"seed {seed}\n{show(case.program)}")


def check_derivatives(case: Case, seed: int) -> None:
    """Native as interpreted: the two halves of a pullback, then second derivatives, forward and reverse."""
    program = case.program
    entry = next(iter(program.values()))
    wrt = [k for k, p in enumerate(entry.params) if p.type.differentiable]
    args, rng = case.args, np.random.default_rng(seed)
    try:
        if seed % 3 == 0:
            halves_agree(program, args, 1.0)
            return
        first = grad(program, wrt, 0)
        if seed % 3 == 1:
            along = [rng.normal(size=np.shape(args[k])).astype(entry.params[k].type.numpy)[()] for k in wrt]
            agree(jvp(first, wrt), *args, *along)
        else:
            n = len(entry.results)
            agree(vjp(first, wrt, [n]), *args, 1.0)
    except AssertionError as e:
        raise AssertionError(f"seed {seed}\n{show(program)}\n{e}") from e


CHECKS = {"value": check_value, "gradient": check_gradient, "derivatives": check_derivatives}


def main(kind: str, what: str, first: int, last: int) -> None:
    for seed in range(first, last):
        case = KINDS[kind](Random(seed), what != "value")
        with np.errstate(all="ignore"):
            CHECKS[what](case, seed)
    print(f"{last - first} programs agree")


@pytest.mark.parametrize(
    "kind, what, first, last",
    [
        ("straight", "value", 0, 60),
        ("straight", "gradient", 1000, 1050),
        ("control", "value", 0, 50),
        ("control", "gradient", 1000, 1040),
        ("single", "value", 0, 30),
        ("single", "derivatives", 0, 24),
        ("large", "derivatives", 0, 24),
    ],
)
def test_native_programs(kind: str, what: str, first: int, last: int) -> None:
    command = [
        sys.executable,
        "-c",
        f"from tests.codegen.test_random_programs import main; main({kind!r}, {what!r}, {first}, {last})",
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr[-6000:]
    assert f"{last - first} programs agree" in done.stdout
