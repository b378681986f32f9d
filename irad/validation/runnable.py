"""A program at every stage of the compiler, as something that can be run: after each pass, in kernel form, as native code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from irad.call.compiled import signature
from irad.codegen.call.native import NativeCode
from irad.codegen.interface import ERROR_SLOTS
from irad.codegen.kernel.interp import KernelFault, Machine, NotInterpreted, TooLong
from irad.codegen.lower.arena import arena_size
from irad.codegen.lower.graph import Lowered, lower
from irad.codegen.transform.manager import KERNEL_PIPELINE, kernel_forms
from irad.core.interp import interpret
from irad.core.ir import Program, Value, walk
from irad.core.lazy_dataclass import dataclass
from irad.core.switches import on
from irad.core.types import TAPE, is_complex
from irad.errors import UnsupportedError
from irad.ops.control import RaisedInGraph
from irad.ops.text import filled, from_record
from irad.options import DEFAULT, Options, options
from irad.passes.manager import run
from irad.pipeline import PIPELINE, native, optimise
from irad.validation.guard_zones import GuardZones

MOST = 200_000  # statements that a kernel is interpreted for

Outcome = list[Any]  # results; or the exception, its message and the results that are kept


@dataclass(frozen=True)
class Stage:
    """`run(program, args)`: what a program does after one more step of the compiler; None where that cannot be told.

    `before`: the program that the step starts from. `exact`: does the step keep every bit?
    """

    name: str
    before: Program
    run: Callable[[Program, Sequence[Any]], Outcome | None]
    exact: bool = False


# Of programs that are no derivatives and without powers
EXACT = ("inline", "simplify", "fold", "cse", "licm", "ranges", "dce", "custom")


def stages(program: Program, given: Options = DEFAULT, kernels: bool = True) -> Iterator[Stage]:
    """The steps of the compiler, one after another. `kernels`: the forms of the kernel that come before native code too."""
    for k, name in enumerate(filter(on, PIPELINE)):
        exact = name in EXACT and not given.fastmath and not _rounds(program)
        yield Stage(f"pass {name} (step {k + 1})", program, _after(name, given), exact)
        program = run(program, [name], None, given.fastmath, budget=given.memory_budget)
    for name in ("lower", *KERNEL_PIPELINE) if kernels else ():
        yield Stage(f"kernel form, {name}", program, _in_kernel_form(name))
    native_with = lambda n, check: _native(options(None, n, given.fastmath, None, None, check, given.memory_budget))
    yield Stage("native code, 1 thread", program, native_with(1, None))
    if not given.fastmath:
        yield Stage("native code that checks its memory", program, native_with(1, "memory"))
    yield Stage("native code, 2 threads", program, native_with(2, None))


def meaning(program: Program, args: Sequence[Any]) -> Outcome:
    """What the graph interpreter gives."""
    params = next(iter(program.values())).params
    return outcome(lambda: interpret(program, *[as_parameter(a, p) for a, p in zip(args, params, strict=True)]))


def interpretable(program: Program) -> bool:
    """Has every node a meaning of its own? `vjp` and `jvp` have none before they are expanded."""
    return not any(n.op.eval is None and n.op.name != "call" for g in program.values() for n in walk(g))


def outcome(f: Callable[[], list[Any]]) -> Outcome:
    """What f gives, or what it raises, as a list."""
    try:
        return list(f())
    except RaisedInGraph as e:
        kept = e.kept or {}
        return [e.exc, e.message, *[x for _, x in sorted(kept.items())]]


def as_parameter(a: Any, p: Value) -> Any:
    """An argument as a parameter takes it: a complex one as pairs after they were taken apart."""
    if p.type == TAPE:
        return a
    x = np.asarray(a)
    if x.dtype.kind == "c" and not is_complex(p.type.dtype):
        real = np.ascontiguousarray(x).view(x.real.dtype)
        return real.reshape(*x.shape, 2)
    return a


def as_results(got: Outcome, want: Outcome) -> Outcome:
    """The results that are also results of the program as written, pairs as the complex numbers that they stand for."""
    if want and isinstance(want[0], str) or got and isinstance(got[0], str):
        return got
    return [_paired(g, w) for g, w in zip(got, want)]


def _paired(g: Any, w: Any) -> Any:
    if isinstance(w, str) or np.asarray(w).dtype.kind != "c" or np.asarray(g).dtype.kind == "c":
        return g
    return np.ascontiguousarray(g).view(np.asarray(w).dtype).reshape(np.shape(g)[:-1])[()]


def _rounds(program: Program) -> bool:
    """May rules round otherwise: those of derivatives, of powers, which are as accurate as `pow`, and of ops that are made of others?"""
    return any(n.deriv or n.op.name == "pow" or "expand" in n.op.extra for g in program.values() for n in walk(g))


def _after(name: str, given: Options) -> Callable[[Program, Sequence[Any]], Outcome | None]:
    def result(program: Program, args: Sequence[Any]) -> Outcome | None:
        after = run(program, [name], None, given.fastmath, budget=given.memory_budget)
        return meaning(after, args) if interpretable(after) else None

    return result


# ---- kernel form and native code ------------------------------------------------------------------------------------


def _in_kernel_form(name: str) -> Callable[[Program, Sequence[Any]], Outcome | None]:
    def result(program: Program, args: Sequence[Any]) -> Outcome | None:
        entry = next(iter(program.values()))
        if any(not v.type.static or v.type == TAPE for v in (*entry.params, *entry.results)):
            return None
        lowered = lower(program, arena_size(entry))
        forms = dict(kernel_forms(lowered, 2, False)) if name != "lower" else {"lower": lowered.kernels}
        if name not in forms:
            return None
        try:
            return _interpreted(lowered, forms[name], entry.params, entry.results, args)
        except (TooLong, NotInterpreted):
            return None
        except KernelFault as e:
            return ["KernelFault", str(e)]

    return result


def _interpreted(
    lowered: Lowered, kernels: Sequence[Any], params: Sequence[Value], results: Sequence[Value], args: Any
) -> Outcome:
    """What the kernel interpreter gives. Memory that is not written before it is read is NaN."""
    machine = Machine({k.name: k for k in kernels}, lowered.symbols, most=MOST)
    for a in lowered.constants:
        machine.memory[int(a.ctypes.data)] = a
    given = [np.array(as_parameter(a, p), p.type.numpy).reshape(p.type.dims) for a, p in zip(args, params)]
    out = [_unwritten(v) for v in results]
    arena = np.full(max(lowered.arena, 1) // 8 + 1, np.nan).view(np.uint8)
    ctx = np.array([*lowered.ctx, 0], np.int64)
    err = np.zeros(ERROR_SLOTS, np.int64)
    flat = [a.reshape(-1) if v.type.shape else a for a, v in zip([*given, *out], [*params, *results])]
    status = machine.run(kernels[0], *flat, arena, ctx, err)
    if status:
        r = lowered.raises[status - 1]
        message = filled(r.message, map(from_record, map(int, err), r.dtypes))
        return [r.exc, message, *[out[k][()] for k in sorted(r.keeps)]]
    return [a[()] for a in out]


def _unwritten(v: Value) -> np.ndarray:
    d = v.type.numpy
    return np.full(v.type.dims, np.nan if d.kind == "f" else True if d.kind == "b" else 113, d)


def _native(given: Options) -> Callable[[Program, Sequence[Any]], Outcome | None]:
    def result(program: Program, args: Sequence[Any]) -> Outcome | None:
        entry = next(iter(program.values()))
        if any(v.type == TAPE for v in (*entry.params, *entry.results)):
            return None
        try:
            code = native(program, None, given)
        except UnsupportedError:
            return None
        return _called(code, entry.params, args)

    return result


def native_run(program: Program, given: Options) -> Callable[[Sequence[Any]], Outcome]:
    """Native code of a traced program, to run on arguments. Raises as the compiler does."""
    entry = next(iter(program.values()))
    code = native(optimise(program, None, given), signature(entry), given)
    return lambda args: _called(code, entry.params, args)


def _called(code: NativeCode, params: Sequence[Value], args: Sequence[Any]) -> Outcome:
    zones = GuardZones()
    arrays = [
        zones.copy(np.array(as_parameter(a, p), p.type.numpy, order="C").reshape(p.type.dims)) for a, p in zip(args, params)
    ]
    kept: dict[int, np.ndarray] = {}
    if all(m.dims is None for m in code.made):  # others are cut to their size
        code.allocate = zones.array
    try:
        out = [x[()] for x in code.run(arrays, kept)]
    except RaisedInGraph as e:
        out = [e.exc, e.message, *[x[()] for _, x in sorted(kept.items())]]
    if found := zones.changed():
        raise MemoryError(found)
    return out
