"""`irad.flatten`: trees as vectors and back, inside compiled code and outside."""

from __future__ import annotations

import dataclasses
import pickle
import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize

import irad


class Pair(NamedTuple):
    u: Any
    v: Any


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any


TREE = {
    "w": np.arange(6.0, dtype=np.float32).reshape(3, 2),
    "pair": Pair(np.array(7.0), np.float32(8.0)),
    "layer": Layer(np.array([[9.0]]), [10.5, (np.zeros((2, 0)),)]),
    "name": "tanh",
    "none": None,
}


def test_there_and_back() -> None:
    """Order, dtype, shapes and kinds of numbers; what is no number stays."""
    x, back = irad.flatten(TREE)
    assert x.dtype == np.float64 and x.tolist() == [0, 1, 2, 3, 4, 5, 7, 8, 9, 10.5]
    found = back(x)
    assert found["w"].dtype == np.float32 and np.array_equal(found["w"], TREE["w"])
    assert type(found["pair"]) is Pair and found["pair"].u.shape == () and type(found["pair"].v) is np.float32
    assert type(found["layer"]) is Layer and type(found["layer"].b[0]) is float and found["layer"].b[1][0].shape == (2, 0)
    assert found["name"] == "tanh" and found["none"] is None
    x[0] = 99.0
    assert found["w"][0, 0] == 0.0, "the tree holds copies"
    assert irad.flatten(TREE)[1] is back and pickle.loads(pickle.dumps(back)) is back
    assert irad.flatten({})[0].shape == (0,) and irad.flatten(np.ones((2, 2), np.float32))[0].dtype == np.float32
    z, again = irad.flatten((1j, np.ones(2)))
    assert z.dtype == np.complex128 and type(again(z)[0]) is complex and again(z)[1].dtype == np.float64
    assert irad.compile(lambda v: (again(v)[0] * 2, again(v)[1]))(z)[0] == 2j


def loss(p: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ p["w"] + p["layer"].w * p["pair"].u) ** 2) * p["layer"].b[0] + p["pair"].v ** 2


def test_derivatives() -> None:
    """The gradient by the vector is the vector of the gradient, whether `flatten` is called outside or inside."""
    data = np.linspace(-0.3, 0.3, 12).reshape(4, 3)
    x, back = irad.flatten(TREE)
    value, slope = irad.value_and_grad(lambda v: loss(back(v), data))(x)
    expected, tree = irad.value_and_grad(loss)(TREE, data)
    np.testing.assert_allclose(value, expected, rtol=1e-6)
    np.testing.assert_allclose(slope, irad.flatten(tree)[0], rtol=1e-6)

    def inside(p: Any) -> Any:
        v, again = irad.flatten(p)
        q = again(2.0 * v)
        q["w"][0, 0] += 3.0
        q["more"] = v
        return np.sum(v * v) + np.sum(q["w"] ** 2) + q["layer"].b[0] + np.sum(q["more"])

    np.testing.assert_allclose(irad.compile(inside)(TREE), inside(TREE), rtol=1e-6)
    w = TREE["w"]
    expected = 2 * w + 8 * w + 1  # type: ignore[operator]
    expected[0, 0] += 12.0
    np.testing.assert_allclose(irad.grad(inside)(TREE)["w"], expected, rtol=1e-6)


def test_with_an_optimiser() -> None:
    start = {"a": np.zeros(2), "b": 0.0}
    x, back = irad.flatten(start)
    target = np.array([1.0, -2.0])
    f = irad.value_and_grad(lambda v: np.sum((back(v)["a"] - target) ** 2) + (back(v)["b"] - 3.0) ** 2)
    found = back(minimize(f, x, jac=True).x)
    np.testing.assert_allclose(found["a"], target, atol=1e-6)
    assert abs(found["b"] - 3.0) < 1e-6


@pytest.mark.parametrize(
    ("tree", "message"),
    [({"n": 3}, "a whole number"), ([np.arange(3)], "an array of int64"), ([np.array([True])], "an array of bool")],
)
def test_whole_numbers_are_refused(tree: Any, message: str) -> None:
    with pytest.raises(irad.IradTypeError, match=message):
        irad.flatten(tree)


def test_wrong_length() -> None:
    _, back = irad.flatten({"a": np.zeros(2), "b": 0.0})
    message = re.escape("a vector of 3 numbers is wanted, not an array of shape (2,)")
    with pytest.raises(irad.IradValueError, match=message):
        back(np.zeros(2))
    with pytest.raises(ValueError, match=message):
        irad.compile(lambda v: back(v)["b"])(np.zeros(2))
