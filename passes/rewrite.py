"""What passes that rebuild graphs share: renaming with the same objects kept where nothing changed, and constants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Graph, Node, Value, reads, rename_attrs

Env = dict[Value, Value]  # what each exchanged value became


def lookup(env: Env, v: Value) -> Value:
    """What `v` has become; replacements of replacements are followed."""
    while v in env:
        v = env[v]
    return v


def rename_bound(values: tuple[Value, ...], env: Env) -> tuple[Value, ...]:
    """The bound values; those whose extents mention an exchanged value are made anew, and `env` learns of it."""
    if not env or not any(v.type.symbols for v in values):
        return values
    out = []
    for v in values:
        t = v.type.rename(lambda s: lookup(env, s))
        if t != v.type:
            env[v] = Value(t, v.hint)
        out.append(lookup(env, v))
    return tuple(out)


def rebuild(node: Node, env: Env, regions: Sequence[Graph]) -> Node:
    """The node with operands and extents exchanged by `env`, over new regions; the same node if nothing changed."""
    if not env:
        return node.replace(regions=regions)
    inputs = [lookup(env, v) for v in node.inputs]
    if node.static:
        return node.replace(inputs=inputs, regions=regions)
    outputs = rename_bound(node.outputs, env)
    return node.replace(inputs=inputs, outputs=outputs, attrs=rename_attrs(node.attrs, lambda v: lookup(env, v)), regions=regions)


def live(nodes: Sequence[Node], results: Iterable[Value], may_go: Callable[[Node], bool]) -> list[Node]:
    """The nodes without those that may go and of which nothing is read any more."""
    used, out = set(results), []
    for n in reversed(nodes):
        if not may_go(n) or any(v in used for v in n.outputs):
            used.update(reads(n))
            out.append(n)
    return out[::-1]


def give_last(nodes: list[Node], outputs: tuple[Value, ...]) -> None:
    """The last of the nodes that were built gives these values: all of them stand for the node that gave the values before."""
    nodes[-1] = nodes[-1].replace(outputs=outputs)


def bits_of(value: Any, dtype: np.dtype) -> bytes:
    """The bits of a constant as its type stores it: 0.0 and -0.0 differ, 1 and 1.0 of one dtype do not."""
    with np.errstate(all="ignore"):
        return np.asarray(value, dtype).tobytes()


def splat_of(node: Node | None) -> Any:
    """The scalar that a constant node spreads over its type, as a NumPy scalar; None if it is anything else."""
    if node is None or node.op.name != "const":
        return None
    value = node.attrs["value"]
    if isinstance(value, np.ndarray) and value.ndim:
        return None
    with np.errstate(all="ignore"):
        return node.outputs[0].type.numpy.type(value)
