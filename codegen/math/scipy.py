"""SciPy's special functions in native code: the C functions that `scipy.special.cython_special` exports, called lane by lane.

Cython's capsules state the signature of each, so that what is called is what was meant. They do not need the GIL.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable
from typing import Any

from irad.codegen.math.values import Values
from irad.core.once import import_later, once
from irad.errors import UnsupportedError
from irad.ops.scipy_special import ARITY, PREFIX

OUTLINED = "irad.scipy."  # functions over lanes
_SYMBOL = "irad_scipy_"  # SciPy's functions
_VARIANTS = ("{}", "__pyx_fuse_0{}", "__pyx_fuse_1{}", "__pyx_fuse_2{}")  # a function for each kind of numbers


def rule(op: str) -> Callable[..., Any]:
    """The scalar rule of an op: in double precision, whatever its operands are."""
    name = op.removeprefix(PREFIX)

    def call(E: Values, args: list[Any], dtype: str) -> Any:
        wide = [E.convert(a, "f64") for a in args]
        return E.convert(E.rare(E.const(True, "bool"), OUTLINED + name, wide, [wide[0]])[0], dtype)

    return call


def text(outlined: str, loop: Callable[..., str]) -> tuple[str, str]:
    """A function over lanes, and the declaration that it needs."""
    name = outlined.removeprefix(OUTLINED)
    count, symbol = ARITY[name], _SYMBOL + name
    operands = ", ".join(f"double %x{k}" for k in range(count))
    body = f"  %z0 = call double @{symbol}({operands}, i32 0)"
    return loop(outlined, count, "double", ["double"], body), f"declare double @{symbol}({'double, ' * count}i32)"


def address(symbol: str) -> int:
    """Where one of SciPy's functions is. Raises KeyError if irad knows none of that name."""
    return _address(symbol.removeprefix(_SYMBOL))


def symbols(text: str) -> dict[str, int]:
    """Where SciPy's functions are that a module declares."""
    names: Iterable[str] = set(re.findall(rf"^declare double @{_SYMBOL}(\w+)\(", text, re.M))
    return {_SYMBOL + n: _address(n) for n in names}


@once
def _address(name: str) -> int:
    exported = import_later("scipy.special.cython_special").__pyx_capi__
    want = f"double ({'double, ' * ARITY[name]}int __pyx_skip_dispatch)".encode()
    python = ctypes.pythonapi
    python.PyCapsule_GetName.restype, python.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    python.PyCapsule_GetPointer.restype = ctypes.c_void_p
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    for variant in _VARIANTS:
        capsule = exported.get(variant.format(name))
        if capsule is not None and python.PyCapsule_GetName(capsule) == want:
            return int(python.PyCapsule_GetPointer(capsule, want))
    raise UnsupportedError(f"the installed SciPy exports no scipy.special.{name} of real numbers for native code")
