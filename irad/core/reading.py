"""Reading the text of graphs; see irad.core.text for what it looks like and irad/core/grammar.lark for the grammar."""

from __future__ import annotations

import base64
import inspect
import json
import linecache
import re
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from irad.core.ir import Builder, Graph, Program, Value, emit, types
from irad.core.once import COMPILER, import_later
from irad.core.types import DTYPES, Dim, Extent, Type, affine, real_dtype
from irad.errors import IradError, Loc, ParseError
from irad.ops import OPS, Op
from irad.ops.array import Slice
from irad.ops.loop import Map, Out

_REGION_KEY = {"else": "orelse"}  # a region's key must be a Python name

# Attributes that the result types repeat: how to read them off the results.
IMPLIED: dict[str, Callable[[str, tuple[Type, ...]], Any]] = {
    "type": lambda op, ts: ts[0],
    "types": lambda op, ts: ts[1:] if op == "pop" else ts,
    "shape": lambda op, ts: ts[0].shape,
    "dtype": lambda op, ts: ts[0].dtype,
}


@cache
def attr_names(op: Op) -> dict[str, bool]:
    """The attributes an op takes and whether it needs them: the keyword-only parameters of its type rule, without regions."""
    ps = inspect.signature(op.infer).parameters.values()
    return {p.name: p.default is p.empty for p in ps if p.kind is p.KEYWORD_ONLY and p.name not in op.regions}


def load(path: str | Path) -> Program:
    """The program in a file of IR text (docs/ir.md), which `irad.compile` takes. Raises ParseError, IradTypeError or ShapeError, which name
    its lines, and OSError.

    >>> path = pathlib.Path(tempfile.mkdtemp(), "square.irad")
    >>> _ = path.write_text("func @square(%x: f64) -> f64 {\\n  %y: f64 = mul %x, %x\\n  return %y\\n}\\n")
    >>> irad.compile(irad.load(path)).value_and_grad(3.0)
    (9.0, 6.0)
    """
    return parse(decoded(Path(path).read_bytes(), str(path)), str(path))


def decoded(data: bytes, file: str) -> str:
    """The text of a graph file. Raises ParseError if it is no text."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise ParseError(f"{file} is not a text file: {e.reason} at byte {e.start}") from None


def parse(text: str, file: str = "<text>") -> Program:
    """The program that `text` writes. Each node is type-checked as it is built and placed at its line of `file`.

    Raises ParseError for text that is not a program, and the op's own IradTypeError or ShapeError for one that is ill-typed.
    """
    if not text.strip():
        raise ParseError("no graph in an empty text; write func @name(%x: f64) -> f64 { ... }", Loc(file, 1))
    try:
        tree = _parser().parse(text.rstrip() + "\n")
        program: Program = {}
        for t in tree.children:
            g = _Reader(file).func(t)
            if g.name in program:
                raise ParseError(f"two functions are named @{g.name}", _loc(t, file))
            program[g.name] = g
        return program
    except IradError as e:
        _remember(text, file)
        raise e from None
    except Exception as e:
        if not type(e).__module__.startswith("lark"):
            raise
        _remember(text, file)
        raise _syntax_error(e, file) from None


@cache
def _parser() -> Any:
    with COMPILER:
        import lark  # only texts need it
    grammar = Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")
    return lark.Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=True)


def _remember(text: str, file: str) -> None:
    """Let errors quote text that is not in a file."""
    if file == "<text>":
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


def _syntax_error(e: Any, file: str) -> ParseError:
    loc = Loc(file, e.line, e.column - 1) if e.line > 0 else None
    found = repr(str(e.token)) if hasattr(e, "token") else repr(e.char) if hasattr(e, "char") else "this"
    wanted = sorted(e.accepts or e.expected) if hasattr(e, "accepts") else sorted(getattr(e, "allowed", None) or ())
    wanted_text = ", ".join(_TOKENS.get(t, t.lower()) for t in wanted if not t.startswith("__"))
    found = "end of line" if "\\n" in found or found == "''" else found
    return ParseError(f"unexpected {found}" + (f"; expected {wanted_text}" if wanted_text else ""), loc)


_TOKENS = {
    "_NL": "end of line", "VALUE": "%value", "FUNC": "@function", "NAME": "a name", "INT": "an integer",
    "FLOAT": "a number", "LSQB": "'['", "RSQB": "']'", "LBRACE": "'{'", "RBRACE": "'}'", "LPAR": "'('", "RPAR": "')'",
    "COMMA": "','", "COLON": "':'", "EQUAL": "'='", "VBAR": "'|'", "PLUS": "'+'", "MINUS": "'-'", "STAR": "'*'",
    "QMARK": "'?'", "STRING": "a string", "PRIME": '"\'"', "FUNC_": "'func'", "RETURN": "'return'", "YIELD": "'yield'",
}  # fmt: skip


def _loc(tree: Any, file: str) -> Loc:
    m = tree.meta if hasattr(tree, "meta") else tree
    return Loc(file, m.line, m.column - 1, m.end_column - 1 if m.end_line == m.line else 0)


class _Reader:
    """Builds the graph of one function from its parse tree."""

    def __init__(self, file: str):
        self.file = file
        self.env: dict[str, Value] = {}

    def func(self, tree: Any) -> Graph:
        name, params, result_types, body, values = tree.children
        graph = self.graph(params, body, values, str(name)[1:].strip('"'))
        declared = tuple(self.type(t) for t in result_types.children) if result_types else ()
        if declared != types(graph.results):
            got = ", ".join(map(str, types(graph.results))) or "nothing"
            raise ParseError(
                f"the function returns {got}, not {', '.join(map(str, declared)) or 'nothing'}", _loc(name, self.file)
            )
        return graph

    def graph(self, params: Any, body: Any, values: Any, name: str = "") -> Graph:
        outer = dict(self.env)
        ps = tuple(self.param(p) for p in params.children) if params else ()
        with Builder() as b:
            for n in body.children:
                self.node(n, b)
        graph = Graph(ps, tuple(b.nodes), self.values(values), name)
        if name == "":
            self.env = outer
        return graph

    def define(self, param: Any, v: Value) -> None:
        token, _, place = param.children
        if str(token) in self.env:
            raise ParseError(f"{token} is bound twice", _loc(token, self.file))
        v.hint, v.at = "" if token[1:].isdigit() else token[1:], str(place)[1:] if place else ""
        self.env[str(token)] = v

    def param(self, tree: Any) -> Value:
        v = Value(self.type(tree.children[1]))
        self.define(tree, v)
        return v

    def values(self, tree: Any) -> tuple[Value, ...]:
        return tuple(map(self.value, tree.children)) if tree else ()

    def value(self, token: Any) -> Value:
        if str(token) not in self.env:
            raise ParseError(f"{token} is not defined here", _loc(token, self.file))
        return self.env[str(token)]

    def node(self, tree: Any, b: Builder) -> None:
        binds, name, prime, attrs, values, *region_trees = tree.children
        b.loc, b.deriv = _loc(tree if not region_trees else name, self.file), prime is not None
        if str(name).startswith("special_"):
            import_later("irad.ops.scipy_special")  # rows that are imported at first use
        if str(name) not in OPS:
            raise ParseError(f"there is no op {name}", _loc(name, self.file))
        op, inputs = OPS[str(name)], self.values(values)
        keys = tuple(_REGION_KEY.get(str(r.children[0]), str(r.children[0])) for r in region_trees)
        if keys != op.regions:
            raise ParseError(f"{op.name} has regions {op.regions}, not {keys}", _loc(name, self.file))
        regions = [self.graph(*r.children[1:]) for r in region_trees]
        declared = tuple(self.type(p.children[1]) for p in binds.children) if binds else ()
        width = len(regions[0].params) if regions else len(inputs) - 1
        given = (
            {str(a.children[0]): self.attr(a.children[1], str(a.children[0]), declared, width) for a in attrs.children}
            if attrs
            else {}
        )
        names = attr_names(op)
        implied = {k: f(op.name, declared) for k, f in IMPLIED.items() if k in names and k not in given and declared}
        if not {k for k, needed in names.items() if needed} <= {*given, *implied} <= names.keys():
            raise ParseError(f"{op.name} has attributes {_listed(names)}, not {_listed({*given, *implied})}", b.loc)
        outputs = self.emitted(op, inputs, regions, {**given, **implied}, b)
        if types(outputs) != declared:
            raise ParseError(f"{op.name} gives {_listed_types(types(outputs))}, not {_listed_types(declared)}", b.loc)
        for p, v in zip(binds.children if binds else (), outputs):
            self.define(p, v)

    def emitted(
        self, op: Any, inputs: tuple[Value, ...], regions: list[Graph], attrs: dict[str, Any], b: Builder
    ) -> tuple[Value, ...]:
        """The results of a node whose attributes and operands may not be of the kind or number that the op's rule takes for granted."""
        try:
            outputs = emit(op, *inputs, regions=regions, **attrs)
            if not all(isinstance(d, (int, Extent)) for t in types(outputs) for d in t.shape):
                raise TypeError("a shape of other things than extents")
            return outputs
        except IradError:
            raise
        except (TypeError, IndexError, KeyError, ValueError, AttributeError, ArithmeticError):
            given = _listed_types(types(inputs))
            raise ParseError(f"{op.name} takes no such operands and attributes (operands: {given}): {op.doc}", b.loc) from None

    def type(self, tree: Any) -> Type:
        dtype, *dims = (c for c in tree.children if c is not None)
        if str(dtype) not in (*DTYPES, "tape"):
            raise ParseError(f"there is no dtype {dtype}; there are {', '.join(DTYPES)}", _loc(dtype, self.file))
        return Type(str(dtype), tuple(map(self.dim, dims)))

    def dim(self, tree: Any) -> Dim:
        d = self.sum(tree)
        if not isinstance(d, (int, Extent)) or isinstance(d, bool):
            raise ParseError(f"{d} cannot stand in an extent", _loc(tree, self.file))
        return d

    def sum(self, tree: Any) -> int | float | str | bool | None | Extent:
        """A number, a word, or an affine extent."""
        parts = list(tree.children)
        negative = str(parts[0]) == "-"
        terms = parts[1:] if negative else parts
        factor, atom = terms[0].children
        if len(terms) == 1 and factor is None and atom.type in ("FLOAT", "NAME"):
            return self.word(str(atom), negative, tree)
        const, coefs = 0, dict[Any, int]()
        for k in range(0, len(terms), 2):
            minus = negative if k == 0 else str(terms[k - 1].children[0]) == "-"
            factor, atom = terms[k].children
            c = (-1 if minus else 1) * (int(factor) if factor else 1)
            if atom.type == "INT":
                const += c * int(atom)
            elif atom.type == "VALUE":
                v = self.value(atom)
                coefs[v] = coefs.get(v, 0) + c
            else:
                raise ParseError(f"{atom} cannot stand in an extent", _loc(atom, self.file))
        return affine(const, coefs)

    def word(self, s: str, negative: bool, tree: Any) -> Any:
        if s[0].isdigit() or s in ("inf", "nan"):
            return -float(s) if negative else float(s)
        if negative:
            raise ParseError(f"-{s} is not a number", _loc(tree, self.file))
        return {"true": True, "false": False, "none": None}.get(s, s)

    def attr(self, tree: Any, key: str, declared: tuple[Type, ...], width: int) -> Any:
        kind = getattr(tree, "data", None)
        kids = tree.children if kind else []
        go = lambda t: self.attr(t, key, declared, width)
        if kind is None:
            return str(tree)[1:].strip('"') if tree.type == "FUNC" else self.string(tree)
        if kind == "tuple":
            items = [c for c in kids if c is not None]
            if key == "value" and len(items) == 2:
                return complex(*map(go, items))
            return self.map(items, width) if key == "map" else tuple(map(go, items))
        if kind == "array":
            return self.array([c for c in kids if c is not None], declared, tree)
        if kind == "out":
            return self.out(kids[0], kids[1], kids[2], width)
        if kind == "slice":
            return Slice(self.dim(kids[0]), self.dim(kids[1]), 1 if kids[2] is None else self.dim(kids[2]))  # type: ignore[arg-type]
        if kind == "open_slice":
            return Slice(None, self.dim(kids[0]), 1 if kids[1] is None else self.dim(kids[1]))  # type: ignore[arg-type]
        if kind == "type_literal":
            return Type(str(kids[0]), tuple(self.dim(c) for c in kids[1:] if c is not None))
        return self.sum(tree)

    def string(self, token: Any) -> Any:
        try:
            return json.loads(token)
        except json.JSONDecodeError:
            raise ParseError(f"{token} is not a string: its escapes are those of JSON", _loc(token, self.file)) from None

    def out(self, kind: Any, rows: Any, more: Any, width: int) -> Out:
        """`add:(d0)`, or `store:(d0,d1):collide1`: the last index is a position that the body yields."""
        extra = re.fullmatch(r"(unique|collide)(\d+)", more or "unique0")
        if extra is None:
            raise ParseError(f"{more} is neither uniqueN nor collideN, N positions that the body yields", _loc(more, self.file))
        count = int(extra[2])
        items = [c for c in rows.children if c is not None]
        return Out(str(self.sum(kind)), self.map(items, width + count), count, extra[1] == "unique")

    def map(self, items: list[Any], width: int) -> Map:
        return Map(tuple(self.row(t, width) for t in items))

    def row(self, tree: Any, width: int) -> tuple[int, ...]:
        """One row of an affine map: `2*d0-d1+3`."""
        out, minus = [0] * (width + 1), False
        for part in tree.children:
            if getattr(part, "data", "sign") == "sign":
                minus = str(getattr(part, "children", [part])[0]) == "-"
                continue
            factor, atom = part.children
            c = (-1 if minus else 1) * (int(factor) if factor else 1)
            if atom.type == "INT":
                out[-1] += c * int(atom)
            elif re.fullmatch(r"d\d+", atom) and int(atom[1:]) < width:
                out[int(atom[1:])] += c
            else:
                raise ParseError(f"{atom} is not an index; there are {width}: d0 ...", _loc(atom, self.file))
        return tuple(out)

    def array(self, items: list[Any], declared: tuple[Type, ...], tree: Any) -> np.ndarray:
        if len(declared) != 1 or not declared[0].static:
            raise ParseError("an array constant needs a result with a static type", _loc(tree, self.file))
        t = declared[0]
        try:
            if items and getattr(items[0], "type", "") == "STRING":
                flat = np.frombuffer(base64.b64decode(self.string(items[0])), t.numpy.newbyteorder("<")).astype(t.numpy)
            else:
                flat = np.array([self.sum(c) for c in items], DTYPES[real_dtype(t.dtype)]).view(t.numpy)
        except (ValueError, OverflowError, TypeError):
            raise ParseError(f"these are not numbers of {t}", _loc(tree, self.file)) from None
        if flat.size != t.size:
            raise ParseError(f"{t} needs {t.size} elements, {flat.size} are given", _loc(tree, self.file))
        return flat.reshape(t.shape)  # type: ignore[arg-type]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _listed_types(ts: tuple[Type, ...]) -> str:
    return ", ".join(map(str, ts)) or "nothing"
