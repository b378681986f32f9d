"""Views of control flow, and what reaches what along their edges."""

from __future__ import annotations

from irad.core.ir import Graph, Node, Value, map_regions
from irad.core.text import parse, show
from irad.ops.regions import Loop, edges_in, edges_out, loop_of
from irad.passes.analyses.flow import Step, reached

WHILE = """
func @f(%x: f64, %y: f64) -> f64, f64 {
  %a: f64, %b: f64 = while %x, %y cond { |%p: f64, %q: f64|
    %c: bool = lt %p, %q
    yield %c
  } body { |%s: f64, %t: f64|
    %u: f64 = add %s, %t
    yield %u, %t
  }
  return %a, %b
}"""


def loop() -> tuple[Graph, Loop]:
    f = parse(WHILE)["f"]
    return f, Loop(f.nodes[0])


def names(values: object) -> list[str]:
    return [v.hint for v in values]  # type: ignore[attr-defined]


def test_carries_of_a_while() -> None:
    _, view = loop()
    assert (view.trips, view.index, view.goes_on.hint) == (None, None, "c")
    assert names((*view.inits, *view.carries, *view.yields, *view.outs)) == ["x", "y", "s", "t", "u", "t", "a", "b"]
    assert names(view.params(1)) == ["q", "t"]


def test_carries_that_no_trip_changes_can_go() -> None:
    f, view = loop()
    assert view.unchanged() == [1]
    y, (q, t) = f.params[1], view.params(1)
    new = Loop(view.without([1]))
    assert names((*new.inits, *new.carries, *new.yields, *new.outs, *new.conds[0].params)) == ["x", "s", "u", "a", "p"]
    assert y not in new.node.inputs and q not in new.conds[0].params and t not in new.body.params


def test_edges_of_a_while() -> None:
    _, view = loop()
    pairs = [names(e) for e in (*edges_in(view.node), *edges_out(view.node))]
    assert pairs == [*map(list, ("xs", "yt", "sp", "tq", "us", "tt", "sa", "tb"))]


def test_only_loops_have_a_loop_s_view() -> None:
    (node,) = parse("func @f(%x: f64) -> f64 {\n  %y: f64 = neg %x\n  return %y\n}")["f"].nodes
    assert loop_of(node) is None


def test_a_tape_hands_on_its_entries() -> None:
    f = parse("""
func @f(%x: f64, %y: f64) -> f64, f64 {
  %t: tape = tape
  %u: tape = push[site=3] %t, %x, %y
  %v: tape, %a: f64, %b: f64 = pop[site=3] %u
  return %a, %b
}""")["f"]
    assert "b" in {v.hint for v in reached(f, [f.params[1]], any_operand, {}) if isinstance(v, Value)}
    assert "a" not in {v.hint for v in reached(f, [f.params[1]], any_operand, {}) if isinstance(v, Value)}


def test_a_program_s_calls_are_followed() -> None:
    program = parse("""
func @f(%x: f64, %y: f64) -> f64, f64 {
  %a: f64, %b: f64 = call[callee=@g] %x, %y
  return %a, %b
}
func @g(%p: f64, %q: f64) -> f64, f64 {
  return %q, %p
}""")
    found = reached(program, [program["f"].params[0]], any_operand, {})
    assert {v.hint for v in found if isinstance(v, Value)} == {"x", "p", "b"}


def test_a_step_may_want_all_operands() -> None:
    f, view = loop()
    x, y = f.params
    every = lambda n: (n.inputs, n.outputs, True)
    (u,) = view.body.nodes[0].outputs
    assert u not in reached(f, [view.carries[0]], every, {})
    assert u in reached(f, [x, y], every, {})


def test_nothing_exchanged_is_the_same_node() -> None:
    f, view = loop()
    assert map_regions(view.node, lambda r: r) is view.node
    assert view.node.replace(inputs=list(view.node.inputs), regions=list(view.node.regions)) is view.node
    swapped = view.node.replace(inputs=view.inits[::-1])
    assert "while %y, %x" in show(f.replace(nodes=[swapped])) and swapped.regions == view.node.regions


def any_operand(n: Node) -> Step:
    return n.inputs, n.outputs, False
