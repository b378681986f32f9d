"""What calling native code takes, whatever made the code: memory to work in, constants, tapes, and what a status stands for."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.lazy_dataclass import dataclass, field
from irad.core.types import Type
from irad.errors import Loc
from irad.ops.control import RaisedInGraph
from irad.ops.text import MOST, filled, from_record

Signature = tuple[Sequence[Type], Sequence[Type]]  # types of parameters, of results

ERROR_SLOTS = MOST  # words of an error record
SLOT = 3  # words of a tape: address, capacity, top
PACKED = "irad_packed"  # the exported function that takes the address of its arguments
SIGNAL = "irad_signal"  # where an exception that a signal has raised is kept
INTERRUPTED = -1  # the status of a kernel that a signal has stopped


@dataclass
class ErrorCode:
    """What a return code stands for: exception class name, message with {} for the values, their dtypes, the user's line, and
    the numbers of the results whose memory holds what the caller's arrays are then."""

    exc: str
    message: str
    dtypes: tuple[str, ...]
    loc: Loc | None
    keeps: tuple[int, ...] = ()

    def exception(self, record: int) -> BaseException:
        """What to raise; `record`: the address of the error record."""
        words = (ctypes.c_int64 * ERROR_SLOTS).from_address(record)
        return RaisedInGraph(self.exc, filled(self.message, map(from_record, words, self.dtypes)), self.loc)


@dataclass
class Interface:
    """How a kernel is called. Its arguments are the addresses of parameters, results, arena, context and error record.

    The context's words are the addresses of `constants`, at `constant_words`, and slots of tapes.
    """

    argc: int
    arena: int  # bytes
    long: bool  # does it run so long that other Python threads should run meanwhile?
    words: int = 0
    constants: list[np.ndarray] = field(default_factory=list)
    constant_words: list[int] = field(default_factory=list)
    tape_params: dict[int, int] = field(default_factory=dict)  # parameter number -> word of its slot
    tape_writes: set[int] = field(default_factory=set)  # parameters: tapes that the code pushes on, not only pops
    tape_results: dict[int, int] = field(default_factory=dict)  # result number -> word of its slot
    raises: list[ErrorCode] = field(default_factory=list)
    keep: list[Any] = field(default_factory=list)  # what must live as long as the code: functions that it calls back

    def context(self) -> np.ndarray:
        """The words of a fresh context, and one more."""
        out = np.zeros(self.words + 1, np.int64)
        out[self.constant_words] = [c.__array_interface__["data"][0] for c in self.constants]
        return out


def python_address(name: str) -> int:
    """Where a function of Python's C interface starts."""
    return _address(ctypes.pythonapi, name)


def libc_address(name: str) -> int:
    """Where a function of the C library starts."""
    return _address(ctypes.CDLL(None), name)


def _address(library: ctypes.CDLL, name: str) -> int:
    found = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert found is not None
    return found
