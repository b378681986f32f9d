"""Short chains from trip to trip in derivative loops: `ct * (1 - v) * r - ct * (r * v)` becomes `ct * a`.

A loop runs no faster than the chain of operations through what it carries. Cotangents and tangents are linear in the
carried ones, so a scalar that a trip computes from them is `a1 * ct1 + ... + b`, where the coefficients do not wait for
the trip before. They are computed beside the chain, and the carried terms come last, one multiply-add each, if that takes
only a few more operations than before. Only operations of a derivative are regrouped: they have no NumPy counterpart; under
`fastmath`'s flag "reassoc" all are, and elements count as carried that the trip before stored in an array that is carried:
in a Gauss-Seidel sweep `A[i, j] = (... + A[i, j - 1] + ...) / 9` becomes `rest / 9 + A[i, j - 1] * (1 / 9)`.

A carried vector of directions (irad.passes.small_arrays.lanes) is regrouped as a scalar is; its factors, which are the same for every
direction, are scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from typing import Any

from irad.core.affine import applied, coefficient
from irad.core.ir import Builder, Graph, Node, Program, Value, closure, defs, reads
from irad.core.lazy_dataclass import dataclass, replace
from irad.core.types import I64, Dim, Type, affine
from irad.ops.array import broadcast_to
from irad.ops.constant import const
from irad.ops.control import for_
from irad.ops.core import Op, effects
from irad.ops.elementwise import add, div, mul, neg, sub, szdiv, szmul
from irad.passes.rewrite import splat_of
from irad.passes.small_arrays.lanes import SIZES

EXTRA = 4  # operations a trip that a shorter chain may cost
WIDE = 8  # carries that depend on each other: so many factors for each value of the body do not pay
_PRODUCTS, _QUOTIENTS = (mul, szmul), (div, szdiv)
_VECTORS = tuple((n,) for n in SIZES)
_LONGEST = 4.0  # link of a chain, in multiplications: what costs more is shared by the lanes

Factor = Value | float  # numbers stand for constants until they are needed
Numbers = Mapping[Value, Any]  # constants and what they are


def linear_carry(program: Program, fastmath: Set[str] = frozenset()) -> Program:
    """The program with short chains through the scalars that its derivative loops carry, or all loops: see above."""
    everywhere = "reassoc" in fastmath
    return {name: _graph(g, everywhere, {}) for name, g in program.items()}


def _graph(graph: Graph, everywhere: bool, outer: Numbers) -> Graph:
    if not any(n.regions for n in graph.nodes):
        return graph
    numbers = {**outer, **{n.out: splat_of(n) for n in graph.nodes if n.op.name == "const"}}
    return graph.replace(nodes=[_node(n, everywhere, numbers) if n.regions else n for n in graph.nodes])


def _node(node: Node, everywhere: bool, outer: Numbers) -> Node:
    regions = [_graph(r, everywhere, outer) for r in node.regions]
    if node.op is for_:
        numbers = {**outer, **{n.out: splat_of(n) for n in regions[0].nodes if n.op.name == "const"}}
        regions = [_shortened(regions[0], numbers, derivative=True)]
        if everywhere:
            regions = [_through_memory(_shortened(regions[0], numbers, derivative=False), numbers)]
    return node.replace(regions=regions)


def _shortened(body: Graph, numbers: Numbers, derivative: bool) -> Graph:
    """The body with those results regrouped for which it pays. `derivative`: only operations of one may be regrouped."""
    groups = _cycles(body, derivative)
    if not groups:
        return body
    results, alive = list(body.results), _Alive(body)
    least = len(alive.of(results))
    with Builder(deriv=derivative) as b:
        for group in groups:
            if len(group) > WIDE:
                continue
            forms = _Forms(body, group, numbers, derivative)
            for k, (p, r) in enumerate(zip(body.params[1:], body.results)):
                form = forms.of.get(r)
                if p not in group or form is None or len(form.factors) >= forms.length[r]:
                    continue
                trial = [form.value() if j == k else v for j, v in enumerate(results)]
                alive.learn(b.nodes)
                count = len(alive.of(trial))
                if count <= least + EXTRA:
                    results, least = trial, count
    return body.replace(nodes=alive.nodes(results), results=results) if results != list(body.results) else body


def _through_memory(body: Graph, numbers: Numbers) -> Graph:
    """The body with what it stores regrouped so that the element that the trip before stored comes last."""
    for read, store in _stored_before(body, numbers):
        with Builder(store.loc, store.deriv) as b:
            forms = _Forms(body, [read], numbers, derivative=False)
            form = forms.of.get(store.inputs[1])
            if form is None or not form.factors or len(form.factors) >= forms.length[store.inputs[1]]:
                continue
            value = form.value()
        at = body.nodes.index(store)
        new = store.replace(inputs=(store.inputs[0], value, *store.inputs[2:]))
        nodes = [*body.nodes[:at], *b.nodes, new, *body.nodes[at + 1 :]]
        alive = _Alive(Graph(body.params, tuple(nodes), body.results))
        if len(alive.of(body.results)) <= len(_Alive(body).of(body.results)) + EXTRA:
            return body.replace(nodes=alive.nodes(body.results))
    return body


def _stored_before(body: Graph, numbers: Numbers) -> list[tuple[Value, Node]]:
    """Elements of carried arrays that the trip before has stored, with the node that stores the next ones.

    Whether they surely are does not matter: to regroup a sum is no less right if they are not.
    """
    known, out = defs(body), []
    place = lambda at: [_affine(v, known, numbers) for v in at]
    for array, result in zip(body.params[1:], body.results):
        store = known.get(result)
        if store is None or store.op.name != "update" or store.inputs[0] is not array or set(store.attrs["spec"]) != {"i"}:
            continue
        target = place(store.inputs[2:])
        before = [t - coefficient(t, body.params[0]) for t in target]
        for n in body.nodes if before != target else ():
            if n.op.name == "index" and n.inputs[0] is array and set(n.attrs["spec"]) == {"i"}:
                if place(n.inputs[1:]) == before:
                    out.append((n.out, store))
    return out


def _affine(v: Value, known: Mapping[Value, Node], numbers: Numbers) -> Dim:
    """An integer as a constant and multiples of values, seen through sums."""
    n, number = known.get(v), numbers.get(v)
    if number is not None:
        return int(number)
    if n is not None and v.type == I64 and n.op.adds:
        return applied(n.op.name, *(_affine(a, known, numbers) for a in n.inputs))
    return affine(0, {v: 1})


class _Alive:
    """What results need of the nodes of a body and of nodes that are emitted later, without walking all of them."""

    def __init__(self, body: Graph):
        self.order = {n: k for k, n in enumerate(body.nodes)}
        self.defs = {v: n for n in body.nodes for v in n.outputs}
        self.own = len(body.nodes)
        self.kept = [n for n in body.nodes if effects(n) != "none"]

    def learn(self, nodes: Sequence[Node]) -> None:
        """All that was emitted so far; what earlier calls told of comes first."""
        for n in nodes[len(self.order) - self.own :]:
            self.order[n] = len(self.order)
            self.defs.update((v, n) for v in n.outputs)

    def of(self, results: Sequence[Value]) -> set[Node]:
        """The nodes that have effects or that these results need."""
        found = set(self.kept)
        todo = [*results, *(v for n in found for v in reads(n))]
        while todo:
            n = self.defs.get(todo.pop())
            if n is not None and n not in found:
                found.add(n)
                todo += reads(n)
        return found

    def nodes(self, results: Sequence[Value]) -> list[Node]:
        """The same, in program order."""
        return sorted(self.of(results), key=self.order.__getitem__)


def _cycles(body: Graph, derivative: bool) -> list[list[Value]]:
    """The carried scalars, of a derivative or all, in groups that depend on each other from trip to trip."""
    primal = {v for n in body.nodes if derivative and not n.deriv for v in reads(n)}
    short = lambda t: not t.shape or derivative and t.shape in _VECTORS
    carry = [p for p in body.params[1:] if p.type.differentiable and short(p.type) and p not in primal]
    on: dict[Value, frozenset[Value]] = {p: frozenset([p]) for p in carry}
    for n in body.nodes if carry else ():
        found = frozenset().union(*(on[v] for v in reads(n) if v in on))
        if found:
            on.update((v, found) for v in n.outputs)
    step = {p: on.get(r, frozenset()) for p, r in zip(body.params[1:], body.results) if p in carry}
    reached = {p: _closure(step, p) for p in carry}
    groups = dict.fromkeys(tuple(q for q in carry if q in reached[p] and p in reached[q]) for p in carry)
    return [list(g) for g in groups if g]


def _closure(step: Mapping[Value, Collection[Value]], start: Value) -> set[Value]:
    """What `start` depends on in one trip or more."""
    return set(closure(step[start], step.__getitem__))


@dataclass(frozen=True)
class LinearForm:
    """The sum of factor * carry, and of `rest` (None: 0). `strong`: a carry that is 0 masks its factor, as in `szmul`."""

    factors: Mapping[Value, Factor]
    rest: Value | None
    strong: bool = False

    def value(self) -> Value:
        """Emit it, what is carried last."""
        total = self.rest
        for p, factor in self.factors.items():
            term = _times(p, factor, self.strong)
            total = term if total is None else term + total
        assert total is not None
        return total

    def each(self, f: Callable[[Factor, Value], Factor], g: Callable[[Value], Value]) -> LinearForm:
        """The form with f(factor, carry) for its factors and g(rest)."""
        rest = None if self.rest is None else g(self.rest)
        return LinearForm({p: f(c, p) for p, c in self.factors.items()}, rest, self.strong)

    def __neg__(self) -> LinearForm:
        return self.each(lambda c, p: -c, neg)

    def __add__(self, other: LinearForm) -> LinearForm:
        return self.joined(other, add)

    def __sub__(self, other: LinearForm) -> LinearForm:
        return self.joined(other, sub)

    def joined(self, other: LinearForm, op: Callable[[Value, Value], Value]) -> LinearForm:
        """`op`: add or sub."""
        factors = dict(self.factors)
        for p, c in other.factors.items():
            factors[p] = _joined(factors.get(p, 0.0), c, p, op)
        if self.rest is not None and other.rest is not None:
            rest: Value | None = op(self.rest, other.rest)
        elif other.rest is not None and op is sub:
            rest = -other.rest
        else:
            rest = self.rest or other.rest
        return LinearForm(factors, rest, self.strong or other.strong)


def _times(x: Value, factor: Factor, strong: bool) -> Value:
    if isinstance(factor, Value):
        factor = broadcast_to(factor, x.type.shape)
        return szmul(x, factor) if strong else x * factor
    return x if factor == 1 else -x if factor == -1 else x * factor


def _made(factor: Factor, carry: Value) -> Value:
    return factor if isinstance(factor, Value) else const(value=factor, type=Type(carry.type.dtype))


def _joined(a: Factor, b: Factor, carry: Value, op: Callable[[Value, Value], Value]) -> Factor:
    if isinstance(a, float) and isinstance(b, float):
        return a + b if op is add else a - b
    if a == 0.0:
        return b if op is add else -_made(b, carry)
    return op(_made(a, carry), _made(b, carry))


class _Forms:
    """Linear forms, over some carries, of the values of a loop body; `length`: links of the longest chain to a value.

    Values that none of these carries reaches have no form of their own: they are constants. Values that are not linear in
    the carries are `broken`.
    """

    def __init__(self, body: Graph, carry: Sequence[Value], numbers: Numbers, derivative: bool):
        self.numbers, self.derivative, self.defs = numbers, derivative, defs(body)
        self.of = {p: LinearForm({p: 1.0}, None) for p in carry}
        self.length = dict.fromkeys(carry, 0)
        self.products: set[Value] = set()  # a sum takes them in with one multiply-add
        self.broken: set[Value] = set()
        for n in body.nodes:
            self.visit(n)

    def visit(self, n: Node) -> None:
        used = reads(n)
        if not any(v in self.of or v in self.broken for v in used):
            return
        linear = (
            (n.op.adds or n.op in (neg, *_PRODUCTS, *_QUOTIENTS))
            and (n.deriv or not self.derivative)
            and (not n.out.type.shape or n.deriv)
        )
        form = self.form(n) if linear and not any(v in self.broken for v in used) else None
        if form is None:
            self.broken.update(n.outputs)
            return
        self.of[n.out] = form
        fused = bool(n.op.adds)  # with a product
        links = [self.length[v] - (fused and v in self.products) for v in n.inputs if v in self.of]
        self.length[n.out] = max(links) + min(n.op.cost, _LONGEST)
        if n.op in _PRODUCTS:
            self.products.add(n.out)

    def form(self, n: Node) -> LinearForm | None:
        """The linear form of the result of a node; None if it is not linear."""
        op, xs = n.op, [self.of.get(v) or LinearForm({}, v) for v in n.inputs]
        if op is neg:
            return -xs[0]
        if op.adds:
            return xs[0] + xs[1] if op.adds > 0 else xs[0] - xs[1]
        if xs[1].factors and (op in _QUOTIENTS or xs[0].factors):
            return None
        k = 0 if xs[0].factors else 1
        if op is szmul and k:
            return None
        x, whole = xs[k], n.inputs[1 - k]
        by = self.scalar(whole)
        if by is None:
            return None
        if op in _QUOTIENTS:
            return replace(self.quotient(x, whole, by, op), strong=x.strong or op is szdiv)
        new = x.each(lambda c, p: op(c, by) if isinstance(c, Value) else _times(by, c, False), lambda r: op(r, whole))
        return replace(new, strong=x.strong or op is szmul)

    def quotient(self, x: LinearForm, whole: Value, by: Value, op: Op) -> LinearForm:
        """x / whole, where `by` is the scalar that every element of whole is."""
        number = self.numbers.get(whole)
        if number:
            return x.each(lambda c, p: c / by if isinstance(c, Value) else c / float(number), lambda r: op(r, whole))
        return x.each(lambda c, p: _made(c, p) / by, lambda r: op(r, whole))

    def scalar(self, v: Value) -> Value | None:
        """The scalar that is every element of v; None if they differ."""
        if not v.type.shape:
            return v
        n = self.defs.get(v)
        if v in self.numbers and self.numbers[v] is not None:
            return const(value=self.numbers[v], type=Type(v.type.dtype))
        return n.inputs[0] if n is not None and n.op.name == "broadcast" and not n.inputs[0].type.shape else None
