"""The discrete Fourier transform, as an op from the parts of complex arrays to parts: linear over the real numbers.

    y_k = sum over j of z_j exp(sign 2 pi i j k / n)     along each of `axes`, without a factor

The matrix is symmetric, so the transpose of the map on (real, imaginary) pairs is the transform with the other sign.
There is no native code for it: Python runs NumPy's transform, see irad.codegen.lower.host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Type
from irad.ops.array import zeros
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
    if not any(map(ad.active, node.inputs)):
        return
    given = [zeros(v.type) if c is None else c for c, v in zip(cts, node.inputs)]
    for v, c in zip(node.inputs, fft(*given, axes=node.attrs["axes"], sign=-node.attrs["sign"])):
        adj.add(v, c)


def _jvp(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    ds = [tan.get(v) for v in node.inputs]
    if all(d is None for d in ds):
        return [None, None]
    return list(fft(*(zeros(v.type) if d is None else d for v, d in zip(node.inputs, ds)), **node.attrs))


fft = Op("fft", _infer, _eval, _vjp, _jvp, linear=True, doc="discrete Fourier transform of (real, imaginary), without a factor")
