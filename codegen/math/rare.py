"""Outlined functions for the lanes that straight-line code cannot serve, as LLVM text: `Builder.rare` calls them.

Each is `void @symbol(ptr cond, ptr args..., ptr results..., i64 lanes)` over arrays of `lanes` elements and writes the
results where the byte in `cond` is not 0. A module that uses a symbol includes its text once; nothing is imported.

- `irad.half_pi_T(x; r, q)`: x = n pi/2 + r, |r| <= pi/4, q = n mod 4, right to an ulp of r for every finite x, r NaN otherwise
  (Payne and Hanek, Radian reduction for trigonometric functions, 1983).
- `irad.fmod_T(x, y; z)`: C's fmod, exact.
- `irad.scipy.NAME`: a function of SciPy, see irad.codegen.math.scipy.
"""

from __future__ import annotations

from irad.codegen import llvm_files
from irad.codegen.llvm_text import split_declared
from irad.core.once import import_later


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

TEXT: dict[str, tuple[str, ...]] = {}
"""Symbol -> (its function, the files of functions and tables that it needs, to be included once)."""

TEXT["irad.half_pi_f64"] = (
    _loop(
        "irad.half_pi_f64", 1, "double", ["double", "i64"],
        _CALL_HALF_PI.format("%x0") + "  %z0 = fadd double %r, -0.0\n  %z1 = add i64 %q, 0",
    ),
    "half_pi",
)  # fmt: skip
TEXT["irad.half_pi_f32"] = (
    _loop(
        "irad.half_pi_f32", 1, "float", ["float", "i32"],
        _WIDEN.format(0) + _CALL_HALF_PI.format("%w0") + "  %z0 = fptrunc double %r to float\n  %z1 = trunc i64 %q to i32",
    ),
    "half_pi",
)  # fmt: skip
TEXT["irad.fmod_f64"] = (
    _loop("irad.fmod_f64", 2, "double", ["double"], "  %z0 = call double @irad.fmod(double %x0, double %x1)"),
    "fmod",
)
TEXT["irad.fmod_f32"] = (
    _loop(
        "irad.fmod_f32", 2, "float", ["float"],
        _WIDEN.format(0) + _WIDEN.format(1)
        + "  %w = call double @irad.fmod(double %w0, double %w1)\n  %z0 = fptrunc double %w to float",
    ),
    "fmod",
)  # fmt: skip


def text(symbols: set[str]) -> tuple[list[str], set[str]]:
    """The definitions for `symbols`, and the declarations of LLVM intrinsics they use (the module may have them too)."""
    scipy = [s for s in symbols if s.startswith("irad.scipy.")]
    if unknown := symbols - TEXT.keys() - set(scipy):
        raise KeyError(f"no outlined function {', '.join(sorted(unknown))}")
    found = {s: (TEXT[s][0], llvm_files.read("math", *TEXT[s][1:])) for s in symbols - set(scipy)}
    found |= {s: import_later("irad.codegen.math.scipy").text(s, _loop) for s in scipy}
    parts = [found[s][0] for s in sorted(symbols)] + sorted({needed for _, needed in found.values()})
    return split_declared([line for part in parts for line in part.strip().splitlines()])
