"""Check derivatives of a program against differences, to second order and in every mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.interp import interpret
from irad.core.ir import Program
from irad.core.verify import verify
from irad.passes.derivatives.autodiff import jvp, vjp
from irad.passes.derivatives.expand import expand
from tests.support.agree import agree

Args = Sequence[Any]


def floats(program: Program) -> list[int]:
    """Positions of the float parameters of the entry."""
    return [k for k, p in enumerate(next(iter(program.values())).params) if p.type.differentiable]


def flat(xs: Args) -> np.ndarray:
    return np.concatenate([np.ravel(np.asarray(x, np.float64)) for x in xs]) if len(xs) else np.zeros(0)


def difference(run: Callable[[float], np.ndarray], h: float) -> np.ndarray:
    """d run / dt at 0: central differences, two Richardson steps (error of order h**6)."""
    d = [(run(s * h) - run(-s * h)) / (2 * s * h) for s in (1, 2, 4)]
    a, b = (4 * d[0] - d[1]) / 3, (4 * d[1] - d[2]) / 3
    return (16 * a - b) / 15


def numeric(program: Program, xs: Args, vs: dict[int, Any], keep: slice = slice(None), h: float = 1e-4) -> np.ndarray:
    """Directional derivative of the results `keep`, along vs[k] in parameter k."""

    def run(t: float) -> np.ndarray:
        moved = [x + t * vs[k] if k in vs else x for k, x in enumerate(xs)]
        return flat(interpret(program, *moved)[keep])

    return difference(run, h)


def directions(rng: np.random.Generator, xs: Args, at: Sequence[int]) -> dict[int, Any]:
    return {k: rng.normal(size=np.shape(xs[k]))[()] for k in at}


def close(got: Any, want: Any, scale: float, rtol: float) -> None:
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol * scale + 1e-300)


def check_first(program: Program, xs: Args, rtol: float = 1e-8, h: float = 1e-4) -> tuple[Program, Program]:
    """Reverse = forward = differences, for the first result; the values are the program's own bits. (vjp, jvp)."""
    rng = np.random.default_rng(0)
    real = floats(program)
    reverse, forward = verify(vjp(program, results=[0])), verify(jvp(program))
    plain = interpret(verify(expand(program)), *xs)
    vs = directions(rng, xs, real)
    u = rng.normal(size=np.shape(plain[0]))[()]
    out = agree(reverse, *xs, u)
    tangents = agree(forward, *xs, *(vs[k] for k in real))
    for a, b, c in zip(plain, out, tangents):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)
    terms = [np.sum(vs[k] * d) for k, d in zip(real, out[len(plain) :])]
    scale = sum(map(abs, terms)) + np.sum(np.abs(u * tangents[len(plain)]))
    close(sum(terms), np.sum(u * tangents[len(plain)]), scale, 1e-11 if rtol < 1e-11 else min(rtol, 1e-10))
    want = numeric(expand(program), xs, vs, slice(0, 1), h)
    close(sum(terms), np.sum(np.ravel(u) * want), scale, rtol)
    return reverse, forward


def check(program: Program, xs: Args, rtol: float = 1e-8, h: float = 1e-4) -> None:
    """`check_first`, then Hessian times vector: forward over reverse, reverse over forward, reverse over reverse."""
    rng = np.random.default_rng(1)
    first, fwd = check_first(program, xs, rtol, h)
    real, n, plain = floats(program), len(floats(program)), interpret(expand(program), *xs)
    u = np.ones(np.shape(plain[0]))[()]
    vs = directions(rng, xs, real)
    gradient = interpret(first, *xs, u)[-n:]
    want = numeric(first, [*xs, u], vs, slice(-n, None), h)
    scale = np.abs(want).max(initial=0) + np.abs(flat(gradient)).max(initial=0) + 1e-6
    along = [vs[k] for k in real]
    got = agree(verify(jvp(first, wrt=real)), *xs, u, *along)[-n:]
    close(flat(got), want, scale, rtol)
    m = len(plain)
    other = interpret(verify(vjp(fwd, wrt=real, results=[m])), *xs, *along, u)[-n:]  # native code of such graphs runs below
    close(flat(other), flat(got), scale, min(rtol, 1e-9))
    twice = verify(vjp(first, wrt=real, results=range(m, m + n)))
    out = agree(twice, *xs, u, *along)
    np.testing.assert_allclose(flat(out[m : m + n]), flat(gradient), rtol=1e-12, atol=1e-12 * scale)
    close(flat(out[-n:]), flat(got), scale, min(rtol, 1e-9))
