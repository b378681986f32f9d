"""irad: a compiler for gradients. Write NumPy, get native forward and backward.

c = irad.compile(f)        c(x)   c.value_and_grad(x)   c.grad(x)   c.vjp(x)   c.lower(x).asm
irad.grad(f)(x)            irad.value_and_grad(f)(x)    irad.vjp(f, x)         irad.jvp(f, (x,), (v,))
"""

from irad.api import (
    checkpoint,
    compile,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    load,
    value_and_grad,
    vjp,
    vmap,
)
from irad.checks import check_grads
from irad.custom import callback, custom_jvp, custom_vjp, stop_gradient
from irad.errors import IradError, IradTypeError, IradValueError, ShapeError, UnsupportedError
from irad.tree import register as register_type

__version__ = "0.1.0"

__all__ = [
    "IradError",
    "IradTypeError",
    "IradValueError",
    "ShapeError",
    "UnsupportedError",
    "callback",
    "check_grads",
    "checkpoint",
    "compile",
    "custom_jvp",
    "custom_vjp",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "linearize",
    "load",
    "register_type",
    "stop_gradient",
    "value_and_grad",
    "vjp",
    "vmap",
]
