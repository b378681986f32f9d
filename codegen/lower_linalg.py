"""Lowering of matrix factorisations and solves to NumPy's LAPACK, one matrix of a stack after another.

Matrices are row-major here and column-major there. Where the numbers should be those that NumPy gets (pivots, signs of vectors),
matrices are transposed on the way in and out, as NumPy does; triangular solves and Cholesky read the same memory as the
transposed matrix. Where LAPACK is not found, Python runs the op (irad.codegen.lower_host).
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from irad.codegen import kform as kf
from irad.codegen import lapack
from irad.codegen.kform import Aff, Apply, Call, Const, For, Let, Load, Stmt, Store, View
from irad.codegen.lower import Frame, rule
from irad.codegen.lower_control import fill
from irad.codegen.lower_host import host_op
from irad.codegen.scratch import Scratch
from irad.errors import UnsupportedError
from irad.ir import Node, Value


class Routines:
    """Calls of LAPACK for one op. Statements go to the current block; constants live in the head of the kernel."""

    def __init__(self, f: Frame, dtype: str, found: lapack.Lapack):
        self.f, self.dtype, self.lapack = f, dtype, found
        self.scratch = Scratch(f)
        self.constants: dict[Any, str] = {}
        self.info = self.integers(1, "info")

    def array(self, n: int, hint: str = "work") -> str:
        """Working memory of n elements."""
        return self.scratch.array(self.dtype, max(n, 1), hint)

    def integers(self, n: int, hint: str = "ints") -> str:
        """Working memory of n of LAPACK's integers."""
        return self.scratch.array(self.lapack.index, max(n, 1), hint)

    def constant(self, x: str | int | float) -> str:
        """A buffer that holds a character, an integer or a number."""
        key = type(x), x
        if key not in self.constants:
            name = self.f.fresh("c")
            dtype = "u8" if isinstance(x, str) else self.lapack.index if isinstance(x, int) else self.dtype
            value = ord(x) if isinstance(x, str) else x
            self.f.head += [kf.Buffer(name, dtype, (1,)), Store(name, (0,), Const(value, dtype))]
            self.constants[key] = name
        return self.constants[key]

    def call(self, routine: str, *args: Any) -> None:
        """`args`: constants, and names of buffers wrapped in `Buf`."""
        symbol = self.lapack.symbol(routine, self.dtype)
        self.f.out.symbols[symbol] = self.lapack.symbols[symbol]
        names = tuple(a.name if isinstance(a, Buf) else self.constant(a) for a in args)
        writes = tuple(dict.fromkeys(a.name for a in args if isinstance(a, Buf)))
        self.f.block.append(Call(symbol, names, ("void", *["ptr"] * len(names)), writes=writes))

    def workspace(self, routine: str, *args: Any) -> tuple[str, int, str, int]:
        """Working arrays as a routine asks for; `args` as those of `lapack.work_sizes`, an array is a `Buf`."""
        n, k = lapack.work_sizes(routine, self.dtype, tuple(None if isinstance(a, Buf) else a for a in args))
        return self.array(n), n, self.integers(k, "iwork"), k

    def batched(self, batch: int, body: Callable[[Aff], None]) -> None:
        """`body(t)` for each matrix t, on one thread of OpenBLAS; then the working memory is given back."""
        f, threads, pattern = self.f, self.f.fresh("threads"), self.lapack.threads
        put = pattern.format("openblas_set_num_threads")
        if pattern:
            get = pattern.format("openblas_get_num_threads")
            f.out.symbols.update({s: self.lapack.symbols[s] for s in (get, put)})
            f.block += [Call(get, (), ("i32",), threads, "i32"), Call(put, (Const(1, "i32"),), ("void", "i32"))]
        t = f.fresh("t")
        stmts = f.within(lambda: body(Aff.of(t if batch > 1 else 0)))
        f.block += [For(t, "seq", 0, batch, stmts)] if batch > 1 else stmts
        if pattern:
            f.block.append(Call(put, (threads,), ("void", "i32")))
        self.scratch.free()

    def report(self, out: Value, t: Aff) -> None:
        """Put LAPACK's info into the output `out`."""
        f = self.f
        found = f.let(Load(self.info, (0,)), self.lapack.index, "status")
        wide = found if self.lapack.index == "i64" else f.let(Apply("cast", (found,)), "i64", "status")
        if out.type.shape:
            f.block.append(Store(f.place(out).buf, (f.place(out).offset + t,), wide))
        else:
            f.env[out] = wide

    def matrix(self, v: Value, t: Aff, size: int, hint: str = "mat") -> str:
        """A view of matrix (or vector) number t of a stack, `size` elements each."""
        name, place = self.f.fresh(hint), self.f.place(v)
        self.f.block.append(View(name, place.buf, (max(size, 1),), place.offset + t * size))
        return name

    def move(
        self,
        m: int,
        n: int,
        element: Callable[[Aff, Aff], tuple[list[Stmt], kf.Operand]],
        target: str,
        at: Callable[[Aff, Aff], Aff],
    ) -> None:
        """target[at(i, j)] = element(i, j) for all i < m and j < n; `element` gives statements and their value."""
        i, j = self.f.fresh("i"), self.f.fresh("j")
        stmts, value = element(Aff.of(i), Aff.of(j))
        self.f.block.append(
            For(i, "seq", 0, m, [For(j, "seq", 0, n, [*stmts, Store(target, (at(Aff.of(i), Aff.of(j)),), value)])])
        )

    def read(self, source: str, at: kf.Index, dtype: str = "") -> tuple[list[Stmt], str]:
        """A statement that reads an element, and its name."""
        x = self.f.fresh("x")
        return [Let(x, dtype or self.dtype, Load(source, (at,)))], x

    def turn(self, source: str, target: str, m: int, n: int) -> None:
        """The m x n matrix in `source`, row-major, to column-major in `target`; with m and n exchanged the way back."""
        self.move(m, n, lambda i, j: self.read(source, i * n + j), target, lambda i, j: j * m + i)

    def copy(self, source: str, target: str, m: int, n: int) -> None:
        """Row-major to row-major."""
        self.move(m, n, lambda i, j: self.read(source, i * n + j), target, lambda i, j: i * n + j)

    def part(self, source: str, at: Callable[[Aff, Aff], Aff], target: str, m: int, n: int, lower: bool) -> None:
        """A triangle of `source`, zeros elsewhere, to `target`, row-major."""

        def element(i: Aff, j: Aff) -> tuple[list[Stmt], kf.Operand]:
            inside, kept = self.f.fresh("inside"), self.f.fresh("kept")
            low, high = (j, i) if lower else (i, j)
            load, x = self.read(source, at(i, j))
            return [
                *load, Let(inside, "bool", Apply("le", (low, high))), Let(kept, self.dtype, Apply("select", (inside, x, Const(0, self.dtype)))),
            ], kept  # fmt: skip

        self.move(m, n, element, target, lambda i, j: i * n + j)


class Buf:
    """A buffer as an argument of a routine."""

    def __init__(self, name: str):
        self.name = name


def with_lapack(f: Frame, node: Node) -> Routines | None:
    """What is needed to call LAPACK, or None if Python has run the op."""
    for v in (*node.inputs, *node.outputs):
        if not v.type.static:
            raise UnsupportedError(f"{node.op.name} of matrices of run-time extents ({v.type}): pass whole matrices", node.loc)
    found = lapack.find()
    if found is None:
        host_op(f, node)
        return None
    return Routines(f, node.inputs[0].type.dtype, found)


def extents(v: Value) -> tuple[int, int, int]:
    """Number of matrices, rows and columns."""
    *batch, m, n = v.type.shape
    return prod(batch), m, n  # type: ignore[return-value, arg-type]


# ---- LU and solves -----------------------------------------------------------------------------------------------------------------


@rule("lu")
def _lu(f: Frame, node: Node) -> None:
    (a,), (factors, swaps, rows) = node.inputs, node.outputs
    batch, n, _ = extents(a)
    r = with_lapack(f, node) if batch * n else None
    if r is None:
        return
    work, pivots = r.array(n * n), r.integers(n, "pivots")

    def one(t: Aff) -> None:
        r.turn(r.matrix(a, t, n * n), work, n, n)
        r.call("getrf", n, n, Buf(work), n, Buf(pivots), Buf(r.info))
        r.turn(work, r.matrix(factors, t, n * n), n, n)
        _row_order(r, pivots, r.matrix(swaps, t, n), r.matrix(rows, t, n), n)

    r.batched(batch, one)


def _row_order(r: Routines, pivots: str, swaps: str, rows: str, n: int) -> None:
    """Pivots counted from 0, and the order of rows that the exchanges lead to."""
    f = r.f
    i, k, p, q, x, y = (f.fresh(s) for s in "ikpqxy")
    wide: list[Stmt] = [Let(p, r.lapack.index, Load(pivots, (k,)))]
    if r.lapack.index != "i64":
        p, narrow = f.fresh("p"), p
        wide.append(Let(p, "i64", Apply("cast", (narrow,))))
    exchange: list[Stmt] = [
        *wide, Let(q, "i64", Apply("sub", (p, Const(1, "i64")))), Store(swaps, (k,), q), Let(x, "i64", Load(rows, (k,))),
        Let(y, "i64", Load(rows, (q,))), Store(rows, (k,), y), Store(rows, (q,), x),
    ]  # fmt: skip
    f.block += [For(i, "seq", 0, n, [Store(rows, (i,), Aff.of(i))]), For(k, "seq", 0, n, exchange)]


@rule("solve")
def _solve(f: Frame, node: Node) -> None:
    """With the rows in order, two triangular solves; a transposed solve has the same steps the other way round."""
    (_, factors, rows, b), (out,) = node.inputs, node.outputs
    batch, n, k = extents(b)
    r = with_lapack(f, node) if batch * n * k else None
    if r is None:
        return
    trans = node.attrs["trans"]
    work = r.array(n * k) if trans else ""

    def one(t: Aff) -> None:
        lu, order = r.matrix(factors, t, n * n), r.matrix(rows, t, n, "order")
        source, target = r.matrix(b, t, n * k), r.matrix(out, t, n * k)
        if trans:
            r.copy(source, work, n, k)
            r.call("trsm", "R", "L", "T", "N", k, n, 1.0, Buf(lu), n, Buf(work), k)
            r.call("trsm", "R", "U", "T", "U", k, n, 1.0, Buf(lu), n, Buf(work), k)
            _permuted(r, work, target, order, n, k, place=True)
        else:
            _permuted(r, source, target, order, n, k, place=False)
            r.call("trsm", "R", "U", "N", "U", k, n, 1.0, Buf(lu), n, Buf(target), k)
            r.call("trsm", "R", "L", "N", "N", k, n, 1.0, Buf(lu), n, Buf(target), k)

    r.batched(batch, one)


def _permuted(r: Routines, source: str, target: str, order: str, n: int, k: int, place: bool) -> None:
    """target[i] = source[order[i]], or with `place` target[order[i]] = source[i], of rows of k elements."""
    f = r.f
    i, j, o, x = (f.fresh(s) for s in "ijox")
    here, there = Aff.of(i) * k + Aff.of(j), Aff.of(o) * k + Aff.of(j)
    body: list[Stmt] = [Let(x, r.dtype, Load(source, (here if place else there,))), Store(target, (there if place else here,), x)]
    f.block.append(For(i, "seq", 0, n, [Let(o, "i64", Load(order, (i,))), For(j, "seq", 0, k, body)]))


@rule("triangular_solve")
def _triangular_solve(f: Frame, node: Node) -> None:
    (a, b), (out,), at = node.inputs, node.outputs, node.attrs
    batch, n, k = extents(b)
    r = with_lapack(f, node) if batch * n * k else None
    if r is None:
        return
    flags = ("R", "U" if at["lower"] else "L", "T" if at["trans"] else "N", "U" if at["unit"] else "N")

    def one(t: Aff) -> None:
        target = r.matrix(out, t, n * k)
        r.copy(r.matrix(b, t, n * k), target, n, k)
        r.call("trsm", *flags, k, n, 1.0, Buf(r.matrix(a, t, n * n)), n, Buf(target), k)

    r.batched(batch, one)


@rule("cholesky")
def _cholesky(f: Frame, node: Node) -> None:
    """The lower triangle in rows is the upper one in columns."""
    (a,), (out, info) = node.inputs, node.outputs
    batch, n, _ = extents(a)
    if not batch * n:
        return no_info(f, info)
    r = with_lapack(f, node)
    if r is None:
        return None

    def one(t: Aff) -> None:
        source, target = r.matrix(a, t, n * n), r.matrix(out, t, n * n)
        r.part(source, lambda i, j: i * n + j, target, n, n, lower=True)
        r.call("potrf", "U", n, Buf(target), n, Buf(r.info))
        r.report(info, t)

    return r.batched(batch, one)


def no_info(f: Frame, info: Value) -> None:
    """Nothing was done, and nothing went wrong."""
    if info.type.shape:
        fill(f, info, Const(0, "i64"))
    else:
        f.env[info] = Const(0, "i64")
