"""The discrete Fourier transform, as an op from the parts of complex arrays to parts: linear over the real numbers.

    y_k = sum over j of z_j exp(sign 2 pi i j k / n)     along each of `axes`, without a factor

The matrix is symmetric, so the transpose of the map on (real, imaginary) pairs is the transform with the other sign.
Native code: irad.codegen.lower.fft.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Type
from irad.ops.array import linear, zeros
from irad.ops.core import Op, type_error


def _infer(re: Type, im: Type, *, axes: tuple[int, ...], sign: int) -> tuple[Type, ...]:
    fits = re == im and re.dtype in ("f32", "f64") and all(0 <= k < re.rank for k in axes) and sign in (-1, 1)
    if not fits:
        raise type_error(f"fft along axes {axes} wants a real and an imaginary part, float32 or float64", re, im)
    return re, im


def _eval(re: Any, im: Any, *, axes: tuple[int, ...], sign: int) -> tuple[Any, ...]:
    z = np.asarray(re) + 1j * np.asarray(im)
    y = np.fft.fftn(z, axes=axes) if sign < 0 else np.fft.ifftn(z, axes=axes, norm="forward")
    dtype = np.asarray(re).dtype
    return np.ascontiguousarray(y.real, dtype), np.ascontiguousarray(y.imag, dtype)


def _vjp(ad: Any, node: Any, cts: Sequence[Value | None], adj: Any) -> None:
    given = [zeros(v.type) if c is None else c for c, v in zip(cts, node.inputs)]
    for v, c in zip(node.inputs, fft(*given, axes=node.attrs["axes"], sign=-node.attrs["sign"])):
        adj.add(v, c)


fft = Op(
    "fft", _infer, _eval, _vjp, linear(), linear=True, doc="discrete Fourier transform of (real, imaginary), without a factor"
)


def roots(n: int) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of 2 pi k / n for k < n, each from an angle of at most pi/4, so that the last bit is right but for rounding."""
    k = np.arange(n)
    quarter, rest = 4 * k // n, 4 * k % n
    low = 2 * rest <= n
    angle = np.where(low, rest, n - rest) * (np.pi / (2 * n))
    c, s = np.where(low, np.cos(angle), np.sin(angle)), np.where(low, np.sin(angle), np.cos(angle))
    turned = [(c, s), (-s, c), (-c, -s), (s, -c)]
    return tuple(np.choose(quarter, [t[i] for t in turned]) for i in (0, 1))  # type: ignore[return-value]
