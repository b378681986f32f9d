"""Across the lanes of a vec loop: lane numbers, masks, shuffles, sums."""

from __future__ import annotations

from irad.codegen.llvm_text import LLVM, Val, suffix, type_text
from irad.codegen.math.values import Values
from irad.core.types import is_float


class Across:
    """What has to do with lanes as such; `b` knows how many there are and which are active."""

    def __init__(self, b: Values) -> None:
        self.b = b

    def iota(self, step: int, dtype: str = "i64") -> Val:
        """The literal <0, step, 2*step, ...>."""
        key = (dtype, self.b.lanes, step)
        v = self.b.consts.get(key)
        if v is None:
            ty = LLVM[dtype]
            text = "<" + ", ".join([f"{ty} {k * step}" for k in range(self.b.lanes)]) + ">"
            v = self.b.consts[key] = Val(text, dtype, self.b.lanes, type_text(dtype, self.b.lanes), 0)
        return v

    def reverse(self, v: Val) -> Val:
        W = v.lanes
        if v.n[0] != "%":  # a constant mask
            return Val("<" + ", ".join(reversed(v.n[1:-1].split(", "))) + ">", v.dtype, W, v.ty, 0)
        order = ", ".join([f"i32 {W - 1 - k}" for k in range(W)])
        return self.b.cheap(f"shufflevector {v.ty} {v.n}, {v.ty} poison, <{W} x i32> <{order}>", v.dtype, W, v.ty, v.d)

    def full_mask(self) -> Val:
        return self.b.mask if self.b.mask is not None else self.b.broadcast(self.b.const(True, "bool"), self.b.lanes)

    def apart(self, v: Val, between: str) -> Val:
        """The lanes of v as the even ones of twice as many."""
        W = v.lanes
        order = ", ".join(f"i32 {k}, i32 {W}" for k in range(W))
        ty = type_text(v.dtype, 2 * W)
        return self.b.cheap(f"shufflevector {v.ty} {v.n}, {v.ty} {between}, <{2 * W} x i32> <{order}>", v.dtype, 2 * W, ty, v.d)

    def reverse_value(self, v: Val) -> Val:
        return v if v.n.startswith("splat") else self.reverse(v)

    def sum(self, v: Val) -> Val:
        """The sum of the active lanes (of bools: whether any holds)."""
        zero = -0.0 if is_float(v.dtype) else 0
        if self.b.mask is not None:
            v = self.b.select(self.b.mask, v, self.b.const(zero, v.dtype))
        return self.add(v)

    def add(self, v: Val) -> Val:
        """llvm.vector.reduce.*: the sum over the lanes, in an order of LLVM's choice for floats."""
        s, scalar = suffix(v.dtype, v.lanes), LLVM[v.dtype]
        if is_float(v.dtype):
            full = f"llvm.vector.reduce.fadd.{s}"
            self.b.declare(full, scalar, f"{scalar}, {v.ty}")
            start = self.b.const(-0.0, v.dtype).n
            return self.b.op(f"call reassoc {scalar} @{full}({scalar} {start}, {v.ty} {v.n})", v.dtype, 1, scalar, v.d)
        full = f"llvm.vector.reduce.{'or' if v.dtype == 'bool' else 'add'}.{s}"
        self.b.declare(full, scalar, v.ty)
        return self.b.op(f"call {scalar} @{full}({v.ty} {v.n})", v.dtype, 1, scalar, v.d)

    def half(self, v: Val, start: int, n: int) -> Val:
        ty = type_text(v.dtype, n)
        if n == 1:
            return self.b.op(f"extractelement {v.ty} {v.n}, i32 {start}", v.dtype, 1, ty, v.d)
        pick = ", ".join([f"i32 {start + k}" for k in range(n)])
        return self.b.op(f"shufflevector {v.ty} {v.n}, {v.ty} poison, <{n} x i32> <{pick}>", v.dtype, n, ty, v.d)

    def put(self, v: Val, into: Val, at: int) -> Val:
        """The lanes of v in the place of some of another, from lane `at` on."""
        n, W = v.lanes, into.lanes
        # lanes that are not used are poison: LLVM 22 on AVX-512 takes a copy of another lane there for the same as that lane
        spread = ", ".join([f"i32 {k - at}" if at <= k < at + n else "i32 poison" for k in range(W)])
        wide = self.b.op(f"shufflevector {v.ty} {v.n}, {v.ty} poison, <{W} x i32> <{spread}>", v.dtype, W, into.ty, v.d)
        pick = ", ".join([f"i32 {k + W if at <= k < at + n else k}" for k in range(W)])
        line = f"shufflevector {into.ty} {into.n}, {into.ty} {wide.n}, <{W} x i32> <{pick}>"
        return self.b.op(line, v.dtype, W, into.ty, max(v.d, into.d))

    def shifted(self, v: Val, fill: Val, m: int) -> Val:
        """v moved m lanes up, `fill` below."""
        W = v.lanes
        pick = ", ".join([f"i32 {k - m if k >= m else W}" for k in range(W)])
        return self.b.op(f"shufflevector {v.ty} {v.n}, {v.ty} {fill.n}, <{W} x i32> <{pick}>", v.dtype, W, v.ty, max(v.d, fill.d))
