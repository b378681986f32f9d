"""Scalar rules and polynomials as functions of arrays: the emitter's values, for a fixed number of lanes, in one loop.

Arrays are padded to whole vectors, so the code is straight (but where `rare` is used), and its operations can be counted.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from irad.codegen.llvm_text import MEMORY, Val, type_text
from irad.codegen.math import rare
from irad.codegen.math.values import Values
from irad.core.types import DTYPES


def operand(name: str, dtype: str, lanes: int) -> Val:
    """A value that is there from the start."""
    return Val(name, dtype, lanes, type_text(dtype, lanes), 0)


def count(b: Values) -> int:
    """How many operations have been emitted, constants and bitcasts not counted."""
    return sum("bitcast" not in line for line in b.scopes[0].lines)


def _vector(dtype: str, lanes: int) -> str:
    """How values lie in memory."""
    return MEMORY[dtype] if lanes == 1 else f"<{lanes} x {MEMORY[dtype]}>"


def module(build: Callable[[Any, list[Val]], Any], dtypes: Sequence[str], lanes: int) -> tuple[str, list[str]]:
    """LLVM text of `void k(ptr in..., ptr out..., i64 vectors)` and the dtypes of the results."""
    b = Values()
    b.scopes[0].label = "body"
    args = []
    for j, d in enumerate(dtypes):
        b.line(f" %p{j} = getelementptr {MEMORY[d]}, ptr %a{j}, i64 %at")
        b.line(f" %x{j} = load {_vector(d, lanes)}, ptr %p{j}, align 1")
        args.append(operand(f"%x{j}", d if d != "bool" else "u8", lanes))
    out = build(b, [b.convert(x, d) for x, d in zip(args, dtypes)])
    outs = [b.broadcast(v, lanes) for v in (out if isinstance(out, (tuple, list)) else [out])]
    for j, v in enumerate(outs):
        b.line(f" %q{j} = getelementptr {MEMORY[v.dtype]}, ptr %o{j}, i64 %at")
        x = b.convert(v, "u8") if v.dtype == "bool" else v
        b.line(f" store {x.ty} {x.n}, ptr %q{j}, align 1")
    params = [f"ptr %a{j}" for j in range(len(dtypes))] + [f"ptr %o{j}" for j in range(len(outs))] + ["i64 %n"]
    definitions, declarations = rare.text(b.outlined)
    text = [
        f"define void @k({', '.join(params)}) {{", "entry:",
        *(f" {name} = alloca [{size} x i8], align 64" for name, size in b.scratch.items()), " br label %body", "body:",
        f" %i = phi i64 [ 0, %entry ], [ %next, %{b.scopes[0].label} ]", f" %at = mul i64 %i, {lanes}", *b.scopes[0].lines,
        " %next = add i64 %i, 1", " %more = icmp ult i64 %next, %n", " br i1 %more, label %body, label %done", "done:",
        " ret void", "}", *definitions, *sorted({*b.declarations.values(), *declarations}),
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


def compile(build: Callable[[Any, list[Val]], Any], dtypes: Sequence[str], lanes: int) -> Callable[..., Any]:
    """`build` as a function of equally long 1-d arrays of `dtypes`; one result array, or a tuple of them."""
    text, results = module(build, dtypes, lanes)
    machine, jit = _machine()
    mod = llvm.parse_assembly(f'target triple = "{llvm.get_default_triple()}"\n' + text, llvm.create_context())
    mod.verify()
    library = llvm.JITLibraryBuilder().add_object_img(machine.emit_object(mod)).add_current_process().export_symbol("k")
    tracker = library.link(jit, f"lanes{next(_serial)}")
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
