"""Random programs for tests: `straight_line(rng)` and `control_flow(rng)` give a program and fitting arguments.

`rng` is a `random.Random` (hypothesis' `st.randoms()` gives one whose draws it can shrink). Every program terminates,
keeps its positions in bounds, and is free of what legal passes may round otherwise (sums of sums, powers), so that
results can be compared bit for bit. `smooth=True` leaves out what has no derivative or a jump, and keeps values near 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from irad.core.ir import Graph, Program, Value, build, emit
from irad.core.types import BOOL, I64, Type, affine
from irad.ops import OPS, array, control
from irad.ops.array import Slice
from irad.ops.constant import const, scalar

NASTY = (0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 5e-324, -1e-310, 1.7e308, 0.5, 3.0)
WILD = (2**63 - 1, -(2**63), 2**62, -1, 0, 3)
NUMBERS = (0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.0)

SMOOTH_UNARY = ("neg", "sin", "cos", "tanh", "expit", "arctan")
UNARY = (*SMOOTH_UNARY, "abs", "sqrt", "floor", "trunc", "rint", "sign", "exp", "log", "cosh")
SMOOTH_BINARY = ("add", "sub", "mul")
BINARY = (*SMOOTH_BINARY, "div", "minimum", "maximum", "fmax", "copysign", "szmul")
INTEGER = ("add", "sub", "mul", "minimum", "maximum", "floor_divide", "remainder", "bitwise_and", "bitwise_or", "bitwise_xor")
COMPARE = ("lt", "le", "gt", "ge", "eq", "ne")


@dataclass
class Case:
    """A program and arguments for its entry."""

    program: Program
    args: list[Any]


def straight_line(rng: Random, nodes: int = 15, smooth: bool = False, dtype: str = "f64") -> Case:
    """A program without control flow."""
    return _case(rng, nodes, 0, smooth, dtype)


def control_flow(rng: Random, nodes: int = 8, smooth: bool = False, dtype: str = "f64") -> Case:
    """A program with branches, loops, calls, checks and stores, nested up to two deep."""
    return _case(rng, nodes, 2, smooth, dtype)


def shaped(dtype: str) -> tuple[Type, Type, Type]:
    """The float types of a program: a number, a vector, a matrix."""
    return Type(dtype), Type(dtype, (3,)), Type(dtype, (2, 3))


def _case(rng: Random, nodes: int, depth: int, smooth: bool, dtype: str) -> Case:
    real, vec, mat = shaped(dtype)
    nasty = not smooth and rng.random() < 0.5
    helper = build([real, vec], lambda *ps: _Maker(rng, smooth, "", nasty, dtype).fill([*ps], 4, 0, (vec,)), "helper")
    like = [real, vec, mat, I64] if smooth else [real, vec, mat, I64, I64, BOOL]
    maker = _Maker(rng, smooth, "helper" if depth else "", nasty, dtype)
    entry = build(like, lambda *ps: maker.fill([*ps], nodes, depth, (real, vec)), "f")
    program = {"f": entry, **({"helper": helper} if depth else {})}
    return Case(program, [_argument(rng, p.type, nasty) for p in entry.params])


def _argument(rng: Random, t: Type, nasty: bool) -> Any:
    n = math.prod(t.shape)  # type: ignore[arg-type]
    if t.differentiable:
        draw: Callable[[], Any] = (lambda: rng.choice(NASTY)) if nasty else (lambda: rng.uniform(0.5, 1.5))
    else:
        wild = nasty and rng.random() < 0.5
        draw = (lambda: rng.random() < 0.5) if t == BOOL else (lambda: rng.choice(WILD) if wild else rng.randrange(-2, 5))
    with np.errstate(over="ignore"):
        return np.array([draw() for _ in range(n)]).astype(t.numpy).reshape(t.shape)[()]  # type: ignore[arg-type]


class _Maker:
    """Fills the current builder with random nodes. `nasty`: no contractions, in which infinities depend on the order."""

    def __init__(self, rng: Random, smooth: bool, helper: str, nasty: bool, dtype: str):
        self.rng, self.smooth, self.helper, self.nasty = rng, smooth, helper, nasty
        self.shaped = self.real, self.vec, self.mat = shaped(dtype)

    def fill(self, scope: list[Value], nodes: int, depth: int, results: Sequence[Type]) -> list[Value]:
        """Random nodes after the values in scope, and values of the wanted types."""
        steps = [*self.plain(), *([self.branch, self.count, self.loop, self.call, self.again] if depth else [])]
        for _ in range(nodes):
            scope += self.rng.choice(steps)(scope, depth)
        return [self.pick(scope, t) for t in results]

    def plain(self) -> list[Callable[[list[Value], int], list[Value]]]:
        smooth = [self.unary, self.binary, self.binary, self.number, self.shape, self.reduce, self.read, self.store]
        smooth += [self.along, self.take, self.some, *([] if self.nasty else [self.contract])]
        more = [self.compare, self.choose, self.integer, self.convert, self.check, self.order]
        return smooth if self.smooth else [*smooth, *more]

    def pick(self, scope: list[Value], t: Type) -> Value:
        """A value of a type, the latest more often; a constant if there is none."""
        found = [v for v in scope if v.type == t]
        if not found:
            return const(value=self.rng.choice(NUMBERS) if t.differentiable else self.rng.randrange(2), type=t)
        return found[-1] if self.rng.random() < 0.4 else self.rng.choice(found)

    def position(self, scope: list[Value], extent: int) -> Value:
        """An i64 in bounds."""
        return OPS["remainder"](self.pick(scope, I64), scalar(extent, "i64"))

    # ---- plain nodes ----

    def unary(self, scope: list[Value], depth: int) -> list[Value]:
        op = self.rng.choice(SMOOTH_UNARY if self.smooth else UNARY)
        return [OPS[op](self.pick(scope, self.rng.choice(self.shaped)))]

    def binary(self, scope: list[Value], depth: int) -> list[Value]:
        t = self.rng.choice(self.shaped)
        op = self.rng.choice(SMOOTH_BINARY if self.smooth else BINARY)
        return [OPS[op](self.pick(scope, t), self.pick(scope, t))]

    def number(self, scope: list[Value], depth: int) -> list[Value]:
        return [const(value=self.rng.choice(NUMBERS), type=self.rng.choice(self.shaped))]

    def shape(self, scope: list[Value], depth: int) -> list[Value]:
        match self.rng.randrange(5):
            case 0:
                return [array.broadcast(self.pick(scope, self.real), shape=(3,), dims=())]
            case 1:
                return [array.broadcast(self.pick(scope, self.vec), shape=(2, 3), dims=(1,))]
            case 2:
                t = array.transpose(self.pick(scope, self.mat), perm=(1, 0))
                return [t, array.transpose(t, perm=(1, 0))]
            case 3:
                flat = array.reshape(self.pick(scope, self.mat), shape=(6,))
                return [flat, array.reshape(flat, shape=(2, 3))]
        rows = [array.reshape(self.pick(scope, self.vec), shape=(1, 3)) for _ in range(2)]
        return [array.concat(*rows, axis=0)]

    def reduce(self, scope: list[Value], depth: int) -> list[Value]:
        x = self.pick(scope, self.rng.choice((self.vec, self.mat)))
        op = "sum" if self.smooth else self.rng.choice(("sum", "max", "min", "cumsum"))
        if op == "cumsum":
            return [array.cumsum(x, axis=0, reverse=self.rng.random() < 0.5, exclusive=False)]
        scaled = OPS["mul"](x, const(value=0.25, type=x.type)) if self.smooth else x
        return [OPS[op](scaled, axes=tuple(range(x.type.rank)))]

    def along(self, scope: list[Value], depth: int) -> list[Value]:
        """A reduction along one axis, or a running one."""
        x, axis = self.pick(scope, self.mat), self.rng.randrange(2)
        op = self.rng.choice(("sum", "prod", "cumprod") if self.smooth else ("sum", "max", "min", "cumsum"))
        if op.startswith("cum"):
            flags = {"reverse": self.rng.random() < 0.5, "exclusive": self.rng.random() < 0.5}
            return [OPS[op](x, axis=axis, **flags)]
        y = OPS[op](x, axes=(axis,))
        return [y if axis == 0 else array.broadcast(y, shape=(2, 3), dims=(0,))]

    def take(self, scope: list[Value], depth: int) -> list[Value]:
        """Elements at positions of which some come twice."""
        at = const(value=np.array([self.rng.randrange(3) for _ in range(3)]), type=Type("i64", (3,)))
        if self.rng.random() < 0.5:
            return [array.index(self.pick(scope, self.vec), at, spec=("g",))]
        return [array.index(self.pick(scope, self.mat), at, spec=(Slice(0, 2), "g"))]

    def some(self, scope: list[Value], depth: int) -> list[Value]:
        """Slices of run-time lengths: what they add up to, and stores into them."""
        size, x = self.position(scope, 4), self.pick(scope, self.vec)
        part = Slice(0, affine(0, {size: 1}), 1)
        head = array.index(x, spec=(part,))
        total = OPS["sum"](OPS["sin"](head) if self.smooth else head, axes=(0,))
        op = OPS[self.rng.choice(("update", "update_add"))]
        return [total, op(self.pick(scope, self.vec), OPS["neg"](head), spec=(part,))]

    def contract(self, scope: list[Value], depth: int) -> list[Value]:
        """Products of matrices and vectors, bounded."""
        a, b = (OPS["tanh"](self.pick(scope, self.mat)) for _ in range(2))
        v = OPS["tanh"](self.pick(scope, self.vec))
        none = ((), ())
        match self.rng.randrange(4):
            case 0:
                square = OPS["dot"](a, b, contract=((1,), (1,)), batch=none)
                return [OPS["dot"](square, b, contract=((self.rng.randrange(2),), (0,)), batch=none)]
            case 1:
                return [OPS["dot"](v, v, contract=((0,), (0,)), batch=none)]
            case 2:
                return [array.broadcast(OPS["dot"](a, v, contract=((1,), (0,)), batch=none), shape=(2, 3), dims=(0,))]
        return [OPS["dot"](v, OPS["dot"](a, b, contract=((0,), (0,)), batch=none), contract=((0,), (0,)), batch=none)]

    def order(self, scope: list[Value], depth: int) -> list[Value]:
        """Sorted elements, and where the extreme ones are."""
        x = self.pick(scope, self.rng.choice((self.vec, self.mat)))
        at = OPS[self.rng.choice(("argmax", "argmin"))](self.pick(scope, self.vec), axis=0)
        if self.rng.random() < 0.5:
            return [OPS["sort"](x, axis=self.rng.randrange(x.type.rank)), at]
        return [array.index(self.pick(scope, self.vec), OPS["argsort"](self.pick(scope, self.vec), axis=0), spec=("g",)), at]

    def read(self, scope: list[Value], depth: int) -> list[Value]:
        match self.rng.randrange(4):
            case 0:
                return [array.index(self.pick(scope, self.vec), self.position(scope, 3), spec=("i",))]
            case 1:
                return [array.index(self.pick(scope, self.mat), self.position(scope, 2), spec=("i", Slice(0, 3)))]
            case 2:
                part = array.index(self.pick(scope, self.mat), spec=(Slice(1, 2, -1), Slice(1, 2)))
                return [array.index(part, spec=(0, self.rng.randrange(2)))]
        i = self.rng.randrange(3)
        return [
            array.index(self.pick(scope, self.vec), spec=(i,)),
            array.index(self.pick(scope, self.mat), spec=(Slice(0, 2), i)),
        ]

    def store(self, scope: list[Value], depth: int) -> list[Value]:
        op = OPS[self.rng.choice(("update", "update_add"))]
        match self.rng.randrange(3):
            case 0:
                i = self.position(scope, 3)
                y = op(self.pick(scope, self.vec), self.pick(scope, self.real), i, spec=("i",))
                return [y, array.index(y, i, spec=("i",))]
            case 1:
                k = self.rng.randrange(3)
                y = op(self.pick(scope, self.vec), self.pick(scope, self.real), spec=(k,))
                return [y, array.index(y, spec=(self.rng.randrange(3),))]
        at = array.broadcast(self.position(scope, 3), shape=(3,), dims=())
        where = OPS["remainder"](OPS["add"](at, array.iota(type=at.type, axis=0)), const(value=3, type=at.type))
        return [op(self.pick(scope, self.vec), self.pick(scope, self.vec), where, spec=("g",))]

    def compare(self, scope: list[Value], depth: int) -> list[Value]:
        t = self.rng.choice((self.real, I64, I64))
        p = OPS[self.rng.choice(COMPARE)](self.pick(scope, t), self.pick(scope, t))
        q = OPS[self.rng.choice(("logical_and", "logical_or", "logical_xor"))](p, self.pick(scope, BOOL))
        return [p, q, OPS["logical_not"](q)]

    def choose(self, scope: list[Value], depth: int) -> list[Value]:
        t = self.rng.choice((self.real, I64))
        return [OPS["select"](self.pick(scope, BOOL), self.pick(scope, t), self.pick(scope, t))]

    def integer(self, scope: list[Value], depth: int) -> list[Value]:
        k = scalar(self.rng.choice(WILD) if self.rng.random() < 0.1 else self.rng.randrange(-3, 6), "i64")
        x = OPS[self.rng.choice(INTEGER)](self.pick(scope, I64), self.rng.choice((k, self.pick(scope, I64))))
        return [k, x]

    def convert(self, scope: list[Value], depth: int) -> list[Value]:
        own = self.real.dtype
        narrow = OPS["cast"](self.pick(scope, self.real), dtype=self.rng.choice(("f32" if own == "f64" else "f64", "i32")))
        whole = OPS["cast"](self.pick(scope, I64), dtype=own)
        return [whole, OPS["cast"](narrow, dtype=own), OPS["cast"](OPS["cast"](narrow, dtype="i64"), dtype=own)]

    def check(self, scope: list[Value], depth: int) -> list[Value]:
        """A check that seldom fails; some keep results of the program."""
        x = self.pick(scope, I64)
        bad = OPS[self.rng.choice(("gt", "lt"))](x, scalar(self.rng.choice((-3, 3, 5)), "i64"))
        some = OPS["logical_and"](bad, self.pick(scope, BOOL))
        kept = {k: self.pick(scope, t) for k, t in enumerate((self.real, self.vec)) if self.rng.random() < 0.4}
        cond = self.rng.choice((bad, some))
        control.raise_if(cond, x, *kept.values(), exc="ValueError", message="check {}", keeps=tuple(kept))
        return []

    # ---- control flow ----

    def carried(self) -> list[Type]:
        ts = [self.real, self.vec, self.mat] if self.smooth else [self.real, self.vec, self.mat, I64]
        return [self.rng.choice(ts) for _ in range(self.rng.randrange(1, 4))]

    def region(self, scope: list[Value], params: Sequence[Type], results: Sequence[Type], depth: int) -> Graph:
        count = self.rng.randrange(1, 5)
        return build(params, lambda *ps: self.fill([*scope, *ps], count, depth - 1, results))

    def branch(self, scope: list[Value], depth: int) -> list[Value]:
        ts = self.carried()
        cond = OPS["lt"](*(self.pick(scope, self.real) for _ in range(2))) if self.smooth else self.pick(scope, BOOL)
        return [*emit(control.if_, cond, regions=[self.region(scope, (), ts, depth) for _ in range(2)])]

    def trips(self, scope: list[Value]) -> Value:
        if self.smooth or self.rng.random() < 0.6:
            return scalar(self.rng.randrange(4), "i64")
        return self.position(scope, 4)

    def count(self, scope: list[Value], depth: int) -> list[Value]:
        ts = self.carried()
        inits = [self.pick(scope, t) for t in ts]
        body = self.region(scope, (I64, *ts), ts, depth)
        keep = self.rng.random() < 0.2  # a carry that no trip changes
        results = (body.params[1], *body.results[1:]) if keep else body.results
        return [*emit(control.for_, self.trips(scope), *inits, regions=[body.replace(results=results)])]

    def loop(self, scope: list[Value], depth: int) -> list[Value]:
        """A `while` that counts up to a limit below 4."""
        ts = [I64, *self.carried()]
        limit = self.trips(scope)
        inits = [scalar(0, "i64"), *(self.pick(scope, t) for t in ts[1:])]
        cond = build(ts, lambda k, *_: OPS["lt"](k, limit))

        def trip(k: Value, *carry: Value) -> list[Value]:
            new = self.fill([*scope, k, *carry], self.rng.randrange(1, 5), depth - 1, ts[1:])
            return [OPS["add"](k, scalar(1, "i64")), *new]

        return [*emit(control.while_, *inits, regions=[cond, build(ts, trip)])]

    def call(self, scope: list[Value], depth: int) -> list[Value]:
        if not self.helper:
            return []
        return [
            *emit(control.call, self.pick(scope, self.real), self.pick(scope, self.vec), callee=self.helper, types=(self.vec,))
        ]

    def again(self, scope: list[Value], depth: int) -> list[Value]:
        return [*emit(control.checkpoint, regions=[self.region(scope, (), self.carried(), depth)])]
