"""A planned program as a native function that is called through ctypes.

The caller's arrays are only read; each result is a fresh array that owns its memory. What a call works in (`Context`: the
arena, the memory of tapes) is taken from a free list, so concurrent and recursive calls do not share it and pages stay
warm.
"""

from __future__ import annotations

import ctypes
import functools
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irad.codegen import lower_call, lower_control, lower_dot, lower_sort, opaque, schedule_nest  # noqa: F401  (they register their lowerings)
from irad.codegen.arena import arena_size
from irad.codegen.emit import emit
from irad.codegen.jit import Library, load
from irad.codegen.kprint import show
from irad.codegen.lower import ERROR_SLOTS, SLOT, Lowered, lower
from irad.codegen.lower_tape import GROW
from irad.ir import Program
from irad.ops.control import RaisedInGraph
from irad.types import TAPE, Type

_libc = ctypes.CDLL(None)
_free = _libc.free
_free.argtypes, _free.restype = [ctypes.c_void_p], None


class Context:
    """Memory of one call: the arena, and `ctx` with the slots of tapes, whose memory it owns. `owned`: the slots' first words."""

    def __init__(self, lowered: Lowered):
        self.arena = np.empty(max(lowered.arena, 1) + 64, np.uint8)
        self.ctx = np.array([*lowered.ctx, 0], np.int64)
        self.error = np.zeros(ERROR_SLOTS, np.int64)
        constants = set(lowered.constant_words)
        self.slots = [w for w in range(0, len(lowered.ctx)) if w not in constants]
        self.pointers = [_aligned(self.arena), _address(self.ctx), _address(self.error)]

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


@dataclass(eq=False)
class Native:
    """Compiled code of a program: `run` takes arrays of the parameters' types and gives fresh result arrays."""

    lowered: Lowered
    text: str
    library: Library
    params: tuple[Type, ...]
    results: tuple[Type, ...]
    _free: list[Context] = field(default_factory=list)

    def __post_init__(self) -> None:
        entry = self.lowered.kernels[0]
        self._outputs = [t for t in self.results if t != TAPE]
        signature = [ctypes.c_void_p] * len(entry.params)
        self._function = ctypes.CFUNCTYPE(ctypes.c_int64, *signature)(self.library.address(entry.name))
        self._fresh = [(t.shape, t.numpy) for t in self._outputs]
        self._tapes = bool(self.lowered.tape_params or self.lowered.tape_results)

    @property
    def kernel_text(self) -> str:
        """The kernel form."""
        return "\n".join(show(k) for k in self.lowered.kernels)

    def run(self, args: Sequence[Any]) -> list[Any]:
        """Call it. `args`: C-contiguous, aligned arrays of exactly the parameters' types (the caller has seen to it).

        Tapes among the arguments and results are `TapeMemory`. Raises irad.ops.control.RaisedInGraph if the program raises.
        """
        if self._tapes:
            return self._run_with_tapes(list(args))
        out = [np.empty(shape, dtype) for shape, dtype in self._fresh]
        try:
            context = self._free.pop()
        except IndexError:
            context = Context(self.lowered)
        code = self._function(*map(_address, args), *map(_address, out), *context.pointers)
        if code:
            error = self._error(code, context.error)
            self._free.append(context)
            raise error
        self._free.append(context)
        return out

    def _run_with_tapes(self, args: list[Any]) -> list[Any]:
        out = [np.empty(shape, dtype) for shape, dtype in self._fresh]
        context = Context(self.lowered)
        for k, w in self.lowered.tape_params.items():
            context.ctx[w : w + SLOT] = args[k].words
        arrays = [a for a in args if not isinstance(a, TapeMemory)]
        code = self._function(*map(_address, arrays), *map(_address, out), *context.pointers)
        for w in self.lowered.tape_params.values():
            context.ctx[w : w + SLOT] = 0  # the memory is the argument's
        if code:
            raise self._error(code, context.error)
        results: list[Any] = list(out)
        for k, w in sorted(self.lowered.tape_results.items()):
            results.insert(k, TapeMemory(context.ctx[w : w + SLOT].copy()))
            context.ctx[w : w + SLOT] = 0
        return results

    def _error(self, code: int, error: np.ndarray) -> RaisedInGraph:
        r = self.lowered.raises[code - 1]
        values = [struct.unpack("d", struct.pack("q", x))[0] if d[0] == "f" else int(x) for d, x in zip(r.dtypes, error.tolist())]
        return RaisedInGraph(r.exc, r.message.format(*values), r.loc)


def build(program: Program, *, vector_bits: int = 512) -> Native:
    """Native code of a planned program."""
    entry = next(iter(program.values()))
    lowered = lower(program, arena_size(entry))
    if lowered.grows:
        lowered.symbols["irad_grow"] = _grow().address("irad_grow")
    if lowered.functions:
        lowered.symbols["free"] = _libc_address("free")
    text = emit(lowered.kernels, vector_bits=vector_bits)
    library = load(text, [k.name for k in lowered.kernels], lowered.symbols)
    return Native(lowered, text, library, tuple(v.type for v in entry.params), tuple(v.type for v in entry.results))


@functools.cache
def _grow() -> Library:
    """The function that gives a tape more memory, shared by all kernels."""
    return load(GROW, ["irad_grow"], {"realloc": _libc_address("realloc")})


def _libc_address(name: str) -> int:
    address = ctypes.cast(getattr(_libc, name), ctypes.c_void_p).value
    assert address is not None
    return address


def _address(a: np.ndarray) -> Any:
    return a.__array_interface__["data"][0]


def _aligned(arena: np.ndarray) -> int:
    return -(-_address(arena) // 64) * 64
