"""One program in this process: right values and gradients, then CPU time of irad, NumPy and, where it takes the source, Numba."""

from __future__ import annotations

import contextlib
import inspect
import time
import types
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import irad
from tests.benchmarks.corpus.program import Program


def leaves(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


def weighted(function: Callable[..., Any], weights: list[Any]) -> Callable[..., Any]:
    """A number of the results: the sum of each with its weights; whole numbers have none."""

    def total(*args):
        out = function(*args)
        parts = out if isinstance(out, tuple) else (out,)
        s = 0.0
        for part, w in zip(parts, weights):
            if w is not None:
                s = s + np.sum(part * w)
        return s

    return total


def weights_of(result: Any) -> list[Any]:
    rng = np.random.default_rng(7)
    return [0.5 + rng.random(np.shape(leaf)) if np.asarray(leaf).dtype.kind == "f" else None for leaf in leaves(result)]


def difference(total: Callable[..., Any], args: tuple[Any, ...], wrt: tuple[int, ...], gradients: Any) -> float:
    """How far the derivative along a direction is from differences, relative; the best of some steps, for there are branches."""
    rng = np.random.default_rng(11)
    direction = {k: rng.standard_normal(np.shape(args[k])) * (np.asarray(args[k]) != 0) for k in wrt}  # 0 may mean: no edge
    exact = sum(float(np.sum(g * direction[k])) for k, g in zip(wrt, gradients))
    size = sum(float(np.sum(np.abs(g * direction[k]))) for k, g in zip(wrt, gradients))
    errors = []
    for eps in (1e-5, 1e-6, 1e-7, 1e-8):
        ends = [total(*(a + s * eps * direction[k] if k in direction else a for k, a in enumerate(args))) for s in (1, -1)]
        errors.append(abs(exact - (ends[0] - ends[1]) / (2 * eps)) / (1e-300 + abs(exact) + 1e-3 * size))
    return float(min(errors))


def numba_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function compiled by Numba from the same source, its helpers too."""
    import numba

    module = inspect.getmodule(function)
    names: dict[str, Any] = dict(vars(module))
    for name, value in vars(module).items():
        if inspect.isfunction(value) and value.__module__ == module.__name__:
            own = types.FunctionType(value.__code__, names, name, value.__defaults__)
            names[name] = numba.njit(own)
    return names[function.__name__]


def same(a: Any, b: Any) -> float:
    worst = 0.0
    for x, y in zip(leaves(a), leaves(b), strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if x.shape != y.shape:
            return float("inf")
        if x.size:
            both = np.isfinite(x) & np.isfinite(y)
            if not np.array_equal(x[~both], y[~both], equal_nan=True):
                return float("inf")
            if both.any():
                worst = max(worst, float(np.max(np.abs(x[both] - y[both])) / (1e-12 + np.max(np.abs(y[both])))))
    return worst


def shortest(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """The least CPU time of one call of each, in turns; `seconds` for all."""
    best = dict.fromkeys(calls, float("inf"))
    repeats, spent = {}, dict.fromkeys(calls, 0.0)
    for name, call in calls.items():
        start = time.process_time()
        call()
        took = time.process_time() - start
        repeats[name] = max(1, min(10_000, int(0.01 / (took + 1e-7))))
        if took > 0.2:  # long enough to be a block
            best[name], spent[name] = took, took
    end = time.process_time() + seconds
    rounds = 0
    while rounds < 2 or (time.process_time() < end and rounds < 100):
        for name, call in calls.items():
            if spent[name] > seconds or (rounds and spent[name] > 0.5 * seconds):
                continue
            start = time.process_time()
            for _ in range(repeats[name]):
                call()
            took = time.process_time() - start
            spent[name] += took
            best[name] = min(best[name], took / repeats[name])
        rounds += 1
    return best


def measured(program: Program, n: int, seconds: float) -> dict[str, Any]:
    """All that is said of one program at one size; times in seconds."""
    args = program.make(np.random.default_rng(1), n)
    record: dict[str, Any] = {"name": program.name, "n": n}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reference = program.function(*args)
        compiled = irad.compile(program.function, threads=1)
        start = time.process_time()
        got = compiled(*args)
        record["compile"] = time.process_time() - start
        record["error"] = same(got, reference)
        calls: dict[str, Callable[[], Any]] = {"irad": lambda: compiled(*args), "numpy": lambda: program.function(*args)}
        if program.wrt:
            weights = weights_of(reference)
            total = weighted(program.function, weights)
            gradient = irad.compile(irad.value_and_grad(total, argnums=program.wrt), threads=1)
            start = time.process_time()
            _, grads = gradient(*args)
            record["compile gradient"] = time.process_time() - start
            value = irad.compile(total, threads=1)
            record["gradient error"] = difference(value, args, program.wrt, grads)
            calls["gradient"] = lambda: gradient(*args)
        with contextlib.suppress(Exception):  # it refuses many, and may be missing
            compiled_by_numba = numba_function(program.function)
            record["numba error"] = same(compiled_by_numba(*args), reference)
            calls["numba"] = lambda: compiled_by_numba(*args)
        record.update(shortest(calls, seconds))
    return record
