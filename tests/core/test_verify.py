"""The verifier finds a breach of each of its invariants, says which, and shows the graph."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from irad.core.ir import Graph, Node, Program, Value, build, captures, emit, size, uses
from irad.core.text import parse
from irad.core.types import BOOL, F32, F64, I64, TAPE, Type, affine
from irad.core.verify import verify
from irad.errors import VerifyError
from irad.ops import OPS, control
from irad.ops.array import broadcast
from irad.ops.constant import const, empty, scalar
from irad.ops.elementwise import add, sin
from irad.ops.loop import Map, Out, loop
from irad.passes.manager import PASSES, Pass, run


def unary(op: str, x: Value, out: Value) -> Node:
    return Node(OPS[op], (x,), (out,))


def read_before_bound() -> Graph:
    x, y, z = Value(F64, "x"), Value(F64, "y"), Value(F64, "z")
    return Graph((x,), (unary("sin", y, z), unary("sin", x, y)), (z,), "f")


def bound_twice() -> Graph:
    x, y = Value(F64, "x"), Value(F64, "y")
    return Graph((x,), (unary("sin", x, y), unary("cos", x, y)), (y,), "f")


def bound_in_two_branches() -> Graph:
    p, x, y = Value(BOOL, "p"), Value(F64, "x"), Value(F64, "y")
    branch = lambda: Graph((), (unary("sin", x, y),), (y,))
    out = Value(F64, "r")
    return Graph((p, x), (Node(control.if_, (p,), (out,), {}, (branch(), branch())),), (out,), "f")


def result_of_a_branch_read_outside() -> Graph:
    p, x, inner, out = Value(BOOL, "p"), Value(F64, "x"), Value(F64, "inner"), Value(F64, "r")
    then, orelse = Graph((), (unary("sin", x, inner),), (inner,)), Graph((), (), (x,))
    return Graph((p, x), (Node(control.if_, (p,), (out,), {}, (then, orelse)),), (inner,), "f")


def wrong_type() -> Graph:
    x, y = Value(F64, "x"), Value(F32, "y")
    return Graph((x,), (unary("sin", x, y),), (y,), "f")


def operand_types_differ() -> Graph:
    x, y, z = Value(F64, "x"), Value(F32, "y"), Value(F64, "z")
    return Graph((x, y), (Node(add, (x, y), (z,)),), (z,), "f")


def unknown_attribute() -> Graph:
    x, y = Value(F64, "x"), Value(F64, "y")
    return Graph((x,), (Node(sin, (x,), (y,), {"fast": True}),), (y,), "f")


def too_few_operands() -> Graph:
    p, x, y = Value(BOOL, "p"), Value(F64, "x"), Value(F64, "y")
    return Graph((p, x), (Node(OPS["select"], (p, x), (y,)),), (y,), "f")


def region_missing() -> Graph:
    p, x, y = Value(BOOL, "p"), Value(F64, "x"), Value(F64, "y")
    return Graph((p, x), (Node(control.if_, (p,), (y,), {}, (Graph((), (), (x,)),)),), (y,), "f")


def extent_not_in_scope() -> Graph:
    n, x = Value(I64, "n"), Value(F64, "x")
    y = Value(Type("f64", (affine(0, {n: 1}),)), "y")
    node = Node(broadcast, (x,), (y,), {"shape": y.type.shape, "dims": ()})
    return Graph((x,), (node,), (y,), "f")


def extent_is_a_float() -> Graph:
    n = Value(F64, "n")
    x = Value(Type("f64", (affine(0, {n: 1}),)), "x")
    return Graph((n, x), (), (x,), "f")


def tape_read_twice() -> Graph:
    def body(x: Value) -> Value:
        t = control.push(control.tape_new(), x, site=0)
        _, a = control.pop(t, site=0, types=(F64,))
        _, b = control.pop(t, site=0, types=(F64,))
        return add(a, b)

    return build([F64], body, "f")


def tape_captured_by_a_loop() -> Graph:
    def body(n: Value, x: Value) -> Value:
        t = control.push(control.tape_new(), x, site=0)
        trip = build([I64, F64], lambda i, c: control.pop(t, site=0, types=(F64,))[1])
        return emit(control.for_, n, x, regions=[trip])[0]

    return build([I64, F64], body, "f")


def tape_read_in_and_after_a_branch() -> Graph:
    def body(p: Value, x: Value) -> Value:
        t = control.push(control.tape_new(), x, site=0)
        branches = [build([], lambda: control.pop(t, site=0, types=(F64,))[1]), build([], lambda: x)]
        (a,) = emit(control.if_, p, regions=branches)
        return add(a, control.pop(t, site=0, types=(F64,))[1])

    return build([BOOL, F64], body, "f")


def check_in_a_fused_loop() -> Graph:
    def trip(i: Value) -> Value:
        control.raise_if(const(value=False, type=BOOL), exc="ValueError", message="")
        return scalar(1.0, "f64")

    def body() -> Value:
        return emit(loop, empty(type=Type("f64", (3,))), regions=[build([I64], trip)], extents=(3,), outs=(Out("store", Map.identity(1)),))[0]  # fmt: skip

    return build([], body, "f")


def check_keeps_another_type() -> Graph:
    def body(p: Value, x: Value) -> Value:
        control.raise_if(p, x, exc="ValueError", message="", keeps=(0,))
        return broadcast(x, shape=(3,), dims=())

    return build([BOOL, F64], body, "f")


def check_keeps_what_is_no_result() -> Graph:
    def body(p: Value, x: Value) -> Value:
        control.raise_if(p, x, exc="ValueError", message="", keeps=(1,))
        return x

    return build([BOOL, F64], body, "f")


def unknown_callee() -> Graph:
    return build([F64], lambda x: emit(control.call, x, callee="g", types=(F64,)), "f")


BROKEN: dict[Callable[[], Graph], str] = {
    read_before_bound: "reads %y: f64, which is not in scope",
    bound_twice: "binds %y: f64 a second time",
    bound_in_two_branches: "binds %y: f64 a second time",
    result_of_a_branch_read_outside: "yields %inner: f64, which is not in scope",
    wrong_type: "sin gives f64, not f32",
    operand_types_differ: "operands must have equal types; got f64, f32",
    unknown_attribute: "unexpected keyword argument 'fast'",
    too_few_operands: "select: ",
    region_missing: "if has 1 regions, not 2",
    extent_not_in_scope: "%n: i64, which is not in scope",
    extent_is_a_float: "has an extent %n: f64, which is not an i64 scalar",
    tape_read_twice: "reads the tape",
    tape_captured_by_a_loop: "for reads the tape",
    tape_read_in_and_after_a_branch: "reads the tape",
    check_in_a_fused_loop: "raise_if stands in the body of a fused loop",
    check_keeps_another_type: "keeps f64 as result 0, which is f64[3]",
    check_keeps_what_is_no_result: "keeps result 1 of 1",
    unknown_callee: "calls @g, which is not in the program",
}


@pytest.mark.parametrize("make", BROKEN, ids=lambda f: f.__name__)
def test_breach(make: Callable[[], Graph]) -> None:
    with pytest.raises(VerifyError) as info:
        verify(make(), after="a pass")
    assert info.value.message.startswith("after a pass: ") and BROKEN[make] in info.value.message
    assert "func @f(" in info.value.message and "=>" in info.value.message


def test_mark_points_at_the_node() -> None:
    with pytest.raises(VerifyError) as info:
        verify(wrong_type())
    (line,) = (ln for ln in info.value.message.splitlines() if ln.startswith("=>"))
    assert line == "=>%y: f32 = sin %x"


def test_tape_may_be_read_once_in_each_branch() -> None:
    def body(p: Value, x: Value) -> Value:
        t = control.push(control.tape_new(), x, site=0)
        take = lambda: build([], lambda: control.pop(t, site=0, types=(F64,))[1])
        return emit(control.if_, p, regions=[take(), take()])[0]

    verify(build([BOOL, F64], body, "f"))


def test_tape_as_a_carry() -> None:
    def body(n: Value, x: Value) -> Value:
        trip = build([I64, TAPE], lambda i, t: control.push(t, x, site=0))
        return emit(control.for_, n, control.tape_new(), regions=[trip])[0]

    verify(build([I64, F64], body, "f"))


CALLS = """
func @f(%n: i64, %x: f64[%n], %y: f64[3]) -> f64[%n] {{
  %r: {result} = call[callee=@g] {args}
  return %x
}}
func @g(%k: i64, %a: f64[%k]) -> f64[%k] {{
  return %a
}}
"""


def test_call_with_extents_of_the_caller() -> None:
    verify(parse(CALLS.format(result="f64[%n]", args="%n, %x")))


@pytest.mark.parametrize(("result", "args"), [("f64[%n]", "%n, %y"), ("f64[3]", "%n, %x"), ("f64[%n]", "%x"), ("f64", "%n, %x")])
def test_call_that_does_not_fit(result: str, args: str) -> None:
    with pytest.raises(VerifyError, match="@g takes|@g returns"):
        verify(parse(CALLS.format(result=result, args=args)))


def test_verified_graphs_are_not_verified_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nodes that a pass did not touch are not typed again; those that it made are."""
    typed: list[str] = []

    program: Program = {"f": build([F64], lambda x: sin(sin(x)), "f")}
    monkeypatch.setattr("irad.core.verify._check_types", lambda node: typed.append(node.op.name))
    verify(program)
    verify(program)
    assert typed == ["sin", "sin"]
    g = program["f"]
    y = Value(F64)
    verify({"f": g.replace(nodes=(*g.nodes, unary("cos", g.results[0], y)), results=(y,))})
    assert typed == ["sin", "sin", "cos"]


def test_manager_verifies_and_names_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    program = {"f": build([F64], lambda x: sin(x), "f")}
    monkeypatch.setitem(PASSES, "broken", Pass(lambda p: {"f": wrong_type()}))
    with pytest.raises(VerifyError, match="after broken: sin gives f64, not f32"):
        run(program, ["dce", "broken"])
    with pytest.raises(KeyError, match="there is no pass 'cze'"):
        run(program, ["cze"])


def test_manager_shows_each_step() -> None:
    program = {"f": build([F64], lambda x: add(sin(x), sin(x)), "f")}
    seen: list[tuple[str, int, int]] = []
    run(program, ["cse", "dce"], lambda name, a, b, seconds: seen.append((name, size(a), size(b))))
    assert seen == [("cse", 3, 2), ("dce", 2, 2)]


EXTENTS = """
func @f(%q: i64, %m: i64, %c: bool, %x: f64[100]) -> f64 {
  %n: i64 = if %c then {
    yield %m
  } else {
    yield %m
  }
  %z: f64[%n] = index[spec=(0:%n)] %x
  %w: f64[%n] = for %q, %z body { |%i: i64, %a: f64[%n]|
    %b: f64[%n] = for %q, %a body { |%j: i64, %d: f64[%n]|
      %e: f64[%n] = sin %d
      yield %e
    }
    yield %b
  }
  %u: f64 = sum[axes=(0)] %w
  return %u
}
"""


def test_what_is_remembered_on_graphs_follows_renamed_extents() -> None:
    program = verify(parse(EXTENTS))
    regions = lambda g: [g, *(h for n in g.nodes for r in n.regions for h in regions(r))]
    for g in regions(program["f"]):
        captures(g), uses(g)
    for g in regions(run(program, ["dce"])["f"]):
        new = Graph(g.params, g.nodes, g.results, g.name)
        assert captures(new) == captures(g) and uses(new) == uses(g)
