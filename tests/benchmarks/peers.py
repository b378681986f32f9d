"""How irad and its peers compute a workload: each peer is a function (workload, arguments) -> callable without arguments.

The callable gives (value, gradients...), or for a workload with a `rate` (value, parameters after the step...). A peer that
does not do a workload gives None; one that is not installed raises ImportError. Arguments are in the peer's own arrays before
the clock starts.
"""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import irad
from tests.benchmarks.workloads import Workload, hunters_and_prey

Run = Callable[[], Any]


def _stepped(w: Workload, args: Sequence[Any], result: Sequence[Any]) -> tuple[Any, ...]:
    """The result after the step that a workload with a rate takes."""
    value, *grads = result
    if w.rate is None:
        return (value, *grads)
    return (value, *(args[k] - w.rate * g for k, g in zip(w.wrt, grads)))


def with_irad(w: Workload, args: tuple[Any, ...]) -> Run | None:
    """The plain function; a step is compiled whole."""
    f, wrt, rate = w.f, w.wrt, w.rate
    if rate is None:
        run = irad.value_and_grad(f, argnums=wrt)
        return lambda: _flat(run(*args))

    @irad.compile
    def step(*xs: Any) -> Any:
        value, grads = irad.value_and_grad(f, argnums=wrt)(*xs)
        return value, tuple(xs[k] - rate * g for k, g in zip(wrt, grads))

    return lambda: _flat(step(*args))


def _flat(result: Any) -> tuple[Any, ...]:
    value, grads = result
    return (value, *grads)


def with_numpy(w: Workload, args: tuple[Any, ...]) -> Run | None:
    """The hand-written gradient."""
    return lambda: _stepped(w, args, w.by_hand(*args))


def with_numba(w: Workload, args: tuple[Any, ...]) -> Run | None:
    """The hand-written gradient, compiled."""
    import numba

    if not w.loops:
        return None
    run = numba.njit(w.by_hand)
    return lambda: run(*args)


# ---- C ---------------------------------------------------------------------------------------------------------------


@functools.cache
def _library() -> Any:
    """kernels.c, compiled now. Raises ImportError without gcc."""
    gcc = shutil.which("gcc")
    if gcc is None:
        raise ImportError("gcc is not there")
    target = Path(tempfile.mkdtemp()) / "kernels.so"
    source = Path(__file__).with_name("kernels.c")
    flags = ["-O3", "-ffast-math", "-march=native", "-shared", "-fPIC"]
    subprocess.run([gcc, *flags, str(source), "-o", str(target), "-lm"], check=True)
    return ctypes.CDLL(str(target))


def with_c(w: Workload, args: tuple[Any, ...]) -> Run | None:
    """The kernel by hand, into arrays that are kept."""
    call = _C.get(w.name)
    if call is None:
        return None
    function = getattr(_library(), w.name)
    function.restype = ctypes.c_double
    return call(function, *args)


def _p(a: Any) -> Any:
    return a.ctypes.data_as(ctypes.c_void_p)  # keeps the array alive


def _d(x: Any) -> Any:
    return ctypes.c_double(x)


def _n(k: int) -> Any:
    return ctypes.c_long(k)


def _c_chain(f: Any, x: Any) -> Run:
    dx = np.empty_like(x)
    a = (_n(x.size), _p(x), _p(dx))
    return lambda: (f(*a), dx)


def _c_logistic(f: Any, w: Any, b: float, X: Any, y: Any) -> Run:
    dw, db = np.empty_like(w), np.empty(1)
    a = (_n(X.shape[0]), _n(X.shape[1]), _p(w), _d(b), _p(X), _p(y), _p(dw), _p(db))
    return lambda: (f(*a), dw, db[0])


def _c_heat(f: Any, u: Any, target: Any, steps: int) -> Run:
    d, work = np.empty_like(u), np.empty((2, u.size))
    a = (_n(u.size), _n(steps), _p(u), _p(target), _p(d), _p(work[0]), _p(work[1]))
    return lambda: (f(*a), d)


def _c_phases(f: Any, u: Any, target: Any, steps: int) -> Run:
    d, states, work = np.empty_like(u), np.empty((steps + 1, *u.shape)), np.empty((2, *u.shape))
    a = (_n(len(u)), _n(steps), _p(u), _p(target), _p(d), _p(states), _p(work[0]), _p(work[1]))
    return lambda: (f(*a), d)


def _c_gauss_seidel(f: Any, a: Any, sweeps: int) -> Run:
    d, work = np.empty_like(a), np.empty_like(a)
    xs = (_n(len(a)), _n(sweeps), _p(a), _p(d), _p(work))
    return lambda: (f(*xs), d)


def _c_logistic_map(f: Any, x: float, r: float, n: int) -> Run:
    out, kept = np.empty(2), np.empty(n)
    a = (_n(n), _d(x), _d(r), _p(out[:1]), _p(out[1:]), _p(kept))
    return lambda: (f(*a), out[0], out[1])


def _c_ode(f: Any, y: Any, p: Any, steps: int) -> Run:
    dy, dp = np.empty(2), np.empty(4)
    a = (_n(steps), _p(y), _p(p), _p(dy), _p(dp))
    return lambda: (f(*a), dy, dp)


_C: dict[str, Callable[..., Run]] = {
    "chain": _c_chain,
    "logistic": _c_logistic,
    "heat": _c_heat,
    "phases": _c_phases,
    "gauss_seidel": _c_gauss_seidel,
    "logistic_map": _c_logistic_map,
    "ode": _c_ode,
}

# ---- JAX -------------------------------------------------------------------------------------------------------------


def _rebound(f: Any, namespace: Any) -> Any:
    """The function with another library for `np`."""
    return types.FunctionType(f.__code__, {**f.__globals__, "np": namespace}, f.__name__, f.__defaults__, f.__closure__)


def with_jax(w: Workload, args: tuple[Any, ...]) -> Run | None:
    """The same source on jax.numpy; loops as JAX wants them."""
    import jax

    jax.config.update("jax_enable_x64", True)
    f = _jax_loops().get(w.name) or (_rebound(w.f, jax.numpy) if w.array else None)
    if f is None:
        return None
    static = tuple(k for k, x in enumerate(args) if isinstance(x, int))
    grad = jax.value_and_grad(f, argnums=w.wrt)
    run = jax.jit(lambda *xs: _stepped(w, xs, _flat(grad(*xs))), static_argnums=static)
    xs = [x if k in static else jax.numpy.asarray(x) for k, x in enumerate(args)]
    return lambda: jax.block_until_ready(run(*xs))


@functools.cache
def _jax_loops() -> dict[str, Any]:
    import jax
    from jax import lax
    from jax import numpy as jnp

    field = _rebound(hunters_and_prey, jnp)

    def heat(u: Any, target: Any, steps: int) -> Any:
        move = lambda _, u: u.at[1:-1].set(u[1:-1] + 0.2 * (u[2:] - 2 * u[1:-1] + u[:-2]))
        return jnp.sum((lax.fori_loop(0, steps, move, u) - target) ** 2)

    def phases(u: Any, target: Any, steps: int) -> Any:
        def move(_: int, u: Any) -> Any:
            c = u[1:-1, 1:-1]
            around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
            return u.at[1:-1, 1:-1].set(c + 0.1 * (around - 4 * c) + 0.05 * c * (1 - c * c))

        return jnp.sum((lax.fori_loop(0, steps, move, u) - target) ** 2)

    def gauss_seidel(a: Any, sweeps: int) -> Any:
        """Scans over rows and within them, which beat indexed updates."""

        def sweep(_: Any, a: Any) -> Any:
            def row(above: Any, x: Any) -> Any:
                here, below = x
                partial = 0.2 * (here[1:-1] + above[1:-1] + below[1:-1] + here[2:])
                last, inner = lax.scan(lambda c, p: (p + 0.2 * c,) * 2, here[0], partial)
                new = jnp.concatenate([here[:1], inner, here[-1:]])
                return new, new

            rows = lax.scan(row, a[0], (a[1:-1], a[2:]))[1]
            return jnp.concatenate([a[:1], rows, a[-1:]])

        return jnp.sum(lax.fori_loop(0, sweeps, sweep, a) ** 2)

    def logistic_map(x: Any, r: Any, n: int) -> Any:
        return lax.fori_loop(0, n, lambda _, x: r * x * (1 - x), x)

    def ode(y: Any, p: Any, steps: int) -> Any:
        h = 10.0 / steps

        def step(_: Any, y: Any) -> Any:
            k1 = field(y, p)
            k2 = field(y + 0.5 * h * k1, p)
            k3 = field(y + 0.5 * h * k2, p)
            k4 = field(y + h * k3, p)
            return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)

        return jnp.sum(lax.fori_loop(0, steps, step, y) ** 2)

    def lstm(W: Any, U: Any, b: Any, X: Any) -> Any:
        n = U.shape[0]

        def step(carry: Any, x: Any) -> Any:
            h, c = carry
            z = x @ W + h @ U + b
            s = jax.nn.sigmoid(z[:, : 3 * n])
            c = s[:, n : 2 * n] * c + s[:, :n] * jnp.tanh(z[:, 3 * n :])
            return (s[:, 2 * n :] * jnp.tanh(c), c), None

        zero = jnp.zeros((X.shape[1], n), X.dtype)
        return jnp.mean(lax.scan(step, (zero, zero), X)[0][0] ** 2)

    return {"heat": heat, "phases": phases, "gauss_seidel": gauss_seidel, "logistic_map": logistic_map, "ode": ode, "lstm": lstm}


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


@functools.cache
def _torch_numpy() -> Any:
    """The functions that workloads use, by NumPy's names."""
    import torch

    names = "sin cos exp log log1p sqrt tanh abs sum mean arange".split()
    return types.SimpleNamespace(
        **{n: getattr(torch, n) for n in names},
        max=lambda x, axis, keepdims: torch.amax(x, axis, keepdims),
        maximum=lambda x, low: torch.clamp(x, min=low),
        zeros=lambda shape, dtype: torch.zeros(shape, dtype=dtype),
    )


def with_torch(w: Workload, args: tuple[Any, ...], wrap: Callable[[Any], Any] = lambda f: f) -> Run | None:
    """The same source on torch, eager; `wrap` may compile it."""
    import torch

    if not w.array:
        return None
    torch.set_num_threads(1)
    f = wrap(_rebound(w.f, _torch_numpy()))
    xs = [torch.tensor(np.asarray(x)) for x in args]
    wanted = [xs[k].requires_grad_() for k in w.wrt]

    def run() -> Any:
        value = f(*xs)
        grads = torch.autograd.grad(value, wanted)
        with torch.no_grad():
            return tuple(x.detach() for x in _stepped(w, xs, (value, *grads)))

    return run


def with_torch_compile(w: Workload, args: tuple[Any, ...]) -> Run | None:
    """The same, through torch.compile."""
    import torch

    if w.name == "lstm":  # its loop would be written out fifty times
        return None
    torch.compiler.reset()  # what it compiled for another size belongs to another copy of the function
    return with_torch(w, args, torch.compile)


PEERS: dict[str, Callable[[Workload, tuple[Any, ...]], Run | None]] = {
    "irad": with_irad,
    "NumPy by hand": with_numpy,
    "C by hand": with_c,
    "Numba by hand": with_numba,
    "JAX": with_jax,
    "torch": with_torch,
    "torch.compile": with_torch_compile,
}
