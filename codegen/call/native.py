"""A planned program as a native function: called through ctypes here, without Python code by irad.codegen.call.machine.

The caller's arrays are only read; each result is a fresh array that owns its memory. What a call works in (`Context`: the
arena, the memory of tapes) is taken from a free list, so concurrent and recursive calls do not share it and pages stay
warm.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from irad.codegen import llvm_files
from irad.codegen.call import memory
from irad.codegen.emit.kernels import emit
from irad.codegen.jit import Library, load
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.cost import INTERRUPTED, LONG, POLL, POLL_CALLS, SIGNAL, poll_text, work
from irad.codegen.kernel.show import show
from irad.codegen.libraries import pool
from irad.codegen.lower import (  # noqa: F401  (they register their lowerings)
    calls,
    control,
    dot,
    elements_and_scans,
    fft,
    host,
    linalg,
    loops,
    sort,
    spectral,
)
from irad.codegen.lower.arena import arena_size
from irad.codegen.lower.graph import ERROR_SLOTS, SLOT, Lowered, lower
from irad.codegen.schedule import nests  # noqa: F401  (they register their lowerings)
from irad.codegen.transform.manager import kernel_forms
from irad.core.ir import Program, Value, types
from irad.core.lazy_dataclass import dataclass, field
from irad.core.notes import Notes
from irad.core.once import import_later
from irad.core.types import TAPE, Extent, Type
from irad.ops.control import RaisedInGraph
from irad.ops.text import filled, from_record

Signature = tuple[Sequence[Type], Sequence[Type]]  # of parameters, of results

PACKED = "irad_packed"  # the exported function that takes the address of its arguments
_libc = ctypes.CDLL(None)
_free = _libc.free
_free.argtypes, _free.restype = [ctypes.c_void_p], None
_realloc = _libc.realloc
_realloc.argtypes, _realloc.restype = [ctypes.c_void_p, ctypes.c_size_t], ctypes.c_void_p


class Context:
    """Memory of one call: the arena, and `ctx` with the slots of tapes, whose memory it owns. `slots`: the words of the slots."""

    def __init__(self, lowered: Lowered):
        self.arena, start = memory.aligned(lowered.arena)
        self.ctx = np.array([*lowered.ctx, 0], np.int64)
        self.error = np.zeros(ERROR_SLOTS, np.int64)
        constants = set(lowered.constant_words)
        self.slots = [w for w in range(0, len(lowered.ctx)) if w not in constants]
        self.pointers = [start, _address(self.ctx), _address(self.error)]

    def take(self, slot: int, words: np.ndarray) -> None:
        """Copy a tape into the memory of a slot: code that pushes on it must not change it."""
        used = int(words[2])
        if self.ctx[slot + 1] < used:
            memory = _realloc(int(self.ctx[slot]), 8 * used)
            if not memory:
                raise MemoryError("no memory for the values that the backward needs")
            self.ctx[slot], self.ctx[slot + 1] = memory, used
        if used:
            ctypes.memmove(int(self.ctx[slot]), int(words[0]), 8 * used)
        self.ctx[slot + 2] = used

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        tapes = sum(int(self.ctx[w + 1]) for w in self.slots[::SLOT])
        return self.arena.nbytes + self.ctx.nbytes + self.error.nbytes + 8 * tapes

    def __del__(self) -> None:
        for w in self.slots[::SLOT]:
            if self.ctx[w]:
                _free(int(self.ctx[w]))


class TapeMemory:
    """A tape outside of native code: its memory (which it owns) and where it ends."""

    def __init__(self, words: np.ndarray):
        self.words = words

    def __del__(self) -> None:
        if self.words[0]:
            _free(int(self.words[0]))


@dataclass
class Made:
    """How the array of a result is made: of `shape`, or where extents are known at run time, cut to `dims`: affine functions
    (constant, ((number of the result that holds it, coefficient), ...)) of other results."""

    shape: tuple[int, ...]
    dtype: np.dtype
    dims: tuple[tuple[int, tuple[tuple[int, int], ...]], ...] | None = None

    def of(self, a: np.ndarray, results: Sequence[np.ndarray]) -> np.ndarray:
        if self.dims is None:
            return a
        shape = tuple(max(0, c + sum(k * int(results[j]) for j, k in terms)) for c, terms in self.dims)
        a.resize(shape, refcheck=False)
        return a


@dataclass(eq=False)
class Native:
    """Compiled code of a program: `run` takes arrays of the parameters' types and gives fresh result arrays.

    `donated`: results that take the memory of a parameter, given by its number.
    """

    lowered: Lowered
    text: str
    library: Library
    params: tuple[Type, ...]
    results: tuple[Type, ...]
    made: tuple[Made, ...]
    donated: Mapping[int, int] = field(default_factory=dict)
    direct = True  # may it be called without Python code?
    _contexts: list[Context] = field(default_factory=list)  # the idle ones

    def __post_init__(self) -> None:
        entry = self.lowered.kernels[0]
        self.argc = len(entry.params)
        self.outputs = [t for t in self.results if t != TAPE]
        self.tapes = bool(self.lowered.tape_params or self.lowered.tape_results)
        self.long = work(entry.body) > LONG
        self.packed = self.library.address(PACKED)
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.packed)
        self._arguments = ctypes.c_int64 * self.argc
        self._fresh = [(m.shape, m.dtype) for m in self.made]
        self._cut = len(self.made) != len(self.outputs) or any(m.dims is not None for m in self.made)

    @property
    def kernel_text(self) -> str:
        """The kernel form."""
        return "\n".join(show(k) for k in self.lowered.kernels)

    def run(self, args: Sequence[Any], kept: dict[int, np.ndarray] | None = None) -> list[Any]:
        """Call it. `args`: C-contiguous, aligned arrays of exactly the parameters' types (the caller has seen to it).

        Tapes among the arguments and results are `TapeMemory`. Raises irad.ops.control.RaisedInGraph if the program raises,
        KeyboardInterrupt (or what the handler of a signal raises) if it was interrupted. If it raises, results that hold what
        arrays of the caller hold from now on go into `kept`, by their numbers.
        """
        if self.tapes:
            return self._run_with_tapes(list(args))
        try:
            context = self._contexts.pop()
        except IndexError:
            memory.keeps(self, self.lowered.arena)
            context = Context(self.lowered)
        try:
            return self._call(args, context, kept)
        finally:
            self._contexts.append(context)

    def _context(self) -> Context:
        return Context(self.lowered)

    def held(self) -> int:
        """Bytes of the idle contexts."""
        return sum(c.nbytes for c in list(self._contexts))

    def release(self) -> int:
        """Let the idle contexts go; how many bytes those were."""
        freed = 0
        while self._contexts:
            try:
                freed += self._contexts.pop().nbytes
            except IndexError:  # taken by another thread
                break
        return freed

    def _call(self, args: Sequence[Any], context: Context, kept: dict[int, np.ndarray] | None = None) -> list[Any]:
        out = [np.empty(shape, dtype) for shape, dtype in self._fresh] if not self.donated else self._out(args)
        code = self._function(self._arguments(*map(_address, args), *map(_address, out), *context.pointers))
        if code:
            if kept is not None:
                kept.update((k, out[k]) for k in self.keeps(code))
            self.fail(code, context.pointers[-1])
        return [m.of(a, out) for m, a in zip(self.made[: len(self.outputs)], out)] if self._cut else out

    def _out(self, args: Sequence[Any]) -> list[np.ndarray]:
        """Memory for the results, some of it that of donated arguments."""
        out = []
        for k, (shape, dtype) in enumerate(self._fresh):
            given = args[self.donated[k]] if k in self.donated else np.empty(shape, dtype)
            out.append(given if given.shape == shape else given.reshape(shape))
        return out

    def _run_with_tapes(self, args: list[Any]) -> list[Any]:
        context = self._context()
        written, given = self.lowered.tape_writes, self.lowered.tape_params
        for k, w in given.items():
            if k in written:
                context.take(w, args[k].words)
            else:
                context.ctx[w : w + SLOT] = args[k].words
        try:
            results: list[Any] = list(self._call([a for a in args if not isinstance(a, TapeMemory)], context))
        finally:
            for k, w in given.items():
                if k not in written:
                    context.ctx[w : w + SLOT] = 0  # the memory is the argument's
        for k, w in sorted(self.lowered.tape_results.items()):
            results.insert(k, TapeMemory(context.ctx[w : w + SLOT].copy()))
            context.ctx[w : w + SLOT] = 0
        return results

    def keeps(self, status: int) -> tuple[int, ...]:
        """The results that hold what arrays of the caller are now, when the code has given this status."""
        return () if status == INTERRUPTED else self.lowered.raises[status - 1].keeps

    def fail(self, status: int, record: int) -> None:
        """Raise what a status other than 0 stands for; `record`: the address of the error record."""
        if status == INTERRUPTED:
            _restore(*(ctypes.c_void_p * 3).from_address(self.library.address(SIGNAL)))
        r = self.lowered.raises[status - 1]
        if isinstance(r, host.HostRaised):
            raise r.error()
        error = (ctypes.c_int64 * ERROR_SLOTS).from_address(record)
        raise RaisedInGraph(r.exc, filled(r.message, map(from_record, error, r.dtypes)), r.loc)


def build(
    program: Program,
    outside: Signature | None = None,
    *,
    capacity: Mapping[Value, int] | None = None,
    vector_bits: int = 512,
    threads: int | None = None,
    contract: bool = False,
    notes: Notes | None = None,
    check: bool = False,
) -> Native:
    """Native code of a planned program.

    `outside`: types of the parameters and results as callers see them, if they are not the program's: a complex array in the
    place of an array of pairs; results of the program after those are the run-time extents of them. `capacity`: the most
    elements of a result of run-time extents. `threads`: how many a call may use; None: `irad.codegen.libraries.pool.default_threads`.
    `contract`: whether a*b + c may be one fma everywhere, not in derivatives only. `notes`: where to say what was decided.
    `check`: whether the code checks its memory (irad.codegen.transform.memory_check).
    """
    entry = next(iter(program.values()))
    lowered = lower(program, arena_size(entry), notes=notes, lives=check)
    for _, kernels in kernel_forms(lowered, threads, contract):
        if check:
            import_later("irad.codegen.kernel.assigned").prove(kernels)
    support = {}
    if any(isinstance(s, kf.Call) and s.symbol == POLL for k in lowered.kernels for s in kf.walk(k.body)):
        support[POLL] = poll_text(time.CLOCK_MONOTONIC)
        lowered.symbols.update((f, python_address(f)) for f in POLL_CALLS)
    if lowered.grows:
        support[kf.GROW_NAME] = llvm_files.read("lower", "grow")
    if lowered.functions:
        lowered.symbols["free"] = _libc_address("free")
    if notes is not None:
        _note_threads(notes, kernels)
    if len(kernels) > len(lowered.kernels):
        lowered.symbols[pool.PARALLEL] = pool.library().address(pool.PARALLEL)
    if check:
        kernels, accesses = import_later("irad.codegen.transform.memory_check").memory_checked(kernels, lowered)
        support |= import_later("irad.codegen.transform.memory_check").support()
        if lowered.grows:
            support[kf.GROW_NAME] = import_later("irad.codegen.transform.memory_check").filling(support[kf.GROW_NAME])
    text = emit(kernels, vector_bits=vector_bits, support=support) + _packed(lowered.kernels[0])
    if "@irad.scipy." in text:
        lowered.symbols |= import_later("irad.codegen.math.scipy").symbols(text)
    exports = [PACKED, *(k.name for k in lowered.kernels), *([SIGNAL] if POLL in support else [])]
    library = load(text, exports, lowered.symbols)
    params, results = outside or (types(entry.params), types(entry.results))
    made = _made(entry.results, results, capacity or {})
    given = (lowered, text, library, tuple(params), tuple(results), made, entry.memo.get("donated", {}))
    if check:
        checked: Native = import_later("irad.codegen.call.memory_run").CheckedNative(*given, accesses=accesses)
        return checked
    return Native(*given)


def _note_threads(notes: Notes, kernels: Sequence[kf.Kernel]) -> None:
    found = [s for k in kernels for s in kf.walk(k.body) if isinstance(s, kf.Parallel)]
    for s in found:
        text = f"{s.kernel}: {s.trips} iterations in chunks of {s.chunk} on at most {s.threads} threads"
        notes.add("threads", text, threads=s.threads, trips=s.trips, chunk=s.chunk)
    if not found:
        notes.add("threads", "one thread: no loop has enough independent work to share out", threads=1)


def _made(values: Sequence[Value], outside: Sequence[Type], capacity: Mapping[Value, int]) -> tuple[Made, ...]:
    """How each result of the native code is made; tapes are no such."""
    pairs = list(zip_longest(values, outside))
    seen = [v for v in values if v.type != TAPE]
    made = []
    for v, t in pairs:
        t = v.type if t is None else t
        if t == TAPE:
            continue
        if v.type.static:
            made.append(Made(t.dims, t.numpy))
            continue
        dims = [d if isinstance(d, Extent) else Extent(d, ()) for d in v.type.shape[: t.rank]]
        places = tuple((d.const, tuple((seen.index(s), c) for s, c in d.terms)) for d in dims)
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


def _restore(*error: int | None) -> None:
    """Raise an exception that was fetched (class, value, traceback)."""
    restore = ctypes.pythonapi.PyErr_Restore
    restore.argtypes, restore.restype = [ctypes.c_void_p] * 3, None
    restore(*error)


def python_address(name: str) -> int:
    """Where a function of Python's C interface starts."""
    found = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert found is not None
    return found


def _libc_address(name: str) -> int:
    address = ctypes.cast(getattr(_libc, name), ctypes.c_void_p).value
    assert address is not None
    return address


def _address(a: np.ndarray) -> Any:
    return a.__array_interface__["data"][0]
