"""Checking derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.tree import flatten
from irad.directional import jvp, vjp
from irad.errors import IradTypeError, IradValueError
from irad.frontend.transforms.transform import OUTSIDE

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

    `args`: trees; their float64 and complex128 leaves are varied, complex ones in both parts. `order`: derivatives up to it, each
    the derivative of the one before. `modes`: "fwd" (jvp), "rev" (vjp). Differences: central, with one step of Richardson
    extrapolation, of `f` in plain NumPy. Raises AssertionError with both numbers where they differ by more than `atol + rtol *
    |difference|`, IradTypeError or IradValueError for arguments that cannot be.

    >>> irad.check_grads(lambda x, y: np.sum(np.sin(x) * y), (np.array([0.1, 0.7]), 2.0), order=2)
    """
    if not set(modes) <= {"fwd", "rev"} or not modes:
        raise IradValueError(f"modes are 'fwd' and 'rev', not {modes!r}")
    if order < 1:
        raise IradValueError(f"order must be 1 or more, not {order}")
    if not isinstance(args, (tuple, list)):
        raise IradTypeError(f"args is the tuple of f's arguments, not {type(args).__name__}; write (x,) for one")
    if not any(np.asarray(x).dtype.kind in "fc" for x in flatten(tuple(args))[0]):
        raise IradValueError("there is no float or complex number among the arguments, so nothing to compare with differences")
    rng = np.random.default_rng(0)
    moving, floats = _moving(f, tuple(args))
    for mode in modes:
        _check(moving, floats, mode, order, rng, rtol, atol)


def _moving(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """f as a function of those arguments that have a float in them, and those: the others are no variables."""
    at = [k for k, x in enumerate(args) if any(np.asarray(v).dtype.kind in "fc" for v in flatten(x)[0])]
    if len(at) == len(args):
        return f, args

    def moving(*xs: Any) -> Any:
        return f(*[xs[at.index(k)] if k in at else x for k, x in enumerate(args)])

    moving.__name__ = _name(f)
    return moving, tuple(args[k] for k in at)


def _check(f: Callable[..., Any], args: tuple[Any, ...], mode: str, order: int, rng: Any, rtol: float, atol: float) -> None:
    direction = _direction(args, rng)
    differences = _along(f, args, direction)
    if mode == "fwd":
        _, exact = jvp(f, args, direction)
        exact_leaves = [np.asarray(x) for x in flatten(exact)[0]]
        for got, want in zip(exact_leaves, differences):
            np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=f"forward mode of {_name(f)}")
    else:
        out, pullback = vjp(f, *args)
        leaves, tree = flatten(out)
        ct = [_uniform(x, rng) for x in leaves]
        grads = pullback(tree.unflatten([c if np.ndim(c) else c.item() for c in ct]))
        got = sum(np.sum(np.asarray(g) * d).real for g, d in zip(flatten(grads)[0], flatten(direction)[0]))
        want = sum(np.sum(c * d).real for c, d in zip(ct, differences))
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, err_msg=f"reverse mode of {_name(f)}")
    if order > 1:
        _check(_derivative(f, mode, direction), args, mode, order - 1, rng, rtol * 10, atol * 10)


def _uniform(x: Any, rng: Any) -> np.ndarray:
    """A cotangent for a result: a complex one acts by the real part of its product with the result's change."""
    c = rng.uniform(0.5, 1.5, np.shape(x))
    return np.asarray(c + 1j * rng.uniform(0.5, 1.5, np.shape(x)) if np.iscomplexobj(x) else c)


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
    out = [_normal(x, rng) for x in leaves]
    return tree.unflatten([d if isinstance(x, np.ndarray) else d.item() for d, x in zip(out, leaves)])


def _normal(x: Any, rng: Any) -> np.ndarray:
    kind, shape = np.asarray(x).dtype.kind, np.shape(x)
    if kind not in "fc":
        return np.zeros(shape)
    d = rng.standard_normal(shape)
    return np.asarray(d + 1j * rng.standard_normal(shape) if kind == "c" else d)


def _moved(args: tuple[Any, ...], direction: tuple[Any, ...], h: float) -> tuple[Any, ...]:
    leaves, tree = flatten(args)
    new = [x + h * d if np.asarray(x).dtype.kind in "fc" else x for x, d in zip(leaves, flatten(direction)[0])]
    return tree.unflatten(new)


def _along(f: Callable[..., Any], args: tuple[Any, ...], direction: tuple[Any, ...]) -> list[Any]:
    """Directional derivative of each result leaf, by central differences extrapolated once."""

    def central(h: float) -> list[Any]:
        hi, lo = (flatten(f(*_moved(args, direction, s * h)))[0] for s in (1, -1))
        return [(_inexact(a) - _inexact(b)) / (2 * h) for a, b in zip(hi, lo)]

    return [(4 * b - a) / 3 for a, b in zip(central(STEP), central(STEP / 2))]


def _inexact(x: Any) -> np.ndarray:
    """A result as float64 or complex128."""
    return np.asarray(x, complex if np.iscomplexobj(x) else float)


OUTSIDE[check_grads] = "it compiles and compares by itself; call it outside"
