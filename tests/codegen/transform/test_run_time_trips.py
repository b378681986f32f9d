"""Loops whose trips only the run counts: in parts, as lanes, the recurrence apart, at numbers of trips around those of lanes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import irad

TRIPS = (-3, 0, 1, 2, 7, 15, 16, 17, 31, 32, 33, 50)


def powers(x, a, n, m):
    """Sums of powers, in order."""
    s = 0.0
    for i in range(n):
        p, t = 1.0, 0.0
        for k in range(m):
            t += a[k] * p
            p *= x[i]
        s += t * t
    return s


def recurrence(x, a, n, m):
    """A recurrence ahead of logarithms."""
    h, s = 1.0, 0.0
    for t in range(1, n):
        h = 0.1 + 0.2 * x[t - 1] ** 2 + 0.7 * h
        s += np.log(h) + x[t] * x[t] / h
    return s


def ring(x, a, n, m):
    """Neighbours that wrap round, in reverse order, with a branch on data and the first trip apart."""
    y = np.zeros(64)
    for i in range(n - 1, -1, -1):
        if x[i] > 0.5:
            d = x[i] - x[(i - 1) % n]
        else:
            d = np.sqrt(x[(i + 1) % n] + x[i] * x[i])
        if i > 0:
            d = d * x[i] + np.exp(d)
        y[i] = d * a[0] + np.cos(d)
    return np.sum(y[:n] if n > 0 else y[:0]) + np.sum(y * x)


def begun(x, a, n, m):
    """A sum in order to which all trips but the first add twice."""
    s = 0.0
    for i in range(n):
        s += np.sin(x[i])
        if i > 0:
            s += a[0] * x[i - 1]
    return s


def clamped(x, a, n, m):
    """A window that stays inside, and its sums."""
    y = np.zeros(64)
    for i in range(n):
        y[i] = a[0] * x[max(i - 1, 0)] + a[1] * np.exp(x[i]) + a[2] * x[min(i + 1, n - 1)] / (1.0 + x[i] * x[i])
    return np.sum(y * y)


def slices(x, a, n, m):
    """As many as there are."""
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = np.exp(x[i]) * x[max(i - 1, 0)] / (1.0 + x[i] * x[min(i + 1, len(x) - 1)] ** 2)
    return np.sum(y * y)


def features(X, w):
    """Samples and their features: what a trip records, and what lanes add to, are as many as there are features."""
    s = 0.0
    for i in range(X.shape[0]):
        z = 0.0
        for k in range(X.shape[1]):
            z += np.tanh(w[k] * X[i, k]) * X[i, 0]
        s += np.log(1.0 + z * z)
    return s


CASES = [powers, recurrence, ring, begun, clamped]


def numbers() -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    return rng.random(64), rng.standard_normal(8)


@pytest.mark.parametrize("f", CASES)
def test_trips_as_an_argument(f):
    """One program for all numbers of trips gives NumPy's bits, but for what is transcendental, and the gradient of known trips."""
    x, a = numbers()
    value, gradient = irad.compile(f), irad.compile(irad.grad(f, argnums=(0, 1)))
    for n in TRIPS:
        np.testing.assert_allclose(value(x, a, n, 5), f(x, a, n, 5), rtol=1e-14)
        known = irad.compile(irad.grad(lambda x, a: f(x, a, n, 5), argnums=(0, 1)))(x, a)  # noqa: B023
        for got, want in zip(gradient(x, a, n, 5), known):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    assert powers is not f or value(x, a, 33, 5) == f(x, a, 33, 5)
    assert "W=16, most=15)" in value.lower(x, a, 33, 5).kernel


def test_extents_of_the_call():
    """So do run-time extents, of which one version has many."""
    value, gradient = irad.compile(slices, dynamic=True), irad.compile(irad.grad(slices), dynamic=True)
    for n in (1, 2, 15, 16, 17, 33, 40, 64):
        x = numbers()[0][:n]
        np.testing.assert_allclose(value(x, x, 0, 0), slices(x, x, 0, 0), rtol=1e-14)
        known = irad.grad(lambda x: slices(x, x, 0, 0))(x)
        np.testing.assert_allclose(gradient(x, x, 0, 0), known, rtol=1e-12, atol=1e-14)


def test_features_of_the_call():
    """Extents that are only known to be between two numbers: nothing is read or added to behind the arrays."""
    gradient = irad.compile(irad.grad(features, argnums=(0, 1)), dynamic=True)
    rng = np.random.default_rng(3)
    for n, m in ((1, 1), (2, 3), (16, 2), (33, 5), (40, 7), (35, 1), (50, 30)):
        X, w = rng.standard_normal((n, m)), rng.standard_normal(m)
        known = irad.grad(lambda X, w: features(X, w), argnums=(0, 1))(X, w)
        for got, want in zip(gradient(X, w), known):
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13)


def per_sample(x, a):
    return powers(x, a, len(x), len(a))


def test_records_of_a_run_time_extent() -> None:
    """A trip of the backward follows its forward, with as many records as `a` has elements."""
    gradient = irad.compile(irad.grad(per_sample, argnums=(0, 1)), dynamic=("a",))
    x = numbers()[0][:40]
    for m in (7, 2, 3, 16, 30):
        a = np.random.default_rng(m).standard_normal(m)
        known = irad.grad(per_sample, argnums=(0, 1))(x, a)
        for got, want in zip(gradient(x, a), known):
            np.testing.assert_allclose(got, want, rtol=1e-13)
    assert "i_records_0 = buf(f64" in gradient.lower(x, a).kernel or os.environ.get("IRAD_CHECK") == "memory"  # then on the tape
