"""Views of control flow, and what is handed on through it: into regions, from trip to trip, out of regions, by calls and tapes.

Passes ask a view instead of counting operands: `loop_of(node)` is the view of a `for` or `while`, None of any other node.
Analyses follow edges: pairs of places of which the second holds what the first held.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from irad.core.ir import Graph, Node, Program, Value, map_regions

Holder = Any  # a value, an entry (site, position) of a tape's records, a result (name, position) of a function
Edge = tuple[Holder, Holder]  # from, to

BRANCHES = ("if", "checkpoint")  # without parameters; what the regions yield are the results
LOOPS = ("for", "while")


def map_control(node: Node, f: Callable[[Graph], Graph]) -> Node:
    """`map_regions` for control flow; a nest, whose body is one element's arithmetic, stays as it is."""
    return node if node.op.name == "loop" else map_regions(node, f)


class Loop:
    """A `for` or `while`: carry k is `inits[k]` before it, `carries[k]` in a trip that yields `yields[k]`, and `outs[k]` after it.

    `lead`: how many operands, and parameters of the body, stand before those of the carries: 1 in a `for`, else 0.
    """

    __slots__ = ("node", "lead", "body")

    def __init__(self, node: Node):
        self.node, self.body = node, node.regions[-1]
        self.lead = len(node.inputs) - len(node.outputs)

    @property
    def trips(self) -> Value | None:
        """The number of trips of a `for`."""
        return self.node.inputs[0] if self.lead else None

    @property
    def index(self) -> Value | None:
        """The number of the trip in the body of a `for`."""
        return self.body.params[0] if self.lead else None

    @property
    def conds(self) -> tuple[Graph, ...]:
        """The condition of a `while`; none of a `for`."""
        return self.node.regions[:-1]

    @property
    def goes_on(self) -> Value:
        """What decides whether there is another trip: the number of trips, or the result of the condition."""
        return self.conds[0].results[0] if self.conds else self.node.inputs[0]

    @property
    def inits(self) -> tuple[Value, ...]:
        return self.node.inputs[self.lead :]

    @property
    def carries(self) -> tuple[Value, ...]:
        return self.body.params[self.lead :]

    @property
    def yields(self) -> tuple[Value, ...]:
        return self.body.results

    @property
    def outs(self) -> tuple[Value, ...]:
        return self.node.outputs

    def params(self, k: int) -> list[Value]:
        """What carry k is called in the regions."""
        return [*(c.params[k] for c in self.conds), self.carries[k]]

    def unchanged(self) -> list[int]:
        """The carries that no trip changes."""
        return [k for k, (p, new) in enumerate(zip(self.carries, self.yields)) if new is p]

    def without(self, gone: Collection[int]) -> Node:
        """The loop without some carries, which nothing may read any more."""

        def kept(xs: tuple[Value, ...]) -> tuple[Value, ...]:
            return tuple(x for k, x in enumerate(xs, len(self.outs) - len(xs)) if k not in gone)

        body = self.body.replace(params=kept(self.body.params), results=kept(self.yields))
        conds = [c.replace(params=kept(c.params)) for c in self.conds]
        return self.node.replace(inputs=kept(self.node.inputs), outputs=kept(self.outs), regions=(*conds, body))


def loop_of(node: Node) -> Loop | None:
    """The view of a `for` or `while`; None of any other node."""
    return Loop(node) if node.op.name in LOOPS else None


def is_loop(node: Node) -> bool:
    return node.op.name in LOOPS


def entries(node: Node) -> list[tuple[int, int]]:
    """The entries (site, position) that a `push` writes or a `pop` reads, in the order of its operands or results."""
    return [(node.attrs["site"], k) for k in range(len(node.inputs) + len(node.outputs) - 2)]


def edges_in(node: Node, program: Program | None = None) -> list[Edge]:
    """What a node hands to its regions before they run, to a tape, and, if the program is given, to the function that it calls."""
    if node.op.name in LOOPS:
        loop = Loop(node)
        return [*zip(loop.inits, loop.carries), *(e for c in loop.conds for e in zip(loop.carries, c.params))]
    if node.op.name == "push":
        return list(zip(node.inputs[1:], entries(node)))
    if node.op.name == "call" and program is not None:
        return list(zip(node.inputs, program[node.attrs["callee"]].params))
    return []


def edges_out(node: Node) -> list[Edge]:
    """What regions hand on, to the next trip and to the results of the node; what comes from a tape and from a called function."""
    if node.op.name in LOOPS:
        loop = Loop(node)
        return [*zip(loop.yields, loop.carries), *zip(loop.carries, loop.outs)]
    if node.op.name in BRANCHES:
        return [e for r in node.regions for e in zip(r.results, node.outputs)]
    if node.op.name == "pop":
        return list(zip(entries(node), node.outputs[1:]))
    return [((node.attrs["callee"], k), v) for k, v in enumerate(node.outputs)] if node.op.name == "call" else []


HANDS_ON = frozenset([*LOOPS, *BRANCHES, "push", "pop", "call"])  # ops whose results come along edges
