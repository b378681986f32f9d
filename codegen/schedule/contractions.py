"""Register-tile kernels for contractions: matrix products, batched and transposed ones, convolutions.

A contraction is a nest that irad.passes.contractions.fuse_dot makes: an outer `loop` over the axes of the result whose body holds sums of
products over inner axes, then elementwise code (the epilogue) and stores:

    loop over (i, j): { s = loop over k: add A[i,k] * B[k,j];  store relu(s + bias[j]) }

One axis (`column`) gets the lanes: one factor walks it with stride 1, the other does not depend on it and is broadcast.
The axes that only the broadcast factor depends on (`rows`) are unrolled: each vector that is loaded meets all rows of the tile,
whose sums stay in registers while the inner axes run. How large a tile is: irad.codegen.schedule.register_tile.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Const, integer
from irad.codegen.lower.graph import Address, KernelBuilder
from irad.codegen.schedule.contraction_form import ContractionForm, InnerSum
from irad.codegen.schedule.loops import element
from irad.codegen.schedule.notes import note_contraction
from irad.codegen.schedule.packed import coefficient_of
from irad.core.affine import Integer
from irad.core.ir import Node
from irad.ops.loop import load

LONG_EPILOGUE = 48  # vector operations on a tile: more are emitted once, in a loop over the tile, rather than unrolled with it
PANEL = 1 << 18  # bytes of stack for packed factors
PITCH = 1024  # bytes: rows a multiple of this apart fall on few sets of the first-level cache


def lower_contraction(f: KernelBuilder, node: Node) -> bool:
    """Lower a nest as a register-tile kernel. False (and nothing done) if it is not a contraction that gains by it."""
    c = Contraction.of(f, node)
    if c is None or not c.choose_axes():
        return False
    note_contraction(f, c)
    c.lower()
    return True


class Contraction(ContractionForm):
    """Emits a contraction as a register-tile kernel."""

    def lower(self) -> None:
        """Loops over the remaining axes, then over columns and rows in tiles."""
        f = self.f
        for r in self.results:
            f.address(r.dests[0]), f.address(r.finals[0])
        stmts = f.within(self._columns)
        for k in reversed(self.rest):
            stmts = [kf.For(self.names[k], "seq", 0, self.extents[k], stmts)]
        f.block += stmts

    def _columns(self) -> None:
        f, t = self.f, self.tile
        n = self.extents[self.column]
        for start, stop, width in _spans(n, t.columns):
            self._blocks(self.names[self.column], start, stop, width, lambda at, width=width: self._rows(at, width))  # type: ignore[misc]
        assert f is self.f

    def _rows(self, j0: Integer, width: int) -> None:
        """All rows of a block of columns, in tiles."""
        self.panels: dict[int, str] = {}
        for k, s in enumerate(self.sums):
            if self._packs(s, width):
                self.panels[k] = self._pack(s, j0, width)
        self._row_axes(0, [], j0, width)

    def _row_axes(self, depth: int, done: list[tuple[Integer, int]], j0: Integer, width: int) -> None:
        if depth == len(self.rows):
            self._tile(done, j0, width)
            return
        axis = self.rows[depth]
        for start, stop, size in _spans(self.extents[axis], self.tile.rows[depth]):
            self._blocks(
                self.names[axis], start, stop, size,
                lambda at, size=size: self._row_axes(depth + 1, [*done, (at, size)], j0, width),  # type: ignore[misc]
            )  # fmt: skip

    def _blocks(self, hint: str, start: int, stop: int, size: int, body: Callable[[Integer], None]) -> None:
        """`body(first)` for blocks of one size: a loop, or one block."""
        f = self.f
        if stop - start == size:
            body(integer(start))
            return
        at = f.fresh(f"{hint}_0_")
        f.block.append(kf.For(at, "seq", start, stop, f.within(lambda: body(integer(at))), step=size))

    def _tile(self, rows: list[tuple[Integer, int]], j0: Integer, width: int) -> None:
        f, t = self.f, self.tile
        height = prod(size for _, size in rows)
        groups = sorted({s.group for s in self.sums})
        self.accs = {g: f.fresh("acc") for g in groups}
        for g in groups:
            f.block.append(kf.Fold(self.accs[g], "add", (self.dtype,), (Const(0, self.dtype),), (height, width), t.lanes))
        for stage in self._stages():
            stmts = f.within(lambda stage=stage: self._products(stage, rows, j0, width))  # type: ignore[misc]
            for name, extent in reversed(list(zip(stage[0].names, stage[0].extents))):
                stmts = [kf.For(name, "seq", 0, extent, stmts)]
            f.block += stmts
        self._epilogue(rows, j0, width)

    def _stages(self) -> list[list[InnerSum]]:
        """Sums of different accumulators over equal extents run in one loop, and so share what they read."""
        stages: list[list[InnerSum]] = []
        for s in self.sums:
            for stage in stages:
                later = stages[stages.index(stage) :]
                if stage[0].extents == s.extents and all(t.group != s.group for other in later for t in other):
                    self.f.env.update((p, integer(name)) for p, name in zip(s.params, stage[0].names))
                    s.names = stage[0].names
                    stage.append(s)
                    break
            else:
                stages.append([s])
        return stages

    def _products(self, stage: list[InnerSum], rows: list[tuple[Integer, int]], j0: Integer, width: int) -> None:
        """One term of each sum for every element of the tile."""
        f = self.f

        def row(at: Integer) -> None:
            for s in stage:
                for n in s.broadcast.nodes:
                    element(f, n)
                x, j = f.operand(s.broadcast.value), f.fresh("j")

                def column(s: InnerSum = s, x: kf.Operand = x, j: str = j) -> None:
                    y = self._vector(s, j0, j, width)
                    p = f.let(kf.Apply("mul", (x, y)), self.dtype, "p", deriv=True)
                    f.block.append(kf.Combine(self.accs[s.group], (p,), (at, j)))

                f.block.append(kf.For(j, "vec", 0, width, f.within(column), lanes=self.tile.lanes, full=True))

        self._each_row(rows, "unroll", row)

    def _vector(self, s: InnerSum, j0: Integer, j: str, width: int) -> kf.Operand:
        """The vector factor at columns j0 + j: from the packed panel, or computed."""
        f = self.f
        k = self.sums.index(s)
        if k in self.panels:
            return f.let(kf.Load(self.panels[k], (self._panel_at(s, width) + integer(j),)), self.dtype, "y")
        f.env[self.params[self.column]] = j0 + integer(j)
        for n in s.vector.nodes:
            element(f, n)
        return f.operand(s.vector.value)

    def _each_row(self, rows: list[tuple[Integer, int]], kind: str, body: Callable[[Integer], None]) -> None:
        """Loops over the rows of a tile; `body` gets the number of the row, the row axes are bound."""
        f = self.f
        names = [f.fresh("r") if size > 1 else "" for _, size in rows]
        number: Integer = 0
        for axis, (first, size), name in zip(self.rows, rows, names):
            f.env[self.params[axis]] = first + integer(name) if name else first
            number = number * size + (integer(name) if name else 0)
        stmts = f.within(lambda: body(number))
        for name, (_, size) in reversed(list(zip(names, rows))):
            if name:
                stmts = [kf.For(name, kind, 0, size, stmts)]
        f.block += stmts

    # ---- packing ---------------------------------------------------------------------------------------------

    def _packs(self, s: InnerSum, width: int) -> bool:
        """Is it worth copying the vector factor's panel: rows that fall on few sets of the cache, or costly to compute?"""
        rows = prod(self.extents[k] for k in self.rows)
        tile = prod(self.tile.rows)
        size = s.terms * width * self.f.itemsize(self.dtype)
        if rows < 3 * tile or s.terms < 16 or not s.vector.axes or size * len(self.sums) > PANEL:
            return False
        if not all(name in s.vector.axes for name in s.names) or any(self.names[k] in s.vector.axes for k in self.rows):
            return False
        loads = [n for n in s.vector.nodes if n.op is load]
        if len(s.vector.nodes) > len(loads):
            return True
        item = self.f.itemsize(loads[0].inputs[0].type.dtype)
        pitch = coefficient_of(self.position(loads[0]), s.names[-1])
        return pitch * item % PITCH == 0 and rows >= 8 * tile

    def _panel_at(self, s: InnerSum, width: int) -> Integer:
        at: Integer = 0
        for name, extent in zip(s.names, s.extents):
            at = at * extent + integer(name)
        return at * _padded(width, self.tile.lanes)

    def _pack(self, s: InnerSum, j0: Integer, width: int) -> str:
        """Copy the panel of a block of columns to memory of its own; its name."""
        f = self.f
        j = f.fresh("j")
        size = s.terms * _padded(width, self.tile.lanes)
        name = _scratch(f, f"panel{self.sums.index(s)}_", self.dtype, size)
        f.begin_at(Address(name), size)

        def column() -> None:
            f.env[self.params[self.column]] = j0 + integer(j)
            for n in s.vector.nodes:
                element(f, n)
            f.block.append(kf.Store(name, (self._panel_at(s, width) + integer(j),), f.operand(s.vector.value)))

        stmts: list[kf.Stmt] = [kf.For(j, "vec", 0, width, f.within(column), lanes=self.tile.lanes, full=True)]
        for k, extent in reversed(list(zip(s.names, s.extents))):
            stmts = [kf.For(k, "seq", 0, extent, stmts)]
        f.block += stmts
        return name

    # ---- epilogue --------------------------------------------------------------------------------------------

    def _epilogue(self, rows: list[tuple[Integer, int]], j0: Integer, width: int) -> None:
        """The elementwise code on the tile's sums, and the stores."""
        f, pitch = self.f, _padded(width, self.tile.lanes)
        height = prod(size for _, size in rows)
        if len(self.epilogue) * height * pitch <= LONG_EPILOGUE * self.tile.lanes:
            self._each_row(rows, "unroll", lambda at: self._finish(j0, width, lambda g, j: kf.Part(self.accs[g], 0, (at, j))))
            return
        spills = {g: _scratch(f, f"sums{g}_", self.dtype, height * pitch) for g in self.accs}
        for name in spills.values():
            f.begin_at(Address(name), height * pitch)
        self._each_row(rows, "unroll", lambda at: self._spill(spills, at * pitch, at, width))
        self._each_row(
            rows, "seq", lambda at: self._finish(j0, width, lambda g, j: kf.Load(spills[g], (at * pitch + integer(j),)))
        )

    def _spill(self, spills: dict[int, str], start: Integer, row: Integer, width: int) -> None:
        """One row of the tile to memory."""
        f, j = self.f, self.f.fresh("j")

        def column() -> None:
            for g, name in spills.items():
                x = f.let(kf.Part(self.accs[g], 0, (row, j)), self.dtype, "s")
                f.block.append(kf.Store(name, (start + integer(j),), x))

        f.block.append(kf.For(j, "vec", 0, width, f.within(column), lanes=self.tile.lanes, full=True))

    def _finish(self, j0: Integer, width: int, read: Callable[[int, str], kf.Expr]) -> None:
        """One row of the tile: the sums, what is done with them, and the stores."""
        f = self.f
        j = f.fresh("j")

        def column() -> None:
            f.env[self.params[self.column]] = j0 + integer(j)
            for v, g in self.group_of.items():
                if v in self.read:
                    f.env[v] = f.let(read(g, j), self.dtype, "s")
            for n in self.epilogue:
                element(f, n)
            for r in self.results:
                at = self.target(r)
                f.block.append(kf.Store(f.address(r.finals[0]).buf, (at,), f.operand(r.values[0]), add=r.out.kind == "add"))

        f.block.append(kf.For(j, "vec", 0, width, f.within(column), lanes=self.tile.lanes, full=True))


def _scratch(f: KernelBuilder, name: str, dtype: str, size: int) -> str:
    """A buffer in the kernel's frame that all contractions of the kernel use in turn, as large as the largest needs."""
    name += dtype
    for s in f.head:
        if isinstance(s, kf.Buffer) and s.name == name:
            s.shape = (max(size, *s.shape),)
            return name
    f.head.append(kf.Buffer(name, dtype, (size,)))
    return name


def _spans(n: int, size: int) -> list[tuple[int, int, int]]:
    """[0, n) as whole blocks and one smaller rest: (start, stop, block size)."""
    main = n - n % size
    return [(a, b, c) for a, b, c in ((0, main, size), (main, n, n - main)) if b > a]


def _padded(width: int, lanes: int) -> int:
    return -(-width // lanes) * lanes
