"""Random programs whose derivatives are tested: nested branches, loops, in-place stores, recursion, checkpoints, inner gradients."""

from __future__ import annotations

import random
from typing import Any

from irad.core.ir import Program
from irad.core.types import F64, I64
from tests.support.programs import Call, Checkpoint, For, Grad, If, Sym, While, cos, fn, lt, sin, to_float, vec

N = 4  # elements of every array
Pair = tuple[Any, Any]


class Scope:
    """Values in scope, the latest last: scalars, arrays, integers."""

    def __init__(self, scalars: list[Any], arrays: list[Any], ints: list[Any]):
        self.scalars, self.arrays, self.ints = scalars, arrays, ints

    def inner(self, *, scalar: Any = None, array: Any = None, integer: Any = None) -> Scope:
        more = lambda xs, x: [*xs, x] if x is not None else list(xs)
        return Scope(more(self.scalars, scalar), more(self.arrays, array), more(self.ints, integer))


class Maker:
    """Writes one random program. Everything stays bounded, and no branch turns on a derivative's direction of change."""

    def __init__(self, seed: int):
        self.rng = random.Random(seed)
        self.budget = 40
        self.in_recursion = False

    def program(self) -> Program:
        @fn(F64, vec(N), I64)
        def f(x, a, n):
            scope = self.statements(Scope([x], [a], [n]), 4)
            return sin(scope.arrays[-1]).sum() + scope.scalars[-1] * scope.scalars[len(scope.scalars) // 2]

        self.budget, self.in_recursion = 10, True

        @fn(F64, vec(N), I64)
        def r(x, a, n):
            def again() -> Pair:
                y, b = self.block(Scope([x], [a], [n]), 2)
                z, b = Call("r", [F64, vec(N)], y * x, b, n - 1)
                return z + y, b.put_add(z * 0.3, n)

            return If(lt(n, 1), lambda: (cos(x), a), again)

        return {"f": f, "r": r}

    def block(self, scope: Scope, depth: int) -> Pair:
        scope = self.statements(scope, depth - 1)
        return sin(scope.scalars[-1]), scope.arrays[-1]

    def statements(self, scope: Scope, depth: int) -> Scope:
        scope = scope.inner()
        for _ in range(self.rng.randrange(1, 5)):
            self.budget -= 1
            kinds = ["scalar", "store", "whole"] if depth <= 0 or self.budget < 0 else KINDS
            kind = self.rng.choice(kinds)
            getattr(self, kind)(scope, depth)
        return scope

    # -- what a statement may be ---------------------------------------------------------------------------------

    def scalar(self, s: Scope, depth: int) -> None:
        a, b = self.pick(s.scalars), self.pick(s.scalars)
        makers = [
            lambda: a * b,
            lambda: a + b,
            lambda: sin(a),
            lambda: cos(a) * b,
            lambda: self.pick(s.arrays)[self.index(s)],
            lambda: a / (2.0 + sin(b)),
            lambda: self.pick(s.arrays).sum() * 0.2,
            lambda: a * 0.7 + to_float(self.pick(s.ints)) * 0.1,
        ]
        s.scalars.append(self.rng.choice(makers)())

    def store(self, s: Scope, depth: int) -> None:
        a, v, i = s.arrays[-1], self.pick(s.scalars), self.index(s)
        s.arrays.append(a.put(v, i) if self.rng.random() < 0.5 else a.put_add(sin(v), i))

    def whole(self, s: Scope, depth: int) -> None:
        s.arrays.append(sin(self.pick(s.arrays)) * self.pick(s.arrays))

    def branch(self, s: Scope, depth: int) -> None:
        by_float = self.rng.random() < 0.6
        test = lt(self.pick(s.scalars), self.pick(s.scalars)) if by_float else lt(self.pick(s.ints), 1)
        self.extend(s, If(test, lambda: self.block(s, depth), lambda: self.block(s, depth)))

    def loop(self, s: Scope, depth: int) -> None:
        trips = self.rng.choice([self.rng.randrange(4), (self.pick(s.ints) + 1) % 4])

        def body(i: Sym, x: Sym, a: Sym, last: Sym) -> Any:
            return (*self.block(s.inner(scalar=x, array=a, integer=i), depth), x)

        x, a, last = For(trips, [self.pick(s.scalars), self.pick(s.arrays), self.pick(s.scalars)], body)
        s.scalars += [last, x]
        s.arrays.append(a)

    def loop_while(self, s: Scope, depth: int) -> None:
        stop = self.rng.randrange(1, 4)

        def more(x: Sym, a: Sym, k: Sym) -> Any:
            return If(lt(k, stop), lambda: lt(x * x, 4.0), lambda: lt(x, x))

        def body(x: Sym, a: Sym, k: Sym) -> Any:
            return (*self.block(s.inner(scalar=x, array=a, integer=k), depth), k + 1)

        x, a, k = While([self.pick(s.scalars), self.pick(s.arrays), 0], more, body)
        self.extend(s, (x, a))
        s.ints.append(k % 3)

    def call(self, s: Scope, depth: int) -> None:
        if not self.in_recursion:
            n = self.pick(s.ints) % 3
            self.extend(s, Call("r", [F64, vec(N)], self.pick(s.scalars), self.pick(s.arrays), n))

    def again(self, s: Scope, depth: int) -> None:
        self.extend(s, Checkpoint(lambda: self.block(s, depth)))

    def gradient(self, s: Scope, depth: int) -> None:
        """Of a block that may contain gradients itself, but not of a recursive function that does."""
        if not self.in_recursion:
            s.scalars.append(Grad(lambda x: self.block(s.inner(scalar=x), min(depth, 1))[0], self.pick(s.scalars)))

    # -- helpers -------------------------------------------------------------------------------------------------

    def pick(self, xs: list[Any]) -> Any:
        return self.rng.choice(xs)

    def index(self, s: Scope) -> Any:
        return (self.pick(s.ints) + self.rng.randrange(N)) % N

    def extend(self, s: Scope, outs: Any) -> None:
        s.scalars.append(outs[0])
        s.arrays.append(outs[1])


KINDS = ["scalar", "scalar", "scalar", "store", "store", "whole", "branch", "branch", "loop", "loop"] + [
    "loop_while",
    "call",
    "again",
    "gradient",
]
