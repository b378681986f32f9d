"""Arrays of a constant that loops overwrite completely need not be filled: they start as `empty`.

The adjoint of `x[1:]` and `x[:-1]` starts from zeros, and after fusion its pieces are stored by a few loops over parts of
it. The same goes for `np.empty(n)` when its ends are stored first and then the rest. Where those parts, runs of whole rows, leave
nothing out, the constant is never read. Runs after `fuse`.
"""

from __future__ import annotations

from irad.core.affine import Interval, fill
from irad.core.ir import Graph, Node, Program, Value, captures, readers
from irad.ops.array import Slice, update
from irad.ops.constant import const, empty
from irad.ops.loop import loop
from irad.ops.regions import map_control


def unfilled(program: Program) -> Program:
    """The program without fills that are written over."""
    return {name: _graph(g) for name, g in program.items()}


def _graph(graph: Graph) -> Graph:
    results, nodes = set(graph.results), []
    for n in graph.nodes:
        if n.op is const and n.out.type.rank and n.out not in results and _written_over(n.out, readers(graph), results):
            n = n.replace(op=empty, attrs={"type": n.out.type})
        nodes.append(map_control(n, _graph))
    return graph.replace(nodes=nodes)


def _written_over(v: Value, readers: dict[Value, list[Node]], results: set[Value]) -> bool:
    """Do stores of runs of rows one after the other, each into what the last one left, fill v before anything reads it?"""
    runs: list[Interval] = []
    size = v.type.shape[0]
    while True:
        if isinstance(size, int) and fill(runs, (0, size - 1)):
            return True
        found = readers.get(v, [])
        if len(found) != 1 or v in results or (step := _run(found[0], v)) is None:
            return False
        run, v = step
        runs.append(run)


def _run(n: Node, v: Value) -> tuple[tuple[int, int], Value] | None:
    """The run of v's rows that a node stores, and what v becomes; None if it does anything else with v."""
    if n.op is update:
        return None if n.inputs[0] is not v or v in n.inputs[1:] or (run := _slice(n)) is None else (run, n.out)
    if n.op is not loop or n.inputs.count(v) != 1 or any(o.width > 1 for o in n.attrs["outs"]):
        return None
    k, (extent, *inner), (rows, *columns) = n.inputs.index(v), n.attrs["extents"] or (0,), v.type.shape
    out = n.attrs["outs"][k]
    if not isinstance(extent, int) or not isinstance(rows, int) or inner != columns or out.kind != "store" or out.extra:
        return None
    unit = [tuple(int(j == i) for j in range(len(inner) + 1)) for i in range(len(inner) + 1)]
    if [row[:-1] for row in out.map.rows] != unit or any(row[-1] for row in out.map.rows[1:]) or v in captures(n.regions[0]):
        return None
    start = out.map.rows[0][-1]
    return (start, start + extent - 1), n.outputs[k]


def _slice(n: Node) -> tuple[int, int] | None:
    """The whole rows at known places that an `update` stores."""
    first, *others = n.attrs["spec"]
    dims = n.inputs[0].type.shape[1:]
    if any(not isinstance(s, Slice) or (s.start, s.size, s.step) != (0, d, 1) for s, d in zip(others, dims)):
        return None
    if isinstance(first, Slice):
        start, size = first.start, first.size
        return (start, start + size - 1) if isinstance(start, int) and isinstance(size, int) and first.step == 1 else None
    return (first, first) if isinstance(first, int) else None
