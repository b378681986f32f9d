"""Calls of Python that the front end makes for the program: what NumPy or the standard library does at run time, in program order."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from irad.core.ir import Value
from irad.core.once import COMPILER
from irad.core.types import Type
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr, lift
from irad.frontend.values.objects import Array, Text
from irad.ops.custom import HostFunction, callback, stop_gradient
from irad.ops.text import filled

_HOSTS: dict[Hashable, HostFunction] = {}  # a graph names its functions; they live as long as the process


def host_call(
    key: Hashable, run: Callable[..., Sequence[Any]], operands: Sequence[Value], types: Sequence[Type], why: str = ""
) -> list[Value]:
    """run(*operands) at run time, once each time the program comes here; scalars are Python numbers.

    `key` tells what `run` does; its first part names it. The results must be of the `types`; `why` derivatives are
    refused where they reach an operand.
    """
    full = (key, tuple(v.type for v in operands), tuple(types))
    with COMPILER:
        if full not in _HOSTS:
            _HOSTS[full] = HostFunction(run, tuple(types), str(key[0] if isinstance(key, tuple) else key), plain=True, why=why)
        host = _HOSTS[full]
    out = callback(*operands, name=host.name, types=host.types)
    return list(out) if isinstance(out, tuple) else [out]


def host_text(key: tuple[Any, ...], act: Callable[[str], Any], text: Text, wanted: Callable[[], bool] = lambda: True) -> None:
    """act(text) at run time, with the numbers that the text then has, if `wanted` says so."""

    def run(*values: Any) -> list[Any]:
        if wanted():
            act(filled(text.template, values))
        return []

    host_call((*key, text.template), run, [o.value for o in text.operands], ())


def constant_operand(r: Reader, x: Any) -> Value:
    """A number or array as an operand that carries no derivative."""
    v = r.value(x) if isinstance(x, Array) else lift(x).value
    return stop_gradient(v) if v.type.differentiable else v


def python_number(v: Value) -> Arr:
    """A result as a Python number."""
    return Arr(v, True)
