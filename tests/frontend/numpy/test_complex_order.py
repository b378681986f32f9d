"""Ordering of complex numbers, and the other NumPy functions that treat them in a way of their own, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import irad
from irad.core.tree import flatten

RNG = np.random.default_rng(0)
Z = np.round(RNG.normal(size=(3, 5)) * 1.5) + 1j * np.round(RNG.normal(size=(3, 5)) * 1.5)
NANS = Z.copy()
NANS[[0, 1, 1, 2, 1, 1], [1, 2, 3, 0, 0, 4]] = [
    np.nan,
    complex(1, np.nan),
    complex(np.nan, 1),
    complex(-3, np.nan),
    complex(np.nan, np.nan),
    complex(-9, np.nan),
]
INFS = Z.copy()
INFS[0], INFS[1, 2] = complex(-np.inf, -np.inf), complex(np.inf, 1)
SMOOTH = Z + RNG.normal(size=(3, 5)) * 0.1 + 0.1j * RNG.normal(size=(3, 5))


def in_place(z: np.ndarray) -> np.ndarray:
    z = z * 1
    z.sort(axis=1)
    return z


ORDER: dict[str, Callable[[np.ndarray], Any]] = {
    "sort": lambda z: np.sort(z, 1), "sort, first axis": lambda z: np.sort(z, 0), "sort, flat": lambda z: np.sort(z, None),
    "sort in place": in_place, "argsort": lambda z: np.argsort(z, 1, kind="stable"), "partition": lambda z: np.sort(np.partition(z, 2, 1)[:, :3], 1),
    "max": lambda z: np.max(z, 0), "min": lambda z: z.min(1, keepdims=True), "max of all": lambda z: np.max(z), "ptp": lambda z: np.ptp(z, 1),
    "max where": lambda z: np.max(z, 0, initial=0, where=z.real > 0), "argmax": lambda z: np.argmax(z, 1), "argmin": lambda z: np.argmin(z),
    "clip": lambda z: np.clip(z, -1j, 1), "maximum.accumulate": lambda z: np.maximum.accumulate(z, 1), "minimum.reduce": lambda z: np.minimum.reduce(z, 1),
    "median": lambda z: np.median(z, 1),
}  # fmt: skip
OTHERS: dict[str, Callable[[np.ndarray], Any]] = {
    "cov": lambda z: np.cov(z), "cov of two": lambda z: np.cov(z[0], z[1], bias=True), "corrcoef": lambda z: np.corrcoef(z),
    "correlate": lambda z: np.correlate(z[0], z[1][:3], "full"), "correlate, valid": lambda z: np.correlate(z[0], z[1]), "correlate, swapped": lambda z: np.correlate(z[0][:2], z[1], "same"),
    "interp": lambda z: np.interp([0.3, 1.2, 9.0], [0.0, 1, 2, 3, 4], z[0]), "linear_ramp": lambda z: np.pad(z, 2, mode="linear_ramp", end_values=1j),
    "pad mean": lambda z: np.pad(z, 2, mode="mean"), "sinc": lambda z: np.sinc(z), "matvec": lambda z: z @ z[0], "vdot": lambda z: np.vdot(z, z * 1j),
}  # fmt: skip
if hasattr(np, "vecdot"):
    OTHERS["vecdot"] = lambda z: np.vecdot(z, z[::-1])
if hasattr(np, "vecmat"):
    OTHERS["vecmat"] = lambda z: np.vecmat(z[0], z.T)


def close(got: Any, want: Any, tolerance: float) -> None:
    for x, y in zip(flatten(got)[0], flatten(want)[0], strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ORDER)
def test_order_is_numpys(name: str) -> None:
    f = irad.compile(ORDER[name])
    with np.errstate(all="ignore"):
        for z in (Z, NANS, Z.astype(np.complex64), *([INFS] if name != "median" else [])):  # NumPy divides an infinity by 1 there
            close(f(z), ORDER[name](z), 1e-6 if z.dtype == np.complex64 else 1e-15)


@pytest.mark.parametrize("name", OTHERS)
def test_values_are_numpys(name: str) -> None:
    close(irad.compile(OTHERS[name])(SMOOTH), OTHERS[name](SMOOTH), 1e-12)


@pytest.mark.parametrize("name", [n for n in (*ORDER, *OTHERS) if not n.startswith("arg")])
def test_derivatives(name: str) -> None:
    irad.check_grads({**ORDER, **OTHERS}[name], (SMOOTH,), rtol=1e-5)
