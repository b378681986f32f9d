"""Indices and addresses.

An index is an affine integer over atoms: induction variables, uniform i64 values, products of these, the lane number, and
vectors of i64. The flat position of an element is one too; its uniform part becomes a chain of
`getelementptr`, outermost scope first and the constant last (a displacement). No address is `inbounds`: a partial sum
may lie outside of the buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from irad.codegen.emit.across import Across
from irad.codegen.kernel.form import Const, Index, Operand
from irad.codegen.llvm_text import MEMORY, Val
from irad.codegen.math.values import Values
from irad.core.affine import Affine, Integer, constant, strides, substitute, symbol, terms
from irad.errors import IradError


class Iv:
    """An induction variable. `scaled[c]` is a phi of c times it, made at its first use."""

    __slots__ = ("n", "d", "scaled", "lanes")

    def __init__(self, n: str, d: int):
        self.n, self.d, self.lanes = n, d, 1
        self.scaled: dict[int, Val] = {}

    def __lt__(self, other: Any) -> bool:
        """The order of factors of a product, by their names."""
        return self.n < other.n


LANE = Val("lane", "i64", 2, "", 0)  # the symbol that stands for the lane number; `lanes` 2 only says "not uniform"


class Cell:
    """A mutable variable: the SSA values that hold it now."""

    __slots__ = ("dtypes", "lanes", "vals")

    def __init__(self, dtypes: tuple[str, ...], lanes: int, vals: list[Val]):
        self.dtypes, self.lanes, self.vals = dtypes, lanes, vals


class Buf:
    """A buffer in scope. `vals` holds its address; buffers that may overlap have one `family`."""

    __slots__ = ("name", "dtype", "shape", "family", "vals", "strides")

    def __init__(self, name: str, dtype: str, shape: Sequence[Integer], family: str, ptr: Val):
        self.name, self.dtype, self.shape, self.family, self.vals = name, dtype, shape, family, [ptr]
        self.strides = strides(shape)


class Names:
    """Names in scope; operands, integers over atoms and addresses."""

    def __init__(self, b: Values, across: Across) -> None:
        self.b, self.across = b, across
        self.env: dict[str, Any] = {}  # Val, integer over atoms, Cell or Fold cell
        self.bufs: dict[str, Buf] = {}

    # ---- operands ----

    def operand(self, x: Operand) -> Val:
        """The value of a name, a literal or an affine integer."""
        if isinstance(x, str):
            e = self.env.get(x)
            if isinstance(e, Val):
                return e
            if isinstance(e, (int, Affine)):
                return self.value_of(e)
            if type(e) is Cell:
                return e.vals[0]
            raise IradError(f"`{x}` is not a value in scope" + ("; read a fold by Part" if e is not None else ""))
        return self.b.const(x.value, x.dtype) if isinstance(x, Const) else self.value_of(self.lin(x))

    # ---- integers ----

    def buf(self, name: str) -> Buf:
        """A buffer in scope."""
        b = self.bufs.get(name)
        if b is None:
            raise IradError(f"no buffer `{name}` in scope; there are: {', '.join(self.bufs) or 'none'}")
        return b

    def lin(self, x: Index) -> Integer:
        """An index or an i64 operand as an integer over atoms."""
        return self._named(x) if isinstance(x, str) else substitute(x, self._named)

    def _named(self, name: str) -> Integer:
        e = self.env.get(name)
        if isinstance(e, (int, Affine)):
            return e
        if type(e) is Cell:
            e = e.vals[0]
        if type(e) is not Val:
            raise IradError(f"`{name}` is not an integer in scope; an index is made of ints, loop variables and integer values")
        if e.dtype[0] == "f":
            raise IradError(f"index `{name}` has dtype {e.dtype}; convert it to i64 first")
        if e.n[0] != "%" and e.lanes == 1:
            return int(e.n)
        return symbol(e if e.dtype == "i64" else self.b.convert(e, "i64"))

    def uniform_terms(self, x: Integer) -> list[Val]:
        """The uniform terms of an integer as values, outermost first."""
        out = []
        for a, k in terms(x):
            if type(a) is tuple:
                if all(f.lanes == 1 for f in a):
                    out.append(self._product(a, k))
            elif a.lanes == 1:
                out.append(self.scale(a, k))
        if len(out) > 1:
            out.sort(key=lambda v: v.d)
        return out

    def scale(self, a: Any, k: int) -> Val:
        """k * an atom."""
        if type(a) is Iv:
            v = a.scaled.get(k)
            if v is None:
                self.b.count += 1
                v = a.scaled[k] = Val(f"%.{self.b.count}", "i64", 1, "i64", a.d)
            return v
        return a if k == 1 else self.b.cheap(f"mul i64 {a.n}, {k}", "i64", 1, "i64", a.d)

    def _product(self, atoms: tuple[Any, ...], k: int) -> Val:
        """k * the product of uniform atoms, invariant ones first."""
        first, *rest = sorted(atoms, key=lambda a: (a.d, a.n))
        v = self.scale(first, k)
        for a in rest:
            w = self.scale(a, 1)
            v = self.b.cheap(f"mul i64 {v.n}, {w.n}", "i64", 1, "i64", max(v.d, w.d))
        return v

    def lane_part(self, x: Integer) -> int | Val:
        """What the lane number contributes: a constant stride, or the offset of each lane."""
        stride = 0
        offsets: list[Val] = []
        for a, k in terms(x):
            if a is LANE:
                stride = k
            elif type(a) is tuple:
                if any(f.lanes != 1 for f in a):
                    offsets.append(self._lane_product(a, k))
            elif a.lanes != 1:
                offsets.append(a if k == 1 else self.b.mul(a, self.b.const(k, "i64")))
        if not offsets:
            return stride
        total = self.across.iota(stride) if stride else offsets.pop()
        for v in offsets:
            total = self.b.add(total, v)
        return total

    def _lane_product(self, atoms: tuple[Any, ...], k: int) -> Val:
        uniform = [a for a in atoms if a.lanes == 1]
        vectors = [self.across.iota(1) if a is LANE else a for a in atoms if a.lanes != 1]
        v = self._product(tuple(uniform), k) if uniform else self.b.const(k, "i64")
        for a in vectors:
            v = self.b.mul(a, v)
        return v

    def value_of(self, x: Integer) -> Val:
        """An integer as an i64 value: uniform, or with the lane numbers added."""
        r: Val | None = None
        for v in self.uniform_terms(x):
            r = v if r is None else self.b.cheap(f"add i64 {r.n}, {v.n}", "i64", 1, "i64", max(r.d, v.d))
        if r is None:
            r = self.b.const(constant(x), "i64")
        elif constant(x):
            r = self.b.cheap(f"add i64 {r.n}, {constant(x)}", "i64", 1, "i64", r.d)
        lane = self.lane_part(x) if self.b.lanes > 1 else 0
        if isinstance(lane, int):
            return r if lane == 0 else self.b.add(self.across.iota(lane), r)
        return lane if r.n == "0" else self.b.add(lane, r)

    def uniform(self, x: Integer, what: str) -> Val:
        """An integer that must not differ between lanes."""
        v = self.value_of(x)
        if v.lanes > 1:
            raise IradError(f"{what} differs between the lanes of a vec loop")
        return v

    # ---- addresses ----

    def address(self, b: Buf, idx: Sequence[Index]) -> tuple[Val, int | Val]:
        """The address of lane 0, and the lane stride in elements or the vector of offsets."""
        if len(idx) != len(b.strides):
            raise IradError(f"`{b.name}` has {len(b.strides)} axes but is indexed by {len(idx)} indices")
        at: Integer = 0
        for e, step in zip(idx, b.strides):
            at = at + self.lin(e) * step
        return self.moved(b.vals[0], at, MEMORY[b.dtype]), (self.lane_part(at) if self.b.lanes > 1 else 0)

    def moved(self, p: Val, by: Integer, ty: str) -> Val:
        """The address plus the uniform part of an integer, in elements of type `ty`."""
        for v in self.uniform_terms(by):
            p = self.b.cheap(f"getelementptr {ty}, ptr {p.n}, i64 {v.n}", "ptr", 1, "ptr", p.d if p.d > v.d else v.d)
        return self.offset(p, constant(by), ty) if constant(by) else p

    def offset(self, p: Val, k: int, ty: str) -> Val:
        """The address k elements on."""
        return self.b.cheap(f"getelementptr {ty}, ptr {p.n}, i64 {k}", "ptr", 1, "ptr", p.d)

    def pointers(self, b: Buf, p: Val, lane: int | Val) -> Val:
        """The address of each lane."""
        off = self.across.iota(lane) if isinstance(lane, int) else lane
        ty, W = MEMORY[b.dtype], self.b.lanes
        return self.b.cheap(f"getelementptr {ty}, ptr {p.n}, {off.ty} {off.n}", "ptr", W, f"<{W} x ptr>", max(p.d, off.d))
