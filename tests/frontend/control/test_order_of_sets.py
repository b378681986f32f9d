"""The order of sets: of those whose elements data decide, and of displays of constants. It is CPython's."""

from __future__ import annotations

import importlib
import py_compile
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irad
from irad.frontend.library.python import hashes
from irad.frontend.library.python.keyed_sets import KeyedSet
from tests.support.outcomes import agrees

X = np.random.default_rng(3).random(24)


def _element(r: random.Random, kind: int) -> Any:
    if kind == 0:
        return r.randrange(-20, 60)
    if kind == 1:
        return r.choice([r.gauss(0, 1), float(r.randrange(10)), r.randrange(-3, 9), r.random() * 1e10, 5e-324])
    return r.randrange(-3, 30), (float(r.randrange(5)) / 4, r.random() > 0.5)


def _changed(r: random.Random, s: Any, xs: list[Any]) -> Any:
    """One change of a set, or another set of it; `r` chooses."""
    t = type(s)(xs)
    what = r.randrange(16)
    if what < 3:
        for x in xs[:1]:
            (s.add if what else s.discard)(x)
    elif what == 3:
        assert not len(s) or s.pop() not in s
    elif what < 7:
        s.update({4: xs, 5: t, 6: dict.fromkeys(xs)}[what])
    elif what < 9:
        s.symmetric_difference_update(t if what == 7 else xs)
    elif what == 9:
        s -= t
    elif what < 12:
        return s.difference(xs) if what == 10 else t - s
    elif what < 14:
        return s & t if what == 12 else s.intersection(xs)
    elif what == 14:
        return s.copy()
    else:
        return s | t
    return s


@pytest.mark.parametrize("kind", range(3))
def test_tables_are_those_of_python(kind: int) -> None:
    for seed in range(150):
        r = random.Random(seed)
        pool = [_element(r, kind) for _ in range(r.choice([3, 40, 200]))]
        theirs: Any = set()
        ours: Any = KeyedSet()
        for step in range(40):
            xs = [r.choice(pool) for _ in range(r.choice([0, 1, 5, 30, 100]))]
            theirs, ours = _changed(random.Random(step), theirs, xs), _changed(random.Random(step), ours, xs)
            assert list(ours) == list(theirs), (seed, step)


def test_hashes_are_those_of_python() -> None:
    for n in [0, 1, -1, -2, 2**61 - 1, 2**61, -(2**61), 1 - 2**61, 2**63 - 1, -(2**63), np.uint64(2**64 - 1)]:
        assert hashes.of_whole(n) == hash(n)
    for v in [0.0, -0.0, 1.0, -1.0, 0.1, -2.5, 1e300, 5e-324, np.inf, -np.inf, 2.0**61, 123456789.75]:
        assert hashes.of_float(v) == hash(v)

    def f(x: Any) -> Any:
        k = int(x[0] * 1e6)
        return hash(k), hash(-k), hash(x[1]), hash((k, (x[2], k > 3), -1)), hash(())

    with np.errstate(over="ignore"):
        assert irad.compile(f)(X) == f(X)


def labels(x: Any) -> Any:
    y = np.round(x * 4)
    total = 0.0
    for n, label in enumerate(set(y)):
        total += (n + 1) * np.sum(x[y == label])
    return total


def rows_left(x: Any) -> Any:
    left = list(set(range(len(x))) - set(np.flatnonzero(x > 0.3).tolist()))
    return sum([x[i] * (n + 1) for n, i in enumerate(left)]), left


def cells(x: Any) -> Any:
    total = 0.0
    for i, j in {(int(v * 4), int(v * 9)) for v in x}:
        total = 1.01 * total + i * j * x[i]
    return total


def popped(x: Any) -> Any:
    waiting = {int(v * 30) for v in x}
    total = 0.0
    while waiting:
        k = waiting.pop()
        total = 1.1 * total + k * x[k % 3]
        if k % 4 == 3:
            waiting.add(k // 2)
            waiting.discard(k - 2)
    return total


@pytest.mark.parametrize("f", [labels, rows_left, cells, popped])
def test_order_of_elements_by_data(f: Any) -> None:
    agrees(f, X)


def test_gradient_of_numbers_taken_in_the_order_of_a_set() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for v in {x[0], x[1], x[2]}:
            total = 2 * total + v * v
        return total

    x = np.array([3.0, 17.0, 1.5])  # of which Python has 1.5 behind 17 and before 3
    weights = [2 ** (2 - list({*x.tolist()}).index(v)) for v in x.tolist()]
    assert irad.grad(f)(x).tolist() == [2 * w * v for w, v in zip(weights, x.tolist())]


def test_a_loop_that_changes_its_set() -> None:
    def f(x: Any) -> Any:
        s = {int(v) for v in x}
        for k in s:
            s.add(k + 7)
        return len(s)

    with pytest.raises(RuntimeError, match="changed size"):
        irad.compile(f)(np.array([1.0, 2.0]))


def copies_of_known_ones(x: Any) -> Any:
    s = {3, 9, 17, 1}
    s.add(25)
    t = {k: v for k, v in zip(s, x)}
    u = s ^ {1, 4, 12}
    u.discard(4)
    return list(set(s)), list(frozenset(s)), list(set(t)), list(s | {33}), list(u), list({k for k in s}), list(set(list(s)))


def test_order_of_known_elements() -> None:
    agrees(copies_of_known_ones, X)


_DISPLAYS = """
def f(x):
    total = 0.0
    s = {3, 9, 17, 1}
    for k in {3, 9, 17, 1}: total = 1.5 * total + k
    for k in s: total = 1.5 * total + k
    s.add(25)
    for k in [k for k in s | {33}]: total = 1.5 * total + k
    for i, j in {(1, 2), (9, 4), (5, -6), (17, 3)}: total = 1.5 * total + i * j
    return total * x[0]
"""


def test_displays_of_constants_as_the_compiler_and_files_of_bytecode_have_them(tmp_path: Path, monkeypatch: Any) -> None:
    """A set in a .pyc file is filled in another order than that of the text."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("displays", "displays_of_bytecode"):
        file = tmp_path / f"{name}.py"
        file.write_text(_DISPLAYS if name == "displays" else "\n" + _DISPLAYS)
        if name != "displays":
            py_compile.compile(str(file))
        f = importlib.import_module(name).f
        assert irad.compile(f)(X) == f(X)
