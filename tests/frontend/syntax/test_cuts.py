"""What is cut right before a `break` is cut after the loop: values and slopes beside plain Python."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest

from irad.frontend.syntax.cuts import with_cuts_after_loops
from tests.support.as_python import check

X = np.array([1.53, 0.41, 0.62, 0.23])


def converged(x):
    h, v = np.zeros(30), x[0]
    for i in range(30):
        v = v * 0.7 + 0.1 * np.sin(v)
        h[i] = v
        if abs(v) < 0.3:
            h = h[: i + 1]
            break
    return h.sum() + len(h) + h[-1] ** 2


class Model:
    def __init__(self, x: Any):
        self.errors, self.x = np.zeros(40), x

    def fit(self) -> Any:
        for i in range(40):
            self.x = self.x * 0.8
            self.errors[i] = np.sum(self.x**2)
            if i > 1 and abs(self.errors[i] - self.errors[i - 1]) < 1e-3:
                self.errors = self.errors[:i]
                break
        return self


def of_an_object(x):
    m = Model(x).fit()
    return m.errors.sum() + m.x.sum() + m.errors.shape[0]


def several(x):
    """More than one, things that are read after them, several ways out, and an else clause."""
    h, g, v, done = np.zeros((2, 25)), np.zeros(25), x[0], 0
    for i in range(25):
        v = v * 0.7
        h[:, i] = v
        g[i] = v * v
        if abs(v) < 0.05:
            h = h[:, : i + 1]
            g = g[1:i]
            v = g[-1] + len(g)
            done = 1
            break
        elif v > x[3] * 9:
            g = np.append(g, x[1])
            break
    else:
        h = h * 2
    return h.sum() + g.sum() + v + done


def inner(x):
    total, n = 0.0, 9
    for k in range(4):
        h = np.zeros(n)
        while True:
            h += x[k]
            if h[0] > 2.0:
                h = h[: k + 2]
                break
        total += np.sum(h * np.arange(len(h)))
    return total


@pytest.mark.parametrize("program", [converged, of_an_object, several, inner], ids=lambda f: f.__name__)
def test_as_python(program):
    for x in (X, X[::-1].copy(), 0.1 * X):
        if program is not inner or x[0] > 0.2:
            check(program, (x,))


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("h = h[:i]; g = 1; break", True),
        ("if c:\n            o.h = f(o.h)\n            break", True),
        ("h = g[:i]; break", False),
        ("h = h[0]; break", False),
        ("h = h[:i]; continue\n        break", False),
        ("for j in x:\n            pass\n        h += 1; break", False),
        ("try:\n            h = h[:i]; break\n        finally:\n            pass", False),
    ],
)
def test_which(text: str, moved: bool) -> None:
    tree = ast.parse(f"def f(x):\n    for i in x:\n        {text}\n    return h").body[0]
    out = with_cuts_after_loops(tree)
    assert (out is not tree) == moved
    if moved:
        text = ast.unparse(out)
        assert text.index("break") < text.index("[:i]" if "[:i]" in text else "f(o.h)") < text.index("return")
