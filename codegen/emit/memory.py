"""Loads and stores. How the lane number enters the position of an element decides the access:

coefficient 0    one element, broadcast         1    contiguous        -1    contiguous, reversed
2                every other element of a row: parts of complex numbers
any other number  one by one, if there are few lanes
a vector of indices, many lanes                 gather, scatter
"""

from __future__ import annotations

from collections.abc import Sequence

from irad.codegen.emit.across import Across
from irad.codegen.emit.index import Buf, Names
from irad.codegen.kernel.form import For, Index, Let, Load, Store, integer
from irad.codegen.llvm_text import MEMORY, Val, suffix, type_text
from irad.codegen.math.values import Values
from irad.core.affine import factors, terms
from irad.core.types import bits, is_float
from irad.errors import IradError

PIECES = 3  # unmasked accesses that one masked one becomes at most
EACH = 16  # lanes up to which elements a known step apart are loaded and stored one by one
COPY = 1 << 16  # bytes from which a copy is left to memcpy: it moves them up to 1.7 times as fast as a loop does


def whole_copy(s: For) -> tuple[Load, Store] | None:
    """The load and the store of a loop that does nothing but copy consecutive elements."""
    if len(s.body) != 2 or not isinstance(let := s.body[0], Let) or not isinstance(store := s.body[1], Store):
        return None
    load = let.expr
    if not isinstance(load, Load) or store.value != let.name or store.add or len(load.idx) != 1 or len(store.idx) != 1:
        return None
    each = [{k: c for k, c in terms(integer(x)) if s.var in factors(k)} for x in (*load.idx, *store.idx)]
    return (load, store) if each == [{s.var: 1}] * 2 else None


class Memory:
    """Memory accesses."""

    def __init__(self, b: Values, across: Across, names: Names) -> None:
        self.b, self.across, self.names = b, across, names
        self.versions: dict[str, int] = {}

    # ---- loads ----

    def _loaded(self, rhs: str, b: Buf, lanes: int, d: int) -> Val:
        """Place a load: not above a store to the family, nor above a guard. Its key has the family and the version of its memory:
        one address may be in two families, of arrays that live at different times.
        """
        scopes, family = self.b.scopes, b.family
        low = d
        if scopes[-1].guard > d:
            d = scopes[-1].guard
        for k in range(len(scopes) - 1, d, -1):
            if family in scopes[k].stores:
                d = k
                break
        key = (rhs, family, self.versions.get(family, 0))
        for k in range(low, d + 1):
            v = scopes[k].cse.get(key)
            if v is not None:
                return v
        self.b.count += 1
        ty = MEMORY[b.dtype] if lanes == 1 else f"<{lanes} x {MEMORY[b.dtype]}>"
        v = Val(f"%.{self.b.count}", b.dtype, lanes, ty, d)
        scopes[d].lines.append(f" {v.n} = {rhs}")
        if b.dtype == "bool":
            zero = "0" if lanes == 1 else "zeroinitializer"
            v = self.b.cheap(f"icmp ne {ty} {v.n}, {zero}", "bool", lanes, type_text("bool", lanes), d)
        scopes[d].cse[key] = v
        return v

    def load(self, name: str, idx: Sequence[Index]) -> Val:
        """An element, or one per lane."""
        b = self.names.buf(name)
        p, lane = self.names.address(b, idx)
        W, ty, size = self.b.lanes, MEMORY[b.dtype], bits(b.dtype) // 8
        if isinstance(lane, int):
            if lane == 0:
                return self._load_uniform(b, p)
            if lane == 1:
                return self._load_row(b, p, self.b.mask)
            if lane == -1:
                p = self.names.offset(p, 1 - W, ty)
                return self.across.reverse(self._load_row(b, p, self.b.mask and self.across.reverse(self.b.mask)))
            if lane == 2:
                return self._load_every_other(b, p)
            if self._one_by_one():
                return self._load_each(b, p, lane)
        q, m, V = self.names.pointers(b, p, lane), self.across.full_mask(), f"<{W} x {ty}>"
        full = f"llvm.masked.gather.{_memory_suffix(b.dtype, W)}.v{W}p0"
        self.b.declare(full, V, f"<{W} x ptr>, i32, <{W} x i1>, {V}")
        rhs = f"call {V} @{full}(<{W} x ptr> {q.n}, i32 {size}, <{W} x i1> {m.n}, {V} zeroinitializer)"
        return self._loaded(rhs, b, W, max(q.d, m.d))

    def _one_by_one(self) -> bool:
        """Are elements a known step apart better loaded and stored one by one than gathered and scattered?

        Their addresses are constants away from one, where a gather has a vector of them; processors without fast gathers take that
        vector to pieces again.
        """
        return self.b.lanes <= EACH and (self.b.mask is None or isinstance(self.b.active, int))

    def _places(self, b: Buf, p: Val, step: int) -> list[Val]:
        """The addresses of the active lanes' elements."""
        count = self.b.lanes if self.b.mask is None else self.b.active
        assert isinstance(count, int)
        return [self.names.offset(p, k * step, MEMORY[b.dtype]) if k else p for k in range(count)]

    def _load_each(self, b: Buf, p: Val, step: int) -> Val:
        W = self.b.lanes
        ty = type_text(b.dtype, W)
        v = Val("poison" if self.b.mask is None else "zeroinitializer", b.dtype, W, ty, 0)
        for k, q in enumerate(self._places(b, p, step)):
            x = self._load_uniform(b, q)
            v = self.b.op(f"insertelement {ty} {v.n}, {x.ty} {x.n}, i64 {k}", b.dtype, W, ty, max(x.d, v.d))
        return v

    def _store_each(self, b: Buf, p: Val, step: int, v: Val) -> None:
        ty, size = MEMORY[b.dtype], bits(b.dtype) // 8
        for k, q in enumerate(self._places(b, p, step)):
            x = self.b.op(f"extractelement {v.ty} {v.n}, i64 {k}", v.dtype, 1, ty, v.d)
            self.b.line(f" store {ty} {x.n}, ptr {q.n}, align {size}")

    def _load_every_other(self, b: Buf, p: Val) -> Val:
        """Elements p, p+2, p+4...: a row whose odd lanes are masked off, so nothing behind the last one is touched."""
        W = self.b.lanes
        mask = self.across.apart(self.across.full_mask(), "zeroinitializer")
        self.b.lanes = 2 * W
        row = self._load_row(b, p, mask)
        self.b.lanes = W
        even = ", ".join(f"i32 {2 * k}" for k in range(W))
        ty = type_text(b.dtype, W)
        return self.b.cheap(f"shufflevector {row.ty} {row.n}, {row.ty} poison, <{W} x i32> <{even}>", b.dtype, W, ty, row.d)

    def _pieces(self, b: Buf, p: Val, mask: Val) -> list[tuple[int, int, Val]]:
        """The lanes of a constant mask as a few vectors: first lane, lanes and address of each; none, if that is not possible.

        What was stored under a mask is loaded a dozen cycles later than what was stored whole: only once it is in the cache.
        """
        if mask.n[0] != "<" or not isinstance(self.b.active, int):
            return []
        at, left, out = mask.n[1:-1].split(", ").index("i1 true"), self.b.active, []
        while left:
            size = 1 << left.bit_length() - 1
            out.append((at, size, self.names.offset(p, at, MEMORY[b.dtype]) if at else p))
            at, left = at + size, left - size
        return out if len(out) <= PIECES else []

    def _load_row(self, b: Buf, p: Val, mask: Val | None) -> Val:
        W, size = self.b.lanes, bits(b.dtype) // 8
        V = f"<{W} x {MEMORY[b.dtype]}>"
        if mask is None:
            return self._loaded(f"load {V}, ptr {p.n}, align {size}", b, W, p.d)
        if b.dtype != "bool" and (pieces := self._pieces(b, p, mask)):
            out = self.b.broadcast(self.b.const(0, b.dtype), W)
            for at, n, q in pieces:
                if n == 1:
                    x = self._load_uniform(b, q)
                    out = self.b.op(f"insertelement {V} {out.n}, {x.ty} {x.n}, i64 {at}", b.dtype, W, V, max(x.d, out.d))
                else:
                    x = self._loaded(f"load <{n} x {MEMORY[b.dtype]}>, ptr {q.n}, align {size}", b, n, q.d)
                    out = self.across.put(x, out, at)
            return out
        full = f"llvm.masked.load.{_memory_suffix(b.dtype, W)}.p0"
        self.b.declare(full, V, f"ptr, i32, <{W} x i1>, {V}")
        rhs = f"call {V} @{full}(ptr {p.n}, i32 {size}, <{W} x i1> {mask.n}, {V} zeroinitializer)"
        return self._loaded(rhs, b, W, max(p.d, mask.d))

    # ---- stores ----

    def written(self, family: str) -> None:
        """Later loads of the family see new memory."""
        self.versions[family] = self.versions.get(family, 0) + 1

    def to_memory(self, v: Val, b: Buf) -> Val:
        if v.dtype != b.dtype:
            raise IradError(f"a value of dtype {v.dtype} is stored to `{b.name}` of dtype {b.dtype}; cast it first")
        return self.b.convert(v, "u8") if v.dtype == "bool" else v

    def copy_large(self, load: Load, store: Store, count: int) -> bool:
        """Copy `count` elements from where the load reads to where the store writes, if memcpy does it faster; did it?"""
        a, b = self.names.buf(load.buf), self.names.buf(store.buf)
        size = count * bits(b.dtype) // 8
        if size < COPY or a.dtype != b.dtype or b.dtype == "bool" or a.family == b.family:
            return False
        (p, _), (q, _) = self.names.address(a, load.idx), self.names.address(b, store.idx)
        self.written(b.family)
        self.b.declare("llvm.memcpy.p0.p0.i64", "void", "ptr, ptr, i64, i1")
        self.b.line(f" call void @llvm.memcpy.p0.p0.i64(ptr {q.n}, ptr {p.n}, i64 {size}, i1 false)")
        return True

    def store(self, name: str, idx: Sequence[Index], v: Val) -> None:
        """One element, or one per lane; where lanes meet at one element the last wins."""
        b = self.names.buf(name)
        p, lane = self.names.address(b, idx)
        W, ty, size = self.b.lanes, MEMORY[b.dtype], bits(b.dtype) // 8
        v = self.to_memory(v, b)
        self.written(b.family)
        if lane == 0:
            if v.lanes > 1:
                raise IradError(
                    f"a vec loop stores a value per lane to one element of `{b.name}`; fold it, or store after the loop"
                )
            self.b.line(f" store {ty} {v.n}, ptr {p.n}, align {size}")
            return
        v = self.b.broadcast(v, W)
        if lane == 1:
            self._store_row(b, p, v, self.b.mask)
        elif lane == -1:
            self._store_row(
                b, self.names.offset(p, 1 - W, ty), self.across.reverse_value(v), self.b.mask and self.across.reverse(self.b.mask)
            )
        elif lane == 2:
            self._store_row(b, p, self.across.apart(v, "poison"), self.across.apart(self.across.full_mask(), "zeroinitializer"))
        elif isinstance(lane, int) and self._one_by_one():
            self._store_each(b, p, lane, v)
        else:
            q, m = self.names.pointers(b, p, lane), self.across.full_mask()
            full = f"llvm.masked.scatter.{_memory_suffix(b.dtype, W)}.v{W}p0"
            self.b.declare(full, "void", f"{v.ty}, <{W} x ptr>, i32, <{W} x i1>")
            self.b.line(f" call void @{full}({v.ty} {v.n}, <{W} x ptr> {q.n}, i32 {size}, <{W} x i1> {m.n})")

    def _store_row(self, b: Buf, p: Val, v: Val, mask: Val | None) -> None:
        size, W = bits(b.dtype) // 8, v.lanes
        if mask is None:
            self.b.line(f" store {v.ty} {v.n}, ptr {p.n}, align {size}")
            return
        if pieces := self._pieces(b, p, mask):  # LLVM 22 on AVX-512 stores too much of truncated integers with one active lane
            for at, n, q in pieces:
                x = self.across.half(v, at, n)
                self.b.line(f" store {x.ty} {x.n}, ptr {q.n}, align {size}")
            return
        full = f"llvm.masked.store.{_memory_suffix(b.dtype, W)}.p0"
        self.b.declare(full, "void", f"{v.ty}, ptr, i32, <{W} x i1>")
        self.b.line(f" call void @{full}({v.ty} {v.n}, ptr {p.n}, i32 {size}, <{W} x i1> {mask.n})")

    def _sum(self, a: Val, b: Val) -> Val:
        """a + b of a read-modify-write: it may contract with a product that allows it too; bools: or."""
        if a.dtype == "bool":
            return self.b.or_(a, b)
        keep, self.b.flags = self.b.flags, True
        r = self.b.add(a, b)
        self.b.flags = keep
        return r

    def store_add(self, name: str, idx: Sequence[Index], v: Val) -> None:
        """buf[idx] += v; lanes with one index add one after another."""
        b = self.names.buf(name)
        p, lane = self.names.address(b, idx)
        if lane == 0 and self.b.lanes > 1:
            v = self.across.sum(self.b.broadcast(v, self.b.lanes))
            outer, self.b.lanes, mask, self.b.mask = self.b.lanes, 1, self.b.mask, None
            self.store(name, idx, self._sum(self._load_uniform(b, p), v))
            self.b.lanes, self.b.mask = outer, mask
        elif isinstance(lane, int):
            self.store(name, idx, self._sum(self.load(name, idx), v))
        else:
            self._scatter_add(b, p, lane, self.b.broadcast(v, self.b.lanes))

    def _load_uniform(self, b: Buf, p: Val) -> Val:
        return self._loaded(f"load {MEMORY[b.dtype]}, ptr {p.n}, align {bits(b.dtype) // 8}", b, 1, p.d)

    def _scatter_add(self, b: Buf, p: Val, lane: Val, v: Val) -> None:
        ty, size, active = MEMORY[b.dtype], bits(b.dtype) // 8, self.b.active
        done = self.b.label() if self.b.mask is not None and isinstance(active, Val) else ""
        for k in range(self.b.lanes if self.b.mask is None or done else active):  # type: ignore[arg-type]
            if done:  # active lanes come first, and there is at least one
                assert isinstance(active, Val)
                if k:
                    more, c = self.b.label(), self.b.here(f"icmp ugt i32 {active.n}, {k}", "bool")
                    self.b.line(f" br i1 {c.n}, label %{more}, label %{done}")
                    self.b.start_block(more)
            o = self.b.here(f"extractelement {lane.ty} {lane.n}, i32 {k}", "i64")
            x = self.b.here(f"extractelement {v.ty} {v.n}, i32 {k}", v.dtype)
            q = self.b.here(f"getelementptr {ty}, ptr {p.n}, i64 {o.n}", "ptr")
            y = self.b.here(f"load {ty}, ptr {q.n}, align {size}", "u8" if b.dtype == "bool" else b.dtype)
            if b.dtype == "bool":
                x = self.b.here(f"zext i1 {x.n} to i8", "u8")
            ins = "or" if b.dtype == "bool" else "fadd contract" if is_float(b.dtype) else "add"
            z = self.b.here(f"{ins} {ty} {y.n}, {x.n}", y.dtype)
            self.b.line(f" store {ty} {z.n}, ptr {q.n}, align {size}")
        if done:
            self.b.line(f" br label %{done}")
            self.b.start_block(done)
        self.written(b.family)


def _memory_suffix(dtype: str, lanes: int) -> str:
    return f"v{lanes}i8" if dtype == "bool" else suffix(dtype, lanes)
