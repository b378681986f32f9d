"""What generators of Python programs share: lines that are written at random, branches and loops around them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence


class Program:
    """A random function as lines. Subclasses give `simple`, a statement of one or more lines, and names of numbers.

    `features`: those that it may have; `used`: those that it has.
    """

    trips = ("n", "n", "3", "n + 2")
    most = 6  # statements at the top
    jumps = True

    def __init__(self, name: str, seed: int, features: Iterable[str]):
        self.r = random.Random(f"{name} {seed}")
        self.features, self.used, self.fresh = frozenset(features), set[str](), 0
        self.lines: list[str] = []
        self.numbers = ["s", "t"]
        self.loops: list[str] = []  # counters of the loops around
        self.depth = 0  # of branches and loops around
        self.made: list[tuple[int, str]] = []  # names of numbers that a block has made, and its depth

    def has(self, feature: str, share: float = 1.0) -> bool:
        found = feature in self.features and self.r.random() < share
        if found:
            self.used.add(feature)
        return found

    def pick(self, *options: str) -> str:
        return self.r.choice(options)

    def one(self, options: Iterable[str]) -> str:
        return self.r.choice(list(options))

    def name(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def constant(self) -> str:
        return repr(round(self.r.uniform(-2, 2), 2))

    def number(self, depth: int = 1) -> str:
        """An expression of one number."""
        k = self.r.randrange(8 if depth else 4)
        a = lambda: self.number(depth - 1)
        if k < 4:
            return [self.constant(), self.one(self.numbers), self.one(self.numbers), self.term()][k]
        larger = "np.maximum" if "single" in self.features else "max"  # which of a float32 and a float it is decides the type
        return [f"({a()} + {a()})", f"({a()} * {a()})", f"np.tanh({a()})", f"{larger}({a()}, {a()})"][k - 4]

    def term(self) -> str:
        """A number that is read out of something."""
        return f"x[{self.index()}]"

    def index(self) -> str:
        return self.pick("0", "1", "-1", *[f"{k} % 4" for k in self.loops[-1:]] * 2)

    def value(self) -> str:
        """A number of moderate size."""
        return f"np.tanh({self.number()})"

    def condition(self) -> str:
        odd = [f"{k} % 2 == {self.r.randrange(2)}" for k in self.loops[-1:]]
        return self.pick(
            f"{self.number(0)} > {self.number(0)}", f"{self.term()} > {self.constant()}", f"n > {self.r.randrange(4)}", *odd
        )

    def simple(self) -> str:
        raise NotImplementedError

    def add(self, *lines: str) -> None:
        """Lines at the present depth; those that a block needs come with their own indent."""
        self.lines += ["    " * (self.depth + 1) + part for line in lines for part in line.split("\n")]

    def write(self, least: int = 3) -> None:
        for _ in range(self.r.randrange(least, self.most + 1)):
            self.statement(2)

    def kinds(self) -> list[tuple[float, Callable[[int], None]]]:
        """Statements with blocks, and how often they are chosen, beside 10 for a simple one."""
        return [(3, self.branch), (3, self.for_loop), (1, self.while_loop)]

    def statement(self, depth: int) -> None:
        ways = [(10.0, self._simple), *(self.kinds() if depth else [])]
        self.r.choices([w for _, w in ways], [k for k, _ in ways])[0](depth)

    def _simple(self, depth: int) -> None:
        self.add(self.simple())

    def block(self, depth: int, least: int = 1) -> None:
        self.depth += 1
        for _ in range(self.r.randrange(least, 3)):
            self.statement(depth - 1)
        self.depth -= 1

    def branch(self, depth: int) -> None:
        self.add(f"if {self.condition()}:")
        self.block(depth)
        if self.jumps and self.loops and self.r.random() < 0.25:
            self.add(f"    {self.pick('break', 'continue')}")
        if self.r.random() < 0.4:
            self.add("else:")
            self.block(depth)

    def for_loop(self, depth: int) -> None:
        k = self.name("k")
        self.add(f"for {k} in range({self.pick(*self.trips)}):")
        self.within(depth, k)

    def while_loop(self, depth: int) -> None:
        k = self.name("k")
        self.add(f"{k} = 0", f"while {k} < {self.pick('n', '5')} and {self.condition()}:", f"    {k} += 1")
        self.within(depth, k)

    def within(self, depth: int, *counters: str) -> None:
        """The block of a loop."""
        before = len(self.loops)
        self.loops += counters
        self.block(depth)
        del self.loops[before:]


def vector(r: random.Random, n: int = 4) -> str:
    return f"np.array({[round(r.uniform(-1, 1), 2) for _ in range(n)]})"


def number(r: random.Random) -> str:
    return repr(round(r.uniform(-1, 1), 2))


def module(
    r: random.Random,
    made: Program,
    imports: Iterable[str],
    head: str,
    args: Iterable[str],
    loss: str,
    slopes: tuple[Sequence[int], str],
) -> str:
    """The text of a program: what it imports, its helpers, the function with the first line `head`, and a `main` that compares it for
    the inputs `args`; for a third of them the gradient of `loss` too, at one of the inputs `slopes[0]` by the arguments `slopes[1]`."""
    lines = [*(f"import {name}" for name in imports), "", "import numpy as np", "", "from tests.fuzz import compare", "", ""]
    lines += [*made.helpers, head, *made.lines, "", ""]
    differentiated = r.random() < 0.35
    lines += [*loss.strip().splitlines(), "", ""] if differentiated else []
    lines += ["def main():", "    inputs = [", *args, "    ]", "    compare.values(f, *inputs, kinds=False)"]
    lines += [f"    compare.gradient(loss, inputs[{r.choice(slopes[0])}], {slopes[1]})"] if differentiated else []
    return "\n".join(lines) + "\n"
