"""How functions of SciPy that are written in NumPy are tested: run by Python against SciPy, then compiled in a program with its slope."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy

import irad

NEW = np.lib.NumpyVersion(scipy.__version__) >= "1.18.0"  # whose splines begin otherwise, and two points have no p-value


def call(f: Any, *args: Any, **named: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    return f, args, named


def _parts(x: Any) -> list[np.ndarray]:
    """The arrays of a result, and of the tuples and dicts in it."""
    if isinstance(x, dict):
        return [part for key in sorted(x) for part in _parts(x[key])]
    return [part for item in x for part in _parts(item)] if isinstance(x, tuple) else [np.asarray(x)]


def check_not_compiled(modules: list[Any], calls: list[tuple[Any, tuple[Any, ...], dict[str, Any]]], rtol: float = 1e-9) -> None:
    """Values, shapes, dtypes and exceptions of functions of these modules are SciPy's."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for f, args, named in calls:
            ours = next(getattr(m, f.__name__) for m in modules if hasattr(m, f.__name__))
            said = f"{f.__name__} {args[1:]} {named}"
            try:
                want = f(*args, **named)
            except (TypeError, ValueError) as e:
                try:
                    ours(*args, **named)
                except type(e):
                    continue
                raise AssertionError(f"{said}: no {type(e).__name__}") from None
            for g, w in zip(_parts(ours(*args, **named)), _parts(want), strict=True):
                assert (g.shape, g.dtype) == (w.shape, w.dtype), f"{said}: {g.dtype} {g.shape}, not {w.dtype} {w.shape}"
                np.testing.assert_allclose(g, w, rtol=rtol, atol=1e-12, err_msg=said)


def check_compiled(f: Any, x: np.ndarray, rtol: float = 1e-11, h: float = 1e-6) -> None:
    """The value is that of plain Python, the slope that of central differences with steps of h, which lose digits where h is large."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        value, slope = irad.value_and_grad(f)(x)
        np.testing.assert_allclose(value, f(x), rtol=rtol)
        moved = lambda e, h: f(x + h * e.reshape(x.shape))
        want = np.array([(moved(e, h) - moved(e, -h)) / (2 * h) for e in np.eye(x.size)]).reshape(x.shape)
        np.testing.assert_allclose(slope, want, rtol=max(1e-5, 0.1 * h), atol=max(1e-6, 0.1 * h))
