"""A planned program as a native function: called through ctypes here, without Python code by irad.codegen.call.machine.

The caller's arrays are only read; each result is a fresh array that owns its memory. What a call works in (`Context`: the
arena, the memory of tapes) is taken from a free list, so concurrent and recursive calls do not share it and pages stay
warm. irad.codegen.call.build makes it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from irad.codegen.call import memory
from irad.codegen.interface import ERROR_SLOTS, INTERRUPTED, PACKED, SIGNAL, SLOT, Interface
from irad.codegen.jit import Library
from irad.core.lazy_dataclass import dataclass, field
from irad.core.types import TAPE, Type

_libc = ctypes.CDLL(None)
_free = _libc.free
_free.argtypes, _free.restype = [ctypes.c_void_p], None
_realloc = _libc.realloc
_realloc.argtypes, _realloc.restype = [ctypes.c_void_p, ctypes.c_size_t], ctypes.c_void_p


class Context:
    """Memory of one call: the arena, and `ctx` with the slots of tapes, whose memory it owns. `slots`: the words of the slots."""

    slots: Sequence[int] = ()  # where there is no memory for an arena

    def __init__(self, interface: Interface):
        self.arena, start = memory.aligned(interface.arena)
        self.ctx = interface.context()
        self.error = np.zeros(ERROR_SLOTS, np.int64)
        constants = set(interface.constant_words)
        self.slots = [w for w in range(interface.words) if w not in constants]
        self.pointers = [start, address(self.ctx), address(self.error)]

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


Dims = tuple[tuple[int, tuple[tuple[int, int], ...]], ...]


@dataclass
class Made:
    """How the array of a result is made: of `shape`, or where extents are known at run time, cut to `dims`: affine functions
    (constant, ((number of the result that holds it, coefficient), ...)) of other results. `before`: of arguments, not of results; it
    is made of that shape then."""

    shape: tuple[int, ...]
    dtype: np.dtype
    dims: Dims | None = None
    before: bool = False

    def of(self, a: np.ndarray, results: Sequence[np.ndarray]) -> np.ndarray:
        if self.dims is not None and not self.before:
            a.resize(self._extents(results), refcheck=False)
        return a

    def sized(self, args: Sequence[Any]) -> tuple[int, ...]:
        """The shape to make it of in a call with these arguments."""
        return self._extents(args) if self.before else self.shape

    def _extents(self, values: Sequence[Any]) -> tuple[int, ...]:
        assert self.dims is not None
        return tuple(max(0, c + sum(k * int(values[j]) for j, k in terms)) for c, terms in self.dims)


@dataclass(eq=False)
class NativeCode:
    """Compiled code of a program: `run` takes arrays of the parameters' types and gives fresh result arrays.

    `donated`: results that take the memory of a parameter, given by its number. `lowered`: the kernel form that it was made of,
    if it was not found on disk.
    """

    interface: Interface
    library: Library
    params: tuple[Type, ...]
    results: tuple[Type, ...]
    made: tuple[Made, ...]
    donated: Mapping[int, int] = field(default_factory=dict)
    lowered: Any = field(default=None, repr=False)
    direct = True  # may it be called without Python code?
    allocate: Callable[[tuple[int, ...], np.dtype], np.ndarray] = field(default=np.empty, repr=False)  # memory of a result
    _contexts: list[Context] = field(default_factory=list)  # the idle ones

    def __post_init__(self) -> None:
        self.argc, self.long = self.interface.argc, self.interface.long
        self.outputs = [t for t in self.results if t != TAPE]
        self.tapes = bool(self.interface.tape_params or self.interface.tape_results)
        self.packed = self.library.address(PACKED)
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.packed)
        self._arguments = ctypes.c_int64 * self.argc
        self._fresh = [(m.shape, m.dtype) for m in self.made]
        self._cut = len(self.made) != len(self.outputs) or any(m.dims is not None and not m.before for m in self.made)
        self._sized = any(m.before for m in self.made)

    @property
    def kernel_text(self) -> str:
        """The kernel form."""
        return str(self.lowered.text)

    @property
    def text(self) -> str:
        """The LLVM text."""
        return self.library.text

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
            memory.keeps(self, self.interface.arena)
            context = Context(self.interface)
        try:
            return self._call(args, context, kept)
        finally:
            self._contexts.append(context)

    def _context(self) -> Context:
        return Context(self.interface)

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
        plain = not self.donated and not self._sized
        out = [self.allocate(shape, dtype) for shape, dtype in self._fresh] if plain else self._out(args)
        code = self._function(self._arguments(*map(address, args), *map(address, out), *context.pointers))
        if code:
            self.stop(code, out, context, kept)
        return [m.of(a, out) for m, a in zip(self.made[: len(self.outputs)], out)] if self._cut else out

    def stop(self, status: int, results: Sequence[Any], context: Context, kept: dict[int, np.ndarray] | None) -> None:
        """Raise what the code of a status stands for, once the results that hold something then are in `kept`."""
        if kept is not None:
            kept.update((k, results[k]) for k in self.keeps(status))
        self.fail(status, context.pointers[-1])

    def _out(self, args: Sequence[Any]) -> list[np.ndarray]:
        """Memory for the results, some of it that of donated arguments, or as large as those say."""
        out = []
        for k, made in enumerate(self.made):
            shape = made.sized(args)
            given = args[self.donated[k]] if k in self.donated else self.allocate(shape, made.dtype)
            out.append(given if given.shape == shape else given.reshape(shape))
        return out

    def _run_with_tapes(self, args: list[Any]) -> list[Any]:
        context = self._context()
        written, given = self.interface.tape_writes, self.interface.tape_params
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
        for k, w in sorted(self.interface.tape_results.items()):
            results.insert(k, TapeMemory(context.ctx[w : w + SLOT].copy()))
            context.ctx[w : w + SLOT] = 0
        return results

    def keeps(self, status: int) -> tuple[int, ...]:
        """The results that hold what arrays of the caller are now, when the code has given this status."""
        return () if status == INTERRUPTED else self.interface.raises[status - 1].keeps

    def fail(self, status: int, record: int) -> None:
        """Raise what a status other than 0 stands for; `record`: the address of the error record."""
        if status == INTERRUPTED:
            _restore(*(ctypes.c_void_p * 3).from_address(self.library.address(SIGNAL)))
        raise self.interface.raises[status - 1].exception(record)


def _restore(*error: int | None) -> None:
    """Raise an exception that was fetched (class, value, traceback)."""
    restore = ctypes.pythonapi.PyErr_Restore
    restore.argtypes, restore.restype = [ctypes.c_void_p] * 3, None
    restore(*error)


def address(a: np.ndarray) -> Any:
    """Where an array's data starts."""
    return a.__array_interface__["data"][0]
