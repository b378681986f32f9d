"""Which values of a region differ between the elements of a batch: a fixed point over loop carries.

A value is batched if it is computed from a batched one, or if control flow that differs between elements decides it. An
entry `(site, position)` of a tape record is batched if some value pushed there is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from irad.core.ir import Graph, Node, Value, captured
from irad.core.types import TAPE

Batched = set[Any]  # values, and tape entries (site, position)


def batched_values(graph: Graph, start: Iterable[Any]) -> Batched:
    """All batched values of `graph` and its regions, and tape entries, given those known to be."""
    found: Batched = set(start)
    before = -1
    while len(found) > before:
        before = len(found)
        _sweep(graph, found)
    return found


def _sweep(graph: Graph, found: Batched) -> None:
    for n in graph.nodes:
        rule = _RULES.get(n.op.name)
        if rule:
            rule(n, found)
        elif any(v in found for v in n.inputs):
            found.update(n.outputs)


def _flow(src: Sequence[Value], dst: Sequence[Value], found: Batched) -> None:
    found.update(d for s, d in zip(src, dst) if s in found)


def _all(values: Iterable[Value], found: Batched) -> None:
    found.update(v for v in values if v.type != TAPE)


def _branches(n: Node, found: Batched) -> None:
    for r in n.regions:
        _sweep(r, found)
        _flow(r.results, n.outputs, found)
    if any(v in found for v in n.inputs):
        _all(n.outputs, found)


def _loop(n: Node, found: Batched) -> None:
    *cond, body = n.regions
    lead, k = len(body.params) - len(n.outputs), len(n.inputs) - len(n.outputs)
    carry = body.params[lead:]
    _flow(n.inputs[k:], carry, found)
    for c in cond:
        _flow(carry, c.params, found)
        _sweep(c, found)
    if any(c.results[0] in found for c in cond) or any(v in found for v in n.inputs[:k]):
        _all((*body.params, *(p for c in cond for p in c.params)), found)
    _sweep(body, found)
    _flow(body.results, carry, found)
    _flow(carry, n.outputs, found)


def _push(n: Node, found: Batched) -> None:
    found.update((n.attrs["site"], k) for k, v in enumerate(n.inputs[1:]) if v in found)


def _pop(n: Node, found: Batched) -> None:
    found.update(v for k, v in enumerate(n.outputs[1:]) if (n.attrs["site"], k) in found)


def _call(n: Node, found: Batched) -> None:
    if any(v in found or v.type == TAPE for v in n.inputs):
        _all(n.outputs, found)


def _custom(n: Node, found: Batched) -> None:
    if any(v in found for v in (*n.inputs, *captured(n))):
        _all(n.outputs, found)


_RULES: dict[str, Callable[[Node, Batched], None]] = {
    "if": _branches,
    "checkpoint": _branches,
    "for": _loop,
    "while": _loop,
    "push": _push,
    "pop": _pop,
    "call": _call,
    "custom_vjp": _custom,
    "custom_jvp": _custom,
}
