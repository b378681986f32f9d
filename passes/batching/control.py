"""How control flow, calls, tapes and checks are batched, see irad.passes.batching.vmap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from irad.core.ir import Graph, Node, Value, captures, copy, current, defs, emit, walk
from irad.core.types import I64, TAPE, Type
from irad.ops.array import any_, argmax, max_, zeros
from irad.ops.constant import const, scalar
from irad.ops.control import call, if_, pop, push, raise_if
from irad.ops.core import effects
from irad.ops.regions import BRANCHES, is_loop, loop_of
from irad.passes.batching.rules import element, widen
from irad.passes.batching.vmap import CONTROL, Batching

# ---- branches --------------------------------------------------------------------------------------------------------------


def _unsafe(graph: Graph) -> bool:
    """Must the region not run without an active element?"""
    return any(is_loop(n) or n.op in (call, push, pop) or effects(n) != "none" for n in walk(graph))


def _if(b: Batching, n: Node) -> None:
    (c,) = n.inputs
    with b.inside(n) as turned:
        if b.is_batched(c):
            _select_branches(b, n, b.get(c), turned)
        else:
            regions = [b.region(partial(_yield, b, r, n.outputs)) for r in n.regions]
            _emit(b, n, [b.get(c)], regions, n.outputs)


def _yield(b: Batching, r: Graph, outputs: Sequence[Value]) -> list[Value]:
    """Run a region; its results, with the batch axis where an output has it."""
    b.run(r)
    return b.like(r.results, outputs)


def _emit(b: Batching, n: Node, ins: Sequence[Value], regions: Sequence[Graph], outputs: Sequence[Value]) -> None:
    """The control op over other regions; outputs that have got the batch axis are new values."""
    outs = list(map(b.fresh, outputs))
    current().nodes.append(n.replace(inputs=ins, outputs=outs, regions=regions))
    b.env.update((v, new) for v, new in zip(outputs, outs) if v is not new)


def _select_branches(b: Batching, n: Node, cond: Value, turned: bool) -> None:
    """Both branches, one after the other; a tape goes through both."""
    sides = [(n.regions[0], cond), (n.regions[1], ~cond)]
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
        if n.op.name in BRANCHES:
            tape = _origin(n.regions[0], n.regions[0].results[k])
        elif loop := loop_of(n):
            tape = loop.inits[k]
        else:
            tape = next(v for v in n.inputs if v.type == TAPE)
    return tape


def _guarded(b: Batching, r: Graph, cond: Value, starts: Mapping[int, Value]) -> list[Value]:
    """A branch for the elements of a condition, behind a test that there is one if the region is not safe otherwise."""
    with b.masked(cond) as mask:
        if not _unsafe(r):
            return b.all_of(r)
        then = b.region(partial(b.all_of, r))
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
        late = widen(total, b.size) - counts if turned else None
        k = Value(I64, i.hint)
        new = list(map(b.fresh, carry))

        def trip() -> list[Value]:
            at = widen(k, b.size)
            if late is not None:
                at = at - late
            active = at >= zeros(at.type) if late is not None else at < counts
            b.env.update(zip((i, *carry), (at, *new)))
            return _step(b, body, active, carry, new)

        region = b.region(trip, [k, *new])
        _emit(b, n, [total, *b.like(init, carry)], [region], n.outputs)


def _step(b: Batching, body: Graph, active: Value, carry: Sequence[Value], now: Sequence[Value]) -> list[Value]:
    """One trip for the active elements; the others keep what they have."""
    with b.masked(active) as mask:
        after = _yield(b, body, carry)
        return [b.choose(mask, x, old) if b.is_batched(p) else x for x, old, p in zip(after, now, carry)]


def _loop(b: Batching, n: Node, ins: list[Value], init: Sequence[Value], lead: list[Value], carry: Sequence[Value]) -> None:
    """A loop whose trips do not differ."""
    *cond, body = n.regions
    regions = []
    for r in (*cond, body):
        params = r.params[len(lead) :] if r is body else r.params
        new = list(map(b.fresh, params))
        b.env.update((p, v) for p, v in zip(params, new) if p is not v)
        outputs = carry if r is body else r.results
        regions.append(b.region(partial(_yield, b, r, outputs), [*(lead if r is body else []), *new]))
    _emit(b, n, [*ins, *b.like(init, carry)], regions, n.outputs)


def _while(b: Batching, n: Node) -> None:
    cond, body = n.regions
    with b.inside(n):
        if not b.is_batched(cond.results[0]):
            _loop(b, n, [], n.inputs, [], body.params)
            return
        init = b.like(n.inputs, body.params)
        new = list(map(b.fresh, body.params))
        active = Value(Type("bool", (b.size,)), "active")
        again = [Value(v.type, v.hint) for v in new]
        flag = Value(active.type, "active")
        test = b.region(lambda: [any_(flag, axes=(0,))], [flag, *again])

        def trip() -> list[Value]:
            b.env.update((p, v) for p, v in zip(body.params, new) if p is not v)
            after = _step(b, body, active, body.params, new)
            return [active & _test(b, cond, after, active), *after]

        first = _test(b, cond, init, b.mask)
        if b.mask is not None:
            first = b.mask & first
        region = b.region(trip, [active, *new])
        outs = list(map(b.fresh, n.outputs))
        done = Value(active.type, "done")
        current().nodes.append(n.replace(inputs=(first, *init), outputs=(done, *outs), attrs={}, regions=(test, region)))
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


# ---- functions with a derivative of their own ------------------------------------------------------------------------------------


def _custom(b: Batching, n: Node) -> None:
    """Every region takes and gives batched values, so the derivative is still the user's own."""
    inner = {v for r in n.regions for v in captures(r)}
    if not any(b.is_batched(v) for v in (*n.inputs, *inner)):
        b.keep(n)
        return
    regions = [_whole_region(b, r, b.mask if k == 0 else None) for k, r in enumerate(n.regions)]
    outs = emit(n.op, *map(b.full, n.inputs), regions=regions, **n.attrs)
    b.found.update(n.outputs)
    b.env.update(zip(n.outputs, outs))


def _whole_region(b: Batching, r: Graph, mask: Value | None) -> Graph:
    """A region of which all parameters and results are batched."""
    inner = Batching(b.functions, r, [*r.params, *(v for v in captures(r) if b.is_batched(v))], b.size)
    params = list(map(inner.fresh, r.params))
    inner.env = {**b.env, **dict(zip(r.params, params))}
    inner.mask = mask
    return inner.region(partial(inner.all_of, r), params)


# ---- calls, tapes, checks -----------------------------------------------------------------------------------------------------


def _call(b: Batching, n: Node) -> None:
    if not any(b.is_batched(v) or v.type == TAPE for v in n.inputs):
        b.keep(n)
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
    outs = list(map(b.fresh, n.outputs[1:]))
    attrs = {**n.attrs, "types": tuple(v.type for v in outs)}
    tape = Value(TAPE, n.outputs[0].hint)
    current().nodes.append(n.replace(inputs=(b.get(n.inputs[0]),), outputs=(tape, *outs), attrs=attrs))
    b.env.update(zip(n.outputs, (tape, *outs)))


def _raise_if(b: Batching, n: Node) -> None:
    """Raised if it is for any active element, with the values of the first."""
    if not any(map(b.is_batched, n.inputs)):
        b.keep(n)
        return
    fails = b.full(n.inputs[0])
    if b.mask is not None:
        fails = b.mask & fails
    if b.size == 0:
        return
    first = argmax(fails, axis=0)
    raise_if(any_(fails, axes=(0,)), *(element(b, v, first) for v in n.inputs[1:]), **{"keeps": (), **n.attrs})


CONTROL.update({"if": _if, "for": _for, "while": _while, "checkpoint": _checkpoint, "call": _call, "push": _push, "pop": _pop})
CONTROL.update(custom_vjp=_custom, custom_jvp=_custom, raise_if=_raise_if)
