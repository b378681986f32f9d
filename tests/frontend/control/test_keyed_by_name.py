"""Dicts of known texts, some of which are there on some paths only: values of any kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad

X = np.array([0.3, 0.5, 0.45, 0.1, -0.2, 0.7])


def best_stump(x: Any, at: float) -> Any:
    best, least = {}, np.inf
    for i in range(len(x)):
        for side in ["below", "above"]:
            off = (x[i] - at) ** 2 + (0.1 if side == "below" else 0.0)
            if off < least:
                least = off
                best["feature"] = i
                best["split"] = x[i] * 2
                best["side"] = side
                best["row"] = x * i
    best["weight"] = least
    return best


def boosted(x: Any) -> Any:
    stumps = []
    for k in range(3):
        stumps.append(best_stump(x, 0.12 * k))
    return sum(s["weight"] * s["split"] + np.sum(s["row"]) + (1 if s["side"] == "below" else 2) * s["feature"] for s in stumps)


def from_nothing(x: Any) -> Any:
    found = {"name": None, "value": None}
    for v in x:
        if v > 0.4:
            found["value"] = v * v
            found["why"] = "large" if v > 0.6 else "middling"
    if found["value"] is None:
        return x[0]
    return found["value"] + len(found["why"])


def asked(x: Any) -> Any:
    d: dict[str, Any] = {}
    if x[1] > 0:
        d["b"] = x
    if x[2] > 0:
        d["c"] = [x[0], x[1]]
    s = d.get("z", 3.0) + len(d)
    if "b" in d:
        s += np.sum(d["b"])
    if "q" in d:
        s += 100
    e, f = d.copy(), dict(d)
    e["c"] = [x[3], x[4]]
    if "c" in f:
        del f["c"]
    d.setdefault("c", [x[5], x[5]])
    return s + e["c"][0] * len(f) + d.pop("c")[0] + len(d) + (1.0 if d else 2.0)


def gone_over(x: Any) -> Any:
    """All keys are asked for: they come in the order in which they were put there."""
    d: dict[str, Any] = {}
    for v in x:
        if v > 0.4:
            d["high"] = d.get("high", 0.0) + v
        else:
            d["low"] = v * 2
    return sum((i + 1) * d[k] for i, k in enumerate(d)) + sum(d.values())


@pytest.mark.parametrize("f", [boosted, from_nothing, asked, gone_over])
@pytest.mark.parametrize("x", [X, X * 0.5, -X, np.abs(X)])
def test_keys_on_some_paths(f: Any, x: np.ndarray) -> None:
    g = irad.compile(f)
    assert np.isclose(g(x), f(x), rtol=1e-13)
    irad.check_grads(f, (x,), modes=("rev",))


def test_a_key_that_is_not_there() -> None:
    def read(x: Any) -> Any:
        d = {}
        if x > 1:
            d["a"] = x
        return d["a"]

    g = irad.compile(read)
    assert g(2.0) == 2.0
    with pytest.raises(KeyError, match="'a'"):
        g(0.5)


def test_a_dict_for_the_caller() -> None:
    def made(x: Any) -> Any:
        d = {"a": x[0]}
        if x[1] > 0:
            d["b"] = x[1] * 2
        return d

    g = irad.compile(made)
    assert g(X) == made(X) and g(-X) == made(-X)
