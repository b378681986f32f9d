"""Products V diag(f(w)) V^T of what one `eigh` gives, so that they are differentiated as a function of the matrix: see
irad.ops.matrix_functions. By w and V alone the derivative is not determined where eigenvalues are equal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from irad.core.ir import Graph, Node, Value, copy, current
from irad.ops import elementwise as ew
from irad.ops.array import reshape_to
from irad.ops.constant import const
from irad.ops.custom import stop_gradient
from irad.ops.matrix_functions import matrix_function
from irad.passes.derivatives import forward
from irad.passes.derivatives.reverse import Differentiation

Defs = Mapping[Value, Node]
Factor = tuple[Value, bool, list[Value]]  # eigenvectors; transposed?; vectors that scale them


def matrix_function_of(defs: Defs, n: Node) -> Value | None:
    """What has the slopes of the product n; None if it is no function of a symmetric matrix."""
    (over,), (other,) = n.attrs["contract"] if all(len(c) == 1 for c in n.attrs["contract"]) else ((None,), (None,))
    if over is None or n.out.type.rank != 2 or n.out.type.dtype not in ("f32", "f64"):
        return None
    x, y = (_factor(defs, v) for v in n.inputs)
    if x is None or y is None or x[0] is not y[0] or not x[2] + y[2]:
        return None
    if over != (0 if x[1] else 1) or other != (0 if y[1] else 1):
        return None
    v, scales = x[0], x[2] + y[2]
    eigh = defs[v]
    f = scales[0]
    made: list[Node] = []
    for s in scales[1:]:
        f = ew.mul(f, s)
        made.append(current().nodes[-1])
    (a,), w = eigh.inputs, eigh.outputs[0]
    chain = _chain({**defs, **{m.out: m for m in made}}, f, w)
    df, h = _slope(chain, f, w), _again(chain, f, w)
    product = n.op(*n.inputs, **n.attrs)
    return matrix_function(product, a, w, v, f, df, h, lower=eigh.attrs["lower"], known=True)


def _factor(defs: Defs, v: Value) -> Factor | None:
    """v as eigenvectors, transposed or not, each scaled."""
    n = defs.get(v)
    if n is None or v.type.rank != 2:
        return None
    if n.op.name == "eigh" and v is n.outputs[1]:
        return v, False, []
    if n.op.name == "transpose" and n.attrs["perm"] == (1, 0):
        inner = _factor(defs, n.inputs[0])
        return None if inner is None else (inner[0], not inner[1], inner[2])
    if n.op.name == "mul":
        for m, s in (n.inputs, n.inputs[::-1]):
            inner = _factor(defs, m)
            scale = None if inner is None else _spread(defs, s, 0 if inner[1] else 1)
            if inner is not None and scale is not None:
                return inner[0], inner[1], [*inner[2], scale]
    if n.op.name == "dot" and n.attrs["batch"] == ((), ()):
        return _scaled_by_product(defs, n)
    return None


def _scaled_by_product(defs: Defs, n: Node) -> Factor | None:
    """V times a diagonal matrix, or such a one times V^T."""
    x, y = n.inputs
    over = n.attrs["contract"]
    if over != ((1,), (0,)):
        return None
    for m, d, transposed in ((x, y, False), (y, x, True)):
        inner, scale = _factor(defs, m), _diagonal(defs, d)
        if inner is not None and scale is not None and inner[1] == transposed:
            return inner[0], inner[1], [*inner[2], scale]
    return None


def _diagonal(defs: Defs, v: Value) -> Value | None:
    """The diagonal of a matrix that is 0 elsewhere."""
    n = defs.get(v)
    if n is None or n.op.name != "update" or n.attrs["spec"] != ("g", "g"):
        return None
    zero, values, *at = (defs.get(x) for x in n.inputs)
    if zero is None or zero.op is not const or np.any(zero.attrs["value"]):
        return None
    places = [np.asarray(p.attrs["value"]) for p in at if p is not None and p.op is const]
    whole = len(places) == 2 and all(p.tolist() == list(range(p.size)) and p.size == v.type.shape[0] for p in places if p.ndim)
    return n.inputs[1] if whole and values is not None and all(p.ndim for p in places) else None


def _spread(defs: Defs, v: Value, axis: int) -> Value | None:
    """The vector that v repeats along all axes but one."""
    n = defs.get(v)
    if n is None or n.op.name != "broadcast":
        return None
    source, dims, size = n.inputs[0], n.attrs["dims"], v.type.shape[axis]
    if any(d != 1 for d, k in zip(source.type.shape, dims) if k != axis) or size not in source.type.shape:
        return None
    before = defs.get(source)
    if (
        source.type.rank > 1
        and before is not None
        and before.op.name in ("reshape", "broadcast")
        and before.inputs[0].type.shape == (size,)
    ):
        return before.inputs[0]
    return source if source.type.rank == 1 else reshape_to(source, (size,))


def _chain(defs: Defs, f: Value, w: Value) -> list[Node]:
    """The elementwise nodes from w to f, in order."""
    found: dict[Value, bool] = {w: True}
    order: list[Node] = []

    def depends(v: Value) -> bool:
        if v not in found:
            n = defs.get(v)
            through = n is not None and n.op.elementwise
            found[v] = through and any([depends(x) for x in (n.inputs if n is not None else ())])
            if found[v] and n is not None:
                order.append(n)
        return found[v]

    depends(f)
    return order


def _again(chain: Sequence[Node], f: Value, w: Value) -> Value:
    """f with w held fixed."""
    if not chain:
        return _fixed(f) if f is w else f
    fixed = _fixed(w)
    env = {w: fixed}
    current().nodes += copy(Graph((), tuple(chain), ()), env).nodes
    return env[f]


def _fixed(v: Value) -> Value:
    return stop_gradient(v)


def _slope(chain: Sequence[Node], f: Value, w: Value) -> Value:
    """df / dw, element by element."""
    ones = ew.full(1.0, w)
    if f is w:
        return ones
    again = copy(Graph((), tuple(chain), (f,)), {})
    (slope,) = forward.linearized(Differentiation({}), again, [w], [ones])
    return slope
