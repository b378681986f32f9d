"""Long kernels in pieces: the same numbers as in one, and each function short."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pytest

import irad
from irad.codegen.kernel.check import verify
from irad.codegen.kernel.interp import Machine
from irad.codegen.kernel.parse import parse
from irad.codegen.transform import manager, pieces
from irad.core.switches import without
from tests.support.native import native


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """All kernels are long here."""
    monkeypatch.setattr(manager, "FEW", 5)
    monkeypatch.setattr(pieces, "LONG", 6)
    monkeypatch.setattr(pieces, "PIECE", 30)


BEFORE = """
def f(x: f64[8], y: f64[8], err: i64[8]):
    v = var(0.0, f64)
    n = var(2, i64)
    a: f64 = x[0]
    b: f64 = a * a
    v = b
    n = 4
    tail = view(y[n], (4,))
    tail[0] = v
    tail[1] = a
    s = fold(add, 0.0, f64)
    for i in seq(0, 8):
        c: f64 = x[i]
        s += c
    t: f64 = part(s)
    whole = view(y[0], (8,))
    whole[1] = t
    y[2] = b
    d: f64 = y[1]
    wrong: bool = d < 0.0
    raise_if(wrong, 7, d)
    y[3] = d
"""


def test_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel as a whole, in pieces, and in pieces on the interpreter. The text is in tests/golden/kernel_passes/pieces_of_four.kf."""
    monkeypatch.setattr(pieces, "PIECE", 4)
    (kernel,) = parse(BEFORE)
    made = pieces.in_pieces([kernel])
    for k in made:
        verify(k)
    assert len(made) == 7
    for x0 in (1.5, -40.0):
        x = np.arange(8.0)
        x[0] = x0
        results: list[tuple[int, np.ndarray]] = []
        runs = (native(kernel), native(*made), lambda *a: Machine(kernels={k.name: k for k in made}).run(made[0], *a))
        for run in runs:
            y, err = np.zeros(8), np.zeros(8, int)
            results.append((run(x, y, err), y))
        assert all(np.array_equal(y, results[0][1]) for _, y in results)
        assert {status for status, _ in results} == {0 if x0 > 0 else 7}


def walks(x, w):
    """Loops of any number of trips, a stack, branches that store, prefix sums, rows in columns."""
    n = len(x)
    stack = [0.0]
    y = np.zeros(n)
    t, k = 0.0, 0
    while t < 3.0 and k < n:
        t += abs(x[k]) + 0.1
        if x[k] > 0:
            y[k] = np.exp(-t) * w[k]
        else:
            stack.append(t * w[k])
        k += 1
    for i in range(1, n):
        y[i] += 0.5 * y[i - 1] * x[i]
    z = np.cumsum(y) * w
    m = np.outer(x, w) + np.eye(n)
    s = np.linalg.solve(m + 4 * np.eye(n), z)
    return np.sum(s * np.sort(x)) + sum(stack) + np.sum(np.sin(m @ y) ** 2)


def slopes(x, w):
    return irad.value_and_grad(walks, argnums=(0, 1))(x, w)


@pytest.mark.parametrize("check", ["none", "memory"])
def test_programs(check: str) -> None:
    r = np.random.default_rng(3)
    x, w = r.standard_normal((2, 9))
    found = irad.compile(slopes, check=check)(x, w)
    assert found[0] == pytest.approx(walks(x, w), rel=1e-13)
    with without("pieces"):
        want = irad.compile(slopes)(x, w)
    for a, b in zip(found[1], want[1]):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_raises_from_a_piece() -> None:
    f = irad.compile(lambda x, i: walks(x, x) + x[i])
    x = np.random.default_rng(1).random(9)
    assert f(x, 8) == pytest.approx(walks(x, x) + x[8], rel=1e-13)
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        f(x, 9)


@pytest.fixture
def lengths(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    found: list[int] = []
    run = pieces.in_pieces

    def noted(kernels):
        made = run(kernels)
        found.append(len(made) - len(kernels))
        return made

    monkeypatch.setattr(pieces, "in_pieces", noted)
    yield found


def test_it_is_at_work(lengths: list[int]) -> None:
    irad.compile(lambda x: walks(x, 2 * x))(np.ones(4))
    assert lengths and lengths[-1] > 3


def test_memory_is_linear() -> None:
    """Of many buffers that hold nothing yet it is kept once when each is filled, not for each statement."""

    def peak(n: int) -> int:
        made = "".join(f"    b{k} = buf(f64, 4)\n" for k in range(n)) + "".join(f"    b{k}[0] = a\n" for k in range(n))
        (kernel,) = parse(f"\ndef f(x: f64[8], err: i64[8]):\n    a: f64 = x[0]\n{made}")
        tracemalloc.start()
        pieces.in_pieces([kernel])
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(1600) < 7 * peak(400)
