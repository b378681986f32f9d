"""Activity: which values carry a derivative with respect to some inputs. A fixed point over loop carries.

A tape carries whatever was pushed on it: an entry of a record is `(site, position)`, active if some value pushed
there is. Called functions do not see which of their arguments are active: across a call every float is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from irad.core.ir import Graph, Node, Program, Value, callees, walk
from irad.core.types import TAPE

Active = set[Any]  # values, and tape entries (site, position)


def carries(v: Value) -> bool:
    """Taken as active across a call: floats and tapes."""
    return v.type.differentiable or v.type == TAPE


def open_entries(program: Program) -> Active:
    """Float entries of the tape records of functions that are called: taken as active, as their parameters are."""
    called = {name for g in program.values() for name in callees(g)}
    pushes = (n for name in called for n in walk(program[name]) if n.op.name == "push")
    return {(n.attrs["site"], k) for n in pushes for k, v in enumerate(n.inputs[1:]) if v.type.differentiable}


def activity(graph: Graph, wrt: Iterable[Value], entries: Active) -> Active:
    """Values of `graph` and tape entries that depend on `wrt` or on the tape entries given."""
    active: Active = {*wrt, *entries}
    before = -1
    while len(active) > before:
        before = len(active)
        _sweep(graph, active)
    return active


def _sweep(graph: Graph, active: Active) -> None:
    for n in graph.nodes:
        rule = RULES.get(n.op.name)
        if rule:
            rule(n, active)
        elif any(v in active for v in n.inputs):
            active.update(v for v in n.outputs if v.type.differentiable)


def _flow(active: Active, src: Sequence[Value], dst: Sequence[Value]) -> None:
    active.update(d for s, d in zip(src, dst) if s in active)


def _branches(n: Node, active: Active) -> None:
    for r in n.regions:
        _sweep(r, active)
        _flow(active, r.results, n.outputs)


def _loop(n: Node, active: Active) -> None:
    body, init = n.regions[-1], n.inputs[len(n.inputs) - len(n.outputs) :]
    carry = body.params[len(body.params) - len(n.outputs) :]
    _flow(active, init, carry)
    _sweep(body, active)
    _flow(active, body.results, carry)
    _flow(active, carry, n.outputs)


def _push(n: Node, active: Active) -> None:
    active.update((n.attrs["site"], k) for k, v in enumerate(n.inputs[1:]) if v in active)


def _pop(n: Node, active: Active) -> None:
    active.update(v for k, v in enumerate(n.outputs[1:]) if (n.attrs["site"], k) in active)


def _call(n: Node, active: Active) -> None:
    if any(v in active or v.type == TAPE for v in n.inputs):
        active.update(v for v in n.outputs if v.type.differentiable)


RULES: dict[str, Callable[[Node, Active], None]] = {
    "if": _branches,
    "checkpoint": _branches,
    "for": _loop,
    "while": _loop,
    "push": _push,
    "pop": _pop,
    "call": _call,
}
