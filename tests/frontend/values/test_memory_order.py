"""Arrays come out of a call in the memory order that NumPy gives them, and numbers in the class of the path that was taken."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad

A = np.arange(24.0)


def made(x: Any) -> Any:
    y = np.zeros((2, 3), order="F")
    y[0] = x[0, 0]
    z = np.empty_like(y)
    z[...] = 3.0
    return y, y + 1.0, np.asfortranarray(x * 2), z


def views(x: Any) -> Any:
    return x.T, x.T.copy(), np.sin(x.T), x[:, ::-1], x.T @ x, np.swapaxes(x, 0, 1) + 1.0


def twice(x: Any) -> Any:
    y = x.T * 2.0
    return y, [y], {"y": y, "t": y.T}


def permuted(x: Any) -> Any:
    z = x.reshape(2, 3, -1)
    return np.transpose(z, (2, 0, 1)) * 2.0, np.moveaxis(z, 0, 1) + 1.0, np.swapaxes(z, 0, 2)


@pytest.mark.parametrize("f", [made, views, twice, permuted])
@pytest.mark.parametrize("x", [A.reshape(4, 6), A.reshape(4, 6).copy(order="F"), A.reshape(6, 4).T, A.reshape(4, 6)[:, ::2]])
def test_results(f: Callable[..., Any], x: np.ndarray) -> None:
    c = irad.compile(f)
    for _ in range(3):
        got, want = c(x), f(x)
        for g, w in zip(flat(got), flat(want)):
            np.testing.assert_allclose(g, w, rtol=1e-14)
            if w.flags.c_contiguous or w.flags.f_contiguous:  # a view that is neither comes as an array of its own
                assert (g.flags.c_contiguous, g.flags.f_contiguous) == (w.flags.c_contiguous, w.flags.f_contiguous)
                assert g.strides == w.strides
    if f is twice:
        assert got[0] is got[1][0] is got[2]["y"]


def flat(x: Any) -> list[Any]:
    if isinstance(x, np.ndarray):
        return [x]
    return [v for e in (x.values() if isinstance(x, dict) else x) for v in flat(e)]


def test_what_is_assigned() -> None:
    boxes = [types.SimpleNamespace(m=np.zeros((2, 3), order="F"), l=[]) for _ in range(2)]

    def step(c: Any, x: Any) -> Any:
        c.m = c.m + x
        c.n = x.T
        c.l.append(np.cos(c.m))
        return c.m

    for c, f in zip(boxes, (step, irad.compile(step))):
        for k in range(4):
            assert f(c, np.full((2, 3), k + 1.0)) is c.m
    for a, b in zip(*([c.m, c.n, *c.l] for c in boxes)):
        assert np.allclose(a, b) and a.strides == b.strides


def test_a_captured_array_of_another_memory_order() -> None:
    """Whether `reshape` copies is decided by the order that there is."""
    held = []
    for compiled in (False, True):
        s = types.SimpleNamespace(m=np.arange(6.0).reshape(2, 3), unread=np.zeros((2, 3)))

        def f(x: float, s: Any = s) -> Any:
            s.m.reshape(-1)[1] = x
            return s.m * x, s.unread.shape[0], s.unread.T

        g = irad.compile(f) if compiled else f
        seen = []
        for k in range(6):
            if k == 2:
                s.m, s.unread = np.asfortranarray(s.m), np.asfortranarray(s.unread)
            elif k == 4:
                s.m = np.arange(12.0).reshape(2, 6)[:, ::2]
            out = g(10.0 + k)
            seen.append([out[0].tolist(), out[0].strides, out[1], out[2].strides, s.m.tolist()])
        held.append(seen)
    assert held[0] == held[1]


# ---- numbers ----------------------------------------------------------------------------------------------------------------


def chosen(x: Any) -> Any:
    n = 1
    if x > 2:
        n = x
    return n, [n], {"n": 1 if x > 2 else 2.5}, True if x > 2 else 2.5, 1j if x > 2 else 2.5, np.float32(x) if x > 2 else x


def early(x: Any) -> Any:
    if x > 2:
        return np.sin(x)
    return 0


def called(x: Any) -> Any:
    return early(x), early(-x), max(x, 0), x > 2 and x, x < 2 or 3.5


def asked(x: Any) -> Any:
    n = 1 if x > 2 else 2.5
    return isinstance(n, int), isinstance(n, float), isinstance(n, (int, float)), x if isinstance(n, int) else -x


@pytest.mark.parametrize("f", [chosen, early, called, asked])
def test_classes_of_numbers(f: Callable[..., Any]) -> None:
    c = irad.compile(f)
    for x in (1.0, 3.0, 3.0, -1.0, 1.0, 2.0):
        assert repr(c(x)) == repr(f(x))


def test_classes_of_numbers_that_are_assigned() -> None:
    boxes = [types.SimpleNamespace(n=0, l=[0, 0.0]) for _ in range(2)]

    def f(c: Any, x: float) -> Any:
        c.n = 1 if x > 2 else c.n + 2.5
        c.l[0] = True if x > 2 else 7
        return c.n

    for c, g in zip(boxes, (f, irad.compile(f))):
        c.seen = [repr((g(c, x), vars(c))) for x in (1.0, 3.0, 3.0, 1.0, 1.0)]
    assert boxes[0].seen == boxes[1].seen


def test_a_large_whole_number_beside_a_float_is_refused_when_it_comes() -> None:
    f = irad.compile(lambda n, x: n if x > 2 else 2.5)
    assert [f(7, 1.0), f(7, 3.0)] == [2.5, 7] and type(f(7, 3.0)) is int
    assert f(2**60 + 1, 1.0) == 2.5
    with pytest.raises(OverflowError, match="make it one of them on both"):
        f(2**60 + 1, 3.0)
