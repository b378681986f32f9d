"""Names that other packages have and irad has not, and what is written here instead: for errors."""

from __future__ import annotations

import difflib

_COMPILE = "irad.compile(f)"
_PLAIN = "NumPy itself (import numpy as np): irad reads plain NumPy"

NAMES = {  # what `irad.NAME` would be
    "jit": _COMPILE,
    "njit": _COMPILE,
    "function": _COMPILE,
    "jacfwd": 'irad.jacobian(f, mode="forward")',
    "jacrev": 'irad.jacobian(f, mode="reverse")',
    "jacrev_and_value": "irad.vjp(f, x)",
    "hess": "irad.hessian(f)",
    "elementwise_grad": "irad.vjp(f, x)[1](np.ones_like(x))[0]",
    "make_vjp": "irad.vjp(f, x), which gives (result, pullback)",
    "make_jvp": "irad.jvp(f, (x,), (v,))",
    "make_hvp": "irad.hvp(f)(x, v)",
    "pmap": "irad.vmap(f) for a batch; a call uses the cores of the machine by itself",
    "pjit": "irad.compile(f); a call uses the cores of the machine by itself",
    "shard_map": "irad.compile(f); a call uses the cores of the machine by itself",
    "prange": "range: loops with independent trips use several threads by themselves",
    "remat": "irad.checkpoint(f)",
    "numpy": _PLAIN,
    "np": _PLAIN,
    "scipy": "SciPy itself (import scipy): irad reads its common functions",
    "lax": "for, while and if, which compiled code keeps as loops and branches",
    "random": "np.random.default_rng(seed): NumPy's own generators work in compiled code",
    "nn": "functions of NumPy: x @ w + b, np.maximum(x, 0), np.tanh(x)",
    "tree_util": "plain Python over lists, dicts and dataclasses; irad.register_type(cls) for other classes",
    "tree": "plain Python over lists, dicts and dataclasses; irad.register_type(cls) for other classes",
    "tree_map": "a comprehension, such as {k: p[k] - rate * g[k] for k in p}",
    "pure_callback": "irad.callback(f, result_types, pure=True), made outside",
    "make_jaxpr": "irad.compile(f).lower(x).ir",
    "eval_shape": "irad.compile(f).lower(x).ir",
    "device_put": "nothing: irad runs on the CPU, on NumPy's arrays",
    "block_until_ready": "nothing: a call returns when it is done",
    "no_grad": "irad.stop_gradient(x)",
    "detach": "irad.stop_gradient(x)",
    "tensor": "np.array(...)",
    "Tensor": "np.ndarray",
    "Variable": "np.array(...)",
    "GradientTape": "irad.grad(f)(x)",
    "backward": "irad.grad(f)(x)",
    "gradient": "irad.grad(f)(x)",
    "vectorize": "irad.vmap(f), or np.vectorize(f) inside",
    "config": "keywords of irad.compile, and the variables of docs/options.md; float64 is the default",
}

OPTIONS = {  # what `irad.compile(f, NAME=...)` would be
    "static_argnums": "static=positions or names; most often it can be left out: what shapes the program is found out",
    "static_argnames": "static=names; most often it can be left out: what shapes the program is found out",
    "donate_argnums": "donate=positions or names",
    "donate_argnames": "donate=names",
    "parallel": "threads=n; it can be left out: loops with independent trips use several threads by themselves",
    **dict.fromkeys(("nopython", "nogil", "cache", "forceobj"), "nothing: so it is always"),
    **dict.fromkeys(("backend", "device", "inline", "mode", "signature"), "nothing: there is no such choice"),
}

ATTRIBUTES = {  # what `x.NAME` would be, of an array
    "at": "x[i] = v or x[i] += v (np.add.at where indices repeat)",
    "detach": "irad.stop_gradient(x)",
    "backward": "irad.grad(f)(x) around the function",
    "grad": "irad.grad(f)(x) around the function",
    "requires_grad": "irad.grad(f, argnums=...) around the function",
    "numpy": "x itself, which is a NumPy array",
    **dict.fromkeys(("cpu", "cuda", "to", "block_until_ready", "device"), "x itself: irad runs on the CPU"),
    "unsqueeze": "x[None] or np.expand_dims(x, axis)",
    "permute": "x.transpose(...)",
    "dim": "x.ndim",
    "norm": "np.linalg.norm(x)",
    **dict.fromkeys(("abs", "exp", "log", "sqrt", "sin", "cos", "tanh"), "the function: np.exp(x), np.abs(x) and so on"),
    **dict.fromkeys(("append", "extend"), "np.append(x, v) or np.concatenate, or store into an array of the final size"),
    "length": "len(x) or x.size",
}


def advice(table: dict[str, str], name: str) -> str:
    """What to write instead of a name, as the end of a message; "" if it is in no table."""
    found = table.get(name)
    if found is None:
        return ""
    return f"; leave it out: {found.removeprefix('nothing: ')}" if found.startswith("nothing: ") else f"; write {found}"


def misspelt(name: str, names: list[str]) -> str:
    """Names like this one, as the end of a message; "" if there is none."""
    close = difflib.get_close_matches(name, names, n=2)
    return f"; did you mean {' or '.join(close)}?" if close else ""
