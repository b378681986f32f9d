"""Loops over samples around scalar loops, as people write them, beside the array form and C by hand. CPU time, one thread.

    python -m tests.benchmarks.nests            all; or names

`apart`: irad without the passes that join forward and backward and make trips lanes. C is gcc -O3 -march=native -ffast-math, of the
value only.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import irad
from irad.core.switches import without


def powers(x, a):
    s = 0.0
    for i in range(len(x)):
        p, t = 1.0, 0.0
        for k in range(len(a)):
            t += a[k] * p
            p *= x[i]
        s += t * t
    return s


def powers_array(x, a):
    t, p = np.zeros_like(x), np.ones_like(x)
    for k in range(len(a)):
        t = t + a[k] * p
        p = p * x
    return np.sum(t * t)


def log_sum_exp(X):
    s = 0.0
    for i in range(X.shape[0]):
        m = X[i, 0]
        for j in range(1, X.shape[1]):
            m = max(m, X[i, j])
        t = 0.0
        for j in range(X.shape[1]):
            t += np.exp(X[i, j] - m)
        s += m + np.log(t)
    return s


def log_sum_exp_array(X):
    m = np.max(X, axis=1)
    return np.sum(m + np.log(np.sum(np.exp(X - m[:, None]), axis=1)))


def nearest(X, C):
    s = 0.0
    for i in range(X.shape[0]):
        best = np.inf
        for k in range(C.shape[0]):
            d = 0.0
            for j in range(X.shape[1]):
                d += (X[i, j] - C[k, j]) ** 2
            best = min(best, d)
        s += best
    return s


def nearest_array(X, C):
    return np.sum(np.min(np.sum((X[:, None, :] - C) ** 2, axis=2), axis=1))


def roots(x):
    s = 0.0
    for i in range(len(x)):
        y = 1.0
        for _ in range(8):
            y = 0.5 * (y + x[i] / y)
        s += y
    return s


def roots_array(x):
    y = np.ones_like(x)
    for _ in range(8):
        y = 0.5 * (y + x / y)
    return np.sum(y)


def mixture(X, A, M):
    """Minus the log-likelihood of a mixture of Gaussians with diagonal widths."""
    s = 0.0
    for i in range(X.shape[0]):
        t = 0.0
        for k in range(M.shape[0]):
            q = 0.0
            for j in range(X.shape[1]):
                d = (X[i, j] - M[k, j]) * A[k, j]
                q += d * d
            t += np.exp(-0.5 * q)
        s -= np.log(t + 1e-3)
    return s


def mixture_array(X, A, M):
    d = (X[:, None, :] - M) * A
    return -np.sum(np.log(np.sum(np.exp(-0.5 * np.sum(d * d, axis=2)), axis=1) + 1e-3))


def orbits(x, r):
    """A logistic map for each start."""
    s = 0.0
    for i in range(len(x)):
        y = x[i]
        for _ in range(40):
            y = r * y * (1.0 - y)
        s += y
    return s


def orbits_array(x, r):
    y = x
    for _ in range(40):
        y = r * y * (1.0 - y)
    return np.sum(y)


def logistic(X, y, w):
    s = 0.0
    for i in range(X.shape[0]):
        z = 0.0
        for j in range(len(w)):
            z += X[i, j] * w[j]
        s += np.log(1.0 + np.exp(-y[i] * z))
    return s


def logistic_array(X, y, w):
    return np.sum(np.log(1.0 + np.exp(-y * (X @ w))))


def escapes(x, y):
    """How long points stay: a `while` for each."""
    s = 0.0
    for i in range(len(x)):
        u, v, k = 0.0, 0.0, 0
        while k < 50 and u * u + v * v < 4.0:
            u, v = u * u - v * v + x[i], 2.0 * u * v + y[i]
            k += 1
        s += u * u + v * v
    return s


N = 20_000
rng = np.random.default_rng(0)
PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None, tuple[Any, ...]]] = {
    "powers": (powers, powers_array, (rng.uniform(0.5, 1.1, N), rng.normal(size=20))),
    "log_sum_exp": (log_sum_exp, log_sum_exp_array, (rng.normal(size=(N, 20)),)),
    "nearest": (nearest, nearest_array, (rng.normal(size=(N, 3)), rng.normal(size=(8, 3)))),
    "roots": (roots, roots_array, (rng.uniform(0.5, 2.0, N),)),
    "mixture": (mixture, mixture_array, (rng.normal(size=(N, 4)), rng.uniform(0.5, 1, (5, 4)), rng.normal(size=(5, 4)))),
    "orbits": (orbits, orbits_array, (rng.uniform(0.1, 0.9, N), 3.2)),
    "logistic": (logistic, logistic_array, (rng.normal(size=(N, 20)), np.sign(rng.normal(size=N)), rng.normal(size=20))),
    "escapes": (escapes, None, (rng.uniform(-1.5, 0.5, N), rng.uniform(-1, 1, N))),
}

C = r"""
#include <math.h>
#define EACH for (long i = 0; i < n; i++)
double powers(long n, double *x, double *a) { double s = 0; EACH { double p = 1, t = 0;
  for (int k = 0; k < 20; k++) { t += a[k] * p; p *= x[i]; } s += t * t; } return s; }
double log_sum_exp(long n, double *X) { double s = 0; EACH { double *x = X + 20 * i, m = x[0], t = 0;
  for (int j = 1; j < 20; j++) m = x[j] > m ? x[j] : m;
  for (int j = 0; j < 20; j++) t += exp(x[j] - m); s += m + log(t); } return s; }
double nearest(long n, double *X, double *C) { double s = 0; EACH { double best = INFINITY;
  for (int k = 0; k < 8; k++) { double d = 0; for (int j = 0; j < 3; j++) { double e = X[3*i+j] - C[3*k+j]; d += e * e; }
  best = d < best ? d : best; } s += best; } return s; }
double roots(long n, double *x) { double s = 0; EACH { double y = 1;
  for (int k = 0; k < 8; k++) y = 0.5 * (y + x[i] / y); s += y; } return s; }
double mixture(long n, double *X, double *A, double *M) { double s = 0; EACH { double t = 0;
  for (int k = 0; k < 5; k++) { double q = 0; for (int j = 0; j < 4; j++) { double d = (X[4*i+j] - M[4*k+j]) * A[4*k+j]; q += d * d; }
  t += exp(-0.5 * q); } s -= log(t + 1e-3); } return s; }
double orbits(long n, double *x, double *r) { double s = 0; EACH { double y = x[i];
  for (int k = 0; k < 40; k++) y = *r * y * (1 - y); s += y; } return s; }
double logistic(long n, double *X, double *y, double *w) { double s = 0; EACH { double z = 0;
  for (int j = 0; j < 20; j++) z += X[20*i+j] * w[j]; s += log(1 + exp(-y[i] * z)); } return s; }
double escapes(long n, double *x, double *y) { double s = 0; EACH { double u = 0, v = 0; int k = 0;
  while (k < 50 && u*u + v*v < 4) { double t = u*u - v*v + x[i]; v = 2*u*v + y[i]; u = t; k++; } s += u*u + v*v; } return s; }
"""


def least(f: Callable[[], Any]) -> float:
    """The least CPU time of a call, in microseconds."""
    f(), f()
    best, start, calls = 1e9, time.process_time(), 0
    while calls < 5 or time.process_time() - start < 0.4:
        t = time.process_time()
        f()
        best, calls = min(best, time.process_time() - t), calls + 1
    return best * 1e6


def by_hand(folder: Path) -> ctypes.CDLL:
    (folder / "nests.c").write_text(C)
    flags = ["-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", "-o", str(folder / "nests.so")]
    subprocess.run(["gcc", *flags, str(folder / "nests.c"), "-lm"], check=True)
    return ctypes.CDLL(str(folder / "nests.so"))


def row(name: str, c: ctypes.CDLL) -> str:
    loop, array, args = PROGRAMS[name]
    arrays = [np.atleast_1d(np.asarray(x, float)) for x in args]
    hand = getattr(c, name)
    hand.restype = ctypes.c_double
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in arrays]
    wrt = tuple(range(len(args)))

    def times(f: Callable[..., Any]) -> list[float]:
        again = lambda *xs: f(*xs)
        value = irad.compile(again, threads=1)
        both = irad.compile(irad.value_and_grad(again, argnums=wrt), threads=1)
        assert np.isclose(value(*args), hand(N, *pointers), 1e-9) and np.isclose(both(*args)[0], value(*args), 1e-12)
        return [least(lambda: value(*args)), least(lambda: both(*args))]

    with without("lanes", "join"):
        apart = times(loop)
    now = times(loop)
    other = times(array) if array is not None else [float("nan")] * 2
    cells = [*apart[:1], *now[:1], *other[:1], least(lambda: hand(N, *pointers)), apart[1], now[1], other[1]]
    return f"| {name} | " + " | ".join("" if x != x else f"{x:,.0f}" for x in cells) + " |"


def main() -> None:
    print("| us | value apart | value | array form | C by hand | value and gradient apart | value and gradient | array form |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        c = by_hand(Path(folder))
        for name in sys.argv[1:] or PROGRAMS:
            print(row(name, c), flush=True)


if __name__ == "__main__":
    main()
