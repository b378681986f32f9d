"""Printing and parsing: the same text again, the same meaning, and errors that point at the place."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irad.core.interp import interpret
from irad.core.ir import Builder, Graph, Program, Value, build, emit
from irad.core.text import INLINE, parse, show
from irad.core.text import load as load_text
from irad.core.types import F64, I64, Type, affine
from irad.errors import IradTypeError, Loc, ParseError
from irad.ops import OPS, control
from irad.ops.array import Slice, broadcast, index, reshape
from irad.ops.constant import const
from irad.ops.elementwise import add, cast, mul
from irad.ops.loop import Map, Out, load, loop


def round_trip(program: Program | Graph) -> Program:
    """Parse what is printed; it prints the same."""
    text = show(program)
    again = parse(text)
    assert show(again) == text
    return again


def attrs_after(graph: Graph) -> dict[str, Any]:
    """Attributes of the last node after a round trip."""
    (again,) = round_trip(graph).values()
    return again.nodes[-1].attrs


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, 1e300, 5e-324, math.inf, -math.inf, 0.1, 1e22, -7.0])
def test_float_is_exact(value: float) -> None:
    got = attrs_after(build([], lambda: const(value=value, type=F64)))["value"]
    assert type(got) is float and got == value and math.copysign(1, got) == math.copysign(1, value)


def test_nan_with_sign() -> None:
    for nan in (math.nan, -math.nan):
        got = attrs_after(build([], lambda x=nan: const(value=x, type=F64)))["value"]
        assert math.isnan(got) and math.copysign(1, got) == math.copysign(1, nan)


@pytest.mark.parametrize("value", [True, False, 0, -3, 2**63 - 1, -(2**63)])
def test_integer_and_bool(value: int) -> None:
    got = attrs_after(build([], lambda: const(value=value, type=Type("bool" if isinstance(value, bool) else "i64"))))["value"]
    assert type(got) is type(value) and got == value


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "i8", "u64", "bool"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2), (0,), (INLINE + 1,), (7, 5)])
def test_array_constant(dtype: str, shape: tuple[int, ...]) -> None:
    t = Type(dtype, shape)
    rng = np.random.default_rng(0)
    value = (rng.normal(size=shape) * 100).astype(t.numpy) if dtype != "u64" else rng.integers(0, 2**64, shape, dtype=np.uint64)
    value = np.asarray(value)
    if dtype[0] == "f" and value.size:
        value.flat[0] = -0.0
    got = attrs_after(build([], lambda: const(value=value, type=t)))["value"]
    assert got.dtype == value.dtype and got.shape == value.shape and got.tobytes() == value.tobytes()


@pytest.mark.parametrize("text", ["", "plain", 'a "quote" and \\ and \n # not a comment', "ü € 漢", "true", "inf", "{}"])
def test_string(text: str) -> None:
    graph = build([Type("bool")], lambda p: emit(control.raise_if, p, exc="ValueError", message=text))
    assert attrs_after(graph)["message"] == text


def test_slices_words_and_run_time_extents() -> None:
    def body(n: Value, x: Value, i: Value) -> Value:
        m = affine(1, {n: 1})
        part = index(x, i, i, spec=(Slice(None, affine(-1, {n: 1}), -1), "i", Slice(0, m, 1), 2))
        return broadcast(part, shape=(4, affine(-1, {n: 1}), m), dims=(1, 2))

    n = Value(I64, "n")
    x = Type("f64", (affine(0, {n: 1}), 3, affine(1, {n: 2}), 5))
    graph = build([n, x, I64], body, "f")
    text = show(graph)
    assert "%1: f64[%n,3,2*%n+1,5]" not in text and "f64[%n,3,2*%n+1,5]" in text
    assert "spec=(?:%n-1:-1,i,0:%n+1,2)" in text
    round_trip(graph)


def test_implied_attributes_are_not_written() -> None:
    def body(x: Value) -> Value:
        wide = broadcast(x, shape=(2, 3), dims=(1,))
        return reshape(cast(wide, dtype="f32"), shape=(6,))

    text = show(build([Type("f64", (3,))], body, "f"))
    assert "broadcast[dims=(1)] %0" in text and "cast %1" in text and "reshape %2" in text
    round_trip(build([Type("f64", (3,))], body, "f"))


def test_fused_loop() -> None:
    def body(x: Value, at: Value) -> Any:
        zero = const(value=0.0, type=Type("f64", (4,)))
        total = const(value=0.0, type=F64)

        def trip(i: Value, j: Value) -> list[Value]:
            v = load(x, i, j, map=Map(((2, -1, 3), (0, 1, 0))))
            return [v, load(at, i, map=Map(((1, 0),))), v]

        outs = (Out("add", Map(((0, 0, 1, 0),)), 1, False), Out("add", Map(())))
        return emit(loop, zero, total, regions=[build([I64, I64], trip)], extents=(2, 3), outs=outs)

    graph = build([Type("f64", (9, 3)), Type("i64", (2,))], body, "f")
    assert "outs=(add:(d2):collide1,add:())" in show(graph) and "map=(2*d0-d1+3,d1)" in show(graph)
    again = round_trip(graph)
    x, at = np.arange(27.0).reshape(9, 3), np.array([3, 0])
    for a, b in zip(interpret(graph, x, at), interpret(again, x, at)):
        np.testing.assert_array_equal(a, b)


def test_planned_places_survive() -> None:
    text = "func @f(%x: f64[8]@p0) -> f64[8] {\n  %y: f64[8]@a64 = sin %x\n  return %y\n}"
    program = parse(text)
    assert program["f"].nodes[0].out.at == "a64" and program["f"].params[0].at == "p0"
    assert show(program) == text


def test_derivative_marks_survive() -> None:
    text = "func @f(%x: f64) -> f64 {\n  %y: f64 = mul' %x, %x\n  %z: f64 = sin %y\n  return %z\n}"
    program = parse(text)
    assert [n.deriv for n in program["f"].nodes] == [True, False]
    assert show(program) == text


def test_names() -> None:
    """The user's names, made unique; numbers for the unnamed; odd characters replaced."""

    def body(x: Value) -> Value:
        y, z, w = add(x, x), mul(x, x), add(x, x)
        y.hint, z.hint = "x", "self.w[0]"
        return add(add(y, z), w)

    x = Value(F64, "x")
    text = show(build([x], body, "f"))
    assert "%x_1: f64 = add %x, %x" in text and "%self.w_0_: f64 = mul" in text and "%0: f64 = add %x, %x" in text
    round_trip(build([Value(F64, "x")], body, "f"))


def test_names_that_look_made_unique() -> None:
    def body(a: Value, b: Value, c: Value) -> Value:
        return add(add(a, b), c)

    round_trip(build([Value(F64, "a_1"), Value(F64, "a"), Value(F64, "a")], body, "f"))


def test_several_functions_and_odd_names() -> None:
    g = build([F64], lambda x: x, "<lambda>")
    f = build([F64], lambda x: emit(control.call, x, callee="<lambda>", types=(F64,)), "f.vjp")
    again = round_trip({"f.vjp": f, "<lambda>": g})
    assert list(again) == ["f.vjp", "<lambda>"] and interpret(again, 2.0) == [2.0]


def test_no_results_and_no_operands() -> None:
    again = round_trip(build([F64], lambda x: emit(control.print_, x, text="{}\n"), "f"))
    assert again["f"].results == () and again["f"].nodes[0].outputs == ()


def test_regions_mean_the_same() -> None:
    text = """
        func @f(%n: i64, %x: f64) -> f64, i64 {
          %zero: i64 = const[value=0]
          %a: f64 = for %n, %x body { |%i: i64, %c: f64|
            %p: bool = gt %c, %x
            %d: f64 = if %p then {
              %e: f64 = sqrt %c
              yield %e
            } else {
              %e: f64 = add %c, %x
              yield %e
            }
            yield %d
          }
          %k: i64 = while %zero cond { |%i: i64|
            %q: bool = lt %i, %n
            yield %q
          } body { |%i: i64|
            %one: i64 = const[value=1]
            %j: i64 = add %i, %one
            yield %j
          }
          return %a, %k
        }"""
    program = parse(text)
    assert interpret(program, 3, 2.0) == [math.sqrt(4.0) + 2.0, 3]
    round_trip(program)


def test_comments_blank_lines_and_spacing() -> None:
    text = "# head\n\nfunc @f( %x :f64 )->f64{ # here\n\n %y:f64=add %x,%x#there\n\treturn %y\n}\n# end"
    assert interpret(parse(text), 2.0) == [4.0]


def test_locations() -> None:
    with Builder(Loc("user.py", 7, 4)) as b:
        y = add(*[Value(F64, "x")] * 2)
    graph = Graph((b.nodes[0].inputs[0],), tuple(b.nodes), (y,), "f")
    assert "%0: f64 = add %x, %x  # user.py:7:5" in show(graph, loc=True)
    assert "user.py" not in show(graph)


def test_load_places_nodes_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f.irad"
    path.write_text("# comment\nfunc @f(%x: f64) -> f64 {\n  %y: f64 = sin %x\n  return %y\n}\n")
    node = load_text(path)["f"].nodes[0]
    assert node.loc is not None and (node.loc.file, node.loc.line) == (str(path), 3)


BAD = [
    ("func @f(%x: f64) -> f64 {\n  %y: f64 = sin(%x)\n  return %y\n}", 2, 16, "unexpected '('"),
    ("func @f(%x: f64) -> f64 {\n  %y: f64 = sin %x $\n  return %y\n}", 2, 20, "unexpected '$'"),
    ("func @f(%x: f64) -> f64 {\n  %y: f64 =\n  return %y\n}", 2, 12, "unexpected end of line; expected a name"),
    ("func @f(%x: f64) -> f64 {\n  %y: f64 = sin %x\n", 2, 19, "unexpected end of line"),
    ("func @f(%x: f64) -> f64 {\n  return %y\n}", 2, 10, "%y is not defined here"),
    ("func @f(%x: f64, %x: f64) -> f64 {\n  return %x\n}", 1, 18, "%x is bound twice"),
    ("func @f(%x: f99) -> f64 {\n  return %x\n}", 1, 13, "there is no dtype f99"),
    ("func @f(%x: f64) -> f64 {\n  %y: f64 = sine %x\n  return %y\n}", 2, 13, "there is no op sine"),
    ("func @f(%x: f64) -> f64 {\n  %y: f32 = sin %x\n  return %y\n}", 2, 3, "sin gives f64, not f32"),
    ("func @f(%x: f64) -> f32 {\n  return %x\n}", 1, 6, "the function returns f64, not f32"),
    ("func @f(%x: f64[2]) -> f64 {\n  %y: f64 = sum %x\n  return %y\n}", 2, 3, "sum has attributes axes, not none"),
    ("func @f() -> f64[2] {\n  %y: f64[2] = const[value={1.0}]\n  return %y\n}", 2, 28, "f64[2] needs 2 elements, 1 are given"),
    ("func @f(%x: f64[x]) -> f64 {\n  return %x\n}", 1, 17, "x cannot stand in an extent"),
    ("func @f() {\n  return\n}\nfunc @f() {\n  return\n}", 4, 1, "two functions are named @f"),
    ("func @f(%p: bool) {\n  if %p then {\n    yield\n  }\n  return\n}", 2, 3, "if has regions ('then', 'orelse')"),
    ("func @f(%x: f64[3], %i: i64) -> f64 {\n  %y: f64 = load[map=(d1)] %x, %i\n  return %y\n}", 2, 23, "d1 is not an index"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "message"), BAD, ids=[b[3] for b in BAD])
def test_bad_text(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(ParseError) as info:
        parse(text)
    loc = info.value.loc
    assert message in info.value.message and loc is not None and (loc.line, loc.col + 1) == (line, column)
    caret = str(info.value).splitlines()[-1]
    assert caret.index("^") == 4 + column - 1, "the caret stands below the place"


def test_ill_typed_text_is_a_type_error_at_its_line() -> None:
    with pytest.raises(IradTypeError, match="equal types") as info:
        parse("func @f(%x: f64, %y: f32) -> f64 {\n  %z: f64 = add %x, %y\n  return %z\n}")
    assert info.value.loc is not None and info.value.loc.line == 2


def test_implied_attributes_are_those_that_the_results_repeat() -> None:
    """An op whose `type`, `shape` or `dtype` attribute is something else needs a name of its own for it."""
    from irad.core.reading import IMPLIED, attr_names

    repeating = {"const", "empty", "iota", "broadcast", "reshape", "cast", "call", "pop", "callback", "pure_callback"}
    assert {op.name for op in OPS.values() if set(attr_names(op)) & set(IMPLIED)} <= repeating


def test_attributes_that_types_do_not_depend_on():
    text = "func @f(%x: f64, %y: f64) -> f64 {\n  %a: f64 = pow_slope[n=1, m=0] %x, %y\n  return %a\n}"
    assert show(parse(text)) == text
