"""Lowering of contractions that are not fused: NumPy's OpenBLAS, or plain loops where it is not found.

The fuse pass has brought every such `dot` to matrix form (irad.passes.fusion.matrix_form): each operand's axes are batch axes, then its
free and its contracted axes as two groups that lie together in memory, in either order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Const, integer
from irad.codegen.libraries import blas
from irad.codegen.lower.control import fill
from irad.codegen.lower.graph import KernelBuilder, rule
from irad.codegen.schedule.notes import note_product
from irad.core.affine import Integer
from irad.core.ir import Node, Value
from irad.ops.array import Product

SHARED = 1 << 24  # multiplications from which on a product is shared out among threads
PANEL, PANELS = 128, 16  # rows or columns of a panel at least; panels at most


@rule("dot")
def _dot(f: KernelBuilder, node: Node) -> None:
    a, b = node.inputs
    (out,) = node.outputs
    p = Product(node)
    (ca, cb), (free_a, free_b) = p.contract, p.free
    m, n, k, batch = _size(f, a, free_a), _size(f, b, free_b), _size(f, a, ca), _size(f, a, p.batch[0])
    if not m or not n or not batch:
        return
    if not k:
        fill(f, out, Const(0, out.type.dtype))
        return
    trans = (_first(ca, free_a), _first(free_b, cb))
    t = f.fresh("t")
    at = integer(t)
    views = [_view(f, v, at * s, s) for v, s in ((a, m * k), (b, k * n), (out, m * n))]
    stmts: list[kf.Stmt] = [*views, *_product(f, out.type.dtype, [v.name for v in views], (m, n, k), trans)]
    f.block += _unless_empty(f, out, k, [kf.For(t, "seq", 0, batch, stmts)])
    note_product(f, node, (m, n, k), batch, f.out.outside.blas() is not None)


def _size(f: KernelBuilder, v: Value, axes: Sequence[int]) -> Integer:
    """Elements along some axes."""
    return prod((f.dim(v.type.shape[k]) for k in axes), start=1)


def _unless_empty(f: KernelBuilder, out: Value, k: Integer, product: list[kf.Stmt]) -> list[kf.Stmt]:
    """The product; where nothing turns out to be summed over, zeros: no leading dimension of a BLAS may be 0."""
    if isinstance(k, int) and out.type.static:
        return product
    some: kf.Operand = Const(True, "bool")
    for size in (k, *(f.dim(d) for d in out.type.shape)):
        if not isinstance(size, int):
            some = f.let(
                Apply("logical_and", (some, f.let(Apply("lt", (Const(0, "i64"), size)), "bool", "some"))), "bool", "some"
            )
    return [kf.If(some, product, f.within(lambda: fill(f, out, Const(0, out.type.dtype))))]


def _first(x: Sequence[int], y: Sequence[int]) -> bool:
    """Does group x stand before group y in memory?"""
    return bool(x) and (not y or min(x) < min(y)) and bool(y)


def _view(f: KernelBuilder, v: Value, offset: Integer, size: Integer) -> kf.View:
    place = f.address(v)
    return kf.View(f.fresh("mat"), place.buf, (size,), place.offset + offset)


def _product(
    f: KernelBuilder, dtype: str, bufs: Sequence[str], mnk: tuple[Integer, Integer, Integer], trans: tuple[bool, bool]
) -> list[kf.Stmt]:
    (a, b, c), (m, n, k) = bufs, mnk
    found = f.out.outside.blas()
    if found is None:
        return _loops(f, dtype, bufs, mnk, trans)
    f.out.symbols.update(found.symbols)
    ld = (m if trans[0] else k, k if trans[1] else n, n)
    if isinstance(m, int) and isinstance(n, int) and isinstance(k, int) and m * n * k >= SHARED and max(m, n) >= 2 * PANEL:
        return _panels(f, found, dtype, bufs, (m, n, k), ld, trans)
    return found.gemm(dtype, a, b, c, mnk, ld, trans=trans, name=f.fresh("blas"))


def _panels(
    f: KernelBuilder, found: blas.Blas, dtype: str, bufs: Sequence[str], mnk: tuple[int, int, int],
    ld: tuple[Integer, Integer, Integer], trans: tuple[bool, bool],
) -> list[kf.Stmt]:  # fmt: skip
    """A large product as a parallel loop over panels of rows, or of columns: each is a product on one thread."""
    (a, b, c), (m, n, k), name = bufs, mnk, f.fresh("blas")
    rows = m >= 2 * PANEL
    whole = m if rows else n
    count = min(PANELS, whole // PANEL)
    size = -(-whole // count)
    i, x, y = f.fresh("panel"), f.fresh("mat"), f.fresh("mat")
    start = integer(i) * size
    many = f.fresh("many")
    length = kf.Let(many, "i64", Apply("minimum", (Const(size, "i64"), whole - start)))
    moved = (a, start * (1 if trans[0] else ld[0])) if rows else (b, start * (ld[1] if trans[1] else 1))
    views = [kf.View(x, moved[0], (m * n * k,), moved[1]), kf.View(y, c, (m * n,), start * (n if rows else 1))]
    at, shape = ((x, b, y), (many, n, k)) if rows else ((a, x, y), (m, many, k))
    call = found.gemm(dtype, *at, shape, ld, trans=trans, name=name, guarded=False)
    return found.on_one_thread([kf.For(i, "par", 0, -(-whole // size), [length, *views, *call])], name)


def _loops(
    f: KernelBuilder, dtype: str, bufs: Sequence[str], mnk: tuple[Integer, Integer, Integer], trans: tuple[bool, bool]
) -> list[kf.Stmt]:
    """C[i,:] = sum over k of A[i,k] B[k,:], lanes along the row."""
    (a, b, c), (m, n, k) = bufs, mnk
    i, j, p, x, y, z = (f.fresh(s) for s in "ijkxyz")
    I, J, P = integer(i), integer(j), integer(p)
    lanes = 64 // f.itemsize(dtype)
    if isinstance(n, int):
        lanes = min(lanes, 1 << (n - 1).bit_length())
    at_a, at_b = (P * m + I if trans[0] else I * k + P), (J * k + P if trans[1] else P * n + J)
    clear = kf.For(j, "vec", 0, n, [kf.Store(c, (I * n + J,), Const(0, dtype))], lanes=lanes)
    row: list[kf.Stmt] = [
        kf.Let(y, dtype, kf.Load(b, (at_b,))), kf.Let(z, dtype, Apply("mul", (x, y))), kf.Store(c, (I * n + J,), z, add=True),
    ]  # fmt: skip
    inner: list[kf.Stmt] = [kf.Let(x, dtype, kf.Load(a, (at_a,))), kf.For(j, "vec", 0, n, row, lanes=lanes)]
    return [kf.For(i, "seq", 0, m, [clear, kf.For(p, "seq", 0, k, inner)])]
