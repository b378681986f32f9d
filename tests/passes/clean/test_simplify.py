"""Every rewrite rule, evaluated on both sides on the numbers where rules go wrong; and each fires."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from irad.core.interp import interpret
from irad.core.ir import Graph, Value, build, size
from irad.core.text import parse, show
from irad.core.types import DTYPES, NATIVE, Type
from irad.core.verify import verify
from irad.ops import OPS
from irad.ops.constant import const
from irad.passes.clean.rules import Rule, Term, rules
from irad.passes.clean.shape_rules import lossless
from irad.passes.clean.simplify import simplify
from irad.passes.derivatives.autodiff import grad
from irad.passes.manager import run

FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1.5, 3.0, np.inf, -np.inf, np.nan)
EDGES = {
    "f64": (*FLOATS, 5e-324, -1e-310, 2.2250738585072014e-308, 1.7976931348623157e308, -1e200, 1e-200),
    "f32": (*FLOATS, 1e-45, -1e-40, 3.4e38, -1e30, 1e-30),
    "f16": (*FLOATS, 6e-8, -1e-5, 65504.0),
    "i64": (0, 1, -1, 2, -7, 63, 64, 2**63 - 1, -(2**63)),
    "i8": (0, 1, -1, 2, -7, 100, 127, -128),
    "u8": (0, 1, 2, 7, 128, 255),
    "bool": (False, True),
}
OF_KIND = {"f": ("f64", "f32", "f16"), "i": ("i64", "i8"), "u": ("u8",), "b": ("bool",)}
ALWAYS = [r for r in rules() if r.exact or r.derivative]  # the others: test_fastmath
CASES = [(r, dtype) for r in ALWAYS for kind in r.kinds for dtype in OF_KIND[kind]]


def side(term: Term, names: list[str], dtype: str, like: Type, constants: dict[str, Any]) -> Graph:
    """One side of a rule as a graph over its variables; upper-case variables are constants."""

    def emit(t: Term, env: dict[str, Value], wanted: Type) -> Value:
        if t.name:
            return env[t.name]
        if not t.op:
            return const(value=t.value, type=wanted.with_dtype("bool") if isinstance(t.value, bool) else wanted)
        sibling = next((env[n].type for a in t.args for n in a.names()), wanted)
        return OPS[t.op](*(emit(a, env, sibling) for a in t.args))

    def body(*params: Value) -> Value:
        env = dict(zip([n for n in names if n not in constants], params))
        env.update({n: const(value=c, type=Type(dtype, params[0].type.shape)) for n, c in constants.items()})
        return emit(term, env, like)

    count = len(list(itertools.product(*(EDGES[type_of(n, dtype)] for n in names if n not in constants))))
    return build([Type(type_of(n, dtype), (count,)) for n in names if n not in constants], body, "f")


def type_of(name: str, dtype: str) -> str:
    return "bool" if name in "pq" else dtype


def both_sides(rule: Rule, dtype: str, constants: dict[str, Any]) -> tuple[Any, Any]:
    """The two sides over every combination of edge values."""
    names = list(dict.fromkeys(rule.before.names()))
    free = [n for n in names if n not in constants]
    rows = list(itertools.product(*(EDGES[type_of(n, dtype)] for n in free)))
    columns = [np.array(c, DTYPES[type_of(n, dtype)]) for n, c in zip(free, zip(*rows))]
    before = side(rule.before, names, dtype, Type(dtype, (len(rows),)), constants)
    after = side(rule.after, names, dtype, before.results[0].type, constants)
    return interpret(before, *columns)[0], interpret(after, *columns)[0]


def constant_choices(rule: Rule, dtype: str) -> list[dict[str, Any]]:
    """Values for the constants of a rule: edges for exact rules, moderate numbers where sums are re-associated."""
    names = [n for n in dict.fromkeys(rule.before.names()) if n.isupper()]
    values = (2.0, -0.25) if rule.derivative else [v for v in EDGES[dtype] if dtype[0] != "f" or np.isfinite(v)]
    return [dict(zip(names, c)) for c in itertools.product(values, repeat=len(names))]


@pytest.mark.parametrize(("rule", "dtype"), CASES, ids=lambda x: x.text if isinstance(x, Rule) else x)
def test_both_sides_agree(rule: Rule, dtype: str) -> None:
    for constants in constant_choices(rule, dtype):
        want, got = both_sides(rule, dtype, constants)
        assert want.dtype == got.dtype and want.shape == got.shape
        if want.dtype.kind != "f":
            np.testing.assert_array_equal(got, want)
        elif rule.derivative or "pow" in rule.text:
            finite = np.isfinite(want) & np.isfinite(got)
            with np.errstate(all="ignore"):
                step = np.spacing(np.maximum(np.abs(want[finite]), np.finfo(want.dtype).tiny))
            assert np.all(np.abs(got[finite] - want[finite]) <= 2 * step)
            if not rule.derivative:
                np.testing.assert_array_equal(got[~finite], want[~finite])
        else:
            same = (want == got) & (np.signbit(want) == np.signbit(got)) | (np.isnan(want) & np.isnan(got))
            assert np.all(same), f"{constants}: {want[~same]} became {got[~same]}"


@pytest.mark.parametrize(("rule", "dtype"), CASES, ids=lambda x: x.text if isinstance(x, Rule) else x)
def test_fires(rule: Rule, dtype: str) -> None:
    """The left side of the rule is rewritten."""
    names = list(dict.fromkeys(rule.before.names()))
    constants = constant_choices(rule, dtype)[-1]
    graph = side(rule.before, names, dtype, Type(dtype, (1,)), constants)
    for n in graph.nodes:
        n.deriv = rule.derivative
    before = verify(graph)
    after = verify(simplify(before), rule.text)
    assert show(run(after, ["dce"])) != show(run(before, ["dce"]))


@pytest.mark.parametrize("text", [r.text for r in rules() if r.derivative])
def test_derivative_rules_leave_other_nodes_alone(text: str) -> None:
    (rule,) = (r for r in rules() if r.text == text and r.derivative)
    names = list(dict.fromkeys(rule.before.names()))
    graph = side(rule.before, names, "f64", Type("f64", (1,)), constant_choices(rule, "f64")[-1])
    result = simplify({"f": graph})["f"].results[0]
    assert result in {v for n in graph.nodes for v in n.outputs}, "a rule for derivatives rewrote a node of the function"


@pytest.mark.parametrize(("a", "b"), list(itertools.product(NATIVE, NATIVE)))
def test_lossless(a: str, b: str) -> None:
    """Edge values of dtype a come back from dtype b, if the cast is called lossless."""
    kind = DTYPES[a].kind
    if kind == "f":
        info = np.finfo(DTYPES[a])
        x = np.array([info.max, info.min, info.tiny, info.smallest_subnormal, 1 + info.eps, -0.5], DTYPES[a])
    elif kind == "b":
        x = np.array([False, True])
    else:
        limits = np.iinfo(DTYPES[a])
        x = np.array([limits.min, limits.max, limits.max - 1, 1], DTYPES[a])
    with np.errstate(all="ignore"):
        y = x.astype(DTYPES[b])
        exact = [int(v) == int(w) if kind != "f" and np.isfinite(w) and w == np.floor(w) else v == w for v, w in zip(x, y)]
    assert lossless(a, b) == (a == b or all(exact) and not (b == "bool" and a != "bool"))


def nodes_after(text: str, *passes: str) -> int:
    return size(run(parse(text), passes))


def test_long_sum_is_linear() -> None:
    """A sum of thousands of terms is flattened without recursion and once."""
    lines = ["func @f(%x: f64, %y: f64) -> f64 {", "  %a0: f64 = mul' %x, %y"]
    lines += [f"  %a{k + 1}: f64 = add' %a{k}, %{'xy'[k % 2]}" for k in range(3000)]
    text = "\n".join([*lines, "  return %a3000", "}"])
    assert nodes_after(text, "simplify", "cse", "dce") <= 6


def test_deep_branches_in_linear_size() -> None:
    """150 nested branches: no pass copies the rest of the program into each."""
    depth = 150
    lines = ["func @f(%p: bool, %x: f64) -> f64 {"]
    lines += [f"{'  ' * k}%r{k}: f64 = if %p{'' if k == 0 else k - 1} then {{\n  %p{k}: bool = lt %x, %x" for k in range(depth)]
    lines.append(f"%s: f64 = sin %x\nyield %{'s'}")
    lines += [f"}} else {{\nyield %x\n}}\n{'yield' if k else 'return'} %r{k}" for k in reversed(range(depth))]
    program = parse("\n".join([*lines, "}"]))
    for name in ("cse", "licm", "ranges", "dce"):
        assert size(run(program, [name])) <= size(program)


@pytest.mark.parametrize("name", ["simplify", "fold", "cse", "licm", "ranges", "inline", "dce"])
def test_unchanged_graph_is_the_same_object(name: str) -> None:
    """A pass with nothing to do returns the very graph, so that what is remembered on it stays."""
    text = """
        func @f(%n: i64, %x: f64[%n]) -> f64[%n] {
          %y: f64[%n] = for %n, %x body { |%i: i64, %a: f64[%n]|
            %e: f64 = index[spec=(i)] %a, %i
            %s: f64 = sin %e
            %b: f64[%n] = update[spec=(i)] %a, %s, %i
            yield %b
          }
          return %y
        }"""
    program = parse(text)
    assert run(program, [name])["f"] is program["f"]


def test_gradient_of_a_cube_is_three_squares() -> None:
    """v = x*x*x and its derivative are three multiplications: t = x*x, v = t*x, dx = 3*t."""
    program = parse("""
        func @cube(%x: f64) -> f64 {
          %t: f64 = mul %x, %x
          %v: f64 = mul %t, %x
          return %v
        }""")
    after = run(grad(program), ["simplify", "fold", "cse", "dce"])
    ops = [n.op.name for n in after["cube.grad"].nodes]
    assert sorted(ops) == ["const", "mul", "mul", "mul"]
    assert interpret(after, 2.0) == [8.0, 12.0]


def test_operand_and_capture_keep_both_reads() -> None:
    """After CSE the loop's operand is the value that its body captures; each read has a cotangent of its own."""
    program = parse("""
        func @f(%n: i64, %x: f64) -> f64 {
          %a: f64 = mul %x, %x
          %b: f64 = mul %x, %x
          %r: f64 = for %n, %a body { |%i: i64, %c: f64|
            %d: f64 = mul %c, %b
            yield %d
          }
          return %r
        }""")
    merged = run(program, ["cse", "dce"])
    assert size(merged) == size(program) - 1
    for p in (program, merged):
        value, slope = interpret(run(grad(p), ["cse", "simplify", "dce"]), 2, 1.5)
        assert value == pytest.approx(1.5**6) and slope == pytest.approx(6 * 1.5**5)
