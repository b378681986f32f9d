"""Functions of a symmetric matrix, V f(w) V^T, and their derivatives of every order, right where eigenvalues are equal.

With P_k = V^T E_k V, the derivative of order k along E_1 ... E_k is V C V^T, where C_ij is the sum over all chains i, a, b, ..., j of
f[w_i, w_a, w_b, ..., w_j] P_1[i, a] P_2[a, b] ..., and over all orders of the directions (Yu. Daletskii and S. Krein, 1951; N. Higham,
"Functions of matrices", 2008, chapter 3). f[...] is a divided difference; where its arguments are equal it is f^(k)(w) / k!. Each
derivative is symmetric in its directions and in what it is multiplied by, so that a cotangent is one more direction.

A *table* holds the vectors f(w), f'(w), f''(w), ... It is not differentiated: what f depends on besides are scalars, and their
slopes have tables of their own. What the next derivative needs of them is made by irad.passes.derivatives.spectral_tables, before
each differentiation.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from irad.core.ir import Value
from irad.core.lazy_dataclass import dataclass
from irad.core.types import Type
from irad.errors import UnsupportedError
from irad.ops.array import broadcast, max_, sum_
from irad.ops.core import Op, type_error
from irad.ops.elementwise import add, logical_and, plus, select, sub, szmul
from irad.ops.matrix import along_columns, along_rows, diagonal, from_diagonal, hermitian_part, hmm, inner, mm, mmh, over_matrices
from irad.ops.slopes import formula
from irad.ops.spectral import off_diagonal, read_symmetric, to_triangle

matrix_function: Op  # of which its own derivatives are made, for type checkers
spectral_sum: Op

Table = Sequence[Value]

# ---- divided differences ------------------------------------------------------------------------------------------------------


def _margin(v: Value, order: int) -> float:
    """How near two arguments may be, relative to their sizes, before the mean of slopes is more accurate than a quotient of differences.

    The quotient has the error of its numerator over the distance, the mean that of the distance squared.
    """
    return float(np.finfo(Type(v.type.dtype).numpy).eps) ** ((2 / 3) ** (order - 1) / 3)


class _Tensor:
    """The tensors of divided differences over a stack of vectors w, one axis for each argument."""

    def __init__(self, w: Value, table: Table, mixed: bool):
        self.w, self.table, self.mixed = w, table, mixed
        self.lead = w.type.rank - 1

    def spread(self, x: Value, axes: Sequence[int], rank: int) -> Value:
        """A symmetric tensor along some of the axes of one of `rank` axes."""
        shape = (*self.w.type.shape[:-1], *[self.w.type.shape[-1]] * rank)
        return broadcast(x, shape=shape, dims=(*range(self.lead), *(self.lead + k for k in axes)))

    def of(self, order: int) -> Value:
        """f[w_0, ..., w_order]: of the two arguments that are farthest apart, so that it is not a quotient of rounding."""
        if order == 0:
            return self.table[0]
        rank, last = order + 1, self.of(order - 1)
        pairs = list(itertools.combinations(range(rank), 2))
        chosen = self._pair(last, *pairs[0], rank)
        for p, q in pairs[1:]:
            new = self._pair(last, p, q, rank)
            better = abs(new[0]) > abs(chosen[0])
            chosen = [select(better, a, b) for a, b in zip(new, chosen)]
        gap, top, size, x, y = chosen
        near = self._near(gap, size, x, y, order)
        slopes = reduce(add, [self.spread(self.table[order], [k], rank) for k in range(rank)])
        limit = slopes * (1.0 / (rank * math.factorial(order)))
        if self.mixed:
            agreed = reduce(logical_and, [self._same(p, q, rank) for p, q in pairs])
            limit = select(agreed, limit, np.nan)
        return select(near, limit, top / select(near, 1, gap))

    def _pair(self, last: Value, p: int, q: int, rank: int) -> list[Value]:
        """The distance of two arguments, the difference of what leaves out one of them, their size, and the slopes at both."""
        x, y = self.spread(self.w, [p], rank), self.spread(self.w, [q], rank)
        without = [self.spread(last, [k for k in range(rank) if k != r], rank) for r in (q, p)]
        slopes = [self.spread(self.table[rank - 1], [k], rank) for k in (p, q)]
        return [x - y, sub(*without), abs(x) + abs(y), *slopes]

    def _near(self, gap: Value, size: Value, x: Value, y: Value, order: int) -> Value:
        """Is the mean of slopes the better one? Eigenvalues that are all rounding, such as those that should be 0, are near each other if
        the slopes at them are."""
        within = lambda d, s: abs(d) <= s * _margin(d, order)
        if self.w.type.shape[-1] == 0:
            return within(gap, size)
        largest = max_(abs(self.w), axes=(self.lead,))
        top = broadcast(largest, shape=gap.type.shape, dims=tuple(range(self.lead)))
        return within(gap, size) | within(gap, top) & within(x - y, abs(x) + abs(y))

    def _same(self, p: int, q: int, rank: int) -> Value:
        """Do f and its slopes agree at two arguments, as those of one function would that are equal?"""
        pairs = [(self.spread(f, [p], rank), self.spread(f, [q], rank)) for f in self.table]
        sizes = [abs(x) + abs(y) for x, y in pairs]
        return reduce(logical_and, [abs(x - y) <= z * 1e-3 for (x, y), z in zip(pairs, sizes)])


def _core(w: Value, table: Table, directions: Sequence[Value], mixed: bool) -> Value:
    """The sum over chains, in the basis of eigenvectors."""
    order, t = len(directions), _Tensor(w, table, mixed)
    rank = order + 1
    total: Value | None = None
    for ps in itertools.permutations(directions):
        total = plus(total, reduce(szmul, [t.spread(p, [k, k + 1], rank) for k, p in enumerate(ps)]))
    assert total is not None
    middle = tuple(t.lead + k for k in range(1, order))
    product = szmul(total, t.of(order))
    return sum_(product, axes=middle) if middle else product


# ---- matrices -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spectrum:
    """A symmetric matrix a = V diag(w) V^T, and what a function of it depends on besides.

    `lower`: the triangle of a that counts. `mixed`: the function may be another one for each eigenvalue.
    """

    a: Value
    w: Value
    v: Value
    scalars: Sequence[Value]
    lower: bool
    mixed: bool


@dataclass(frozen=True)
class Parts:
    """What a node of `matrix_function` or `spectral_sum` is made of. `by_scalars`: for each scalar the table of the slopes in it.

    With the attribute `whole` the table has one entry more than the value needs, and `by_scalars` is there: it can be differentiated.
    """

    of: Spectrum
    table: Table
    by_scalars: Sequence[Table]
    directions: Sequence[Value]


def parts(node: Any, read: Callable[[Value], Value] = lambda v: v) -> Parts:
    """The parts of a node, each as `read` gives it."""
    attrs, (a, w, v, *rest) = node.attrs, map(read, node.inputs[node.op is matrix_function :])
    scalars, table, tables, directions = _split(rest, **_sizes(attrs))
    return Parts(Spectrum(a, w, v, scalars, attrs["lower"], attrs["mixed"]), table, tables, directions)


def _sizes(attrs: Any) -> dict[str, Any]:
    """`order`: of the last entry of the table that the value needs."""
    order = attrs.get("order", 0)
    return {"count": attrs["scalars"], "order": order, "whole": attrs["whole"], "directions": order}


def _split(rest: Sequence[Any], count: int, order: int, whole: bool, directions: int) -> tuple[Any, ...]:
    size = order + 1 + whole
    scalars, table, more = rest[:count], rest[count : count + size], rest[count + size :]
    tables = [more[k * (order + 1) : (k + 1) * (order + 1)] for k in range(count if whole else 0)]
    return scalars, table, tables, more[len(tables) * (order + 1) :]


def _check(what: str, a: Type, w: Type, v: Type, rest: Sequence[Type], attrs: Any) -> None:
    sizes = _sizes(attrs)
    scalars, table, tables, directions = _split(rest, **sizes)
    vectors = [*table, *(f for t in tables for f in t)]
    right = len(directions) == sizes["directions"] and len(table) == sizes["order"] + 1 + sizes["whole"]
    if (
        not right
        or v != a
        or any(d != a for d in directions)
        or any(f != w for f in vectors)
        or any(c != w.with_shape(w.shape[:-1]) for c in scalars)
        or a.dtype[0] != "f"
    ):
        raise type_error(f"{what} wants real matrices of one type, numbers, and vectors of one type", a, w, v, *rest)


def _infer(
    m: Type, a: Type, w: Type, v: Type, *rest: Type, order: int, scalars: int, lower: bool, mixed: bool, whole: bool
) -> tuple[Type, ...]:
    _check("matrix_function", a, w, v, rest, {"order": order, "scalars": scalars, "whole": whole})
    if m != a:
        raise type_error("matrix_function is of the type of its matrix", m, a)
    return (m,)


def function_of(x: Spectrum, table: Table, directions: Sequence[Value] = ()) -> Value:
    """The derivative along `directions` of V f(w) V^T. The table of f is made of constants, w and the scalars."""
    w, v, order = x.w, x.v, len(directions)
    if order:
        core = _core(w, table, [mm(hmm(v, e), v) for e in directions], x.mixed)
        m = mmh(mm(v, core), v)
    else:
        m = mmh(v * along_rows(table[0], v), v)
    attrs = {"order": order, "scalars": len(x.scalars), "lower": x.lower, "mixed": x.mixed, "whole": False}
    out: Value = matrix_function(m, x.a, w, v, *x.scalars, *table, *directions, **attrs)
    return out


def _whole(node: Any) -> None:
    if not node.attrs["whole"]:
        order = node.attrs.get("order", -1) + 1
        raise UnsupportedError(
            f"the derivative of order {order + 1} of a function of the eigenvalues whose making crosses a loop, a branch or a call: "
            "write `eigh` and what is made of it in one place"
        ).at(node.loc)


def _vjp(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    p, lower = parts(node, ad.need), node.attrs["lower"]
    was, ct = parts(node), hermitian_part(cts[0])
    if any(map(ad.active, (was.of.a, *was.of.scalars))):
        _whole(node)
    if ad.active(was.of.a):
        adj.add(was.of.a, to_triangle(function_of(p.of, p.table, [*p.directions, ct]), lower))
    for k, e in enumerate(was.directions):
        if ad.active(e):
            adj.add(e, function_of(p.of, p.table[: len(p.directions) + 1], [*p.directions[:k], ct, *p.directions[k + 1 :]]))
    for c, table in zip(was.of.scalars, p.by_scalars):
        if ad.active(c):
            adj.add(c, inner(ct, function_of(p.of, table, p.directions)))


def _jvp(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    p, out = parts(node), None
    da, des, dcs = tan.get(p.of.a), [*map(tan.get, p.directions)], [*map(tan.get, p.of.scalars)]
    if da is not None or any(dc is not None for dc in dcs):
        _whole(node)
    if da is not None:
        out = function_of(p.of, p.table, [*p.directions, read_symmetric(da, node.attrs["lower"])])
    for k, de in enumerate(des):
        if de is not None:
            along = [*p.directions[:k], hermitian_part(de), *p.directions[k + 1 :]]
            out = plus(out, function_of(p.of, p.table[: len(des) + 1], along))
    for dc, table in zip(dcs, p.by_scalars):
        if dc is not None:
            slope = function_of(p.of, table, p.directions)
            out = plus(out, szmul(over_matrices(dc, slope), slope))
    return [out]


matrix_function = Op("matrix_function", _infer, lambda m, *rest, order, scalars, lower, mixed, whole: np.array(m), _vjp, _jvp,
                     extra={"expand": lambda m, *rest, order, scalars, lower, mixed, whole: (m,)},
                     stacks=True, doc="m, the derivative of order `order` of V f(w) V^T along directions, as a function of the symmetric matrix a = V diag(w) V^T, of the directions and "
                     "of scalars that f depends on. Inputs: m, a, w, V, scalars, f, f', ..., if `whole` their slopes in each scalar, directions. "
                     "mixed: f may be another function for each eigenvalue")  # fmt: skip

# ---- sums over the spectrum -----------------------------------------------------------------------------------------------------


def _infer_sum(a: Type, w: Type, v: Type, *rest: Type, scalars: int, lower: bool, mixed: bool, whole: bool) -> tuple[Type, ...]:
    _check("spectral_sum", a, w, v, rest, {"scalars": scalars, "whole": whole})
    return (w.with_shape(w.shape[:-1]),)


def _sum(a: Any, w: Any, v: Any, *rest: Any, scalars: int, lower: bool, mixed: bool, whole: bool) -> Any:
    return np.sum(rest[scalars], -1)


def _made_sum(a: Value, w: Value, v: Value, *rest: Value, scalars: int, lower: bool, mixed: bool, whole: bool) -> tuple[Value]:
    return (sum_(rest[scalars], axes=(w.type.rank - 1,)),)


def sum_of_function(x: Spectrum, table: Table) -> Value:
    """The sum of f(w). The table of f is made of constants, w and the scalars."""
    attrs = {"scalars": len(x.scalars), "lower": x.lower, "mixed": x.mixed, "whole": False}
    out: Value = spectral_sum(x.a, x.w, x.v, *x.scalars, *table, **attrs)
    return out


def _vjp_sum(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    p, was, ct = parts(node, ad.need), parts(node), cts[0]
    if any(map(ad.active, (was.of.a, *was.of.scalars))):
        _whole(node)
    if ad.active(was.of.a):
        g = function_of(p.of, p.table[1:])
        adj.add(was.of.a, to_triangle(szmul(over_matrices(ct, g), g), node.attrs["lower"]))
    for c, table in zip(was.of.scalars, p.by_scalars):
        if ad.active(c):
            adj.add(c, szmul(ct, sum_of_function(p.of, table)))


def _jvp_sum(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    p, out = parts(node), None
    if any(tan.get(x) is not None for x in (p.of.a, *p.of.scalars)):
        _whole(node)
    if (da := tan.get(p.of.a)) is not None:
        out = inner(read_symmetric(da, node.attrs["lower"]), function_of(p.of, p.table[1:]))
    for c, table in zip(p.of.scalars, p.by_scalars):
        if (dc := tan.get(c)) is not None:
            out = plus(out, szmul(dc, sum_of_function(p.of, table)))
    return [out]


spectral_sum = Op("spectral_sum", _infer_sum, _sum, _vjp_sum, _jvp_sum, extra={"expand": _made_sum},
                  stacks=True, doc="the sum of f(w), as a function of the symmetric matrix a = V diag(w) V^T and of scalars. Inputs: a, w, V, scalars, f, "
                  "and if `whole` f' and the slopes of f in each scalar")  # fmt: skip

# ---- a function that is not known ------------------------------------------------------------------------------------------------


def _divided(x: Value, y: Value, f: Value, g: Value) -> Value:
    gap = x - y
    near = _near(x, y)
    return select(near, np.nan, (f - g) / select(near, 1, gap))


def _near(x: Value, y: Value) -> Value:
    return abs(x - y) <= _margin(x, 1) * (abs(x) + abs(y))


def _divided_partials(x: Value, y: Value, f: Value, g: Value, o: Value) -> Sequence[Any]:
    near, gap = _near(x, y), x - y
    inverse = 1 / select(near, np.nan, gap)
    slope = o * inverse
    return -slope, slope, inverse, -inverse


divided = formula("divided", _divided, _divided_partials, ((0.0, 1.0), (2.0, 3.0), *[(-2.0, 2.0)] * 2),
                  doc="(f - g) / (x - y), f and g being values of one function at x and y; NaN where x and y are close")  # fmt: skip


def _infer_any(m: Type, a: Type, w: Type, v: Type, f: Type, *, lower: bool) -> tuple[Type, ...]:
    if m != a or v != a or f != w or a.dtype[0] != "f":
        raise type_error("spectral_matrix wants real matrices of one type and vectors of one type", m, a, w, v, f)
    return (m,)


def _slopes(w: Value, f: Value, like: Value) -> Value:
    """Divided differences, 0 on the diagonal, which is left to the slopes of f."""
    x, y, fx, fy = (along(v, like) for v in (w, f) for along in (along_columns, along_rows))
    return select(off_diagonal(like.type), divided(x, y, fx, fy), 0)


def _vjp_any(ad: Any, node: Any, cts: Sequence[Value], adj: Any) -> None:
    _, a, w, v, f = node.inputs
    basis = ad.need(v)
    core = mm(hmm(basis, cts[0]), basis)
    if ad.active(a):
        turned = core * _slopes(ad.need(w), ad.need(f), basis)
        adj.add(a, to_triangle(hermitian_part(mmh(mm(basis, turned), basis)), node.attrs["lower"]))
    adj.add(f, diagonal(core))


def _jvp_any(ad: Any, node: Any, tan: Any) -> list[Value | None]:
    _, a, w, v, f = node.inputs
    da, df = tan.get(a), tan.get(f)
    core = None
    if da is not None:
        core = mm(hmm(v, read_symmetric(da, node.attrs["lower"])), v) * _slopes(w, f, v)
    core = plus(core, None if df is None else from_diagonal(df, v.type))
    return [None if core is None else mmh(mm(v, core), v)]


spectral_matrix = Op("spectral_matrix", _infer_any, lambda m, *rest, lower: np.array(m), _vjp_any, _jvp_any, extra={"expand": lambda m, *rest, lower: (m,)},
                     stacks=True, doc="m = V diag(f) V^T, with w, V the eigenvalues and eigenvectors of a, for an f that depends on a in any way: NaN slopes "
                     "where eigenvalues are equal")  # fmt: skip
