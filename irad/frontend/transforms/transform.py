"""What a program holds before anything is compiled: functions made from functions, and names of public functions.

Apart from irad.frontend.transforms.derivatives, which says what they mean and needs the whole front end, for a fast `import irad`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irad.errors import IradTypeError, IradValueError, UnsupportedError

KINDS = ("grad", "value_and_grad", "jacobian", "hessian", "hvp", "checkpoint", "vmap")

CALLS: dict[Any, str | Callable[..., Any]] = {}
"""Public functions (irad.vjp, irad.jvp...) and what they mean in compiled code: a name of irad.frontend.transforms.derivatives.MEANINGS
or a function that takes the reader first."""


def bind(fn: Any, name: str) -> None:
    """Let a public function mean `name` ("vjp", "jvp", "linearize") in compiled code."""
    CALLS[fn] = name


OUTSIDE: dict[Any, str] = {}
"""Functions and `__call__`s of irad's own that have no meaning in compiled code, and what to write instead."""


class Wrapper:
    """An object that is called like the function `__wrapped__`: in compiled code, a call of it is one of that function."""


def derivative(fn: Any) -> Any:
    """A function of irad's own that only compiled code can run: it calls irad.jvp or irad.vjp on the user's."""
    fn.derivative = True
    return fn


def is_derivative(fn: Any) -> bool:
    """Can only compiled code run a function?"""
    return isinstance(fn, Transform) or getattr(fn, "derivative", False) is True


class Transform:
    """A function made from another one: `kind` of KINDS applied to `fun`.

    `argnums`: position or name, or a tuple of them, of the arguments to differentiate by; `has_aux`: fun returns (value, aux);
    `mode`: "reverse" or "forward", or "" to let the shapes decide; `axes`: the (in_axes, out_axes) of vmap.
    """

    def __init__(
        self, kind: str, fun: Any, argnums: Any = 0, has_aux: bool = False, mode: str = "", axes: tuple[Any, Any] = (0, 0)
    ):
        if kind not in KINDS:
            raise IradValueError(f"no transform {kind!r}; there are {', '.join(KINDS)}")
        if not callable(fun):
            raise IradTypeError(f"{kind} wants a function, not {type(fun).__name__}")
        if mode not in ("", "reverse", "forward"):
            raise IradValueError(f"mode must be 'reverse' or 'forward', got {mode!r}")
        self.kind, self.fun, self.argnums, self.has_aux, self.mode = kind, fun, argnums, has_aux, mode
        self.axes = axes
        self.__wrapped__ = fun
        self.__name__ = f"{kind}_{getattr(fun, '__name__', 'f').strip('<>')}"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f"{self.kind} is called outside of compiled code")
