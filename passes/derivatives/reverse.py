"""Reverse mode through regions: the engine. irad.passes.derivatives.rules names the rules of control ops and of the tape.

Every region becomes a pair: an augmented forward, which pushes on the tape what will be needed as its last act, and a
backward, which pops it as its first. A `RegionPair` is such a pair under construction. The backward is built first, in terms
of *stand-ins* `need(v)` for the forward values v; the stand-ins that survive dead code removal say what is recomputed
or saved (irad.passes.derivatives.save_or_recompute). Forward nodes are never copied: they keep their identity, control ops that push gain a
tape result. At the top the backward follows the forward in one graph, where every value is its own stand-in.

Cotangents live in an `Adjoint`, keyed by stand-ins: absent is a symbolic zero, an array is an accumulator that is handed
over (linear), so that the adjoint of `index` adds into it in place.

The idea of pairs with a linear tape: Pearlmutter and Siskind, "Reverse-mode AD in a functional framework" (2008);
Radul et al., "You only linearize once" (2022).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any

from irad.core.ir import Builder, Graph, Node, Program, Value, copy, current, emit, reads, rename_attrs, substitute, types, walk
from irad.core.lazy_dataclass import dataclass
from irad.core.types import TAPE, Type
from irad.errors import UnsupportedError, VerifyError
from irad.ops import elementwise as ew
from irad.ops.array import STORES, Spec
from irad.ops.control import call, pop, tape_new
from irad.ops.custom import host
from irad.ops.regions import entries, is_loop
from irad.passes.analyses.activity import activity, carries, open_entries
from irad.passes.analyses.final_values import FinalValues
from irad.passes.derivatives.checkpointing import NOTHING_ASKED, Asked
from irad.passes.derivatives.custom import taken_apart
from irad.passes.derivatives.region_pairs import Adjoint, RegionPair
from irad.passes.derivatives.save_or_recompute import choose, in_lanes, nearly_whole, remembered

Cotangents = Sequence[Value | None]
STRONG = (ew.szmul, ew.szmul2, ew.szdiv)


def free_sites(program: Program) -> Iterator[int]:
    """Numbers of sites that no record of a program has."""
    used = (n.attrs["site"] for g in program.values() for n in walk(g) if "site" in n.attrs)
    return itertools.count(max(used, default=-1) + 1)


@dataclass
class Rules:
    """The rules of ops whose derivative needs the node of the forward itself, with its regions: by the names of the ops, for each mode."""

    reverse: Mapping[str, Callable[[Reverse, Node, Cotangents, Adjoint], None]]
    forward: Mapping[str, Callable[..., None]]  # (Forward, node, Tangents)


class Differentiation:
    """What is common to all functions of one differentiation: the functions made on the way, sites of the tape.

    `rules`: of the ops that the engines cannot differentiate by their rows (irad.passes.derivatives.rules). `sites`: numbers for
    them, where there are other differentiations in one program. `last`: what it makes is not differentiated again.
    """

    def __init__(
        self, program: Program, rules: Rules, asked: Asked = NOTHING_ASKED, sites: Iterator[int] | None = None, last: bool = False
    ):
        self.program, self.rules, self.asked, self.last = program, rules, asked, last
        self._sites = sites or free_sites(program)
        self.made: Program = {}
        self.open_entries = open_entries(program)
        self.pairs: dict[Any, Any] = {}
        self.products: set[Node] = set()  # the strong products that the rules of the op table made
        self._adjoint_sites: dict[int, int] = {}

    def new_site(self) -> int:
        return next(self._sites)

    def emitted(self, nodes: Iterable[Node]) -> None:
        """Note what a rule of the op table has emitted."""
        self.products.update(n for n in nodes if n.op in STRONG)

    def substitute(self, graph: Graph, env: Mapping[Value, Value]) -> Graph:
        """Like irad.core.ir.substitute; `products` knows the new nodes too."""
        new = substitute(graph, env)
        todo = [(graph, new)]
        while todo:
            old, now = todo.pop()
            if old is not now:
                for a, b in zip(old.nodes, now.nodes):
                    if a in self.products:
                        self.products.add(b)
                    todo += zip(a.regions, b.regions)
        return new

    def adjoint_site(self, site: int) -> int:
        """The site of the tape of cotangents (or tangents) that mirrors a site."""
        if site not in self._adjoint_sites:
            self._adjoint_sites[site] = self.new_site()
        return self._adjoint_sites[site]

    def fresh(self, name: str) -> str:
        """A function name not in use: `name`, or name_2, name_3, ..."""
        taken = {*self.program, *self.made}
        return next(s for s in itertools.chain([name], (f"{name}_{k}" for k in itertools.count(2))) if s not in taken)

    def function(self, name: str, cts: tuple[int, ...], accs: tuple[int, ...]) -> tuple[str, str, list[tuple[bool, int]]]:
        """The pair for @name, given the positions of its results and parameters that bring a cotangent.

        forward: (x..., tape) -> (y..., tape); backward: (extents..., ct..., acc..., tape) -> (ct of what carries..., tape).
        Also the extents that the backward's types mention, as (is it a parameter of @name or a result, position).
        """
        key = name, cts, accs
        if key not in self.pairs:
            f = copy(self.program[name], {})
            given = [f.results[k] for k in cts] + [f.params[k] for k in accs] + [v for v in f.params if carries(v)]
            extents = list(dict.fromkeys(s for v in given for s in v.type.symbols))
            if any(s not in f.params and s not in f.results for s in extents):
                raise UnsupportedError(f"derivative of @{name}: a result has an extent that is not itself a result")
            fwd, bwd = self.fresh(f"{name}.fwd"), self.fresh(f"{name}.bwd")
            self.pairs[key] = fwd, bwd, [_position(f, s) for s in extents]  # first: it may call itself
            self.made[fwd] = self.made[bwd] = f  # the names are taken
            self.made[fwd], self.made[bwd] = self._pair(f, cts, accs, extents)
        return self.pairs[key]

    def _pair(self, f: Graph, cts: tuple[int, ...], accs: tuple[int, ...], extents: list[Value]) -> tuple[Graph, Graph]:
        wrt = [v for v in f.params if carries(v)]
        ad = Reverse(self, f, [v for v in wrt if v.type != TAPE])
        s = Backward(ad, f, extents)
        ct: list[Value | None] = [s.param(v, "ct") if k in cts else None for k, v in enumerate(f.results)]
        s.sweep(ct, {ad.need(f.params[k]): s.param(f.params[k], "acc") for k in accs})
        s.close([s.full(v) for v in wrt])
        tape = Value(TAPE, "tape")
        nodes, end = s.frame.forward(tape)
        return Graph((*f.params, tape), nodes, (*f.results, end)), s.region(None, True)


def _position(f: Graph, s: Value) -> tuple[bool, int]:
    """Where an extent stands: (is it a parameter, position)."""
    return (True, f.params.index(s)) if s in f.params else (False, f.results.index(s))


class Reverse:
    """Differentiates one graph; it is the `ad` of the rules (see irad.ops.core).

    `once`: the graph is not run again and again on the same arrays, so its outermost ones may cost a copy.
    """

    def __init__(self, diff: Differentiation, graph: Graph, wrt: Iterable[Value], once: bool = False):
        self.diff, self.once = diff, once
        self.frame_of: dict[Value, RegionPair] = {}
        self.frames: list[RegionPair] = []
        self.around: list[int] = []  # about how many trips the loops have whose bodies are being swept
        self.graph, self.consumed = graph, set(consumed(graph))
        self._active = activity(graph, wrt, diff.open_entries)

    @cached_property
    def final_values(self) -> FinalValues:
        return FinalValues(self.graph)

    def active(self, v: Value) -> bool:
        """Does v carry a derivative?"""
        return v in self._active or v.type == TAPE

    def need(self, v: Value) -> Value:
        """The stand-in of a forward value in the backward; a stand-in is its own."""
        frame = self.frame_of.get(v)
        if frame is None or frame.direct:
            return v
        if v not in frame.standins:
            frame.standins[v] = s = Value(v.type.rename(self.need), v.hint)
            if v in self._active:
                self._active.add(s)
        return frame.standins[v]

    def live_entries(self, node: Node) -> list[int]:
        """Positions in the record of a push or pop that carry a derivative."""
        return [k for k, e in enumerate(entries(node)) if e in self._active]

    def enter(self, frame: RegionPair) -> None:
        self.frame_of.update(dict.fromkeys(frame.graph.params, frame))
        for node in frame.graph.nodes:
            self.frame_of.update(dict.fromkeys(node.outputs, frame))

    def translated(self, node: Node) -> Node:
        """The node in terms of stand-ins (without its regions): what a rule of the op table sees."""
        if self.frames[-1].direct:
            return node
        ins, outs = tuple(map(self.need, node.inputs)), tuple(map(self.need, node.outputs))
        return Node(node.op, ins, outs, rename_attrs(node.attrs, self.need), (), node.loc)

    def sweep(self, frame: RegionPair, adj: Adjoint) -> None:
        """Emit the backward of the frame's nodes, last to first."""
        self.frames.append(frame)
        builder = current()
        loc = builder.loc
        for node in reversed(frame.graph.nodes):
            builder.loc = node.loc
            outs = [self.need(v) for v in node.outputs]
            adj.settle(outs)
            for v in outs:  # a tape's zero is a fresh tape: its readers and writers
                if v.type == TAPE and v not in adj:  # are never skipped, so that they stay paired
                    adj[v] = tape_new()
            if any(v in adj for v in outs) or any(v.type == TAPE for v in reads(node)):  # its last reader may give no tape
                cts = [adj.pop(v, None) for v in outs]
                rule = self.diff.rules.reverse.get(node.op.name)
                if rule is not None:
                    rule(self, node, cts, adj)
                elif node.op.vjp is None:
                    raise no_derivative(node)
                else:
                    before = len(builder.nodes)
                    node.op.vjp(self, self.translated(node), cts, adj)
                    self.diff.emitted(builder.nodes[before:])
        builder.loc = loc
        self.frames.pop()

    def emit(self, op: Any, *inputs: Value, taped: bool, regions: Sequence[Graph] = (), **attrs: Any) -> list[Value]:
        """Emit a backward control op, threading the enclosing backward's tape through it (`if` captures it)."""
        frame = self.frames[-1]
        outs = list(emit(op, *inputs, *((frame.tape,) if taped and op.name != "if" else ()), regions=regions, **attrs))
        if taped:
            frame.tape = outs.pop()
        return outs


def no_derivative(node: Node) -> Exception:
    """The error for an op that an active value reaches and that has no derivative."""
    if node.op.name == "loop":
        return VerifyError("a fused `loop` cannot be differentiated: autodiff runs before fusion").at(node.loc)
    why = host(node.attrs["name"]).why if node.op.name == "callback" else ""
    text = (
        why
        or f"`{node.op.name}` has no derivative here; keep it out of what is differentiated, or write it with other operations"
    )
    return UnsupportedError(text).at(node.loc)


def consumed(graph: Graph) -> Iterator[Value]:
    """Arrays that may be overwritten in place: keeping one for the backward would cost a copy."""
    for n in walk(graph):
        if n.op in STORES:
            yield n.inputs[0]
        elif is_loop(n) or n.op is call:
            yield from n.inputs
        for r in n.regions:
            yield from r.results


class Backward:
    """The backward region of one frame. It stays open until the control op knows what it should yield.

    `given`: forward values (such as a loop's index) that the backward can have for nothing; put their stand-ins' nodes
    into `prefix`, or make their stand-ins parameters.
    """

    def __init__(self, ad: Reverse, graph: Graph, given: Sequence[Value] = ()):
        self.ad, self.frame, self.given = ad, RegionPair(graph), set(given)
        ad.enter(self.frame)
        self.params = [ad.need(v) for v in given]
        self.builder, self.prefix = Builder(deriv=True), Builder(deriv=True)
        self.adj = Adjoint(ad)
        self.nodes: list[Node] = []
        self.results: list[Value] = []

    def param(self, v: Value, hint: str) -> Value:
        """A new parameter of the type of forward value v."""
        p = Value(self.ad.need(v).type, hint)
        self.params.append(p)
        return p

    def give(self, v: Value, make: Callable[[], Value]) -> None:
        """Let `make` compute forward value v at the start of the backward."""
        with self.prefix:
            self.frame.standins[v] = make()
        self.given.add(v)

    def sweep(self, cts: Cotangents, accs: Mapping[Value, Value]) -> None:
        """Build the body, given cotangents of the results and accumulators (by stand-in)."""
        self.adj.update(accs)
        with self.builder:
            for v, ct in zip(self.frame.graph.results, cts):
                if v.type == TAPE and ct is not None:
                    self.adj[self.ad.need(v)] = ct
                else:
                    self.adj.add(self.ad.need(v), ct)
            self.ad.sweep(self.frame, self.adj)
            self.adj.settle(list(self.adj.waiting))

    def full(self, v: Value) -> Value:
        """The cotangent of forward value v as a value."""
        with self.builder:
            return self.adj.full(self.ad.need(v))

    def close(self, results: Sequence[Value]) -> None:
        """Drop dead nodes; what is still read of the forward is recomputed or saved."""
        frame, ad = self.frame, self.ad
        live, self.results = {*results, frame.tape}, list(results)
        nodes: Sequence[Node] = self.builder.nodes
        if ad.diff.last:
            nodes = taken_apart(nodes)
            frame.graph = frame.graph.replace(nodes=taken_apart(frame.graph.nodes, regions=False))
            ad.enter(frame)
        for node in reversed(nodes):
            if any(v in live for v in node.outputs):
                self.nodes.append(node)
                live.update(reads(node))
        self.nodes.reverse()

        def free(v: Value) -> bool:
            return ad.frame_of.get(v) is not frame or v in self.given

        needed = [v for v, s in frame.standins.items() if s in live and not free(v)]
        needed.sort(key=lambda v: v.id)
        graph = remembered(frame.graph, needed, free, self._cheap, self._last)
        saved, again = choose(graph, needed, free, self._cheap)
        fixed = [v for v in saved if v.type.static]
        for values in (other for other in ([v for v in saved if not v.type.static], fixed) if other):
            frame.records.append((ad.diff.new_site(), values))
        self.again = [self._replayed(n) for n in again]

    def _cheap(self, node: Node) -> bool:
        if node.op.name == "index":
            return self._lasts(node.inputs[0]) or nearly_whole(node)
        small = node.op.elementwise and not node.outputs[0].type.shape and not node.outputs[0].type.differentiable
        return node.op.cheap or small or node.op.cheap_in_lanes and in_lanes(node.outputs[0])

    def _lasts(self, x: Value) -> bool:
        """Can the array be read in the backward? If nobody writes it, or if one copy of it lasts."""
        home = self.ad.frame_of.get(x)
        if home is self.frame:
            return False
        return x not in self.ad.consumed or self.ad.once and (home is None or home.direct) or self._worth_keeping(x, home)

    def _worth_keeping(self, x: Value, home: RegionPair | None) -> bool:
        """Is one copy of an array, made where it comes from, no more than what the loops from there to here read of it?"""
        if home is None or home not in self.ad.frames or not x.type.static:
            return False
        inside = [*self.ad.frames[self.ad.frames.index(home) + 1 :], self.frame]
        reads = sum(n.op.name == "index" and n.inputs[0] is x for n in walk(inside[0].graph))
        return x.type.size <= reads * prod(f.trips for f in inside)

    def _last(self, array: Value, operands: Sequence[Value], spec: Spec) -> Value | None:
        """A version of the array that still holds the same at a place, and that the backward can read."""
        x = self.ad.final_values.find(array, operands, spec)
        return x if x is not None and self._lasts(x) else None

    def _replayed(self, node: Node) -> Node:
        need = self.ad.need
        ins, outs = tuple(map(need, node.inputs)), tuple(map(need, node.outputs))
        return node.replace(inputs=ins, outputs=outs, attrs=rename_attrs(node.attrs, need), regions=())

    def region(self, tape: Value | None, taped: bool) -> Graph:
        """The region. `tape`: the value to capture, or None to take and yield one as a parameter."""
        frame, params = self.frame, list(self.params)
        if taped and tape is None:
            tape = Value(TAPE, "tape")
            params.append(tape)
        pops = self._pops(tape) if tape and frame.taped else []
        end = [frame.tape if frame.taped else tape] if taped and tape else []
        return Graph(tuple(params), (*self.prefix.nodes, *pops, *self.again, *self.nodes), (*self.results, *end))

    def _pops(self, tape: Value) -> list[Node]:
        """Pop the frame's records, last pushed first; the tape after them is `tape0`."""
        frame, nodes = self.frame, []
        records = frame.records[::-1] or [(self.ad.diff.new_site(), [])]
        for k, (site, values) in enumerate(records):
            after = frame.tape0 if k == len(records) - 1 else Value(TAPE, "tape")
            outs = (after, *map(self.ad.need, values))
            nodes.append(Node(pop, (tape,), outs, {"site": site, "types": types(outs[1:])}, deriv=True))
            tape = after
        return nodes


def joint(
    diff: Differentiation,
    graph: Graph,
    wrt: Sequence[Value],
    cts: Cotangents,
    accs: Mapping[Value, Value] | None = None,
    once: bool = True,
) -> list[Value]:
    """Append the nodes of `graph` (whose names become the current scope's) and its backward to the current builder.

    `cts`: per result of the graph a cotangent or None; `accs`: cotangents that some values have already;
    `once`: see `Reverse`.
    Returns the cotangents of `wrt`.
    """
    ad = Reverse(diff, graph, wrt, once)
    frame = RegionPair(graph, direct=True)
    ad.enter(frame)
    adj = Adjoint(ad, accs)
    with Builder(deriv=True) as b:
        for v, ct in zip(graph.results, cts):
            adj.add(v, ct)
        ad.sweep(frame, adj)
        out = [adj.full(v) for v in wrt]
    tape = tape_new() if frame.taped else frame.tape0
    nodes, end = frame.forward(tape)
    current().nodes += nodes
    if frame.taped:
        current().nodes.append(Node(pop, (end,), (frame.tape0,), {"site": diff.new_site(), "types": ()}, deriv=True))
    current().nodes += b.nodes
    return out


def float_cotangents(values: Iterable[Value], cts: Iterable[Value]) -> list[Value | None]:
    """Spread cotangents of the float values over all values, None for the others."""
    given = iter(cts)
    return [next(given) if v.type.differentiable else None for v in values]


def cotangent_type(v: Value, scope: Iterable[Value]) -> Type:
    """Type of the cotangent parameter of a result; its extents must be known where the cotangent comes in."""
    if any(s not in set(scope) for s in v.type.symbols):
        raise UnsupportedError(f"a cotangent for a result of type {v.type}, whose extent the function itself computes")
    return v.type
