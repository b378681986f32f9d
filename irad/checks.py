"""Checking derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.api import jvp, vjp
from irad.errors import IradValueError
from irad.tree import flatten

STEP = 2e-4  # relative; Richardson extrapolation leaves an error of order STEP**4


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    rtol: float = 1e-6,
    atol: float = 1e-6,
) -> None:
    """Compare compiled derivatives of `f` at `args` with differences along random directions.

    `args`: trees; their float64 leaves are varied. `order`: derivatives up to it, each the derivative of the one before.
    `modes`: "fwd" (jvp), "rev" (vjp). Differences: central, with one step of Richardson extrapolation, of `f` in plain NumPy.
    Raises AssertionError with both numbers where they differ by more than `atol + rtol * |difference|`.
    """
    if not set(modes) <= {"fwd", "rev"} or not modes:
        raise IradValueError(f"modes are 'fwd' and 'rev', not {modes!r}")
    if order < 1:
        raise IradValueError(f"order must be 1 or more, not {order}")
    rng = np.random.default_rng(0)
    for mode in modes:
        _check(f, tuple(args), mode, order, rng, rtol, atol)


def _check(f: Callable[..., Any], args: tuple[Any, ...], mode: str, order: int, rng: Any, rtol: float, atol: float) -> None:
    direction = _direction(args, rng)
    differences = _along(f, args, direction)
    if mode == "fwd":
        _, exact = jvp(f, args, direction)
        exact_leaves = [np.asarray(x, float) for x in flatten(exact)[0]]
        for got, want in zip(exact_leaves, differences):
            np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=f"forward mode of {_name(f)}")
    else:
        out, pullback = vjp(f, *args)
        leaves, tree = flatten(out)
        ct = [rng.uniform(0.5, 1.5, np.shape(x)) for x in leaves]
        grads = pullback(tree.unflatten([c if np.ndim(c) else float(c) for c in ct]))
        got = sum(np.sum(np.asarray(g, float) * d) for g, d in zip(flatten(grads)[0], flatten(direction)[0]))
        want = sum(np.sum(c * d) for c, d in zip(ct, differences))
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=f"reverse mode of {_name(f)}")
    if order > 1:
        _check(_derivative(f, mode, direction), args, mode, order - 1, rng, rtol * 10, atol * 10)


def _derivative(f: Callable[..., Any], mode: str, direction: tuple[Any, ...]) -> Callable[..., Any]:
    """A function of the same arguments that contains the first derivative."""
    if mode == "fwd":

        def along(*xs: Any) -> Any:
            return jvp(f, xs, direction)[1]

        return along

    def pulled(*xs: Any) -> Any:
        out, pullback = vjp(f, *xs)
        return pullback(out)

    return pulled


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", "f")


def _direction(args: tuple[Any, ...], rng: Any) -> tuple[Any, ...]:
    leaves, tree = flatten(args)
    out = [rng.standard_normal(np.shape(x)) if np.asarray(x).dtype.kind == "f" else np.zeros(np.shape(x)) for x in leaves]
    return tree.unflatten([d if isinstance(x, np.ndarray) else float(d) for d, x in zip(out, leaves)])


def _moved(args: tuple[Any, ...], direction: tuple[Any, ...], h: float) -> tuple[Any, ...]:
    leaves, tree = flatten(args)
    new = [x + h * d if np.asarray(x).dtype.kind == "f" else x for x, d in zip(leaves, flatten(direction)[0])]
    return tree.unflatten(new)


def _along(f: Callable[..., Any], args: tuple[Any, ...], direction: tuple[Any, ...]) -> list[Any]:
    """Directional derivative of each result leaf, by central differences extrapolated once."""

    def central(h: float) -> list[Any]:
        hi, lo = (flatten(f(*_moved(args, direction, s * h)))[0] for s in (1, -1))
        return [(np.asarray(a, float) - np.asarray(b, float)) / (2 * h) for a, b in zip(hi, lo)]

    return [(4 * b - a) / 3 for a, b in zip(central(STEP), central(STEP / 2))]
