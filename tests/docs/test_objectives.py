"""The objectives of docs/examples/objectives: loops against arrays, derivatives against differences, and the tool's messages."""

from __future__ import annotations

import functools
import importlib
import json
import math
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from tests.support import ROOT

FOLDER = ROOT / "docs" / "examples" / "objectives"
RIGHT = 1e-6
SMALL = {"gmm": (7, 5, 3), "lstm": (2, 9, 5), "ode": (12, 7), "kmeans": (30, 7, 3), "llsq": (9, 31), "lse": (31,)}
LARGE = {"gmm": (100, 8, 10), "lstm": (4, 200), "ode": (200, 20), "kmeans": (1000, 20, 4), "llsq": (16, 1000), "lse": (1000,)}
PARTS = {  # array form, loop form, arguments to differentiate by
    "gmm": ("objective", "objective_loops", (0, 1, 2, 3)),
    "lstm": ("loss", "loss_loops", (0, 1)),
    "ode": ("last", "last_loops", (0,)),
    "kmeans": ("cost", "cost_loops", (1,)),
    "llsq": ("residual", "residual_loops", (0,)),
    "lse": ("logsumexp", "logsumexp_loops", (0,)),
}


@pytest.fixture(autouse=True)
def objectives(monkeypatch: pytest.MonkeyPatch) -> None:
    """The examples import each other by their names."""
    monkeypatch.syspath_prepend(str(FOLDER))


def close(found: Any, right: Any, tolerance: float = RIGHT) -> bool:
    """To a relative tolerance, by the largest element: many objectives have tiny derivatives."""
    return bool(np.max(np.abs(np.subtract(found, right))) <= tolerance * np.max(np.abs(right)))


def differences(f: Callable[[Any], Any], x: Any, h: float = 1e-3) -> Any:
    """Richardson's, of order 4: the Jacobian, result.shape + x.shape."""
    out = []
    for at in np.ndindex(x.shape):
        e = np.zeros(x.shape)
        e[at] = h
        out.append((8 * (f(x + e) - f(x - e)) - (f(x + 2 * e) - f(x - 2 * e))) / (12 * h))
    return np.moveaxis(np.array(out), 0, -1).reshape(*np.shape(out[0]), *x.shape)


def sample(name: str, sizes: tuple[int, ...]) -> tuple[Any, Any, tuple[int, ...], tuple[Any, ...]]:
    module = importlib.import_module(name)
    arrays, loops, wrt = PARTS[name]
    return getattr(module, arrays), getattr(module, loops), wrt, module.generate(*sizes)


@pytest.mark.parametrize("name", SMALL)
def test_gradients_are_those_of_differences(name: str) -> None:
    *forms, wrt, args = sample(name, SMALL[name])
    for f in forms:
        value, found = irad.value_and_grad(f, argnums=wrt)(*args)
        assert close(value, f(*args), 1e-13)
        for k, g in zip(wrt, found):
            assert close(g, differences(functools.partial(at_argument, f, args, k), args[k]))


def at_argument(f: Callable[..., Any], args: tuple[Any, ...], k: int, x: Any) -> Any:
    """f of the arguments, with x in place of one."""
    return f(*args[:k], x, *args[k + 1 :])


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_loops_and_arrays_have_one_gradient(name: str) -> None:
    arrays, loops, wrt, args = sample(name, LARGE[name])
    for a, b in zip(*(irad.grad(f, argnums=wrt)(*args) for f in (arrays, loops))):
        assert close(a, b, 1e-9)


def test_newton_step_of_kmeans() -> None:
    """Each centroid moves from the mean of its points: half of the gradient over how many they are."""
    import kmeans

    points, centroids = kmeans.generate(40, 5, 3)
    closest = np.argmin(np.sum((points[:, None] - centroids) ** 2, axis=2), axis=1)
    right = centroids - np.array([points[closest == k].mean(axis=0) for k in range(5)])
    for f in (kmeans.direction, kmeans.direction_loops):
        assert close(irad.compile(f)(points, centroids), right)


def test_jacobian_of_bundle_adjustment() -> None:
    import ba
    from scipy.sparse import csr_array

    cams, points, w, feats, cam_of, point_of = args = ba.generate(3, 4, 11)
    right = ba.objective_loops(*args)
    for f in (ba.objective, ba.objective_loops):
        assert all(close(a, b, 1e-13) for a, b in zip(irad.compile(f)(*args), right))

    def flat(z: Any) -> Any:
        c, p, v = np.split(z, [33, 45])
        return np.concatenate([e.ravel() for e in ba.objective_loops(c.reshape(3, 11), p.reshape(4, 3), v, *args[3:])])

    rows, cols, vals = irad.compile(ba.jacobian)(*args)
    dense = csr_array((vals, cols, rows)).toarray()
    assert close(dense, differences(flat, np.concatenate([cams.ravel(), points.ravel(), w])))


def test_rotation_by_nothing() -> None:
    """No angle: the derivative is the cross product's, and nothing is divided by 0."""
    import ba

    x = np.array([0.3, -0.2, 4.0])
    right = np.array([[0.0, x[2], -x[1]], [-x[2], 0.0, x[0]], [x[1], -x[0], 0.0]])
    assert np.array_equal(irad.jacobian(ba.rotated)(np.zeros(3), x), right)


@pytest.mark.parametrize("triangles", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_jacobian_of_hand_tracking(triangles: bool) -> None:
    import ht

    args = ht.generate(6, triangles, v=20)
    found = irad.compile(ht.jacobian)(*args)
    right = differences(lambda theta: ht.objective(theta, *args[1:]), args[0])
    assert close(found[..., 2 * triangles :], right)
    if triangles:
        by_us = differences(lambda us: ht.objective(args[0], us, *args[2:]), args[1])
        own = np.stack([by_us[k, :, k] for k in range(6)])
        assert close(found[..., :2], own)
    else:
        assert close(irad.compile(ht.errors_loops)(*args), ht.errors(*args), 1e-13)


@pytest.mark.parametrize("size", [1, 3, pytest.param(7, marks=pytest.mark.slow)])
def test_determinant(size: int) -> None:
    import det

    (A,) = det.generate(size)
    value, gradient = irad.value_and_grad(det.determinant)(A)
    right = np.linalg.det(A)
    assert close(value, right, 1e-12) and close(gradient, right * np.linalg.inv(A).T, 1e-9)


def test_recursion_of_the_determinant_is_kept() -> None:
    """Functions that call each other, or one that calls itself: no copy for each of the n! products."""
    import det

    for n in (6, 9, 11):
        text = str(irad.compile(det.determinant).lower(*det.generate(n), grad=True).passes[0][1])
        assert "call[callee=@minor_" in text and text.count("\n") < 150 * n


@pytest.mark.parametrize("outer", ["forward", "reverse"])
@pytest.mark.parametrize("inner", ["forward", "reverse"])
def test_searches(outer: str, inner: str) -> None:
    import particle
    import saddle

    assert math.isclose(irad.compile(lambda w: particle.solve(w, outer, inner))(0.0), 0.20719187464861, rel_tol=1e-10)
    found = irad.compile(lambda x: saddle.solve(x, outer, inner))(np.array([1.0, 1.0]))
    assert np.allclose(found, 8.246324826140356e-06, rtol=1e-10)


def test_tool() -> None:
    """A session: each message is answered by one line with its id."""
    messages = [
        {"kind": "start", "id": 0, "eval": "hello"},
        {"kind": "define", "id": 1, "module": "lse"},
        {"kind": "define", "id": 2, "module": "unheard"},
        {"kind": "evaluate", "id": 3, "module": "hello", "function": "double", "input": 3.0},
        {"kind": "evaluate", "id": 4, "module": "lse", "function": "gradient", "input": {"x": [0.0, 0.0], "min_runs": 3}},
        {"kind": "evaluate", "id": 5, "module": "lse", "function": "unheard", "input": {}},
        {"kind": "analysis", "id": 6, "of": 4, "valid": True},
    ]
    text = "".join(json.dumps(m) + "\n" for m in messages)
    out = subprocess.run([sys.executable, str(FOLDER / "tool.py")], input=text, capture_output=True, text=True, timeout=300)
    answers = [json.loads(line) for line in out.stdout.splitlines()]
    assert [a["id"] for a in answers] == list(range(7))
    assert answers[0]["tool"] == "irad" and answers[1]["success"] and not answers[2]["success"]
    assert answers[3]["output"] == 6.0 and answers[4]["output"] == [0.5, 0.5] and len(answers[4]["timings"]) == 3
    assert not answers[5]["success"] and "unheard" in answers[5]["error"]
