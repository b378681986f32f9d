"""Shorter tape records: an entry that every push of a site gives twice, or as a constant, is not pushed again.

Such entries appear once arrays have become scalars and common subexpressions are one value (the distance of two bodies is in
both of their forces).
"""

from __future__ import annotations

from irad.core.ir import Graph, Node, Program, Value, map_regions, substitute_node, walk
from irad.core.types import TAPE
from irad.passes.rewrite import splat_of

Keep = tuple[tuple[int, Node | None], ...]  # per entry: the entry that stands for it, or the constant that it is


def shorter_records(program: Program) -> Program:
    """The program without repeated and constant tape entries."""
    plans = _plans(program)
    return {name: _Rewrite(plans).graph(g) for name, g in program.items()} if plans else program


def _plans(program: Program) -> dict[int, Keep]:
    """What to keep of each site's record, for sites that can be shortened: none if another program reads or writes records."""
    first = next(iter(program.values()))
    if any(v.type == TAPE for v in (*first.params, *first.results)):
        return {}
    found: dict[int, Keep] = {}
    for g in program.values():
        defs = {v: n for n in walk(g) for v in n.outputs}
        for n in walk(g):
            if n.op.name == "push":
                plan = _plan(n.inputs[1:], defs)
                site = n.attrs["site"]
                found[site] = plan if site not in found else _common(found[site], plan)
    return {s: p for s, p in found.items() if any(k != at or c is not None for at, (k, c) in enumerate(p))}


def _plan(entries: tuple[Value, ...], defs: dict[Value, Node]) -> Keep:
    first: dict[Value, int] = {}
    return tuple(
        (first.setdefault(v, k), defs[v] if v in defs and splat_of(defs[v]) is not None else None) for k, v in enumerate(entries)
    )


def _common(a: Keep, b: Keep) -> Keep:
    """What two pushes of one site agree on."""
    out = []
    for at, ((j, c), (k, d)) in enumerate(zip(a, b)):
        same = c is not None and d is not None and splat_of(c).tobytes() == splat_of(d).tobytes() and c.out.type == d.out.type
        out.append((j if j == k else at, c if same else None))
    return tuple(out)


class _Rewrite:
    def __init__(self, plans: dict[int, Keep]):
        self.plans = plans
        self.env: dict[Value, Value] = {}

    def graph(self, graph: Graph) -> Graph:
        nodes: list[Node] = []
        for n in graph.nodes:
            n = substitute_node(n, self.env)
            if n.op.name == "push" and n.attrs["site"] in self.plans:
                kept = [v for k, v in enumerate(n.inputs[1:]) if self._kept(n, k)]
                n = n.replace(inputs=(n.inputs[0], *kept))
            elif n.op.name == "pop" and n.attrs["site"] in self.plans and len(n.outputs) > 1:
                nodes += self._pop(n)
                continue
            nodes.append(map_regions(n, self.graph))
        return graph.replace(nodes=nodes, results=[self.env.get(v, v) for v in graph.results])

    def _kept(self, n: Node, k: int) -> bool:
        first, constant = self.plans[n.attrs["site"]][k]
        return first == k and constant is None

    def _pop(self, n: Node) -> list[Node]:
        plan, entries, constants = self.plans[n.attrs["site"]], n.outputs[1:], []
        for k, (first, constant) in enumerate(plan):
            if constant is not None:
                # of the type that the pop gives: its extents are popped values too
                typed = {"type": entries[k].type} if "type" in constant.attrs else {}
                attrs = {**constant.attrs, **typed}
                constants.append(n.replace(op=constant.op, inputs=(), outputs=(entries[k],), attrs=attrs, regions=()))
            elif first != k:
                self.env[entries[k]] = entries[first]
        outs = [v for k, v in enumerate(entries) if self._kept(n, k)]
        pop = n.replace(outputs=(n.outputs[0], *outs), attrs={**n.attrs, "types": tuple(v.type for v in outs)})
        constants.sort(key=lambda c: len(c.out.type.shape))  # extents before what they are of
        return [pop, *(substitute_node(c, self.env) for c in constants)]
