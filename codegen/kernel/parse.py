"""Text to kernel form; the inverse of irad.codegen.kernel.show. `#` comments are allowed.

The text is Python's own syntax, so Python's parser reads it: blocks by indentation, operators and their precedence, and a position
for every node. A grammar for lark, which reads the text of graphs (irad.core.reading), would write that part of Python again.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from typing import Any

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Const, Kernel, Stmt, integer
from irad.codegen.kernel.show import INFIX, simplest
from irad.core.affine import Integer
from irad.core.types import NATIVE
from irad.errors import IradError, Loc, ParseError

_OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_NAMED = {v: k for k, v in INFIX.items()}
_LOOPS = ("seq", "par", "unroll", "vec")


def parse(text: str, file: str = "<kernel form>") -> list[Kernel]:
    """The kernels of a text. Raises ParseError with the line and what was expected there."""
    try:
        tree = ast.parse(text)
    except SyntaxError as e:
        raise ParseError(f"not kernel form: {e.msg}", Loc(file, e.lineno or 1, (e.offset or 1) - 1)) from None
    return [_Parser(file).kernel(d) for d in tree.body]


class _Parser:
    """One kernel; `folds` tells `name += ...` on a fold from a store."""

    def __init__(self, file: str):
        self.file = file
        self.folds: set[str] = set()

    def fail(self, node: Any, message: str) -> ParseError:
        return ParseError(
            f"{message}, not `{ast.unparse(node)}`", Loc(self.file, node.lineno, node.col_offset, node.end_col_offset or 0)
        )

    # ---- kernels and blocks ----

    def kernel(self, d: ast.stmt) -> Kernel:
        if not isinstance(d, ast.FunctionDef):
            raise self.fail(d, "expected `def name(parameters):`")
        return Kernel(d.name, [self.param(a) for a in d.args.args], self.block(d.body))

    def param(self, a: ast.arg) -> kf.Param:
        t = a.annotation
        if isinstance(t, ast.Subscript) and isinstance(t.slice, ast.Slice) and t.slice.lower is not None:
            return kf.Param(a.arg, self.dtype(t.value), (kf.ANY,), self.aff(t.slice.lower))
        if isinstance(t, ast.Subscript):
            return kf.Param(a.arg, self.dtype(t.value), self.indices(t.slice))
        if t is None:
            raise self.fail(a, "expected `name: dtype` or `name: dtype[extents]`")
        return kf.Param(a.arg, self.dtype(t), None)

    def block(self, body: Sequence[ast.stmt]) -> list[Stmt]:
        return [self.statement(s) for s in body if not isinstance(s, ast.Pass)]

    def statement(self, s: ast.stmt) -> Stmt:
        method = getattr(self, f"_{type(s).__name__.lower()}", None)
        if method is None:
            raise self.fail(s, "expected a statement of the kernel form")
        try:
            return method(s)
        except IradError:
            raise
        except (TypeError, IndexError, ValueError, AttributeError):  # too few or too many parts, or parts of another kind
            raise self.fail(s, "expected a statement of the kernel form") from None

    # ---- operands ----

    def dtype(self, e: ast.expr) -> str:
        name = self.name(e)
        if name not in NATIVE:
            raise self.fail(e, f"expected a dtype ({', '.join(NATIVE)})")
        return name

    def name(self, e: ast.expr) -> str:
        if not isinstance(e, ast.Name):
            raise self.fail(e, "expected a name")
        return e.id

    def integer(self, e: ast.expr) -> int:
        x = self.index(e)
        if not isinstance(x, int):
            raise self.fail(e, "expected a whole number")
        return x

    def aff(self, e: ast.expr) -> Integer:
        if isinstance(e, ast.Constant) and type(e.value) is int:
            return e.value
        if isinstance(e, ast.Name):
            return integer(e.id)
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
            return -self.aff(e.operand)
        if isinstance(e, ast.BinOp) and isinstance(e.op, (ast.Add, ast.Sub, ast.Mult)):
            a, b = self.aff(e.left), self.aff(e.right)
            return a + b if isinstance(e.op, ast.Add) else a - b if isinstance(e.op, ast.Sub) else a * b
        raise self.fail(e, "expected an integer made of names, + - and *")

    def index(self, e: ast.expr) -> kf.Index:
        """An int, a name, or an affine integer of more terms."""
        return simplest(self.aff(e))

    def indices(self, e: ast.expr) -> tuple[kf.Index, ...]:
        return tuple(self.index(x) for x in e.elts) if isinstance(e, ast.Tuple) else (self.index(e),)

    def operand(self, e: ast.expr) -> kf.Operand:
        x = self._literal(e)
        if x is not None:
            return x
        i = self.index(e)
        return Const(i, "i64") if isinstance(i, int) else i

    def _literal(self, e: ast.expr) -> Const | None:
        if isinstance(e, ast.Constant) and type(e.value) in (float, bool):
            return Const(e.value, "f64" if type(e.value) is float else "bool")
        if isinstance(e, ast.Name) and e.id in ("inf", "nan"):
            return Const(getattr(math, e.id), "f64")
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
            x = self._literal(e.operand)
            return None if x is None else Const(-x.value, x.dtype)
        if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id in NATIVE and len(e.args) == 1:
            x = self._literal(e.args[0])
            return Const(self.integer(e.args[0]) if x is None else x.value, e.func.id)
        return None

    def element(self, e: ast.expr) -> tuple[str, tuple[kf.Index, ...]]:
        if not isinstance(e, ast.Subscript):
            raise self.fail(e, "expected `buffer[indices]`")
        return self.name(e.value), self.indices(e.slice)

    def items(self, e: ast.expr) -> list[ast.expr]:
        return e.elts if isinstance(e, ast.Tuple) else [e]

    # ---- statements ----

    def _for(self, s: ast.For) -> kf.For:
        c = s.iter
        if not isinstance(c, ast.Call) or self.name(c.func) not in _LOOPS or not 2 <= len(c.args) <= 3:
            raise self.fail(s.iter, f"expected one of {', '.join(k + '(lo, hi, ...)' for k in _LOOPS)}")
        kw = {k.arg: self.integer(k.value) for k in c.keywords}
        loop = kf.For(
            self.name(s.target), self.name(c.func), self.index(c.args[0]), self.index(c.args[1]), [],
            self.integer(c.args[2]) if len(c.args) > 2 else 1,
            kw.pop("W", 1), kw.pop("U", 1), bool(kw.pop("mix", 0)), bool(kw.pop("full", 0)), bool(kw.pop("twice", 0)),
            kw.pop("most", None),
        )  # fmt: skip
        if kw:
            raise self.fail(
                s.iter, f"a loop has the options W, U, mix, full, twice and most, it has no {', '.join(map(str, kw))}"
            )
        loop.body = self.block(s.body)
        return loop

    def _if(self, s: ast.If) -> kf.If:
        return kf.If(self.operand(s.test), self.block(s.body), self.block(s.orelse))

    def _while(self, s: ast.While) -> kf.While:
        for k, b in enumerate(s.body):
            if (
                isinstance(b, ast.If)
                and isinstance(b.test, ast.UnaryOp)
                and isinstance(b.test.op, ast.Not)
                and isinstance(b.body[0], ast.Break)
            ):
                return kf.While(self.block(s.body[:k]), self.operand(b.test.operand), self.block(s.body[k + 1 :]))
        raise self.fail(s, "expected `while True:` with an `if not ...: break`")

    def _annassign(self, s: ast.AnnAssign) -> Stmt:
        name, dtype, e = self.name(s.target), self.dtype(s.annotation), s.value
        if isinstance(e, ast.Call) and self.name(e.func) == "call":
            return self.call(e, name, dtype)
        if e is None:
            raise self.fail(s, "expected `name: dtype = expression`")
        if isinstance(e, ast.Call) and self.name(e.func) == "contract":
            return kf.Let(name, dtype, self.expression(e.args[0]), True)
        return kf.Let(name, dtype, self.expression(e))

    def expression(self, e: ast.expr) -> kf.Expr:
        """The right-hand side of a Let."""
        if isinstance(e, ast.Subscript):
            return kf.Load(*self.element(e))
        if isinstance(e, ast.BinOp) and type(e.op) in _OPERATORS:
            return kf.Apply(_NAMED[_OPERATORS[type(e.op)]], (self.operand(e.left), self.operand(e.right)))
        if isinstance(e, ast.Compare) and len(e.ops) == 1 and type(e.ops[0]) in _OPERATORS:
            return kf.Apply(_NAMED[_OPERATORS[type(e.ops[0])]], (self.operand(e.left), self.operand(e.comparators[0])))
        if not isinstance(e, ast.Call):
            raise self.fail(e, "expected an operation, a load, part(...) or linscan(...)")
        op = self.name(e.func)
        if op == "part":
            idx = self.element(e.args[0]) if isinstance(e.args[0], ast.Subscript) else (self.name(e.args[0]), ())
            return kf.Part(idx[0], self.integer(e.args[1]) if len(e.args) > 1 else 0, idx[1])
        if op == "linscan":
            return kf.LinScan(self.name(e.args[0]), self.operand(e.args[1]), self.operand(e.args[2]))
        return kf.Apply(op, tuple(self.operand(a) for a in e.args))

    def _assign(self, s: ast.Assign) -> Stmt:
        (target,), e = s.targets, s.value
        if isinstance(target, ast.Subscript):
            return kf.Store(*self.element(target), self.operand(e))
        name = self.name(target)
        declare = isinstance(e, ast.Call) and getattr(self, f"declare_{self.name(e.func)}", None)
        return declare(name, e) if declare else kf.Assign(name, self.operand(e))

    def declare_buf(self, name: str, c: ast.Call) -> kf.Buffer:
        kw = {k.arg: self.integer(k.value) for k in c.keywords}
        buffer = kf.Buffer(name, self.dtype(c.args[0]), tuple(self.integer(a) for a in c.args[1:]), bool(kw.pop("freed", 0)))
        if kw:
            raise self.fail(c, f"a buffer has the option freed, it has no {', '.join(map(str, kw))}")
        return buffer

    def declare_view(self, name: str, c: ast.Call) -> kf.View:
        buf, (offset,) = self.element(c.args[0])
        dtype = self.dtype(c.args[2]) if len(c.args) > 2 else None
        return kf.View(name, buf, self.indices(c.args[1]), offset, dtype, *(self.aff(k.value) for k in c.keywords))

    def declare_deref(self, name: str, c: ast.Call) -> kf.Deref:
        buf, (idx,) = self.element(c.args[0])
        return kf.Deref(name, buf, idx, self.dtype(c.args[1]), self.index(c.args[2]) if len(c.args) > 2 else None)

    def declare_var(self, name: str, c: ast.Call) -> kf.Var:
        lanes = self.integer(c.keywords[0].value) if c.keywords else 1
        return kf.Var(name, self.dtype(c.args[1]), self.operand(c.args[0]), lanes)

    def declare_fold(self, name: str, c: ast.Call) -> kf.Fold:
        self.folds.add(name)
        kw = {k.arg: k.value for k in c.keywords}
        return kf.Fold(
            name, self.name(c.args[0]),
            tuple(self.dtype(t) for t in self.items(c.args[2])), tuple(self.operand(x) for x in self.items(c.args[1])),
            tuple(self.integer(n) for n in self.items(kw["shape"])) if "shape" in kw else (),
            self.integer(kw["lanes"]) if "lanes" in kw else 1, self.integer(kw["copies"]) if "copies" in kw else 1,
        )  # fmt: skip

    def _augassign(self, s: ast.AugAssign) -> Stmt:
        if not isinstance(s.op, ast.Add):
            raise self.fail(s, "expected `+=`: it stores a sum, or folds by the fold's combiner")
        name, idx = self.element(s.target) if isinstance(s.target, ast.Subscript) else (self.name(s.target), ())
        if name not in self.folds:
            return kf.Store(name, idx, self.operand(s.value), True)
        ordered = isinstance(s.value, ast.Call) and self.name(s.value.func) == "ordered"
        values = s.value.args if ordered and isinstance(s.value, ast.Call) else self.items(s.value)
        return kf.Combine(name, tuple(self.operand(v) for v in values), idx, ordered)

    def _expr(self, s: ast.Expr) -> Stmt:
        c = s.value
        known = isinstance(c, ast.Call) and getattr(self, f"do_{self.name(c.func)}", None)
        if not known:
            raise self.fail(s, "expected swap(...), prefetch(...), begin(...), raise_if(...) or call(...)")
        return known(c)

    def do_swap(self, c: ast.Call) -> kf.Swap:
        a, b = map(self.name, c.args)
        return kf.Swap(a, b)

    def do_prefetch(self, c: ast.Call) -> kf.Prefetch:
        return kf.Prefetch(*self.element(c.args[0]))

    def do_begin(self, c: ast.Call) -> kf.Begin:
        return kf.Begin(*self.element(c.args[0]), self.index(c.args[1]))

    def do_raise_if(self, c: ast.Call) -> kf.Raise:
        return kf.Raise(self.operand(c.args[0]), self.integer(c.args[1]), tuple(self.operand(a) for a in c.args[2:]))

    def do_call(self, c: ast.Call) -> kf.Call:
        return self.call(c, None, None)

    def call(self, c: ast.Call, name: str | None, dtype: str | None) -> kf.Call:
        symbol, signature = (ast.literal_eval(a) for a in c.args[:2])
        result, args = signature.rstrip(")").split("(")
        kw = {k.arg: k.value for k in c.keywords}
        writes = tuple(map(self.name, self.items(kw["writes"]))) if "writes" in kw else ()
        types = (result, *[a.strip() for a in args.split(",") if a.strip()])
        return kf.Call(symbol, tuple(self.operand(a) for a in c.args[2:]), types, name, dtype, writes, "check" in kw)
