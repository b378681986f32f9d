"""The meaning of a graph in numbers of mpmath, and differences of it: derivatives to which no rule of irad has contributed.

Floats of every width become numbers of as many digits as asked for, so that a program is the function that it stands for, without rounding.
What an op means then is told by tests/support/references.py, for ops on structure by their own `eval`, which moves and adds numbers of any kind.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import mpmath as mp
import numpy as np

from irad.core.interp import _Frame
from irad.core.ir import Graph, Node, Program, Value
from tests.support.references import REFERENCES

DIGITS = 120
STEP = 20  # digits of the steps of differences


class NotPrecise(Exception):
    """There is no such meaning, or it is no finite number here."""


def interpret(program: Program | Graph, *args: Any) -> list[Any]:
    """The results of the entry. Raises NotPrecise."""
    if isinstance(program, Graph):
        program = {program.name or "f": program}
    entry = next(iter(program.values()))
    with mp.workdps(DIGITS):
        given = [_typed(a, p.type) for a, p in zip(args, entry.params)]
        try:
            return _Precise(program).graph(entry, given, {})
        except (ZeroDivisionError, ValueError, TypeError, OverflowError, AttributeError, NotImplementedError) as e:
            raise NotPrecise(f"{type(e).__name__}: {e}") from e


class _Precise(_Frame):
    def node(self, node: Node, env: dict[Value, Any]) -> Sequence[Any]:
        name, ins = node.op.name, [env[v] for v in node.inputs]
        if name in OWN:
            out = OWN[name](*ins, **node.attrs)
        elif node.op.elementwise and name in REFERENCES and node.out.type.dtype[0] == "f":
            out = _each(REFERENCES[name].f)(*ins)
        elif node.op.partials is not None and node.out.type.dtype[0] == "f":
            raise NotPrecise(f"no reference for {name}")
        else:
            out = super().node(node, env)
        outs = out if isinstance(out, (tuple, list)) else (out,)
        return [_typed(x, v.type) for x, v in zip(outs, node.outputs)]


def _each(f: Callable[..., Any]) -> Callable[..., Any]:
    return np.frompyfunc(lambda *xs: _finite(f(*xs)), f.__code__.co_argcount if hasattr(f, "__code__") else 1, 1)


def _finite(x: Any) -> Any:
    if isinstance(x, mp.mpc) and x.imag != 0 or not mp.isfinite(x):
        raise NotPrecise("not a finite real number")
    return mp.re(x)


def _typed(x: Any, t: Any) -> Any:
    """A value of type t: numbers of mpmath for floats."""
    if t.dtype == "tape":
        return x
    if t.dtype[0] == "c":
        raise NotPrecise("complex numbers")
    if t.dtype[0] != "f":
        return np.asarray(np.vectorize(int, otypes=[object])(x) if np.asarray(x).dtype == object else x).astype(t.numpy)
    out = np.empty(np.shape(x), object)
    for at in np.ndindex(out.shape):
        out[at] = mp.mpf(np.asarray(x)[at])
    return out


def _matrices(f: Callable[[np.ndarray], Any], a: np.ndarray) -> tuple[Any, ...]:
    """f(matrix) -> arrays, for each of a stack."""
    made = [f(a[at]) for at in np.ndindex(a.shape[:-2])]
    return tuple(
        np.array([m[k] for m in made], object).reshape((*a.shape[:-2], *np.shape(made[0][k]))) for k in range(len(made[0]))
    )


def _array(m: Any) -> np.ndarray:
    out = np.empty((m.rows, m.cols), object)
    for i, j in np.ndindex(out.shape):
        out[i, j] = m[i, j]
    return out


def _signs(of: np.ndarray, like: np.ndarray) -> np.ndarray:
    """1 or -1 for each column, so that it points as the one of `like` does."""
    return np.where(np.sum(of.astype(float) * like, axis=0) < 0, -1, 1)


def _eigh(a: np.ndarray, lower: bool = True) -> Any:
    low = np.tril(a if lower else a.T)
    whole = low + np.tril(low, -1).T
    w, v = mp.eigsy(mp.matrix(whole.tolist()))
    v = _array(v)
    return np.array(list(w), object), v * _signs(v, np.linalg.eigh(whole.astype(float))[1]), 0


def _svd(a: np.ndarray, full: bool = False) -> Any:
    if full and a.shape[0] != a.shape[1]:
        raise NotPrecise("vectors that complete a basis")
    u, s, vt = mp.svd_r(mp.matrix(a.tolist()))
    u, vt = _array(u), _array(vt)
    flip = _signs(u, np.linalg.svd(a.astype(float), full_matrices=False)[0])
    return u * flip, np.array(list(s), object), vt * flip[:, None], 0


def _pinv(a: np.ndarray, rcond: float) -> Any:
    u, s, vt, _ = _svd(a)
    if any(x <= rcond * s[0] for x in s):
        raise NotPrecise("a matrix whose neighbours are of higher rank")
    inverse = np.array([1 / x for x in s], object)
    return (vt.T * inverse) @ u.T, 0


def _qr(a: np.ndarray, full: bool) -> Any:
    if full and a.shape[0] > a.shape[1]:
        raise NotPrecise("vectors that complete a basis")
    m, n = a.shape
    q, r = (_array(x) for x in mp.qr(mp.matrix(a.tolist()), "skinny" if m >= n else "full"))
    flip = _signs(q, np.linalg.qr(a.astype(float))[0])
    return q * flip, r * flip[:, None]


def _cholesky(a: np.ndarray) -> Any:
    low = np.tril(a) + np.tril(a, -1).T
    return _array(mp.cholesky(mp.matrix(low.tolist()))), 0


def _lu(a: np.ndarray) -> Any:
    m, n = np.array(a), len(a)
    order, swaps = np.arange(n), np.zeros(n, np.int64)
    for k in range(n):
        p = k + int(np.argmax(np.abs(m[k:, k])))
        m[[k, p]], order[[k, p]], swaps[k] = m[[p, k]], order[[p, k]], p
        if m[k, k] != 0:
            m[k + 1 :, k] = m[k + 1 :, k] / m[k, k]
            m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
    return m, swaps, order


def _det(a: np.ndarray) -> Any:
    """By the permutations: exact at singular matrices too."""
    n = len(a)
    total = mp.mpf(0)
    for p in itertools.permutations(range(n)):
        odd = sum(p[i] > p[j] for i in range(n) for j in range(i + 1, n)) % 2
        total += (-1) ** odd * mp.fprod(a[i, p[i]] for i in range(n))
    return (np.array(total, object),)


def _slogdet(a: np.ndarray) -> Any:
    d = _det(a)[0][()]
    return np.array(mp.sign(d), object), np.array(_finite(mp.log(abs(d))), object)


def _fft(re: Any, im: Any, axes: Sequence[int], sign: int) -> Any:
    for axis in axes:
        n = re.shape[axis]
        turn = [[mp.expjpi(mp.mpf(2 * sign * j * k) / n) for k in range(n)] for j in range(n)]
        c, s = (np.array([[part(x) for x in row] for row in turn], object) for part in (mp.re, mp.im))
        along = lambda m, x, axis=axis: np.moveaxis(np.tensordot(m, x, (1, axis)), 0, axis)
        re, im = along(c, re) - along(s, im), along(s, re) + along(c, im)
    return re, im


def _cast(x: Any, dtype: str) -> Any:
    return np.vectorize(mp.floor, otypes=[object])(x) if dtype[0] in "iu" and np.size(x) and np.asarray(x).dtype == object else x


def _linear(of: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, **attrs: _matrices(lambda m: of(m, **attrs), a)


def _test(f: Callable[[Any], bool]) -> Callable[..., Any]:
    return np.frompyfunc(f, 1, 1)


OWN: dict[str, Callable[..., Any]] = {
    "select": lambda c, x, y: np.where(np.asarray(c, bool), x, y),
    "cast": _cast,
    "isnan": _test(lambda x: bool(mp.isnan(x))),
    "isinf": _test(lambda x: bool(mp.isinf(x))),
    "isfinite": _test(lambda x: bool(mp.isfinite(x))),
    "signbit": _test(lambda x: bool(x < 0)),
    "pow": _each(lambda x, y: x ** int(y) if y == mp.nint(y) else x**y),
    "floor": _each(lambda x: mp.floor(x)),
    "ceil": _each(lambda x: mp.ceil(x)),
    "rint": _each(lambda x: mp.nint(x)),
    "trunc": _each(lambda x: mp.sign(x) * mp.floor(abs(x))),
    "sign": _each(lambda x: mp.mpf(mp.sign(x))),
    "floor_divide": _each(lambda x, y: mp.floor(x / y)),
    "remainder": _each(lambda x, y: x - y * mp.floor(x / y)),
    "fmod": _each(lambda x, y: x - y * mp.sign(x / y) * mp.floor(abs(x / y))),
    "heaviside": _each(lambda x, h: h if x == 0 else mp.mpf(x > 0)),
    "nextafter": _each(lambda x, y: x),
    "slope_of": _each(lambda v, w: v),
    "polygamma": lambda x, n: _each(lambda x: mp.polygamma(n, x))(x),
    "eigh": _linear(_eigh),
    "eigvalsh": lambda a, lower: _matrices(lambda m: _eigh(m, lower)[::2], a),
    "svd": _linear(_svd),
    "svdvals": lambda a: _matrices(lambda m: _svd(m)[1::2], a),
    "pinv": _linear(_pinv),
    "qr": _linear(_qr),
    "cholesky": _linear(_cholesky),
    "lu": _linear(_lu),
    "det": lambda a: _matrices(_det, a)[0],
    "slogdet": _linear(_slogdet),
    "fft": _fft,
}


def difference(f: Callable[[Sequence[Any]], Any], order: int, sure: bool = True) -> float:
    """The mixed derivative of order `order` of f at 0 along as many numbers.

    If `sure`, raises NotPrecise where it has none: where differences ahead, astride and behind, and of two steps, are not the same.
    """
    with mp.workdps(DIGITS):
        ways = [((-1, 1), 0), ((0, 1), 0), ((-1, 0), 0), ((-1, 1), 1)]
        found = [_difference(f, order, steps, mp.mpf(10) ** -(STEP + more)) for steps, more in ways[: 4 if sure else 1]]
        scale = 1 + max(abs(x) for x in found)
        if max(abs(x - found[0]) for x in found) > scale * mp.mpf(10) ** (-STEP // 2):
            raise NotPrecise("a kink or a pole")
        return float(found[0])


def _difference(f: Callable[[Sequence[Any]], Any], order: int, steps: tuple[int, int], h: Any) -> Any:
    total = mp.mpf(0)
    for at in itertools.product(steps, repeat=order):
        low = sum(t == steps[0] for t in at)
        total += (-1) ** low * f([t * h for t in at])
    return total / (h * (steps[1] - steps[0])) ** order
