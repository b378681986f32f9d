"""The fused `loop`: one op for every dense computation, made by the fuse pass, after autodiff.

    %dx: f64[100,3], %s: f64 = loop[extents=(100,3), outs=(store:(d0,d1), add:())] %dest, %zero body { |%i: i64, %j: i64|
      %a: f64 = load[map=(d0,d1+1)] %x, %i, %j
      ...
      yield %g, %t
    }

Extents are ints or run-time extents. Output k is destination operand k changed: "store" puts the yielded value at the
mapped position, "store:N" (an element-wise op's name such as add, maximum) folds it into the element there, in
lexicographic order up to re-association; an "arg" pair (argmax, argmin) folds (value, position) into two consecutive
outputs. A yielded value may itself be an array (a row made by an inner loop): it lands on the trailing axes of the
destination. The body holds scalar ops, `load`, and inner `loop`s, which read the indices and scalars of outer ones.

An affine map has one row per array axis: (coefficient of each index operand..., constant).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from irad.core.affine import Integer, coefficient, constant
from irad.core.ir import Graph, Node, Value
from irad.core.lazy_dataclass import dataclass
from irad.core.types import I64, Dim, Type, limits
from irad.errors import IradTypeError
from irad.ops.core import OPS, Op, type_error


@dataclass(frozen=True)
class Map:
    """Affine map from index operands to array positions: rows of (coefficients..., constant).

    Rows count operands by their places where a form (irad.core.affine) names them: a map is an attribute, whose operands are renamed
    without it. `of` makes a map from forms, and `at` forms from a map.
    """

    rows: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(positions: Sequence[Integer], operands: Sequence[Any]) -> Map:
        """The map to positions that are affine in these operands."""
        return Map(tuple((*(coefficient(e, v) for v in operands), constant(e)) for e in positions))

    def at(self, operands: Sequence[Any]) -> tuple[Any, ...]:
        """The positions, where the operands are these integers: numbers, or forms."""
        return tuple([sum([c * i for c, i in zip(row, operands) if c], row[-1]) for row in self.rows])

    def show(self, name: Callable[[Any], str]) -> str:
        def row(cs: tuple[int, ...]) -> str:
            out = ""
            for k, c in enumerate(cs[:-1]):
                if c:
                    out += ("-" if c < 0 else "+" if out else "") + (f"{abs(c)}*" if abs(c) != 1 else "") + f"d{k}"
            return (out + (f"{cs[-1]:+d}" if cs[-1] else "")) if out else str(cs[-1])

        return "(" + ",".join(map(row, self.rows)) + ")"

    def rename(self, get: Callable[[Any], Any]) -> Map:
        return self

    @staticmethod
    def identity(n: int) -> Map:
        return Map(tuple(tuple(int(j == k) for j in range(n)) + (0,) for k in range(n)))

    @staticmethod
    def select(n: int, axes: Sequence[int]) -> Map:
        """From n indices, the ones at `axes`."""
        return Map(tuple(tuple(int(j == k) for j in range(n)) + (0,) for k in axes))


def beside(node: Node, k: int) -> tuple[Value, ...]:
    """The positions that the body of a loop yields for out k, beside its indices."""
    outs = node.attrs["outs"]
    at = sum(o.width + o.extra for o in outs[:k]) + outs[k].width
    return node.regions[0].results[at : at + outs[k].extra]


_PLACES = {"argmax": 1, "argmin": -1}


def fold_width(kind: str) -> int:
    """How many numbers a fold carries: 2 if it finds where the best element is, the element and its place."""
    return 2 if kind in _PLACES else 1


def neutral(kind: str, dtype: str) -> Any:
    """The number that a fold may start with: any other beats it, or it changes none."""
    op = OPS[kind]
    return op.unit if op.unit is not None else limits(dtype)[_PLACES.get(kind, op.extreme) < 0]


@dataclass(frozen=True)
class Out:
    """What happens to one result: `kind` is "store", an elementwise op to fold with, or "argmax"/"argmin" (two outputs).

    The map's operands are the loop's indices, then `extra` i64 scalars that the body yields after the value (a computed
    position: scatter, or the run-time start of a slice). Extra positions may collide unless `unique`.
    """

    kind: str
    map: Map
    extra: int = 0
    unique: bool = True

    @property
    def width(self) -> int:
        """Number of results: an arg fold has two."""
        return fold_width(self.kind)

    def show(self, name: Callable[[Any], str]) -> str:
        return f"{self.kind}:{self.map.show(name)}" + (
            f":{'unique' if self.unique else 'collide'}{self.extra}" if self.extra else ""
        )

    def rename(self, get: Callable[[Any], Any]) -> Out:
        return self


Box = list[tuple[int, int]]  # per axis: from, to


def stored_box(n: Node, j: int) -> Box | None:
    """The elements that out j of a loop stores, where they are a box."""
    out, extents = n.attrs["outs"][j], n.attrs["extents"]
    axes = [[k for k, c in enumerate(row[:-1]) if c] for row in out.map.rows]
    whole = out.kind == "store" and not out.extra and out.width == 1 and all(isinstance(d, int) for d in extents)
    if (
        not whole
        or any(len(a) != 1 or row[a[0]] != 1 for a, row in zip(axes, out.map.rows))
        or len({a[0] for a in axes}) != len(axes)
    ):
        return None
    return [(row[-1], row[-1] + extents[a]) for (a,), row in zip(axes, out.map.rows)]


def _infer_load(x: Type, *idx: Type, map: Map) -> tuple[Type, ...]:
    if len(map.rows) != x.rank or any(len(r) != len(idx) + 1 for r in map.rows):
        raise IradTypeError(f"load from {x}: the map has {len(map.rows)} rows for {len(idx)} indices")
    if any(i != I64 for i in idx):
        raise type_error("load wants i64 scalars as indices", *idx)
    return (Type(x.dtype),)


load = Op("load", _infer_load, lambda x, *idx, map: np.asarray(x)[map.at([int(i) for i in idx])],
          doc="one element of an array, at an affine function of i64 scalars")  # fmt: skip


def _infer_loop(*dests: Type, extents: tuple[Dim, ...], outs: tuple[Out, ...], body: Graph) -> tuple[Type, ...]:
    if len(body.params) != len(extents) or any(p.type != I64 for p in body.params):
        raise IradTypeError("the body of `loop` takes one i64 index per extent")
    if len(dests) != sum(o.width for o in outs) or len(body.results) != sum(o.width + o.extra for o in outs):
        raise IradTypeError(
            f"loop with {len(dests)} destinations yields {len(body.results)} values, which does not fit {len(outs)} outs"
        )
    for o, ds, vs, extra in groups(outs, dests, [v.type for v in body.results]):
        n = len(o.map.rows)
        if any(len(r) != len(extents) + o.extra + 1 for r in o.map.rows) or any(t != I64 for t in extra):
            raise type_error("the map of a loop's out takes the indices and the yielded positions", *extra)
        for d, v in zip(ds, vs):
            if d.dtype != v.dtype or d.shape[n:] != v.shape:
                raise type_error("a yielded value does not fit its destination", d, v)
    return dests


def groups(outs: Sequence[Out], dests: Sequence[Any], values: Sequence[Any]) -> Iterator[tuple[Out, Any, Any, Any]]:
    """(out, its destinations, its values, its extra positions), the flat sequences cut up."""
    k = j = 0
    for o in outs:
        yield o, dests[k : k + o.width], values[j : j + o.width], values[j + o.width : j + o.width + o.extra]
        k, j = k + o.width, j + o.width + o.extra


def _eval_loop(*dests: Any, extents: tuple[Dim, ...], outs: tuple[Out, ...], body: Callable[..., list[Any]]) -> tuple[Any, ...]:
    acc = [np.array(d) for d in dests]
    for idx in itertools.product(*map(range, extents)):  # type: ignore[arg-type]
        for o, ds, vs, extra in groups(outs, acc, body(*map(np.int64, idx))):
            at = o.map.at([*idx, *map(int, extra)])
            if o.kind == "store":
                ds[0][at] = vs[0]
            elif o.width == 2:
                _fold_arg(o.kind, ds, at, *vs)
            else:
                ds[0][at] = OPS[o.kind].eval(ds[0][at], vs[0])  # type: ignore[misc]
    return tuple(a[()] for a in acc)


def _fold_arg(kind: str, acc: list[Any], at: tuple[int, ...], v: Any, i: Any) -> None:
    """The better value wins, NaN beats all, the smaller position wins a tie; position -1 means none yet."""
    best, pos = acc[0][at], acc[1][at]
    nan, best_nan = bool(v != v), bool(best != best)
    better = v > best if kind == "argmax" else v < best
    if pos < 0 or (nan and not best_nan) or (not best_nan and better) or ((v == best or nan and best_nan) and i < pos):
        acc[0][at], acc[1][at] = v, i


loop = Op("loop", _infer_loop, _eval_loop, regions=("body",))
