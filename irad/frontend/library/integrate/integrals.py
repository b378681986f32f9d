"""scipy.integrate: integrals of several variables, of functions with several values, and of equally spaced samples."""

import numpy as np

from irad.errors import UnsupportedError
from irad.frontend.library.calculus import constant, infinite
from irad.frontend.library.integrate.integration import _first, _rule, quad
from irad.frontend.registry import written


def _at(bound, *x):
    """A bound that may be a function of the outer variables."""
    return bound(*x) if callable(bound) else bound


@written("scipy.integrate.dblquad", always=True)
def dblquad(func, a, b, gfun, hfun, args=(), epsabs=1.49e-8, epsrel=1.49e-8):
    """scipy.integrate.dblquad of func(y, x), as two of `quad`."""
    inner = lambda x: quad(lambda y: func(y, x, *args), _at(gfun, x), _at(hfun, x), (), 0, epsabs, epsrel)[0]
    return quad(inner, a, b, (), 0, epsabs, epsrel)


@written("scipy.integrate.tplquad", always=True)
def tplquad(func, a, b, gfun, hfun, qfun, rfun, args=(), epsabs=1.49e-8, epsrel=1.49e-8):
    """scipy.integrate.tplquad of func(z, y, x), as three of `quad`."""
    low, high = (lambda y, x: _at(qfun, x, y)), (lambda y, x: _at(rfun, x, y))

    def middle(y, x):
        return quad(lambda z: func(z, y, x, *args), low(y, x), high(y, x), (), 0, epsabs, epsrel)[0]

    return dblquad(middle, a, b, gfun, hfun, (), epsabs, epsrel)


@written("scipy.integrate.nquad", always=True)
def nquad(func, ranges, args=(), opts=None, full_output=False):
    """scipy.integrate.nquad of up to three variables without options: (the integral, a bound of its error)."""
    if opts is not None or full_output:
        raise UnsupportedError("scipy.integrate.nquad with opts= or full_output: leave them out")
    if len(ranges) > 3:
        raise UnsupportedError("scipy.integrate.nquad of more than three variables")

    def along(f, k, *outer):
        low, high = ranges[k](*outer, *args) if callable(ranges[k]) else ranges[k]
        return quad(f, low, high)

    if len(ranges) == 1:
        return along(lambda x: func(x, *args), 0)
    if len(ranges) == 2:
        return along(lambda y: along(lambda x: func(x, y, *args), 0, y)[0], 1)
    return along(lambda z: along(lambda y: along(lambda x: func(x, y, z, *args), 0, y, z)[0], 1, z)[0], 2)


@written("scipy.integrate.quad_vec", always=True)
def quad_vec(f, a, b, epsabs=1e-200, epsrel=1e-8, norm="2", limit=50, args=(), **options):
    """scipy.integrate.quad_vec between finite ends, by halving the interval whose error is largest."""
    if options.get("full_output") or options.get("points") is not None or infinite(a) or infinite(b):
        raise UnsupportedError("scipy.integrate.quad_vec: finite ends, without points= and full_output=")
    if norm not in ("2", "max"):
        raise ValueError("norm must be '2' or 'max'")
    size = (lambda v: np.sqrt(np.sum(np.abs(v) ** 2))) if norm == "2" else (lambda v: np.max(np.abs(v)))
    g = lambda x: np.asarray(f(x, *args)) + 0.0
    width = b - a
    part = lambda u, v: _rule(g, a + width * u, a + width * v)
    first, rest = part(0.0, 1.0)
    low, high, errors, count, k = np.zeros(limit), np.zeros(limit), np.zeros(limit), 1, 0
    high[0], errors[0], total = 1.0, constant(size(rest)), constant(first)
    while count < limit and np.sum(errors) > np.maximum(epsabs, epsrel * size(total)):
        k = np.argmax(errors)
        middle, end = 0.5 * (low[k] + high[k]), high[k]
        whole = constant(part(low[k], end)[0])
        (left, e), (right, d) = part(low[k], middle), part(middle, end)
        total = total + constant(left) + constant(right) - whole
        high[k], errors[k], low[count], high[count], errors[count] = middle, constant(size(e)), middle, end, constant(size(d))
        count = count + 1
    out = np.zeros_like(first)
    for i in range(count):
        out = out + part(low[i], high[i])[0]
    return out[()], np.sum(errors)


@written("scipy.integrate.romb")
def romb(y, dx=1.0, axis=-1, show=False):
    """scipy.integrate.romb of 2**k + 1 samples."""
    if show:
        raise UnsupportedError("scipy.integrate.romb with show=True: leave it out")
    y = np.moveaxis(np.asarray(y) * 1.0, axis, 0)
    n, levels = len(y) - 1, 0
    while 2**levels < n:
        levels = levels + 1
    if 2**levels != n:
        raise ValueError("Number of samples must be one plus a non-negative power of 2.")
    h, row = n * np.asarray(dx) * 1.0, [0.5 * (y[0] + y[-1]) * n * dx]
    for i in range(1, levels + 1):
        h = h / 2
        step = n // 2**i
        new = [0.5 * (row[0] + 2 * h * np.sum(y[step :: 2 * step], axis=0))]
        for j in range(i):
            new.append(new[j] + (new[j] - row[j]) / (4.0 ** (j + 1) - 1))
        row = new
    return row[-1][()]


@written("scipy.integrate.cumulative_simpson")
def cumulative_simpson(y, *, x=None, dx=1.0, axis=-1, initial=None):
    """scipy.integrate.cumulative_simpson; the first, and every second, part is that of the parabola through three samples."""
    y, d = _first(np.asarray(y) * 1.0, x, dx, axis)
    n = len(y)
    d = np.broadcast_to(d * 1.0, y[1:].shape)
    if n < 3:
        out = np.cumsum(d * (y[1:] + y[:-1]) / 2.0, axis=0)
    else:
        left = _first_parts(y, d)
        right = _first_parts(y[::-1], d[::-1])[::-1]
        odd = (np.arange(n - 1) % 2 == 1).reshape((-1,) + (1,) * (y.ndim - 1))
        early = np.concatenate((left, right[-1:]))
        late = np.concatenate((left[:1], right))
        parts = np.where(odd, late, early)
        parts = np.concatenate((parts[:-1], right[-1:]))
        out = np.cumsum(parts, axis=0)
    if initial is not None:
        start = np.broadcast_to(np.moveaxis(np.asarray(initial) * 1.0, axis, 0) if np.ndim(initial) else initial, y[:1].shape)
        out = np.concatenate((start, out + start))
    return np.moveaxis(out, 0, axis)


def _first_parts(y, d):
    """The integrals over the first of two intervals of the parabolas through three samples."""
    a, b = d[:-1], d[1:]
    ratio = a / (a + b)
    first = 3 - ratio
    third = -(ratio**2) * (a + b) / b
    return a / 6 * (first * y[:-2] + (3 + ratio**2 * (a + b) / b + ratio) * y[1:-1] + third * y[2:])
