"""Which elements of a result depend on which elements of the arguments: the exact sparsity of a Jacobian.

Dependencies are propagated through the graph; nothing is probed. What does not depend on the arguments is computed, so that
positions, trip counts and conditions are known where they can be; where they are not, every possibility is joined, so a
pattern is never too small, for any values of the arguments. The pattern of a Hessian is that of its gradient's graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from irad.ir import Graph, Node, Value
from irad.ops.array import numpy_key
from irad.passes.pattern import Pattern
from irad.records import dataclass
from irad.types import Type

MAX_TRIPS = 4096  # of one loop that is followed trip by trip
MAX_WORK = 40_000_000  # dependencies made in one analysis
MAX_KNOWN = 1_000_000  # elements of a value that is computed


class TooMuch(Exception):
    """The analysis would cost too much, or meets a shape known at run time only."""


@dataclass(frozen=True, eq=False)
class Fact:
    """What is known of a value: its number, if it does not depend on the arguments; the arguments' elements it depends on."""

    known: Any = None
    deps: Pattern | None = None


NOTHING = Fact()


def jacobian_pattern(
    program: Mapping[str, Graph], f: Graph, wrt: Sequence[Value], results: Sequence[Value], known: Mapping[Value, Any]
) -> Pattern | None:
    """The pattern of d results / d wrt, both flattened one after the other; None if it would cost too much to find.

    `known`: numbers of values from outside `f` and of parameters that are not differentiated.
    """
    try:
        total = sum(v.type.size for v in wrt)
        env: dict[Value, Fact] = {v: Fact(x) for v, x in known.items()}
        start = 0
        for v in wrt:
            env[v] = Fact(None, Pattern.unit(v.type.size, total, start))
            start += v.type.size
        analysis = _Analysis(program, total)
        analysis.run(f, env)
        return Pattern.stack([env[v].deps or Pattern.none(v.type.size, total) for v in results])
    except (TooMuch, AssertionError):
        return None


class _Analysis:
    """Facts of one graph's values. `sites` joins all that was pushed at a tape site."""

    def __init__(self, program: Mapping[str, Graph], total: int):
        self.program, self.total, self.work = program, total, 0
        self.sites: dict[int, list[Fact]] = {}
        self.calls: list[str] = []

    def spend(self, amount: int) -> None:
        self.work += amount
        if self.work > MAX_WORK:
            raise TooMuch

    def run(self, graph: Graph, env: dict[Value, Fact]) -> list[Fact]:
        for n in graph.nodes:
            self.spend(10)
            for v, fact in zip(n.outputs, self.node(n, env)):
                if fact.deps is not None:
                    self.spend(len(fact.deps.cols) + 10)
                env[v] = fact
        return [env.get(v, NOTHING) for v in graph.results]

    def node(self, n: Node, env: dict[Value, Fact]) -> Sequence[Fact]:
        facts = [env.get(v, NOTHING) for v in n.inputs]
        if n.op.name in CONTROL:
            return CONTROL[n.op.name](self, n, facts, env)
        if any(not v.type.static for v in n.outputs):
            raise TooMuch
        if all(x.known is not None for x in facts):
            return self.computed(n, facts)
        if all(x.deps is None for x in facts):
            return [NOTHING] * len(n.outputs)
        return [
            Fact(None, self.deps(n, facts, v.type)) if v.type.differentiable else NOTHING for v in n.outputs
        ]

    def computed(self, n: Node, facts: Sequence[Fact]) -> Sequence[Fact]:
        if n.op.eval is None or n.op.effects != "none" or any(v.type.size > MAX_KNOWN for v in n.outputs):
            return [NOTHING] * len(n.outputs)
        with np.errstate(all="ignore"):
            out = n.op.eval(*(x.known for x in facts), **n.attrs)
        return [Fact(x) for x in (out if isinstance(out, tuple) else (out,))]

    def deps(self, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
        rule = RULES.get(n.op.name)
        if rule is not None:
            return rule(self, n, facts, t)
        if n.op.elementwise or n.op.name in ("complex", "real", "imag"):
            return Pattern.union([x.deps for x in facts if x.deps is not None])
        return Pattern.union([_everywhere(x.deps, t.size) for x in facts if x.deps is not None])


def _everywhere(p: Pattern, size: int) -> Pattern:
    """Every element depends on all that p does anywhere."""
    return p.grouped(np.zeros(p.rows, np.int64), 1).taken(np.zeros(size, np.int64))


def joined(a: Fact, b: Fact) -> Fact:
    """What is known of a value that is one of two."""
    if a is b:
        return a
    same = a.known is not None and b.known is not None and a.deps is b.deps is None and _same(a.known, b.known)
    deps = [x.deps for x in (a, b) if x.deps is not None]
    return Fact(a.known if same else None, Pattern.union(deps) if deps else None)


def _same(a: Any, b: Any) -> bool:
    return np.shape(a) == np.shape(b) and np.asarray(a).tobytes() == np.asarray(b).tobytes()


def _equal(a: Fact, b: Fact) -> bool:
    if (a.known is None) != (b.known is None) or (a.deps is None) != (b.deps is None):
        return False
    return (a.known is None or _same(a.known, b.known)) and (a.deps is None or a.deps == b.deps)


# ---- elementwise ops that know more ------------------------------------------------------------------------------------


def _nowhere(a: _Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    return None


def _product(a: _Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    """A factor known to be 0 removes a dependency."""
    out = []
    for x, other in zip(facts, reversed(facts)):
        if x.deps is not None:
            keep = None if other.known is None else np.broadcast_to(np.asarray(other.known) != 0, t.shape).ravel()
            out.append(x.deps if keep is None else x.deps.kept(keep))
    return Pattern.union(out)


def _select(a: _Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    c, *sides = facts
    if c.known is None:
        return Pattern.union([x.deps for x in sides if x.deps is not None])
    first = np.broadcast_to(c.known, t.shape).ravel()
    return Pattern.union([x.deps.kept(keep) for x, keep in zip(sides, (first, ~first)) if x.deps is not None])


# ---- ops that move elements: run on positions ------------------------------------------------------------------------------


def positions(t: Type) -> np.ndarray:
    """The flat position of each element."""
    return np.arange(t.size).reshape(t.shape)


def _move(a: _Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    (x,) = facts
    at = n.op.eval(positions(n.inputs[0].type), **n.attrs)  # type: ignore[misc]
    return x.deps.taken(np.ravel(at)) if x.deps is not None else None


def _concat(a: _Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    parts = [x.deps or Pattern.none(v.type.size, a.total) for x, v in zip(facts, n.inputs)]
    stacked, start, where = Pattern.stack(parts), 0, []
    for v in n.inputs:
        where.append(start + positions(v.type))
        start += v.type.size
    return stacked.taken(np.concatenate(where, n.attrs["axis"]).ravel())


def _reduce(a: _Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    (x,), shape, axes = facts, n.inputs[0].type.shape, n.attrs["axes"]
    to = positions(t).reshape([1 if k in axes else d for k, d in enumerate(shape)])
    return x.deps.grouped(np.broadcast_to(to, shape).ravel(), t.size) if x.deps is not None else None


def _scan(a: _Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    """Everything before, the element itself included (for an exclusive scan too, which is never too small)."""
    axis, order = n.attrs["axis"], -1 if n.attrs["reverse"] else 1
    lines = np.moveaxis(positions(t), axis, 0).reshape(t.shape[axis], -1)[::order]
    both = Pattern.union([x.deps for x in facts if x.deps is not None])
    parts, so_far = [], None
    for row in lines:
        here = both.taken(row)
        so_far = here if so_far is None else Pattern.union([so_far, here])
        a.spend(len(so_far.cols))
        parts.append(so_far)
    if not parts:
        return None
    back = np.empty(t.size, np.int64)
    back[lines.ravel()] = np.arange(t.size)
    return Pattern.stack(parts).taken(back)


def _key(n: Node, facts: Sequence[Fact], idx: Sequence[int]) -> tuple[list[Any], list[int]]:
    """NumPy's index arrays for a place, 0 along axes whose position is not known; those axes."""
    values = [0 if facts[k].known is None else facts[k].known for k in idx]
    for j, k in enumerate(idx):
        if facts[k].known is None and n.inputs[k].type.shape:
            values[j] = np.zeros(n.inputs[k].type.shape, np.int64)
    key = list(numpy_key(values, n.attrs["spec"]))
    unknown, it = [], iter(idx)
    for axis, s in enumerate(n.attrs["spec"]):
        takes = s in ("g", "i") or getattr(s, "start", 0) is None
        if takes and facts[next(it)].known is None:
            unknown.append(axis)
            key[axis] = np.zeros_like(key[axis])
    return key, unknown


def _smeared(p: Pattern, t: Type, axes: Sequence[int]) -> Pattern:
    """Every element along the axes depends on what any of them does."""
    if not axes:
        return p
    shape = [1 if k in axes else d for k, d in enumerate(t.shape)]
    to = np.broadcast_to(np.arange(int(np.prod(shape))).reshape(shape), t.shape).ravel()
    return p.grouped(to, int(np.prod(shape))).taken(to)


def _index(a: _Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    x, base = facts[0], n.inputs[0].type
    if x.deps is None:
        return None
    key, unknown = _key(n, facts, range(1, len(facts)))
    at = np.broadcast_to(positions(base)[tuple(key)], t.shape) if base.size else positions(t)
    return _smeared(x.deps, base, unknown).taken(at.ravel())


def _update(a: _Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    x, v = (fact.deps or Pattern.none(w.type.size, a.total) for fact, w in zip(facts[:2], n.inputs))
    key, unknown = _key(n, facts, range(2, len(facts)))
    if not n.inputs[1].type.size:
        return x
    at = np.broadcast_to(positions(t)[tuple(key)], n.inputs[1].type.shape).ravel()
    placed = _smeared(v.grouped(at, t.size), t, unknown)
    if n.op.name == "update" and not unknown:
        old = np.ones(t.size, bool)
        old[at] = False
        x = x.kept(old)
        last = np.full(t.size, -1)
        last[at] = np.arange(len(at))
        placed = v.taken(np.maximum(last, 0)).kept(last >= 0)
    return Pattern.union([x, placed])


def _dot(a: _Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    (ca, cb), (ba, bb) = n.attrs["contract"], n.attrs["batch"]
    x, y = n.inputs
    fa, fb = ([k for k in range(v.type.rank) if k not in (*c, *b)] for v, c, b in ((x, ca, ba), (y, cb, bb)))
    sizes = [*(x.type.shape[k] for k in (*ba, *fa)), *(y.type.shape[k] for k in fb), *(x.type.shape[k] for k in ca)]
    pairs = int(np.prod(sizes))
    a.spend(pairs)
    grid = np.indices(sizes).reshape(len(sizes), -1)
    nb, nf, ng = len(ba), len(fa), len(fb)
    axes = {"batch": grid[:nb], "a": grid[nb : nb + nf], "b": grid[nb + nf : nb + nf + ng], "c": grid[nb + nf + ng :]}
    to = np.ravel_multi_index(tuple(grid[: nb + nf + ng]), t.shape) if t.rank else np.zeros(pairs, np.int64)
    at_x = _flat(x.type, {**dict(zip(ba, axes["batch"])), **dict(zip(fa, axes["a"])), **dict(zip(ca, axes["c"]))}, pairs)
    at_y = _flat(y.type, {**dict(zip(bb, axes["batch"])), **dict(zip(fb, axes["b"])), **dict(zip(cb, axes["c"]))}, pairs)
    out = []
    for fact, other, at, at_other in ((facts[0], facts[1], at_x, at_y), (facts[1], facts[0], at_y, at_x)):
        if fact.deps is not None:
            keep = slice(None) if other.known is None else np.asarray(other.known).ravel()[at_other] != 0
            out.append(fact.deps.related(at[keep], to[keep], t.size))
    return Pattern.union(out)


def _flat(t: Type, at: Mapping[int, np.ndarray], n: int) -> np.ndarray:
    return np.ravel_multi_index(tuple(at[k] for k in range(t.rank)), t.shape) if t.rank else np.zeros(n, np.int64)


def _sort(a: _Analysis, n: Node, facts: Sequence[Fact], t: Type) -> Pattern | None:
    return _smeared(facts[0].deps, t, [n.attrs["axis"]]) if facts[0].deps is not None else None


# ---- control flow --------------------------------------------------------------------------------------------------------


def _if(a: _Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
    if n.op.name == "checkpoint" or facts[0].known is not None:
        return a.run(n.regions[0 if n.op.name == "checkpoint" or facts[0].known else 1], env)
    return [_join_any(x, y) for x, y in zip(a.run(n.regions[0], env), a.run(n.regions[1], env))]


def _join_any(x: Fact, y: Fact) -> Fact:
    """As `joined`; tapes of two paths can only be told apart by their sites."""
    if isinstance(x.known, _Tape) or isinstance(y.known, _Tape):
        return x if x.known is y.known else Fact(_ANY)
    return joined(x, y)


def _for(a: _Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
    trips, *carry = facts
    (body,) = n.regions
    if trips.known is not None and trips.known <= MAX_TRIPS:
        for k in range(int(trips.known)):
            env.update(zip(body.params, (Fact(np.int64(k)), *carry)))
            carry = a.run(body, env)
        return carry

    def step(carry: Sequence[Fact]) -> Sequence[Fact]:
        env.update(zip(body.params, (NOTHING, *carry)))
        return a.run(body, env)

    return _fixed_point(step, carry)


def _while(a: _Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
    cond, body = n.regions

    def test(carry: Sequence[Fact]) -> Fact:
        env.update(zip(cond.params, carry))
        return a.run(cond, env)[0]

    def step(carry: Sequence[Fact]) -> Sequence[Fact]:
        test(carry)
        env.update(zip(body.params, carry))
        return a.run(body, env)

    carry: Sequence[Fact] = facts
    for _ in range(MAX_TRIPS):
        go = test(carry).known
        if go is None:
            return _fixed_point(step, carry)
        if not go:
            return carry
        env.update(zip(body.params, carry))
        carry = a.run(body, env)
    return _fixed_point(step, carry)


def _fixed_point(step: Callable[[Sequence[Fact]], Sequence[Fact]], carry: Sequence[Fact]) -> Sequence[Fact]:
    """Facts that hold after any number of trips."""
    while True:
        after = [_join_any(old, new) for old, new in zip(carry, step(carry))]
        if all(_stable(x, y) for x, y in zip(carry, after)):
            return after
        carry = after


def _stable(x: Fact, y: Fact) -> bool:
    tape = isinstance(x.known, _Tape) or isinstance(y.known, _Tape)
    return x.known is y.known if tape else _equal(x, y)


def _call(a: _Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
    name = n.attrs["callee"]
    if len(a.calls) > 64:
        raise TooMuch
    callee = a.program[name]
    a.calls.append(name)
    out = a.run(callee, dict(zip(callee.params, facts)))
    a.calls.pop()
    return out


@dataclass(frozen=True, eq=False)
class _Tape:
    """A tape as far as it is known: the last record and the tape below it."""

    below: _Tape | None = None
    site: int = -1
    entries: tuple[Fact, ...] = ()


_ANY = _Tape(site=-2)  # a tape of which only the sites' joined records are known


def _tape(a: _Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
    return [Fact(_Tape())]


def _push(a: _Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
    tape, *entries = facts
    site = n.attrs["site"]
    old = a.sites.get(site)
    a.sites[site] = list(entries) if old is None else [_join_any(x, y) for x, y in zip(old, entries)]
    return [Fact(_ANY if tape.known is _ANY else _Tape(tape.known, site, tuple(entries)))]


def _pop(a: _Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
    tape, site = facts[0].known, n.attrs["site"]
    if len(n.outputs) == 1:
        return [Fact(tape)]
    if tape is _ANY or tape.site != site:
        if site not in a.sites:
            raise TooMuch
        return [Fact(_ANY), *a.sites[site]]
    return [Fact(tape.below), *tape.entries]


def _nothing(a: _Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
    return []


_FLAT = ("floor", "ceil", "trunc", "rint", "sign", "floor_divide")  # slope 0 everywhere
RULES: dict[str, Callable[[_Analysis, Node, Sequence[Fact], Type], Pattern | None]] = {
    **dict.fromkeys(_FLAT, _nowhere),
    "mul": _product,
    "szmul": _product,
    "select": _select,
    "broadcast": _move,
    "reshape": _move,
    "transpose": _move,
    "concat": _concat,
    "index": _index,
    "update": _update,
    "update_add": _update,
    "sum": _reduce,
    "prod": _reduce,
    "max": _reduce,
    "min": _reduce,
    "cumsum": _scan,
    "cumprod": _scan,
    "linrec": _scan,
    "dot": _dot,
    "sort": _sort,
}
CONTROL: dict[str, Callable[[_Analysis, Node, Sequence[Fact], dict[Value, Fact]], Sequence[Fact]]] = {
    "if": _if,
    "checkpoint": _if,
    "for": _for,
    "while": _while,
    "call": _call,
    "tape": _tape,
    "push": _push,
    "pop": _pop,
    "raise_if": _nothing,
    "print": _nothing,
}
