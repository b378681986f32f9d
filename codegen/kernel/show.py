"""Kernel form as text. The text is Python syntax, so that irad.codegen.kernel.parse can read it with `ast`:

    def rows(n: i64, X: f64[n, 8], w: f64[8], z: f64[n]):
        for i in par(0, n):
            t = fold(add, 0.0, f64)
            for j in vec(0, 8, W=8, full=1):
                a: f64 = X[i, j]
                b: f64 = w[j]
                p: f64 = contract(a * b)
                t += p
            s: f64 = part(t)
            z[i] = s

A `name: dtype = ...` is a Let (or the result of a call), `name = ...` an Assign or a declaration. Operators stand for
add, sub, mul, div and comparisons of names and literals; a literal without a dtype is f64, i64 or bool. An affine
integer of one name or number prints, and is read back, as that name or number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Const, Kernel, Stmt
from irad.core.affine import Affine, Integer

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def show(kernels: Kernel | Iterable[Kernel]) -> str:
    """The text of a kernel, or of several, one after another."""
    if isinstance(kernels, Kernel):
        kernels = [kernels]
    return "\n\n".join("\n".join(_kernel(k)) for k in kernels) + "\n"


def _kernel(k: Kernel) -> list[str]:
    params = [f"{p.name}: {p.dtype}" + ("" if p.shape is None else f"[{_extents(p)}]") for p in k.params]
    return [f"def {k.name}({', '.join(params)}):", *_block(k.body, "    ")]


def _block(body: Sequence[Stmt], indent: str) -> list[str]:
    lines = [line for s in body for line in _statement(s, indent)]
    return lines or [indent + "pass"]


def _statement(s: Stmt, indent: str) -> list[str]:
    inner = indent + "    "
    if isinstance(s, kf.For):
        return [f"{indent}for {s.var} in {_loop(s)}:", *_block(s.body, inner)]
    if isinstance(s, kf.If):
        lines = [f"{indent}if {operand(s.cond)}:", *_block(s.then, inner)]
        return [*lines, f"{indent}else:", *_block(s.orelse, inner)] if s.orelse else lines
    if isinstance(s, kf.While):
        test = _block(s.test, inner) if s.test else []
        stop = [f"{inner}if not {operand(s.cond)}:", f"{inner}    break"]
        return [f"{indent}while True:", *test, *stop, *(_block(s.body, inner) if s.body else [])]
    return [indent + _SIMPLE[type(s)](s)]


def _loop(s: kf.For) -> str:
    args = [operand(s.lo), operand(s.hi)]
    if s.kind == "vec":
        args.append(f"W={s.lanes}")
    elif s.step != 1:
        args.append(str(s.step))
    args += [
        f"{k}={int(v)}"
        for k, v, default in (("U", s.unroll, 1), ("mix", s.mix, False), ("full", s.full, False), ("twice", s.twice, False))
        if v != default
    ]
    if s.most is not None:
        args.append(f"most={s.most}")
    return f"{s.kind}({', '.join(args)})"


# ---- operands ---------------------------------------------------------------------------------------------------


def operand(x: Any) -> str:
    """A name, a literal or an affine integer."""
    if not isinstance(x, Const):
        return str(x)
    if x.dtype == "bool":
        return str(bool(x.value))
    text = repr(float(x.value)) if x.dtype[0] == "f" else str(int(x.value))
    return text if x.dtype in ("f64", "i64") else f"{x.dtype}({text})"


def simplest(a: Integer) -> kf.Index:
    """The int or the name that an affine integer is, if it is one."""
    if isinstance(a, int) or a.const or len(a.terms) > 1:
        return a
    ((name, k),) = a.terms
    return name if k == 1 and isinstance(name, str) else a


def _indices(idx: Sequence[Any]) -> str:
    return ", ".join(map(operand, idx)) or "()"


def _extents(p: kf.Param) -> str:
    """`n*m:` stands for that many elements or more."""
    assert p.shape is not None
    return f"{operand(p.least)}:" if p.shape == (kf.ANY,) and p.least else _indices(p.shape)


def _tuple(items: Iterable[str]) -> str:
    items = list(items)
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _element(name: str, idx: Sequence[Any]) -> str:
    return f"{name}[{_indices(idx)}]"


def _expression(e: kf.Expr) -> str:
    if isinstance(e, kf.Load):
        return _element(e.buf, e.idx)
    if isinstance(e, kf.Part):
        fold = _element(e.fold, e.idx) if e.idx else e.fold
        return f"part({fold}, {e.k})" if e.k else f"part({fold})"
    if isinstance(e, kf.LinScan):
        return f"linscan({e.var}, {operand(e.k)}, {operand(e.x)})"
    if (
        e.op in INFIX
        and len(e.args) == 2
        and not any(isinstance(a, Affine) and not isinstance(simplest(a), (int, str)) for a in e.args)
    ):
        return f"{operand(e.args[0])} {INFIX[e.op]} {operand(e.args[1])}"
    return f"{e.op}({', '.join(map(operand, e.args))})"


# ---- statements without blocks ----------------------------------------------------------------------------------


def _let(s: kf.Let) -> str:
    e = _expression(s.expr)
    return f"{s.name}: {s.dtype} = " + (f"contract({e})" if s.contract else e)


def _view(s: kf.View) -> str:
    extra = (f", {s.dtype}" if s.dtype else "") + (f", least={s.least}" if s.least else "")
    return f"{s.name} = view({_element(s.buf, (s.offset,))}, {_tuple(map(operand, s.shape))}{extra})"


def _fold(s: kf.Fold) -> str:
    one = len(s.dtypes) == 1
    init = operand(s.init[0]) if one else _tuple(map(operand, s.init))
    args = [s.comb, init, s.dtypes[0] if one else _tuple(s.dtypes)]
    args += [f"shape={_tuple(map(str, s.shape))}"] if s.shape else []
    args += [f"{k}={v}" for k, v in (("lanes", s.lanes), ("copies", s.copies)) if v != 1]
    return f"{s.name} = fold({', '.join(args)})"


def _combine(s: kf.Combine) -> str:
    values = [operand(v) for v in s.values]
    text = f"ordered({', '.join(values)})" if s.ordered else values[0] if len(values) == 1 else _tuple(values)
    return f"{_element(s.fold, s.idx) if s.idx else s.fold} += {text}"


def _call(s: kf.Call) -> str:
    args = [f'"{s.symbol}"', f'"{s.signature[0]}({", ".join(s.signature[1:])})"', *map(operand, s.args)]
    args += [f"writes={_tuple(s.writes)}"] if s.writes else []
    args += ["check=1"] if s.check else []
    return (f"{s.name}: {s.dtype or 'i64'} = " if s.name else "") + f"call({', '.join(args)})"


_SIMPLE: dict[type, Any] = {
    kf.Let: _let, kf.Store: lambda s: f"{_element(s.buf, s.idx)} {'+=' if s.add else '='} {operand(s.value)}",
    kf.Buffer: lambda s: f"{s.name} = buf({', '.join([s.dtype, *map(str, s.shape), *['freed=1'] * s.freed])})",
    kf.View: _view,
    kf.Deref: lambda s: f"{s.name} = deref({_element(s.buf, (s.idx,))}, {s.dtype}{'' if s.size is None else f', {s.size}'})",
    kf.Begin: lambda s: f"begin({_element(s.buf, s.idx)}, {s.size})",
    kf.Var: lambda s: f"{s.name} = var({operand(s.init)}, {s.dtype}{f', lanes={s.lanes}' if s.lanes > 1 else ''})",
    kf.Assign: lambda s: f"{s.name} = {operand(s.value)}", kf.Fold: _fold, kf.Combine: _combine, kf.Call: _call,
    kf.Parallel: lambda s: f"parallel({', '.join([s.kernel, operand(s.trips), *s.args])})",
    kf.Raise: lambda s: f"raise_if({', '.join([operand(s.cond), str(s.code), *map(operand, s.values)])})",
    kf.Swap: lambda s: f"swap({s.a}, {s.b})", kf.Prefetch: lambda s: f"prefetch({_element(s.buf, s.idx)})",
}  # fmt: skip
