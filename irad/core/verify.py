"""The verifier. After every pass, a program must satisfy:

 1. Binding: within a function, regions included, each value is bound exactly once.
 2. Scope: a value is read only after it is bound, in the region that binds it or in one nested in that.
 3. Types: the results of a node have the very types that its op's `infer` gives for its operands, attributes and
    regions. (So branches yield equal types, loops their carries, and attributes are the ones the op knows.)
 4. Extents: a value that a type or an attribute mentions is an i64 scalar and is in scope where the type is bound.
 5. Calls: a call names a graph of the program, passes its parameter types and gets its result types, with the
    caller's values for extents.
 6. Tapes are linear: each tape value is read at most once on every path. It does not enter a loop's region but as a carry.
 7. Loops: the body of a fused `loop` has no effects and no control flow but inner `loop`s.
 8. Checks and callbacks: what they keep has the types of the results of the entry that they name.
 9. Transforms: no fused `loop` stands inside the region of a `vjp` or `jvp`: fusion comes after differentiation.

A breach is a fault of the pass that made the graph: VerifyError says which, what, and shows the graph with a mark.
Nodes and graphs never change, so what has been found right is remembered on them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from irad.core.affine import symbols
from irad.core.ir import Graph, Node, Program, Value, calls, captures, nodes_where, types, walk
from irad.core.once import COMPILER
from irad.core.types import I64, TAPE, Extent, Type
from irad.errors import IradError, VerifyError
from irad.ops import effects
from irad.ops.core import kept
from irad.ops.regions import BRANCHES


def verify(program: Program | Graph, after: str = "") -> Program:
    """The same program, if it keeps every invariant. Raises VerifyError; `after` names the pass that made the program."""
    if isinstance(program, Graph):
        program = {program.name or "f": program}
    for name, graph in program.items():
        try:
            if "verified" not in graph.memo:
                _Checker(graph).run()
                graph.memo["verified"] = True
            for node in calls(graph):
                _check_call(node, program)
            for node in nodes_where(graph, "keepers", lambda n: "keeps" in n.attrs):
                _check_kept(node, next(iter(program.values())))
        except _Breach as b:
            with COMPILER:
                from irad.core.text import show  # imported for faults only

            text = show({name: graph}, mark=b.where)
            place = b.where.loc if isinstance(b.where, Node) else None
            raise VerifyError(f"{f'after {after}: ' if after else ''}{b.message}\n{text}", place) from None
    return program


class _Breach(Exception):
    def __init__(self, message: str, where: Node | Graph):
        super().__init__(message)
        self.message, self.where = message, where


class _Checker:
    def __init__(self, graph: Graph):
        self.function = graph
        self.scope: set[Value] = set()
        self.bound: set[Value] = set()
        self.order: list[Value] = []  # `bound`, in order
        self.tapes = False  # is there any?
        self.extents = 0  # places that mention a value as an extent, so far

    def run(self) -> None:
        self.graph(self.function, self.function)
        if self.tapes:
            _check_tapes(self.function, self.function)

    def graph(self, g: Graph, where: Node | Graph) -> None:
        """One region or the function itself; `where` is what owns it."""
        known = g.memo.get("sound")
        if known is not None and self.scope.issuperset(captures(g)) and self.bound.isdisjoint(known[0]):
            self.bound.update(known[0])
            self.order += known[0]
            self.tapes |= known[1]
            return
        inner, first, extents = list(g.params), len(self.order), self.extents
        self.bind(g.params, where)
        for node in g.nodes:
            self.node(node)
            inner += node.outputs
        for v in g.results:
            if v not in self.scope:
                raise _Breach(f"yields {v!r}, which is not in scope", where)
        self.scope.difference_update(inner)
        if self.extents == extents:  # else what it needs of its surroundings is more than its captures
            binds = self.order[first:]  # it is sound wherever its captures are in scope, and these are not bound before
            g.memo["sound"] = binds, any(v.type.dtype == "tape" for v in binds)

    def bind(self, values: tuple[Value, ...], where: Node | Graph) -> None:
        bound, scope = self.bound, self.scope
        for v in values:
            if v in bound:
                raise _Breach(f"binds {v!r} a second time", where)
            bound.add(v)
            scope.add(v)
        self.order += values
        for v in values:
            t = v.type
            if t.symbols:
                self.symbols(t.symbols, where)
            elif t.dtype == "tape":
                self.tapes = True

    def symbols(self, values: Iterable[Value], where: Node | Graph) -> None:
        for s in values:
            self.extents += 1
            if s not in self.scope:
                raise _Breach(f"has an extent {s!r}, which is not in scope", where)
            if s.type != I64:
                raise _Breach(f"has an extent {s!r}, which is not an i64 scalar", where)

    def node(self, node: Node) -> None:
        if not self.scope.issuperset(node.inputs):
            v = next(v for v in node.inputs if v not in self.scope)
            raise _Breach(f"reads {v!r}, which is not in scope", node)
        if node.verified:
            self.symbols(node.verified, node)
        for r in node.regions:
            self.graph(r, node)
        if node.verified is None:
            symbols = tuple(v for a in node.attrs.values() for v in mentioned(a))
            self.symbols(symbols, node)
            _check_types(node)
            _check_structure(node)
            node.verified = symbols
        self.bind(node.outputs, node)


def mentioned(attr: Any) -> Iterable[Value]:
    """The values that the extents in an attribute mention."""
    if isinstance(attr, tuple):
        for a in attr:
            yield from mentioned(a)
    elif isinstance(attr, Type):
        yield from attr.symbols
    elif isinstance(attr, Extent):
        yield from symbols(attr)
    elif isinstance(getattr(attr, "size", None), Extent):  # a Slice
        yield from mentioned(attr.size)


def _check_types(node: Node) -> None:
    if len(node.regions) != len(node.op.regions):
        raise _Breach(f"{node.op.name} has {len(node.regions)} regions, not {len(node.op.regions)}", node)
    try:
        want = node.op.infer(*types(node.inputs), **node.attrs, **dict(zip(node.op.regions, node.regions)))
    except IradError as e:
        raise _Breach(f"{node.op.name}: {e.message}", node) from None
    except (TypeError, IndexError, KeyError, ValueError) as e:  # wrong attributes or numbers of operands
        raise _Breach(f"{node.op.name}: {e}", node) from None
    if want != types(node.outputs):
        got = ", ".join(map(str, types(node.outputs)))
        raise _Breach(f"{node.op.name} gives {', '.join(map(str, want))}, not {got}", node)


def _check_structure(node: Node) -> None:
    name = node.op.name
    if name == "loop":
        for n in walk(node.regions[0]):
            if (n.regions and n.op.name != "loop") or n.op.name == "call" or effects(n) != "none":
                raise _Breach(f"{n.op.name} stands in the body of a fused loop, which has no effects and no control flow", node)
    if name in ("vjp", "jvp") and any(n.op.name == "loop" for n in walk(node.regions[0])):
        raise _Breach(f"a fused loop stands inside {name}: differentiate before fusing", node)


def _check_tapes(g: Graph, where: Node | Graph) -> dict[Value, int]:
    """How often each tape value from outside `g` is read on the worst path; raises if one is read twice."""
    if "tape reads" in g.memo:
        return g.memo["tape reads"]
    count: dict[Value, int] = {}

    def read(v: Value, times: int, at: Node | Graph) -> None:
        if times and v.type.dtype == TAPE.dtype:
            count[v] = count.get(v, 0) + times
            if count[v] > 1:
                raise _Breach(f"reads the tape {v!r} a second time", at)

    for node in g.nodes:
        for v in node.inputs:
            read(v, 1, node)
        inner: dict[Value, int] = {}
        for r in node.regions:
            for v, k in _check_tapes(r, node).items():
                if node.op.name not in BRANCHES:  # which run a region at most once
                    raise _Breach(f"{node.op.name} reads the tape {v!r} from outside; it must be an operand", node)
                inner[v] = max(inner.get(v, 0), k)
        for v, k in inner.items():
            read(v, k, node)
    for v in g.results:
        read(v, 1, where)
    own = {*g.params, *(v for n in g.nodes for v in n.outputs)}
    g.memo["tape reads"] = {v: k for v, k in count.items() if v not in own}
    return g.memo["tape reads"]


def _check_kept(node: Node, entry: Graph) -> None:
    for k, v in kept(node).items():
        if not 0 <= k < len(entry.results):
            raise _Breach(f"keeps result {k} of {len(entry.results)}", node)
        if entry.results[k].type != v.type:
            raise _Breach(f"keeps {v.type} as result {k}, which is {entry.results[k].type}", node)


def _check_call(node: Node, program: Program) -> None:
    callee = node.attrs["callee"]
    if callee not in program:
        raise _Breach(f"calls @{callee}, which is not in the program", node)
    g = program[callee]
    env = dict(zip(g.params, node.inputs))
    get = lambda v: env.get(v, v)
    want, got = tuple(t.rename(get) for t in types(g.params)), types(node.inputs)
    if want != got:
        raise _Breach(f"@{callee} takes ({', '.join(map(str, want))}), not ({', '.join(map(str, got))})", node)
    if any(s not in env for t in types(g.results) for s in t.symbols):
        raise _Breach(f"@{callee} returns an extent that is not one of its parameters", node)
    want, got = tuple(t.rename(get) for t in types(g.results)), types(node.outputs)
    if want != got:
        raise _Breach(f"@{callee} returns {', '.join(map(str, want))}, not {', '.join(map(str, got))}", node)
