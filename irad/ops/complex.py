"""Complex numbers and their parts. All other ops on complex values are rows of `elementwise` and `array`.

A cotangent c of a complex value stands for the linear map dz -> Re(c * dz), without conjugation. So the rule of every
holomorphic op is its real one, and the cotangent of z under a real loss L is dL/d(Re z) - i dL/d(Im z): the convention of
JAX and autograd. The steepest ascent is its conjugate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.types import Type, complex_dtype, is_complex, real_dtype
from irad.ops.array import linear, zeros
from irad.ops.core import Op, type_error


def _infer_complex(x: Type, y: Type) -> tuple[Type, ...]:
    if x != y or x.dtype not in ("f32", "f64"):
        raise type_error("a complex number is made of two equal f32 or f64 types", x, y)
    return (x.with_dtype(complex_dtype(x.dtype)),)


def _eval_complex(x: Any, y: Any) -> Any:
    z = np.empty(np.shape(x), Type(complex_dtype(f"f{8 * np.asarray(x).itemsize}")).numpy)
    z.real, z.imag = x, y
    return z[()]


def _infer_part(z: Type) -> tuple[Type, ...]:
    if not is_complex(z.dtype):
        raise type_error("the parts are of a complex value", z)
    return (z.with_dtype(real_dtype(z.dtype)),)


def _vjp_complex(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    x, y = node.inputs
    if ad.active(x):
        adj.add(x, real(cts[0]))
    if ad.active(y):
        adj.add(y, -imag(cts[0]))


def _part(name: str, eval: Callable[..., Any], parts: Callable[[Value], tuple[Value, Value]]) -> Op:
    """`parts`: of the cotangent of z, given that of the part."""
    vjp = lambda ad, node, cts, adj: adj.add(node.inputs[0], complex_(*parts(cts[0])))
    return Op(name, _infer_part, eval, vjp, linear(), cheap=True, linear=True, zero_at="anywhere", stacks=True)


complex_ = Op("complex", _infer_complex, _eval_complex, _vjp_complex, linear(), cheap=True, linear=True,
              stacks=True, doc="the complex number of a real and an imaginary part")  # fmt: skip
real = _part("real", lambda z: np.real(z).copy()[()], lambda ct: (ct, zeros(ct.type)))
imag = _part("imag", lambda z: np.imag(z).copy()[()], lambda ct: (zeros(ct.type), -ct))


def conj(z: Value) -> Value:
    """The complex conjugate."""
    return complex_(real(z), -imag(z))
