"""How far a property reaches: the least set of places that holds some, and all that they reach.

Through control flow, tapes and calls it goes along the edges of `irad.ops.regions`; what any other node does is a rule of the
analysis: implications from what the node reads to what it gives. Activity, batching and masked zeros are such sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from irad.core.ir import Graph, Node, Program
from irad.ops.regions import BRANCHES, HANDS_ON, LOOPS, Holder, edges_in, edges_out

Found = set[Holder]
Step = tuple[Iterable[Holder], Iterable[Holder], bool]  # if any of the first is found (True: if all are), all of the second are
Rule = Callable[[Node], Step | None]


def reached(where: Graph | Program, start: Iterable[Holder], rule: Rule, rules: Mapping[str, Rule]) -> Found:
    """The least set that has `start` and is closed under edges and rules. In a program calls are followed.

    `rule`: of each node that hands nothing on; `rules`: of single ops, for those that hand on in addition to their edges.
    """
    todo: list[Step] = []
    if isinstance(where, Graph):
        _steps(where, rule, rules, None, todo)
    else:
        for name, g in where.items():
            _steps(g, rule, rules, where, todo)
            todo += [((v,), ((name, k),), False) for k, v in enumerate(g.results)]
    found, before = set(start), -1
    while len(todo) != before:
        before, again = len(todo), []
        for step in todo:
            sources, places, every = step
            if found.issuperset(sources) if every else not found.isdisjoint(sources):
                found.update(places)
            else:
                again.append(step)
        todo = again
    return found


def _steps(graph: Graph, rule: Rule, rules: Mapping[str, Rule], program: Program | None, steps: list[Step]) -> None:
    """Add those of all nodes, in program order."""
    for n in graph.nodes:
        name = n.op.name
        if name in HANDS_ON:
            steps += [((a,), (b,), False) for a, b in edges_in(n, program)]
            if name in LOOPS or name in BRANCHES:
                for r in n.regions:
                    _steps(r, rule, rules, program, steps)
            steps += [((a,), (b,), False) for a, b in edges_out(n)]
            own = rules[name](n) if name in rules else None
        else:
            own = rules.get(name, rule)(n)
        if own is not None:
            steps.append(own)
