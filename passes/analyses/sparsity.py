"""Which elements of a result depend on which elements of the arguments: the exact sparsity of a Jacobian.

Dependencies are propagated through the graph; nothing is probed. What does not depend on the arguments is computed, so that
positions, trip counts and conditions are known where they can be; where they are not, every possibility is joined, so a
pattern is never too small, for any values of the arguments. The pattern of a Hessian is that of its gradient's graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from irad.core.ir import Graph, Node, Value
from irad.core.lazy_dataclass import dataclass
from irad.core.types import Type
from irad.passes.analyses.pattern import Pattern

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
    program: Mapping[str, Graph],
    f: Graph,
    wrt: Sequence[Value],
    results: Sequence[Value],
    known: Mapping[Value, Any],
    most: int = MAX_WORK,
) -> Pattern | None:
    """The pattern of d results / d wrt, both flattened one after the other; None if it would cost too much to find.

    `known`: numbers of values from outside `f` and of parameters that are not differentiated. `most`: dependencies that may be made.
    """
    try:
        total = sum(v.type.size for v in wrt)
        env: dict[Value, Fact] = {v: Fact(x) for v, x in known.items()}
        start = 0
        for v in wrt:
            env[v] = Fact(None, Pattern.unit(v.type.size, total, start))
            start += v.type.size
        analysis = Analysis(program, total, most)
        analysis.run(f, env)
        return Pattern.stack([env[v].deps or Pattern.none(v.type.size, total) for v in results])
    except (TooMuch, AssertionError):
        return None


Rule = Callable[["Analysis", Node, Sequence[Fact], Type], "Pattern | None"]
ControlRule = Callable[["Analysis", Node, Sequence[Fact], "dict[Value, Fact]"], Sequence[Fact]]
RULES: dict[str, Rule] = {}  # filled by irad.passes.analyses.sparsity_rules
CONTROL: dict[str, ControlRule] = {}  # filled by irad.passes.analyses.sparsity_control


class Analysis:
    """Facts of one graph's values. `sites` joins all that was pushed at a tape site."""

    def __init__(self, program: Mapping[str, Graph], total: int, most: int = MAX_WORK):
        self.program, self.total, self.left = program, total, most
        self.sites: dict[int, list[Fact]] = {}
        self.calls: list[str] = []

    def spend(self, amount: int) -> None:
        self.left -= amount
        if self.left < 0:
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
        return [Fact(None, self.deps(n, facts, v.type)) if v.type.differentiable else NOTHING for v in n.outputs]

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
        if n.op.elementwise or n.op.name in ("complex", "real", "imag", "polygamma"):
            return Pattern.union([x.deps for x in facts if x.deps is not None])
        return Pattern.union([self.everywhere(x.deps, t.size) for x in facts if x.deps is not None])

    def everywhere(self, p: Pattern, size: int) -> Pattern:
        """Every element depends on all that p does anywhere."""
        row = p.grouped(np.zeros(p.rows, np.int64), 1)
        self.spend(size * len(row.cols))
        return row.taken(np.zeros(size, np.int64))


def joined(a: Fact, b: Fact) -> Fact:
    """What is known of a value that is one of two."""
    if a is b:
        return a
    same = a.known is not None and b.known is not None and a.deps is b.deps is None and same_bits(a.known, b.known)
    deps = [x.deps for x in (a, b) if x.deps is not None]
    return Fact(a.known if same else None, Pattern.union(deps) if deps else None)


def same_bits(a: Any, b: Any) -> bool:
    return np.shape(a) == np.shape(b) and np.asarray(a).tobytes() == np.asarray(b).tobytes()


def equal(a: Fact, b: Fact) -> bool:
    if (a.known is None) != (b.known is None) or (a.deps is None) != (b.deps is None):
        return False
    return (a.known is None or same_bits(a.known, b.known)) and (a.deps is None or a.deps == b.deps)
