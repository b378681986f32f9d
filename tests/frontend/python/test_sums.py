"""`sum` of arrays whose number is known at run time: values and slopes beside plain Python; nothing to add is the number 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irad

X = np.array([[1.0, 2.0], [-0.5, 3.0], [0.5, -1.0], [2.0, 0.25]])


def of_list(x):
    kept = [p for p in x if p[0] > 0]
    return np.sum(sum(kept) / len(kept)) ** 2 if kept else 0.0


def of_generator(x):
    return np.sum(sum(p for p in x if p[0] > 0) ** 2)


def of_rows(x):
    return np.sum(sum(x[x[:, 0] > 0]) ** 2)


def of_products(x):
    return np.sum(sum(p * q for p, q in [(p, p[0]) for p in x if p[0] > 0]) ** 2)


def of_range(x):
    return np.sum(sum(x[k] * k for k in range(int(x[0, 1] + 0.5))) ** 2)


def from_a_number(x):
    return np.sum(sum((p for p in x if p[0] > 0), x[1, 1]) ** 2)


@pytest.mark.parametrize("f", [of_list, of_generator, of_rows, of_products, of_range, from_a_number])
def test_value_and_slope(f: Any) -> None:
    assert np.isclose(irad.compile(f)(X), f(X), rtol=1e-14)
    d = np.array([[0.3, 0.7], [-0.2, 0.4], [1.0, 0.1], [0.5, -0.6]])
    e = 1e-6 * d
    assert np.isclose(np.sum(irad.grad(f)(X) * d), (f(X + e) - f(X - e)) / 2e-6, rtol=1e-7)


def test_of_nothing() -> None:
    assert irad.compile(of_list)(-abs(X)) == 0.0
    assert irad.compile(of_generator)(-abs(X)) == of_generator(-abs(X)) == 0
