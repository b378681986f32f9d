"""Common subexpression elimination: of two nodes that compute the same, the first serves both.

The same: one op, equal operands (in any order where it commutes), attributes, result types and regions; constants by
their bits. A region sees the expressions of its surroundings, never the reverse, and nothing crosses the border of a
`checkpoint`. Nodes that print, and tape values, are left alone; a check that was made before is not made again.
A node whose bits NumPy defines is never served by one of a derivative, whose sums may still be re-ordered.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable
from itertools import islice
from typing import Any

import numpy as np

from irad.core.ir import Graph, Node, Program, Value, types, walk
from irad.core.types import TAPE
from irad.ops import effects
from irad.ops.constant import empty
from irad.passes.clean.dce import effectful
from irad.passes.rewrite import Env, bits_of, lookup, rebuild, rename_bound

REGION_NODES = 64  # regions with more nodes are not compared

Key = tuple[Hashable, ...]


def cse(program: Program) -> Program:
    """The program with every expression computed once where it is in scope."""
    fx = effectful(program)
    return {name: _Cse(fx).graph(g) for name, g in program.items()}


class _Cse:
    def __init__(self, effectful: set[str]):
        self.effectful = effectful
        self.env: Env = {}
        self.seen: dict[Key, tuple[Value, ...]] = {}
        self.fills: set[Value] = set()  # constants, and memory that nothing has written
        self.bases: set[Value] = set()  # arrays that are stored into

    def graph(self, graph: Graph) -> Graph:
        params = rename_bound(graph.params, self.env)
        for n in graph.nodes:
            if n.op.name in ("update", "loop"):
                self.bases.update(n.inputs[:1] if n.op.name == "update" else n.inputs)
        nodes: list[Node] = []
        fresh: list[Key] = []
        for node in graph.nodes:
            self.node(node, nodes, fresh)
        for key in fresh:
            del self.seen[key]
        return graph.replace(params, nodes, [lookup(self.env, v) for v in graph.results])

    def node(self, node: Node, nodes: list[Node], fresh: list[Key]) -> None:
        node = rebuild(node, self.env, self.regions(node))
        if node.op.fills and node.out.type.shape:
            self.fills.add(node.out)
        key = self.key(node)
        if key is not None:
            first = self.seen.get((False, *key)) or (self.seen.get((True, *key)) if node.deriv else None)
            if first is not None:
                self.env.update(zip(node.outputs, first))
                return
            self.seen[(node.deriv, *key)] = node.outputs or (_CHECKED,)
            fresh.append((node.deriv, *key))
        nodes.append(node)

    def regions(self, node: Node) -> list[Graph]:
        if node.op.name != "checkpoint":
            return [self.graph(r) for r in node.regions]
        outside, self.seen = self.seen, {}
        regions = [self.graph(r) for r in node.regions]
        self.seen = outside
        return regions

    def key(self, node: Node) -> Key | None:
        """What makes two nodes the same; None if this one is not to be merged."""
        if node.op.name == "raise_if":
            return (node.op.name, node.inputs[0])
        if self.unique(node):
            return None
        if node.regions:
            inside = list(islice((n for r in node.regions for n in walk(r)), REGION_NODES + 1))
            if len(inside) > REGION_NODES or any(map(self.unique, inside)):
                return None
        return node_key(node, {})

    def unique(self, node: Node) -> bool:
        name = node.op.name
        if node.op is empty or effects(node) != "none" or name == "call" and node.attrs["callee"] in self.effectful:
            return True  # of memory to be written each use wants its own
        if name == "update" and node.inputs[0] in self.fills and node.out in self.bases:
            return True  # the first store into memory of its own
        return any([v.type.dtype == TAPE.dtype for v in (*node.inputs, *node.outputs)])


_CHECKED = Value(TAPE)  # stands for the results of a check that was made


def node_key(node: Node, local: dict[Value, Any]) -> Key:
    """What makes two nodes equal. `local`: what stands for operands; numbers for the values bound inside compared regions."""
    name = node.op.name
    refs: list[Hashable] = [local.get(v, v) for v in node.inputs]
    if node.op.mirror:
        name, refs = node.op.mirror, refs[::-1]
    elif node.op.commutes:
        refs.sort(key=_order)
    regions = tuple([_region_key(r, local) for r in node.regions]) if node.regions else ()
    if name == "const":
        value = node.attrs["value"]
        shaped = isinstance(value, np.ndarray) and value.ndim > 0
        attrs: Hashable = (shaped, bits_of(value, node.outputs[0].type.numpy))
    else:
        attrs = tuple([(k, _attr_key(v)) for k, v in sorted(node.attrs.items())]) if node.attrs else ()
    return (name, tuple(refs), attrs, types(node.outputs), regions)


def _region_key(graph: Graph, local: dict[Value, Any]) -> Key:
    for v in graph.params:
        local[v] = len(local)
    keys = []
    for node in graph.nodes:
        keys.append(node_key(node, local))
        for v in node.outputs:
            local[v] = len(local)
    return (types(graph.params), tuple(keys), tuple(local.get(v, v) for v in graph.results))


def _order(ref: Hashable) -> tuple[bool, int]:
    return (True, ref.id) if isinstance(ref, Value) else (False, ref)  # type: ignore[return-value]


def _attr_key(v: Any) -> Hashable:
    """Equal only for attributes that are the same: 0.0 is not -0.0, 1 is not True."""
    if isinstance(v, tuple):
        return tuple(map(_attr_key, v))
    if isinstance(v, np.ndarray):
        return (str(v.dtype), v.shape, v.tobytes())
    if isinstance(v, (float, np.floating)):
        return (type(v).__name__, struct.pack("<d", float(v)))
    return (type(v).__name__, v)
