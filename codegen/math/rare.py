"""Outlined functions for the lanes that straight-line code cannot serve, as LLVM text: `Builder.rare` calls them.

Each is `void @symbol(ptr cond, ptr args..., ptr results..., i64 lanes)` over arrays of `lanes` elements and writes the
results where the byte in `cond` is not 0. A module that uses a symbol includes its text once; nothing is imported.

- `irad.half_pi_T(x; r, q)`: x = n pi/2 + r, |r| <= pi/4, q = n mod 4, right to an ulp of r for every finite x, r NaN otherwise
  (Payne and Hanek, Radian reduction for trigonometric functions, 1983).
- `irad.fmod_T(x, y; z)`: C's fmod, exact.
- `irad.scipy.NAME`: a function of SciPy, see irad.codegen.math.scipy.
"""

from __future__ import annotations

import struct

from irad.codegen.llvm_text import split_declared
from irad.core.once import import_later


def _hex(x: float) -> str:
    """LLVM's exact literal of a double."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


# 64 zero bits, then 1344 bits of 2/pi
_TWO_OVER_PI = (
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041, 0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0,
    0x06492EEA09D1921C, 0xFE1DEB1CB129A73E, 0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA,
    0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB, 0xF0CFBC209AF4361D, 0xA9E391615EE61B08,
)  # fmt: skip

# With x = m 2**e, the bits of 2/pi from index e - 2 on matter (those before it give multiples of 4): three words w of
# them times m, modulo 2**192, are the quadrant (2 bits) and the fraction (190 bits). Rounding the quadrant to the
# nearest leaves a signed fraction f; r = f pi/2 with f in two doubles.
_HALF_PI = f"""
@irad.two_over_pi = private unnamed_addr constant [{len(_TWO_OVER_PI)} x i64] [{", ".join(f"i64 {w}" for w in _TWO_OVER_PI)}]
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare i128 @llvm.ctlz.i128(i128, i1)
define internal {{ double, i64 }} @irad.half_pi(double %x) noinline cold {{
  %bits = bitcast double %x to i64
  %shifted = lshr i64 %bits, 52
  %field = and i64 %shifted, 2047
  %low = and i64 %bits, {(1 << 52) - 1}
  %m = or i64 %low, {1 << 52}
  %finite = icmp ne i64 %field, 2047
  %at = sub i64 %field, {1075 + 2 - 64}
  %index = select i1 %finite, i64 %at, i64 0
  %word = lshr i64 %index, 6
  %shift = and i64 %index, 63
  %p0 = getelementptr i64, ptr @irad.two_over_pi, i64 %word
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %p3 = getelementptr i64, ptr %p0, i64 3
  %t0 = load i64, ptr %p0
  %t1 = load i64, ptr %p1
  %t2 = load i64, ptr %p2
  %t3 = load i64, ptr %p3
  %w0 = call i64 @llvm.fshl.i64(i64 %t0, i64 %t1, i64 %shift)
  %w1 = call i64 @llvm.fshl.i64(i64 %t1, i64 %t2, i64 %shift)
  %w2 = call i64 @llvm.fshl.i64(i64 %t2, i64 %t3, i64 %shift)
  %wide = zext i64 %m to i128
  %u1 = zext i64 %w1 to i128
  %u2 = zext i64 %w2 to i128
  %product2 = mul i128 %wide, %u2
  %carry2 = lshr i128 %product2, 64
  %plain1 = mul i128 %wide, %u1
  %product1 = add i128 %plain1, %carry2
  %carried1 = lshr i128 %product1, 64
  %carry1 = trunc i128 %carried1 to i64
  %plain0 = mul i64 %m, %w0
  %r0 = add i64 %plain0, %carry1
  %r1 = trunc i128 %product1 to i64
  %r2 = trunc i128 %product2 to i64
  %rounded = add i64 %r0, {1 << 61}
  %quadrant = lshr i64 %rounded, 62
  %f0 = call i64 @llvm.fshl.i64(i64 %r0, i64 %r1, i64 2)
  %f1 = call i64 @llvm.fshl.i64(i64 %r1, i64 %r2, i64 2)
  %f0wide = zext i64 %f0 to i128
  %f1wide = zext i64 %f1 to i128
  %f0up = shl i128 %f0wide, 64
  %f = or i128 %f0up, %f1wide
  %negative = icmp slt i128 %f, 0
  %minus = sub i128 0, %f
  %size = select i1 %negative, i128 %minus, i128 %f
  %zeros = call i128 @llvm.ctlz.i128(i128 %size, i1 false)
  %normal = shl i128 %size, %zeros
  %upper = lshr i128 %normal, 75
  %high = trunc i128 %upper to i64
  %next = lshr i128 %normal, 11
  %rest = trunc i128 %next to i64
  %a = uitofp i64 %high to double
  %bscaled = uitofp i64 %rest to double
  %b = fmul double %bscaled, {_hex(2.0**-64)}
  %main = fmul double %a, 0x3FF921FB54442D18
  %mainminus = fneg double %main
  %error = call double @llvm.fma.f64(double %a, double 0x3FF921FB54442D18, double %mainminus)
  %tail = call double @llvm.fma.f64(double %a, double 0x3C91A62633145C07, double %error)
  %tails = call double @llvm.fma.f64(double %b, double 0x3FF921FB54442D18, double %tail)
  %sum = fadd double %main, %tails
  %z = trunc i128 %zeros to i64
  %power = sub i64 {1023 - 53}, %z
  %powerbits = shl i64 %power, 52
  %scale = bitcast i64 %powerbits to double
  %magnitude = fmul double %sum, %scale
  %below = icmp slt i64 %bits, 0
  %flip = xor i1 %below, %negative
  %flipped = fneg double %magnitude
  %signed = select i1 %flip, double %flipped, double %magnitude
  %r = select i1 %finite, double %signed, double 0x7FF8000000000000
  %minusquadrant = sub i64 0, %quadrant
  %q = select i1 %below, i64 %minusquadrant, i64 %quadrant
  %partial = insertvalue {{ double, i64 }} undef, double %r, 0
  %result = insertvalue {{ double, i64 }} %partial, i64 %q, 1
  ret {{ double, i64 }} %result
}}
"""

# Long division on the mantissas, 11 bits a step.
_FMOD = f"""
declare i64 @llvm.ctlz.i64(i64, i1)
define internal {{ i64, i64 }} @irad.decompose(double %x) {{
  %bits = bitcast double %x to i64
  %field = lshr i64 %bits, 52
  %low = and i64 %bits, {(1 << 52) - 1}
  %isnormal = icmp ne i64 %field, 0
  %zeros = call i64 @llvm.ctlz.i64(i64 %low, i1 false)
  %shift = sub i64 %zeros, 11
  %up = shl i64 %low, %shift
  %down = sub i64 1, %shift
  %full = or i64 %low, {1 << 52}
  %m = select i1 %isnormal, i64 %full, i64 %up
  %e = select i1 %isnormal, i64 %field, i64 %down
  %partial = insertvalue {{ i64, i64 }} undef, i64 %m, 0
  %result = insertvalue {{ i64, i64 }} %partial, i64 %e, 1
  ret {{ i64, i64 }} %result
}}
define internal double @irad.fmod(double %x, double %y) noinline cold {{
entry:
  %ax = call double @llvm.fabs.f64(double %x)
  %ay = call double @llvm.fabs.f64(double %y)
  %finite = fcmp olt double %ax, 0x7FF0000000000000
  %positive = fcmp ogt double %ay, 0.0
  %defined = and i1 %finite, %positive
  br i1 %defined, label %sized, label %undefined
undefined:
  ret double 0x7FF8000000000000
sized:
  %larger = fcmp oge double %ax, %ay
  br i1 %larger, label %divide, label %same
same:
  ret double %x
divide:
  %dx = call {{ i64, i64 }} @irad.decompose(double %ax)
  %dy = call {{ i64, i64 }} @irad.decompose(double %ay)
  %mx = extractvalue {{ i64, i64 }} %dx, 0
  %ex = extractvalue {{ i64, i64 }} %dx, 1
  %my = extractvalue {{ i64, i64 }} %dy, 0
  %ey = extractvalue {{ i64, i64 }} %dy, 1
  %count = sub i64 %ex, %ey
  %first = urem i64 %mx, %my
  br label %step
step:
  %left = phi i64 [ %count, %divide ], [ %less, %more ]
  %m = phi i64 [ %first, %divide ], [ %remainder, %more ]
  %done = icmp eq i64 %left, 0
  br i1 %done, label %out, label %more
more:
  %few = icmp ult i64 %left, 11
  %bits = select i1 %few, i64 %left, i64 11
  %shifted = shl i64 %m, %bits
  %remainder = urem i64 %shifted, %my
  %less = sub i64 %left, %bits
  br label %step
out:
  %value = uitofp i64 %m to double
  %up = icmp sgt i64 %ey, 52
  %far = sub i64 %ey, 52
  %farbits = shl i64 %far, 52
  %large = bitcast i64 %farbits to double
  %near = add i64 %ey, {1023 - 60}
  %nearbits = shl i64 %near, 52
  %small = bitcast i64 %nearbits to double
  %scale = select i1 %up, double %large, double %small
  %rescale = select i1 %up, double 1.0, double {_hex(2.0 ** (60 - 1075))}
  %once = fmul double %value, %scale
  %size = fmul double %once, %rescale
  %z = call double @llvm.copysign.f64(double %size, double %x)
  ret double %z
}}
"""


def _loop(symbol: str, args: int, ty: str, results: list[str], body: str) -> str:
    """The function over lanes round `body`, which reads %x0.. and gives %z0.."""
    names = [f"%a{k}" for k in range(args)] + [f"%r{k}" for k in range(len(results))]
    loads = [f"  %pa{k} = getelementptr {ty}, ptr %a{k}, i64 %i\n  %x{k} = load {ty}, ptr %pa{k}" for k in range(args)]
    stores = [f"  %pr{k} = getelementptr {t}, ptr %r{k}, i64 %i\n  store {t} %z{k}, ptr %pr{k}" for k, t in enumerate(results)]
    return "\n".join(
        [
            f"define internal void @{symbol}(ptr %cond, {', '.join('ptr ' + n for n in names)}, i64 %lanes) noinline cold {{",
            "entry:", "  br label %loop", "loop:", "  %i = phi i64 [ 0, %entry ], [ %next, %on ]",
            "  %pc = getelementptr i8, ptr %cond, i64 %i", "  %c = load i8, ptr %pc", "  %holds = icmp ne i8 %c, 0",
            "  br i1 %holds, label %do, label %on", "do:", *loads, body, *stores, "  br label %on", "on:",
            "  %next = add i64 %i, 1", "  %more = icmp ult i64 %next, %lanes", "  br i1 %more, label %loop, label %out", "out:",
            "  ret void", "}",
        ]
    )  # fmt: skip


_WIDEN = "  %w{0} = fpext float %x{0} to double\n"
_CALL_HALF_PI = """  %pair = call {{ double, i64 }} @irad.half_pi(double {0})
  %r = extractvalue {{ double, i64 }} %pair, 0
  %q = extractvalue {{ double, i64 }} %pair, 1
"""

TEXT: dict[str, tuple[str, str]] = {}
"""Symbol -> (its function, the functions and tables that it needs, to be included once)."""

TEXT["irad.half_pi_f64"] = (
    _loop(
        "irad.half_pi_f64", 1, "double", ["double", "i64"],
        _CALL_HALF_PI.format("%x0") + "  %z0 = fadd double %r, -0.0\n  %z1 = add i64 %q, 0",
    ),
    _HALF_PI,
)  # fmt: skip
TEXT["irad.half_pi_f32"] = (
    _loop(
        "irad.half_pi_f32", 1, "float", ["float", "i32"],
        _WIDEN.format(0) + _CALL_HALF_PI.format("%w0") + "  %z0 = fptrunc double %r to float\n  %z1 = trunc i64 %q to i32",
    ),
    _HALF_PI,
)  # fmt: skip
TEXT["irad.fmod_f64"] = (
    _loop("irad.fmod_f64", 2, "double", ["double"], "  %z0 = call double @irad.fmod(double %x0, double %x1)"),
    _FMOD,
)
TEXT["irad.fmod_f32"] = (
    _loop(
        "irad.fmod_f32", 2, "float", ["float"],
        _WIDEN.format(0) + _WIDEN.format(1)
        + "  %w = call double @irad.fmod(double %w0, double %w1)\n  %z0 = fptrunc double %w to float",
    ),
    _FMOD,
)  # fmt: skip


def text(symbols: set[str]) -> tuple[list[str], set[str]]:
    """The definitions for `symbols`, and the declarations of LLVM intrinsics they use (the module may have them too)."""
    table = TEXT | {s: import_later("irad.codegen.math.scipy").text(s, _loop) for s in symbols if s.startswith("irad.scipy.")}
    if unknown := symbols - table.keys():
        raise KeyError(f"no outlined function {', '.join(sorted(unknown))}")
    parts = [table[s][0] for s in sorted(symbols)] + sorted({table[s][1] for s in symbols})
    lines = [line for part in parts for line in part.strip().splitlines()]
    definitions, declared = split_declared(lines)
    for name, signature in (
        ("llvm.fma.f64", "double, double, double"),
        ("llvm.fabs.f64", "double"),
        ("llvm.copysign.f64", "double, double"),
    ):
        if any(f"@{name}(" in line for line in lines):
            declared.add(f"declare double @{name}({signature})")
    return definitions, declared
