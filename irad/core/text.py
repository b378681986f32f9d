"""The text of graphs: `show` prints, `parse` reads, and `parse(show(p))` prints the same text and means the same.

    func @f(%x: f64[3], %n: i64) -> f64 {
      %c: f64 = const[value=1.0]
      %acc: f64 = for %n, %c body { |%i: i64, %a: f64|
        %b: f64 = index[spec=(i)] %x, %i
        %a_1: f64 = mul %a, %b
        yield %a_1
      }
      return %acc
    }

One form for every op: results with their types, `=`, the op's name, attributes in brackets, operands, regions. A prime
after the name marks a node of a derivative (`Node.deriv`). Attributes that the result types repeat (`type`, `types`,
`shape`, `dtype`) are not written. A value's name is the user's where there is one, made unique by a suffix. A planned
array says where it is kept: `%a: f64[8]@a64`.

The grammar is irad/core/grammar.lark; lark is imported when text is first parsed.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from irad.core.ir import Graph, Node, Program, Value, types, values
from irad.core.reading import IMPLIED, load, parse
from irad.core.types import Type

__all__ = ["load", "parse", "show"]

INLINE = 16  # arrays of more elements are written as base64 of their bytes
_KEYWORDS = {"true", "false", "none", "inf", "nan"}
_PROSE = {"message", "text"}  # attributes always in quotes
_REGION_TEXT = {"orelse": "else"}  # a region's key must be a Python name


def show(program: Program | Graph, loc: bool = False, mark: Node | Graph | None = None) -> str:
    """The text of a program or of one graph. `loc`: source places as comments; `mark`: a node to point at with `=>`."""
    graphs = {program.name or "f": program} if isinstance(program, Graph) else program
    return "\n".join(_Printer(g, loc, mark).func(name) for name, g in graphs.items())


def _names(graph: Graph) -> dict[Value, str]:
    """Unique names: the user's, with a suffix from the second on; numbers for the unnamed."""
    names: dict[Value, str] = {}
    taken: set[str] = set()
    suffix: dict[str, int] = {}
    unnamed = 0
    for v in values(graph):
        base = re.sub(r"[^\w.]", "_", v.hint)
        if not base or base.isdigit():
            base, unnamed = str(unnamed), unnamed + 1
        new, k = base, suffix.get(base, 0)
        while new in taken:
            k += 1
            new = f"{base}_{k}"
        suffix[base] = k
        taken.add(new)
        names[v] = new
    return names


class _Printer:
    def __init__(self, graph: Graph, loc: bool, mark: Node | Graph | None):
        self.graph, self.loc, self.mark = graph, loc, mark
        self.names = _names(graph)
        self.lines: list[str] = []

    def func(self, name: str) -> str:
        g = self.graph
        results = f" -> {', '.join(t.show(self.name) for t in types(g.results))}" if g.results else ""
        self.lines = [("=>" if g is self.mark else "") + f"func @{_label(name)}({self.bind(g.params)}){results} {{"]
        for n in g.nodes:
            self.node(n, 1)
        return "\n".join([*self.lines, f"  return {self.refs(g.results)}".rstrip(), "}"])

    def name(self, v: Value) -> str:
        return "%" + self.names.get(v, f"undefined.{v.hint or v.id}")

    def bind(self, vs: Iterable[Value]) -> str:
        return ", ".join(f"{self.name(v)}: {v.type.show(self.name)}" + (f"@{v.at}" if v.at else "") for v in vs)

    def refs(self, vs: Iterable[Value]) -> str:
        return ", ".join(map(self.name, vs))

    def node(self, n: Node, depth: int) -> None:
        pad = "  " * depth if n is not self.mark else "=>".ljust(2 * depth)
        line = pad + (f"{self.bind(n.outputs)} = " if n.outputs else "") + n.op.name + ("'" if n.deriv else "")
        line += self.attrs(n) + (f" {self.refs(n.inputs)}" if n.inputs else "")
        note = f"  # {n.loc}" if self.loc and n.loc else ""
        for key, r in zip(n.op.regions, n.regions):
            line += f" {_REGION_TEXT.get(key, key)} {{" + (f" |{self.bind(r.params)}|" if r.params else "")
            self.lines.append(line + note)
            for inner in r.nodes:
                self.node(inner, depth + 1)
            self.lines.append(("  " * (depth + 1) + f"yield {self.refs(r.results)}").rstrip())
            line, note = "  " * depth + "}", ""
        self.lines.append(line + note)

    def attrs(self, n: Node) -> str:
        shown = []
        for k, v in n.attrs.items():
            if k in IMPLIED and n.outputs and IMPLIED[k](n.op.name, types(n.outputs)) == v:
                continue
            shown.append(f"{k}={'@' + _label(v) if k == 'callee' else json.dumps(v) if k in _PROSE else self.value(v)}")
        return f"[{', '.join(shown)}]" if shown else ""

    def value(self, v: Any) -> str:
        if isinstance(v, tuple):
            return f"({','.join(map(self.value, v))})"
        if isinstance(v, Type):
            return f"{v.dtype}[{','.join(map(self.value, v.shape))}]"
        if hasattr(v, "show"):  # Extent, Slice, Map, Out
            return v.show(self.name)
        if isinstance(v, str):
            return v if re.fullmatch(r"[A-Za-z_]\w*", v, re.ASCII) and v not in _KEYWORDS else json.dumps(v)
        return _array_text(v) if isinstance(v, np.ndarray) else _number_text(v)


def _label(name: str) -> str:
    return name if re.fullmatch(r"[\w.]+", name) else f'"{name}"'


def _number_text(v: Any) -> str:
    v = v.item() if isinstance(v, np.generic) else v
    if v is None:
        return "none"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, float):
        return ("-nan" if math.copysign(1, v) < 0 else "nan") if v != v else repr(v)
    if isinstance(v, complex):
        return f"({_number_text(v.real)},{_number_text(v.imag)})"
    assert isinstance(v, int), f"an attribute of {type(v)} cannot be written as text"
    return repr(v)


def _array_text(a: np.ndarray) -> str:
    if a.size > INLINE:
        little = a.astype(a.dtype.newbyteorder("<"), copy=False)
        return '{"' + base64.b64encode(little.tobytes()).decode() + '"}'
    numbers = a.ravel().view(a.real.dtype)  # complex ones as pairs
    return "{" + ",".join(_number_text(x) for x in numbers.tolist()) + "}"
