"""Making native code of a planned program: kernel form, LLVM text, machine code; and how its results are made."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from irad.codegen import llvm_files
from irad.codegen.call.native import Made, NativeCode
from irad.codegen.emit.kernels import emit
from irad.codegen.interface import PACKED, SIGNAL, Interface, Signature, libc_address, python_address
from irad.codegen.jit import WIDE, Registers, load
from irad.codegen.jit import registers as host_registers
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.cost import LONG, work
from irad.codegen.kernel.form import POLL
from irad.codegen.libraries import pool
from irad.codegen.libraries.outside import PROCESS, Outside
from irad.codegen.lower import calls, control, dot, elements_and_scans, fft, host, linalg, loops, mpi, sort, spectral  # noqa: F401  (they register their lowerings)
from irad.codegen.lower.arena import arena_size
from irad.codegen.lower.graph import Lowered, lower
from irad.codegen.schedule import nests  # noqa: F401  (they register their lowerings)
from irad.codegen.transform.manager import kernel_forms
from irad.core.ir import Graph, Program, Value, types
from irad.core.lazy_dataclass import dataclass
from irad.core.notes import Notes
from irad.core.once import import_later
from irad.core.types import TAPE, Extent, Type


@dataclass(eq=False)
class Text:
    """The module of a planned program as LLVM text, before machine code is made of it. `accesses`: what code that checks its memory
    says of its accesses, by number."""

    lowered: Lowered
    text: str
    accesses: Any = None

    @property
    def entry(self) -> str:
        """The name of the kernel that is called first."""
        return self.lowered.kernels[0].name


def generate(
    program: Program,
    *,
    registers: Registers = WIDE,
    threads: int | None = None,
    contract: bool = False,
    notes: Notes | None = None,
    check: bool = False,
    outside: Outside = PROCESS,
    grow: str | None = None,
) -> Text:
    """The text of a planned program. `registers`: of the machine that it is for; `outside`: what the code may call; `grow`: text of
    the function that makes room on tapes.

    For the rest see `build`.
    """
    entry = next(iter(program.values()))
    lowered = lower(program, arena_size(entry), notes=notes, lives=check, outside=outside, registers=registers)
    for _, kernels in kernel_forms(lowered, threads, contract):
        if check:
            import_later("irad.codegen.kernel.assigned").prove(kernels)
    support = {}
    if any(isinstance(s, kf.Call) and s.symbol == POLL for k in lowered.kernels for s in kf.walk(k.body)):
        of = import_later("irad.codegen.transform.polled")
        support[POLL] = of.poll_text(time.CLOCK_MONOTONIC)
        lowered.symbols.update((f, python_address(f)) for f in of.POLL_CALLS)
    collectives = {
        s.symbol for k in lowered.kernels for s in kf.walk(k.body) if isinstance(s, kf.Call) and s.symbol.startswith("irad_mpi_")
    }
    if collectives:
        support |= import_later("irad.codegen.libraries.mpi").support(collectives)
        lowered.symbols |= import_later("irad.codegen.libraries.mpi").symbols(collectives)
    if lowered.grows:
        support[kf.GROW_NAME] = grow or llvm_files.read("lower", "grow")
    if lowered.functions:
        lowered.symbols["free"] = libc_address("free")
    if notes is not None:
        _note_threads(notes, kernels)
    if any(isinstance(s, kf.Parallel) for k in kernels for s in kf.walk(k.body)):
        lowered.symbols[pool.PARALLEL] = pool.library().address(pool.PARALLEL)
    accesses = None
    if check:
        kernels, accesses = import_later("irad.codegen.transform.memory_check").memory_checked(kernels, lowered)
        support |= import_later("irad.codegen.transform.memory_check").support()
        if lowered.grows:
            support[kf.GROW_NAME] = import_later("irad.codegen.transform.memory_check").filling(support[kf.GROW_NAME])
    return Text(lowered, emit(kernels, vector_bits=registers.bits, support=support), accesses)


def build(
    program: Program,
    outside: Signature | None = None,
    *,
    capacity: Mapping[Value, int] | None = None,
    threads: int | None = None,
    contract: bool = False,
    notes: Notes | None = None,
    check: bool = False,
) -> NativeCode:
    """Native code of a planned program.

    `outside`: types of the parameters and results as callers see them, if they are not the program's: a complex array in the
    place of an array of pairs; results of the program after those are the run-time extents of them. `capacity`: the most
    elements of a result of run-time extents. `threads`: how many a call may use; None: `irad.codegen.libraries.pool.default_threads`.
    `contract`: whether a*b + c may be one fma everywhere, not in derivatives only. `notes`: where to say what was decided.
    `check`: whether the code checks its memory (irad.codegen.transform.memory_check).
    """
    entry = next(iter(program.values()))
    made_text = generate(program, registers=host_registers(), threads=threads, contract=contract, notes=notes, check=check)
    lowered = made_text.lowered
    text = made_text.text + _packed(lowered.kernels[0])
    if "@irad.scipy." in text:
        lowered.symbols |= import_later("irad.codegen.math.scipy").symbols(text)
    exports = [PACKED, *(k.name for k in lowered.kernels), *([SIGNAL] if SIGNAL in text else [])]
    library = load(text, exports, lowered.symbols)
    params, results = outside or (types(entry.params), types(entry.results))
    made = made_results(entry, results, capacity or {})
    given = (_interface(lowered), library, tuple(params), tuple(results), made, entry.memo.get("donated", {}), lowered)
    if check:
        may_change = entry.memo.get("given", frozenset())
        checked: NativeCode = import_later("irad.codegen.call.memory_run").CheckedNative(
            *given, accesses=made_text.accesses, may_change=may_change
        )
        return checked
    return NativeCode(*given)


def _interface(lowered: Lowered) -> Interface:
    """How the kernels of a program are called."""
    entry = lowered.kernels[0]
    return Interface(
        len(entry.params),
        lowered.arena,
        work(entry.body) > LONG,
        len(lowered.ctx),
        lowered.constants,
        lowered.constant_words,
        lowered.tape_params,
        lowered.tape_writes,
        lowered.tape_results,
        lowered.raises,
        lowered.keep,
    )


def _note_threads(notes: Notes, kernels: Sequence[kf.Kernel]) -> None:
    found = [s for k in kernels for s in kf.walk(k.body) if isinstance(s, kf.Parallel)]
    for s in found:
        text = f"{s.kernel}: {s.trips} iterations in chunks of {s.chunk} on at most {s.threads} threads"
        notes.add("threads", text, threads=s.threads, trips=s.trips, chunk=s.chunk)
    if not found:
        notes.add("threads", "one thread: no loop has enough independent work to share out", threads=1)


def made_results(entry: Graph, outside: Sequence[Type], capacity: Mapping[Value, int]) -> tuple[Made, ...]:
    """How each result of the native code is made; tapes are no such."""
    values = entry.results
    pairs = list(zip_longest(values, outside))
    seen = [v for v in values if v.type != TAPE]
    made = []
    for v, t in pairs:
        t = v.type if t is None else t
        if t == TAPE:
            continue
        if v.type.static:
            made.append(Made(v.type.dims[: t.rank], t.numpy))  # an extent may have become known since it was traced
            continue
        dims = [d if isinstance(d, Extent) else Extent(d, ()) for d in v.type.shape[: t.rank]]
        before = all(s in entry.params for s in v.type.symbols)
        among = list(entry.params) if before else seen
        places = tuple((d.const, tuple((among.index(s), c) for s, c in d.terms)) for d in dims)
        if before:
            made.append(Made((), t.numpy, places, True))
            continue
        size = capacity[v] // (1 if v.type.rank == t.rank else 2)  # of a complex array, which is one of pairs here
        made.append(Made((size,), t.numpy, places))
    return tuple(made)


def _packed(entry: kf.Kernel) -> str:
    """A function that calls the entry with the addresses found at its one argument."""
    lines, args = [], []
    for k in range(len(entry.params)):
        lines += [f"  %q{k} = getelementptr ptr, ptr %v, i64 {k}", f"  %a{k} = load ptr, ptr %q{k}"]
        args.append(f"ptr %a{k}")
    lines += [f"  %s = call i64 @{entry.name}({', '.join(args)})", "  ret i64 %s"]
    return "\n".join([f"define i64 @{PACKED}(ptr %v) {{", *lines, "}", ""])
