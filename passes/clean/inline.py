"""Inlining: a call of a function that does not recurse becomes a copy of its body."""

from __future__ import annotations

from collections.abc import Iterator

from irad.core.ir import Builder, Graph, Node, Program, Value, callees, calls, copy, current, reachable, size
from irad.ops.control import vmap
from irad.ops.regions import is_loop
from irad.passes.rewrite import Env, lookup, rebuild, rename_bound

SMALL = 200  # nodes: a larger function is inlined only where it is called from one place
COPIES = (
    400  # nodes: outside of loops, copies of one function may make so many more; a tenth of it if it computes with numbers alone
)


def inline(program: Program) -> Program:
    """The program with calls inlined, callees before callers; functions that nothing calls any more are dropped.

    Recursive functions stay, and so do calls of large functions that are called from several places: inlined at each
    level of a call tree they would grow without bound. Outside of loops a call costs nothing, and a copy time to compile.
    """
    done: Program = {}
    recursive = _recursive(program)
    sites = _call_sites(program)
    for name in _callees_first(program):
        g = program[name]
        if calls(g):
            bodies = {c: done[c] for c in callees(g) if c not in recursive and (sites[c] == 1 or size(done[c]) <= SMALL)}
            most = {c: COPIES // (1 if any(v.type.shape for v in (*b.params, *b.results)) else 10) for c, b in bodies.items()}
            cheap = {c: body for c, body in bodies.items() if size(body) * (sites[c] - 1) <= most[c]}
            g = _graph(g, cheap, bodies, {})
        done[name] = g
    entry = next(iter(program))
    kept = reachable(done, [entry])
    return {name: done[name] for name in program if name in kept}


def _call_sites(program: Program) -> dict[str, int]:
    count = dict.fromkeys(program, 0)
    for g in program.values():
        for n in calls(g):
            count[n.attrs["callee"]] += 1
    return count


def _recursive(program: Program) -> set[str]:
    """The functions from which a chain of calls leads back to them."""
    return {name for name, g in program.items() if name in reachable(program, callees(g))}


def _callees_first(program: Program) -> list[str]:
    """Every function after the functions it calls; the order within a recursion is as written."""
    out: dict[str, None] = {}
    entered: set[str] = set()

    def visit(name: str) -> Iterator[str]:
        entered.add(name)
        yield from callees(program[name])

    for root in program:
        stack = [] if root in entered else [(root, visit(root))]
        while stack:
            name, rest = stack[-1]
            callee = next((c for c in rest if c not in entered), None)
            if callee is None:
                out[name] = None
                stack.pop()
            else:
                stack.append((callee, visit(callee)))
    return list(out)


def _graph(graph: Graph, here: dict[str, Graph], loops: dict[str, Graph], env: Env) -> Graph:
    """The graph with calls inlined: those `here`, and those of it in `loops`."""
    params = rename_bound(graph.params, env)
    with Builder() as b:
        for node in graph.nodes:
            inner = loops if is_loop(node) or node.op is vmap else here
            node = rebuild(node, env, [_graph(r, inner, loops, env) for r in node.regions])
            if node.op.name == "call" and node.attrs["callee"] in here:
                env.update(zip(node.outputs, _expand(node, here[node.attrs["callee"]])))
            else:
                b.nodes.append(node)
    return graph.replace(params, b.nodes, [lookup(env, v) for v in graph.results])


def _expand(call: Node, body: Graph) -> tuple[Value, ...]:
    """A copy of the body in the current builder; results take the caller's names if they have none."""
    fresh = copy(Graph((), body.nodes, body.results), dict(zip(body.params, call.inputs)))
    made = {v for n in fresh.nodes for v in n.outputs}
    for old, new in zip(call.outputs, fresh.results):
        if new in made and not new.hint:
            new.hint = old.hint
    current().nodes += fresh.nodes
    return fresh.results
