"""Small arrays inside loops become scalars, which live in registers.

A state of a few numbers (the two species of a predator-prey model, three bodies in a plane) costs more as arrays than its
arithmetic: every operation would be a loop through memory. Inside `for` and `while` an operation on arrays of at most
MAX_SIZE elements is written out element by element, and carries of such arrays become one scalar carry per element. Where
an array is needed whole (a position known at run time, an opaque op) it is packed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.ir import Builder, Graph, Node, Program, Value, captured, current, emit, reads, rename_attrs, substitute, walk
from irad.notes import Notes
from irad.ops.array import Slice, numpy_key
from irad.ops.array import index as index_op
from irad.ops.array import update as update_op
from irad.ops.constant import empty, scalar
from irad.ops.core import OPS
from irad.ops.elementwise import add, mul
from irad.types import Type

MAX_SIZE = 20
MAX_NODES = 8000  # scalar operations that one loop may become

Elements = Any  # a NumPy array of Values, in the array's shape

FOLD = {"sum": "add", "prod": "mul", "max": "maximum", "min": "minimum", "any": "logical_or", "all": "logical_and"}


def empty_elements(shape: tuple[int, ...]) -> Any:
    """An array to put values into."""
    return np.empty(shape, dtype=object)


def scalarize(program: Program, notes: Notes | None = None) -> Program:
    """The program with small arrays inside loops as scalars."""
    return {name: _Outside(notes).graph(g) for name, g in program.items()}


def small(v: Value) -> bool:
    """An array that may become scalars."""
    return bool(v.type.shape) and v.type.static and 0 < v.type.size <= MAX_SIZE


def splittable(node: Node) -> bool:
    """Can the node be written out element by element?"""
    arrays = [v for v in (*node.inputs, *node.outputs) if v.type.shape]
    if not arrays or not all(map(small, arrays)):
        return False
    name = node.op.name
    if name in ("index", "update", "update_add"):
        return all(isinstance(s, int) or isinstance(s, Slice) and s.start is not None for s in node.attrs["spec"])
    return node.op.elementwise or name in RULES or name in FOLD


class _Outside:
    """Looks for loops; what is not inside one stays as it is, but for the entries of tapes, on which all must agree."""

    def __init__(self, notes: Notes | None = None):
        self.notes = notes

    def graph(self, graph: Graph, loops: bool = True) -> Graph:
        """`loops`: split them, where that pays."""
        nodes: list[Node] = []
        for n in graph.nodes:
            done = _split_loop(n, self.notes) if loops and n.op.name in ("for", "while") else None
            if done is not None:
                nodes += done
            elif n.op.name in ("push", "pop"):
                nodes += _entries(n)
            elif n.regions:
                inner = loops and n.op.name not in ("for", "while")
                regions = tuple(self.graph(r, inner) for r in n.regions)
                same = all(a is b for a, b in zip(regions, n.regions))
                nodes.append(n if same else Node(n.op, n.inputs, n.outputs, n.attrs, regions, n.loc, n.deriv))
            else:
                nodes.append(n)
        return graph.replace(nodes=nodes)


def _entries(node: Node) -> list[Node]:
    """A push or a pop outside of loops that are split."""
    if not any(map(small, (*node.inputs, *node.outputs))):
        return [node]
    return _with_scalars(node)


def _split_loop(node: Node, notes: Notes | None) -> list[Node] | None:
    """The loop with small arrays as scalars; None if that does not pay."""
    cost = sum(
        max((v.type.size for v in n.outputs if small(v)), default=0) for r in node.regions for n in walk(r) if splittable(n)
    )
    if notes is not None and cost:
        where = "in registers, element by element" if cost <= MAX_NODES else f"in memory: they are over {MAX_NODES} operations"
        text = f"operations on arrays of at most {MAX_SIZE} numbers in this {node.op.name} are {where}"
        notes.add("registers", text, node.loc, operations=cost)
    if not cost or cost > MAX_NODES:
        return None
    return _with_scalars(node)


def _with_scalars(node: Node) -> list[Node]:
    """The node split; its results are packed again."""
    split = _Split()
    with Builder(node.loc, deriv=node.deriv) as b:
        split.node(node)
        for v in node.outputs:
            if v in split.elements:
                split.pack(v)
    return b.nodes


class _Split:
    """Rewrites nodes; `elements[v]` are the scalars of a split array, `packed` the arrays that are in memory."""

    def __init__(self) -> None:
        self.elements: dict[Value, Elements] = {}
        self.packed: dict[Value, Value] = {}
        self.env: dict[Value, Value] = {}

    # ---- the two forms of an array ---------------------------------------------------------------------------

    def whole(self, v: Value) -> Value:
        """The value as it is read by a node that is not split."""
        if v in self.elements and v not in self.packed:
            self.pack(v, bind=False)
        return self.packed.get(v) or self.env.get(v, v)

    def pack(self, v: Value, bind: bool = True) -> None:
        """Store the elements into an array; with `bind` it takes the name v."""
        x = empty(type=v.type)
        for at in np.ndindex(*v.type.dims):
            x = update_op(x, self.elements[v][at], spec=at)
        if bind:
            last = current().nodes[-1]
            current().nodes[-1] = Node(last.op, last.inputs, (v,), last.attrs, (), last.loc, last.deriv)
            x = v
        self.packed[v] = x

    def parts(self, v: Value) -> Elements:
        """The elements of an array; read from memory if it is there."""
        if v not in self.elements:
            x = self.env.get(v, v)
            out = empty_elements(v.type.dims)
            for at in np.ndindex(*v.type.dims):
                out[at] = index_op(x, spec=at)
            self.elements[v] = out
            self.packed.setdefault(v, x)
        return self.elements[v]

    # ---- nodes -------------------------------------------------------------------------------------------------

    def node(self, n: Node) -> None:
        b = current()
        b.loc, b.deriv = n.loc, n.deriv
        if n.op.name in ("for", "while", "if"):
            _Region(self, n).rewrite()
        elif splittable(n):
            self.split(n)
        elif n.op.name in ("push", "pop"):
            self.tape(n)
        else:
            self.keep(n)

    def keep(self, n: Node) -> None:
        get = lambda v: self.whole(v)
        ins = tuple(map(get, n.inputs))
        for v in captured(n):
            if v in self.elements or v in self.env:
                self.env[v] = self.whole(v)
        regions = tuple(_Outside().graph(_renamed(r, self.env), loops=False) for r in n.regions)
        attrs = rename_attrs(n.attrs, lambda v: self.env.get(v, v))
        current().nodes.append(Node(n.op, ins, tuple(map(self.bound, n.outputs)), attrs, regions, n.loc, n.deriv))

    def bound(self, v: Value) -> Value:
        """A parameter or result: a new one if an extent that its type mentions has another name now."""
        if any(s in self.env for s in v.type.symbols):
            self.env[v] = Value(v.type.rename(lambda s: self.env.get(s, s)), v.hint)
            return self.env[v]
        return v

    def split(self, n: Node) -> None:
        name = n.op.name
        arrays = [self.parts(v) if v.type.shape else self.env.get(v, v) for v in n.inputs]
        if n.op.elementwise:
            out = _map(lambda *xs: emit(n.op, *xs, **n.attrs)[0], arrays)
        elif name in FOLD:
            out = _fold(OPS[FOLD[name]], arrays[0], n.attrs["axes"])
        else:
            out = RULES[name](n, *arrays)
        (v,) = n.outputs
        if v.type.shape:
            self.elements[v] = np.asarray(out, object).reshape(v.type.dims)
        else:
            self.env[v] = out.item() if isinstance(out, np.ndarray) else out

    def tape(self, n: Node) -> None:
        """Entries of a tape as scalars. Decided by their type alone: the other side may be in a loop that is not split, or in
        another program.
        """
        if n.op.name == "push":
            ins = [self.whole(n.inputs[0])]
            for v in n.inputs[1:]:
                ins += list(self.parts(v).flat) if small(v) else [self.whole(v)]
            current().nodes.append(Node(n.op, tuple(ins), n.outputs, n.attrs, (), n.loc, n.deriv))
            return
        outs: list[Value] = [n.outputs[0]]
        for v in n.outputs[1:]:
            if small(v):
                self.elements[v] = _fresh(v)
                outs += list(self.elements[v].flat)
            else:
                outs.append(v)
        attrs = {**n.attrs, "types": tuple(v.type for v in outs[1:])}
        current().nodes.append(Node(n.op, (self.whole(n.inputs[0]),), tuple(outs), attrs, (), n.loc, n.deriv))


def _fresh(v: Value) -> Elements:
    out = empty_elements(v.type.dims)
    for at in np.ndindex(*v.type.dims):
        out[at] = Value(Type(v.type.dtype), v.hint)
    return out


def _renamed(graph: Graph, env: dict[Value, Value]) -> Graph:
    return substitute(graph, env)


class _Region:
    """A control op with its split carries and results as scalars."""

    def __init__(self, split: _Split, node: Node):
        self.split, self.node = split, node
        self.loop = node.op.name != "if"
        self.offset = int(node.op.name == "for")
        self.flags = [self._splits(k) for k in range(len(node.outputs))]

    def _splits(self, k: int) -> bool:
        """Is result k better off as scalars?"""
        n = self.node
        if not small(n.outputs[k]):
            return False
        roots = [n.regions[-1].params[self.offset + k], *(r.params[k] for r in n.regions[:-1])] if self.loop else []
        return all(_read_by_element(p, n.regions) for p in roots)

    def rewrite(self) -> None:
        s, n = self.split, self.node
        ins = [s.whole(v) for v in n.inputs[: self.offset]] if self.loop else [s.whole(v) for v in n.inputs]
        if self.loop:
            for v, flag in zip(n.inputs[self.offset :], self.flags):
                ins += list(s.parts(v).flat) if flag else [s.whole(v)]
        regions = []
        for r in n.regions:
            is_cond = n.op.name == "while" and r is n.regions[0]
            regions.append(self._region(r, 0 if n.op.name == "while" else self.offset, yields=not is_cond))
        outs: list[Value] = []
        for v, flag in zip(n.outputs, self.flags):
            if flag:
                s.elements[v] = _fresh(v)
                outs += list(s.elements[v].flat)
            else:
                outs.append(s.bound(v))
        current().nodes.append(Node(n.op, tuple(ins), tuple(outs), n.attrs, tuple(regions), n.loc, n.deriv))

    def _region(self, r: Graph, offset: int, yields: bool) -> Graph:
        s = self.split
        elements, packed, env = dict(s.elements), dict(s.packed), dict(s.env)
        params = list(r.params[:offset])
        for v, flag in zip(r.params[offset:], self.flags):
            if flag:
                s.elements[v] = _fresh(v)
                params += list(s.elements[v].flat)
            else:
                params.append(s.bound(v))
        with Builder() as b:
            for n in r.nodes:
                s.node(n)
            results: list[Value] = []
            for k, v in enumerate(r.results):
                results += list(s.parts(v).flat) if yields and self.flags[k] else [s.whole(v)]
        s.elements, s.packed, s.env = elements, packed, env
        return Graph(tuple(params), tuple(b.nodes), tuple(results))


def _read_by_element(p: Value, regions: Sequence[Graph]) -> bool:
    """Do only nodes that can be split read p?"""
    for r in regions:
        for n in r.nodes:
            if p in n.inputs and not (splittable(n) or n.op.name in ("for", "while", "if", "push")):
                return False
            if n.regions and p in reads(n) and not _read_by_element(p, n.regions):
                return False
    return True


# ---- rules: one per op, on arrays of Values ------------------------------------------------------------------------


def _map(f: Callable[..., Value], arrays: Sequence[Any]) -> Any:
    shape = next((a.shape for a in arrays if isinstance(a, np.ndarray)), ())
    out = empty_elements(shape)
    for at in np.ndindex(*shape):
        out[at] = f(*(a[at] if isinstance(a, np.ndarray) else a for a in arrays))
    return out


def _fold(op: Any, x: Elements, axes: Sequence[int]) -> Any:
    """Left to right along the axes."""
    kept = [k for k in range(x.ndim) if k not in axes]
    flat = x.transpose(*kept, *axes).reshape(*(x.shape[k] for k in kept), -1)
    out = empty_elements(flat.shape[:-1])
    for at in np.ndindex(*out.shape):
        total = flat[at][0]
        for v in flat[at][1:]:
            total = emit(op, total, v)[0]
        out[at] = total
    return out if out.shape else out[()]


def _const(n: Node) -> Elements:
    value = np.broadcast_to(np.asarray(n.attrs["value"]), n.out.type.dims)
    made: dict[bytes, Value] = {}
    out = empty_elements(value.shape)
    for at in np.ndindex(*value.shape):
        key = np.asarray(value[at]).tobytes()
        if key not in made:
            made[key] = scalar(value[at].item(), n.out.type.dtype)
        out[at] = made[key]
    return out


def _iota(n: Node) -> Elements:
    t, axis = n.out.type, n.attrs["axis"]
    positions = [scalar(k, t.dtype) for k in range(t.dims[axis])]
    out = empty_elements(t.dims)
    for at in np.ndindex(*t.dims):
        out[at] = positions[at[axis]]
    return out


def _broadcast(n: Node, x: Any) -> Elements:
    shape, dims = n.attrs["shape"], n.attrs["dims"]
    a = np.asarray(x, object)
    return np.broadcast_to(a.reshape([a.shape[dims.index(k)] if k in dims else 1 for k in range(len(shape))]), shape)


def _static(spec: Any) -> tuple[Any, ...]:
    return numpy_key((), spec)


def _update(n: Node, x: Elements, v: Any) -> Elements:
    out, at = x.copy(), _static(n.attrs["spec"])
    out[at] = v
    return out


def _update_add(n: Node, x: Elements, v: Any) -> Elements:
    out, at = x.copy(), _static(n.attrs["spec"])
    old = out[at]
    out[at] = _map(lambda a, c: add(a, c), [old, v]) if isinstance(old, np.ndarray) else add(old, v)
    return out


def _dot(n: Node, *arrays: Any) -> Any:
    a, b = (np.asarray(x, object) for x in arrays)  # the adjoint of an inner product has a scalar for one
    (ca, cb), (ba, bb) = n.attrs["contract"], n.attrs["batch"]
    fa, fb = [k for k in range(a.ndim) if k not in (*ca, *ba)], [k for k in range(b.ndim) if k not in (*cb, *bb)]
    x = a.transpose(*ba, *fa, *ca).reshape(*(a.shape[k] for k in (*ba, *fa)), -1)
    y = b.transpose(*bb, *fb, *cb).reshape(*(b.shape[k] for k in (*bb, *fb)), -1)
    out = np.empty((*(a.shape[k] for k in (*ba, *fa)), *(b.shape[k] for k in fb)), object)
    for at in np.ndindex(*out.shape):
        batch, i, j = at[: len(ba)], at[len(ba) : len(ba) + len(fa)], at[len(ba) + len(fa) :]
        terms = [mul(p, q) for p, q in zip(x[(*batch, *i)], y[(*batch, *j)])]
        total = terms[0]
        for t in terms[1:]:
            total = add(total, t)
        out[at] = total
    return out if out.shape else out[()]


def _scan(step: Callable[[Value, Value], Value]) -> Callable[..., Elements]:
    def rule(n: Node, x: Elements) -> Elements:
        axis, reverse = n.attrs["axis"], n.attrs["reverse"]
        y = np.moveaxis(x, axis, 0)[:: -1 if reverse else 1]
        out = empty_elements(y.shape)
        unit = scalar(0 if n.op.name == "cumsum" else 1, n.out.type.dtype)
        for at in np.ndindex(*y.shape[1:]):
            total = unit if n.attrs["exclusive"] else None
            for k in range(len(y)):
                if n.attrs["exclusive"]:
                    out[(k, *at)] = total
                    total = step(total, y[(k, *at)])  # type: ignore[arg-type]
                else:
                    total = y[(k, *at)] if total is None else step(total, y[(k, *at)])
                    out[(k, *at)] = total
        return np.moveaxis(out[:: -1 if reverse else 1], 0, axis)

    return rule


RULES: dict[str, Callable[..., Any]] = {
    "const": _const,
    "iota": _iota,
    "broadcast": _broadcast,
    "reshape": lambda n, x: np.asarray(x, object).reshape(n.attrs["shape"]),
    "transpose": lambda n, x: x.transpose(n.attrs["perm"]),
    "concat": lambda n, *xs: np.concatenate(xs, n.attrs["axis"]),
    "index": lambda n, x: x[_static(n.attrs["spec"])],
    "update": _update,
    "update_add": _update_add,
    "dot": _dot,
    "cumsum": _scan(lambda a, b: add(a, b)),
    "cumprod": _scan(lambda a, b: mul(a, b)),
}
