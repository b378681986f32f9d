"""Dicts that have other keys on each path, as nodes of trees do: values, gradients; and arrays of computed length on one path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad

X = np.array([0.62, 0.27, 0.04, 0.81])
ROWS = np.array([[0.9, 0.1], [0.4, 0.7], [0.2, 0.35], [0.65, 0.5], [0.3, 0.95], [0.75, 0.2]])


def on_two_paths(x: Any) -> Any:
    if x[0] > 0.5:
        node = {"value": x[1]}
    else:
        node = {"from": x[0], "to": x[2]}
    return node["value"] if "value" in node else node["from"] * node["to"]


def returned(x: Any) -> Any:
    def made(v: Any) -> Any:
        if v > 0.8:
            return {"value": v}
        if v > 0.5:
            return {"value": 2 * v, "weight": v * v}
        return {"from": v, "to": v + 1}

    total = 0.0
    for v in x:
        node = made(v)
        if "value" in node:
            total += node["value"] * node.get("weight", 1.0)
        else:
            total += node["from"] * node["to"]
    return total


def grown(x: Any, depth: int) -> Any:
    if depth == 0 or x[0] > 0.7:
        return {"leaf": True, "value": x[1] * depth}
    return {"leaf": False, "split": x[2] + 0.1, "left": grown(x * 0.9, depth - 1), "right": grown(x * 1.1, depth - 1)}


def a_tree(x: Any) -> Any:
    node, total = grown(x, 3), 0.0
    while not node["leaf"]:
        total += node["split"]
        node = node["left"] if x[1] > total else node["right"]
    return node["value"] + total


class Leaf:
    def __init__(self, value: Any):
        self.value = value


class Split:
    def __init__(self, at: Any, left: Any, right: Any):
        self.at, self.left, self.right = at, left, right


def grown_of_classes(x: Any, depth: int) -> Any:
    if depth == 0 or x[0] > 0.7:
        return Leaf(x[1] * depth)
    return Split(x[2], grown_of_classes(x * 0.9, depth - 1), grown_of_classes(x * 1.1, depth - 1))


def a_tree_of_classes(x: Any) -> Any:
    node, total = grown_of_classes(x, 2), 0.0
    while isinstance(node, Split):
        total += node.at
        node = node.left if x[1] > total else node.right
    return node.value + total


def a_regression_tree(y: Any) -> Any:
    def build(rows: Any, depth: int) -> Any:
        if depth == 0 or len(rows) < 2:
            return {"value": np.mean(y[rows])}
        best, least = None, np.inf
        for feature in range(2):
            for at in ROWS[rows, feature]:
                left, right = rows[ROWS[rows, feature] < at], rows[ROWS[rows, feature] >= at]
                if len(left) == 0 or len(right) == 0:
                    continue
                error = len(left) * np.var(y[left]) + len(right) * np.var(y[right])
                if error < least:
                    least = error
                    best = (feature, at, left, right)
        if best is None:
            return {"value": np.mean(y[rows])}
        return {"feature": best[0], "at": best[1], "left": build(best[2], depth - 1), "right": build(best[3], depth - 1)}

    tree = build(np.arange(len(y)), 1)
    total = 0.0
    for k, row in enumerate(ROWS):
        node = tree
        while "value" not in node:
            node = node["left"] if row[node["feature"]] < node["at"] else node["right"]
        total += (k + 1) * node["value"]
    return total


def the_best_rows(y: Any) -> Any:
    best, least = None, np.inf
    for at in ROWS[:, 0]:
        mask = ROWS[:, 0] < at
        error = np.var(y[mask]) * mask.sum() if mask.any() else 1e9
        if error < least:
            least = error
            best = {"at": at, "left": np.flatnonzero(mask), "right": y[~mask]}
    return best["at"] * np.sum(y[best["left"]]) + np.sum(best["right"]) ** 2


def differences(f: Any, x: np.ndarray, h: float = 1e-6) -> list[float]:
    return [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))]


Y = np.array([0.31, 1.27, 0.85, 0.44, 1.62, 0.2])


@pytest.mark.parametrize(
    "f, x",
    [(on_two_paths, X), (on_two_paths, X - 0.2), (returned, X), (a_tree, X), (a_tree, X + 0.2), (a_tree_of_classes, X),
     (a_regression_tree, Y), (the_best_rows, Y)],
)  # fmt: skip
def test_value_and_gradient(f: Any, x: Any) -> None:
    value, slope = irad.value_and_grad(f)(x)
    assert np.isclose(value, f(x), rtol=1e-12)
    assert np.allclose(slope, differences(f, x), rtol=1e-6, atol=1e-8)


def test_a_recursion_that_known_numbers_do_not_end_is_refused() -> None:
    def halved(v: Any) -> Any:
        return {"value": v} if v < 0.1 else {"half": halved(v / 2)}

    with pytest.raises(irad.UnsupportedError, match="structure"):
        irad.compile(lambda x: len(halved(x[0])))(X)


def test_what_stands_for_a_dict_or_set_takes_no_attributes() -> None:
    """An object on one path has them; a dict or set raises Python's AttributeError."""

    class Node:
        def __init__(self, v: Any) -> None:
            self.v = v

    def of_dicts(x: Any) -> Any:
        o, q = Node(x[0]), {"leaf": 1.0}
        for v in x:
            q = {"leaf": v} if v > 0.5 else {"leaf": v, "more": 1.0}
        if x[1] > 0.3:
            q = o
        if x[0] > 0.1:
            q.v = x[2] * 2
        return o.v

    def of_sets(x: Any) -> Any:
        q = {1, 2}
        q.add(int(x[0] * 3))
        q.v = 3.0  # type: ignore[attr-defined]
        return len(q)

    f = irad.compile(of_dicts)
    assert f(np.array([0.5, 0.5, 0.2])) == 0.4 and f(np.array([0.05, 0.1, 0.9])) == 0.05
    with pytest.raises(AttributeError, match="'dict' object has no attribute 'v'"):
        f(np.array([0.5, 0.1, 0.9]))
    with pytest.raises(AttributeError, match="'set' object has no attribute 'v'"):
        irad.compile(of_sets)(np.array([0.5]))
