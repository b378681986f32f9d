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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irad.errors import IradTypeError
from irad.ir import Graph
from irad.ops.core import OPS, Op, type_error
from irad.types import I64, Dim, Type


@dataclass(frozen=True)
class Map:
    """Affine map from index operands to array positions: rows of (coefficients..., constant)."""

    rows: tuple[tuple[int, ...], ...]

    def at(self, idx: Sequence[int]) -> tuple[int, ...]:
        return tuple(sum(c * i for c, i in zip(row, idx)) + row[-1] for row in self.rows)

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


@dataclass(frozen=True)
class Out:
    """What happens to one result: `kind` is "store", an elementwise op to fold with, or "argmax"/"argmin" (two outputs)."""

    kind: str
    map: Map

    def show(self, name: Callable[[Any], str]) -> str:
        return f"{self.kind}:{self.map.show(name)}"

    def rename(self, get: Callable[[Any], Any]) -> Out:
        return self


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
    width = [2 if o.kind in ("argmax", "argmin") else 1 for o in outs]
    if len(dests) != sum(width) or len(body.results) != sum(width):
        raise IradTypeError(f"loop with {sum(width)} results has {len(dests)} destinations and yields {len(body.results)}")
    k = 0
    for o, w in zip(outs, width):
        for d, v in zip(dests[k : k + w], body.results[k : k + w]):
            n = len(o.map.rows)
            if d.dtype != v.type.dtype or d.shape[n:] != v.type.shape or any(len(r) != len(extents) + 1 for r in o.map.rows):
                raise type_error(f"loop result {k}: a yielded value does not fit its destination", d, v.type)
        k += w
    return dests


def _eval_loop(*dests: Any, extents: tuple[Dim, ...], outs: tuple[Out, ...], body: Callable[..., list[Any]]) -> tuple[Any, ...]:
    acc = [np.array(d) for d in dests]
    for idx in itertools.product(*map(range, extents)):
        values, k = body(*map(np.int64, idx)), 0
        for o in outs:
            at = o.map.at(idx)
            if o.kind == "store":
                acc[k][at] = values[k]
            elif o.kind in ("argmax", "argmin"):
                _fold_arg(o.kind, acc[k : k + 2], at, *values[k : k + 2])
                k += 1
            else:
                acc[k][at] = OPS[o.kind].eval(acc[k][at], values[k])  # type: ignore[misc]
            k += 1
    return tuple(a[()] for a in acc)


def _fold_arg(kind: str, acc: list[Any], at: tuple[int, ...], v: Any, i: Any) -> None:
    """The better value wins, NaN beats all, the smaller position wins a tie; position -1 means none yet."""
    best, pos = acc[0][at], acc[1][at]
    nan, best_nan = bool(v != v), bool(best != best)
    better = v > best if kind == "argmax" else v < best
    if pos < 0 or (nan and not best_nan) or (not best_nan and better) or ((v == best or nan and best_nan) and i < pos):
        acc[0][at], acc[1][at] = v, i


loop = Op("loop", _infer_loop, _eval_loop, regions=("body",))
