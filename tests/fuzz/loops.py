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


class Wide(Program):
    """More of Python: matrices, every kind of slice and index, closures, lists that grow, recursion, dataclasses, early returns.

    `features`: which. Arrays are rebound in loops and branches with "alias" only.
    """

    def __init__(self, seed: int, features: frozenset[str]):
        self.r = random.Random(seed)
        self.features, self.used, self.fresh = features, set[str](), 0
        self.helpers: list[str] = []
        self.lines = ["def f(x, y, m, s, n):", "    t = 0.5", "    i = 0", "    z = x + y", "    w = [s, t]", "    q = m.copy()"]
        if self.has("dataclasses"):
            self.helpers += ["@dataclasses.dataclass", "class State:", "    a: object", "    b: float", "", ""]
            self.lines += ["    d = State(x * 2.0, s)"]
        if self.has("nones"):
            self.lines += ["    o = p = None"]
        if self.has("states"):
            self.lines += ["    mode = 'a'"]
        if self.has("draws"):
            self.lines += [f"    rng = np.random.{self.pick('default_rng', 'RandomState')}({self.r.randrange(9)})"]
        if self.has("shared"):
            self.lines += ["    u, v0 = w, [1.0, t]"]
        if self.has("kinds"):
            self.lines += ["    c, e, h = 0.0, [0.0] * 4, 1"]
        if self.has("closures"):
            self.lines += [
                "    def g(a, b=0.25):",
                f"        return {self.r.choice(['a * s + b', 'np.tanh(a + t) * b', 'a + x[0] * b', 'max(a, b) + y.sum()'])}",
                "    def over(k, inner):",
                f"        return lambda a: {self.pick('inner(np.tanh(a * k)) + k', 'inner(a) * k', 'inner(a * k) + k if a > 0.0 else inner(k)', 'inner(a) + inner(k) * 0.5')}",
                f"    gg = over({self.pick('0.5', 's')}, over({self.pick('-1.5', 't')}, over(0.25, g)))",
            ]
        if self.has("asking"):
            change = self.pick(
                "w[0] = w[0] * 0.5 + a", "y[0] *= 0.5", "w[1] += 0.25", "t = t * 0.5 + a", "w.append(w.pop() * 0.5)"
            )
            self.lines += ["    def ask(a):", "        nonlocal t", f"        {change}", f"        return {super().condition()}"]
        if self.has("recursion"):
            base, step = self.r.choice(["a", "a * 0.5", "b"]), self.r.choice(["np.tanh(a + b)", "a * 0.5 + k", "b + a * 0.25"])
            self.helpers += [
                "def rec(k, a, b):",
                "    if k <= 0:",
                f"        return {base}",
                f"    return rec(k - 1, {step}, b) + {self.r.choice(['a', 'b', '0.1 * k'])}",
                "",
                "",
            ]
        if self.has("generators"):
            self.helpers += ["def gen(a, b):", *("    " + line for line in self.r.choice(_GENERATORS)), "", ""]
        for _ in range(self.r.randrange(3, 9)):
            self.statement(1, 3, False)
        if self.has("nones"):
            self.lines += ["    s += 0.5 if o is None else o", "    if p is not None: s += p.sum()"]
        if self.has("states"):
            self.lines += ["    s += {'a': 0.25, 'b': 0.5, 'c': 1.0}[mode]"]
        if self.has("shared"):
            self.lines += ["    s += u[0] + v0[1] * 0.5"]
        if self.has("kinds"):
            self.lines += ["    s += np.sum(np.abs(c)) + np.sum(e) + np.sum(np.real(h))"]
        extra = ", d.a, d.b" if self.has("dataclasses") else ""
        self.result = f"s, t, x, y, z, i, w, q, m{extra}"
        self.lines.append(f"    return {self.result}")

    def has(self, feature: str) -> bool:
        found = feature in self.features
        if found:
            self.used.add(feature)
        return found

    def number(self, depth: int = 2) -> str:
        k = self.r.random()
        if k < 0.06 and self.has("closures"):
            return f"{self.pick('g', 'gg')}({super().number(0)})"
        if k < 0.1 and self.has("recursion"):
            return f"rec({self.pick('n', '3', 'i % 3')}, {super().number(0)}, s)"
        if k < 0.18:
            return self.pick(
                f"m[{self.row()}, {self.column()}]", "m[1].sum()", "m[:, 1].max()", "q.mean()", f"q[{self.row()}, 0]"
            )
        return super().number(depth)

    def condition(self) -> str:
        """Now and then one that changes what may change in the block, too."""
        if self.r.random() < 0.4 and self.has("asking"):
            return f"ask({super().number(0)})"
        return super().condition()

    def row(self) -> str:
        return self.pick("0", "-1", "i % 3", "1")

    def column(self) -> str:
        return self.pick("0", "-1", "i % 4", "2")

    def simple(self, indent: int, depth: int, loop: bool) -> None:
        ways = [self.slices, self.matrix, self.plain, self.plain, self.plain]
        ways += [self.lists] * self.has("lists") + [self.dataclass] * self.has("dataclasses") + [self.masks] * self.has("masks")
        ways += [self.nones] * (2 * self.has("nones")) + [self.states] * self.has("states")
        ways += [self.draws] * self.has("draws") + [self.likes] * self.has("likes")
        ways += [self.kinds] * (self.has("kinds") and loop and indent == 2)
        ways += [self.generators] * self.has("generators") + [self.shared] * (
            self.has("shared") and indent == 1 + loop and self.r.random() < 0.5
        )
        ways += [self.views] * self.has("views") + [self.raising] * (self.has("raises") and self.r.random() < 0.3)
        ways += [self.chosen] * self.has("alias")
        if self.has("alias") or indent == 1:
            ways.append(lambda: f"{self.array()} = {self.vector()}")
        text = self.r.choice(ways)()
        self.lines += ["    " * indent + part for part in text.split("; ")]

    def value(self) -> str:
        return f"np.tanh({self.number(1)})"

    def plain(self) -> str:
        name = self.pick("s", "t")
        return self.pick(
            f"{name} = {self.number()}", f"{name} {self.pick('+', '-', '*')}= {self.value()}", f"s, t = t, {self.number()}",
            f"{self.array()}[{self.index()}] {self.pick('=', '+=', '*=', '-=')} {self.value()}", f"w[{self.r.randrange(2)}] = {self.value()}",
            f"{self.array()} {self.pick('+=', '*=')} {self.pick('0.5', self.value())}",
            f"{self.array()}[{self.index()}], {self.array()}[{self.index()}] = {self.value()}, {self.value()}",
        )  # fmt: skip

    def slices(self) -> str:
        a, b = self.array(), self.array()
        return self.pick(
            f"{a}[1:] {self.pick('=', '+=')} {b}[:-1]", f"{a}[::2] {self.pick('=', '+=', '*=')} {self.value()}", f"{a}[::-1] = {b}", f"{a}[...] = {b} * 0.5",
            f"{a}[1:-1] = 0.5 * ({b}[2:] + {b}[:-2])", f"{a}[:n % 4] += 0.25", f"{a}[i % 4:] = {self.value()}", f"{a}[-2:] = {b}[:2]",
            f"{a}[np.array([2, 0, 2])] {self.pick('=', '+=')} {self.value()}", f"np.add.at({a}, np.array([1, 1, 3]), {self.value()})", f"{a}[3:1] = 7.0",
            f"{a}[n % 4:i % 4] += 0.5", f"{a}[:] = {a}[::-1]", f"{a}[-1:0:-1] *= 0.5", f"{a}[3:0:-2] = {b}[:2]",
        )  # fmt: skip

    def chosen(self) -> str:
        """A store into one of two arrays, that data chooses."""
        v, a, b = self.value(), self.array(), self.array()
        store = self.pick(
            f"np.add.at(c, np.array([1, 1, 3]), {v})", "np.putmask(c, c > 0.3, 0.5)", f"np.copyto(c, {v}, where=c > 0)", f"c.fill({v})", f"c[1:] += {v}",
            "np.negative(c, out=c)", "c.sort()", f"np.multiply.at(c, [0, 2], {v})", f"np.put(c, [0, -1], {v})", f"np.maximum(c, {v}, out=c, where=c < 1)", f"np.conj(c)[2] = {v}",
        )  # fmt: skip
        return f"c = {a} if {self.condition()} else {b}; {store}; s += c[0] * 0.1"

    def matrix(self) -> str:
        v = self.value()
        return self.pick(
            f"m[{self.row()}, {self.column()}] {self.pick('=', '+=')} {v}", f"m[{self.row()}] {self.pick('=', '+=')} {self.array()} * 0.5", f"m[:, {self.column()}] *= 0.5",
            f"q[1:, ::2] {self.pick('=', '+=')} {v}", f"q[{self.row()}, 1:] += m[{self.row()}, :-1]", "q[...] = np.tanh(m @ m.T @ m)", "q += m * 0.5",
            "m[:, 0], m[:, 1] = m[:, 1].copy(), m[:, 0].copy()", "q[::-1] = m", "q[:, ::-1] += m", f"m[{self.row()}][{self.column()}] = {v}", "s += np.sum(m * q)",
            f"m.T[{self.column()}] = {v}", f"m.ravel()[{self.pick('3', '-1')}] += {v}", f"m[[0, 2], [1, 3]] = {v}", f"q[:, [0, 0, 2]] += {v}",
        )  # fmt: skip

    def lists(self) -> str:
        return self.pick(
            f"w.append({self.value()}); s += w.pop()", "w = [a * 0.5 for a in w]", "s += sum(w)", f"w = [{self.value()}, *w[:1]]", "w = w[::-1]",
            "t = max(w)", "w[0], w[1] = w[1], w[0]", "s += sum(a * b for a, b in zip(x, y))", "s += len(w)", f"w[i % len(w)] {self.pick('=', '+=')} {self.value()}", "w[n % len(w)] *= 0.5", "for k, a in enumerate(w): t += a * k",
        )  # fmt: skip

    def shared(self) -> str:
        """Lists of two numbers that variables share, exchange and change under either name."""
        k = self.r.randrange(2)
        return self.pick(
            "u = w", "v0 = u", "u, v0 = v0, u", f"u[{k}] += {self.value()}", f"v0[{k}] = {self.value()}", f"s += u[{k}] * 0.1", f"u = [t, {self.value()}]",
            f"w[{k}] *= 0.5", "u, v0, w = v0, w, u",
        )  # fmt: skip

    def nones(self) -> str:
        """A variable that is None or a number, and one that is None or an array."""
        value, a = self.value(), self.array()
        return self.pick(
            f"o = {value}", "o = i", "o = None", "o = s if t > 0 else None", f"if o is None: o = {value}", f"if {self.condition()}: o = {value}",
            f"if o is None or o < s: o = {value}", "if o is not None: s += np.tanh(o)", "t += 0.25 if not o else o * 0.5", "s += o or 0.5",
            f"if o is not None and {a}[{self.index()}] < o: o = None", "t += 1 if o == i else 0", "w[0] = t if o is None else np.tanh(o)",
            f"p = {a} * 0.5", f"if {self.condition()}: p = {a} * 1.0", "if p is None: p = x + 1.0", "if p is not None: p[0] += 0.5", "if p is not None: p *= 0.5", "p = None",
            "if p is not None: s += p.sum() * 0.1", f"o, t = (t, {value}) if o is None else (None, np.tanh(o))", "o = t if p is None else p[1]",
        )  # fmt: skip

    def states(self) -> str:
        """A variable that is one of some strings."""
        return self.pick(
            f"mode = 'b' if {self.condition()} else 'a'", f"if {self.condition()}: mode = 'c'", "if mode == 'a': s += 0.5", "mode = 'a' if mode == 'c' else 'c'",
            "t += 0.25 if mode in ('a', 'c') else -0.25", "s += {'b': 0.5, 'c': 0.25, 'a': 1.0}[mode]", f"if mode != 'b': {self.array()}[0] = {self.value()}",
        )  # fmt: skip

    def draws(self) -> str:
        """Random numbers: which are drawn depends on data."""
        a, b = self.array(), self.array()
        return self.pick(
            "s += 0.1 * rng.normal()", f"{a} *= rng.uniform(0.5, 1.0)", "t = rng.normal(np.tanh(t), 0.1)", f"{a} += 0.1 * rng.normal(size=len({a}))",
            "if rng.uniform() < 0.5: s *= 0.5", f"{a}[...] = rng.permutation({b})", f"rng.shuffle({a})", f"s += rng.choice({a}) * 0.1",
            f"{a}[rng.choice(3, 2, replace=False)] = {self.value()}", f"t += 0.1 * {a}[rng.permutation(3)[0]]",
        )  # fmt: skip

    def likes(self) -> str:
        """Ranges and lists as arrays and indices, and other ways through the elements."""
        a, b = self.array(), self.array()
        return self.pick(
            f"{a}[range(2)] *= 0.5", f"s += np.sum({a}[range(3)] * [1.0, 0.5, 0.25])", f"{a}.flat[::2] += 0.25", f"m.flat[i % 4] = {self.value()}",
            f"for v in np.nditer({a}, op_flags=['readwrite']): v[...] = 0.5 * v", "for k, v in np.ndenumerate(m): s += 0.01 * v * k[0]",
            f"t += sum({a}.flat) * 0.1", f"{a}[:3] = {b}[:3] * (0.5, 1.0, 0.25)", f"s += {a}.flat[-1] * 0.5", f"{a} += 0.1 * np.array(range(len({a})))",
        )  # fmt: skip

    def kinds(self) -> str:
        """Variables that change their kind in a loop: a number (also under a condition), a list, and an int."""
        a = self.array()
        return self.pick(
            f"if {self.condition()}: c = c + {a}", f"s += np.sum(c * {self.value()}) * 0.1 if np.ndim(c) else c * 0.5",
            f"c = c * 0.5 + {a}", f"e = np.tanh(m @ {a} * 0.1).sum() + {a} * 0.5", f"h = h * {self.pick('0.5', '1j', a)}", "t += np.sum(np.abs(c)) * 0.1",
            f"c, h = h * 0.5, c + {a}", f"e = {a} * 1.0", "s += np.sum(e) * 0.1",
        )  # fmt: skip

    def generators(self) -> str:
        """A generator function, consumed in loops, sums and one by one."""
        g = f"gen({self.array()}, {self.value()})"
        return self.pick(
            f"s += sum({g}) * 0.1", f"for v in {g}: t += np.tanh(v) * 0.1", f"for v in {g}: s = s + 0.1 * v if v < t else t", f"t = max({g})",
            f"s += next({g})", f"for k, v in enumerate({g}): s += 0.1 * v * k", f"s += 0.1 * sum(a * b for a, b in zip({g}, y))",
            f"s += 0.1 * sum(v for v in {g} if v > t)", f"w = [*w[:1], next({g})]", f"t += 0.5 if any(v > s for v in {g}) else 0.25",
            f"s += next((v for v in {g} if v > s), 0.5)",
        )  # fmt: skip

    def dataclass(self) -> str:
        return self.pick(
            f"d.b = {self.value()}", f"d.a[{self.index()}] += {self.value()}", "d.a *= 0.5", "s += d.b", f"d.b += d.a[{self.index()}]", "d = State(d.a * 1.0, d.b)",
            "d = dataclasses.replace(d, b=s)",
        )  # fmt: skip

    def masks(self) -> str:
        a = self.array()
        return self.pick(
            f"{a}[{a} > 0] = {self.value()}", f"{a}[{self.array()} < 0.2] *= 0.5", "m[m > 0.3] += 0.25", f"{a}[np.abs({a}) > 5.0] = 1.0",
            f"s += {a}[{a} > 0].sum()", f"np.putmask({a}, {a} > 1.0, 0.5)", f"t += np.count_nonzero({a} > s)",
        )  # fmt: skip

    def views(self) -> str:
        self.fresh += 1
        v, a = f"v{self.fresh}", self.array()
        return self.pick(
            f"{v} = {a}[{self.pick('1:', '::2', '::-1')}]; {v}[0] {self.pick('=', '+=')} {self.value()}", f"{v} = m[{self.row()}]; {v}[1:] += 0.5",
            f"{v} = m.T; {v}[0] = {self.value()}", f"{v} = m.reshape(4, 3); {v}[1] *= 0.5", f"{v} = m[:, 1]; {v} += {self.value()}",
            f"{v} = {a}.reshape(2, 2); {v}[:, 0] = {self.value()}", f"{v} = m[1:, ::2]; {v} *= 0.5", f"{v} = {a}[:, None]; {v}[0, 0] = {self.value()}",
        )  # fmt: skip

    def raising(self) -> str:
        return f"if {self.condition()}: raise ValueError('{self.r.randrange(100)}')"

    def branch(self, indent: int, depth: int, loop: bool) -> None:
        pad = "    " * indent
        self.lines.append(f"{pad}if {self.condition()}:")
        self.block(indent + 1, depth - 1, loop)
        if loop and self.r.random() < 0.3:
            self.lines.append(f"{pad}    {self.pick('break', 'continue')}")
        elif self.has("returns") and self.r.random() < 0.15:
            extra = ", d.a, d.b" if self.has("dataclasses") else ""
            self.lines.append(f"{pad}    return t, {self.number()}, x, y, z, i, w, q, m{extra}")
        if self.r.random() < 0.5:
            self.lines.append(f"{pad}else:")
            self.block(indent + 1, depth - 1, loop)


_LOSS = (
    """
def loss(x, y, m, s, n):
    s, t, x, y, z, i, w, q, m, *rest = f(x, y, m, s, n)
    total = s * 0.7 + t * 0.9 + np.sum(x * [0.3, 0.5, -0.2, 0.9]) + np.sum(y * [0.1, -0.6, 0.4, 0.2]) + sum(w) * 0.3
    total = total + np.sum(np.tanh(z)) + np.sum(q[0] * [0.5, 0.2, -0.4, 0.1]) + np.sum(q * m) * 0.1 + m[1, 2] - 0.5 * m[0, 1]
    for a in rest:
        total = total + np.sum(a) * 0.25
    return total


""".strip("\n").splitlines()
    + ["", ""]
)

_GENERATORS = (
    ("for v in a:", "    yield np.tanh(v + b)"),
    ("for v in a:", "    if v > b:", "        yield v * 0.5", "yield b"),
    ("while b < 2.0:", "    yield b", "    b = b + 0.6 + abs(np.tanh(a[0]))"),
    ("yield a[0]", "yield from a", "yield b"),
    ("for k in range(len(a)):", "    a[k] *= 0.9", "    yield a[k] + b * k"),
    ("k = 0", "while True:", "    yield a[k % 4] * b", "    k += 1", "    if k > 5 or b > a[0]:", "        return"),
)

FEATURES = (
    "raises",
    "alias",
    "closures",
    "asking",
    "recursion",
    "dataclasses",
    "lists",
    "masks",
    "views",
    "returns",
    "nones",
    "states",
    "draws",
    "likes",
    "kinds",
    "generators",
    "shared",
)


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    r = random.Random(f"loops {seed}")
    chosen = set(FEATURES) if features is None else set(features)
    made = Wide(seed, frozenset(chosen))
    imports = ["import dataclasses", "", "import numpy as np", "", "from tests.fuzz import compare", "", ""]
    source = "\n".join([*imports, *made.helpers, *made.lines, "", "", *_main(r)]) + "\n"
    return Case("loops", seed, source, frozenset(made.used))


def _main(r: random.Random) -> list[str]:
    draw = lambda k: [round(r.uniform(-1, 1), 2) for _ in range(k)]
    vector, matrix = lambda: f"np.array({draw(4)})", lambda: f"np.array({[draw(4) for _ in range(3)]})"
    inputs = [f"        ({vector()}, {vector()}, {matrix()}, {draw(1)[0]}, {n})," for n in (3, 0, 6, 1)]
    whole = ", whole=True" if r.random() < 0.1 else ""
    lines = ["def main():", "    inputs = [", *inputs, "    ]", f"    compare.values(f, *inputs, kinds=False{whole})"]
    if r.random() > 0.35:
        return lines
    return [*_LOSS, *lines, f"    compare.gradient(loss, inputs[{r.randrange(4)}], (0, 1, 2, 3))"]
