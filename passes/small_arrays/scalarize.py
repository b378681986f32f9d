"""Small arrays inside loops become scalars, which live in registers.

A state of a few numbers (the two species of a predator-prey model, three bodies in a plane) costs more as arrays than its
arithmetic: every operation would be a loop through memory. Inside `for` and `while` an operation on arrays of at most
MAX_SIZE elements is written out element by element, and carries of such arrays become one scalar carry per element. Where
an array is needed whole (a position known at run time, an opaque op) it is packed.

The directions of forward mode stay together: an axis that no operation of the loop mixes (irad.passes.small_arrays.lanes) is not written
out, the elements are then vectors along it, and f64[8,2] becomes two f64[8].
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from irad.core.ir import (
    Builder,
    Graph,
    Node,
    Program,
    Value,
    captured,
    current,
    emit,
    map_regions,
    reads,
    rename_attrs,
    substitute,
    substitute_node,
    walk,
)
from irad.core.notes import Notes
from irad.core.types import Type
from irad.ops.array import Slice
from irad.ops.array import index as index_op
from irad.ops.array import update as update_op
from irad.ops.constant import empty
from irad.ops.control import if_, push
from irad.ops.regions import is_loop, loop_of
from irad.passes.rewrite import give_last
from irad.passes.small_arrays.lanes import Lanes, free, written_out
from irad.passes.small_arrays.scalarize_rules import (
    MAX_SIZE,
    Elements,
    elements_of,
    empty_elements,
    made_free,
    narrowed,
    one_lane,
)

MAX_NODES = 8000  # scalar operations that one loop may become


def scalarize(program: Program, notes: Notes | None = None) -> Program:
    """The program with small arrays inside loops as scalars."""
    return {name: _Outside(notes).graph(g) for name, g in program.items()}


def small(v: Value) -> bool:
    """An array that may become scalars."""
    return bool(v.type.shape) and v.type.static and 0 < v.type.size <= MAX_SIZE


def rest(t: Type, lane: int | None) -> int:
    """The elements of an array, without the lane axis."""
    return t.size if lane is None else t.size // t.dims[lane]


def splittable(node: Node, lanes: Lanes) -> bool:
    """Can the node be written out element by element?"""
    if not written_out(node):
        return False
    outs = all(rest(v.type, lanes.of.get(v)) <= MAX_SIZE for v in node.outputs if v.type.shape)
    return outs and all(rest(v.type, lanes.wanted.get((node, k))) <= MAX_SIZE for k, v in enumerate(node.inputs) if v.type.shape)


class _Outside:
    """Looks for loops; what is not inside one stays as it is, but for the entries of tapes, on which all must agree."""

    def __init__(self, notes: Notes | None = None):
        self.notes = notes

    def graph(self, graph: Graph, loops: bool = True) -> Graph:
        """`loops`: split them, where that pays."""
        nodes: list[Node] = []
        for n in graph.nodes:
            done = _split_loop(n, self.notes) if loops and is_loop(n) else _entries(n) if "site" in n.attrs else None
            nodes += [map_regions(n, partial(self.graph, loops=loops and not is_loop(n)))] if done is None else done
        return graph.replace(nodes=nodes)


def _entries(node: Node) -> list[Node]:
    """A push or a pop outside of loops that are split."""
    return _with_scalars(node) if any(map(small, (*node.inputs, *node.outputs))) else [node]


def _split_loop(node: Node, notes: Notes | None) -> list[Node] | None:
    """The loop with small arrays as scalars; None if that does not pay."""
    lanes = Lanes(node)
    cost = sum(
        max((rest(v.type, lanes.of.get(v)) for v in n.outputs if v.type.shape), default=0)
        for r in node.regions
        for n in walk(r)
        if splittable(n, lanes)
    )
    if notes is not None and cost:
        where = "in registers, element by element" if cost <= MAX_NODES else f"in memory: they are over {MAX_NODES} operations"
        text = f"operations on arrays of at most {MAX_SIZE} numbers in this {node.op.name} are {where}"
        notes.add("registers", text, node.loc, operations=cost)
        if lanes.of and cost <= MAX_NODES:
            _note_lanes(notes, node, lanes)
    return None if not cost or cost > MAX_NODES else _with_scalars(node, lanes)


def _note_lanes(notes: Notes, node: Node, lanes: Lanes) -> None:
    sizes = sorted({v.type.dims[a] for v, a in lanes.of.items()})
    text = f"derivatives along {' and '.join(map(str, sizes))} directions in this {node.op.name} are lanes of vectors"
    notes.add("registers", text, node.loc, lanes=sizes)


def _with_scalars(node: Node, lanes: Lanes | None = None) -> list[Node]:
    """The node split; its results are packed again."""
    split = _Split(lanes or Lanes())
    with Builder(node.loc, deriv=node.deriv) as b:
        split.node(node)
        for v in node.outputs:
            if split.is_split(v):
                split.pack(v)
    return b.nodes


class _Split:
    """Rewrites nodes. `elements[v, lane]` are the elements of an array, scalars (lane None) or vectors along an axis;
    `packed` are the arrays that are in memory, `made` what makes those that can be had in any form."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.elements: dict[tuple[Value, int | None], Elements] = {}
        self.packed: dict[Value, Value] = {}
        self.made: dict[Value, Node] = {}
        self.env: dict[Value, Value] = {}

    def lane(self, v: Value) -> int | None:
        """The lane axis of a value that the loop computes."""
        return self.lanes.of.get(v)

    # ---- the two forms of an array ---------------------------------------------------------------------------

    def is_split(self, v: Value) -> bool:
        """Has the array no place in memory?"""
        return v not in self.packed and (v in self.made or (v, self.lane(v)) in self.elements)

    def whole(self, v: Value) -> Value:
        """The value as it is read by a node that is not split."""
        if self.is_split(v):
            self.pack(v, bind=False)
        return self.packed.get(v) or self.env.get(v, v)

    def pack(self, v: Value, bind: bool = True) -> None:
        """Store the elements into an array; with `bind` it takes the name v."""
        lane = self.lane(v)
        if v in self.made:
            n = self.made[v]
            (self.packed[v],) = emit(n.op, *n.inputs, **n.attrs)
            return
        if lane is not None and v.type.rank == 1:
            self.packed[v] = self.elements[v, lane].item()
            return
        x = empty(type=v.type)
        for at in np.ndindex(*one_lane(v.type.dims, lane)):
            x = update_op(x, self.elements[v, lane][at], spec=_place(v.type, at, lane))
        if bind:
            give_last(current().nodes, (v,))
            x = v
        self.packed[v] = x

    def parts(self, v: Value, lane: int | None) -> Elements:
        """The elements of an array; read from memory if it is there."""
        if (v, lane) not in self.elements:
            if v in self.made:
                out = made_free(self.made[v], lane)
            elif lane is not None and v.type.rank == 1:
                out = empty_elements((1,))
                out[0] = self.whole(v)
            else:
                x = self.whole(v)
                out = empty_elements(one_lane(v.type.dims, lane))
                for at in np.ndindex(*out.shape):
                    out[at] = index_op(x, spec=_place(v.type, at, lane))
                self.packed.setdefault(v, x)
            self.elements[v, lane] = out
        return self.elements[v, lane]

    def operand(self, n: Node, k: int) -> Elements | Value:
        """Operand k of a node that is split."""
        v = n.inputs[k]
        return self.parts(v, self.lanes.wanted.get((n, k))) if v.type.shape else self.env.get(v, v)

    def fresh(self, v: Value) -> list[Value]:
        """New values for the elements of v."""
        lane = self.lane(v)
        t = Type(v.type.dtype, () if lane is None else (v.type.dims[lane],))
        self.elements[v, lane] = out = empty_elements(one_lane(v.type.dims, lane))
        for at in np.ndindex(*out.shape):
            out[at] = v if t == v.type else Value(t, v.hint)
        return list(out.flat)

    # ---- nodes -------------------------------------------------------------------------------------------------

    def node(self, n: Node) -> None:
        b = current()
        b.loc, b.deriv = n.loc, n.deriv
        if is_loop(n) or n.op is if_:
            _Region(self, n).rewrite()
        elif self.lanes.of and free(n):
            self.made[n.out] = substitute_node(n, self.env)
        elif splittable(n, self.lanes):
            self.split(n)
        elif "site" in n.attrs:
            self.tape(n)
        elif not self.stored(n):
            self.keep(n)

    def stored(self, n: Node) -> bool:
        """Store elements one by one, where an update of a larger array would ask for an array of them; done?"""
        v, spec = n.inputs[1] if n.op is update_op else None, n.attrs.get("spec", ())
        if v is None or not self.is_split(v) or v in self.made or self.lane(v) is not None or not small(v):
            return False
        if any(s == "g" or isinstance(s, Slice) and s.start is None for s in spec):
            return False
        x, *scalars = (self.whole(u) for u in (n.inputs[0], *n.inputs[2:]))
        for at in np.ndindex(*v.type.dims):
            axes = iter(at)
            place = tuple(s.start + s.step * next(axes) if isinstance(s, Slice) else s for s in spec)
            x = update_op(x, self.elements[v, None][at], *scalars, spec=place)
        give_last(current().nodes, (self.bound(n.out),))
        return True

    def keep(self, n: Node) -> None:
        ins = list(map(self.whole, n.inputs))
        for v in captured(n):
            if self.is_split(v) or v in self.packed or v in self.env:
                self.env[v] = self.whole(v)
        regions = [_Outside().graph(substitute(r, self.env), loops=False) for r in n.regions]
        attrs = rename_attrs(n.attrs, lambda v: self.env.get(v, v))
        current().nodes.append(n.replace(inputs=ins, outputs=map(self.bound, n.outputs), attrs=attrs, regions=regions))

    def bound(self, v: Value) -> Value:
        """A parameter or result: a new one if an extent that its type mentions has another name now."""
        if any(s in self.env for s in v.type.symbols):
            self.env[v] = Value(v.type.rename(lambda s: self.env.get(s, s)), v.hint)
            return self.env[v]
        return v

    def split(self, n: Node) -> None:
        arrays = [self.operand(n, k) for k in range(len(n.inputs))]
        lane = self.lane(n.out)
        wanted = {k: a for k in range(len(n.inputs)) if (a := self.lanes.wanted.get((n, k))) is not None}
        out = elements_of(narrowed(n, wanted, lane), arrays, lane)
        if n.out.type.shape:
            self.elements[n.out, lane] = out
        else:
            self.env[n.out] = out

    def tape(self, n: Node) -> None:
        """Entries of a tape as scalars. Decided by their type alone: the other side may be in a loop that is not split, or in
        another program.
        """
        if n.op.name == "push":
            ins = [x for v in n.inputs for x in (self.parts(v, None).flat if small(v) else [self.whole(v)])]
            current().nodes.append(n.replace(inputs=ins))
            return
        outs = [x for v in n.outputs for x in (self.fresh(v) if small(v) else [v])]
        attrs = {**n.attrs, "types": tuple(v.type for v in outs[1:])}
        current().nodes.append(n.replace(inputs=(self.whole(n.inputs[0]),), outputs=outs, attrs=attrs))


def _place(t: Type, at: tuple[int, ...], lane: int | None) -> tuple[int | Slice, ...]:
    """Where an element lies in an array."""
    return tuple(Slice(0, t.dims[k]) if k == lane else p for k, p in enumerate(at))


class _Region:
    """A control op with its split carries and results as scalars."""

    def __init__(self, split: _Split, node: Node):
        self.split, self.node = split, node
        self.loop = loop_of(node)
        self.flags = [self._splits(k) for k in range(len(node.outputs))]

    def _splits(self, k: int) -> bool:
        """Is result k better off as scalars?"""
        n = self.node
        v = n.outputs[k]
        if not v.type.shape or not v.type.static or not 0 < rest(v.type, self.split.lane(v)) <= MAX_SIZE:
            return False
        roots = self.loop.params(k) if self.loop else []
        return all(_read_by_element(p, n.regions, self.split.lanes) for p in roots)

    def rewrite(self) -> None:
        s, n = self.split, self.node
        inits = self.loop.inits if self.loop else ()
        ins = [s.whole(v) for v in n.inputs[: len(n.inputs) - len(inits)]]
        for k, (v, flag) in enumerate(zip(inits, self.flags)):
            ins += self._elements(v, k) if flag else [s.whole(v)]
        conds = self.loop.conds if self.loop else ()
        regions = [self._region(r, yields=r not in conds) for r in n.regions]
        outs = [x for v, flag in zip(n.outputs, self.flags) for x in (s.fresh(v) if flag else [s.bound(v)])]
        current().nodes.append(n.replace(inputs=ins, outputs=outs, regions=regions))

    def _elements(self, v: Value, k: int) -> list[Value]:
        """The elements of a value that becomes result k."""
        return list(self.split.parts(v, self.split.lane(self.node.outputs[k])).flat)

    def _region(self, r: Graph, yields: bool) -> Graph:
        s = self.split
        elements, packed, made, env = dict(s.elements), dict(s.packed), dict(s.made), dict(s.env)
        lead = self.loop.lead if self.loop else 0
        params = list(r.params[:lead])
        for v, flag in zip(r.params[lead:], self.flags):
            params += s.fresh(v) if flag else [s.bound(v)]
        with Builder() as b:
            for n in r.nodes:
                s.node(n)
            results: list[Value] = []
            for k, v in enumerate(r.results):
                results += self._elements(v, k) if yields and self.flags[k] else [s.whole(v)]
        s.elements, s.packed, s.made, s.env = elements, packed, made, env
        return Graph(tuple(params), tuple(b.nodes), tuple(results))


def _read_by_element(p: Value, regions: Sequence[Graph], lanes: Lanes) -> bool:
    """Do only nodes that can be split read p?"""
    for r in regions:
        for n in r.nodes:
            if p in n.inputs and not (splittable(n, lanes) or is_loop(n) or n.op in (if_, push)):
                return False
            if n.regions and p in reads(n) and not _read_by_element(p, n.regions, lanes):
                return False
    return True
