"""Which values of a region differ between the elements of a batch.

A value is batched if it is computed from a batched one, or if control flow that differs between elements decides it. An
entry `(site, position)` of a tape record is batched if some value pushed there is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from irad.core.ir import Graph, Node, Value, captured
from irad.core.types import TAPE
from irad.ops.regions import Loop
from irad.passes.analyses.flow import Found, Step, reached

Batched = Found


def batched_values(graph: Graph, start: Iterable[Any]) -> Batched:
    """All batched values of `graph` and its regions, and tape entries, given those known to be."""
    return reached(graph, start, _plain, _RULES)


def _plain(n: Node) -> Step:
    return n.inputs, n.outputs, False


def _if(n: Node) -> Step:
    return n.inputs, _untaped(n.outputs), False


def _loop(n: Node) -> Step:
    """Elements that make different numbers of trips: whatever a trip starts with differs."""
    return (Loop(n).goes_on,), _untaped(p for r in n.regions for p in r.params), False


def _call(n: Node) -> Step:
    """A tape may hold anything."""
    if any(v.type == TAPE for v in n.inputs):
        return (), _untaped(n.outputs), True
    return n.inputs, _untaped(n.outputs), False


def _custom(n: Node) -> Step:
    return (*n.inputs, *captured(n)), _untaped(n.outputs), False


def _untaped(values: Iterable[Value]) -> list[Value]:
    return [v for v in values if v.type != TAPE]


_RULES = {"if": _if, "for": _loop, "while": _loop, "call": _call, "custom_vjp": _custom, "custom_jvp": _custom}
