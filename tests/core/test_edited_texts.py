"""Found by tests.fuzz.text: texts that made the reader, a verifier or a pass fail with an error of their own."""

from __future__ import annotations

import pytest

from irad.codegen.kernel import parse as kparse
from irad.errors import ParseError
from tests.fuzz.text import check_graph

TEXTS = [
    ("an op without operands", "func @f(%x: f64) -> f64 {\n  %a: f64 = sin\n  return %a\n}"),
    ("an axis that is a fraction", "func @f(%a: f64[7,16], %b: f64[16]) {\n  %p: f64[7] = dot[contract=((1),(0.5)), batch=((),())] %a, %b\n  return\n}"),
    ("a whole number that is infinite", "func @f(%x: f64[5]) {\n  %zero: i64 = const[value=1e400]\n  return\n}"),
    ("a whole number that is none", "func @f(%x: f64) {\n  %n: i64 = const[value=nan]\n  return\n}"),
    ("too large a number", "func @f(%x: f64) {\n  %n: i8 = const[value=200]\n  return\n}"),
    ("an axis that is not there", "func @f() {\n  %i: i64[16,3] = iota[axis=7]\n  return\n}"),
    ("a string with an escape of its own", 'func @f(%x: f64) {\n  print[text="\\)"]\n  return\n}'),
    ("the size of a slice is a fraction", "func @f(%x: f64[5]) {\n  %y: f64[3] = index[spec=(1:0.5)] %x\n  return\n}"),
    ("whole numbers of which one is none", "func @f() {\n  %g: i64[3] = const[value={2,nan,1}]\n  return\n}"),
    ("bytes that are none", 'func @f() {\n  %g: f64[3] = const[value={"AAA"}]\n  return\n}'),
    ("a shape with an infinite extent", "func @f(%x: f64[2]) {\n  %y: f64[2] = broadcast[dims=(0),shape=(2,1e400)] %x\n  return\n}"),
]  # fmt: skip


@pytest.mark.parametrize("what, text", TEXTS, ids=[t[0] for t in TEXTS])
def test_refused_at_a_line(what: str, text: str) -> None:
    check_graph(text)


def test_kernel_text_of_other_parts() -> None:
    with pytest.raises(ParseError) as e:
        kparse.parse("def f(x: f64[3]):\n    x = f64 = [()]")
    assert e.value.loc is not None and e.value.loc.line == 2
