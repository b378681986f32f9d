"""Algebraic simplification: rewrite rules from irad.passes.clean.rules, structural ones from irad.passes.clean.shape_rules, and the
collection of like terms in derivatives (irad.passes.clean.algebra).

One walk in program order: operands are simplified before the node that reads them, rules are found by the op at their
root, and what a rule emits is simplified in turn. Regions see the definitions around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set

import numpy as np

from irad.core.ir import Builder, Graph, Node, Program, Value, captures, current
from irad.core.types import Type
from irad.ops import OPS
from irad.ops.constant import const, scalar
from irad.ops.regions import loop_of
from irad.passes.clean.algebra import collect
from irad.passes.clean.rules import Rule, Term, rules_of
from irad.passes.clean.shape_rules import STRUCTURAL
from irad.passes.rewrite import Env, bits_of, lookup, rebuild, rename_bound, splat_of

Bound = dict[str, Value]
Defs = Callable[[Value], Node | None]


def simplify(program: Program, fastmath: Set[str] = frozenset()) -> Program:
    """The program with fewer or cheaper nodes that compute the same; the values that survive keep their names.

    `fastmath`: flags (irad.options) that allow more than NumPy's numbers do.
    """
    return {name: collect(_Simplifier(fastmath).graph(g), "reassoc" in fastmath) for name, g in program.items()}


class _Simplifier:
    def __init__(self, fastmath: Set[str]) -> None:
        self.fastmath = fastmath
        self.env: Env = {}
        self.defs: dict[Value, Node] = {}

    def definition(self, v: Value) -> Node | None:
        return self.defs.get(lookup(self.env, v) if v in self.env else v)

    def graph(self, graph: Graph, known: tuple[Value, bool] | None = None) -> Graph:
        """`known`: a bool from outside and the value that it has in this region."""
        params = rename_bound(graph.params, self.env)
        with Builder() as b:
            if known is not None and any(lookup(self.env, v) is known[0] for v in captures(graph)):
                self.env[known[0]] = scalar(known[1], "bool")
                self.defs[b.nodes[0].out] = b.nodes[0]
            for node in graph.nodes:
                self.node(node)
        results = [lookup(self.env, v) for v in graph.results]
        if known is not None:
            self.env.pop(known[0], None)
        return graph.replace(params, b.nodes, results)

    def node(self, node: Node) -> None:
        """Simplify a node of the input and append what it becomes."""
        if node.regions:
            flat = _CONTROL.get(node.op.name, lambda s, n: None)(self, node)
            if flat is not None:
                self.env.update(zip(node.outputs, flat))
                return
            node, regions = self.branches(node)
            node = rebuild(node, self.env, regions)
        else:
            node = rebuild(node, self.env, ())
        self.place(node)

    def branches(self, node: Node) -> tuple[Node, list[Graph]]:
        if node.op.name == "if":
            cond = lookup(self.env, node.inputs[0])
            return node, [self.graph(r, (cond, k == 0)) for k, r in enumerate(node.regions)]
        node = _drop_invariant(node, self.env)
        return node, [self.graph(r) for r in node.regions]

    def place(self, node: Node) -> None:
        """Append the node, or what a rule makes of it."""
        new = None
        if rules_of(node.op.name) or node.op.name in STRUCTURAL:
            with Builder(node.loc, node.deriv) as b:
                new = self.rewrite(node)
        if new is None:
            current().nodes.append(node)
            self.defs.update((v, node) for v in node.outputs)
            return
        fresh = {v for n in b.nodes for v in n.outputs}
        for old, v in zip(node.outputs, new):
            if v in fresh and not v.hint:
                v.hint = old.hint
        for n in b.nodes:
            self.place(rebuild(n, self.env, n.regions))
        self.env.update((old, lookup(self.env, v)) for old, v in zip(node.outputs, new))

    def rewrite(self, node: Node) -> Sequence[Value] | None:
        """What the first rule that applies gives for the outputs; its nodes go to the current builder."""
        rules = rules_of(node.op.name)
        below = {d.op.name for d in map(self.definition, node.inputs) if d is not None} if rules else set()
        for rule in rules:
            if rule.needs <= below and rule.applies(node.deriv, self.fastmath):
                for bound in match(rule.before, node, self.definition):
                    if all(v.type.dtype[0] in rule.kinds for k, v in bound.items() if rule.is_typed(k)):
                        out = instantiate(rule, bound, node.out.type, self.definition)
                        if out is not None:
                            return (out,)
        for f in STRUCTURAL.get(node.op.name, ()):
            new = f(node, self.definition)
            if new is not None:
                return new
        return None

    def inline(self, region: Graph, args: Sequence[Value]) -> tuple[Value, ...]:
        """Put the nodes of a region here, its parameters replaced; the region itself is given up, so its values move."""
        self.env.update(zip(region.params, args))
        for n in region.nodes:
            self.node(n)
        return tuple(lookup(self.env, v) for v in region.results)


# ---- matching and building --------------------------------------------------------------------------------


def match(pattern: Term, node: Node, definition: Defs) -> Iterator[Bound]:
    """Every way in which the node is an instance of the pattern: values for its variables."""
    yield from _match_args(pattern, node, definition, {})


def _match_args(p: Term, node: Node, definition: Defs, bound: Bound) -> Iterator[Bound]:
    yield from _match_list(p.args, node.inputs, definition, bound)
    if node.op.commutes and p.args[0] != p.args[1]:
        yield from _match_list(p.args[::-1], node.inputs, definition, bound)


def _match_list(ps: Sequence[Term], vs: Sequence[Value], definition: Defs, bound: Bound) -> Iterator[Bound]:
    if not ps:
        yield bound
        return
    for b in _match_value(ps[0], vs[0], definition, bound):
        yield from _match_list(ps[1:], vs[1:], definition, b)


def _match_value(p: Term, v: Value, definition: Defs, bound: Bound) -> Iterator[Bound]:
    node = definition(v)
    if p.name:
        constant = p.name.isupper()
        if bound.get(p.name, v) is v and (not constant or splat_of(node) is not None):
            yield {**bound, p.name: v}
    elif p.op:
        if node is not None and node.op.name == p.op:
            yield from _match_args(p, node, definition, bound)
    else:
        splat = splat_of(node)
        if splat is not None and is_number(splat, p.value):
            yield bound


def is_number(splat: np.generic, value: float | bool) -> bool:
    """Has the constant the very bits of the number in its dtype? A bool is only a bool, -1 is no unsigned integer."""
    if isinstance(value, bool) != (splat.dtype.kind == "b") or (splat.dtype.kind == "u" and value < 0):
        return False
    return splat.tobytes() == bits_of(value, splat.dtype)


def instantiate(rule: Rule, bound: Bound, result: Type, definition: Defs) -> Value | None:
    """Emit the right side of a rule. None if a constant of it is out of the range in which re-association is harmless."""

    def go(t: Term, like: Type) -> Value | None:
        if t.name:
            return bound[t.name]
        if not t.op:
            return const(value=t.value, type=like)
        sibling = next((v.type for v in (bound[n] for a in t.args for n in a.names())), like)
        args = [go(a, sibling) for a in t.args]
        if any(a is None for a in args):
            return None
        return _emit(t.op, [a for a in args if a is not None], rule.exact, definition)

    return go(rule.after, result)


def _emit(op: str, args: list[Value], exact: bool, definition: Defs) -> Value | None:
    """The node, or its value if every operand is a constant that spreads one number."""
    fresh = {n.out: n for n in current().nodes if n.op.name == "const"}  # numbers of the rule itself
    splats = [splat_of(definition(a) or fresh.get(a)) for a in args]
    if any(s is None for s in splats):
        return OPS[op](*args)
    with np.errstate(all="ignore"):
        value = OPS[op].eval(*splats)  # type: ignore[misc]
    if not exact and value.dtype.kind in "fc" and not (np.isfinite(value) and abs(value) >= np.finfo(value.dtype).tiny):
        return None
    (t,) = OPS[op].infer(*(a.type for a in args))
    return const(value=value.item(), type=t)


# ---- control flow -----------------------------------------------------------------------------------------


def _flat_if(s: _Simplifier, node: Node) -> Sequence[Value] | None:
    """A branch that is surely taken stands in place of the `if`."""
    cond = splat_of(s.definition(node.inputs[0]))
    return None if cond is None else s.inline(node.regions[0 if cond else 1], ())


def _flat_for(s: _Simplifier, node: Node) -> Sequence[Value] | None:
    """A loop of no trip gives its operands, a loop of one trip is its body."""
    trips = splat_of(s.definition(node.inputs[0]))
    carry = [lookup(s.env, v) for v in node.inputs[1:]]
    if trips is None or trips > 1:
        return None
    if trips <= 0:
        return carry
    with Builder(node.loc, node.deriv) as b:
        zero = scalar(0, "i64")
    s.place(b.nodes[0])
    return s.inline(node.regions[0], (zero, *carry))


def _flat_while(s: _Simplifier, node: Node) -> Sequence[Value] | None:
    """A loop whose condition is false from the start, whatever the carry."""
    (result,) = node.regions[0].results
    outer = splat_of(s.definition(result))
    inner = next((splat_of(n) for n in node.regions[0].nodes if result in n.outputs), None)
    never = any(c is not None and not c for c in (outer, inner))
    return [lookup(s.env, v) for v in node.inputs] if never and len(node.regions[0].nodes) <= 1 else None


_CONTROL: dict[str, Callable[[_Simplifier, Node], Sequence[Value] | None]] = {
    "if": _flat_if, "for": _flat_for, "while": _flat_while,
}  # fmt: skip


def _drop_invariant(node: Node, env: Env) -> Node:
    """A loop without the carries that no trip changes: inside and after it they are what they were before."""
    loop = loop_of(node)
    if loop is None or node.attrs:  # attributes of a planned loop count its carries
        return node
    stays = loop.unchanged()
    for k in stays:
        init = lookup(env, loop.inits[k])
        env[loop.outs[k]] = init
        env.update((p, init) for p in loop.params(k))
    return loop.without(stays) if stays else node
