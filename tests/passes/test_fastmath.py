"""`irad.compile(fastmath=)`: every flag's rules hold where the flag says so, only under it, and reach the native code."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.interp import interpret
from irad.core.ir import Program, build, walk
from irad.core.text import parse
from irad.core.types import F64, Type
from irad.core.verify import verify
from irad.ops import OPS
from irad.options import FLAGS, options
from irad.passes.clean.rules import Rule, rules
from irad.passes.clean.simplify import simplify
from irad.passes.derivatives.autodiff import grad
from irad.passes.manager import PASSES, run
from irad.pipeline import PIPELINE, native, optimise
from tests.fuzz.graphs import control_flow, straight_line
from tests.passes.clean.test_simplify import EDGES, both_sides, constant_choices, side
from tests.support.programs import For, fn, vec

FAST = [r for r in rules() if r.flags]
# Numbers of few bits, whose sums and products are exact, so that re-association changes nothing.
SHORT = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 96.0, np.inf, -np.inf, np.nan)


def allowed(rule: Rule, *arrays: np.ndarray) -> np.ndarray:
    """Where neither operands nor results are what the flags exclude."""
    ok = np.ones(np.broadcast_shapes(*(a.shape for a in arrays)), bool)
    for a in arrays:
        if a.dtype.kind == "f":
            ok &= ~np.isnan(a) if "nnan" in rule.flags else True
            ok &= ~np.isinf(a) if "ninf" in rule.flags else True
    return ok


def ids(x: Any) -> str:
    return x.text if isinstance(x, Rule) else str(x)


# ---- the rules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", FAST, ids=ids)
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_both_sides_agree(rule: Rule, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With all that the flags exclude left out: bits but for the sign of zeros (nsz) and 2 ulp (reciprocal, reassoc)."""
    rounds = {"reassoc", "reciprocal"} & rule.flags
    numbers = SHORT if rounds else EDGES[dtype]
    monkeypatch.setitem(EDGES, dtype, numbers)
    names = list(dict.fromkeys(rule.before.names()))
    for constants in constant_choices(rule, dtype) if not rounds else two(rule):
        free = [n for n in names if n not in constants]
        rows = np.array(list(itertools.product(numbers, repeat=len(free))), dtype=dtype.replace("f", "float"))
        want, got = both_sides(rule, dtype, constants)
        ok = allowed(rule, want, *rows.T)
        if "reassoc" in rule.flags:  # what overflows or is undefined on the way may come out otherwise
            ok &= np.isfinite(want) & np.isfinite(got) & np.isfinite(rows).all(1)
            ok &= (rows != 0).all(1) | ("/" not in rule.text)
        want, got = want[ok], got[ok]
        assert len(want)
        if want.dtype == bool:
            np.testing.assert_array_equal(got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=4 * np.finfo(want.dtype).eps if rounds else 0, equal_nan=True)
            if not rounds and "nsz" not in rule.flags:
                np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def two(rule: Rule) -> list[dict[str, float]]:
    names = [n for n in dict.fromkeys(rule.before.names()) if n.isupper()]
    return [dict(zip(names, c)) for c in itertools.product((2.0, 3.0), repeat=len(names))]


@pytest.mark.parametrize("rule", FAST, ids=ids)
def test_fires_under_all_of_its_flags_only(rule: Rule) -> None:
    names = list(dict.fromkeys(rule.before.names()))
    graph = side(rule.before, names, "f64", Type("f64", (1,)), two(rule)[:2][-1])
    made = {v for n in graph.nodes for v in n.outputs}
    after = simplify(verify({"f": graph}), rule.flags)["f"].results[0]
    assert after not in made or after is not graph.results[0]
    verify(simplify({"f": graph}, rule.flags), rule.text)
    for count in range(len(rule.flags)):
        for less in itertools.combinations(rule.flags, count):
            assert simplify({"f": graph}, set(less))["f"].results[0] in made


def test_flags_are_known() -> None:
    assert {f for r in rules() for f in r.flags} | {"contract"} == set(FLAGS)
    assert {n for n, p in PASSES.items() if "fastmath" in p.takes} <= set(PIPELINE)


def test_rules_end() -> None:
    """No two rules undo each other: random expressions under all flags."""
    rng = np.random.default_rng(0)
    ops = [OPS[k] for k in ("add", "sub", "mul", "div", "minimum", "maximum")]
    for _ in range(30):

        def body(*xs: Any) -> Any:
            from irad.ops.constant import const

            values = [*xs, *(const(value=c, type=F64) for c in (0.0, -0.0, 1.0, 2.0, 9.0))]
            for _ in range(25):
                a, b = rng.integers(0, len(values), 2)
                values.append(ops[rng.integers(len(ops))](values[a], values[b]))
            return values[-3:]

        program = {"f": build([F64, F64, F64], body, "f")}
        after = run(program, ["simplify", "cse", "simplify", "cse", "dce"], None, set(FLAGS))
        assert len(list(walk(after["f"]))) <= 40


# ---- loops ---------------------------------------------------------------------------------------------------------------


def recurrence() -> Program:
    @fn(vec(9), F64, F64)
    def f(x, c, v0):
        return For(9, v0, lambda i, v: (x[i] + v + 1.0) * c - v * x[i])

    return {"f": f}


def test_carried_scalar_comes_last() -> None:
    """One product and one sum wait for the trip before; the numbers are the same."""
    args = [np.linspace(0.1, 0.9, 9), 0.7, 0.3]
    before = recurrence()
    after = verify(run(before, ["linear_carry", "cse", "dce"], None, {"reassoc"}))
    (loop,) = (n for n in after["f"].nodes if n.op.name == "for")
    body = loop.regions[0]
    waiting = {body.params[1]}
    chain = 0
    for n in body.nodes:
        if waiting & set(n.inputs):
            waiting.update(n.outputs)
            chain += 1
    assert chain == 2
    np.testing.assert_allclose(interpret(after, *args), interpret(before, *args), rtol=1e-14)


def sweep(A: Any, T: int) -> Any:
    for _ in range(T):
        for i in range(1, len(A) - 1):
            for j in range(1, len(A) - 1):
                A[i, j] = (A[i - 1, j] + A[i, j - 1] + A[i, j] + A[i, j + 1] + A[i + 1, j]) / 5
    return np.sum(A)


def test_gauss_seidel_waits_for_one_multiply_add() -> None:
    """In the row that is swept, A[i, j - 1] is multiplied and added last: the store's value is that sum."""
    A = np.random.default_rng(0).standard_normal((40, 40))
    fast, strict = irad.compile(sweep, fastmath=True), irad.compile(sweep)
    lowered = fast.lower(A.copy(), 3)
    kernel = lowered.kernel
    assert " / " not in kernel and " / " in strict.lower(A.copy(), 3).kernel
    lines = kernel.splitlines()
    steady = [s.strip() for s in lines[next(k for k, s in enumerate(lines) if "in seq(" in s and "_b in" in s) + 1 :]]
    (carried, value) = next(s.split(" = ") for s in steady if s.split(" = ")[0].endswith("_r0"))
    last = next(s for s in steady if s.startswith(f"{value}:"))
    product = last.split("contract(")[1].split(" + ")[0]
    assert next(s for s in steady if s.startswith(f"{product}:")).endswith(f"contract({carried} * 0.2)")
    a, b, c = A.copy(), A.copy(), A.copy()
    assert fast(a, 3) == pytest.approx(sweep(b, 3), rel=1e-12)
    assert strict(c, 3) == pytest.approx(sweep(A.copy(), 3), rel=1e-12)
    np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(c, b)


def test_gauss_seidel_gradient() -> None:
    A = np.random.default_rng(1).standard_normal((12, 12))
    fast = irad.compile(irad.value_and_grad(sweep, argnums=(0,)), fastmath=True)
    value, (slope,) = fast(A.copy(), 2)
    want, (exact,) = irad.value_and_grad(sweep, argnums=(0,))(A.copy(), 2)
    assert value == pytest.approx(want, rel=1e-12)
    np.testing.assert_allclose(slope, exact, rtol=1e-12, atol=1e-14)


# ---- native code ---------------------------------------------------------------------------------------------------------


def text(f: Callable[..., Any], flags: Any, *args: Any) -> str:
    return str(irad.compile(f, fastmath=flags).lower(*args).llvm)


X = np.linspace(-2.0, 3.0, 37)


def muladd(x: Any, y: Any) -> Any:
    return x * y + 0.3


def test_contract_makes_fma() -> None:
    """In forward code; without the flag the bits are NumPy's."""
    assert "fadd contract" in text(muladd, "contract", X, X) and "contract" not in text(muladd, False, X, X)
    assert "contract" not in text(muladd, set(FLAGS) - {"contract"}, X, X)
    np.testing.assert_array_equal(irad.compile(muladd)(X, X), muladd(X, X))
    np.testing.assert_allclose(irad.compile(muladd, fastmath="contract")(X, X), muladd(X, X), rtol=1e-15, atol=1e-16)


def test_contract_rounds_once() -> None:
    """(1 + e)(1 - e) - 1 = -e*e, which two roundings lose; on a machine with fma."""
    import platform

    asm = irad.compile(lambda x, y: x * y - 1.0, fastmath="contract").lower(1.0, 1.0).asm
    if platform.machine() == "x86_64" and "fmadd" not in asm and "fmsub" not in asm:
        pytest.skip("this machine has no fma")
    e = 2.0**-30
    assert irad.compile(lambda x, y: x * y - 1.0)(1 + e, 1 - e) == 0.0
    assert irad.compile(lambda x, y: x * y - 1.0, fastmath="contract")(1 + e, 1 - e) == -e * e


def test_reciprocal_divides_once() -> None:
    def f(x: Any, s: Any) -> Any:
        return x / s + x / 3.0

    plain, fast = text(f, False, X, 1.7), text(f, "reciprocal", X, 1.7)
    vectors = lambda t: sum("fdiv <" in line for line in t.splitlines())
    assert vectors(plain) > 0 == vectors(fast) and "fdiv double" in fast
    np.testing.assert_allclose(irad.compile(f, fastmath="reciprocal")(X, 1.7), f(X, 1.7), rtol=4e-16)


@pytest.mark.parametrize(
    ("flags", "f", "gone"),
    [
        ("nsz", lambda x: x + 0.0, "fadd"),
        (("nnan", "nsz"), lambda x: x * 0.0 + 1.0, "fmul"),
        ("nnan", lambda x: np.where(np.isnan(x), 0.0, x), "fcmp"),
        (("reassoc", "nsz"), lambda x: (x + 0.1) - x, "fadd"),
    ],
    ids=["nsz", "nnan nsz", "nnan", "reassoc nsz"],
)
def test_operations_vanish(flags: Any, f: Any, gone: str) -> None:
    assert gone in text(f, False, X) and gone not in text(f, flags, X)
    np.testing.assert_allclose(irad.compile(f, fastmath=flags)(X), f(X), rtol=1e-14)


def test_a_rule_gives_a_comparison_of_constants() -> None:
    source = """
    func @f(%x: f64) -> bool {
      %a: f64 = const[value=1.0]
      %b: f64 = const[value=2.0]
      %c: bool = lt %a, %b
      %d: bool = logical_not %c
      return %d
    }
    """
    assert interpret(simplify(parse(source), {"nnan"}), 0.0) == [False]


def test_off_by_default() -> None:
    """NaN, infinities and zeros of both signs go through as in NumPy."""
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0])

    def f(x: Any) -> Any:
        return x * 0.0, x - x, x / 3.0, (x + 0.1) - x, x + 0.0, np.isnan(x)

    with np.errstate(all="ignore"):
        for got, want in zip(irad.compile(f)(x), f(x)):
            np.testing.assert_array_equal(got, want)
            np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_reduction_and_matrix_product() -> None:
    """All flags on code that has everything: within rounding of NumPy."""
    rng = np.random.default_rng(2)
    W, X, b = rng.standard_normal((7, 5)), rng.standard_normal((40, 7)), rng.standard_normal(5)

    def f(W: Any, b: Any, X: Any) -> Any:
        z = X @ W + b
        z = z - np.max(z, axis=1, keepdims=True)
        p = np.exp(z) / np.sum(np.exp(z), axis=1, keepdims=True)
        return np.mean(np.log(p[:, 0] + 1e-3)) / 3.0 + np.var(X) / np.sqrt(2.0)

    fast = irad.compile(f, argnums=(0, 1), fastmath=True)
    assert fast(W, b, X) == pytest.approx(f(W, b, X), rel=1e-13)
    for got, want in zip(fast.grad(W, b, X), irad.grad(f, argnums=(0, 1))(W, b, X)):
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("make", [straight_line, control_flow], ids=["straight", "control"])
def test_random_programs_under_all_flags(make: Any, seed: int) -> None:
    """Smooth functions of moderate numbers: within rounding of the interpreter, gradients too."""
    case = make(Random(seed), 10, True)
    given = options(None, None, True, None, None)
    for program in (case.program, grad(case.program)):
        code = native(optimise(program, None, given), None, given)
        got = code.run([np.asarray(a, t.numpy).reshape(t.shape) for a, t in zip(case.args, code.params)])
        for w, g in zip(interpret(program, *case.args), got, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-8, atol=1e-8)
