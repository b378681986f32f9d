"""Accumulators: folds, register tiles, argmax and argmin, and the scan of a linear recurrence along the lanes.

A fold that a vec loop combines into is widened for the time of the loop to lanes x copies, each starting at the
combiner's identity, and reduced after it: copies, then halves of the lanes, then the value from before the loop.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from irad.codegen.emit.across import Across
from irad.codegen.emit.index import LANE, Cell, Names
from irad.codegen.kernel.form import Fold, Index
from irad.codegen.llvm_text import Val, type_text
from irad.codegen.math.values import Values
from irad.core.affine import coefficient, constant, symbol
from irad.core.types import is_float
from irad.errors import IradError
from irad.ops.core import OPS
from irad.ops.loop import fold_width, neutral

Rule = Callable[..., Val]


def identity(comb: str, dtype: str) -> Any:
    """The neutral element of a combiner, exact down to the sign of zero; raises IradError where there is none."""
    if is_float(dtype) and comb in _OF_FLOATS:
        return _OF_FLOATS[comb]
    op = OPS.get(comb)
    if op is None or op.unit is None and not op.extreme and fold_width(comb) == 1:
        raise IradError(f"no neutral element is known for a fold by `{comb}`: its row has no unit")
    return neutral(comb, dtype)


_OF_FLOATS = {"add": -0.0, "fmax": math.nan, "fmin": math.nan}  # other than `neutral` says


class FoldCell(Cell):
    """A fold: slots x components in `vals`. A wide one (`lanes` > 1, declared outside of vec loops) without a shape
    keeps one more slot of scalars: its start and what is combined outside of vec loops."""

    __slots__ = ("comb", "shape", "copies", "scalar")

    def __init__(self, comb: str, dtypes: tuple[str, ...], shape: tuple[int, ...], lanes: int, copies: int, scalar: bool):
        super().__init__(dtypes, lanes, [])
        self.comb, self.shape, self.copies, self.scalar = comb, shape, copies, scalar

    def slot(self, k: int) -> list[Val]:
        n = len(self.dtypes)
        return self.vals[k * n : k * n + n]

    def put(self, k: int, vals: Sequence[Val]) -> None:
        n = len(self.dtypes)
        self.vals[k * n : k * n + n] = vals

    @property
    def slots(self) -> int:
        """Number of slots, without the scalar one."""
        return math.prod(self.shape[:-1]) * -(-self.shape[-1] // self.lanes) if self.shape else self.copies


class Folds:
    """Declaring, combining, reading and reducing folds. `rules` are the elementwise ops, as in irad.codegen.math.scalar."""

    def __init__(self, b: Values, across: Across, names: Names, rules: Mapping[str, Rule]) -> None:
        self.b, self.across, self.names, self.rules = b, across, names, rules
        self.copy = 0  # which copy of the body of an unrolled vec loop

    # ---- declaring ----

    def fold_cell(self, s: Fold) -> FoldCell:
        """The cell of a declaration at this place."""
        init = [self.names.operand(v) for v in s.init]
        if len(init) != len(s.dtypes):
            raise IradError(f"fold `{s.name}` has {len(s.dtypes)} components but {len(init)} start values")
        wide = s.lanes > 1 and not s.shape
        if s.lanes > 1 and self.b.lanes > 1:
            raise IradError(
                f"fold `{s.name}` with lanes={s.lanes} is declared in a vec loop, where every fold has the loop's lanes"
            )
        cell = FoldCell(s.comb, s.dtypes, s.shape, s.lanes if s.lanes > 1 else self.b.lanes, s.copies, wide)
        first = self._identities(cell) if wide or s.copies > 1 else [self.b.broadcast(v, cell.lanes) for v in init]
        for _ in range(cell.slots):
            cell.vals += first
        if wide:
            cell.vals += init
        elif s.copies > 1:
            cell.put(0, [self.b.broadcast(v, cell.lanes) for v in init])
        return cell

    def _identities(self, cell: FoldCell) -> list[Val]:
        out = [self.b.broadcast(self.b.const(identity(cell.comb, cell.dtypes[0]), cell.dtypes[0]), cell.lanes)]
        if fold_width(cell.comb) == 2:
            out.append(self.b.broadcast(self.b.const(-1, cell.dtypes[1]), cell.lanes))
        return out

    def widened(self, cell: FoldCell, lanes: int, copies: int) -> FoldCell:
        """A stand-in for a scalar fold, for the time of a vec loop."""
        wide = FoldCell(cell.comb, cell.dtypes, (), lanes, copies, False)
        wide.vals = self._identities(wide) * copies
        return wide

    def take_in(self, cell: FoldCell, vals: Sequence[Val]) -> None:
        """Fold what a vec loop gathered into the scalar it stood in for."""
        k = cell.slots if cell.scalar else 0
        cell.put(k, self.merge(cell.comb, cell.slot(k), vals))

    # ---- combining ----

    def combine(self, name: str, values: Sequence[Any], idx: Sequence[Index], ordered: bool) -> None:
        cell = self._fold(name)
        new = [self.names.operand(v) for v in values]
        if [v.dtype for v in new] != list(cell.dtypes):
            raise IradError(f"fold `{name}` of {cell.dtypes} is combined with values of {tuple(v.dtype for v in new)}")
        if cell.shape:
            k, lanes = self._tile_slot(cell, name, idx), cell.lanes
        elif cell.scalar and self.b.lanes == 1:
            k, lanes = cell.slots, 1
        else:
            k, lanes = self.copy % cell.copies, cell.lanes
        if lanes < self.b.lanes:
            raise IradError(f"fold `{name}` has {lanes} lanes; a vec loop of {self.b.lanes} lanes cannot combine into it")
        old = cell.slot(k)
        r = self.merge(cell.comb, old, [self.b.broadcast(v, lanes) for v in new], ordered)
        if self.b.mask is not None and not (cell.shape and self._beyond(cell, idx)):
            r = [self.b.select(self.b.mask, p, q) for p, q in zip(r, old)]
        cell.put(k, r)

    def _beyond(self, cell: FoldCell, idx: Sequence[Index]) -> bool:
        """Are the inactive lanes past the end of the tile's last axis, where nothing is ever read?"""
        return isinstance(self.b.active, int) and constant(self.names.lin(idx[-1])) + self.b.active >= cell.shape[-1]

    def _fold(self, name: str) -> FoldCell:
        cell = self.names.env.get(name)
        if type(cell) is not FoldCell:
            raise IradError(f"`{name}` is not a fold in scope")
        return cell

    def _tile_slot(self, cell: FoldCell, name: str, idx: Sequence[Index]) -> int:
        """The slot of a register tile: every index is a constant once loops are unrolled, the last may have the lane added."""
        if len(idx) != len(cell.shape):
            raise IradError(f"tile `{name}` of shape {cell.shape} is indexed by {len(idx)} indices")
        k = 0
        for axis, (e, n) in enumerate(zip(idx, cell.shape)):
            x, last = self.names.lin(e), axis == len(cell.shape) - 1
            if last and coefficient(x, LANE) == 1:
                x = x - symbol(LANE)
            if not isinstance(x, int) or not 0 <= x < n:
                raise IradError(f"tile `{name}` of shape {cell.shape}: index {axis} must be a constant below {n} after unrolling")
            if last and cell.lanes > 1:
                if self.b.lanes > 1 and x % cell.lanes:
                    raise IradError(f"tile `{name}`: a vec loop must start at a multiple of its {cell.lanes} lanes, not at {x}")
                k = k * -(-n // cell.lanes) + x // cell.lanes
            else:
                k = k * n + x
        return k

    def merge(self, comb: str, a: Sequence[Val], b: Sequence[Val], ordered: bool = False) -> list[Val]:
        """Combine two tuples of components; `a` comes first in program order."""
        if fold_width(comb) == 2:
            return self._merge_arg(comb, a, b, ordered)
        keep, self.b.flags = (
            self.b.flags,
            comb == "add",
        )  # a sum may take its products in: order and rounding are free in reductions
        r = self.rules[comb](self.b, [a[0], b[0]], a[0].dtype)
        self.b.flags = keep
        return [r]

    def _merge_arg(self, comb: str, a: Sequence[Val], b: Sequence[Val], ordered: bool) -> list[Val]:
        """(value, index): NaN wins, then the larger (smaller) value, then the smaller index; index -1 is "none yet".

        Seen as unsigned, -1 is larger than any index. `ordered` says that b's index is never below a's.
        """
        (v, i), (w, j) = a, b
        wins = self._beats(comb, w, v)
        if ordered:
            first = self.b.cmp("eq", i, self.b.const(-1, i.dtype))
        else:
            earlier = self.b.cmp("lt", self.b.bitcast(j, "u64"), self.b.bitcast(i, "u64"))
            first = self.b.and_(earlier, self.b.xor(self._beats(comb, v, w), self.b.const(True, "bool")))
        take = self.b.or_(wins, first)
        return [self.b.select(take, w, v), self.b.select(take, j, i)]

    def _beats(self, comb: str, a: Val, b: Val) -> Val:
        """Whether a is strictly better than b."""
        gt = "gt" if comb == "argmax" else "lt"
        if not is_float(a.dtype):
            return self.b.cmp(gt, a, b)
        return self.b.and_(self.b.cmp("u" + gt, a, b), self.b.cmp("ord", b, b))

    # ---- reading ----

    def part(self, name: str, k: int, idx: Sequence[Index]) -> Val:
        """Component k: in the vec loop that declares the fold one per lane, outside of it the reduced scalar."""
        cell = self._fold(name)
        if cell.shape:
            v = cell.slot(self._tile_slot(cell, name, idx))[k]
            if cell.lanes == 1 or self.b.lanes > 1:
                return v
            lane = constant(self.names.lin(idx[-1])) % cell.lanes
            return self.b.op(f"extractelement {v.ty} {v.n}, i32 {lane}", v.dtype, 1, type_text(v.dtype, 1), v.d)
        if cell.scalar or cell.copies > 1:
            if self.b.lanes > 1:
                raise IradError(f"fold `{name}` is read in a vec loop that folds into it; read it after the loop")
            return self.reduced(cell)[k]
        return cell.vals[k]

    def reduced(self, cell: FoldCell) -> list[Val]:
        """All copies, then all lanes, then the scalar part. Called outside of vec loops."""
        parts = [cell.slot(k) for k in range(cell.slots)]
        while len(parts) > 1:
            pairs = [self.merge(cell.comb, parts[k], parts[k + 1]) for k in range(0, len(parts) - 1, 2)]
            parts = pairs + parts[len(parts) // 2 * 2 :]
        r = self._across(cell.comb, parts[0]) if cell.lanes > 1 else parts[0]
        return self.merge(cell.comb, cell.slot(cell.slots), r) if cell.scalar else r

    def _across(self, comb: str, vals: list[Val]) -> list[Val]:
        """Combine the lanes: the first half with the second, and so on."""
        if comb == "add" and vals[0].dtype != "bool":
            return [self.across.add(vals[0])]
        W = vals[0].lanes
        while W > 1:
            if W % 2:
                raise IradError(f"a fold by `{comb}` needs a power of two of lanes, not {vals[0].lanes}")
            W //= 2
            vals = self.merge(comb, [self.across.half(v, 0, W) for v in vals], [self.across.half(v, W, W) for v in vals])
        return vals

    # ---- linear recurrences ----

    def linscan(self, var: str, k: Any, x: Any) -> Val:
        """y[l] = k*y[l-1] + x[l], y[-1] the carry, which takes the last active y. log2(lanes) shuffles and fmas.

        Hillis, Steele: Data parallel algorithms (1986). Re-associates.
        """
        carry, kv, xv = self.names.env[var], self.names.operand(k), self.names.operand(x)
        if type(carry) is not Cell or carry.lanes != 1 or kv.lanes != 1:
            raise IradError(f"linscan needs a scalar variable declared outside of the vec loop and a uniform factor (`{var}`)")
        W, y = self.b.lanes, xv
        if W == 1:
            carry.vals[0] = y = self.b.fma(kv, carry.vals[0], xv)
            return y
        y, power, m = self.b.broadcast(xv, W), self.b.broadcast(kv, W), 1
        zero, one = self.b.broadcast(self.b.const(0.0, xv.dtype), W), self.b.broadcast(self.b.const(1.0, xv.dtype), W)
        factor = kv  # k**m
        while m < W:
            y = self.b.fma(self.across.shifted(y, zero, m), factor, y)
            power = self.b.mul(power, self.across.shifted(power, one, m))
            factor = self.b.mul(factor, factor)
            m *= 2
        y = self.b.fma(carry.vals[0], power, y)
        last = f"i32 {W - 1}"
        if self.b.mask is not None:
            last = f"i32 {self.b.active - 1}" if isinstance(self.b.active, int) else self._last_lane()
        carry.vals[0] = self.b.op(
            f"extractelement {y.ty} {y.n}, {last}", y.dtype, 1, type_text(y.dtype, 1), len(self.b.scopes) - 1
        )
        return y

    def _last_lane(self) -> str:
        """Index of the last active lane; all may be active, and more than fit."""
        assert isinstance(self.b.active, Val)
        return f"i32 {self.b.sub(self.b.intrinsic('umin', self.b.active, self.b.const(self.b.lanes, 'i32')), self.b.const(1, 'i32')).n}"
