"""Classes of the program: methods that change their object, operators, properties, subclasses, dataclasses, context managers.

Objects are made inside and given from outside; those given are compared after the call, with all of their attributes. Methods are called
often enough to be read once and called. Variables are one of two objects, and a number on some paths and an array on others.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.fuzz.case import Case
from tests.fuzz.grammar import Program, module, number, vector

FEATURES = (
    "subclass", "operators", "order", "containers", "dataclass", "properties", "cached", "some paths", "chosen", "varying", "managers", "match", "functions", "outside", "mixin", "jumps", "static",
)  # fmt: skip


class Objects(Program):
    most = 7

    def __init__(self, seed: int, features: frozenset[str]):
        super().__init__("objects", seed, features)
        self.jumps = "jumps" in features
        self.helpers: list[str] = []
        self.objects = ["o", "p"] if self.has("outside", 0.7) else ["o"]
        self.classes = ["Base"]
        self.read = ["o.a", "o.b", "o.n"]
        self.ways: list[tuple[float, Callable[[], str]]] = [(4, self.attributes), (4, self.methods)]
        self.write_classes()
        start = [
            "t = 0.5",
            f"o = {self.one(self.classes)}({self.pick('x * 0.5', 'y + 1.0', 'x.copy()', 'np.tanh(y)')}, {self.pick('s', 't', 'np.tanh(s)')})",
            "c = 0.0",
            "g = h = o",
        ]
        if self.has("dataclass", 0.6):
            start.append("e = Pair(x * 0.5, s)")
            self.read += ["e.u", "e.v", "e.w[0]"]
            self.ways.append((2, self.dataclass))
        if self.has("some paths", 0.6):
            self.read += ["getattr(o, 'extra', 0.25)", "hasattr(o, 'extra')"]
            self.ways.append((2, self.some_paths))
        if self.has("chosen", 0.5):
            self.read += ["g.b", "h.a"]
            self.ways.append((2, self.chosen))
        if self.has("varying", 0.5):
            self.read += ["np.sum(c)"]
            self.ways.append((2, self.varying))
        if self.has("functions", 0.6):
            self.write_functions()
            self.ways.append((3, self.functions))
        self.add(*start)
        self.write()
        self.add(f"return s, t, x, y, {', '.join(self.read)}")

    # classes

    def write_classes(self) -> None:
        add = self.helpers
        mixed = self.has("mixin", 0.4)
        if mixed:
            add += [
                "class Shift:",
                "    bias = 0.1",
                "    def shifted(self, v):",
                f"        return v * {self.pick('self.b', '0.5', 'self.a[0]')} + self.bias",
                "",
                "",
            ]
        add += [f"class Base{'(Shift)' if mixed else ''}:", "    rate = 0.5", "    n = 0"]
        add += [
            "    def __init__(self, a, b):",
            "        self.a, self.b = a, b",
            *self.one(([], ["        self.n = 1"], ["        self.sums = [b, 0.5]"])),
        ]
        self.sums = add[-1].endswith("[b, 0.5]")
        recursive = not self.objects[1:] and self.r.random() < 0.15  # what calls itself may not change objects from outside
        add += [
            "    def step(self, v):",
            *("        " + line for line in self.body(_RECURSIVE if recursive else self.one(_STEPS))),
        ]
        add += ["    def energy(self):", f"        return {self.one(_ENERGIES)}"]
        if self.has("properties", 0.6):
            add += [
                "    @property",
                "    def both(self):",
                f"        return {self.pick('self.a[0] + self.b', 'self.b * self.rate', 'np.sum(self.a) * self.b')}",
            ]
            if self.r.random() < 0.6:
                add += [
                    "    @both.setter",
                    "    def both(self, v):",
                    f"        {self.pick('self.b = v * 0.5', 'self.a[0] = v', 'self.a = self.a * v')}",
                ]
                self.ways.append((1, lambda: f"{self.object()}.both {self.pick('=', '+=', '*=')} {self.value()}"))
            self.numbers += ["o.both"]
        if self.has("cached", 0.4):
            add += [
                "    @functools.cached_property",
                "    def size(self):",
                "        self.n += 1",
                "        return np.sum(self.a * self.a) + self.b",
            ]
            self.numbers += ["o.size"]
            self.ways.append((0.5, lambda: f"s += {self.object()}.size * 0.1"))
        if self.has("static", 0.4):
            add += [
                "    @staticmethod",
                "    def half(v):",
                "        return v * 0.5",
                "    @classmethod",
                "    def of(cls, x, v):",
                "        return cls(x * v, v)",
            ]
            self.ways += [
                (0.5, lambda: f"s += Base.half({self.object()}.b)"),
                (
                    0.7,
                    lambda: (
                        f"{'o' if not self.depth else 'z'} = {self.one(self.classes)}.of({self.pick('x', 'y')}, {self.value()})"
                    ),
                ),
            ]
        if self.has("operators", 0.6):
            self.operators()
        if self.has("order", 0.5):
            self.order()
        if self.has("containers", 0.5):
            add += [
                "    def __len__(self):",
                "        return len(self.a)",
                "    def __getitem__(self, k):",
                f"        return self.a[k]{self.pick('', ' * self.b')}",
            ]
            add += [
                "    def __setitem__(self, k, v):",
                f"        {self.pick('self.a[k] = v', 'self.a[k] = v; self.b += 0.1')}",
                "    def __iter__(self):",
                self.pick("        return iter(self.a)", "        for v in self.a:\n            yield v * self.b"),
            ]
            add += [
                "    def __contains__(self, v):",
                "        return v > self.a[0]",
                "    def __call__(self, v):",
                "        self.n += 1",
                "        return v * self.b + self.a[1]",
            ]
            self.ways.append((2, self.container))
        if self.has("managers", 0.4):
            add += [
                "    def __enter__(self):",
                f"        {self.pick('self.b *= 0.5', 'self.n += 1', 'self.a[0] += 0.25')}",
                "        return self",
            ]
            add += [
                "    def __exit__(self, kind, error, trace):",
                f"        {self.pick('self.b += 0.5', 'self.n += 2', 'self.a = self.a * 2')}",
                f"        return {self.pick('None', 'kind is ValueError', 'False')}",
            ]
            self.ways.append((1, self.manager))
        add += ["", ""]
        if self.has("subclass", 0.6):
            self.subclass(mixed)
        if "dataclass" in self.features:
            add += [
                "@dataclasses.dataclass",
                "class Pair:",
                "    u: object",
                "    v: float",
                "    w: list = dataclasses.field(default_factory=lambda: [0.5, 1.0])",
            ]
            if self.r.random() < 0.5:
                add += [
                    "    def __post_init__(self):",
                    f"        self.{self.pick('v = self.v * 0.5', 'extra = self.v + self.u[0]', 'w = [self.v, 2.0]')}",
                ]
            add += [
                "    def mixed(self, s):",
                f"        {self.pick('self.v += s', 'self.w[0] = s', 'pass')}",
                "        return np.sum(self.u) * self.v + self.w[1]",
                "",
                "",
            ]
        if self.has("match", 0.4):
            self.ways.append((1, self.match))

    def body(self, lines: tuple[str, ...]) -> list[str]:
        return [
            line.replace("@", self.pick("0.5", "v", "self.rate", "self.b")).replace("#", self.pick("0", "1", "-1"))
            for line in lines
        ]

    def operators(self) -> None:
        add = self.helpers
        for op in self.r.sample(["add", "mul", "sub"], 2):
            sign = {"add": "+", "mul": "*", "sub": "-"}[op]
            add += [
                f"    def __{op}__(self, other):",
                "        if isinstance(other, Base):",
                f"            return Base(self.a {sign} other.a, self.b {sign} other.b)",
            ]
            if self.r.random() < 0.3:
                add += ["        if not isinstance(other, (int, float, np.floating)):", "            return NotImplemented"]
            add += [f"        return Base(self.a {sign} other, self.b)"]
            if self.r.random() < 0.6:
                add += [f"    def __r{op}__(self, other):", f"        return Base(other {sign} self.a, self.b)"]
                self.ways.append((1, lambda sign=sign: f"{self.fresh_object()} = {self.value()} {sign} {self.object()}"))
            self.ways.append(
                (1, lambda sign=sign: f"{self.fresh_object()} = {self.object()} {sign} {self.pick(self.object(), self.value())}")
            )
            self.ways.append(
                (1, lambda sign=sign: f"s += 0.1 * ({self.object()} {sign} {self.pick(self.object(), 't')}).energy()")
            )
        if self.r.random() < 0.5:
            add += [
                "    def __iadd__(self, v):",
                f"        {self.pick('self.b += v', 'self.a[0] += v', 'self.a = self.a + v')}",
                "        return self",
            ]
            self.ways.append((1, lambda: f"{self.object()} += {self.value()}"))
        add += [
            "    def __neg__(self):",
            "        return Base(-self.a, -self.b)",
            "    def __abs__(self):",
            "        return np.sum(np.abs(self.a)) + abs(self.b)",
        ]
        self.ways += [(0.7, lambda: f"t += 0.1 * abs({self.pick('', '-')}{self.object()})")]

    def order(self) -> None:
        add = self.helpers
        add += [
            "    def __eq__(self, other):",
            f"        return isinstance(other, Base) and {self.pick('self.b == other.b', 'self.b > 0.3', 'self.a[0] == other.a[0]', 'bool(np.all(self.a == other.a))')}",
        ]
        add += [
            "    def __lt__(self, other):",
            f"        {self.pick('pass', 'self.n += 1')}",
            f"        return {self.pick('self.b < other.b', 'self.a[0] < other.a[0]')}",
        ]
        add += [
            "    def __bool__(self):",
            f"        return {self.pick('self.b > 0.2', 'bool(self.a[0] > self.b)', 'self.n > 0')}",
        ]
        all_ = ", ".join(self.objects + ["Base(x, t)"])
        self.ways.append((2, lambda: self.pick(
            f"if {self.object()} == {self.object()}:\n    s += {self.value()}", f"if {self.object()} < {self.object()}:\n    {self.object()}.b = {self.value()}", f"s += min([{all_}]).b * 0.5", f"s += sorted([{all_}])[{self.pick('0', '-1')}].a[0] * 0.5",
            f"t += 0.5 if {self.object()} in [Base(y, s), {self.object()}] else 0.25", f"if {self.object()}:\n    t += {self.value()}", f"t += 0.25 if {self.object()} != {self.object()} else 0.5", f"s += 0.1 * [{self.object()}, {self.object()}].count({self.object()})",
            f"s += (({self.object()} or {self.object()}).b) * 0.1", f"t += 0.1 if not {self.object()} else 0.2", f"s += max({self.object()}, {self.object()}, key=lambda v: v.b).a[1]",
        )))  # fmt: skip

    def subclass(self, mixed: bool) -> None:
        add = self.helpers
        add += ["class Sub(Base):", *self.one((["    rate = 0.25"], []))]
        if self.r.random() < 0.7:
            add += [
                "    def __init__(self, a, b):",
                f"        super().__init__({self.pick('a', 'a * 0.5')}, {self.pick('b', 'b + 0.1', 'np.tanh(b)')})",
                "        self.m = b * 2.0",
            ]
        if self.r.random() < 0.8:
            add += [
                "    def step(self, v):",
                f"        {self.pick('self.b += 0.1', 'v = v * 0.5', 'pass')}",
                f"        return super().step({self.pick('v', 'v + self.b', 'v * self.rate')}) {self.pick('+', '*')} {self.pick('self.b', '0.5', 'v')}",
            ]
        if self.r.random() < 0.6:
            add += [
                "    def energy(self):",
                "        found = Base.energy(self)" if self.r.random() < 0.3 else "        found = super().energy()",
                f"        return found * {self.pick('0.5', 'self.rate', 'self.b')}",
            ]
        add += ["    def kind(self):", "        return 2.0", "", ""]
        self.classes.append("Sub")
        if mixed:
            self.ways.append((1, lambda: f"s += {self.object()}.shifted({self.value()})"))

    # statements

    def object(self) -> str:
        return self.one(self.objects)

    def fresh_object(self) -> str:
        return "o" if not self.depth else self.pick("o", "z")

    def new(self) -> str:
        return f"{self.one(self.classes)}({self.pick('x * 0.5', 'y + 1.0', 'x.copy()', 'np.tanh(y)')}, {self.value()})"

    def term(self) -> str:
        o = self.object()
        return self.pick(f"x[{self.index()}]", f"{o}.a[{self.index()}]", f"{o}.b", f"{o}.energy()", "y[0]")

    def simple(self) -> str:
        if self.r.random() < 0.15:
            name = self.pick("s", "t")
            return self.pick(
                f"{name} = {self.number()}",
                f"{name} {self.pick('+', '-', '*')}= {self.value()}",
                f"x[{self.index()}] += {self.value()}",
            )
        return self.r.choices([f for _, f in self.ways], [k for k, _ in self.ways])[0]()

    def attributes(self) -> str:
        o, v = self.object(), self.value()
        sums = [f"{o}.sums[{self.pick('0', '1')}] += {v}", f"s += sum({o}.sums)", f"{o}.sums = [{v}, t]"] if self.sums else []
        return self.pick(
            f"{o}.b {self.pick('=', '+=', '*=')} {v}", f"{o}.a[{self.index()}] {self.pick('=', '+=')} {v}", f"{o}.a *= 0.5", f"{o}.a = {self.pick('x', 'y * 0.5', f'{o}.a + {v}')}", f"{o}.n += 1", f"s += {o}.b * 0.5", f"{o}.a[1:] += {o}.a[:-1] * 0.5",
            f"{o}.a, {o}.b = {o}.a * {o}.b, {v}", f"s += {o}.n * 0.1", f"x = {o}.a * 0.5", f"{o}.b = {self.object()}.b", f"t += type({o}).rate", *sums,
        )  # fmt: skip

    def methods(self) -> str:
        o, v = self.object(), self.value()
        return self.pick(
            f"s += {o}.step({v})", f"t = np.tanh({o}.step({v}))", f"s += {o}.energy() * 0.1", f"s += {o}.step({o}.step({v}))", f"for k in range(2):\n    s += 0.1 * {o}.step(s)", f"t += sum({o}.step(v) for v in x) * 0.1", f"{o}.step({v})", f"o.b = {o}.step(t)",
            f"if {o}.step({v}) > 0.3:\n    s += 0.5", f"w = [{o}.step(k * 0.1) for k in range(3)]\ns += w[1] * 0.2",
        )  # fmt: skip

    def container(self) -> str:
        o, v = self.object(), self.value()
        return self.pick(f"s += {o}[{self.index()}]", f"{o}[{self.index()}] {self.pick('=', '+=')} {v}", f"s += 0.1 * sum({o})", f"for v in {o}:\n    t += 0.1 * np.tanh(v)", f"t += 0.5 if {v} in {o} else 0.25", f"s += {o}({v})", f"s += 0.1 * len({o})", f"t = max({o})", f"x[:2] = {o}[:2]", f"s += 0.1 * sum(a * b for a, b in zip({o}, x))")  # fmt: skip

    def manager(self) -> str:
        o, v = self.object(), self.value()
        return self.pick(
            f"with {o} as m:\n    s += m.step({v})",
            f"with {o}:\n    x[0] += {v}\n    s += {o}.b",
            f"with {o}, {self.object()}:\n    t += {v}",
        )

    def match(self) -> str:
        o = self.object()
        return self.pick(
            f"match {o}:\n    case Base(b=v) if v > {self.constant()}:\n        s += v\n    case Base():\n        t += 0.25", f"match {o}.n:\n    case 0:\n        s += 0.5\n    case 1 | 2:\n        {o}.b = t\n    case _:\n        t += {self.value()}",
        )  # fmt: skip

    def dataclass(self) -> str:
        v = self.value()
        return self.pick(f"e.v {self.pick('=', '+=')} {v}", f"e.u[{self.index()}] += {v}", "e.u = e.u * 0.5", f"s += e.mixed({v}) * 0.1", f"e = dataclasses.replace(e, v={v})", "s += e.v", f"e.w[{self.pick('0', '1')}] += {v}", "e = Pair(e.u + 0.5, e.v)", "s += dataclasses.asdict(e)['v']", "t += 0.5 if e == e else 0.1", f"e.w = [e.v, {v}]")  # fmt: skip

    def some_paths(self) -> str:
        o, v = "o", self.value()
        return self.pick(
            f"if {self.condition()}:\n    {o}.extra = {v}", f"s += getattr({o}, 'extra', 0.5)", f"if hasattr({o}, 'extra'):\n    s += {o}.extra", f"if hasattr({o}, 'extra') and {self.condition()}:\n    del {o}.extra", f"{o}.extra = getattr({o}, 'extra', {v}) * 0.5", f"{o}.rate = {v}", f"if {self.condition()}:\n    {o}.rate = {v}", f"s += {o}.rate",
            f"setattr({o}, 'extra', {v})", f"try:\n    s += {o}.extra\nexcept AttributeError:\n    s += {v}",
        )  # fmt: skip

    def chosen(self) -> str:
        v = self.value()
        a, b = self.object(), self.object()
        return self.pick(f"g = {a}\ns += g.b", f"s += ({a}.b if {self.condition()} else {b}.b)", f"h = {a}", "s += g.energy() * 0.1", f"g.a[0] += {v}", f"s += h.step({v})", f"if {self.condition()}:\n    h = {self.new()}", f"g = {self.new()}", f"t += 0.5 if g is {a} else 0.25", "h.n += 1")  # fmt: skip

    def varying(self) -> str:
        v = self.value()
        return self.pick(
            f"if {self.condition()}:\n    c = c + x", "c = c * 0.5", f"c += {v}", f"c = {v}", "c = c + y", "s += np.sum(c) * 0.1", "if np.ndim(c):\n    s += c[0]\nelse:\n    s += c", "s += 0.1 if isinstance(c, float) else 0.2", "c = np.tanh(c)", f"c = c if {self.condition()} else x * {v}",
            "x = x + c * 0.1", "s += np.max(c) * 0.5", "t += 0.5 * float(np.mean(c))", f"c = np.where(x > 0, c, {v})", "if np.isscalar(c):\n    c = c * 2", "c = -c", f"c = np.maximum(c, {v})", f"w = [c, {v}]\ns += np.sum(w[0]) * 0.1", "c, s = np.sum(c) * 0.5, s + 0.1",
        )  # fmt: skip

    def write_functions(self) -> None:
        first = self.one(_FUNCTIONS)
        self.helpers += ["def helper(v, a, o, k=2):", *("    " + line for line in first), "", ""]

    def functions(self) -> str:
        o, v = self.object(), self.value()
        return self.pick(f"s += helper({v}, x, {o})", f"s += helper({v}, {o}.a, {o}, 3) * 0.5", f"for k in range(n):\n    s += 0.1 * helper({v}, y, {o})", f"t = np.tanh(helper(t, x, {o}) + helper(s, y, {o}))", f"s += sum(helper(v, x, {o}) for v in y) * 0.1", f"o.b = helper(o.b, o.a, {o}, k={self.pick('1', '4')})")  # fmt: skip


_STEPS = (
    ("self.b = self.b * 0.5 + v", "return self.b"),
    ("self.a = self.a * @ + v", "self.n += 1", "return np.tanh(self.a[#])"),
    ("self.a[#] += v", "return np.sum(self.a) * 0.1"),
    ("if v > self.b:", "    self.b = v * 0.5", "    return v", "self.n += 1", "return self.b + @"),
    ("for k in range(3):", "    self.b = np.tanh(self.b + v * k)", "    self.a[k] += @ * 0.1", "return self.b"),
    ("old = self.a", "self.a = np.tanh(self.a + v)", "self.b += np.dot(old, self.a) * 0.1", "return self.b * @"),
    ("self.n = self.n + 1 if v > 0 else 0", "return v * self.n + self.b"),
    ("self.a, self.b = self.a[::-1] * 0.5, self.a[0] + v", "return self.energy() * 0.1"),
    ("z = self.a", "z[#] = v", "self.b -= z[0] * @", "return z[1]"),
)
_RECURSIVE = ("if self.n > 2:", "    return self.b", "self.n += 1", "return self.step(v * 0.5) + self.a[#]")
_ENERGIES = (
    "np.sum(self.a ** 2) + self.b",
    "self.b ** 2 + self.a[0]",
    "np.dot(self.a, self.a) * self.rate",
    "0.5 * (self.b + np.max(self.a))",
    "np.tanh(self.b) + self.n * 0.1",
)
_FUNCTIONS = (
    ("z = np.tanh(a * v + o.b)", "for j in range(k):", "    z = z * 0.5 + np.sin(z) * o.a", "    v = v + z[0] * 0.1", "w = np.exp(-z * z) + np.cos(z * v)", "return np.sum(w * z) * v + np.mean(np.log(1.0 + w * w))"),
    ("o.b += 0.1 * v", "z = a * o.b + np.sin(a) * v", "z = np.sqrt(1.0 + z * z) + np.cos(z)", "for j in range(k):", "    o.a[j] += np.sum(z) * 0.01", "    z = np.tanh(z * 0.5 + o.a)", "return np.mean(z) + o.energy() * 0.1"),
    ("a[0] = a[0] * 0.5 + v", "z = a * a + np.sin(a * o.b)", "if v > 0.2:", "    z = z + np.cos(z) * v", "    o.n += 1", "w = np.tanh(z) * np.exp(-z * z) + a", "w = w / (1.0 + np.abs(w)) + np.log(1.0 + z * z)", "return np.sum(w) * 0.1"),
    ("def inner(u):", "    return np.tanh(u * v) + np.sin(u) * o.b", "z = inner(a) + inner(a * 0.5)", "z = inner(z) * np.cos(z) + z * z", "o.a = z * 0.5", "return np.sum(np.exp(-z * z)) * 0.1 + o.step(v)"),
    ("total = 0.0", "for u in a:", "    if u > v:", "        continue", "    total = total + np.tanh(u * v) + o.b", "    o.step(u * 0.1)", "return total * 0.2 + np.sum(np.sin(a) * np.cos(a * v) + a * a * np.exp(-a * a))"),
    ("if k > 2:", "    return helper(v * 0.5, a, o, k - 1) + o.b", "z = np.sin(a + v) * np.cos(a) + a", "z = z * np.tanh(z + o.b) + np.sqrt(1.0 + z * z)", "return np.sum(z * z) * 0.1"),
)  # fmt: skip

LOSS = """
def loss(x, y, p, s, n):
    s, t, x, y, *rest = f(x, y, p, s, n)
    total = s * 0.7 + t * 0.9 + np.sum(x * [0.3, 0.5, -0.2, 0.9]) + np.sum(y * [0.1, -0.6, 0.4, 0.2])
    for a in rest:
        total = total + np.sum(a) * 0.25
    return total + p.b + np.sum(p.a)
"""


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    r = random.Random(f"objects {seed} inputs")
    made = Objects(seed, frozenset(FEATURES) if features is None else features)
    cls = r.choice(made.classes)
    args = [f"        ({vector(r)}, {vector(r)}, {cls}({vector(r)}, {number(r)}), {number(r)}, {n})," for n in (3, 0, 2)]
    text = module(r, made, ("dataclasses", "functools"), "def f(x, y, p, s, n):", args, LOSS, ((0, 0, 2), "(0, 1, 3)"))
    return Case("objects", seed, text, frozenset(made.used))
