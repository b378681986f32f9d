"""Lowering of array ops that are not fused: single elements, scans."""

from __future__ import annotations

from collections.abc import Sequence

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, integer
from irad.codegen.lower.graph import KernelBuilder, rule
from irad.core.affine import Integer
from irad.core.ir import Node, Value
from irad.core.types import is_float
from irad.ops.array import Slice


def element_position(f: KernelBuilder, x: Value, spec: Sequence[int | str | Slice], operands: Sequence[Value]) -> Integer:
    """Flat position of one element."""
    it = iter(operands)
    at = f.address(x).offset
    for s, stride in zip(spec, f.strides(x)):
        assert not isinstance(s, Slice)
        at = at + (f.aff(next(it)) if s == "i" else integer(int(s))) * stride
    return at


@rule("index")
def _index(f: KernelBuilder, node: Node) -> None:
    """One element (slices and gathers are fused into loops)."""
    x, *operands = node.inputs
    at = element_position(f, x, node.attrs["spec"], operands)
    f.env[node.out] = f.let(kf.Load(f.address(x).buf, (at,)), x.type.dtype, node.out.hint or "x")


@rule("update", "update_add")
def _update(f: KernelBuilder, node: Node) -> None:
    """Store one element in place: the plan pass gave x and the result one place."""
    x, v, *operands = node.inputs
    y = node.out
    at = element_position(f, y, node.attrs["spec"], operands)
    f.block.append(kf.Store(f.address(y).buf, (at,), f.operand(v), add=node.op.name == "update_add"))


@rule("cumsum", "cumprod")
def _scan(f: KernelBuilder, node: Node) -> None:
    """Lanes over the axes after the scanned one, the running value in memory; along the last axis one by one."""
    (x,), (y,) = node.inputs, node.outputs
    comb, unit = ("add", 0.0) if node.op.name == "cumsum" else ("mul", 1.0)
    if not is_float(y.type.dtype):
        unit = int(unit)
    elif not unit and not node.attrs["exclusive"]:
        unit = -0.0  # added to either zero it gives that

    def step(v: str, at: Integer, carry: str) -> list[kf.Stmt]:
        a, b = f.address(x), f.address(y)
        new = f.fresh("y")
        load = kf.Let(v, x.type.dtype, kf.Load(a.buf, (a.offset + at,)))
        value = kf.Let(new, y.type.dtype, Apply(comb, (carry, v)))
        stored = carry if node.attrs["exclusive"] else new
        keep = [kf.Let(f"{new}_old", y.type.dtype, Apply("cast", (carry,)))] if node.attrs["exclusive"] else []
        stored = f"{new}_old" if node.attrs["exclusive"] else stored
        return [load, *keep, value, kf.Store(b.buf, (b.offset + at,), stored), kf.Assign(carry, new)]

    along(f, y, node.attrs["axis"], node.attrs["reverse"], Const(unit, y.type.dtype), step)


def along(f: KernelBuilder, y: Value, axis: int, reverse: bool, init: kf.Operand, step) -> None:  # type: ignore[no-untyped-def]
    """Loops over all other axes, then along `axis` in order with a scalar carry that starts at `init`."""
    names = [f.fresh("i") for _ in y.type.shape]
    dims = [f.dim(d) for d in y.type.shape]
    if any(d == 0 for d in dims):
        return
    at: Integer = 0
    for k, (name, stride) in enumerate(zip(names, f.strides(y))):
        i = integer(name)
        at = at + ((dims[k] - 1 - i) if reverse and k == axis else i) * stride
    carry = f.fresh("carry")
    body = [kf.For(names[axis], "seq", 0, dims[axis], step(f.fresh("x"), at, carry))]
    stmts: list[kf.Stmt] = [kf.Var(carry, y.type.dtype, init), *body]
    for k in reversed(range(len(names))):
        if k != axis:
            stmts = [kf.For(names[k], "seq", 0, dims[k], stmts)]
    f.block += stmts


@rule("linrec")
def _linrec(f: KernelBuilder, node: Node) -> None:
    (a, b), (y,) = node.inputs, node.outputs

    def step(v: str, at: Integer, carry: str) -> list[kf.Stmt]:
        pa, pb, py = f.address(a), f.address(b), f.address(y)
        w, t, new = f.fresh("a"), f.fresh("t"), f.fresh("y")
        return [
            kf.Let(v, a.type.dtype, kf.Load(pa.buf, (pa.offset + at,))),
            kf.Let(w, a.type.dtype, kf.Load(pb.buf, (pb.offset + at,))),
            kf.Let(t, a.type.dtype, Apply("mul", (v, carry)), contract=node.deriv),
            kf.Let(new, a.type.dtype, Apply("add", (t, w)), contract=node.deriv),
            kf.Store(py.buf, (py.offset + at,), new),
            kf.Assign(carry, new),
        ]

    along(f, y, node.attrs["axis"], node.attrs["reverse"], Const(0, y.type.dtype), step)


@rule("nonzero")
def _nonzero(f: KernelBuilder, node: Node) -> None:
    """Positions of true elements, one after another."""
    (mask,), (out,) = node.inputs, node.outputs
    count, i, m, new = f.fresh("count"), f.fresh("i"), f.fresh("m"), f.fresh("n")
    a, b = f.address(mask), f.address(out)
    keep: list[kf.Stmt] = [
        kf.Store(b.buf, (b.offset + integer(count),), integer(i)), kf.Let(new, "i64", Apply("add", (count, Const(1, "i64")))), kf.Assign(count, new),
    ]  # fmt: skip
    body: list[kf.Stmt] = [kf.Let(m, "bool", kf.Load(a.buf, (a.offset + integer(i),))), kf.If(m, keep)]
    f.block += [kf.Var(count, "i64", Const(0, "i64")), kf.For(i, "seq", 0, f.size(mask), body)]
