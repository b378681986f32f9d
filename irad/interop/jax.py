"""A compiled function inside JAX: a callback with a derivative of its own (`custom_vjp`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.api import Compiled
from irad.core.once import import_later
from irad.core.tree import flatten
from irad.interop.flat import backward_of, compiled, moving, result_types


def to_jax(f: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function as one that JAX can call inside `jit`, differentiate in reverse mode (any number of times) and `vmap`.

    The arguments are arrays, and tuples, lists and dicts of them. Results have JAX's dtypes: without jax_enable_x64, float32.
    JAX calls f on the host, so the arrays come from the device and go back. Raises ImportError without jax, IradTypeError if the
    shape of a result is known at run time only.

    >>> import jax
    >>> [float(g) for g in jax.grad(irad.to_jax(lambda x: np.sum(x**2)))(np.array([1.0, 2.0]))]
    [2.0, 4.0]
    """
    return _bridge(import_later("jax"), compiled(f))


def _bridge(jax: Any, f: Compiled) -> Callable[..., Any]:
    later: dict[tuple[int, ...], Any] = {}  # backwards, by the arguments that they are by

    def host(*args: Any) -> Any:
        args = jax.tree.map(np.asarray, args)
        return jax.tree.map(_jax_array, f(*args))

    def _jax_array(x: Any) -> Any:
        x = np.asarray(x)
        return x.astype(jax.dtypes.canonicalize_dtype(x.dtype), copy=False)

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def call(*args: Any) -> Any:
        tree, types = result_types(f, jax.tree.map(lambda x: np.ones(x.shape, x.dtype), args), "to_jax")
        shapes = [jax.ShapeDtypeStruct(s, jax.dtypes.canonicalize_dtype(d)) for s, d in types]
        return jax.pure_callback(host, tree.unflatten(shapes), *args, vmap_method="sequential")

    def forward(*args: Any) -> Any:
        return call(*args), args

    def backward(args: Any, cotangent: Any) -> Any:
        leaves, _ = jax.tree.flatten(args)
        by = moving(flatten(jax.tree.map(lambda x: 1.0, args))[1], [_inexact(jax, x) for x in leaves], "to_jax")
        if by not in later:
            later[by] = _bridge(jax, backward_of(f, by))
        found = later[by](*args, _floats(jax, cotangent))
        none = lambda x: np.zeros(x.shape, jax.dtypes.float0)
        return tuple(found[by.index(k)] if k in by else jax.tree.map(none, x) for k, x in enumerate(args))

    call.defvjp(forward, backward)
    return call  # type: ignore[no-any-return]


def _inexact(jax: Any, x: Any) -> bool:
    return bool(jax.numpy.issubdtype(x.dtype, jax.numpy.inexact))


def _floats(jax: Any, tree: Any) -> Any:
    """Cotangents of whole numbers, which JAX has no dtype for, as zeros."""
    return jax.tree.map(lambda x: np.zeros(x.shape) if x.dtype == jax.dtypes.float0 else x, tree)
