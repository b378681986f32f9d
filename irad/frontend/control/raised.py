"""The exceptions that nodes raise, as a handler of the program sees them."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from irad.core.ir import Node, Value, reachable, walk, within
from irad.core.room import Outgrown
from irad.errors import UnsupportedError
from irad.frontend.control.nullable import NEEDED
from irad.frontend.numpy.python_scalars import LIMITS, NO_FIT
from irad.frontend.reader import Reader
from irad.frontend.values.arr import Arr
from irad.frontend.values.objects import Text
from irad.ops.control import call as call_op
from irad.ops.control import raise_if
from irad.ops.text import Slot, unescaped


def called_by(r: Reader, nodes: list[Node]) -> Iterable[str]:
    """The names of functions that nodes call, and those that these call."""
    return reachable(r.graphs, [n.attrs["callee"] for n in within(nodes) if n.op is call_op])


def raising(r: Reader, nodes: list[Node], called: Iterable[str]) -> Iterator[Node]:
    """What raises, among nodes and in the functions that they call."""
    inside = chain(within(nodes), *(walk(r.graphs[f]) for f in called if f in r.graphs))
    return (n for n in inside if n.op is raise_if)


def exceptions_of(r: Reader, nodes: list[Node]) -> Iterator[BaseException]:
    """The exceptions that nodes may raise depending on data, and that Python raises too, as a handler would see them."""
    found = {(n.attrs["exc"], n.attrs["message"]): n for n in raising(r, nodes, called_by(r, nodes)) if not is_limit(n)}
    return (exception_of(r, n) for n in found.values())


def kind_of(r: Reader, n: Node) -> type[BaseException]:
    """The class of the exception that a `raise_if` raises."""
    name = n.attrs["exc"]
    found = r.exceptions.get(name) or getattr(builtins, name)
    return found if isinstance(found, type) else type(found)


def is_limit(n: Node) -> bool:
    """Is a `raise_if` for a limit of compiled code, where Python raises nothing?"""
    message = n.attrs["message"]
    ours = message in LIMITS or message.endswith((NO_FIT, "out of bounds for int64", NEEDED))
    return n.attrs["exc"] in (Outgrown.__name__, UnsupportedError.__name__) or ours


def _filled(e: BaseException, operands: list[Value]) -> BaseException:
    """A kept exception with what the program has computed in its slots."""

    def argument(a: Any) -> Any:
        if not isinstance(a, Slot):
            return a
        mine = tuple(Arr(operands.pop(0), a.kind in (bool, int, float, complex)) for _ in range(a.operands))
        return Text(a.template, mine) if a.kind is None else mine[0]

    return type(e)(*map(argument, e.args))


def exception_of(r: Reader, n: Node) -> BaseException:
    """The exception of a `raise_if` as the handler sees it."""
    found = r.exceptions.get(n.attrs["exc"])
    keeps = len(n.attrs.get("keeps", ()))
    operands = n.inputs[1 : len(n.inputs) - keeps]
    if isinstance(found, BaseException):
        return _filled(found, list(operands)) if any(isinstance(a, Slot) for a in found.args) else found
    kind, message = kind_of(r, n), n.attrs["message"]
    if operands:
        return kind(Text(message, tuple(Arr(v) for v in operands)))
    text = unescaped(message)
    return kind(text) if text else kind()
