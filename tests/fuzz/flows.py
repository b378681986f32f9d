"""Exceptions, generators, iterators, context managers and counters: in loops, around loops, and in functions that are called.

What is counted on the way (`log`, a list that every function and block appends to) shows what ran, how often and in which order.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.fuzz.case import Case
from tests.fuzz.grammar import Program, module, number, vector

FEATURES = ("tries", "finally", "raising functions", "generators", "itertools", "managers", "match", "counters", "loops in tries", "nested", "jumps", "returns", "recursion", "closures")  # fmt: skip
EXCEPTIONS = (
    "ValueError",
    "ZeroDivisionError",
    "IndexError",
    "KeyError",
    "ArithmeticError",
    "(ValueError, IndexError)",
    "Exception",
    "LookupError",
    "Own",
)


class Flows(Program):
    most = 6

    def __init__(self, seed: int, features: frozenset[str]):
        super().__init__("flows", seed, features)
        self.jumps = "jumps" in features
        self.helpers = ["class Own(ValueError):", "    pass", "", ""]
        self.tried = 0
        self.closed = 0
        self.ways: list[tuple[float, Callable[[], str]]] = [(3, self.plain)]
        start = ["t = 0.5", "m = 0", "w = [s, t, 1.5]", "d = {'a': s, 'b': 2.0}"]
        if self.has("raising functions", 0.7):
            self.risky_functions()
        if self.has("generators", 0.6):
            self.generators()
        if self.has("itertools", 0.5):
            self.ways.append((2, self.iterators))
        if self.has("managers", 0.5):
            self.managers()
        if self.has("counters", 0.6):
            start += [
                "def tick(v):",
                "    nonlocal m",
                "    m += 1",
                f"    {self.pick('pass', 'if v > 0.4: m += 2', 'w[0] += v')}",
                "    return v * 0.5",
            ]
            self.ways.append((2, self.counted))
        if self.has("closures", 0.4):
            start += ["def near(a, b=t):", f"    return {self.pick('a * t + b', 'max(a, b) + s', 'a if a > t else b')}"]
            self.ways.append((1, lambda: f"s += 0.1 * near({self.value()})"))
        if self.has("recursion", 0.3):
            self.helpers += ["def deep(k, v, seen):", *self.one(_DEEP), "", ""]
            self.ways.append((1, lambda: f"s += 0.1 * deep({self.pick('n', '3')}, {self.value()}, w)"))
        self.add(*start)
        self.write()
        self.add("return s, t, m, x, y, w, d['a'], d['b']")

    def term(self) -> str:
        return self.pick(f"x[{self.index()}]", "y[0]", "w[0]", "w[-1]", "d['a']", "m")

    def condition(self) -> str:
        return self.pick(super().condition(), f"m % 2 == {self.r.randrange(2)}", f"w[1] > {self.constant()}")

    def kinds(self):
        found = super().kinds()
        if "tries" in self.features:
            found.append((4, self.try_block))
        if "match" in self.features:
            found.append((1, self.match))
        return found

    # what may raise

    def risky(self) -> str:
        v = self.number()
        forms = [
            f"s = float(s) / {self.pick('m', 'int(t)', '(m % 2)', 'n')}", f"t = float(m // {self.pick('n', 'int(s * 2)', '(m - 1)')})", f"s += w[{self.pick('m', 'n', '5', 'int(abs(t) * 4)')}]", f"t += d[{self.pick(repr('a'), repr('z'), repr('b'))}]", f"t = math.sqrt({v})", f"s += math.log({v}) * 0.1",
            f"if {self.condition()}:\n    raise {self.pick('ValueError', 'IndexError', 'KeyError', 'Own', 'ZeroDivisionError')}({self.pick(repr('no'), repr('at') + ', m')})", f"assert {self.condition()}, 'wrong'", f"s += x[{self.pick('n', 'm')}]", f"m = int({v})", "w.remove(t)" if not self.depth else "s += w[m]",
        ]  # fmt: skip
        if "raising functions" in self.used:
            forms += [f"s += risky({v}, x, w)", "t = risky(t, y, w) * 0.5", "s += 0.1 * sum(risky(v, x, w) for v in y)"] * 2
        if "counters" in self.used:
            forms += [f"s = float(tick(s)) / {self.pick('m', '(m % 3)')}"]
        return self.one(forms)

    def risky_functions(self) -> None:
        self.helpers += ["def risky(v, a, w):", *("    " + line for line in self.one(_RISKY)), "", ""]
        self.ways.append(
            (1, lambda: self.risky() if self.r.random() < 0.3 else f"s += 0.1 * risky(abs({self.value()}) + 0.1, x, w)")
        )

    def try_block(self, depth: int) -> None:
        catches = self.r.random() < 0.9
        self.add("try:")
        self.depth += 1
        if self.r.random() < 0.5:
            self.statement(0)
        if self.has("loops in tries", 0.35) and depth > 1:
            k = self.name("k")
            self.add(f"for {k} in range({self.pick('n', '3')}):")
            self.depth += 1
            self.loops.append(k)
            self.add(self.risky())
            self.statement(0)
            self.loops.pop()
            self.depth -= 1
        else:
            self.add(self.risky())
        if self.r.random() < 0.5:
            self.statement(max(0, depth - 1) if self.has("nested", 0.5) else 0)
        self.depth -= 1
        if catches:
            for name in self.r.sample(EXCEPTIONS, self.r.choice((1, 1, 1, 2))):
                bound = self.r.random() < 0.2
                self.add(f"except {name}{' as e' if bound else ''}:")
                self.depth += 1
                self.add(self.pick("s += 0.25", "t = 0.5", "w[1] = t", "m += 1"))
                if bound:
                    self.add("t += 0.1 * len(e.args)")
                self.jump(depth)
                self.depth -= 1
            if self.r.random() < 0.3:
                self.add("else:")
                self.block(depth)
        if not catches or self.has("finally", 0.35):
            self.add("finally:")
            self.depth += 1
            self.add(self.pick("m += 3", "t = t * 0.5", "s += 0.1", "w[2] = s"))
            self.depth -= 1

    def jump(self, depth: int) -> None:
        if self.jumps and self.loops and self.r.random() < 0.3:
            self.add(self.pick("break", "continue"))
        elif self.has("returns", 0.1):
            self.add("return s, t, m, x, y, w, d['a'], 0.5")
        elif self.r.random() < 0.1:
            self.add("raise")

    def match(self, depth: int) -> None:
        subject, cases = self.one(
            [
                ("m % 3", ["0", "1 | 2"]),
                ("(m > 1, n)", ["(True, 3)", "(False, k)"]),
                ("w", ["[a, _, b] if a > b", "[a, *_]"]),
                ("d", ["{'a': v} if v > 0.5", "{'b': v}"]),
            ]
        )
        self.add(f"match {subject}:")
        for c in cases:
            self.add(f"    case {c}:")
            self.depth += 1
            self.block(depth)
            self.depth -= 1
        self.add("    case _:", f"        s += {self.constant()}")

    # simple statements

    def simple(self) -> str:
        return self.r.choices([f for _, f in self.ways], [k for k, _ in self.ways])[0]()

    def plain(self) -> str:
        v = self.value()
        return self.pick(
            f"s = {self.number()}",
            f"t {self.pick('+', '-', '*')}= {v}",
            f"s, t = t, {v}",
            f"x[{self.index()}] += {v}",
            "m += 1",
            f"w[{self.pick('0', '1', 'm % 3')}] = {v}",
            f"d['a'] {self.pick('=', '+=')} {v}",
            "m = m + 1 if s > t else 0",
            f"s += {v} if m > 1 else t",
        )

    def counted(self) -> str:
        v = self.value()
        return self.pick(
            f"s += tick({v})",
            f"s += tick(tick({v}))",
            "t = tick(s) + tick(t)",
            "s += sum(tick(v) for v in x) * 0.1",
            "t += 0.5 if any(tick(v) > 0.3 for v in x) else 0.1",
            "s += tick(s) if tick(t) > 0.2 else m",
            "for v in y:\n    s += 0.1 * tick(v)",
            f"t = max(tick(s), tick({v}))",
            f"s += (tick(t) > 0.1 and tick(s) or tick({v}))",
        )

    def generators(self) -> None:
        body = self.one(_GENERATORS)
        self.helpers += ["def gen(a, b, w):", *("    " + line for line in body), "", ""]
        g = lambda: f"gen({self.pick('x', 'y')}, {self.value()}, w)"
        self.ways.append((2, lambda: self.pick(
            f"for v in {g()}:\n    s += 0.1 * v", f"for v in {g()}:\n    if v > {self.constant()}:\n        break\n    t += 0.1 * v", f"s += sum({g()}) * 0.1", f"for k, v in enumerate({g()}):\n    t += 0.1 * v * k\n    m += 1", f"for a, b in zip({g()}, y):\n    s += 0.1 * a * b", f"t += max({g()}, default=0.5) * 0.1",
            f"it = {g()}\ns += next(it, 0.5)\nfor v in it:\n    s += 0.1 * v", f"s += next((v for v in {g()} if v > 0.2), 0.25)", f"t += 0.5 if any(v > t for v in {g()}) else 0.1", f"try:\n    for v in {g()}:\n        s += 0.1 / m\nexcept ZeroDivisionError:\n    t += 0.5", f"w = [*w[:2], sum(v * v for v in {g()})]", f"for v in {g()}:\n    m += 1\n    if m > 6:\n        continue\n    s += v * 0.1",
        )))  # fmt: skip

    def iterators(self) -> str:
        return self.pick(
            "for a, b in itertools.product(x[:2], y[:2]):\n    s += 0.1 * a * b", "for a, b in itertools.pairwise(x):\n    t += 0.1 * (b - a)", "for v in itertools.chain(x, w):\n    s += 0.1 * v", "s += 0.1 * sum(itertools.accumulate(x))", "for v in itertools.islice(x, 1, 3):\n    t += 0.1 * v",
            "for k, v in zip(itertools.count(1), y):\n    s += 0.1 * v / k", "s += 0.1 * sum(map(lambda a, b: a * b, x, y))", "for a, b in itertools.combinations(w, 2):\n    t += 0.1 * a * b", "for a, b in itertools.zip_longest(x, w, fillvalue=0.5):\n    s += 0.1 * a * b",
            "for v in reversed(w):\n    s = s * 0.5 + v", "s += 0.1 * functools.reduce(lambda a, b: a * 0.5 + b, x)", "for v, c in zip(itertools.cycle([1.0, -1.0]), x):\n    t += 0.1 * v * c", "for a, b in zip(w[::2], w[1::2]):\n    s += a * b * 0.1", "s += sum(a * b for a, b in zip(x, itertools.repeat(t))) * 0.1", "for v in itertools.starmap(lambda a, b: a * b, zip(x, y)):\n    s += 0.1 * v",
            "for v in itertools.compress(x, [1, 0, 1, 1]):\n    t += v * 0.1", "t += sum(v for k, v in enumerate(x) if k % 2 == m % 2) * 0.1",
        )  # fmt: skip

    def managers(self) -> None:
        self.helpers += [
            "class Held:",
            "    def __init__(self, w, v):",
            "        self.w, self.v = w, v",
            "    def __enter__(self):",
            f"        {self.pick('self.w[0] += 0.25', 'self.v = self.v * 0.5')}",
            "        return self",
            "    def __exit__(self, kind, error, trace):",
            f"        {self.pick('self.w[1] += self.v', 'self.w[0] *= 0.5')}",
            f"        return {self.pick('False', 'None')}",
            "",
            "",
        ]
        self.helpers += [
            "@contextlib.contextmanager",
            "def scope(w, v):",
            "    w[2] += v",
            *self.one((["    yield v * 2"], ["    try:", "        yield v + w[0]", "    finally:", "        w[1] -= 0.25"])),
            *self.one(([], ["    w[0] += 0.1"])),
            "",
            "",
        ]
        self.ways.append((2, lambda: self.pick(
            f"with Held(w, {self.value()}) as h:\n    s += h.v", f"with scope(w, {self.value()}) as c:\n    t += 0.1 * c", "with Held(w, t), scope(w, s) as c:\n    x[0] += np.tanh(c)", f"for k in range(n):\n    with Held(w, {self.value()}) as h:\n        s += 0.1 * h.v", "with contextlib.suppress(ZeroDivisionError):\n    s = float(s) / m", "with contextlib.nullcontext(t) as c:\n    s += c",
            f"for v in x:\n    with scope(w, v) as c:\n        if c > {self.constant()}:\n            continue\n        s += 0.1 * c", f"with Held(w, s) as h:\n    if {self.condition()}:\n        t = {self.value()}\n    else:\n        s += h.v", "try:\n    with Held(w, s):\n        t = float(t) / m\nexcept ZeroDivisionError:\n    m += 1",
        )))  # fmt: skip


_RISKY = (
    ("if v < 0:", "    raise ValueError('negative', v)", "return math.sqrt(v) + a[0]"),
    ("w[0] += 0.1", "if v > 1.0:", "    w[1] = v", "    raise Own('large')", "z = np.tanh(a * v) + np.sin(a) * v", "z = z * np.cos(z) + np.exp(-z * z)", "return np.sum(z) * 0.1"),
    ("try:", "    u = math.log(v)", "except ValueError:", "    w[0] += 0.5", "    return 0.25", "return u * 0.1 + a[1]"),
    ("total = 0.0", "for u in a:", "    if u > v:", "        return total", "    total += math.sqrt(abs(u)) / (1.0 + total * total)", "return total"),
    ("try:", "    return a[int(v * 4)]", "finally:", "    w[2] += 0.125"),
    ("if v > 0.8:", "    raise IndexError(len(a))", "z = np.sin(a + v) * np.tanh(a) + a * a", "z = z / (1.0 + np.abs(z)) + np.sqrt(1.0 + z * z)", "for k in range(3):", "    z = z * 0.5 + np.cos(z * v)", "return np.mean(z) + w[0]"),
    ("n = int(v * 3)", "return a[0] / n + 1 // n"),
    ("assert v > -0.5", "w[1] += v", "return v * 0.5"),
)  # fmt: skip
_GENERATORS = (
    ("for v in a:", "    yield v * b"), ("w[0] += 0.1", "for v in a:", "    if v > b:", "        w[1] += 0.25", "        yield v", "yield b"), ("k = 0", "while k < 3 and b < 2.0:", "    yield b", "    b = b + 0.7", "    k += 1"),
    ("yield a[0]", "yield from a[1:]", "w[2] = b"), ("try:", "    for v in a:", "        yield v + b", "finally:", "    w[0] += 0.5"), ("for v in a:", "    if v < -0.5:", "        return", "    yield math.sqrt(v + 0.5)"),
    ("total = 0.0", "for k, v in enumerate(a):", "    total += v", "    if k % 2:", "        continue", "    yield total * b"),
)  # fmt: skip
_DEEP = (
    [
        "    if k <= 0:",
        "        return v",
        "    try:",
        "        return deep(k - 1, v * 0.5, seen) + math.sqrt(v)",
        "    except ValueError:",
        "        return 0.5",
    ],
    ["    if k <= 0 or v > 3.0:", "        return v", "    seen[0] += 0.1", "    return deep(k - 1, v + seen[1], seen) * 0.5"],
    ["    if v > 0.9:", "        raise Own(k)", "    return v if k < 1 else deep(k - 1, v + 0.2, seen) + v"],
)

LOSS = """
def loss(x, y, s, n):
    s, t, m, x, y, w, a, b = f(x, y, s, n)
    return s * 0.7 + t * 0.9 + np.sum(x * [0.3, 0.5, -0.2, 0.9]) + np.sum(y * [0.1, -0.6, 0.4, 0.2]) + sum(w) * 0.3 + a * 0.4 + b * 0.1
"""


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    r = random.Random(f"flows {seed} inputs")
    made = Flows(seed, frozenset(FEATURES) if features is None else features)
    args = [f"        ({vector(r)}, {vector(r)}, {number(r)}, {n})," for n in (3, 0, 2, 5)]
    text = module(
        r, made, ("contextlib", "functools", "itertools", "math"), "def f(x, y, s, n):", args, LOSS, ((0, 0, 2, 3), "(0, 1, 2)")
    )
    return Case("flows", seed, text, frozenset(made.used))
