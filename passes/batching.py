"""Expansion of `vmap`: a region that is run once, on values that have the batch as their first axis.

Only what differs between elements gets the axis (irad.passes.batching_flow). Control flow that does not differ stays as it
is. Where it does: both branches of an `if` run and each element selects; a loop runs until the last element is done, and
those that are done keep their values. `mask` says which elements are active; checks and positions obey it. What would
not be safe to run with no active element (loops, calls, checks) stands behind `if any(mask)`.

A tape is shared by the batch. The backward of a ragged loop meets its trips from the last to the first, so there the
elements with fewer trips start late instead of ending early (and branches run in the opposite order): `turned` loops and
branches are those that pop what was pushed by one that is not turned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from irad.errors import UnsupportedError
from irad.ir import Builder, Graph, Node, Program, Value, copy, current, defs, emit, walk
from irad.ops.array import any_, argmax, broadcast, max_, zeros
from irad.ops.constant import const, scalar
from irad.ops.control import call, if_, pop, push, raise_if, while_
from irad.ops.core import effects
from irad.ops.elementwise import ge, logical_and, logical_not, lt, select, sub
from irad.passes.batching_flow import Batched, batched_values
from irad.passes.batching_rules import RULES, each_element, element, elementwise, widen
from irad.types import I64, TAPE, Dim, Type

_UNSAFE = ("for", "while", "call", "push", "pop")


class Functions:
    """Batched versions of called functions, shared by one expansion. All their parameters are batched."""

    def __init__(self, program: Mapping[str, Graph]):
        self.program = program
        self.made: Program = {}
        self.names: dict[tuple[str, Dim], str] = {}
        self.orientation: dict[int, tuple[bool, ...]] = {}  # tape site -> `turned` of the control ops where it is pushed

    def batched(self, name: str, size: Dim) -> str:
        """The batched version of @name: it takes the mask of active elements first."""
        key = (name, size)
        if key not in self.names:
            self.names[key] = new = self._fresh(f"{name}.vmap")
            f = copy(self.program[name], {})
            if any(v.type.symbols for v in (*f.params, *f.results)) or not isinstance(size, int):
                raise UnsupportedError(f"vmap of the recursive function @{name} with extents known at run time only")
            self.made[new] = Graph((), (), (), new)  # the name is taken
            b = Batching(self, f, [*f.params, *_entries(f)], size)
            self.made[new] = b.function(f, new)
        return self.names[key]

    def _fresh(self, name: str) -> str:
        k, new = 1, name
        while new in self.program or new in self.made:
            k, new = k + 1, f"{name}{k}"
        return new


def batch(functions: Functions, f: Graph, batched: Sequence[bool], size: Dim, args: Sequence[Value]) -> list[Value]:
    """Append the batched body of `f`, a graph of its own values, to the current builder; its results, all batched."""
    b = Batching(functions, f, [p for p, yes in zip(f.params, batched) if yes], size)
    b.env.update(zip(f.params, args))
    b.run(f)
    return [b.full(v) for v in f.results]


class Batching:
    """Rewrites one graph; it is the `b` of the rules (see irad.passes.batching_rules)."""

    def __init__(self, functions: Functions, graph: Graph, start: Sequence[Any], size: Dim):
        self.functions, self.size = functions, size
        self.found: Batched = batched_values(graph, [*start, *_entries_of_calls(functions.program, graph)])
        self.env: dict[Value, Value] = {}
        self.mask: Value | None = None
        self.turned: list[bool] = []  # of the control ops around

    # ---- values ----

    def is_batched(self, v: Value) -> bool:
        """Does v have the batch axis?"""
        return v in self.found and v.type != TAPE

    def get(self, v: Value) -> Value:
        """The value as it is now."""
        return self.env.get(v, v)

    def full(self, v: Value) -> Value:
        """The value with the batch axis; a tape is shared."""
        return self.get(v) if v.type == TAPE or v in self.found else widen(self.get(v), self.size)

    def position(self, v: Value) -> Value:
        """Positions to index with: 0 for elements that are not active."""
        x = self.get(v)
        if self.mask is None or not self.is_batched(v):
            return x
        return select(self._spread(self.mask, x.type), x, zeros(x.type))

    def _spread(self, mask: Value, t: Type) -> Value:
        return mask if t.rank == 1 else broadcast(mask, shape=t.shape, dims=(0,))

    def choose(self, mask: Value, x: Value, y: Value) -> Value:
        """x for the elements of the mask, else y."""
        return x if x is y else select(self._spread(mask, x.type), x, y)

    @contextmanager
    def masked(self, mask: Value) -> Iterator[Value]:
        """Only elements of `mask` that are active already are; gives the mask of both."""
        outer = self.mask
        self.mask = mask if outer is None else logical_and(outer, mask)
        try:
            yield self.mask
        finally:
            self.mask = outer

    # ---- nodes ----

    def function(self, f: Graph, name: str) -> Graph:
        """The batched version of a called function."""
        mask = Value(Type("bool", (self.size,)), "active")
        params = [self.fresh(p) if p.type != TAPE else p for p in f.params]
        self.env.update(zip(f.params, params))
        self.mask = mask
        with Builder() as b:
            self.run(f)
            results = [self.full(v) for v in f.results]
        return Graph((mask, *params), tuple(b.nodes), tuple(results), name)

    def fresh(self, v: Value) -> Value:
        """A parameter for a batched value."""
        return Value(v.type.with_shape((self.size, *v.type.shape)), v.hint)

    def run(self, graph: Graph) -> None:
        """Append the batched nodes of a graph to the current builder."""
        for n in graph.nodes:
            self.node(n)

    def node(self, n: Node) -> None:
        b = current()
        b.loc, b.deriv = n.loc, n.deriv
        rule = CONTROL.get(n.op.name)
        if rule is not None:
            return rule(self, n)
        if not any(map(self.is_batched, n.inputs)):
            self._keep(n)
            return
        for v in n.outputs:
            if any(s in self.found for s in v.type.symbols):
                raise UnsupportedError(
                    f"vmap: the shape {v.type} of an array differs between the elements of the batch; pad to one shape and mask"
                )
        general = elementwise if n.op.elementwise else each_element
        self.env.update(zip(n.outputs, RULES.get(n.op.name, general)(self, n)))

    def _keep(self, n: Node) -> None:
        """A node that does not differ; its operands may have new names (tapes)."""
        if any(v in self.env for v in n.inputs):
            n = Node(n.op, tuple(map(self.get, n.inputs)), n.outputs, n.attrs, n.regions, n.loc, n.deriv)
        current().nodes.append(n)

    # ---- regions ----

    def region(self, body: Callable[[], Sequence[Value]], params: Sequence[Value] = ()) -> Graph:
        """A region whose nodes and results are made by `body`."""
        with Builder() as b:
            results = list(body())
        return Graph(tuple(params), tuple(b.nodes), tuple(results))

    def turn(self, n: Node) -> bool:
        """Does this control op undo one that was not turned?"""
        depth = len(self.turned)
        for m in walk(Graph((), (n,), ())):
            if m.op.name == "pop" and len(was := self.functions.orientation.get(m.attrs["site"], ())) > depth:
                return not was[depth]
        return False

    @contextmanager
    def inside(self, n: Node) -> Iterator[bool]:
        """In the regions of a control op; gives whether it is turned."""
        turned = self.turn(n)
        self.turned.append(turned)
        try:
            yield turned
        finally:
            self.turned.pop()


def _entries(graph: Graph) -> list[tuple[int, int]]:
    """All entries of the tape records that a graph pushes or pops."""
    nodes = [n for n in walk(graph) if n.op.name in ("push", "pop")]
    return [(n.attrs["site"], k) for n in nodes for k in range(len(n.inputs) + len(n.outputs) - 2)]


def _entries_of_calls(program: Mapping[str, Graph], graph: Graph) -> list[tuple[int, int]]:
    """Tape entries of the functions that are called, directly or not: their batched versions differ in everything."""
    todo, seen = [graph], set()
    while todo:
        called = {n.attrs["callee"] for n in walk(todo.pop()) if n.op.name == "call"} - seen
        seen |= called
        todo += [program[name] for name in called]
    return [e for name in seen for e in _entries(program[name])]


# ---- branches --------------------------------------------------------------------------------------------------------------


def _unsafe(graph: Graph) -> bool:
    """Must the region not run without an active element?"""
    return any(n.op.name in _UNSAFE or effects(n) != "none" for n in walk(graph))


def _if(b: Batching, n: Node) -> None:
    (c,) = n.inputs
    with b.inside(n) as turned:
        if b.is_batched(c):
            _select_branches(b, n, b.get(c), turned)
        else:
            regions = [b.region(lambda r=r: _yield(b, r, n.outputs)) for r in n.regions]
            _emit(b, n, [b.get(c)], regions, n.outputs)


def _yield(b: Batching, r: Graph, outputs: Sequence[Value]) -> list[Value]:
    """Run a region; its results, with the batch axis where an output has it."""
    b.run(r)
    return [b.full(v) if b.is_batched(o) else b.get(v) for v, o in zip(r.results, outputs)]


def _emit(b: Batching, n: Node, ins: Sequence[Value], regions: Sequence[Graph], outputs: Sequence[Value]) -> None:
    """The control op over other regions; outputs that have got the batch axis are new values."""
    outs = tuple(b.fresh(v) if b.is_batched(v) else v for v in outputs)
    current().nodes.append(Node(n.op, tuple(ins), outs, n.attrs, tuple(regions), n.loc, n.deriv))
    b.env.update((v, new) for v, new in zip(outputs, outs) if v is not new)


def _select_branches(b: Batching, n: Node, cond: Value, turned: bool) -> None:
    """Both branches, one after the other; a tape goes through both."""
    sides = [(n.regions[0], cond), (n.regions[1], logical_not(cond))]
    if turned:
        sides.reverse()
    starts = {k: _origin(n.regions[0], v) for k, v in enumerate(n.regions[0].results) if v.type == TAPE}
    before = {v: b.get(v) for v in starts.values()}
    results: dict[int, list[Value]] = {}
    for r, mask in sides:
        results[id(r)] = out = _guarded(b, r, mask, starts)
        b.env.update((v, out[k]) for k, v in starts.items())
    b.env.update(before)
    for k, (v, x, y) in enumerate(zip(n.outputs, *(results[id(r)] for r in n.regions))):
        b.env[v] = out[k] if v.type == TAPE else b.choose(cond, x, y)


def _origin(graph: Graph, tape: Value) -> Value:
    """The tape from outside of a region that one of its tapes continues."""
    made = defs(graph)
    while tape in made:
        n = made[tape]
        k = n.outputs.index(tape)
        if n.op.name in ("if", "checkpoint"):
            tape = _origin(n.regions[0], n.regions[0].results[k])
        elif n.op.name in ("for", "while"):
            tape = n.inputs[len(n.inputs) - len(n.outputs) + k]
        else:
            tape = next(v for v in n.inputs if v.type == TAPE)
    return tape


def _guarded(b: Batching, r: Graph, cond: Value, starts: Mapping[int, Value]) -> list[Value]:
    """A branch for the elements of a condition, behind a test that there is one if the region is not safe otherwise."""

    def body() -> list[Value]:
        b.run(r)
        return list(map(b.full, r.results))

    with b.masked(cond) as mask:
        if not _unsafe(r):
            return body()
        then = b.region(body)
        orelse = b.region(lambda: [b.get(starts[k]) if k in starts else zeros(v.type) for k, v in enumerate(then.results)])
        return list(emit(if_, any_(mask, axes=(0,)), regions=[then, orelse]))


def _checkpoint(b: Batching, n: Node) -> None:
    _emit(b, n, [], [b.region(lambda: _yield(b, n.regions[0], n.outputs))], n.outputs)


# ---- loops -----------------------------------------------------------------------------------------------------------------


def _for(b: Batching, n: Node) -> None:
    trips, *init = n.inputs
    (body,) = n.regions
    i, *carry = body.params
    with b.inside(n) as turned:
        if not b.is_batched(trips):
            _loop(b, n, [b.get(trips)], init, [i], carry)
            return
        counts = b.position(trips)
        total = max_(counts, axes=(0,)) if b.size != 0 else scalar(0, "i64")
        late = sub(widen(total, b.size), counts) if turned else None
        k = Value(I64, i.hint)
        new = [b.fresh(p) if b.is_batched(p) else p for p in carry]

        def trip() -> list[Value]:
            at = widen(k, b.size)
            if late is not None:
                at = sub(at, late)
            active = ge(at, zeros(at.type)) if late is not None else lt(at, counts)
            b.env.update(zip((i, *carry), (at, *new)))
            return _step(b, body, active, carry, new)

        region = b.region(trip, [k, *new])
        _emit(b, n, [total, *_start(b, init, carry)], [region], n.outputs)


def _start(b: Batching, init: Sequence[Value], carry: Sequence[Value]) -> list[Value]:
    return [b.full(v) if b.is_batched(p) else b.get(v) for v, p in zip(init, carry)]


def _step(b: Batching, body: Graph, active: Value, carry: Sequence[Value], now: Sequence[Value]) -> list[Value]:
    """One trip for the active elements; the others keep what they have."""
    with b.masked(active) as mask:
        b.run(body)
        after = [b.full(v) if b.is_batched(p) else b.get(v) for v, p in zip(body.results, carry)]
        return [b.choose(mask, x, old) if b.is_batched(p) else x for x, old, p in zip(after, now, carry)]


def _loop(
    b: Batching, n: Node, ins: list[Value], init: Sequence[Value], lead: list[Value], carry: Sequence[Value]
) -> None:
    """A loop whose trips do not differ."""
    *cond, body = n.regions
    regions = []
    for r in (*cond, body):
        params = r.params[len(lead) :] if r is body else r.params
        new = [b.fresh(p) if b.is_batched(p) else p for p in params]
        b.env.update((p, v) for p, v in zip(params, new) if p is not v)
        outputs = carry if r is body else r.results
        regions.append(b.region(lambda r=r, outputs=outputs: _yield(b, r, outputs), [*(lead if r is body else []), *new]))
    _emit(b, n, [*ins, *_start(b, init, carry)], regions, n.outputs)


def _while(b: Batching, n: Node) -> None:
    cond, body = n.regions
    with b.inside(n):
        if not b.is_batched(cond.results[0]):
            _loop(b, n, [], n.inputs, [], body.params)
            return
        init = _start(b, n.inputs, body.params)
        new = [b.fresh(p) if b.is_batched(p) else p for p in body.params]
        active = Value(Type("bool", (b.size,)), "active")
        again = [Value(v.type, v.hint) for v in new]
        flag = Value(active.type, "active")
        test = b.region(lambda: [any_(flag, axes=(0,))], [flag, *again])

        def trip() -> list[Value]:
            b.env.update((p, v) for p, v in zip(body.params, new) if p is not v)
            after = _step(b, body, active, body.params, new)
            return [logical_and(active, _test(b, cond, after, active)), *after]

        first = _test(b, cond, init, b.mask)
        if b.mask is not None:
            first = logical_and(b.mask, first)
        region = b.region(trip, [active, *new])
        outs = tuple(b.fresh(v) if b.is_batched(v) else v for v in n.outputs)
        done = Value(active.type, "done")
        current().nodes.append(Node(while_, (first, *init), (done, *outs), {}, (test, region), n.loc, n.deriv))
        b.env.update((v, x) for v, x in zip(n.outputs, outs) if v is not x)


def _test(b: Batching, cond: Graph, values: Sequence[Value], active: Value | None) -> Value:
    """The condition of a ragged loop for each element, in place."""
    env: dict[Value, Value] = {}
    test = copy(cond, env)
    b.found.update(new for old, new in env.items() if old in b.found)
    b.env.update(zip(test.params, values))
    outer, b.mask = b.mask, active
    b.run(test)
    b.mask = outer
    return b.full(test.results[0])


# ---- calls, tapes, checks -----------------------------------------------------------------------------------------------------


def _call(b: Batching, n: Node) -> None:
    if not any(b.is_batched(v) or v.type == TAPE for v in n.inputs):
        b._keep(n)
        return
    name = b.functions.batched(n.attrs["callee"], b.size)
    mask = b.mask if b.mask is not None else const(value=True, type=Type("bool", (b.size,)))
    b.found.update(v for v in n.outputs if v.type != TAPE)
    types = tuple(t if t == TAPE else t.with_shape((b.size, *t.shape)) for t in n.attrs["types"])
    outs = call(mask, *map(b.full, n.inputs), callee=name, types=types)
    b.env.update(zip(n.outputs, outs if isinstance(outs, tuple) else (outs,)))


def _push(b: Batching, n: Node) -> None:
    site = n.attrs["site"]
    b.functions.orientation[site] = tuple(b.turned)
    entries = [b.full(v) if (site, k) in b.found else b.get(v) for k, v in enumerate(n.inputs[1:])]
    b.env[n.out] = push(b.get(n.inputs[0]), *entries, site=site)


def _pop(b: Batching, n: Node) -> None:
    outs = [b.fresh(v) if b.is_batched(v) else v for v in n.outputs[1:]]
    attrs = {**n.attrs, "types": tuple(v.type for v in outs)}
    tape = Value(TAPE, n.outputs[0].hint)
    current().nodes.append(Node(pop, (b.get(n.inputs[0]),), (tape, *outs), attrs, (), n.loc, n.deriv))
    b.env.update(zip(n.outputs, (tape, *outs)))


def _raise_if(b: Batching, n: Node) -> None:
    """Raised if it is for any active element, with the values of the first."""
    cond, *values = n.inputs
    if not any(map(b.is_batched, n.inputs)):
        b._keep(n)
        return
    fails = b.full(cond)
    if b.mask is not None:
        fails = logical_and(b.mask, fails)
    if b.size == 0:
        return
    first = argmax(fails, axis=0)
    raise_if(any_(fails, axes=(0,)), *(element(b, v, first) for v in values), **n.attrs)


CONTROL: dict[str, Callable[[Batching, Node], None]] = {
    "if": _if,
    "for": _for,
    "while": _while,
    "checkpoint": _checkpoint,
    "call": _call,
    "push": _push,
    "pop": _pop,
    "raise_if": _raise_if,
}
