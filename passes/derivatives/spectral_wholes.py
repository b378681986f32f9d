"""What is made of one `eigh` or `svd` and is a function of the matrix: products V diag(f(w)) V^T, U diag(f(s)) V^T and sums of f, so
that they are differentiated as such, see irad.ops.matrix_functions. From w and V alone the derivative is not determined where
eigenvalues are equal."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from functools import reduce

import numpy as np

from irad.core.ir import Node, Value
from irad.ops import OPS, matrix
from irad.ops import elementwise as ew
from irad.ops.array import Slice, concat, index, sum_, zeros
from irad.ops.constant import const
from irad.ops.custom import stop_gradient
from irad.ops.matrix import mm, mt
from irad.ops.matrix_functions import Spectrum, function_of, spectral_matrix, sum_of_function
from irad.ops.spectral import eigh, svd
from irad.passes.derivatives.spectral_factors import factor, made, of_all, spread
from irad.passes.derivatives.spectral_tables import Chain, Defs
from irad.passes.rewrite import splat_of

# ---- products ---------------------------------------------------------------------------------------------------------------------


def matrix_function_of(defs: Defs, n: Node) -> Value | None:
    """What has the slopes of the product n; None if it is no function of a symmetric matrix."""
    if n.out.type.dtype not in ("f32", "f64"):
        return None
    found = _both(defs, n)
    out = _function(defs, *found) if found is not None else _singular_function(defs, n) or _applied(defs, n)
    return None if out is None else ew.cast_to(out, n.out.type.dtype)


def _both(defs: Defs, n: Node) -> tuple[Value, list[Value]] | None:
    """The vectors V and the scales of n = V diag(f) V^T."""
    k, over, batch = n.out.type.rank - 2, n.attrs["contract"], n.attrs["batch"]
    if k < 0 or batch != (tuple(range(k)),) * 2 or any(len(c) != 1 for c in over):
        return None
    x, y = (factor(defs, v) for v in n.inputs)
    if x is None or y is None or x[0] is not y[0] or x[3] != y[3] or not x[2] + y[2] or defs[x[0]].op is not eigh:
        return None
    right = over[0][0] == (k if x[1] else k + 1) and over[1][0] == (k if y[1] else k + 1)
    return (x[0], x[2] + y[2]) if right else None


def _applied(defs: Defs, n: Node) -> Value | None:
    """V (f(w) (V^T b)) and (b V f(w)) V^T as V f(w) V^T times b."""
    if n.attrs["batch"] != ((), ()) or any(len(c) != 1 for c in n.attrs["contract"]):
        return None
    for k, other in ((0, 1), (1, 0)):
        outer = factor(defs, n.inputs[k])
        if outer is None or n.attrs["contract"][k] != (0 if outer[1] else 1,):
            continue
        at = n.attrs["contract"][other][0]
        inner = _projected(defs, n.inputs[other], at)
        if inner is None or inner[4] != outer[3]:
            continue
        if inner[0] is outer[0] and outer[2] + inner[1] and defs[outer[0]].op is eigh:
            m, (b, over) = _function(defs, outer[0], outer[2] + inner[1]), inner[2:4]
            sides = ((m, 1), (b, over)) if k == 0 else ((b, over), (m, 0))
            return OPS["dot"](
                *(ew.cast_to(v, n.out.type.dtype) for v, _ in sides), contract=tuple((a,) for _, a in sides), batch=((), ())
            )
    return None


def _projected(defs: Defs, v: Value, axis: int) -> tuple[Value, list[Value], Value, int, Slice | None] | None:
    """v as f(w) (V^T b): V, the scales, b, the axis of b that is summed over, and which vectors are taken. They are numbered
    along `axis` of v."""
    n = defs.get(v)
    if n is None or v.type.rank > 2:
        return None
    if n.op.name in ("mul", "div"):
        for m, s in (n.inputs, n.inputs[::-1])[: 1 if n.op.name == "div" else 2]:
            inner = _projected(defs, m, axis)
            scale = None if inner is None else s if v.type.rank == 1 else spread(defs, s, axis)
            if inner is not None and (scale := of_all(defs, scale, inner[0], inner[4], n.op.name == "div")) is not None:
                return inner[0], [*inner[1], scale], *inner[2:]
    if n.op.name != "dot" or n.attrs["batch"] != ((), ()) or any(len(c) != 1 for c in n.attrs["contract"]):
        return None
    for k, other in ((0, 1), (1, 0)):
        basis, b = factor(defs, n.inputs[k]), n.inputs[other]
        stands = v.type.rank == 1 or axis == k
        if basis is not None and stands and n.attrs["contract"][k] == (1 if basis[1] else 0,):
            return basis[0], basis[2], b, n.attrs["contract"][other][0], basis[3]
    return None


def _function(defs: Defs, v: Value, scales: Sequence[Value]) -> Value:
    node, f = defs[v], reduce(ew.mul, scales)
    (a,), w, lower = node.inputs, node.outputs[0], node.attrs["lower"]
    chain = Chain(ChainMap(made(), defs), [f], w)
    if chain.hidden:
        f = ew.cast_to(f, v.type.dtype)
        product = mm(v * matrix.along_rows(f, v), v, tb=True)
        return spectral_matrix(product, a, w, v, f, lower=lower)
    scalars, table = _table(chain, f, w)
    return function_of(Spectrum(a, w, v, scalars, lower, chain.mixed), table)


def _table(chain: Chain, f: Value, w: Value) -> tuple[list[Value], list[Value]]:
    """The scalars that f depends on, and f made of constants."""
    scalars = chain.spread_scalars()
    (again,) = chain.again([f], stop_gradient(w), [stop_gradient(c) for c in scalars])
    return scalars, [ew.cast_to(again, w.type.dtype)]


def spectral_sum_of(defs: Defs, n: Node) -> Value | None:
    """What has the slopes of n, the sum of a vector made of eigenvalues; None if it is something else."""
    f, axes = n.inputs[0], n.attrs["axes"]
    if n.out.type.dtype not in ("f32", "f64") or f.type.rank - 1 not in axes:
        return None
    out, rest = _sum(defs, f), tuple(k for k in axes if k < f.type.rank - 1)
    return sum_(out, axes=rest) if out is not None and rest else out


def spectral_element_of(defs: Defs, n: Node) -> Value | None:
    """As `spectral_sum_of`, of one element of such a vector, or of the largest or smallest eigenvalue."""
    f = n.inputs[0]
    if f.type.rank != 1 or n.out.type.shape or n.out.type.dtype not in ("f32", "f64"):
        return None
    if n.op.name == "index":
        (k,) = n.attrs["spec"]
    else:
        largest = n.op.name == "max"
        falls = f in defs and defs[f].op.name in ("svd", "svdvals")
        k = -int(largest != falls) if _eigenvalues(defs, f) is f else None
    if not isinstance(k, int) or _eigenvalues(defs, f) is None:
        return None
    chosen = np.zeros(f.type.dims, bool)
    chosen[k] = True
    f = ew.select(const(value=chosen, type=f.type.with_dtype("bool")), f, 0)
    return _sum(ChainMap(made(), defs), f)


def spectral_product_of(defs: Defs, n: Node) -> Value | None:
    """As `spectral_sum_of`, of the inner product of two such vectors."""
    x, y = n.inputs
    if n.out.type.dtype not in ("f32", "f64") or x.type != y.type or x.type.rank != 1 or not n.attrs["contract"][0]:
        return None
    f = x * y
    return _sum(ChainMap(made(), defs), f)


def _sum(defs: Defs, f: Value) -> Value | None:
    w = _eigenvalues(defs, f)
    if w is None or w.type.shape != f.type.shape:
        return _quadratic(defs, f)
    chain = Chain(defs, [f], w)
    node = defs[w]
    if node.op.name in ("svd", "svdvals"):
        return None if chain.hidden or chain.mixed and node.op is svd else _sum_of_singular(chain, f, node)
    if chain.hidden or chain.mixed and node.op is eigh:  # single eigenvalues may scale single vectors, out of sight
        return _quadratic(defs, f)
    (a,), lower = node.inputs, node.attrs["lower"]
    if node.op is eigh:
        v = node.outputs[1]
    else:
        w, v, _ = eigh(a, lower=lower)
    scalars, table = _table(chain, f, w)
    return ew.cast_to(sum_of_function(Spectrum(a, w, v, scalars, lower, chain.mixed), table), f.type.dtype)


def _quadratic(defs: Defs, f: Value) -> Value | None:
    """The sum of f(w) (V^T b) (V^T c) as b^T V f(w) V^T c."""
    found: list[tuple[Value, list[Value], Value, int]] = []
    scales: list[Value] = []

    def visit(v: Value) -> None:
        n = defs.get(v)
        inner = _projected(defs, v, 0) if n is not None and n.op.name == "dot" else None
        if inner is not None and inner[4] is None:
            found.append(inner[:4])
        elif n is not None and n.op.name == "mul":
            visit(n.inputs[0])
            visit(n.inputs[1])
        elif n is not None and n.op.name == "div":
            visit(n.inputs[0])
            scales.append(1 / n.inputs[1])
        elif n is not None and n.op.name == "pow" and splat_of(defs.get(n.inputs[1])) == 2:
            visit(n.inputs[0])
            visit(n.inputs[0])
        else:
            scales.append(v)

    if f.type.rank == 1:
        visit(f)
    if (
        len(found) != 2
        or found[0][0] is not found[1][0]
        or any(b.type.rank != 1 or defs[v].op is not eigh for v, _, b, _ in found)
    ):
        return None
    (v, some, b, _), (_, more, c, _) = found
    m = _function(defs, v, [*scales, *some, *more] or [ew.full(1.0, f)])
    row = OPS["dot"](ew.cast_to(m, c.type.dtype), c, contract=((1,), (0,)), batch=((), ()))
    return OPS["dot"](b, row, contract=((0,), (0,)), batch=((), ()))


def _eigenvalues(defs: Defs, f: Value) -> Value | None:
    """The eigenvalues that f is made of, element by element, if there are any."""
    seen, todo = set(), [f]
    while todo:
        v = todo.pop()
        n = defs.get(v)
        if v in seen or n is None:
            continue
        seen.add(v)
        if n.op.name in ("eigh", "eigvalsh", "svd", "svdvals"):
            return v if v is n.outputs[n.op is svd] and n.inputs[0].type.dtype in ("f32", "f64") else None
        if n.op.elementwise or n.op.keeps_order and v.type.shape == f.type.shape:
            todo += n.inputs
    return None


# ---- singular values ----------------------------------------------------------------------------------------------------------------

TALL = 2  # times as high as wide, or as wide as high, are matrices beyond which this would cost too much


class Jordan:
    """The symmetric matrix [[0, A], [A^T, 0]] (C. Jordan, 1874): its eigenvalues are the singular values s, -s and zeros, and an
    odd function of it has the blocks U f(s) V^T, an even one U f(s) U^T and V f(s) V^T."""

    def __init__(self, node: Node):
        (a,) = node.inputs
        self.m, self.n = a.type.dims
        self.k = min(self.m, self.n)
        square = self.m == self.n
        u, s, vt, _ = node.outputs if node.op is svd and square else svd(a if square else stop_gradient(a), full=not square)
        self.a = self._blocks([[None, a], [mt(a), None]])
        zeros_ = self.m + self.n - 2 * self.k
        self.w = concat(-s, s, *([zeros(s.type.with_shape((zeros_,)))] if zeros_ else []), axis=0)
        half = lambda x: x * 0.5**0.5
        first = lambda x: index(x, spec=(Slice(0, x.type.dims[0]), Slice(0, self.k)))
        rest = lambda x: index(x, spec=(Slice(0, x.type.dims[0]), Slice(self.k, x.type.dims[1] - self.k)))
        v = mt(vt)
        left, right = half(first(u)), half(first(v))
        rows = [[left, left, rest(u) if self.m > self.n else None], [-right, right, rest(v) if self.n > self.m else None]]
        self.v = self._blocks([row[: 2 + bool(zeros_)] for row in rows])

    def _blocks(self, rows: list[list[Value | None]]) -> Value:
        """A matrix of blocks, None being zeros."""
        like = next(x for x in rows[0] if x is not None)
        heights = [next(x.type.shape[0] for x in row if x is not None) for row in rows]
        widths = [next(row[k].type.shape[1] for row in rows if row[k] is not None) for k in range(len(rows[0]))]  # type: ignore[union-attr]
        return concat(*(
            concat(*(zeros(like.type.with_shape((h, w))) if x is None else x for x, w in zip(row, widths)), axis=1)
            for row, h in zip(rows, heights)
        ), axis=0)  # fmt: skip

    def function(self, chain: Chain, f: Value, even: bool) -> tuple[Spectrum, list[Value]]:
        """The spectrum, and the table of f of the size of the eigenvalues, with the sign of the eigenvalue if not `even`."""
        scalars = chain.spread_scalars()
        fixed, w = [stop_gradient(c) for c in scalars], stop_gradient(self.w)
        piece = lambda at: index(w, spec=(Slice(at, self.k),))
        low, high = (chain.again([f], x, fixed)[0] for x in (-piece(0), piece(self.k)))
        pieces = [ew.cast_to(x, w.type.dtype) for x in (low if even else -low, high)]
        more = self.m + self.n - 2 * self.k
        table = concat(*pieces, *([zeros(w.type.with_shape((more,)))] if more else []), axis=0)
        return Spectrum(self.a, self.w, self.v, scalars, True, True), [table]

    def block(self, x: Value, row: int, column: int) -> Value:
        places = (Slice(0, self.m), Slice(self.m, self.n))
        return index(x, spec=(places[row], places[column]))


def _within(node: Node) -> bool:
    """May a Jordan matrix be made?"""
    t = node.inputs[0].type
    return t.rank == 2 and t.static and t.dtype in ("f32", "f64") and 0 < max(t.dims) <= TALL * min(t.dims)


def _sum_of_singular(chain: Chain, f: Value, node: Node) -> Value | None:
    """The sum of f(s) as half of that of f(|w|)."""
    if not _within(node):
        return None
    spectrum, table = Jordan(node).function(chain, f, even=True)
    total = sum_of_function(spectrum, table)
    return ew.cast_to(total * 0.5, f.type.dtype)


def _singular_function(defs: Defs, n: Node) -> Value | None:
    """U f(s) V^T, its transpose, U f(s) U^T and V f(s) V^T as blocks of a function of the Jordan matrix."""
    if n.out.type.rank != 2 or n.attrs["batch"] != ((), ()) or any(len(c) != 1 for c in n.attrs["contract"]):
        return None
    sides = [factor(defs, v) for v in n.inputs]
    if any(x is None for x in sides):
        return None
    (x, x_first, some, part), (y, y_first, more, other) = sides  # type: ignore[misc]
    node = defs[x]
    thin = node.op is svd and (
        not node.attrs["full"] or n.inputs and node.inputs[0].type.shape[0] == node.inputs[0].type.shape[1]
    )
    over = tuple(c[0] for c in n.attrs["contract"])
    if not thin or defs[y] is not node or over != (0 if x_first else 1, 0 if y_first else 1) or not _within(node):
        return None
    if part is not None or other is not None or x is y and not some + more:
        return None
    s = node.outputs[1]
    f = reduce(ew.mul, [*some, *more]) if some + more else ew.full(1.0, s)
    chain = Chain(ChainMap(made(), defs), [f], s)
    if chain.hidden or chain.mixed:
        return None
    jordan = Jordan(node)
    spectrum, table = jordan.function(chain, f, even=x is y)
    row, column = (int(v is node.outputs[2]) for v in (x, y))
    return jordan.block(function_of(spectrum, table), row, column)
