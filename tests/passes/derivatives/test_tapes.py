"""Records of tapes that leave the program: both halves of a pullback, and functions that make tapes of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.text import parse
from irad.ops.tape_flow import NEW, tape_sources
from tests.support.agree import agree


def an_entry_twice(p: np.ndarray) -> Any:
    e = 0.3
    while e < 10:
        q = np.stack([np.sin(p[0] * e), np.sin(p[0] * e), p[1]])
        e = e + np.sum(q * q * q) * e + 0.1
    return e


def a_constant_entry(p: np.ndarray) -> Any:
    e = 0.3
    while e < 5:
        q = np.array([np.sin(p[0] * e), 2.0, p[1]])
        e = e + np.sum(np.exp(q) * q * q) * e * 0.01 + 0.1
        p = q * e * 0.3
    return e


@pytest.mark.parametrize("f", [an_entry_twice, a_constant_entry])
def test_pullback_reads_the_records_that_its_forward_wrote(f: Callable[[np.ndarray], Any]) -> None:
    """The forward alone must not shorten records: the backward, compiled apart, would read others."""
    p, h = np.array([0.3, 0.7, 0.2]), 1e-6
    (got,) = irad.vjp(f, p)[1](1.0)
    np.testing.assert_allclose(got, irad.grad(f)(p), rtol=1e-12)
    want = [(f(p + h * e) - f(p - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


PROGRAM = """
func @main(%x: f64, %n: i64) -> f64 {
  %y: f64, %t: tape, %u: tape = call[callee=@make] %x, %n
  %rest: tape, %z: f64 = pop[site=0] %t
  return %z
}
func @make(%x: f64, %n: i64) -> f64, tape, tape {
  %zero: i64 = const[value=0]
  %one: i64 = const[value=1]
  %stop: bool = le %n, %zero
  %y: f64, %t: tape, %u: tape = if %stop then {
    %a: tape = tape
    %b: tape = tape
    yield %x, %a, %b
  } else {
    %m: i64 = sub %n, %one
    %s: f64 = sin %x
    %w: f64, %c: tape, %d: tape = call[callee=@make] %s, %m
    yield %w, %d, %c
  }
  %v: tape = push[site=0] %t, %x
  %k: tape = call[callee=@pass] %u
  return %y, %v, %k
}
func @pass(%t: tape) -> tape {
  %x: f64 = const[value=1.0]
  %u: tape = push[site=1] %t, %x
  return %u
}
"""


def test_where_tapes_come_from() -> None:
    sources = tape_sources(parse(PROGRAM))
    assert sources == {"main": (), "make": (NEW, NEW), "pass": (0,)}


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_tapes_that_a_function_makes(depth: int) -> None:
    assert agree(parse(PROGRAM), 0.5, depth) == [0.5]


POP_POP_PUSH = """
func @f(%x: f64[40], %z: f64[40]) -> f64[40], f64[40] {
  %t: tape = tape
  %a: f64[40] = mul %x, %z
  %b: f64[40] = add %x, %z
  %t_1: tape = push[site=1] %t, %a
  %t_2: tape = push[site=2] %t_1, %b
  %t_3: tape, %q: f64[40] = pop[site=2] %t_2
  %t_4: tape, %p: f64[40] = pop[site=1] %t_3
  %c: f64[40] = sin %x
  %d: f64[40] = cos %z
  %t_5: tape = push[site=3] %t_4, %c
  %t_6: tape = push[site=4] %t_5, %d
  %r: f64[40] = mul %p, %q
  %t_7: tape, %e: f64[40] = pop[site=4] %t_6
  %t_8: tape, %g: f64[40] = pop[site=3] %t_7
  %u: f64[40] = add %e, %g
  return %r, %u
}
"""


def test_popped_arrays_survive_pushes_on_what_is_left_of_their_tape() -> None:
    """The push comes after another pop: what was popped first must not be read from the tape after it."""
    agree(parse(POP_POP_PUSH), *np.random.default_rng(0).standard_normal((2, 40)))
