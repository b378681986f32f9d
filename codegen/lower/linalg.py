"""Lowering of matrix factorisations and solves to NumPy's LAPACK, one matrix of a stack after another.

Matrices are row-major here and column-major there. Where the numbers should be those that NumPy gets (pivots, signs of vectors),
matrices are transposed on the way in and out, as NumPy does; triangular solves and Cholesky read the same memory as the
transposed matrix. Complex matrices come as two arrays, their parts, and are pairs of numbers for LAPACK. Where LAPACK is not
found, Python runs the op (irad.codegen.lower.host).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Call, Const, For, Let, Load, Stmt, Store, View, integer
from irad.codegen.libraries import lapack
from irad.codegen.lower.control import fill
from irad.codegen.lower.graph import KernelBuilder, rule
from irad.codegen.lower.host import host_op
from irad.codegen.lower.scratch import Scratch
from irad.core.affine import Integer
from irad.core.ir import Node, Value
from irad.core.types import complex_dtype
from irad.errors import UnsupportedError

Places = list[
    tuple[str, Callable[[Integer, Integer], Integer]]
]  # where element (i, j) lies: for each part of a number a buffer and an index


class Routines:
    """Calls of LAPACK for one op. Statements go to the current block; constants live in the head of the kernel.

    Numbers are real or complex, `width` is 1 or 2: complex ones come as two arrays, their parts, and are pairs in working memory.
    `dtype` is that of the parts.
    """

    def __init__(self, f: KernelBuilder, dtype: str, found: lapack.Lapack, complex_: bool = False):
        self.f, self.dtype, self.lapack = f, dtype, found
        self.width = 2 if complex_ else 1
        self.numbers = complex_dtype(dtype) if complex_ else dtype
        self.scratch = Scratch(f)
        self.constants: dict[Any, str] = {}
        self.info = self.integers(1, "info")

    def array(self, n: int, hint: str = "work") -> str:
        """Working memory of n numbers."""
        return self.reals(n * self.width, hint)

    def reals(self, n: int, hint: str = "real") -> str:
        """Working memory of n real numbers."""
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
            values = [ord(x) if isinstance(x, str) else x, *([0.0] if isinstance(x, float) and self.width == 2 else [])]
            self.f.head.append(kf.Buffer(name, dtype, (len(values),)))
            self.f.head += [Store(name, (k,), Const(v, dtype)) for k, v in enumerate(values)]
            self.constants[key] = name
        return self.constants[key]

    def call(self, routine: str, *args: Any) -> None:
        """`args`: constants, and names of buffers wrapped in `Ptr`."""
        symbol = self.lapack.symbol(routine, self.numbers)
        self.f.out.symbols[symbol] = self.lapack.symbols[symbol]
        names = tuple(a.name if isinstance(a, Ptr) else self.constant(a) for a in args)
        writes = tuple(dict.fromkeys(a.name for a in args if isinstance(a, Ptr)))
        self.f.block.append(Call(symbol, names, ("void", *["ptr"] * len(names)), writes=writes))

    def workspace(self, routine: str, *args: Any) -> tuple[list[Any], list[Any], list[Any]]:
        """Arguments for the working arrays that a routine asks for, each with its length: of numbers, of integers, of real numbers.

        `args` as those of `lapack.work_sizes`, an array is a `Ptr`.
        """
        sizes = lapack.work_sizes(routine, self.numbers, tuple(None if isinstance(a, Ptr) else a for a in args))
        makers = (self.array, lambda n: self.integers(n, "iwork"), self.reals)
        found = [[Ptr(make(n)), n] if name in args else [] for make, n, name in zip(makers, sizes, ("work", "iwork", "rwork"))]
        return found[0], found[1], found[2]

    def batched(self, batch: int, body: Callable[[Integer], None]) -> None:
        """`body(t)` for each matrix t, on one thread of OpenBLAS; then the working memory is given back."""
        f, threads, pattern = self.f, self.f.fresh("threads"), self.lapack.threads
        put = pattern.format("openblas_set_num_threads")
        if pattern:
            get = pattern.format("openblas_get_num_threads")
            f.out.symbols.update({s: self.lapack.symbols[s] for s in (get, put)})
            f.block += [Call(get, (), ("i32",), threads, "i32"), Call(put, (Const(1, "i32"),), ("void", "i32"))]
        t = f.fresh("t")
        stmts = f.within(lambda: body(integer(t if batch > 1 else 0)))
        f.block += [For(t, "seq", 0, batch, stmts)] if batch > 1 else stmts
        if pattern:
            f.block.append(Call(put, (threads,), ("void", "i32")))
        self.scratch.free()

    def report(self, out: Value, t: Integer) -> None:
        """Put LAPACK's info into the output `out`."""
        f = self.f
        found = f.let(Load(self.info, (0,)), self.lapack.index, "status")
        wide = found if self.lapack.index == "i64" else f.let(Apply("cast", (found,)), "i64", "status")
        if out.type.shape:
            f.block.append(Store(f.address(out).buf, (f.address(out).offset + t,), wide))
        else:
            f.env[out] = wide

    # ---- matrices -----------------------------------------------------------------------------------------------------

    def split(self, values: Sequence[Value], kinds: str) -> list[tuple[Value, ...]]:
        """Operands or results, those that are numbers ("z") with both parts."""
        it = iter(values)
        return [tuple(next(it) for _ in range(self.width if k == "z" else 1)) for k in kinds]

    def matrix(self, v: Value, t: Integer, size: int, hint: str = "mat") -> str:
        """A view of matrix (or vector) number t of a stack, `size` elements each."""
        name, place = self.f.fresh(hint), self.f.address(v)
        self.f.block.append(View(name, place.buf, (max(size, 1),), place.offset + t * size))
        return name

    def rows(self, v: Sequence[Value], t: Integer, m: int, n: int) -> Places:
        """Matrix number t of an operand or result."""
        at = lambda i, j: i * n + j
        return [(self.matrix(part, t, m * n), at) for part in v]

    def within(self, work: str, at: Callable[[Integer, Integer], Integer]) -> Places:
        """A matrix in working memory whose element (i, j) is number at(i, j)."""
        return [(work, lambda i, j, k=k: at(i, j) * self.width + k) for k in range(self.width)]  # type: ignore[misc]

    def columns(self, work: str, m: int) -> Places:
        """A column-major matrix of m rows in working memory."""
        return self.within(work, lambda i, j: j * m + i)

    def in_rows(self, work: str, n: int) -> Places:
        """A row-major matrix of n columns in working memory."""
        return self.within(work, lambda i, j: i * n + j)

    def move(self, source: Places, target: Places, m: int, n: int, keep: str = "") -> None:
        """The m x n matrix at `source` to `target`; `keep`: "lower" or "upper", zeros elsewhere."""
        i, j = self.f.fresh("i"), self.f.fresh("j")
        row, col = integer(i), integer(j)
        stmts: list[Stmt] = []
        if keep:
            inside = self.f.fresh("inside")
            stmts.append(Let(inside, "bool", Apply("le", (col, row) if keep == "lower" else (row, col))))
        for (a, at), (b, to) in zip(source, target, strict=True):
            x = self.f.fresh("x")
            stmts.append(Let(x, self.dtype, Load(a, (at(row, col),))))
            if keep:
                x, whole = self.f.fresh("kept"), x
                stmts.append(Let(x, self.dtype, Apply("select", (inside, whole, Const(0, self.dtype)))))
            stmts.append(Store(b, (to(row, col),), x))
        self.f.block.append(For(i, "seq", 0, m, [For(j, "seq", 0, n, stmts)]))

    def room(self, *sizes: tuple[int, int]) -> list[str]:
        """Row-major working memory for matrices of those extents; of real numbers, which LAPACK finds where they are, none."""
        return [self.array(m * n, "rows") if self.width == 2 else "" for m, n in sizes]

    def taken(self, v: Sequence[Value], t: Integer, m: int, n: int, room: str) -> str:
        """A buffer with operand matrix number t, row-major: its own, or `room`."""
        if self.width == 1:
            return self.matrix(v[0], t, m * n)
        self.move(self.rows(v, t, m, n), self.in_rows(room, n), m, n)
        return room

    def given(self, v: Sequence[Value], t: Integer, m: int, n: int, room: str) -> str:
        """The buffer in which result matrix number t is made, row-major; see `give`."""
        return self.matrix(v[0], t, m * n) if self.width == 1 else room

    def give(self, v: Sequence[Value], t: Integer, m: int, n: int, room: str) -> None:
        """Put what was made in `room` where the result lies."""
        if self.width == 2:
            self.move(self.in_rows(room, n), self.rows(v, t, m, n), m, n)


class Ptr:
    """A buffer as an argument of a routine."""

    def __init__(self, name: str):
        self.name = name


def with_lapack(f: KernelBuilder, node: Node, size: int, info: Value | None = None) -> Routines | None:
    """What is needed to call LAPACK; None if Python has run the op, or if there is nothing to do: then `size` is 0, and `info` too."""
    if not size:
        if info is not None:
            no_info(f, info)
        return None
    for v in (*node.inputs, *node.outputs):
        if not v.type.static:
            raise UnsupportedError(f"{node.op.name} of matrices of run-time extents ({v.type}): pass whole matrices", node.loc)
    t, complex_ = node.inputs[0].type, "z" in node.op.extra.get("kinds", "")
    found = f.out.outside.lapack(complex_dtype(t.dtype) if complex_ else t.dtype)
    if found is None and not f.out.outside.python:
        raise UnsupportedError(
            f"{node.op.name} calls LAPACK, and no library has been named: export with blas='openblas'", node.loc
        )
    if found is None:
        host_op(f, node)
        return None
    return Routines(f, t.dtype, found, complex_)


def extents(v: Value) -> tuple[int, int, int]:
    """Number of matrices, rows and columns."""
    *batch, m, n = v.type.shape
    return prod(batch), m, n  # type: ignore[return-value, arg-type]


One = Callable[[Integer], None]
Make = Callable[[Routines, Node, int, int], One]


def routine(
    *names: str, info: bool = False, empty: Callable[[KernelBuilder, Node], None] | None = None
) -> Callable[[Make], Make]:
    """Register what LAPACK does for some ops: `make(r, node, m, n)` gives what is done for matrix number t, where the matrices of the
    last operand are m x n. `info`: the last result is LAPACK's; `empty` fills results where there is nothing to factorise."""

    def register(make: Make) -> Make:
        @rule(*names)
        def lower(f: KernelBuilder, node: Node) -> None:
            batch, m, n = extents(node.inputs[-1])
            status = node.outputs[-1] if info else None
            if empty is not None and not batch * m * n:
                empty(f, node)
            r = with_lapack(f, node, batch * m * n, status)
            if r is None:
                return
            one = make(r, node, m, n)

            def reported(t: Integer) -> None:
                one(t)
                if status is not None:
                    r.report(status, t)

            r.batched(batch, reported)

        return make

    return register


# ---- LU and solves -----------------------------------------------------------------------------------------------------------------


@routine("lu", "lu_parts")
def _lu(r: Routines, node: Node, n: int, width: int) -> One:
    (a,), (factors, (swaps,), (rows,)) = r.split(node.inputs, "z"), r.split(node.outputs, "z11")
    work, pivots = r.array(n * n), r.integers(n, "pivots")

    def one(t: Integer) -> None:
        r.move(r.rows(a, t, n, n), r.columns(work, n), n, n)
        r.call("getrf", n, n, Ptr(work), n, Ptr(pivots), Ptr(r.info))
        r.move(r.columns(work, n), r.rows(factors, t, n, n), n, n)
        _row_order(r, pivots, r.matrix(swaps, t, n), r.matrix(rows, t, n), n)

    return one


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
    f.block += [For(i, "seq", 0, n, [Store(rows, (i,), integer(i))]), For(k, "seq", 0, n, exchange)]


@routine("solve", "solve_parts")
def _solve(r: Routines, node: Node, n: int, k: int) -> One:
    """Put the rows in order, then solve with both triangles; a transposed solve has the same steps in the opposite order."""
    (_, factors, (rows,), b), (out,) = r.split(node.inputs, "zz1z"), r.split(node.outputs, "z")
    trans, wide = node.attrs["trans"], k * r.width
    work = r.array(n * k) if trans else ""
    square, right, left = r.room((n, n), (n, k), (n, k))

    def one(t: Integer) -> None:
        lu, order = r.taken(factors, t, n, n, square), r.matrix(rows, t, n, "order")
        source, target = r.taken(b, t, n, k, right), r.given(out, t, n, k, left)
        if trans:
            _copied(r, source, work, n * wide)
            r.call("trsm", "R", "L", "T", "N", k, n, 1.0, Ptr(lu), n, Ptr(work), k)
            r.call("trsm", "R", "U", "T", "U", k, n, 1.0, Ptr(lu), n, Ptr(work), k)
            _permuted(r, work, target, order, n, wide, place=True)
        else:
            _permuted(r, source, target, order, n, wide, place=False)
            r.call("trsm", "R", "U", "N", "U", k, n, 1.0, Ptr(lu), n, Ptr(target), k)
            r.call("trsm", "R", "L", "N", "N", k, n, 1.0, Ptr(lu), n, Ptr(target), k)
        r.give(out, t, n, k, left)

    return one


def _copied(r: Routines, source: str, target: str, n: int) -> None:
    i, x = r.f.fresh("i"), r.f.fresh("x")
    r.f.block.append(For(i, "seq", 0, n, [Let(x, r.dtype, Load(source, (integer(i),))), Store(target, (integer(i),), x)]))


def _permuted(r: Routines, source: str, target: str, order: str, n: int, k: int, place: bool) -> None:
    """target[i] = source[order[i]], or with `place` target[order[i]] = source[i], of rows of k elements."""
    f = r.f
    i, j, o, x = (f.fresh(s) for s in "ijox")
    here, there = integer(i) * k + integer(j), integer(o) * k + integer(j)
    body: list[Stmt] = [Let(x, r.dtype, Load(source, (here if place else there,))), Store(target, (there if place else here,), x)]
    f.block.append(For(i, "seq", 0, n, [Let(o, "i64", Load(order, (i,))), For(j, "seq", 0, k, body)]))


@routine("triangular_solve", "triangular_solve_parts")
def _triangular_solve(r: Routines, node: Node, n: int, k: int) -> One:
    at = node.attrs
    (a, b), (out,) = r.split(node.inputs, "zz"), r.split(node.outputs, "z")
    flags = ("R", "U" if at["lower"] else "L", "T" if at["trans"] else "N", "U" if at["unit"] else "N")
    square, left = r.room((n, n), (n, k))

    def one(t: Integer) -> None:
        target = r.given(out, t, n, k, left)
        there = r.in_rows(left, k) if left else r.rows(out, t, n, k)
        r.move(r.rows(b, t, n, k), there, n, k)
        r.call("trsm", *flags, k, n, 1.0, Ptr(r.taken(a, t, n, n, square)), n, Ptr(target), k)
        r.give(out, t, n, k, left)

    return one


@routine("cholesky", "cholesky_parts", info=True)
def _cholesky(r: Routines, node: Node, n: int, width: int) -> One:
    """The lower triangle in rows is the upper one in columns: of A^T = U^H U, with L = U^T."""
    (a,), (out, *_) = r.split(node.inputs, "z"), r.split(node.outputs, "z1")
    (left,) = r.room((n, n))

    def one(t: Integer) -> None:
        target = r.given(out, t, n, n, left)
        there = r.in_rows(left, n) if left else [(target, lambda i, j: i * n + j)]
        r.move(r.rows(a, t, n, n), there, n, n, keep="lower")
        r.call("potrf", "U", n, Ptr(target), n, Ptr(r.info))
        r.give(out, t, n, n, left)

    return one


def no_info(f: KernelBuilder, info: Value) -> None:
    """Nothing was done, and nothing went wrong."""
    if info.type.shape:
        fill(f, info, Const(0, "i64"))
    else:
        f.env[info] = Const(0, "i64")
