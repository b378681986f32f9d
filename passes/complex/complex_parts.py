"""Split complex values into real and imaginary parts: after it, a program computes with real numbers only.

Parameters and results of the entry become arrays of pairs, as NumPy stores complex numbers: c128[n] is f64[n,2]. Everywhere
else (regions, carries, tapes, calls) a complex value becomes two real ones. Runs after differentiation, so derivatives are
those of the complex operations. Arithmetic rounds as NumPy's; elementary functions are in irad.passes.complex.functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from irad.core.ir import Builder, Graph, Node, Program, Value, build, emit, rename_attrs, retype, retyped, retyped_node, values
from irad.core.types import BOOL, Type, is_complex, real_dtype
from irad.errors import UnsupportedError
from irad.ops import array
from irad.ops import elementwise as ew
from irad.ops.array import Slice, index, update, zeros
from irad.ops.constant import const, empty
from irad.ops.control import if_, raise_if, shown
from irad.ops.core import kept
from irad.ops.elementwise import cast_to
from irad.ops.parts import in_parts
from irad.ops.regions import HANDS_ON
from irad.ops.text import PAIR, with_fields
from irad.passes.clean.fold import fold
from irad.passes.complex import functions as cf
from irad.passes.complex.scans import Parts, cumprod, linrec, prod
from irad.passes.rewrite import splat_of

WHOLE_POWERS = 100  # static whole exponents up to here are multiplications, as in NumPy


def complex_parts(program: Program) -> Program:
    """The program on real numbers; the very program if it has no complex value.

    Raises UnsupportedError for an operation that complex numbers do not have here.
    """
    if not any(_has_complex(g) for g in program.values()):
        return program
    program = fold(program)
    entry = next(iter(program))
    return {name: _Split().function(g, at_boundary=name == entry) for name, g in program.items()}


def stored(t: Type) -> Type:
    """How an array of a type lies in memory: a complex one as pairs."""
    return Type(real_dtype(t.dtype), (*t.shape, 2)) if is_complex(t.dtype) else t


def part_type(t: Type) -> Type:
    """The type of the parts of a complex type; any other as it is."""
    return t.with_dtype(real_dtype(t.dtype))


def _has_complex(g: Graph) -> bool:
    if "complex" not in g.memo:
        g.memo["complex"] = any(is_complex(v.type.dtype) for v in values(g))
    return g.memo["complex"]


def _touches(n: Node) -> bool:
    """Does a complex value enter or leave the node? (What its regions capture is looked at when they are rebuilt.)"""
    return any(is_complex(v.type.dtype) for v in (*n.inputs, *n.outputs))


class _Split:
    """One function. `parts[v]` are the parts of complex v, `env` what other values became; `zero`: zero imaginary parts."""

    def __init__(self) -> None:
        self.parts: dict[Value, Parts] = {}
        self.env: dict[Value, Value] = {}
        self.zero: set[Value] = set()
        self.nodes: dict[Value, Node] = {}  # definitions of complex constants

    # ---- graphs -----------------------------------------------------------------------------------------------

    def function(self, g: Graph, at_boundary: bool) -> Graph:
        if not at_boundary:
            return self.region(g)
        params = [v if not is_complex(v.type.dtype) else Value(stored(v.type), v.hint) for v in g.params]
        with Builder() as b:
            for v, p in zip(g.params, params):
                if v is not p:
                    self.parts[v] = (self._part(p, 0), self._part(p, 1))
            self.body(g, b)
            results = [self._packed(v) if is_complex(v.type.dtype) else self.get(v) for v in g.results]
        return g.replace(params, b.nodes, results)

    def region(self, g: Graph) -> Graph:
        """A region or called function: complex parameters and results are two each."""
        g = retyped(g, self.env)
        params = self.bind(g.params)
        with Builder() as b:
            self.body(g, b)
        return g.replace(params, b.nodes, self.flat(g.results))

    def body(self, g: Graph, b: Builder) -> None:
        for n in g.nodes:
            if not _touches(n):
                regions = [self.region(r) for r in n.regions]
                b.nodes.append(retyped_node(n, self.env).replace(inputs=map(self.get, n.inputs), regions=regions))
                continue
            with Builder(n.loc, deriv=n.deriv) as inner:
                self.node(n)
            b.nodes += inner.nodes

    def bind(self, values: Sequence[Value]) -> list[Value]:
        """Values as they are bound now."""
        retype(values, self.env)
        out: list[Value] = []
        for v in values:
            if is_complex(v.type.dtype):
                t = part_type(v.type)
                self.parts[v] = Value(t, _hint(v, "re")), Value(t, _hint(v, "im"))
                out += self.parts[v]
            else:
                out.append(v)
        return out

    def get(self, v: Value) -> Value:
        return self.env.get(v, v)

    def flat(self, values: Sequence[Value]) -> list[Value]:
        """What stands for values now: two for a complex one."""
        return [x for v in values for x in (self.parts[v] if is_complex(v.type.dtype) else (self.get(v),))]

    def give(self, outputs: Sequence[Value], made: Sequence[Value]) -> None:
        """`made` stand for the outputs, two for a complex one."""
        it = iter(made)
        for v in outputs:
            if is_complex(v.type.dtype):
                self.parts[v] = next(it), next(it)
            else:
                self.env[v] = next(it)

    # ---- pairs in memory ----------------------------------------------------------------------------------------

    def _part(self, p: Value, k: int) -> Value:
        return index(p, spec=(*(Slice(0, d) for d in p.type.shape[:-1]), k))

    def _packed(self, v: Value) -> Value:
        t = stored(v.type).rename(self.get)
        out = empty(type=t)
        for k, x in enumerate(self.parts[v]):
            out = update(out, x, spec=(*(Slice(0, d) for d in t.shape[:-1]), k))
        return out

    def check(self, n: Node, attrs: dict[str, Any]) -> None:
        """A check. Arrays that it keeps are put together where it raises, and only there."""
        values = [self.get(n.inputs[0]), *self.flat(shown(n))]
        if not any(is_complex(v.type.dtype) for v in kept(n).values()):
            raise_if(*values, *map(self.get, kept(n).values()), **{"keeps": (), **attrs})
            return

        def raising() -> list[Value]:
            contents = [self._packed(v) if is_complex(v.type.dtype) else self.get(v) for v in kept(n).values()]
            raise_if(const(value=True, type=BOOL), *values[1:], *contents, **attrs)
            return []

        emit(if_, values[0], regions=[build([], raising), build([], lambda: [])])

    # ---- nodes ------------------------------------------------------------------------------------------------------

    def node(self, n: Node) -> None:
        """Emit what an operation on complex values is on their parts."""
        name = n.op.name
        if name in _RULES:
            self.give(n.outputs, _RULES[name](self, n))
        elif name in _BY_PART:
            self.give(n.outputs, self.by_part(n, _BY_PART[name]))
        elif name in cf.FUNCTIONS:
            self.give(n.outputs, self.function_of(n, cf.FUNCTIONS[name]))
        elif name in HANDS_ON:
            self.control(n)
        elif (op := in_parts(name, n.inputs[0].type)) is not None:
            self.give(n.outputs, emit(op, *self.flat(n.inputs), **self.attrs(n)))
        else:
            raise UnsupportedError(
                f"{name} of complex numbers ({', '.join(str(v.type) for v in n.inputs)}) is not supported; write it with .real and .imag",
                n.loc,
            )
        for v in n.outputs:
            for x, suffix in zip(self.parts.get(v, ()), ("re", "im")):
                x.hint = x.hint or _hint(v, suffix)

    def attrs(self, n: Node) -> dict[str, Any]:
        return rename_attrs(n.attrs, self.get)

    def by_part(self, n: Node, arrays: int) -> list[Value]:
        """An operation that is linear in its first operands, which are complex, with real factors: the same on each part."""
        rest = [self.get(v) for v in n.inputs[arrays:]]
        return [n.op(*(self.parts[v][k] for v in n.inputs[:arrays]), *rest, **self.attrs(n)) for k in (0, 1)]

    def control(self, n: Node) -> None:
        attrs = self.attrs(n)
        if "types" in attrs:
            attrs["types"] = tuple(p for t in attrs["types"] for p in ([part_type(t)] * 2 if is_complex(t.dtype) else [t]))
        regions = [self.region(r) for r in n.regions]
        self.give(n.outputs, emit(n.op, *self.flat(n.inputs), regions=regions, **attrs))

    def function_of(self, n: Node, f: Callable[..., cf.Pair]) -> list[Value]:
        """An elementary function, in f64, as no derivative is: its error terms must not be re-associated."""
        dtype = self.parts[n.inputs[0]][0].type.dtype
        wide = [cast_to(x, "f64") for v in n.inputs for x in self.parts[v]]
        with Builder(deriv=False) as exactly:
            out = [cast_to(x, dtype) for x in f(*wide)]
        _append(exactly)
        return out

    def splat(self, v: Value) -> complex | None:
        """The number that a complex constant spreads over its type."""
        found = splat_of(self.nodes.get(v))
        return None if found is None else complex(found)


def _append(b: Builder) -> None:
    assert b.outer is not None
    b.outer.nodes += b.nodes


def _hint(v: Value, suffix: str) -> str:
    return f"{v.hint}_{suffix}" if v.hint else ""


# ---- making and taking apart ---------------------------------------------------------------------------------------------


def _const(s: _Split, n: Node) -> list[Value]:
    t, value = part_type(s.attrs(n)["type"]), n.attrs["value"]
    s.nodes[n.out] = n
    if isinstance(value, np.ndarray):
        return [const(value=np.ascontiguousarray(x), type=t) for x in (value.real, value.imag)]
    re, im = (const(value=x, type=t) for x in (complex(value).real, complex(value).imag))
    if complex(value).imag == 0:
        s.zero.add(im)
    return [re, im]


def _empty(s: _Split, n: Node) -> list[Value]:
    return [empty(type=part_type(s.attrs(n)["type"])) for _ in (0, 1)]


def _cast(s: _Split, n: Node) -> list[Value]:
    (x,), dtype = n.inputs, n.attrs["dtype"]
    if not is_complex(x.type.dtype):
        re = cast_to(s.get(x), real_dtype(dtype))
        im = zeros(re.type)
        s.zero.add(im)
        return [re, im]
    re, im = s.parts[x]
    if dtype == "bool":
        return [ew.ne(re, 0) | ew.ne(im, 0)]
    if not is_complex(dtype):
        return [cast_to(re, dtype)]
    wide = [cast_to(v, real_dtype(dtype)) for v in (re, im)]
    if im in s.zero:
        s.zero.add(wide[1])
    return wide


# ---- arithmetic ------------------------------------------------------------------------------------------------------------


def _product(s: _Split, n: Node, times: Callable[[Value, Value], Value]) -> list[Value]:
    """A bilinear operation. In a derivative, which NumPy does not have, zero imaginary parts are left out."""
    (a, b), (c, d) = (s.parts[v] for v in n.inputs)
    if n.deriv and (b in s.zero or d in s.zero):
        if b in s.zero and d in s.zero:
            out = times(a, c)
            nothing = zeros(out.type)
            s.zero.add(nothing)
            return [out, nothing]
        return [times(a, c), times(a, d) if b in s.zero else times(b, c)]
    return [times(a, c) - times(b, d), times(a, d) + times(b, c)]


def _mul(s: _Split, n: Node) -> list[Value]:
    return _product(s, n, ew.mul)


def _dot(s: _Split, n: Node) -> list[Value]:
    return _product(s, n, lambda x, y: array.dot(x, y, **n.attrs))


def _strong(strong: int, rule: Callable[[_Split, Node], list[Value]]) -> Callable[[_Split, Node], list[Value]]:
    """What a rule gives, but zero where one of the first `strong` operands is."""

    def where_nonzero(s: _Split, n: Node) -> list[Value]:
        nonzero = reduce(ew.logical_and, [ew.logical_or(*(ew.ne(x, 0) for x in s.parts[v])) for v in n.inputs[:strong]])
        return [ew.select(nonzero, x, 0) for x in rule(s, n)]

    return where_nonzero


def _div(s: _Split, n: Node) -> list[Value]:
    x, y = n.inputs
    if n.deriv and s.parts[y][1] in s.zero:
        return [part / s.parts[y][0] for part in s.parts[x]]
    with Builder(deriv=False) as exactly:
        out = list(cf.divide(*s.parts[x], *s.parts[y]))
    _append(exactly)
    return out


def _pow(s: _Split, n: Node) -> list[Value]:
    k = s.splat(n.inputs[1])
    if k is not None and k.imag == 0 and k.real.is_integer() and abs(k.real) < WHOLE_POWERS:
        return list(cf.integer_power(*s.parts[n.inputs[0]], int(k.real)))
    return s.function_of(n, cf.power)


def _compare(op: Callable[..., Value], join: Callable[..., Value]) -> Callable[[_Split, Node], list[Value]]:
    def rule(s: _Split, n: Node) -> list[Value]:
        (a, b), (c, d) = (s.parts[v] for v in n.inputs)
        return [join(op(a, c), op(b, d))]

    return rule


def _select(s: _Split, n: Node) -> list[Value]:
    cond, x, y = n.inputs
    return [ew.select(s.get(cond), a, b) for a, b in zip(s.parts[x], s.parts[y])]


# ---- messages ------------------------------------------------------------------------------------------------------------------


def _message(key: str) -> Callable[[_Split, Node], list[Value]]:
    """An operation with a text whose fields are the operands: that of complex numbers takes two."""

    def rule(s: _Split, n: Node) -> list[Value]:
        fields = iter(shown(n) if n.op is raise_if else n.inputs)
        text = with_fields(n.attrs[key], lambda s: f"{{{PAIR}{s[1:]}" if is_complex(next(fields).type.dtype) else s)
        attrs = {**s.attrs(n), key: text}
        if n.op is raise_if:
            s.check(n, attrs)
            return []
        emit(n.op, *s.flat(n.inputs), **attrs)
        return []

    return rule


_RULES: dict[str, Callable[[_Split, Node], list[Value]]] = {
    "const": _const, "empty": _empty, "cast": _cast, "select": _select, "mul": _mul, "div": _div, "pow": _pow, "dot": _dot,
    "szmul": _strong(1, _mul), "szmul2": _strong(2, _mul), "szdiv": _strong(1, _div),
    "prod": prod, "cumprod": cumprod, "linrec": linrec,
    "eq": _compare(ew.eq, ew.logical_and), "ne": _compare(ew.ne, ew.logical_or),
    "complex": lambda s, n: [s.get(v) for v in n.inputs],
    "real": lambda s, n: [s.parts[n.inputs[0]][0]],
    "imag": lambda s, n: [s.parts[n.inputs[0]][1]],
    "concat": lambda s, n: s.by_part(n, len(n.inputs)),
    "raise_if": _message("message"), "print": _message("text"),
}  # fmt: skip
# Linear with real coefficients: how many of the first operands are complex
_BY_PART = {
    "add": 2, "sub": 2, "neg": 1, "broadcast": 1, "reshape": 1, "transpose": 1, "copy": 1, "index": 1, "update": 2, "update_add": 2,
    "sum": 1, "cumsum": 1,
}  # fmt: skip
