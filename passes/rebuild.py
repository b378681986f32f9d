"""Exchange parts of a node: where passes make a changed node out of an old one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irad.core.ir import Graph, Node, Value, rename_attrs, retype


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


def give_last(nodes: list[Node], outputs: tuple[Value, ...]) -> None:
    """The last of the nodes that were built gives these values: all of them stand for the node that gave the values before."""
    last = nodes[-1]
    nodes[-1] = Node(last.op, last.inputs, outputs, last.attrs, last.regions, last.loc, last.deriv)
