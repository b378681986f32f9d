"""How dependencies pass through control flow and tapes, see irad.passes.analyses.sparsity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from irad.core.ir import Node, Value
from irad.passes.analyses.sparsity import CONTROL, MAX_TRIPS, NOTHING, Analysis, Fact, TooMuch, equal, joined

# ---- control flow --------------------------------------------------------------------------------------------------------


def _if(a: Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
    if n.op.name == "checkpoint" or facts[0].known is not None:
        return a.run(n.regions[0 if n.op.name == "checkpoint" or facts[0].known else 1], env)
    return [_join_any(x, y) for x, y in zip(a.run(n.regions[0], env), a.run(n.regions[1], env))]


def _join_any(x: Fact, y: Fact) -> Fact:
    """As `joined`; tapes of two paths can only be told apart by their sites."""
    if isinstance(x.known, _Tape) or isinstance(y.known, _Tape):
        return x if x.known is y.known else Fact(_ANY)
    return joined(x, y)


def _for(a: Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
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


def _while(a: Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
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
    return x.known is y.known if tape else equal(x, y)


def _call(a: Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
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


def _tape(a: Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
    return [Fact(_Tape())]


def _push(a: Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
    tape, *entries = facts
    site = n.attrs["site"]
    old = a.sites.get(site)
    a.sites[site] = list(entries) if old is None else [_join_any(x, y) for x, y in zip(old, entries)]
    return [Fact(_ANY if tape.known is _ANY else _Tape(tape.known, site, tuple(entries)))]


def _pop(a: Analysis, n: Node, facts: Sequence[Fact], env: dict[Value, Fact]) -> Sequence[Fact]:
    tape, site = facts[0].known, n.attrs["site"]
    if len(n.outputs) == 1:
        return [Fact(tape)]
    if tape is _ANY or tape.site != site:
        if site not in a.sites:
            raise TooMuch
        return [Fact(_ANY), *a.sites[site]]
    return [Fact(tape.below), *tape.entries]


CONTROL.update(
    {"if": _if, "checkpoint": _if, "for": _for, "while": _while, "call": _call, "tape": _tape, "push": _push, "pop": _pop}
)
CONTROL.update(dict.fromkeys(("raise_if", "print"), lambda a, n, facts, env: []))
