"""What the `main` of a case calls: a compiled function against the plain one, and its derivatives against differences."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import irad
from irad.errors import IradError
from irad.tree import flatten
from tests.fuzz.case import Fault

RTOL = {"float16": 2e-2, "float32": 2e-4, "complex64": 2e-4}  # of the largest number of an array; others: 1e-9


def values(f: Callable[..., Any], *inputs: Sequence[Any], compiled: Any = None) -> None:
    """f compiled does what f does, for each of the argument lists: result, exception, and what its arguments hold afterwards."""
    c = irad.compile(f) if compiled is None else compiled
    for args in inputs:
        mine, theirs = copy.deepcopy((args, args))
        got, want = outcome(c, mine), outcome(f, theirs)
        try:
            same((got, mine), (want, theirs))
        except AssertionError as e:
            if not _within_noise(f, args, (got, mine), (want, theirs)):
                raise Fault(f"{e}\n{args!r}\nirad: {got!r}\nPython: {want!r}") from None


def outcome(f: Callable[..., Any], args: Sequence[Any]) -> Any:
    """What f returns; the name of the exception that it raises, of Python's own."""
    try:
        with np.errstate(all="ignore"):
            return f(*args)
    except IradError:
        raise
    except Exception as e:
        return f"raises {type(e).__name__}"


def same(got: Any, want: Any, slack: Any = 0.0) -> None:
    """Same structure, dtypes, shapes and numbers but for rounding. Raises AssertionError."""
    if isinstance(want, (list, tuple)):
        assert type(got) is type(want) and len(got) == len(want), f"{type(got).__name__} for {type(want).__name__}"
        for k, (g, w) in enumerate(zip(got, want)):
            same(g, w, slack[k] if isinstance(slack, list) else slack)
    elif isinstance(want, dict):
        assert isinstance(got, dict) and list(got) == list(want), "other keys"
        for k in want:
            same(got[k], want[k])
    elif isinstance(want, (np.ndarray, np.generic, int, float, complex, bool)):
        _numbers(got, want, slack)
    elif hasattr(want, "__dict__") and not callable(want):
        assert type(got) is type(want)
        same(vars(got), vars(want))
    else:
        assert got == want, f"{got!r} is not {want!r}"


def _numbers(got: Any, want: Any, slack: Any) -> None:
    g, w = np.asarray(got), np.asarray(want)
    assert g.shape == w.shape, f"shape {g.shape} for {w.shape}"
    assert g.dtype == w.dtype, f"dtype {g.dtype} for {w.dtype}"
    if w.dtype.kind not in "fc":
        assert np.array_equal(g, w), "other integers"
        return
    rtol = RTOL.get(w.dtype.name, 1e-9)
    finite = np.abs(w[np.isfinite(w)])
    with np.errstate(all="ignore"):
        near = np.abs(g - w) <= rtol * max(1e-300, float(finite.max(initial=0.0))) + slack + np.finfo(w.dtype).tiny
        ok = near | (g == w) | (np.isnan(g) & np.isnan(w))
    assert ok.all(), "other numbers"


def _within_noise(f: Any, args: Sequence[Any], got: Any, want: Any) -> bool:
    """Is the difference one that the last bits of the arguments make in f itself?"""
    leaves, moved = flatten(want)[0], []
    rng = np.random.default_rng(0)
    for _ in range(6):
        again = [_moved(rng, x) for x in copy.deepcopy(list(args))]
        moved.append(flatten((outcome(f, again), type(args)(again)))[0])
    mine = flatten(got)[0]
    if any(len(m) != len(leaves) for m in (*moved, mine)):
        return any(len(m) != len(leaves) for m in moved) and len(mine) in {len(m) for m in (*moved, leaves)}
    for k, w in enumerate(leaves):
        if not isinstance(w, (np.ndarray, np.generic, int, float, complex)):
            if mine[k] != w and all(m[k] == w for m in moved):
                return False
            continue
        if any(np.shape(m[k]) != np.shape(w) for m in moved):
            continue
        with np.errstate(all="ignore"):
            spread = np.max([np.abs(np.subtract(m[k], w, dtype=complex)) for m in moved], axis=0)
            spread = float(np.max(np.where(np.isfinite(spread), spread, np.inf), initial=0.0))
        try:
            same(mine[k], w, 64 * spread) if np.asarray(w).dtype.kind in "fc" else same(mine[k], w)
        except AssertionError:
            if np.asarray(w).dtype.kind in "fc" or spread == 0:
                return False
    return True


def _moved(rng: np.random.Generator, x: Any) -> Any:
    a = np.asarray(x)
    if a.dtype.kind != "f" or a.dtype == object:
        return x
    with np.errstate(all="ignore"):
        away = np.nextafter(a, (rng.choice([-1, 1], a.shape) * np.inf).astype(a.dtype))
    return float(away) if isinstance(x, float) else away[()] if isinstance(x, np.generic) else away


def gradient(f: Callable[..., Any], args: Sequence[Any], argnums: int | tuple[int, ...] = 0, rtol: float = 1e-5) -> None:
    """The gradient of f, in reverse and in forward mode, is the one that differences of the plain f show.

    Along two random directions; where differences of several step sizes disagree (a kink, a jump) nothing is compared.
    """
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    xs = copy.deepcopy(list(args))
    with np.errstate(all="ignore"):
        grads = irad.grad(f, argnums=numbers)(*copy.deepcopy(xs))
        for seed in range(2):
            rng = np.random.default_rng(seed)
            along = {k: rng.standard_normal(np.shape(xs[k])).astype(np.asarray(xs[k]).dtype)[()] for k in numbers}
            exact = sum(float(np.sum(np.asarray(g, float) * along[k])) for g, k in zip(grads, numbers))
            tangents = tuple(along.get(k) if k in along else None for k in range(len(xs)))
            _, forward = irad.jvp(f, tuple(copy.deepcopy(xs)), tangents)
            line = lambda h: float(f(*[x + h * along[k] if k in along else copy.deepcopy(x) for k, x in enumerate(xs)]))  # noqa: B023
            near = max(abs(float(forward)), abs(exact), 1e-300)
            if not (abs(exact - float(forward)) <= 1e-3 * rtol * near + 1e-12 * _scale(grads) or exact != exact):
                raise Fault(f"reverse gives {exact!r}, forward {float(forward)!r}\n{args!r}")
            numeric, error = difference(line)
            if not error < 1e-2 * max(1.0, abs(numeric)):
                continue
            if not abs(exact - numeric) <= rtol * (abs(numeric) + _scale(grads)) + 20 * error:
                raise Fault(f"the derivative is {exact!r}, differences give {numeric!r} +- {error:.1e}\n{args!r}")


def _scale(grads: Sequence[Any]) -> float:
    return max((float(np.max(np.abs(g), initial=0.0)) for g in grads), default=0.0)


def difference(line: Callable[[float], float], h: float = 1e-2) -> tuple[float, float]:
    """The slope of `line` at 0 by Richardson's extrapolation of central differences, and an estimate of its error."""
    rows: list[list[float]] = []
    best, error = 0.0, float("inf")
    for k in range(7):
        step = h / 2**k
        row = [(line(step) - line(-step)) / (2 * step)]
        for j, old in enumerate(rows[-1] if rows else []):
            row.append(row[j] + (row[j] - old) / (4 ** (j + 1) - 1))
            wrong = max(abs(row[-1] - row[-2]), abs(row[-1] - old))
            if wrong < error:
                best, error = row[-1], wrong
        rows.append(row)
    return best, error
