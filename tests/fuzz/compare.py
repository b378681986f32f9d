"""What the `main` of a case calls: a compiled function against the plain one, and its derivatives against differences."""

from __future__ import annotations

import collections
import copy
import types
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

import irad
from irad.errors import IradError, VerifyError
from irad.validation.agreement import agree, noise
from irad.validation.validate import StageDiffers, python_outcome, validate
from tests.fuzz.case import Fault

EPS = float(np.finfo(np.float64).eps)


def values(f: Callable[..., Any], *inputs: Sequence[Any], compiled: Any = None, whole: bool = False, kinds: bool = True) -> None:
    """f compiled does what f does, for each of the argument lists: result, exception, and what its arguments hold afterwards.

    `whole`: at every stage of the compiler, for the first of them. `kinds`: do dtypes of single numbers count? A difference is told with the first stage that shows it.
    """
    c = irad.compile(f) if compiled is None else compiled
    for args in inputs:
        _value(f, c, args, kinds)
    if compiled is None and _chosen(f):
        c = irad.compile(f, dynamic=True)
        with _quiet():
            for args in (inputs[0], *_of_other_sizes(f, inputs[0])):
                _value(f, c, args, kinds)
    if whole:
        validate(f, inputs[0], kinds=kinds)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warning that code for all sizes cannot be made; an exception, where a fault of the compiler is why."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*compiled for each shape by itself")
        warnings.filterwarnings("error", ".*compiled for each shape by itself.*a fault of irad's own")
        yield


def _chosen(f: Any) -> bool:
    """Is it one of the programs, a third of them, that are compiled for all sizes too?"""
    return isinstance(f, types.FunctionType) and zlib.crc32(f.__code__.co_code) % 3 == 0


def _of_other_sizes(f: Callable[..., Any], args: Sequence[Any]) -> Iterator[list[Any]]:
    """The arguments with other extents, equal ones changed together, all or one after the other; where f itself takes them."""
    extents = {n for x in args if isinstance(x, np.ndarray) for n in x.shape if n > 1}
    choices = [{n: 2 * n + 3 for n in extents}, *({n: n + 1} for n in sorted(extents))]
    for new in choices[: 3 if extents else 0]:
        resized = lambda x: np.resize(x, tuple(new.get(n, n) for n in x.shape))  # noqa: B023
        given = [resized(x) if isinstance(x, np.ndarray) and x.flags.c_contiguous else copy.deepcopy(x) for x in args]
        if not _raises(_plain(f, given)[0]):
            yield given


def _value(f: Any, c: Any, args: Sequence[Any], kinds: bool) -> None:
    """One call of each."""
    mine, theirs = copy.deepcopy(list(args)), copy.deepcopy(list(args))
    want = python_outcome(lambda: f(*theirs))
    try:
        got = python_outcome(lambda: c(*mine)) if _raises(want) else c(*mine)
    except IradError as e:
        if _raises(want) and not isinstance(e, VerifyError):
            return  # refused what raises in Python too
        raise
    held = lambda found, xs: opened([found, [x for x in xs if isinstance(x, np.ndarray)] if _raises(want) else xs])
    spread = lambda: noise(lambda xs: held(*_plain(f, xs)), list(args), held(want, theirs))
    if found := agree(held(got, mine), held(want, theirs), spread, kinds):  # an exception leaves objects as they were
        raise Fault(f"{stage_of(f, args)}: {found}\nirad: {got!r}\nPython: {want!r}")


def opened(x: Any, met: dict[int, int] | None = None) -> Any:
    """Results and arguments as lists of what they hold: containers of the library, keys in their order, attributes of objects; what is
    met a second time as such."""
    met = {} if met is None else met
    inside = lambda items: [opened(v, met) for v in items]
    if isinstance(x, tuple):
        return ["tuple", *inside(x)]
    attributes = None if isinstance(x, (np.ndarray, np.generic, type, types.FunctionType)) else getattr(x, "__dict__", None)
    if not isinstance(x, (list, dict, set, collections.deque)) and attributes is None:
        return x
    if id(x) in met:
        return f"again {met[id(x)]}"
    met[id(x)] = len(met)
    found = [type(x).__name__]
    if isinstance(x, (list, collections.deque)):
        found += inside(x)
    elif isinstance(x, dict):
        found += inside(x.items())
    elif isinstance(x, set):
        found += inside(sorted(x, key=repr))
    return [*found, *inside((k, v) for k, v in sorted((attributes or {}).items()))]


def _raises(outcome: Any) -> bool:
    return isinstance(outcome, str) and outcome.startswith("raises ")


def _plain(f: Callable[..., Any], args: list[Any]) -> Any:
    again = copy.deepcopy(args)
    return [python_outcome(lambda: f(*again)), again]


def stage_of(f: Callable[..., Any], args: Sequence[Any], argnums: Any = None) -> str:
    """The first stage of the compiler that differs."""
    try:
        validate(f, copy.deepcopy(list(args)), argnums=argnums)
    except StageDiffers as e:
        return e.difference.stage
    except Exception as e:
        return f"validation raises {type(e).__name__}"
    return "no stage differs by itself"


def gradient(f: Callable[..., Any], args: Sequence[Any], argnums: int | tuple[int, ...] = 0, rtol: float = 1e-5) -> None:
    """The gradient of f, in reverse and in forward mode, is the one that differences of the plain f show.

    Along two random directions; where differences of several step sizes disagree (a kink, a jump) nothing is compared, nor
    where f raises.
    """
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    xs = copy.deepcopy(list(args))
    if _raises(_plain(f, xs)[0]):
        return
    with np.errstate(all="ignore"):
        grads = irad.grad(f, argnums=numbers)(*copy.deepcopy(xs))
        for k, g in zip(numbers, grads):
            if np.shape(g) != np.shape(xs[k]):
                raise Fault(f"the gradient by argument {k} has shape {np.shape(g)}, not {np.shape(xs[k])}")
        for seed in range(2):
            _along(f, xs, numbers, grads, np.random.default_rng(seed), rtol)
        if _chosen(f):
            with _quiet():
                again = irad.grad(irad.compile(f, dynamic=True), argnums=numbers)(*copy.deepcopy(xs))
            # a slope of 0 is rounded to less than this
            most = max(1.0, *(np.max(np.abs(g), initial=0.0, where=np.isfinite(g)) for g in grads))
            for k, g, h in zip(numbers, grads, again):
                if not np.allclose(g, h, rtol, rtol * np.max(np.abs(g), initial=0.0) + 16 * EPS * most, equal_nan=True):
                    raise Fault(f"the gradient by argument {k} is {h!r} for all sizes, {g!r} for its own")


def _along(f: Any, xs: list[Any], numbers: Sequence[int], grads: Sequence[Any], rng: np.random.Generator, rtol: float) -> None:
    """One direction."""
    along = _direction(xs, numbers, rng)
    _, forward = irad.jvp(f, tuple(copy.deepcopy(xs)), tuple(along.get(k) for k in range(len(xs))))
    size = sum(float(np.sum(np.abs(np.asarray(g, float) * along[k]))) for g, k in zip(grads, numbers))
    slopes = {"the derivative in reverse mode": _inner(grads, along), "the derivative in forward mode": float(forward)}
    _agrees(lambda h: _number(f, _moved(xs, along, h)), slopes, size, rtol, lambda: stage_of(f, xs, tuple(numbers)))


def curvature(f: Callable[..., Any], args: Sequence[Any], argnums: int | tuple[int, ...] = 0, rtol: float = 1e-5) -> None:
    """The curvature of f along a random direction, forward over reverse, is the one that differences of its gradient show."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    xs = copy.deepcopy(list(args))
    if _raises(_plain(f, xs)[0]):
        return
    slope = irad.grad(f, argnums=numbers)
    with np.errstate(all="ignore"):
        along = _direction(xs, numbers, np.random.default_rng(2))
        _, second = irad.jvp(slope, tuple(copy.deepcopy(xs)), tuple(along.get(k) for k in range(len(xs))))
        size = sum(float(np.sum(np.abs(np.asarray(g, float) * along[k]))) for g, k in zip(second, numbers))
        line = lambda h: _inner(slope(*_moved(xs, along, h)), along)
        _agrees(line, {"the curvature": _inner(second, along)}, size, rtol, lambda: "second derivatives")


def _direction(xs: Sequence[Any], numbers: Sequence[int], rng: np.random.Generator) -> dict[int, Any]:
    return {k: rng.standard_normal(np.shape(xs[k])).astype(np.asarray(xs[k]).dtype)[()] for k in numbers}


def _moved(xs: Sequence[Any], along: dict[int, Any], h: float) -> list[Any]:
    return [x + h * along[k] if k in along else copy.deepcopy(x) for k, x in enumerate(xs)]


def _inner(grads: Sequence[Any], along: dict[int, Any]) -> float:
    return sum(float(np.sum(np.asarray(g, float) * v)) for g, v in zip(grads, along.values()))


def _agrees(line: Any, slopes: dict[str, float], size: float, rtol: float, stage: Callable[[], str]) -> None:
    """Are the slopes of `line` at 0 those that its differences show? `size`: of what the slopes are sums of."""
    numeric, error = difference(line)
    here, step = line(0.0), 1e-6
    bend = lambda h: abs(line(h) + line(-h) - 2 * here) / h  # of a smooth line, half as much for half of h
    smooth = bend(step / 2) <= max(0.7 * bend(step), 1e-8 * max(1.0, abs(here)))
    if not error <= 1e-2 * max(1.0, abs(numeric)) or not smooth:
        return  # a kink, or a jump, at the point itself too: `max(x, 0)`, `x or 0.5` at 0, the larger of two equal ones
    noise = 1e-14 * max(1.0, abs(here))  # of a slope whose terms cancel
    for what, slope in slopes.items():
        near = lambda n, e: abs(slope - n) <= rtol * (abs(n) + size) + 20 * e + noise or not e <= 1e-2 * max(1.0, abs(n))  # noqa: B023
        if not near(numeric, error) and not any(near(*difference(line, h)) for h in (1e-3, 1e-4)):  # smaller steps pass no jump
            raise Fault(f"{stage()}: {what} is {slope!r}, differences give {numeric!r} +- {error:.1e}")


def _number(f: Callable[..., Any], args: list[Any]) -> float:
    """The value of f; NaN if it raises."""
    found = python_outcome(lambda: f(*args))
    return float("nan") if _raises(found) else float(found)


def difference(line: Callable[[float], float], h: float = 1e-2) -> tuple[float, float]:
    """The slope of `line` at 0 by Richardson's extrapolation of central differences, and an estimate of its error: not below what
    rounding leaves of the difference of two values, however well the differences agree."""
    rows: list[list[float]] = []
    best, error = 0.0, float("inf")
    for k in range(7):
        step = h / 2**k
        right, left = line(step), line(-step)
        row = [(right - left) / (2 * step)]
        rounding = EPS * max(abs(right), abs(left)) / step
        for j, old in enumerate(rows[-1] if rows else []):
            row.append(row[j] + (row[j] - old) / (4 ** (j + 1) - 1))
            wrong = max(abs(row[-1] - row[-2]), abs(row[-1] - old), rounding)
            if wrong < error:
                best, error = row[-1], wrong
        rows.append(row)
    return best, error
