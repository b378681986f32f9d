"""Loop programs: branches, loops, jumps, views, swapped and rebound arrays; refused at compile time, or as in Python.

Aimed at aliases: names that share arrays, views that are stored through, arguments that are changed.
"""

from __future__ import annotations

import random
from typing import Any

from tests.fuzz.case import Case

FEATURES = ("raises",)
ARRAYS = ["x", "y", "z"]


class Program:
    """One random function of two arrays, a float and an int."""

    def __init__(self, seed: int):
        self.r = random.Random(seed)
        self.fresh = 0
        self.lines = ["def f(x, y, s, n):", "    t = 0.5", "    i = 0", "    z = x + y", "    w = [s, t]"]
        for _ in range(self.r.randrange(3, 8)):
            self.statement(1, 3, False)
        self.lines.append("    return s, t, x, y, z, i, w")

    def pick(self, *options: str) -> str:
        return self.r.choice(options)

    def array(self) -> str:
        return self.r.choice(ARRAYS)

    def index(self) -> str:
        return self.pick("0", "1", "-1", "i % 4", "2")

    def number(self, depth: int = 2) -> str:
        a = lambda: self.number(depth - 1)
        k = self.r.randrange(10 if depth else 5)
        if k < 5:
            simple = [repr(round(self.r.uniform(-2, 2), 2)), self.pick("s", "t"), f"{self.array()}[{self.index()}]"]
            return [*simple, f"(i + {self.r.randrange(3)})", f"w[{self.r.randrange(2)}]"][k]
        return [f"({a()} + {a()})", f"({a()} * {a()})", f"np.tanh({a()})", f"max({a()}, {a()})", f"{self.array()}.sum()"][k - 5]

    def vector(self) -> str:
        v = self.array()
        choice = f"np.where({v} > 0, {self.array()}, {self.number(1)})"
        return self.pick(f"{v} * 0.5", f"{v} + {self.array()}", f"np.tanh({v})", f"{v}.copy()", f"{v}[::-1]", v, choice)

    def condition(self) -> str:
        one = f"{self.number(1)} > {self.number(1)}"
        both = f"s < t and {self.array()}[{self.index()}] > 0"
        return self.pick(
            one, both, f"i % 2 == {self.r.randrange(2)}", f"not {self.number(1)} < 0.3", f"n > {self.r.randrange(4)}"
        )

    def block(self, indent: int, depth: int, loop: bool) -> None:
        for _ in range(self.r.randrange(1, 4)):
            self.statement(indent, depth, loop)

    def statement(self, indent: int, depth: int, loop: bool) -> None:
        kinds: list[tuple[int, Any]] = [(10, self.simple), (3, self.branch), (2, self.for_loop), (1, self.while_loop)]
        kind = self.r.choices([k for _, k in kinds], [w if depth or k == self.simple else 0 for w, k in kinds])[0]
        kind(indent, depth, loop)

    def simple(self, indent: int, depth: int, loop: bool) -> None:
        a, b = self.r.sample(ARRAYS, 2)
        value, name = f"np.tanh({self.number(1)})", self.pick("s", "t")
        self.fresh += 1
        view = f"v{self.fresh} = {a}[{self.pick('1:', '::2', '::-1')}]"
        line = self.pick(
            f"{name} = {self.number()}", f"{name} {self.pick('+', '-', '*')}= {value}", f"s, t = t, {self.number()}",
            f"{a}[{self.index()}] {self.pick('=', '=', '+=', '*=')} {value}", f"{a}[{self.pick('1:', '::2', '1:-1')}] += {value}",
            f"{a} = {self.vector()}", f"{a} = {self.vector()}", f"{a}, {b} = {b}, {a}", f"{a} {self.pick('+=', '*=')} 0.5",
            f"{view}; v{self.fresh}[0] {self.pick('=', '+=')} {value}", f"w[{self.r.randrange(2)}] = {value}", f"w = [t, {value}]",
        )  # fmt: skip
        self.lines += ["    " * indent + part for part in line.split("; ")]

    def branch(self, indent: int, depth: int, loop: bool) -> None:
        pad = "    " * indent
        self.lines.append(f"{pad}if {self.condition()}:")
        self.block(indent + 1, depth - 1, loop)
        if loop and self.r.random() < 0.3:
            self.lines.append(f"{pad}    {self.pick('break', 'continue')}")
        elif self.r.random() < 0.1:
            self.lines.append(f"{pad}    return t, {self.number()}, {', '.join(self.array() for _ in ARRAYS)}, i, w")
        if self.r.random() < 0.5:
            self.lines.append(f"{pad}else:")
            self.block(indent + 1, depth - 1, loop)

    def for_loop(self, indent: int, depth: int, loop: bool) -> None:
        pad = "    " * indent
        self.lines.append(f"{pad}for i in range({self.pick('n', 'n', '3', '9', 'len(x)', 'n + 5')}):")
        self.block(indent + 1, depth - 1, True)
        if self.r.random() < 0.2:
            self.lines.append(f"{pad}else:")
            self.block(indent + 1, depth - 1, loop)

    def while_loop(self, indent: int, depth: int, loop: bool) -> None:
        pad, self.fresh = "    " * indent, self.fresh + 1
        count = f"c{self.fresh}"
        self.lines += [f"{pad}{count} = 0", f"{pad}while {count} < {self.pick('n', '7')} and {self.condition()}:"]
        self.lines.append(f"{pad}    {count} += 1")
        self.block(indent + 1, depth - 1, True)


class Raising(Program):
    """Some statements raise: a `raise` under a condition, after a store perhaps, or a position out of bounds."""

    def simple(self, indent: int, depth: int, loop: bool) -> None:
        pad, k = "    " * indent, self.r.random()
        if k > 0.2:
            super().simple(indent, depth, loop)
        elif k > 0.16:
            self.lines.append(f"{pad}{self.array()}[i] += 0.25")
        else:
            store = [f"{pad}    {self.array()}[{self.index()}] = 7.0"] if k > 0.12 else []
            self.lines += [f"{pad}if {self.condition()}:", *store, f'{pad}    raise ValueError("{self.r.randrange(1000)}")']


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    r = random.Random(seed)
    kind = Raising if (features is None or "raises" in features) and r.random() < 0.5 else Program
    lines = kind(seed).lines
    source = "\n".join(["import numpy as np", "", "from tests.fuzz import compare", "", "", *lines, "", "", *_main(r)]) + "\n"
    return Case("loops", seed, source, frozenset({"raises"} if kind is Raising else ()))


def _main(r: random.Random) -> list[str]:
    numbers = lambda: [round(r.uniform(-1, 1), 2) for _ in range(4)]
    inputs = [f"        (np.array({numbers()}), np.array({numbers()}), {round(r.uniform(-1, 1), 2)}, {n})," for n in (3, 0, 6, 1)]
    return ["def main():", "    inputs = [", *inputs, "    ]", "    compare.values(f, *inputs, kinds=False)"]
