"""A small vector emitter for the tests of the scalar rules: LLVM text for a fixed number of lanes, run over arrays.

It implements `irad.codegen.math.base.Builder` and nothing else: straight-line code with common subexpressions merged,
one loop over the elements, arrays padded to whole vectors.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from irad.codegen.math import rare as poly_rare
from irad.core.types import DTYPES, is_float, is_signed

SCALAR = {"f64": "double", "f32": "float", "f16": "half", "bool": "i1"} | {
    f"{s}{n}": f"i{n}" for s in "iu" for n in (8, 16, 32, 64)
}
MANGLE = {"f64": "f64", "f32": "f32", "f16": "f16", "bool": "i1"} | {f"{s}{n}": f"i{n}" for s in "iu" for n in (8, 16, 32, 64)}
UNSIGNED_PREDICATES = {"lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge"}


@dataclass(frozen=True)
class Val:
    name: str
    dtype: str


def literal(value: Any, dtype: str) -> str:
    if dtype == "bool":
        return "true" if value else "false"
    if is_float(dtype):
        if dtype == "f16":
            return f"0xH{np.float16(value).view(np.uint16):04X}"
        x = float(np.float32(value)) if dtype == "f32" else float(value)
        return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
    return str(int(value))


class VecBuilder:
    """Emits one basic block (more where `rare` is used) of `<lanes x T>` operations."""

    def __init__(self, lanes: int):
        self.lanes, self.mask = lanes, None
        self.lines: list[str] = []
        self.known: dict[Any, Any] = {}
        self.declared: set[str] = set()
        self.outlined: set[str] = set()
        self.scratch: list[str] = []
        self.block = "body"

    def type(self, dtype: str) -> str:
        t = SCALAR[dtype]
        return t if self.lanes == 1 else f"<{self.lanes} x {t}>"

    def _new(self, text: str, dtype: str) -> Val:
        key = (text, dtype)
        if key not in self.known:
            self.known[key] = Val(f"%v{len(self.known)}", dtype)
            self.lines.append(f"  {self.known[key].name} = {text}")
        return self.known[key]

    def const(self, value: Any, dtype: str) -> Val:
        text = literal(value, dtype)
        return Val(text if self.lanes == 1 else f"splat ({SCALAR[dtype]} {text})", dtype)

    def _binary(self, op: str, a: Val, b: Val) -> Val:
        assert a.dtype == b.dtype, (op, a, b)
        return self._new(f"{op} {self.type(a.dtype)} {a.name}, {b.name}", a.dtype)

    def add(self, a: Val, b: Val) -> Val:
        return self._binary("fadd" if is_float(a.dtype) else "add", a, b)

    def sub(self, a: Val, b: Val) -> Val:
        return self._binary("fsub" if is_float(a.dtype) else "sub", a, b)

    def mul(self, a: Val, b: Val) -> Val:
        return self._binary("fmul" if is_float(a.dtype) else "mul", a, b)

    def fdiv(self, a: Val, b: Val) -> Val:
        return self._binary("fdiv", a, b)

    def sdiv(self, a: Val, b: Val) -> Val:
        return self._binary("sdiv", a, b)

    def udiv(self, a: Val, b: Val) -> Val:
        return self._binary("udiv", a, b)

    def srem(self, a: Val, b: Val) -> Val:
        return self._binary("srem", a, b)

    def urem(self, a: Val, b: Val) -> Val:
        return self._binary("urem", a, b)

    def and_(self, a: Val, b: Val) -> Val:
        return self._binary("and", a, b)

    def or_(self, a: Val, b: Val) -> Val:
        return self._binary("or", a, b)

    def xor(self, a: Val, b: Val) -> Val:
        return self._binary("xor", a, b)

    def shl(self, a: Val, b: Val) -> Val:
        return self._binary("shl", a, b)

    def lshr(self, a: Val, b: Val) -> Val:
        return self._binary("lshr", a, b)

    def ashr(self, a: Val, b: Val) -> Val:
        return self._binary("ashr", a, b)

    def neg(self, a: Val) -> Val:
        if is_float(a.dtype):
            return self._new(f"fneg {self.type(a.dtype)} {a.name}", a.dtype)
        return self.sub(self.const(0, a.dtype), a)

    def intrinsic(self, name: str, *args: Val) -> Val:
        d = args[0].dtype
        t = self.type(d)
        suffix = MANGLE[d] if self.lanes == 1 else f"v{self.lanes}{MANGLE[d]}"
        extra = ", i1 false" if name in ("ctlz", "cttz") else ""
        self.declared.add(f"declare {t} @llvm.{name}.{suffix}({', '.join([t] * len(args))}{', i1' if extra else ''})")
        return self._new(f"call {t} @llvm.{name}.{suffix}({', '.join(f'{t} {a.name}' for a in args)}{extra})", d)

    def fma(self, a: Val, b: Val, c: Val) -> Val:
        assert a.dtype == b.dtype == c.dtype
        return self.intrinsic("fma", a, b, c)

    def cmp(self, pred: str, a: Val, b: Val) -> Val:
        assert a.dtype == b.dtype, (pred, a, b)
        if is_float(a.dtype):
            p = {"ne": "une"}.get(pred, "o" + pred if len(pred) == 2 else pred)
            return self._new(f"fcmp {p} {self.type(a.dtype)} {a.name}, {b.name}", "bool")
        p = pred if pred in ("eq", "ne") else ("s" if is_signed(a.dtype) else "u") + pred
        return self._new(f"icmp {p} {self.type(a.dtype)} {a.name}, {b.name}", "bool")

    def select(self, c: Val, a: Val, b: Val) -> Val:
        assert c.dtype == "bool" and a.dtype == b.dtype, (c, a, b)
        t = self.type(a.dtype)
        return self._new(f"select {self.type('bool')} {c.name}, {t} {a.name}, {t} {b.name}", a.dtype)

    def _cast(self, op: str, a: Val, dtype: str) -> Val:
        return self._new(f"{op} {self.type(a.dtype)} {a.name} to {self.type(dtype)}", dtype)

    def bitcast(self, a: Val, dtype: str) -> Val:
        return self._cast("bitcast", a, dtype)

    def convert(self, a: Val, dtype: str) -> Val:
        src, size = a.dtype, lambda d: 1 if d == "bool" else DTYPES[d].itemsize * 8
        if (src, dtype) == ("f64", "f16"):
            a, src = self._round_to_odd(a), "f32"
        if is_float(src) and is_float(dtype):
            return a if src == dtype else self._cast("fpext" if size(dtype) > size(src) else "fptrunc", a, dtype)
        if is_float(src):
            return self._cast("fptosi" if is_signed(dtype) else "fptoui", a, dtype)
        if is_float(dtype):
            return self._cast("sitofp" if is_signed(src) else "uitofp", a, dtype)
        if size(src) == size(dtype):
            return Val(a.name, dtype)
        return self._cast("trunc" if size(dtype) < size(src) else "sext" if is_signed(src) else "zext", a, dtype)

    def _round_to_odd(self, x: Val) -> Val:
        """f64 to f32, inexact results with an odd last bit: rounding them to f16 is then right (no x86 does it at once)."""
        near = self._cast("fptrunc", x, "f32")
        back, i = self._cast("fpext", near, "f64"), self.bitcast(near, "i32")
        inward = self.cmp("gt", self.intrinsic("fabs", back), self.intrinsic("fabs", x))
        i = self.select(inward, self.sub(i, self.const(1, "i32")), i)  # towards zero
        inexact = self.cmp("ne", back, x)
        return self.bitcast(self.select(inexact, self.or_(i, self.const(1, "i32")), i), "f32")

    def convert_sat(self, a: Val, dtype: str) -> Val:
        name = "fptosi.sat" if is_signed(dtype) else "fptoui.sat"
        v = "" if self.lanes == 1 else f"v{self.lanes}"
        target, source = self.type(dtype), self.type(a.dtype)
        symbol = f"@llvm.{name}.{v}{MANGLE[dtype]}.{v}{MANGLE[a.dtype]}"
        self.declared.add(f"declare {target} {symbol}({source})")
        return self._new(f"call {target} {symbol}({source} {a.name})", dtype)

    def rare(self, cond: Val, symbol: str, args: Sequence[Val], fast: Sequence[Val]) -> tuple[Val, ...]:
        key = (cond, symbol, tuple(args), tuple(fast))
        if key not in self.known:
            self.known[key] = self._rare(cond, symbol, args, fast)
        return self.known[key]

    def _rare(self, cond: Val, symbol: str, args: Sequence[Val], fast: Sequence[Val]) -> tuple[Val, ...]:
        self.outlined.add(symbol)
        k, bools, bytes_ = len(self.known), self.type("bool"), self.type("u8")
        some = cond.name
        if self.lanes > 1:
            self.declared.add(f"declare i1 @llvm.vector.reduce.or.v{self.lanes}i1({bools})")
            some = f"%any{k}"
            self.lines.append(f"  {some} = call i1 @llvm.vector.reduce.or.v{self.lanes}i1({bools} {cond.name})")
        self.lines += [f"  br i1 {some}, label %rare{k}, label %on{k}", f"rare{k}:"]
        self.lines.append(f"  %c{k} = zext {bools} {cond.name} to {bytes_}")
        slots = []
        for j, v in enumerate([Val(f"%c{k}", "u8"), *args, *fast]):
            slot = f"%slot{k}_{j}"
            self.scratch.append(f"  {slot} = alloca {self.type(v.dtype)}, align 64")
            self.lines.append(f"  store {self.type(v.dtype)} {v.name}, ptr {slot}")
            slots.append(slot)
        self.lines.append(f"  call void @{symbol}({', '.join(f'ptr {s}' for s in slots)}, i64 {self.lanes})")
        out = []
        for j, (v, slot) in enumerate(zip(fast, slots[-len(fast) :])):
            self.lines.append(f"  %slow{k}_{j} = load {self.type(v.dtype)}, ptr {slot}")
        self.lines += [f"  br label %on{k}", f"on{k}:"]
        for j, v in enumerate(fast):
            out.append(Val(f"%r{k}_{j}", v.dtype))
            self.lines.append(f"  %r{k}_{j} = phi {self.type(v.dtype)} [ {v.name}, %{self.block} ], [ %slow{k}_{j}, %rare{k} ]")
        self.block = f"on{k}"
        return tuple(out)

    @property
    def ops(self) -> int:
        """How many operations there are, constants and bitcasts not counted."""
        return sum("bitcast" not in line for line in self.lines)


def module(
    build: Callable[[VecBuilder, list[Val]], Val | Sequence[Val]], dtypes: Sequence[str], lanes: int
) -> tuple[str, list[str]]:
    """LLVM text of `void k(ptr in..., ptr out..., i64 vectors)` and the dtypes of the results."""
    e = VecBuilder(lanes)
    memory = lambda d: e.type("u8" if d == "bool" else d)
    args, loads, stores = [], [], []
    for j, d in enumerate(dtypes):
        loads += [
            f"  %p{j} = getelementptr {SCALAR['u8' if d == 'bool' else d]}, ptr %a{j}, i64 %at",
            f"  %x{j} = load {memory(d)}, ptr %p{j}, align 1",
        ]
        if d == "bool":
            loads.append(f"  %b{j} = icmp ne {memory(d)} %x{j}, {e.const(0, 'u8').name}")
        args.append(Val(f"%b{j}" if d == "bool" else f"%x{j}", d))
    out = build(e, args)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    for j, v in enumerate(outs):
        name = v.name
        if v.dtype == "bool":
            stores.append(f"  %z{j} = zext {e.type('bool')} {name} to {memory('bool')}")
            name = f"%z{j}"
        stores += [
            f"  %q{j} = getelementptr {SCALAR['u8' if v.dtype == 'bool' else v.dtype]}, ptr %o{j}, i64 %at",
            f"  store {memory(v.dtype)} {name}, ptr %q{j}, align 1",
        ]
    params = [f"ptr %a{j}" for j in range(len(dtypes))] + [f"ptr %o{j}" for j in range(len(outs))] + ["i64 %n"]
    definitions, declarations = poly_rare.text(e.outlined)
    text = [
        f"define void @k({', '.join(params)}) {{", "entry:", *e.scratch, "  br label %body", "body:",
        f"  %i = phi i64 [ 0, %entry ], [ %next, %{e.block} ]", f"  %at = mul i64 %i, {lanes}", *loads, *e.lines, *stores,
        "  %next = add i64 %i, 1", "  %more = icmp ult i64 %next, %n", "  br i1 %more, label %body, label %done", "done:",
        "  ret void", "}", *definitions, *sorted(e.declared | declarations),
    ]  # fmt: skip
    return "\n".join(text), [v.dtype for v in outs]


@cache
def _machine() -> tuple[Any, Any]:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    make = lambda: llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1, reloc="pic", codemodel="default"
    )
    return make(), llvm.create_lljit_compiler(make())


_serial = itertools.count()


def compile(build: Callable[[VecBuilder, list[Val]], Any], dtypes: Sequence[str], lanes: int) -> Callable[..., Any]:
    """`build` as a function of equally long 1-d arrays of `dtypes`; one result array, or a tuple of them."""
    text, results = module(build, dtypes, lanes)
    machine, jit = _machine()
    mod = llvm.parse_assembly(f'target triple = "{llvm.get_default_triple()}"\n' + text, llvm.create_context())
    mod.verify()
    library = llvm.JITLibraryBuilder().add_object_img(machine.emit_object(mod)).add_current_process().export_symbol("k")
    tracker = library.link(jit, f"vecbuilder{next(_serial)}")
    native = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * (len(dtypes) + len(results)), ctypes.c_int64)(tracker["k"])

    def run(*arrays: np.ndarray) -> Any:
        n = len(arrays[0])
        vectors = -(-n // lanes)
        ins = [np.zeros(vectors * lanes, DTYPES[d]) for d in dtypes]
        for padded, a in zip(ins, arrays):
            padded[:n] = a
        outs = [np.empty(vectors * lanes, DTYPES[d]) for d in results]
        if n:
            native(*(a.ctypes.data for a in ins + outs), vectors)
        got = [a[:n] for a in outs]
        return got[0] if len(got) == 1 else tuple(got)

    run.keep = tracker  # type: ignore[attr-defined]
    return run
