"""irad: a compiler for gradients. Write NumPy, get native forward and backward.

c = irad.compile(f)        c(x)   c.value_and_grad(x)   c.grad(x)   c.vjp(x)   c.lower(x).asm
irad.grad(f)(x)            irad.value_and_grad(f)(x)    irad.vjp(f, x)         irad.jvp(f, (x,), (v,))
"""

from typing import TYPE_CHECKING, Any

from irad.core.garbage import all_old, uncollected
from irad.core.once import import_later
from irad.core.tree import register as register_type
from irad.errors import IradError, IradTypeError, IradValueError, ShapeError, UnsupportedError

with uncollected():  # the compiler itself, which makes no garbage: a first call should not wait for it
    from irad.api import checkpoint, compile, grad, hessian, hvp, jacobian, value_and_grad, vmap
    from irad.directional import jvp, linearize, vjp

    all_old()

if TYPE_CHECKING:
    from irad.ahead.library import export
    from irad.codegen.call.memory import release_memory
    from irad.core.reading import load
    from irad.custom import callback, custom_jvp, custom_vjp, stop_gradient
    from irad.flat import flatten
    from irad.interop.casadi import to_casadi
    from irad.interop.jax import to_jax
    from irad.interop.pytensor import to_pytensor
    from irad.interop.torch import to_torch
    from irad.validation.check_grads import check_grads

__version__ = "0.1.0"

__all__ = [
    "IradError", "IradTypeError", "IradValueError", "ShapeError", "UnsupportedError", "callback", "check_grads", "checkpoint",
    "compile", "custom_jvp", "custom_vjp", "export", "flatten", "grad", "hessian", "hvp", "jacobian", "jvp", "linearize",
    "load", "register_type", "release_memory", "stop_gradient", "to_casadi", "to_jax", "to_pytensor", "to_torch",
    "value_and_grad", "vjp", "vmap",
]  # fmt: skip

_LATER = {
    "callback": "irad.custom", "check_grads": "irad.validation.check_grads", "custom_jvp": "irad.custom",
    "custom_vjp": "irad.custom", "export": "irad.ahead.library", "flatten": "irad.flat", "load": "irad.core.reading",
    "release_memory": "irad.codegen.call.memory", "stop_gradient": "irad.custom", "to_casadi": "irad.interop.casadi",
    "to_jax": "irad.interop.jax", "to_pytensor": "irad.interop.pytensor", "to_torch": "irad.interop.torch",
}  # fmt: skip

_MODULES = ("graph", "mpi")


def __getattr__(name: str) -> Any:
    """Names of modules that few programs need; they are imported when they are first asked for."""
    if name in _MODULES:
        return import_later(f"irad.{name}")
    if name not in _LATER:
        text = f"module 'irad' has no attribute {name!r}"
        if not name.startswith("_"):
            elsewhere = import_later("irad.elsewhere")
            text += elsewhere.advice(elsewhere.NAMES, name) or elsewhere.misspelt(name, __dir__())
        raise AttributeError(text)
    value = globals()[name] = getattr(import_later(_LATER[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
