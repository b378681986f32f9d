"""Exchange parts of a node: the one place where passes make a changed node out of an old one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from irad.ir import Graph, Node, Value, rename_attrs


def rebuilt(
    node: Node,
    env: Mapping[Value, Value],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
    regions: Sequence[Graph],
    **attrs: Any,
) -> Node:
    """The node with other parts, its types and attributes renamed by `env`; the very node if nothing changes."""
    new = {**node.attrs, **attrs} if attrs else node.attrs
    retyped = False
    if env and not node.static:
        retyped = retype(outputs, env)
        new = rename_attrs(new, lambda v: env.get(v, v))
    ins, outs = tuple(inputs), tuple(outputs)
    unchanged = not retyped and ins == node.inputs and outs == node.outputs and (new is node.attrs or new == node.attrs)
    if unchanged and all([a is b for a, b in zip(regions, node.regions)]):
        return node
    return Node(node.op, ins, outs, new, tuple(regions), node.loc, node.deriv)


def retype(values: Iterable[Value], env: Mapping[Value, Value]) -> bool:
    """Rename the SSA values that the types of `values` mention: the type follows, the identity of the value stays.

    Were there any? Then the node or graph that binds the values is made anew: what is remembered on it, and on the graphs
    around it, may speak of the old ones.
    """
    found = [v for v in values if v.type.symbols and any(s in env for s in v.type.symbols)]
    for v in found:
        v.type = v.type.rename(lambda s: env.get(s, s))
    return bool(found)
