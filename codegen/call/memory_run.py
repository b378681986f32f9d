"""Running code that checks its memory (irad.codegen.transform.memory_check): memory of its own for each call, with guard zones.

Around the arena, between its places, and before and after each argument and each result is memory that nobody may write to; it is
looked at after the call, and so are the arguments that are read only. Elements of a result that still hold the pattern with which
memory was filled were never written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.codegen.call.memory import ALIGN
from irad.codegen.call.native import Context, NativeCode, address
from irad.codegen.interface import ERROR_SLOTS, Interface
from irad.codegen.transform.memory_check import GUARD, POISON, Accesses, Elsewhere, Violation
from irad.core.lazy_dataclass import dataclass, field
from irad.errors import MemoryCheckError

_PATTERN = np.array([POISON & 255, POISON >> 8], np.uint8)


@dataclass(eq=False)
class CheckedNative(NativeCode):
    """Native code that checks its memory. It is called through Python, in fresh memory each time."""

    direct = False
    accesses: Accesses = field(default_factory=Accesses)
    may_change: frozenset[int] = frozenset()  # arguments whose memory was given up

    def run(self, args: Sequence[Any], kept: dict[int, np.ndarray] | None = None) -> list[Any]:
        if self.tapes:
            return self._run_with_tapes(list(args))
        return self._call(args, self._context(), kept)

    def _context(self) -> Context:
        return CheckedContext(self.interface, self.lowered.gaps)

    def _call(self, args: Sequence[Any], context: Context, kept: dict[int, np.ndarray] | None = None) -> list[Any]:
        assert isinstance(context, CheckedContext)
        own = [_Zone.of(x) for x in args]
        given = {k: own[j].array for k, j in self.donated.items()}
        zones = [_Zone(m.sized(args), m.dtype) if k not in given else None for k, m in enumerate(self.made)]
        out = [given[k] if z is None else z.array for k, z in enumerate(zones)]
        addresses = [*(address(z.array) for z in own), *map(address, out)]
        code = self._function(self._arguments(*addresses, *context.pointers))
        self._look_at(args, own)
        context.look()
        for k, z in enumerate(zones):
            if z is not None and not z.intact():
                raise MemoryCheckError(f"memory before or after result {k} was overwritten")
        results = [
            x.copy() if z is not None else args[self.donated[k]].reshape(m.shape) if x.shape != m.shape else args[self.donated[k]]
            for k, (x, m, z) in enumerate(zip(out, self.made, zones))
        ]
        if code:
            self.stop(code, results, context, kept)
        n = len(self.outputs)
        found = [m.of(a, results) for m, a in zip(self.made[:n], results)]
        for k, a in enumerate(found):
            if unwritten(a):
                raise MemoryCheckError(f"result {k} holds, or was computed from, memory that was never written")
        return found

    def _look_at(self, args: Sequence[Any], own: Sequence[_Zone]) -> None:
        """Give donated memory back, and raise if more than that, or its neighbourhood, was written to."""
        for k, (x, z) in enumerate(zip(args, own)):
            if k in self.may_change:
                x[...] = z.array
            elif not z.holds(x):
                raise MemoryCheckError(f"argument {k} was overwritten")
            if not z.intact():
                raise MemoryCheckError(f"memory before or after argument {k} was overwritten")

    def fail(self, status: int, record: int) -> None:
        r = self.interface.raises[status - 1] if status > 0 else None
        error = (ctypes.c_int64 * ERROR_SLOTS).from_address(record)
        if isinstance(r, Elsewhere):
            r = self.interface.raises[error[0] - 1]
        if isinstance(r, Violation):
            raise r.error(error[1])
        super().fail(status, record)


class _Zone:
    """An argument or a result between two guard zones."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype):
        size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        self.memory = _filled(2 * GUARD + size)
        self.size = size
        self.array = self.memory[GUARD : GUARD + size].view(dtype).reshape(shape)

    @staticmethod
    def of(x: np.ndarray) -> _Zone:
        """A copy."""
        zone = _Zone(x.shape, x.dtype)
        zone.array[...] = x
        return zone

    def holds(self, x: np.ndarray) -> bool:
        """The bytes of an array?"""
        return self.memory[GUARD : GUARD + self.size].tobytes() == x.tobytes()

    def intact(self) -> bool:
        return _is_filled(self.memory[:GUARD], 0) and _is_filled(self.memory[GUARD + self.size :], self.size)


class CheckedContext(Context):
    """Memory of one call, filled with the pattern. The arena has a guard zone before and after it; those inside it are `gaps`."""

    def __init__(self, interface: Interface, gaps: Sequence[tuple[int, int]]):
        super().__init__(interface)
        self.memory = _filled(interface.arena + 2 * GUARD)
        self.gaps = [(0, GUARD), *((GUARD + a, GUARD + b) for a, b in gaps), (GUARD + interface.arena, len(self.memory))]
        self.arena, self.pointers[0] = self.memory, address(self.memory) + GUARD

    def look(self) -> None:
        """Raise if a guard zone was overwritten."""
        for a, b in self.gaps:
            if not _is_filled(self.memory[a:b], a):
                raise MemoryCheckError(
                    f"memory between the places of the arena was overwritten, at bytes {a - GUARD} to {b - GUARD}"
                )


def _filled(size: int) -> np.ndarray:
    """`size` bytes of the pattern, aligned as an arena is."""
    memory = np.empty(size + ALIGN, np.uint8)
    start = -address(memory) % ALIGN
    memory = memory[start : start + size]
    memory[0::2], memory[1::2] = _PATTERN[0], _PATTERN[1]
    return memory


def _is_filled(memory: np.ndarray, at: int) -> bool:
    """Do bytes that begin at an offset hold the pattern?"""
    return bool(np.all(memory[0::2] == _PATTERN[at % 2]) and np.all(memory[1::2] == _PATTERN[1 - at % 2]))


def unwritten(a: np.ndarray) -> bool:
    """Is there the pattern in an array, or a NaN that was computed from it?

    Arithmetic keeps the bits of a NaN, but for its sign; a conversion keeps the first of them.
    """
    if a.dtype.kind == "b":
        return bool(np.any(np.frombuffer(np.ascontiguousarray(a).tobytes(), np.uint8) > 1))
    if a.dtype.kind == "c":
        a = np.ascontiguousarray(a).view(a.real.dtype) if a.ndim else np.array([a.real, a.imag])
    bits = np.ascontiguousarray(a).reshape(-1).view(f"u{a.dtype.itemsize}")
    if a.dtype.kind != "f":
        return bool(np.any(bits == _bits(a.dtype.itemsize))) if a.dtype.itemsize > 1 else False
    rest = bits & np.array(2 ** (8 * a.dtype.itemsize - 1) - 1, bits.dtype)
    return bool(np.isin(rest, _nans(a.dtype.itemsize)).any())


def _bits(size: int) -> np.ndarray:
    return np.array(int.from_bytes(_PATTERN.tobytes() * (size // 2), "little"), f"u{size}")


def _nans(size: int) -> np.ndarray:
    """The bits of the pattern in a float of so many bytes, and of floats of the pattern in other widths converted to it."""
    mantissa = {2: 10, 4: 23, 8: 52}
    found = []
    for other, width in mantissa.items():
        payload = int(_bits(other)) & ((1 << width) - 1)
        shift = mantissa[size] - width
        moved = payload << shift if shift >= 0 else payload >> -shift
        found.append((((1 << (8 * size - 1 - mantissa[size])) - 1) << mantissa[size]) | moved)
    return np.array(found, f"u{size}")
