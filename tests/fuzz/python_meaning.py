"""Small programs of Python's own numbers, containers and control flow, called with Python's and NumPy's numbers.

The oracle is the same function, run plainly on copies of the arguments: floats with all their bits (those of functions that round
freely, which come last in the result, by 4 units in the last place), types, and exceptions with their texts.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import irad
from irad.errors import IradError, UnsupportedError, VerifyError
from irad.validation.validate import outcome
from tests.fuzz.case import Case, Fault

FEATURES = (
    "branches",
    "loops",
    "while",
    "jumps",
    "match",
    "lists",
    "dicts",
    "collections",
    "gone over",
    "closures",
    "effects",
    "exceptions",
    "comprehensions",
    "rounding",
    "bits",
    "logic",
    "identity",
    "sorting",
    "numpy",
    "extremes",
    "transcendental",
    "optional",
)
ULPS = 4.0
LIMITS = (
    "64 bits",
    "64-bit integer",
    "is complex in Python",
    "of NaN, which has no order",
)  # where Python goes on and irad raises, as documented

COLLECTIONS = [  # (made, changes that keep the structure, read)
    ("collections.Counter('aab')", ["{}.subtract('a')", "{}.update('ab')", "{}['a'] += 2", "{}.update(b=3)"], "{}['a'] * 1.5"),
    ("collections.UserDict(a=1.0)", ["{}['a'] = 3.0", "{}.update(a=2.5)", "{}.__setitem__('a', 4.0)"], "{}['a']"),
    ("collections.UserList([1.0, 2.0])", ["{}[0] = 3.0", "{}.reverse()", "{}.sort(reverse=True)"], "{}[0]"),
    ("collections.ChainMap({'a': 1.0}, {'b': 2.0})", ["{}['a'] = 5.0", "{}.update(a=7.0)"], "({}['a'] + {}['b'])"),
    ("[2.0, 1.0, 3.0]", ["heapq.heapify({})", "heapq.heapreplace({}, 5.0)", "list.reverse({})", "{}.__setitem__(0, 4.0)"], "{}[0]"),
    ("{'a': 1.0}", ["dict.update({}, a=3.0)", "{}.__ior__({'a': 2.5})", "{}.update({'a': 9.0})"], "{}['a']"),
    ("np.array([3.0, 1.0])", ["np.ndarray.sort({})", "{}.__setitem__(0, 9.0)", "{}.sort()", "np.add({}, 1, out={})"], "float({}[0])"),
]  # fmt: skip

# ---- what the programs call -------------------------------------------------------------------------------------------


def compared(f: Callable[..., Any], *inputs: Sequence[Any]) -> None:
    """f compiled does what f does, for each of the argument lists. f returns what must have the same bits, and what may round."""
    c = irad.compile(f)
    for args in inputs:
        want = outcome(lambda args=args: f(*copy.deepcopy(args)))
        try:
            got = outcome(lambda args=args: c(*copy.deepcopy(args)))
        except IradError as e:
            if isinstance(want, Exception) and isinstance(e, type(want)) and not isinstance(e, (VerifyError, UnsupportedError)):
                continue  # a compile-time error of the same type
            raise
        if isinstance(got, ValueError | OverflowError) and any(t in str(got) for t in LIMITS):
            continue
        mixed = any(isinstance(x, np.generic) for x in args)
        if mixed and isinstance(want, (ArithmeticError, ValueError)):
            continue  # a number that is NumPy's on one path is NumPy's on both
        if found := differs(got, want, mixed):
            raise Fault(f"{found}\nirad: {got!r}\nPython: {want!r}\narguments: {args!r}")


def differs(got: Any, want: Any, mixed: bool) -> str:
    """What differs, or "". `mixed`: NumPy's numbers may stand where Python's do on one path."""
    if isinstance(got, Exception) or isinstance(want, Exception):
        text = lambda e: re.sub(r"np\.\w+\(([^()]*)\)", r"\1", str(e)) if mixed else str(e)
        same = type(got) is type(want) and text(got) == text(want)
        return "" if same else f"{_what(got)}, not {_what(want)}"
    exact, free = leaves(got[0]), leaves(got[1])
    found = [_number(g, w, mixed, 0.0) for g, w in zip(exact, leaves(want[0]))]
    found += [_number(g, w, mixed, ULPS) for g, w in zip(free, leaves(want[1]))]
    if any(found):
        return next(t for t in found if t)
    return "" if _shape(got) == _shape(want) else f"{_shape(got)}, not {_shape(want)}"


def _what(x: Any) -> str:
    return f"raises {type(x).__name__}: {x}" if isinstance(x, Exception) else "a value"


def leaves(x: Any) -> list[Any]:
    if isinstance(x, dict):
        x = list(x.values())
    return [t for v in x for t in leaves(v)] if isinstance(x, (list, tuple)) else [x]


def _shape(x: Any) -> Any:
    """The containers around the leaves."""
    if isinstance(x, dict):
        return {k: _shape(v) for k, v in x.items()}
    return type(x)(_shape(v) for v in x) if isinstance(x, (list, tuple)) else "."


def _number(got: Any, want: Any, mixed: bool, ulps: float) -> str:
    """What differs between two numbers."""
    bools = isinstance(want, (bool, np.bool_)) and isinstance(got, (bool, np.bool_))
    other = mixed and (bools or isinstance(got, np.generic) and np.asarray(want).dtype == got.dtype)
    if type(got) is not type(want) and not other:
        return f"{type(got).__name__} {got!r}, not {type(want).__name__} {want!r}"
    g, w = (x.item() if isinstance(x, np.generic) else x for x in (got, want))
    if repr(g) == repr(w):
        return ""
    if ulps and isinstance(w, float) and abs(g - w) <= ulps * np.spacing(abs(np.asarray(want))):
        return ""
    return f"{g!r}, not {w!r}"


# ---- the programs ---------------------------------------------------------------------------------------------------------

FLOATS = ("0.5", "1.5", "2.0", "-1.0", "3.25", "0.1", "-2.5", "0.0")
ODD_FLOATS = (
    "-0.0",
    "float('inf')",
    "float('nan')",
    "2.675",
    "-2.675",
    "1e16",
    "5e-324",
    "1e308",
    "-float('inf')",
    "1.005",
    "2.5",
)
INTS = ("0", "1", "2", "3", "-1", "5", "-4", "7")
TIES = (  # not what they seem, if one multiplies
    "2.675", "1.005", "0.285", "-1.115", "0.145", "8.345", "-0.5", "1.0005", "12.5", "0.05", "-0.15", "0.35", "0.005", "0.025", "0.0015",
)  # fmt: skip
LARGE = ("2**31", "2**31 - 1", "-2**31 - 1", "2**40 + 1", "2**62", "2**63 - 1", "-2**63")
ODD_INTS = ("2**53 + 1", "-2**31", "10**15", "2**62")


class Program:
    """One random function of two floats, two ints, a bool, a list of floats, a dict of floats and None or a float.

    Each variable keeps its type: `f0`, `f1` are floats, `i0`, `i1` ints, `b0`, `b1` bools, `xs`, `ys` lists of floats, `d` a dict.
    """

    def __init__(self, seed: int, has: frozenset[str]):
        self.r, self.has = random.Random(f"python {seed}"), has
        self.lines: list[str] = []
        self.fresh = 0
        self.loops = 0  # around the statement
        self.kept = 0  # branches and loops around it: lists keep their lengths
        self.extra_f: list[str] = []
        self.extra_i: list[str] = []

    def pick(self, *options: str) -> str:
        return self.r.choice(options)

    def name(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def chance(self, feature: str, p: float) -> bool:
        return feature in self.has and self.r.random() < p

    # expressions

    def float_constant(self) -> str:
        return self.pick(*ODD_FLOATS) if self.chance("extremes", 0.2) else self.pick(*FLOATS)

    def f(self, depth: int = 2) -> str:
        """A float."""
        if depth <= 0 or self.r.random() < 0.2:
            return self.pick("f0", "f1", "a", "c", self.float_constant(), *self.extra_f)
        g = lambda: self.f(depth - 1)
        forms = [
            f"({g()} + {g()})",
            f"({g()} - {g()})",
            f"({g()} * {g()})",
            f"abs({g()})",
            f"-{g()}",
            f"float({self.i(depth - 1)})",
        ]
        forms += [f"({g()} / {g()})", f"({g()} // {g()})", f"({g()} % {g()})", f"({g()} + {self.i(depth - 1)})"]
        forms += [f"max({g()}, {g()})", f"min({g()}, {g()}, {g()})", f"divmod({g()}, {g()})[{self.pick('0', '1')}]"]
        forms += [f"({g()} if {self.b(depth - 1)} else {g()})"]
        sign = f"min(1.0, {g()})"  # that of a NaN means nothing
        forms += [f"math.{self.pick('fabs', 'sqrt')}({g()})", f"math.copysign({g()}, {sign})", f"math.fmod({g()}, {g()})"]
        if "rounding" in self.has:
            forms += [f"round({g()}, {self.pick('0', '1', '2', '-1')})"] * 2
            forms += [f"round({self.pick('a', 'c', 'f0', 'xs[0]')}, {self.pick('1', '2', '2', '3')})"] * 2
        if "lists" in self.has:
            s = self.pick("xs", "ys")
            forms += [
                f"{s}[{self.index()}]",
                f"{s}[{self.index()}]",
                f"sum({s}, 0.0)",
                f"{self.pick('max', 'min')}({s})",
                f"sorted({s})[{self.pick('0', '-1')}]",
            ]
        if "dicts" in self.has:
            forms += [f"d['{self.pick('p', 'q')}']", f"d.get('{self.pick('p', 'z')}', {g()})"]
        if "comprehensions" in self.has:
            v = self.name("v")
            forms += [
                f"sum([{v} * {g()} for {v} in {self.pick('xs', 'ys')}], 0.0)",
                f"max([{v} for {v} in xs if {v} is not None], default=0.0)",
            ]
            forms += [f"[{v} - {g()} for {v} in xs[{self.pick('1:', '::-1', ':-1')}]][0]"]
        if "effects" in self.has:
            forms += [f"tick({g()})"] * 2
        if "sorting" in self.has:
            v = self.name("v")
            forms += [
                f"{self.pick('sorted', 'sorted')}(xs, key=lambda {v}: {self.pick('-', 'abs', '')}({v}), reverse={self.pick('True', 'False')})[{self.pick('0', '-1')}]"
            ]
            forms += [f"{self.pick('min', 'max')}(xs, key=lambda {v}: abs({v} - {g()}))"]
        if "logic" in self.has:
            forms += [f"({g()} {self.pick('or', 'and')} {g()})"]
        return self.r.choice(forms)

    def i(self, depth: int = 2) -> str:
        """An int."""
        if depth <= 0 or self.r.random() < 0.2:
            return self.pick(
                "i0", "i1", "n", "m", self.pick(*ODD_INTS) if self.chance("extremes", 0.1) else self.pick(*INTS), *self.extra_i
            )
        g = lambda: self.i(depth - 1)
        forms = [
            f"({g()} + {g()})",
            f"({g()} - {g()})",
            f"({g()} * {g()}) % 1009",
            f"abs({g()})",
            f"-{g()}",
            f"({g()} // {g()})",
            f"({g()} % {g()})",
        ]
        forms += [
            f"divmod({g()}, {g()})[{self.pick('0', '1')}]",
            f"({g()} if {self.b(depth - 1)} else {g()})",
            f"int({self.b(depth - 1)})",
        ]
        forms += [f"max({g()}, {g()})", f"min({g()}, {g()})", f"({self.b(depth - 1)} + {g()})", "len(xs)"]
        if "rounding" in self.has:
            x = self.f(depth - 1)
            forms += [
                f"int({x})",
                f"round({x})",
                f"math.{self.pick('floor', 'ceil', 'trunc')}({x})",
                f"round({g()}, {self.pick('-1', '0', '1')})",
            ]
        if "bits" in self.has:
            forms += [
                f"({g()} {self.pick('&', '|', '^')} {g()})",
                f"({g()} << {self.pick('1', '2', 'm')})",
                f"({g()} >> {self.pick('1', 'n')})",
                f"~{g()}",
            ]
            forms += [
                f"pow({g()}, {self.pick('2', '3')}, {self.pick('7', '11', '-5')})",
                f"({self.pick('i0', 'n', '3')} ** {self.pick('2', '0', '3')})",
                f"math.gcd({g()}, {g()})",
            ]
        if "lists" in self.has:
            forms += [f"xs.count({self.f(0)})"]
        if "effects" in self.has:
            forms += [f"tock({g()})"]
        if "logic" in self.has:
            forms += [f"({g()} {self.pick('or', 'and')} {g()})"]
        return self.r.choice(forms)

    def b(self, depth: int = 2) -> str:
        """A bool."""
        if depth <= 0 or self.r.random() < 0.1:
            return self.pick("b0", "b1", "flag", f"(f0 {self.pick('<', '>', '==', '!=')} {self.float_constant()})", "(i0 > n)")
        x, n, c = (lambda: self.f(depth - 1)), (lambda: self.i(depth - 1)), (lambda: self.b(depth - 1))
        op = lambda: self.pick("<", "<=", ">", ">=", "==", "!=")
        forms = [
            f"{x()} {op()} {x()}",
            f"{n()} {op()} {n()}",
            f"{x()} {op()} {n()}",
            f"{x()} {op()} {x()} {op()} {x()}",
            f"not {c()}",
        ]
        forms += [f"{c()} and {c()}", f"{c()} or {c()}", f"{c()} {self.pick('and not', 'or')} {x()} {op()} {x()}"]
        forms += [
            f"bool({self.pick(x(), n())})",
            f"math.{self.pick('isnan', 'isinf', 'isfinite')}({x()})",
            f"{n()} {op()} {n()} {op()} {x()}",
        ]
        if "identity" in self.has:
            forms += [
                f"({c()}) {self.pick('is', 'is not')} {self.pick('True', 'False')}",
                f"(({c()}) is ({c()}))",
                f"{x()} is not None",
            ]
            forms += [f"isinstance({self.pick(x(), n(), c())}, {self.pick('int', 'float', 'bool')})"]
        if "extremes" in self.has:
            i = self.pick("i0", "n")
            forms += [f"{i} {op()} float({i} {self.pick('-', '+')} 1)", f"float({i} + 1) {op()} {i}", f"{n()} {op()} {x()}"]
        if "bits" in self.has:
            forms += [f"(({c()}) {self.pick('&', '|', '^')} ({c()}))"]
        if "lists" in self.has:
            forms += [
                f"{self.float_constant()} {self.pick('in', 'not in')} xs",
                "xs[:1] == [f0]",
                f"xs[:2] {self.pick('<', '>=')} [f0, a]",
            ]
        if "comprehensions" in self.has:
            v = self.name("v")
            forms += [f"{self.pick('any', 'all')}({v} {op()} {x()} for {v} in xs)"]
        return f"({self.r.choice(forms)})"

    def index(self) -> str:
        return self.pick("0", "1", "-1", "2", "0", f"({self.i(1)}) % 3", "n", "m")

    # statements

    def block(self, depth: int, pad: str) -> None:
        for _ in range(self.r.randrange(1, 4)):
            self.statement(depth, pad)

    def statement(self, depth: int, pad: str) -> None:
        kinds: list[Callable[[int, str], None]] = [self.assign] * 4
        if depth:
            kinds += [self.branch] * 3 * ("branches" in self.has) + [self.for_loop] * 2 * ("loops" in self.has)
            kinds += [self.while_loop] * ("while" in self.has) + [self.match] * ("match" in self.has)
            kinds += [self.try_block] * 2 * ("exceptions" in self.has)
        kinds += [self.raises] * ("exceptions" in self.has) + [self.jump] * ("jumps" in self.has and self.loops > 0)
        kinds += [self.list_change] * 2 * ("lists" in self.has) + [self.dict_change] * ("dicts" in self.has)
        kinds += [self.collection] * ("collections" in self.has)
        kinds += [self.gone_over] * ("gone over" in self.has and not self.kept)
        kinds += [self.two_kinds] * ("lists" in self.has and not self.kept)
        kinds += [self.closure] * ("closures" in self.has and not self.kept)
        self.r.choice(kinds)(depth, pad)

    def assign(self, depth: int, pad: str) -> None:
        f, i, b = self.pick("f0", "f1"), self.pick("i0", "i1"), self.pick("b0", "b1")
        forms = [
            f"{f} = {self.f()}",
            f"{i} = {self.i()}",
            f"{b} = {self.b()}",
            f"{f} {self.pick('+', '-', '*', '/', '//', '%')}= {self.f()}",
        ]
        forms += [f"{i} {self.pick('+', '-', '//', '%')}= {self.i()}", f"f0, f1 = f1, {self.f()}", f"i0, i1 = {self.i(1)}, i0"]
        forms += [f"i0, f1 = {self.i(1)}, {self.f(1)}", f"{f} = {i} / {self.i(1)}"]
        if "bits" in self.has:
            forms += [f"{i} {self.pick('&', '|', '^', '<<', '>>')}= {self.pick('1', '2', 'n', '3')}"]
        if "logic" in self.has:
            forms += [f"{f} = {self.f(1)} {self.pick('or', 'and')} {self.f(1)}"]
        self.lines.append(pad + self.r.choice(forms))

    def within(self, depth: int, pad: str) -> None:
        self.kept += 1
        self.block(depth - 1, pad + "    ")
        self.kept -= 1

    def branch(self, depth: int, pad: str) -> None:
        self.lines.append(f"{pad}if {self.b()}:")
        self.within(depth, pad)
        for _ in range(self.r.choice((0, 0, 1))):
            self.lines.append(f"{pad}elif {self.b()}:")
            self.within(depth, pad)
        if self.r.random() < 0.5:
            self.lines.append(f"{pad}else:")
            self.within(depth, pad)

    def loop(
        self, head: str, depth: int, pad: str, floats: Sequence[str] = (), ints: Sequence[str] = (), first: str = ""
    ) -> None:
        self.lines.append(f"{pad}{head}:")
        if first:
            self.lines.append(f"{pad}    {first}")
        self.extra_f, self.extra_i = [*self.extra_f, *floats], [*self.extra_i, *ints]
        self.loops += 1
        self.within(depth, pad)
        self.loops -= 1
        self.extra_f, self.extra_i = (
            self.extra_f[: len(self.extra_f) - len(floats)],
            self.extra_i[: len(self.extra_i) - len(ints)],
        )
        if self.r.random() < 0.2:
            self.lines.append(f"{pad}else:")
            self.within(depth, pad)

    def for_loop(self, depth: int, pad: str) -> None:
        k, v, u = self.name("k"), self.name("v"), self.name("v")
        s = self.pick("xs", "ys", "[f0, 1.0, f1]", "(a, f1)", "list(xs)", "xs[::-1]") if "lists" in self.has else "(f0, f1, a)"
        heads: list[tuple[str, list[str], list[str]]] = [
            (f"for {k} in range({self.pick('3', 'n', 'n', '1, 4', '5, 0, -2', 'n, m', '0')})", [], [k])
        ]
        heads += [(f"for {v} in {s}", [v], []), (f"for {k}, {v} in enumerate({s}{self.pick('', ', 1')})", [v], [k])]
        heads += [
            (f"for {v}, {u} in zip({s}, {self.pick('xs', '(1.0, a)')})", [v, u], []),
            (f"for {k} in reversed(range({self.pick('3', 'n')}))", [], [k]),
        ]
        if "dicts" in self.has:
            heads += [(f"for {k}, {v} in d.items()", [v], [])]
        head, floats, ints = self.r.choice(heads)
        self.loop(head, depth, pad, floats, ints)

    def while_loop(self, depth: int, pad: str) -> None:
        w = self.name("w")
        self.lines.append(f"{pad}{w} = 0")
        self.loop(f"while {w} < {self.r.randrange(1, 5)} and {self.b(1)}", depth, pad, (), (w,), f"{w} += 1")

    def jump(self, depth: int, pad: str) -> None:
        self.lines += [f"{pad}if {self.b(1)}:", f"{pad}    {self.pick('break', 'continue')}"]

    def match(self, depth: int, pad: str) -> None:
        subject, *patterns = self.r.choice(
            [
                (self.i(1), "0", "1 | 2", "-1"),
                (self.b(1), "True"),
                (self.f(1), "0.5", "0", "1.5 | -1"),
                (f"({self.b(1)}, {self.i(1)})", "(True, 1)", "(False, _)"),
            ]
        )
        self.lines.append(f"{pad}match {subject}:")
        for p in patterns:
            self.lines.append(f"{pad}    case {p}" + (f" if {self.b(1)}:" if self.r.random() < 0.2 else ":"))
            self.within(depth, pad + "    ")
        self.lines += [f"{pad}    case _:"]
        self.within(depth, pad + "    ")

    def raises(self, depth: int, pad: str) -> None:
        text = self.pick(
            "'no'",
            f"f'{{{self.pick('f0', 'i0', 'b0')}}} and {{{self.pick('f1:.2f', 'i1:d', 'f1!r', 'n')}}}'",
            "'at', i0",
            "f'{a:8.3e}|{i0:>4}'",
        )
        self.lines += [
            f"{pad}if {self.b(1)}:",
            f"{pad}    raise {self.pick('ValueError', 'IndexError', 'KeyError', 'ZeroDivisionError')}({text})",
        ]

    def try_block(self, depth: int, pad: str) -> None:
        risky = [
            f"f0 = {self.f(1)} / {self.f(1)}",
            f"i0 = {self.i(1)} % {self.i(1)}",
            f"f1 = math.sqrt({self.f(1)})",
            f"f1 = math.log({self.f(1)}) * 0.0",
            f"i1 = int({self.f(1)})",
        ]
        if "lists" in self.has:
            risky += [f"f0 = xs[{self.pick('n', 'm', '5')}]"]
        if "dicts" in self.has:
            risky += [f"f0 = d['{self.pick('p', 'z')}']"]
        inner = pad + "    "
        self.lines.append(f"{pad}try:")
        if self.r.random() < 0.5:
            self.assign(0, inner)
        self.lines.append(inner + self.r.choice(risky))
        if self.r.random() < 0.3:
            self.raises(0, inner)
        caught = self.pick(
            "ZeroDivisionError",
            "ValueError",
            "(ZeroDivisionError, ValueError)",
            "ArithmeticError",
            "Exception",
            "LookupError",
            "IndexError",
            "KeyError",
        )
        if self.r.random() < 0.85:
            self.lines.append(f"{pad}except {caught}:")
            self.assign(0, inner)
            if self.r.random() < 0.3:
                self.lines.append(f"{pad}else:")
                self.assign(0, inner)
            if self.r.random() > 0.2:
                return
        self.lines.append(f"{pad}finally:")
        self.lines.append(f"{inner}i1 = {self.pick('i0', 'n', 'm')}")

    def list_change(self, depth: int, pad: str) -> None:
        s = self.pick("xs", "ys")
        forms = [
            f"{s}[{self.index()}] {self.pick('=', '+=', '*=', '-=')} {self.f()}",
            f"xs[0], xs[1] = xs[1], {self.f(1)}",
            "xs, ys = ys, xs" if not self.kept else "f0 = xs[0]",
        ]
        forms += [f"{s}.reverse()", f"{s}[:2] = [{self.f(1)}, {self.f(1)}]"]
        if not self.kept:
            forms += [
                f"{s}.append({self.f(1)})",
                f"f0 = {s}.pop({self.pick('', '0')})",
                f"{s}.insert(1, {self.f(1)})",
                f"{s} = {s}[:2] + [{self.f(1)}]",
                f"{s} += [{self.f(1)}]",
            ]
            forms += [
                f"{s}.extend(v * 2 for v in {s}[:1])",
                f"ys = [f0 := 0.5 * f0 + v for v in {s}[:3]]",
                f"if len({s}) < 4: {s} *= 2",
                f"{s}[:1] += [{self.f(1)}]",
                f"{s} = [{self.f(1)}] * 3",
                f"del {s}[0]",
                f"{s} = {s}[:]",
                f"{s}.sort()",
                f"f0 = float({s}.index({self.f(0)}))",
            ]
        self.lines.append(pad + self.r.choice(forms))

    def dict_change(self, depth: int, pad: str) -> None:
        key = self.pick("p", "q")
        forms = [f"d['{key}'] {self.pick('=', '+=', '-=')} {self.f(1)}", f"f1 = d.setdefault('{key}', {self.f(1)})"]
        if not self.kept:
            forms += [
                f"f0 = d.pop('{self.pick(key, 'z')}', {self.f(0)})",
                f"d['r'] = {self.f(1)}",
                f"d.update({key}={self.f(1)})",
                "d = {k: v + 1 for k, v in d.items()}",
                f"d = {{**d, '{key}': f0}}",
            ]
        self.lines.append(pad + self.r.choice(forms))

    def collection(self, depth: int, pad: str) -> None:
        """A container of the library, changed on one path by code that is run and not read."""
        made, changes, read = self.r.choice(COLLECTIONS)
        q = self.name("q")
        self.lines += [f"{pad}{q} = {made}", f"{pad}if {self.b(1)}:", f"{pad}    {self.r.choice(changes).replace('{}', q)}"]
        self.lines.append(f"{pad}f0 = f0 + {read.replace('{}', q)}")

    def two_kinds(self, depth: int, pad: str) -> None:
        """A list or tuple that is an array where data decide it, and may be seen under another name."""
        v, q = self.name("p"), self.name("q")
        first = self.pick(f"[{self.f(1)}, {self.f(1)}]", f"({self.f(1)}, {self.f(1)})")
        self.lines += [pad + line for line in (f"{v} = {q} = {first}", f"if {self.b()}:", f"    {v} = np.array({v}) * 0.5")]
        forms = [
            f"f0 = float({v}[0]) - float({q}[-1])",
            f"f1 = float(sum({v}))",
            f"i0 = len({v} * 2)",
            f"f0, f1 = map(float, {v})",
        ]
        forms += [f"f1 = float(np.max({v} + {v}))", f"f0 = f0 + sum(float(e) * k for k, e in enumerate({v}))"]
        forms += [f"{v}[1] = {self.f(1)}\n{pad}f0 = float({q}[1])"] if first[0] == "[" else []
        self.lines += [pad + line for line in self.r.sample(forms, 2)]

    def gone_over(self, depth: int, pad: str) -> None:
        """A container that a loop goes over and changes, and positions in lists that data decides."""
        s, k, v = self.pick("xs", "ys"), self.name("k"), self.name("v")
        position = f"int(abs({self.pick('f0', 'f1', 'a')})) % 3"
        lists = [
            f"{s}[-1] = {v} + 0.5",
            f"if len({s}) < 6: {s}.append({v} * 0.5)",
            f"if len({s}) > 2: {s}.pop()",
            f"{s}[{k} - 1] += {v}",
        ]
        dicts = [f"d[{k}] = {v} * 0.5", f"d['z' + {k}] = {v}", f"d.pop({k})"]
        moved = [
            f"{s}.insert({position}, f0)",
            f"if len({s}) > 3: del {s}[{position}]",
            f"{s}[{position}:{position}] = [f1, 2.0]",
        ]
        ways = [
            [f"for {k}, {v} in enumerate({s}):", f"    {self.r.choice(lists)}", f"    f1 = f1 + {v}"],
            [
                "try:",
                f"    for {k}, {v} in d.items():",
                f"        {self.r.choice(dicts)}",
                f"        f0 = f0 + {v}",
                "except RuntimeError:",
                "    f0 = f0 + 0.25",
            ],
            [self.r.choice(moved)],
        ]
        self.lines += [pad + line for line in self.r.choice(ways)]

    def closure(self, depth: int, pad: str) -> None:
        g, v = self.name("g"), self.name("v")
        form = self.r.randrange(4)
        if form == 0:  # late binding
            self.lines += [
                f"{pad}{g} = [lambda {v}: {v} * k + f1 for k in range(3)]",
                f"{pad}f1 = {self.f(1)}",
                f"{pad}f0 = {g}[0]({self.f(1)}) - {g}[2](1.0)",
            ]
        elif form == 1:  # a mutable default
            self.lines += [
                f"{pad}def {g}({v}, seen=[0]):",
                f"{pad}    seen[0] += {v}",
                f"{pad}    return seen[0]",
                f"{pad}i0 = {g}({self.i(1)}) + {g}({self.i(1)})",
            ]
        elif form == 2:  # an early return, a default that is read when the function is made
            self.lines += [f"{pad}def {g}({v}, scale=f1):", f"{pad}    if {v} > scale:", f"{pad}        return {self.f(1)}"]
            self.lines += [f"{pad}    return {v} * scale", f"{pad}f1 = {self.f(1)}", f"{pad}f0 = {g}({self.f(1)})"]
        else:
            self.lines += [
                f"{pad}def {g}({v}):",
                f"{pad}    nonlocal f1",
                f"{pad}    f1 = f1 + {v}",
                f"{pad}    return f1 * 2",
                f"{pad}f0 = f1 {self.pick('+', '-', '*')} {g}({self.f(1)})",
            ]

    # the whole

    def body(self) -> list[str]:
        self.lines = [
            "    f0, f1, i0, i1, b0, b1 = a, c, n, m, flag, a < c",
            "    xs, ys, d, ticks = list(s), list(s), dict(e), 0",
        ]
        if "effects" in self.has:
            for g in ("tick", "tock"):
                self.lines += [
                    f"    def {g}(v):",
                    "        nonlocal ticks",
                    f"        ticks = (ticks * 3 + {1 if g == 'tick' else 2}) % 10007",
                    "        return v",
                ]
        if "optional" in self.has:
            self.lines += ["    if o is None:", f"        o = {self.float_constant()}", "    f1 = f1 + o"]
        for _ in range(self.r.randrange(2, 6)):
            self.statement(self.r.choice((1, 2, 2)), "    ")
        free = "()"
        if "transcendental" in self.has:
            g = self.pick("exp", "log", "sin", "tanh", "log1p", "atan", "expm1", "cbrt", "log10", "cosh")
            free = f"(math.{g}({self.pick('f0', 'f1', 'a', 'float(i0)')}), {self.pick('f0', 'a', '2.0')} ** {self.pick('f1', '0.5', '2', 'i0', 'n')})"
        self.lines.append(f"    return (f0, f1, i0, i1, b0, b1, ticks, xs, ys, d), {free}")
        return ["def f(a, c, n, m, flag, s, e, o=None):", *self.lines]

    def arguments(self, numpy: bool, large: bool) -> str:
        """`large`: may the first int have more than 32 bits?"""
        extremes = "extremes" in self.has
        plain = FLOATS + TIES if "rounding" in self.has else FLOATS
        x = lambda: self.pick(*(FLOATS + ODD_FLOATS if extremes and self.r.random() < 0.4 else plain))
        n = lambda: self.pick("0", "1", "2", "3", "-1", "4")
        fs = [f"np.float64({x()})" if numpy else x() for _ in range(2)]
        first = self.pick(*LARGE) if large and self.r.random() < 0.3 else n()
        ns = [f"np.int64({k})" if numpy else k for k in (first, n())]
        o = f", {x()}" if "optional" in self.has and self.r.random() < 0.5 else ""
        inside = [f"np.float64({x()})" if numpy else x() for _ in range(5)]
        return f"({', '.join(fs + ns)}, {self.pick('True', 'False')}, [{', '.join(inside[:3])}], {{'p': {inside[3]}, 'q': {inside[4]}}}{o})"


def generate(seed: int, features: frozenset[str] | None = None) -> Case:
    has = frozenset(FEATURES) if features is None else features
    p = Program(seed, has)
    body = p.body()
    numpy = "numpy" in has and p.r.random() < 0.3
    large = "extremes" in has and not any("range(n" in line for line in body)
    calls = [p.arguments(numpy, large), p.arguments(numpy, large), p.arguments(False, large)]
    head = [
        "import collections",
        "import heapq",
        "import math",
        "",
        "import numpy as np",
        "",
        "from tests.fuzz.python_meaning import compared",
        "",
        "",
    ]
    main = ["def main():", "    compared(", "        f,", *[f"        {c}," for c in calls], "    )"]
    return Case("python_meaning", seed, "\n".join([*head, *body, "", "", *main, ""]), has)
