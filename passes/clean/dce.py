"""Dead code, through control flow, calls and the tape.

Mark: liveness is a property of values, of tape entries `(site, position)`, of function results `(name, position)` and
of nodes with effects; one worklist over the whole program, so that dead carries, parameters, results and tape entries
which only feed each other go together (a fixed point in linear time).
Sweep: rebuild what changed, keep the very `Node` where nothing did. Dead stores go first (irad.passes.clean.dead_stores).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from irad.core.affine import symbols
from irad.core.ir import (
    Graph,
    Node,
    Program,
    Value,
    callees,
    closure,
    extents_in,
    map_regions,
    nodes_where,
    retyped,
    retyped_node,
    substitute,
    walk,
)
from irad.core.types import TAPE
from irad.ops.control import while_
from irad.ops.regions import BRANCHES, LOOPS, Loop, edges_in, edges_out, entries, loop_of
from irad.passes.clean.dead_stores import without_dead_stores

Live = set[Any]


def dce(program: Program) -> Program:
    """Keep what the results of the entry need, and checks and output; parameters and results of the entry stay."""
    program = without_dead_stores(program)
    mark = _Mark(program)
    return _Sweep(program, mark.run(), mark.effectful).run()


def effectful(program: Program) -> set[str]:
    """Names of the functions that raise, print or may never end, themselves or by a call."""
    acts = lambda n: n.op.effects != "none" or endless(n)
    own = [name for name, g in program.items() if nodes_where(g, "acting", acts)]
    callers: dict[str, list[str]] = defaultdict(list)
    for name, g in program.items():
        for callee in callees(g):
            callers[callee].append(name)
    return set(closure(own, callers.__getitem__))


def has_effects(n: Node, effectful: set[str]) -> bool:
    """Does the node itself, not its regions, raise, print or never end? `effectful`: functions that do."""
    return n.op.effects != "none" or endless(n) or n.op.name == "call" and n.attrs["callee"] in effectful


def endless(n: Node) -> bool:
    """Is it a `while` of the function (not of a derivative) whose test reads nothing that a trip changes?

    It makes no trip or never ends, which Python shows too. Any other loop is taken to end: without readers it may go.
    """
    if n.op is not while_ or n.deriv:
        return False
    cond = n.regions[0]
    still = {cond.params[k] for k in Loop(n).unchanged()}
    read = {v for m in walk(cond) for v in m.inputs} | set(cond.results)
    return not any(c in read and c not in still for c in cond.params)


def _pick(xs: Sequence[Any], ks: Iterable[int]) -> tuple[Any, ...]:
    return tuple(xs[k] for k in ks)


# ---- mark -------------------------------------------------------------------------------------------------


class _Mark:
    def __init__(self, program: Program):
        self.program, self.entry = program, next(iter(program))
        self.effectful = effectful(program)
        self.needs: dict[Any, list[Any]] = defaultdict(list)  # key -> keys it needs
        self.both: dict[Any, list[tuple[Any, Any]]] = defaultdict(list)  # key -> (other key, needed once both are live)
        self.todo: list[Any] = []
        self.entries: list[tuple[int, int]] = []  # of all records
        self.seen: set[str] = set()

    def run(self) -> Live:
        self.function(self.entry)
        g = self.program[self.entry]
        self.todo += [*g.results, *g.params]
        if any(v.type == TAPE for v in (*g.params, *g.results)):  # someone else reads or writes the records
            self.todo += self.entries
        live: Live = set()
        while self.todo:
            key = self.todo.pop()
            if key not in live:
                live.add(key)
                self.todo += self.needs[key]
                self.todo += [need for other, need in self.both[key] if other in live]
        return live

    def function(self, name: str) -> None:
        if name not in self.seen:
            self.seen.add(name)
            g = self.program[name]
            self.graph(g, None)
            for k, v in enumerate(g.results):
                self.needs[name, k].append(v)

    def graph(self, graph: Graph, owner: Node | None) -> None:
        self.types(graph.params)
        for n in graph.nodes:
            self.types(n.outputs)
            if not n.static:
                self.needs[n] += symbols(*extents_in(n))
            if owner is not None:
                self.needs[n].append(owner)
            if has_effects(n, self.effectful):
                self.todo.append(n)
            _MARK.get(n.op.name, _mark_plain)(self, n)
            for r in n.regions:
                self.graph(r, n)

    def edges(self, n: Node) -> None:
        for source, place in (*edges_in(n), *edges_out(n)):
            self.needs[place].append(source)

    def types(self, values: Iterable[Value]) -> None:
        for v in values:
            if v.type.symbols:
                self.needs[v] += v.type.symbols


def _mark_plain(m: _Mark, n: Node) -> None:
    m.needs[n] += n.inputs
    if n.regions:
        m.needs[n] += [v for r in n.regions for v in r.results]
    for v in n.outputs:
        m.needs[v].append(n)


def _mark_control(m: _Mark, n: Node) -> None:
    loop = loop_of(n)
    m.needs[n] += [loop.goes_on] if loop else n.inputs
    m.edges(n)
    for v in loop.carries if loop else n.outputs:
        m.needs[v].append(n)


def _mark_call(m: _Mark, n: Node) -> None:
    m.function(n.attrs["callee"])
    m.edges(n)
    for v in n.outputs:
        m.needs[v].append(n)
    for v, p in edges_in(n, m.program):
        m.both[n].append((p, v))
        m.both[p].append((n, v))


def _mark_push(m: _Mark, n: Node) -> None:
    m.needs[n.out] += [n, n.inputs[0]]
    for v, entry in edges_in(n):
        m.entries.append(entry)
        m.both[n.out].append((entry, v))
        m.both[entry].append((n.out, v))


def _mark_pop(m: _Mark, n: Node) -> None:
    m.entries += entries(n)
    m.edges(n)
    for v in n.outputs:
        m.needs[v] += [n, n.inputs[0]]


_MARK: dict[str, Callable[[_Mark, Node], None]] = {
    **dict.fromkeys((*BRANCHES, *LOOPS), _mark_control), "call": _mark_call, "push": _mark_push, "pop": _mark_pop,
}  # fmt: skip

# ---- sweep ------------------------------------------------------------------------------------------------


class _Sweep:
    def __init__(self, program: Program, live: Live, effectful: set[str]):
        self.program, self.live, self.effectful = program, live, effectful
        self.env: dict[Value, Value] = {}  # a value that went -> what stands for it
        self.called: list[str] = []

    def run(self) -> Program:
        entry = next(iter(self.program))
        new: Program = {}
        todo = [entry]
        while todo:
            name = todo.pop()
            if name in new:
                continue
            g, self.called = self.program[name], []
            if name == entry:
                new[name] = self.graph(g, range(len(g.results)), range(len(g.params)))
            else:
                new[name] = self.graph(g, self.results(name), [k for k, p in enumerate(g.params) if p in self.live])
            todo += self.called[::-1]
        return new

    def results(self, name: str) -> list[int]:
        """Positions of a function's live results; the entry keeps all, it may be called too."""
        n = len(self.program[name].results)
        return list(range(n)) if name == next(iter(self.program)) else [k for k in range(n) if (name, k) in self.live]

    def get(self, vs: Iterable[Value]) -> tuple[Value, ...]:
        return tuple(self.env.get(v, v) for v in vs)

    def graph(self, g: Graph, results: Iterable[int], params: Iterable[int] | None = None) -> Graph:
        g = retyped(g, self.env)
        new = g.params if params is None else _pick(g.params, params)
        nodes = [m for n in g.nodes if n in self.live for m in [_SWEEP.get(n.op.name, _sweep_plain)(self, n)] if m]
        return g.replace(new, nodes, self.get(_pick(g.results, results)))

    def made(self, n: Node, inputs: Sequence[Value], outputs: Sequence[Value], regions: Sequence[Graph], **attrs: Any) -> Node:
        new = {**n.attrs, **attrs} if attrs else n.attrs
        return retyped_node(n.replace(inputs=inputs, outputs=outputs, attrs=new, regions=regions), self.env)


def _sweep_plain(s: _Sweep, n: Node) -> Node:
    regions = tuple(s.graph(r, range(len(r.results))) for r in n.regions)
    return s.made(n, s.get(n.inputs), n.outputs, regions)


def _sweep_branches(s: _Sweep, n: Node) -> Node | None:
    ks = [k for k, v in enumerate(n.outputs) if v in s.live]
    regions = tuple(s.graph(r, ks) for r in n.regions)
    if n.op.name == "if":  # the same outer value from both sides is no result
        same = [j for j in range(len(ks)) if regions[0].results[j] is regions[1].results[j]]
        if same:
            s.env.update((n.outputs[ks[j]], regions[0].results[j]) for j in same)
            js = [j for j in range(len(ks)) if j not in same]
            regions = tuple(r.replace(results=_pick(r.results, js)) for r in regions)
            ks = [ks[j] for j in js]
    if not ks and not _has_effects(s, regions):
        return None
    return s.made(n, s.get(n.inputs), _pick(n.outputs, ks), regions)


def _has_effects(s: _Sweep, regions: Iterable[Graph]) -> bool:
    return any(has_effects(n, s.effectful) for r in regions for n in walk(r))


def _sweep_loop(s: _Sweep, n: Node) -> Node | None:
    loop = Loop(n)
    ks = [k for k, p in enumerate(loop.carries) if p in s.live]
    body = s.graph(loop.body, ks, [*range(loop.lead), *(loop.lead + k for k in ks)])
    conds = [s.graph(r, [0], ks) for r in loop.conds]
    inputs = s.get((*n.inputs[: loop.lead], *_pick(loop.inits, ks)))
    new = Loop(n.replace(inputs=inputs, outputs=_pick(n.outputs, ks), regions=(*conds, body)))
    through = new.unchanged()
    if through:  # not a carry, its readers capture the initial value
        s.env.update((new.outs[k], new.inits[k]) for k in through)
        env = {p: new.inits[k] for k in through for p in new.params(k)}
        new = Loop(map_regions(new.without(through), lambda r: substitute(r, env)))
    if not new.outs and not _has_effects(s, new.node.regions) and not endless(n):
        return None
    return retyped_node(new.node, s.env)


def _sweep_call(s: _Sweep, n: Node) -> Node:
    name = n.attrs["callee"]
    s.called.append(name)
    entry = name == next(iter(s.program))
    ins = tuple(v for p, v in zip(s.program[name].params, n.inputs) if entry or p in s.live)
    ks = s.results(name)
    if len(ks) == len(n.outputs):
        return s.made(n, s.get(ins), n.outputs, ())
    return s.made(n, s.get(ins), _pick(n.outputs, ks), (), types=_pick(n.attrs["types"], ks))


def _sweep_tape(s: _Sweep, n: Node) -> Node | None:
    ks = [k for k, entry in enumerate(entries(n)) if entry in s.live]
    ins = s.get(n.inputs)
    if not ks:
        s.env[n.outputs[0]] = ins[0]
        return None
    if n.op.name == "push":
        return s.made(n, (ins[0], *_pick(ins[1:], ks)), n.outputs, ())
    if len(ks) == len(n.outputs) - 1:
        return s.made(n, ins, n.outputs, ())
    return s.made(n, ins, (n.outputs[0], *_pick(n.outputs[1:], ks)), (), types=_pick(n.attrs["types"], ks))


_SWEEP: dict[str, Callable[[_Sweep, Node], Node | None]] = {
    **dict.fromkeys(BRANCHES, _sweep_branches), **dict.fromkeys(LOOPS, _sweep_loop), "call": _sweep_call,
    "push": _sweep_tape, "pop": _sweep_tape,
}  # fmt: skip
