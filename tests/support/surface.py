"""A program against plain Python and NumPy: its value, what it prints, and its gradient by differences."""

from __future__ import annotations

import contextlib
import copy
import io
from collections.abc import Callable
from typing import Any

import numpy as np

import irad


def said(f: Callable[..., Any], *args: Any) -> tuple[Any, str]:
    """What a function returns and prints."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        value = f(*copy.deepcopy(args))
    return value, out.getvalue()


def check(f: Callable[..., Any], *args: Any) -> None:
    """Value, class, dtype and print as Python's; the gradient with respect to the first argument as differences have it."""
    want, printed = said(f, *args)
    got, shown = said(irad.compile(f), *args)
    assert type(got) is type(want) and np.asarray(got).dtype == np.asarray(want).dtype
    np.testing.assert_allclose(got, want, rtol=1e-12)
    assert shown == printed
    slope(f, *args)


def slope(f: Callable[..., Any], *args: Any) -> None:
    """The derivative along one direction against Richardson's differences."""
    x = np.asarray(args[0], float)
    d = np.random.default_rng(1).standard_normal(x.shape)
    at = lambda h: said(f, x + h * d if x.ndim else float(x + h * d), *args[1:])[0]
    want = (8 * (at(1e-4) - at(-1e-4)) - (at(2e-4) - at(-2e-4))) / 12e-4
    (value, gradient), _ = said(irad.value_and_grad(f), *args)
    np.testing.assert_allclose(value, at(0.0), rtol=1e-12)
    np.testing.assert_allclose(np.sum(gradient * d), want, rtol=1e-7, atol=1e-7)
