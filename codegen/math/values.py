"""The builder that scalar rules and polynomials are written against.

Placement is hoisting and CSE at once: a pure operation goes to the outermost open scope that has all its operands
(never out of a conditional block, where it might be costly for nothing), and each scope keeps a table from the text of
an instruction to its result. A table dies with its scope.

A value has a dtype and a number of lanes; 1 lane means uniform. Uniform and vector operands mix freely: the builder
broadcasts. No operation has fast-math flags, except `contract` where `flags` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irad.codegen.llvm_text import EITHER, LLVM, Scope, Val, literal, suffix, type_text
from irad.core.types import bits
from irad.errors import IradError

_FCMP = {"lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge", "eq": "oeq", "ne": "une"}
_SCMP = {"lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge", "eq": "eq", "ne": "ne"}
_UCMP = {"lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge", "eq": "eq", "ne": "ne"}
_IMMEDIATE = {"ctlz": ", i1 false", "cttz": ", i1 false", "abs": ", i1 false"}  # the flag "poison where the result is odd": no


Binary = Callable[["Values", Val, Val], Val]


def _instruction(ins: str) -> Binary:
    """A method for an instruction of two operands."""
    return lambda self, a, b: self._binary(ins, a, b)


def _division(ins: str) -> Binary:
    return lambda self, a, b: self._divide(ins, a, b)


class Values:
    """The builder: arithmetic on values. Equal operations on equal operands are emitted once.

    `add`, `sub` and `mul` are integer or float by dtype, and wrap or round.
    """

    def __init__(self) -> None:
        self.scopes = [Scope("entry", frozenset(), 0, 0)]
        self.declarations: dict[str, str] = {}
        self.lanes = 1  # of the vec loop being emitted
        self.mask: Val | None = None  # its active lanes; None: all
        self.active: int | Val = 1  # number of active lanes, where `mask` is set; they come first
        self.count = 0
        self.outlined: set[str] = set()  # functions that rare branches call
        self.scratch: dict[str, int] = {}  # bytes of the slots of rare branches
        self.consts: dict[Any, Val] = {}
        self.flags = False
        self.products: dict[Val, tuple[Val, Val]] = {}  # the factors of strong-zero products that may contract

    # ---- text ----

    @property
    def flags(self) -> bool:
        """Whether float add, sub and mul may contract to fma."""
        return self._fmul != "fmul"

    @flags.setter
    def flags(self, contract: bool) -> None:
        c = " contract" if contract else ""
        self._fadd, self._fsub, self._fmul = "fadd" + c, "fsub" + c, "fmul" + c

    def label(self) -> str:
        """A fresh name of a block."""
        self.count += 1
        return f".b{self.count}"

    def line(self, text: str) -> None:
        """A line without a result, at the current place."""
        self.scopes[-1].lines.append(text)

    def op(self, rhs: str, dtype: str, lanes: int, ty: str, d: int) -> Val:
        """A pure operation whose deepest operand is defined at depth `d`."""
        scopes = self.scopes
        floor = scopes[-1].floor
        if d < floor:
            for k in range(d, floor):
                v = scopes[k].cse.get(rhs)
                if v is not None:
                    return v if v.dtype == dtype else Val(v.n, dtype, lanes, ty, v.d)
            d = floor
        return self.cheap(rhs, dtype, lanes, ty, d)

    def cheap(self, rhs: str, dtype: str, lanes: int, ty: str, d: int) -> Val:
        """Like `op`, for address arithmetic and the like, which moves out of conditional blocks too."""
        sc = self.scopes[d]
        v = sc.cse.get(rhs)
        if v is None:
            self.count += 1
            v = Val(f"%.{self.count}", dtype, lanes, ty, d)
            sc.lines.append(f" {v.n} = {rhs}")
            sc.cse[rhs] = v
        elif v.dtype != dtype:  # the same bits as a signed and an unsigned integer
            return Val(v.n, dtype, lanes, ty, d)
        return v

    def here(self, rhs: str, dtype: str, lanes: int = 1) -> Val:
        """An operation that stays at the current place and is never shared."""
        self.count += 1
        v = Val(f"%.{self.count}", dtype, lanes, type_text(dtype, lanes), len(self.scopes) - 1)
        self.scopes[-1].lines.append(f" {v.n} = {rhs}")
        return v

    def declare(self, name: str, result: str, args: str) -> None:
        """A function of outside that the text uses."""
        if name not in self.declarations:
            self.declarations[name] = f"declare {result} @{name}({args})"

    def start_block(self, label: str) -> None:
        """Go on in a new block of the same scope."""
        sc: Scope = self.scopes[-1]
        sc.lines.append(f"{label}:")
        sc.label = label

    def fresh(self, like: Val, d: int) -> Val:
        """A name, not defined yet, for a value like another one."""
        self.count += 1
        return Val(f"%.{self.count}", like.dtype, like.lanes, like.ty, d)

    # ---- constants and broadcasting ----

    def const(self, value: Any, dtype: str) -> Val:
        """A uniform constant."""
        key = (dtype, value) if value else (dtype, str(value))
        v = self.consts.get(key)
        if v is None:
            v = self.consts[key] = Val(literal(value, dtype), dtype, 1, LLVM[dtype], 0)
        return v

    def broadcast(self, a: Val, lanes: int) -> Val:
        """A uniform value in every lane."""
        if a.lanes == lanes:
            return a
        if a.lanes != 1:
            raise IradError(f"a value of {a.lanes} lanes meets one of {lanes} lanes; one loop has one lane count")
        ty = type_text(a.dtype, lanes)
        if a.n[0] != "%":
            key = (a.n, a.dtype, lanes)
            v = self.consts.get(key)
            if v is None:
                v = self.consts[key] = Val(f"splat ({a.ty} {a.n})", a.dtype, lanes, ty, 0)
            return v
        e = self.cheap(f"insertelement {ty} poison, {a.ty} {a.n}, i32 0", a.dtype, lanes, ty, a.d)
        return self.cheap(f"shufflevector {ty} {e.n}, {ty} poison, <{lanes} x i32> zeroinitializer", a.dtype, lanes, ty, a.d)

    def match(self, a: Val, b: Val) -> tuple[Val, Val]:
        """Two operands with equal lanes."""
        return (self.broadcast(a, b.lanes), b) if a.lanes < b.lanes else (a, self.broadcast(b, a.lanes))

    # ---- arithmetic ----

    def _binary(self, ins: str, a: Val, b: Val) -> Val:
        if a.lanes != b.lanes:
            a, b = self.match(a, b)
        if a.ty != b.ty:
            raise IradError(f"operands of `{ins}` must have one type, not {a.ty} and {b.ty}")
        return self.op(f"{ins} {a.ty} {a.n}, {b.n}", a.dtype, a.lanes, a.ty, a.d if a.d > b.d else b.d)

    def add(self, a: Val, b: Val) -> Val:
        return self._binary(self._fadd if a.dtype[0] == "f" else "add", a, b)

    def sub(self, a: Val, b: Val) -> Val:
        return self._binary(self._fsub if a.dtype[0] == "f" else "sub", a, b)

    def mul(self, a: Val, b: Val) -> Val:
        return self._binary(self._fmul if a.dtype[0] == "f" else "mul", a, b)

    def _divide(self, ins: str, a: Val, b: Val) -> Val:
        """Integer division traps, so it is never moved."""
        if a.lanes != b.lanes:
            a, b = self.match(a, b)
        table, rhs = self.scopes[-1].cse, f"{ins} {a.ty} {a.n}, {b.n}"
        if rhs not in table:
            table[rhs] = self.here(rhs, a.dtype, a.lanes)
        return table[rhs]

    fdiv, and_, or_, xor = map(_instruction, ("fdiv", "and", "or", "xor"))
    shl, lshr, ashr = map(_instruction, ("shl", "lshr", "ashr"))
    sdiv, udiv, srem, urem = map(_division, ("sdiv", "udiv", "srem", "urem"))

    def neg(self, a: Val) -> Val:
        if a.dtype[0] == "f":
            return self.op(f"fneg {a.ty} {a.n}", a.dtype, a.lanes, a.ty, a.d)
        return self._binary("sub", self.const(0, a.dtype), a)

    def fma(self, a: Val, b: Val, c: Val) -> Val:
        """a*b + c, rounded once."""
        return self.intrinsic("fma", a, b, c)

    def intrinsic(self, name: str, *args: Val) -> Val:
        """llvm.<name>, overloaded on the (common) type of its operands; the result has that type."""
        lanes = max([a.lanes for a in args])
        args = tuple([x if x.lanes == lanes else self.broadcast(x, lanes) for x in args])
        ty, dtype = args[0].ty, args[0].dtype
        full, extra = f"llvm.{name}.{suffix(dtype, lanes)}", _IMMEDIATE.get(name, "")
        if full not in self.declarations:
            self.declare(full, ty, ", ".join([ty] * len(args)) + extra[:4])
        d = max([x.d for x in args])
        return self.op(f"call {ty} @{full}({', '.join([f'{ty} {x.n}' for x in args])}{extra})", dtype, lanes, ty, d)

    # ---- comparison and selection ----

    def cmp(self, pred: str, a: Val, b: Val) -> Val:
        """lt le gt ge eq (ordered for floats), ne (unordered), and for floats uno ord ult ule ugt uge."""
        if a.lanes != b.lanes:
            a, b = self.match(a, b)
        kind = a.dtype[0]
        if kind == "f":
            ins = f"fcmp {_FCMP.get(pred, pred)}"
        else:
            ins = f"icmp {(_SCMP if kind == 'i' else _UCMP)[pred]}"
        d = a.d if a.d > b.d else b.d
        return self.op(f"{ins} {a.ty} {a.n}, {b.n}", "bool", a.lanes, type_text("bool", a.lanes), d)

    def select(self, c: Val, a: Val, b: Val) -> Val:
        """a where c holds, else b."""
        if not (a.lanes == b.lanes == c.lanes):
            lanes = max(a.lanes, b.lanes, c.lanes)
            a, b, c = self.broadcast(a, lanes), self.broadcast(b, lanes), self.broadcast(c, lanes)
        return self.op(f"select {c.ty} {c.n}, {a.ty} {a.n}, {b.ty} {b.n}", a.dtype, a.lanes, a.ty, max(a.d, b.d, c.d))

    def either(self, c: Val, a: Val, b: Val) -> Val:
        """As `select`, where nobody can tell which it will be: see irad.codegen.selections."""
        if a.lanes == b.lanes == c.lanes == 1 and a.dtype in ("f32", "f64"):
            return self.op(f"select {c.ty} {c.n}, {a.ty} {a.n}, {b.ty} {b.n}{EITHER}", a.dtype, 1, a.ty, max(a.d, b.d, c.d))
        return self.select(c, a, b)

    def onto(self, op: str, a: Val, b: Val) -> Val | None:
        """a + b or a - b where one (of a difference, b) is a strong-zero product x*y: where x is 0, the other operand.

        That is one fma under a mask; the product itself is dead where nothing else reads it.
        """
        if op == "add" and b not in self.products:
            a, b = b, a
        if b not in self.products:
            return None
        x, y = self.products[b]
        product = self.mul(x, y)
        out = self.add(a, product) if op == "add" else self.sub(a, product)
        return self.select(self.cmp("ne", x, self.const(0.0, x.dtype)), out, a)

    # ---- a rare branch ----

    def rare(self, cond: Val, symbol: str, args: Sequence[Val], fast: Sequence[Val]) -> tuple[Val, ...]:
        """`fast`, but in the lanes where `cond` holds what the outlined function `symbol` computes.

        If `cond` holds in an active lane, `cond` (as bytes), `args` and `fast` are stored to scratch,
        `symbol(cond, *args, *fast, lanes)` (pointers, i64) overwrites the results, and these are loaded again.
        """
        lanes = max([v.lanes for v in (cond, *args, *fast)])
        if self.mask is not None and lanes > 1:
            cond = self.and_(cond, self.mask)
        cond, *rest = [self.broadcast(v, lanes) for v in (cond, *args, *fast)]
        key = (symbol, cond.n, *[v.n for v in rest])
        d = max(self.scopes[-1].floor, *[v.d for v in (cond, *rest)])
        found = self.scopes[d].cse.get(key)
        if found is None:
            found = self.scopes[d].cse[key] = self._rare(cond, symbol, rest, len(args), d)  # type: ignore[assignment]
        return found  # type: ignore[return-value]

    def _rare(self, cond: Val, symbol: str, values: Sequence[Val], n_args: int, d: int) -> tuple[Val, ...]:
        sc, W = self.scopes[d], cond.lanes
        any_lane = cond if W == 1 else self.op(f"bitcast {cond.ty} {cond.n} to i{W}", "ptr", 1, f"i{W}", d)
        if W > 1:
            any_lane = self.op(f"icmp ne i{W} {any_lane.n}, 0", "bool", 1, "i1", d)
        before, slow, join = sc.label, self.label(), self.label()
        sc.lines += [f" br i1 {any_lane.n}, label %{slow}, label %{join}", f"{slow}:"]
        flags = f"{slow}c"
        byte = "i8" if W == 1 else f"<{W} x i8>"
        sc.lines.append(f" %{flags} = zext {cond.ty} {cond.n} to {byte}")
        slots = [self._spill(0, W, f"{byte} %{flags}", sc)]
        slots += [self._spill(k, W * bits(v.dtype) // 8, f"{v.ty} {v.n}", sc) for k, v in enumerate(values, 1)]
        self.outlined.add(symbol)
        sc.lines.append(f" call void @{symbol}({', '.join([f'ptr {s}' for s in slots])}, i64 {W})")
        out, phis = [], []
        for v, slot in zip(values[n_args:], slots[n_args + 1 :]):
            self.count += 1
            sc.lines.append(f" %.{self.count}s = load {v.ty}, ptr {slot}, align {bits(v.dtype) // 8}")
            phis.append(f" %.{self.count} = phi {v.ty} [ {v.n}, %{before} ], [ %.{self.count}s, %{slow} ]")
            out.append(Val(f"%.{self.count}", v.dtype, W, v.ty, d))
        sc.lines += [f" br label %{join}", f"{join}:", *phis]
        sc.label = join
        return tuple(out)

    def _spill(self, k: int, size: int, value: str, sc: Scope) -> str:
        """Store a value to scratch slot k, which all rare branches share."""
        name = f"%.rare{k}"
        self.scratch[name] = max(size, self.scratch.get(name, 0))
        sc.lines.append(f" store {value}, ptr {name}, align 1")
        return name

    # ---- conversion ----

    def _cast(self, ins: str, a: Val, dtype: str) -> Val:
        ty = type_text(dtype, a.lanes)
        return self.op(f"{ins} {a.ty} {a.n} to {ty}", dtype, a.lanes, ty, a.d)

    def bitcast(self, a: Val, dtype: str) -> Val:
        """The same bits as another dtype of the same width."""
        return Val(a.n, dtype, a.lanes, a.ty, a.d) if LLVM[dtype] == LLVM[a.dtype] else self._cast("bitcast", a, dtype)

    def convert(self, a: Val, dtype: str) -> Val:
        """The same value in another dtype; float to integer truncates and is undefined out of range. To bool: != 0."""
        src = a.dtype
        if src == dtype:
            return a
        if dtype == "bool":
            return self.cmp("ne", a, self.const(0, src))
        if src[0] == "f":
            if dtype[0] != "f":
                return self._cast("fptosi" if dtype[0] == "i" else "fptoui", a, dtype)
            if src == "f64" and dtype == "f16":
                a = self._round_to_odd(a)
            return self._cast("fpext" if bits(dtype) > bits(a.dtype) else "fptrunc", a, dtype)
        signed = src[0] == "i"
        if dtype[0] == "f":
            return self._cast("sitofp" if signed else "uitofp", a, dtype)
        wide, narrow = bits(dtype), 1 if src == "bool" else bits(src)
        if wide == narrow:
            return Val(a.n, dtype, a.lanes, a.ty, a.d)
        return self._cast("trunc" if wide < narrow else "sext" if signed else "zext", a, dtype)

    def convert_sat(self, a: Val, dtype: str) -> Val:
        """Float to integer: truncates, saturates out of range, NaN gives 0."""
        ty, name = type_text(dtype, a.lanes), f"fpto{'s' if dtype[0] == 'i' else 'u'}i.sat"
        full = f"llvm.{name}.{suffix(dtype, a.lanes)}.{suffix(a.dtype, a.lanes)}"
        self.declare(full, ty, a.ty)
        return self.op(f"call {ty} @{full}({a.ty} {a.n})", dtype, a.lanes, ty, a.d)

    def _round_to_odd(self, x: Val) -> Val:
        """f64 to f32, inexact results to the odd neighbour, so that rounding on to f16 rounds only once.

        Boldo, Melquiond: Emulation of FMA and correctly rounded sums, proved algorithms using rounding to odd (2008).
        """
        r = self._cast("fptrunc", x, "f32")
        back, i = self._cast("fpext", r, "f64"), self.bitcast(r, "i32")
        one = self.const(1, "i32")
        exact_or_odd = self.or_(self.cmp("eq", back, x), self.cmp("eq", self.and_(i, one), one))
        below = self.cmp("lt", self.intrinsic("fabs", back), self.intrinsic("fabs", x))
        odd = self.add(i, self.select(below, one, self.const(-1, "i32")))
        keep = self.or_(exact_or_odd, self.cmp("uno", x, x))
        return self.bitcast(self.select(keep, i, odd), "f32")
