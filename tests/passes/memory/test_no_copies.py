"""Loops copy no array where NumPy copies none: histories, stores under branches, factorisations, tables, stacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.ir import Graph
from irad.core.text import parse
from irad.ops.array import copy

R = np.random.default_rng(0)
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {}


def program(*args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[f.__name__] = (f, args)
        return f

    return register


@program(R.normal(size=50))
def squares_of_positives(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] > 0:
            y[i] = x[i] ** 2
    return y


@program(R.normal(size=50))
def negatives_are_skipped(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        if x[i] < 0:
            continue
        y[i] = np.sin(x[i])
    return y


@program(R.normal(size=30))
def one_pass_of_a_bubble_sort(x):
    y = x * 1.0
    for i in range(len(y) - 1):
        if y[i] > y[i + 1]:
            y[i], y[i + 1] = y[i + 1], y[i]
    return y


@program(R.normal(size=(6, 7)))
def pixels_in_three_classes(a):
    out = np.zeros(a.shape)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > 0.5:
                out[i, j] = a[i, j] ** 2
            elif a[i, j] > 0:
                out[i, j] = 3 * a[i, j]
    return out


@program(R.normal(size=40))
def a_while_that_stores_under_a_branch(x):
    y, i = np.zeros(len(x)), 0
    while i < len(x):
        if x[i] > 0:
            y[i] = x[i] ** 3
        i += 1
    return y


@program(np.array([1.0, 0.5, -0.3]), 0.1)
def history_of_a_decay(u, k):
    U = np.zeros((21, 3))
    U[0] = u
    for n in range(20):
        U[n + 1] = U[n] - k * U[n] ** 3
    return U


@program(np.array([1.0, 0.5]), 0.1)
def every_fourth_state(u, k):
    out, v = np.zeros((6, 2)), u * 1.0
    for n in range(24):
        v = v - k * v**3
        if n % 4 == 0:
            out[n // 4] = v
    return out


@program(np.array([1.0, 0.5]), 0.1)
def every_state(u, k):
    out, v = np.zeros((24, 2)), u * 1.0
    for n in range(24):
        v = v - k * v**3
        out[n] = v
    return out


@program(R.normal(size=(12, 12)) @ R.normal(size=(12, 12)) * 0.1 + 8 * np.eye(12))
def cholesky_by_rows(A):
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[j, :j]
            A[i, j] /= A[j, j]
        A[i, i] -= A[i, :i] @ A[i, :i]
        A[i, i] = np.sqrt(A[i, i])
    return A


@program(np.tril(R.uniform(1, 2, (9, 9))), R.normal(size=9))
def forward_substitution(L, b):
    x = np.zeros(9)
    for i in range(9):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


@program(R.normal(size=(7, 8)))
def table_of_a_cheapest_path(c):
    D = np.zeros((8, 9))
    for i in range(7):
        for j in range(8):
            if c[i, j] > 0:
                D[i + 1, j + 1] = c[i, j] + min(D[i, j + 1], D[i + 1, j])
            else:
                D[i + 1, j + 1] = c[i, j] + D[i, j]
    return D


@program(R.normal(size=16), 60)
def stack_of_numbers(x, n):
    stack, top, i, total = np.zeros(16), 0, 0, 0.0
    while i < n:
        if i % 3 != 2 and top < 15:
            stack[top] = x[i % 16]
            top += 1
        elif top > 0:
            top -= 1
            total += stack[top] ** 2
        i += 1
    return total


@program(R.uniform(0, 1, 40), R.normal(size=40))
def weighted_histogram(x, w):
    h = np.zeros(10)
    for i in range(len(x)):
        if w[i] > 0:
            h[int(10 * x[i])] += w[i] ** 2
    return h


@program(R.normal(size=(5, 6)))
def rows_from_the_row_above(a):
    for i in range(1, 5):
        a[i] = a[i] + 0.5 * a[i - 1]
    return a


def large_copies(graph: Graph, least: int, in_loop: bool = False) -> list[str]:
    """Arrays of at least so many elements that a loop copies in each trip."""
    found = []
    for n in graph.nodes:
        if in_loop and n.op is copy and n.inputs[0].at != n.out.at and n.out.type.shape and n.out.type.size >= least:
            found.append(str(n.out.type))
        for r in n.regions:
            found += large_copies(r, least, in_loop or n.op.name in ("for", "while"))
    return found


def the_one_before_is_kept(x):
    total = 0.0
    for _ in range(9):
        y = x.copy()
        x[3] = np.sin(x[3])
        total = total + y @ x
    return total


def test_explain_says_what_a_trip_copies() -> None:
    text = irad.compile(history_of_a_decay).lower(*fresh(PROGRAMS["history_of_a_decay"][1])).explain
    assert "each trip of the loop copies nothing" in text
    notes = irad.compile(the_one_before_is_kept).lower(np.ones(40)).notes
    (trip,) = [d.facts["trip"] for d in notes.of("memory") if "trip" in d.facts]
    assert trip >= 320


def fresh(args: tuple[Any, ...]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_copies_nothing(name: str) -> None:
    f, args = PROGRAMS[name]
    scalar = lambda *a: np.sum(np.sin(f(*a)))
    c = irad.compile(f)
    np.testing.assert_allclose(c(*fresh(args)), f(*fresh(args)), rtol=1e-13, atol=1e-13)
    irad.check_grads(scalar, tuple(fresh(args)))
    for stages in (c.lower(*fresh(args)), irad.compile(scalar).lower(*fresh(args), grad=True)):
        graph = next(iter(parse(stages.ir).values()))
        assert large_copies(graph, 6 if "state" in name else 3) == []
