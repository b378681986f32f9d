"""Constant folding: a node whose operands are constants becomes the constant that its `eval` gives.

A splat (one number over a whole type) stays a splat, whatever its size: elementwise on splats is one evaluation, and
ops that only move elements pass a splat on. Other results are folded if they are small. Values keep their names.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irad.core.ir import Graph, Node, Program, Value, map_regions
from irad.core.types import Type
from irad.ops.constant import const
from irad.ops.core import OPS
from irad.passes.rewrite import bits_of

RESULT, OPERANDS = 1024, 100_000  # elements: results up to the first are folded, from operands up to the second

Constants = dict[Value, Any]  # a NumPy scalar for a splat, else an array


def fold(program: Program) -> Program:
    """The program with constant expressions evaluated by NumPy. Nodes that may raise, print or repeat stay."""
    return {name: _graph(g, {}) for name, g in program.items()}


def _graph(graph: Graph, known: Constants) -> Graph:
    nodes = []
    for node in graph.nodes:
        node = map_regions(node, lambda r: _graph(r, known))
        value = _constant(node) if node.op.name == "const" else _value(node, known)
        if value is not None:
            (out,) = node.outputs
            known[out] = value = _canonical(value, out.type)
            node = _const_node(node, out, value)
        nodes.append(node)
    return graph.replace(nodes=nodes)


def _constant(node: Node) -> Any:
    return np.asarray(node.attrs["value"]) if isinstance(node.attrs["value"], np.ndarray) else node.attrs["value"]


def _canonical(value: Any, t: Type) -> Any:
    """A NumPy scalar if all elements have the same bits, else an array of the type."""
    with np.errstate(all="ignore"):
        a = np.asarray(value, t.numpy)
    if a.ndim == 0:
        return a[()]
    first = a.ravel()[:1]
    return first[0] if a.size and a.tobytes() == first.tobytes() * a.size else a


def _const_node(node: Node, out: Value, value: Any) -> Node:
    """`out` as a constant; the very node if it says so already."""
    attr = value if isinstance(value, np.ndarray) else value.item()
    if node.op is const:
        old = node.attrs["value"]
        if type(old) is type(attr) and bits_of(old, out.type.numpy) == bits_of(attr, out.type.numpy):
            return node
    return node.replace(op=const, inputs=(), outputs=(out,), attrs={"value": attr, "type": out.type}, regions=())


def _value(node: Node, known: Constants) -> Any:
    """What the node computes, if that is a constant; else None."""
    if len(node.outputs) != 1 or not node.inputs or node.regions or node.op.effects != "none" or node.op.eval is None:
        return None
    t, name = node.outputs[0].type, node.op.name
    operands = [known.get(v) for v in node.inputs]
    splats = [isinstance(c, np.generic) for c in operands]
    if splats[0] and (node.op.moves or (_picks(node) and _nonempty(node.inputs[0].type))):
        return operands[0]
    if any(c is None for c in operands):
        return None
    if all(splats) and node.op.elementwise:
        return _evaluate(node, operands)
    if all(splats) and name in ("concat", "update") and len({bits_of(c, t.numpy) for c in operands[: _data(node)]}) == 1:
        return operands[0]
    static = t.static and all(v.type.static for v in node.inputs)
    if static and t.size <= RESULT and sum(v.type.size for v in node.inputs) <= OPERANDS:
        return _evaluate(node, [np.full(v.type.shape, c) for c, v in zip(operands, node.inputs)])
    return None


def _picks(node: Node) -> bool:
    """Does a reduction give that one of equal elements?"""
    return node.op.fold in OPS and OPS[node.op.fold].idempotent


def _data(node: Node) -> int:
    """How many leading operands hold elements of the result; the others are positions."""
    return 2 if node.op.name == "update" else len(node.inputs)


def _nonempty(t: Type) -> bool:
    return all(isinstance(d, int) and d > 0 for d in t.shape)


def _evaluate(node: Node, operands: list[Any]) -> Any:
    """`eval`, or None where NumPy refuses (an integer to a negative power): the program then says so when it runs."""
    assert node.op.eval is not None
    with np.errstate(all="ignore"):
        try:
            return node.op.eval(*operands, **node.attrs)
        except (ValueError, ZeroDivisionError, OverflowError):
            return None
