"""The call without Python code: programs of the machine of machine.ll, and callables that run them.

A `Program` says how the arguments of a call become those of a kernel, what must hold for that, and what is returned. Where
the machine cannot be used (`available`), calls go through ctypes instead.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import math
import os
import platform
import re
import sysconfig
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from irad.codegen import llvm_files
from irad.codegen.call import memory
from irad.codegen.call.native import Context, Dims, NativeCode, address
from irad.codegen.interface import python_address
from irad.codegen.jit import Library, load_kept
from irad.core.lazy_dataclass import dataclass
from irad.core.once import once
from irad.core.types import Type

_FASTCALL_KEYWORDS = 0x82
# Offsets in NumPy's array object (part of its binary interface) and in its descriptor, as of the types in match.ll
_DATA, _NDIM, _DIMS, _STRIDES, _DESCR, _FLAGS = 16, 24, 32, 40, 56, 64
_BYTE_ORDER, _TYPE_NUMBER = 26, 28
_NUMPY = {  # functions of NumPy's table with their place in it (the same in NumPy 1 and 2)
    "PyArray_Scalar": 60, "PyArray_ScalarAsCtype": 62, "PyArray_CopyObject": 84, "PyArray_NewCopy": 85, "PyArray_NewFromDescr": 94,
}  # fmt: skip
_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
_FIRST_REGISTER, _HEADER = 5, 6  # words of a program
_ERROR, _ARGV = 4, 5  # words of a frame
_CELL = 2  # words of the largest scalar, a complex number


# ---- the machine -----------------------------------------------------------------------------------------------------


@functools.cache
def available() -> bool:
    """Can calls go without Python code here? Not with IRAD_CALL=ctypes, nor where objects are laid out unlike what is known."""
    if os.environ.get("IRAD_CALL") == "ctypes" or platform.python_implementation() != "CPython":
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    return _layout_known()


def _layout_known() -> bool:
    """Are NumPy's objects laid out as the machine reads them?"""
    a = np.zeros((3, 5), np.float32)
    word = lambda obj, at, t: t.from_address(id(obj) + at).value
    try:
        capsule = numpy_table()
    except (ImportError, AttributeError):
        return False
    dims, strides = (ctypes.POINTER(ctypes.c_int64).from_address(id(a) + at) for at in (_DIMS, _STRIDES))
    return (
        capsule[2] == id(np.ndarray)
        and word(a, 8, ctypes.c_void_p) == id(np.ndarray)
        and word(a, _DATA, ctypes.c_void_p) == address(a)
        and word(a, _NDIM, ctypes.c_int) == 2
        and dims[:2] == [3, 5]
        and strides[:2] == [20, 4]
        and word(a, _DESCR, ctypes.c_void_p) == id(a.dtype)
        and word(a, _FLAGS, ctypes.c_int) == a.flags.num
        and word(a.dtype, _BYTE_ORDER, ctypes.c_char) == b"="
        and word(a.dtype, _TYPE_NUMBER, ctypes.c_int) == a.dtype.num
    )


@once
def numpy_table() -> Any:
    """The addresses of NumPy's C interface, by number."""
    try:
        core = importlib.import_module("numpy._core._multiarray_umath")
    except ImportError:
        core = importlib.import_module("numpy.core._multiarray_umath")
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(core._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


@once
def _machine() -> Library:
    numpy = numpy_table()
    text = llvm_files.read("call", "machine", "match", "build")
    named = lambda kind: [m[1] for m in re.finditer(rf"^{kind} .*?@(Py\w+|op_\w+|irad_\w+)\(", text, re.M)]
    symbols = {f: numpy[_NUMPY[f]] if f in _NUMPY else python_address(f) for f in named("declare")}
    symbols |= {f"{t}_Type": id(cls) for t, cls in (("PyFloat", float), ("PyLong", int), ("PyArray", np.ndarray))}
    symbols["PyFunction_Type"] = id(FunctionType)
    return load_kept(text, named("define"), symbols)


@once
def _operation(name: str) -> int:
    return _machine().address(name)


@functools.cache
def _locked(name: str, n: int) -> Callable[..., int]:
    """A function of the machine that takes n addresses and is called with the GIL held."""
    found: Callable[..., int] = ctypes.PYFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * n)(_operation(name))
    return found


# ---- callables -----------------------------------------------------------------------------------------------------------


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("method", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]  # fmt: skip


@once
def _method(name: str) -> _MethodDef:
    return _MethodDef(name.encode(), _operation(name), _FASTCALL_KEYWORDS, None)


def _builtin(name: str, owner: Any) -> Any:
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    return make(ctypes.addressof(_method(name)), owner, None)


def arguments(argv: int, native: NativeCode) -> list[int]:
    """The words of a frame that hold the addresses of a kernel's arguments, given where they stand."""
    return list((ctypes.c_int64 * native.argc).from_address(argv))


def table(slow: Callable[..., Any], programs: Sequence[Program]) -> tuple[Any, ...]:
    """What a call tries: programs in order, then `slow(function, *args, **kwargs)`."""
    return (slow, tuple(programs), *(p.address for p in programs))


def builtin(cell: list[Any], function: Any) -> Any:
    """A callable that tries the table in `cell` (a list of one, which may be replaced) for `function`."""
    return _builtin("irad_call", (cell, function))


@once
def invoke() -> Callable[..., Any]:
    """invoke()(cell, function, *args, **kwargs) is builtin(cell, function)(*args, **kwargs)."""
    return _builtin("irad_invoke", None)


# ---- programs ------------------------------------------------------------------------------------------------------------


class CallMemory:
    """The memory of one call of a program."""

    def __init__(self, program: Program):
        native, first = program.native, program.first
        self.context = Context(native.interface)
        self.words = np.zeros(first + program.registers, np.int64)
        here = address(self.words)
        self.words[_ARGV : _ARGV + program.argc] = [here + 8 * program.cell(k) for k in range(program.argc)]
        self.words[_ARGV + program.argc - len(self.context.pointers) : _ARGV + program.argc] = self.context.pointers
        self.words[_ERROR] = self.context.pointers[-1]
        self.words[program.raiser_word] = id(program.raiser)
        self.buffers = {k: np.empty(max(1, size), np.uint8) for k, size in program.buffers.items()}
        for k, b in self.buffers.items():
            self.words[_ARGV + k] = address(b)

    @property
    def nbytes(self) -> int:
        """Bytes that it holds."""
        return self.context.nbytes + self.words.nbytes + sum(b.nbytes for b in self.buffers.values())


@dataclass(frozen=True)
class Strided:
    """An array that is not contiguous: the register that it is in, from where to where around its data it lies, in bytes, what all its
    strides are multiples of, and the bytes of an element.
    """

    register: int
    low: int
    high: int
    step: int
    each: int


class Program:
    """The program of one specialisation, while it is written and after `finish`.

    `raiser(status, argv)` raises what a kernel's status stands for, see `arguments`. Methods that push give the frame
    word of the new register; `arg`s count the kernel's arguments: first its parameters, then its results.
    """

    def __init__(self, native: NativeCode, raiser: Callable[[int, int], None], names: tuple[int, tuple[str, ...]]):
        self.native, self.raiser = native, raiser
        self.argc = native.argc
        self.raiser_word = _ARGV + (1 + _CELL) * self.argc
        self.sizes = self.raiser_word + 1  # words for the extents of results
        self.first = self.sizes + sum(t.rank for t in native.outputs if not t.static)
        self.depth = self.registers = 0
        self.kept: list[Any] = [native, raiser]
        self.spread: dict[int, Strided] = {}  # kernel argument -> the strided array of which it is a copy
        self.frames: dict[int, CallMemory] = {}  # by the address of their words
        self.buffers: dict[int, int] = {}
        positional, keywords = names
        self.maker = self.add_frame
        self.code = [positional, len(keywords), self.table([self.object(k) for k in keywords]), 0, id(self.maker), self.first]
        self.memory: np.ndarray | None = None

    # ---- parts ----

    def cell(self, arg: int) -> int:
        """The frame word for the value of a scalar argument."""
        return _ARGV + self.argc + _CELL * arg

    def argument(self, arg: int) -> int:
        """The frame word for the address of a kernel argument."""
        return _ARGV + arg

    def object(self, x: Any) -> int:
        """The address of an object that the program keeps."""
        self.kept.append(x)
        return id(x)

    def table(self, words: Sequence[int]) -> int:
        """The address of numbers in memory that the program keeps."""
        a = np.array([*words, 0], np.int64)
        self.kept.append(a)
        return address(a)

    def op(self, name: str, word: int = 0, p: int = 0, n: int = 0) -> None:
        """One instruction."""
        self.code += [_operation(f"op_{name}"), word, p, n]

    def push(self, name: str, word: int = 0, p: int = 0, n: int = 0, pops: int = 0, pushes: int = 1) -> int:
        """One instruction that takes and makes registers."""
        self.op(name, word, p, n)
        at = self.first + self.depth - pops
        self.depth += pushes - pops
        self.registers = max(self.registers, self.depth)
        return at

    def finish(self) -> Program:
        """The end: the last register is returned."""
        self.op("return")
        self.memory = np.array(self.code, np.int64)
        return self

    @property
    def address(self) -> int:
        assert self.memory is not None
        return address(self.memory)

    def add_frame(self) -> None:
        """One more frame for calls at the same time. Called by the machine when it has no free one."""
        memory.keeps(self, self.native.interface.arena)
        frame = CallMemory(self)
        at = address(frame.words)
        self.frames[at] = frame
        _locked("irad_add_frame", 2)(self.address, at)

    def held(self) -> int:
        """Bytes of the frames, those in use among them."""
        return sum(f.nbytes for f in list(self.frames.values()))

    def release(self) -> int:
        """Let the free frames go; how many bytes those were."""
        freed, at = 0, _locked("irad_take_frames", 1)(self.address)
        while at:
            frame = self.frames.pop(at)
            freed, at = freed + frame.nbytes, int(frame.words[0])
        return freed

    # ---- arguments ----

    def array(self, register: int, t: Type, arg: int, writeable: bool = False) -> None:
        """The array in a register is kernel argument `arg`, of type t, contiguous."""
        flags = _CONTIGUOUS | _ALIGNED | (_WRITEABLE if writeable else 0)
        words = [id(t.numpy), t.numpy.num, t.rank, flags, *(d if isinstance(d, int) else -1 for d in t.shape)]
        self.op("array", register, self.table(words), self.argument(arg))

    def state(self, register: int, state: Any, counter: int, bits: int) -> None:
        """A class or module is in a state (irad.core.foreign.State) that is known to be good, as the bits of the word at the address
        `counter` say, or `state.holds()`."""
        words = np.array([-1, 0, id(True), counter, bits], np.int64)

        def asked() -> bool:
            held: bool = state.holds()
            words[0] = state.tag or -1
            return held

        words[1] = self.object(asked)
        asked()
        self.kept.append(words)
        self.op("state", register, address(words))

    def extent(self, register: int, axis: int, low: int, high: int, arg: int) -> None:
        """The extent of the array in a register along an axis, which is in this range, is kernel argument `arg`."""
        self.op("extent", register, self.table([axis, low, high]), self.cell(arg))

    def same_extent(self, register: int, axis: int, arg: int) -> None:
        """The extent of the array in a register along an axis is kernel argument `arg`."""
        self.op("same_extent", register, self.table([axis]), self.cell(arg))

    def like(self, register: int, t: Type) -> None:
        """The array in a register is of type t and contiguous; nothing is read of it."""
        words = [id(t.numpy), t.numpy.num, t.rank, _CONTIGUOUS, *(int(d) for d in t.shape if isinstance(d, int))]
        self.registers = max(self.registers, self.depth + 1)  # the next register's word is free for what is not wanted
        self.op("array", register, self.table(words), self.first + self.depth)

    def strided(self, register: int, t: Type, arg: int, strides: Sequence[int], writeable: bool = False) -> None:
        """The array in a register has these strides, in bytes; after `copies`, one of it is kernel argument `arg`."""
        flags = _WRITEABLE if writeable else 0
        words = [id(t.numpy), t.numpy.num, t.rank, flags, *(int(d) for d in t.shape if isinstance(d, int))]
        self.op("array", register, self.table(words), self.argument(arg))
        self.op("strides", register, self.table(strides), t.rank)
        spans = [s * (d - 1) for s, d in zip(strides, t.shape) if isinstance(d, int) and d]
        low, high = sum(min(s, 0) for s in spans), sum(max(s, 0) for s in spans)
        step = math.gcd(*(s for s, d in zip(strides, t.shape) if d != 1))
        self.spread[arg] = Strided(register, low, high + t.numpy.itemsize, step, t.numpy.itemsize)

    def number(self, register: int, kind: str, t: Type, arg: int, int32: bool = False) -> None:
        """The number in a register ("float", "int" or "generic", a NumPy scalar) is kernel argument `arg`."""
        p = {"float": 0, "int": int(int32), "generic": id(t.numpy.type)}[kind]
        self.op("scalar" if kind == "generic" else kind, register, p, self.cell(arg))

    def apart(self, arg: int, size: int, other: int, other_size: int) -> None:
        """Two kernel arguments of so many bytes do not overlap. Before `copies`.

        Two strided ones may lie between each other, as fields of an array of records do.
        """
        a, b = (self.spread.get(k, Strided(0, 0, n, 1, 1)) for k, n in ((arg, size), (other, other_size)))
        words = [a.low, a.high, b.low, b.high, math.gcd(a.step, b.step), a.each, b.each]
        self.op("apart", self.argument(arg), self.table(words), self.argument(other))

    def copies(self) -> None:
        """Contiguous copies of the strided arguments."""
        for arg, a in self.spread.items():
            self.op("data", self.push("array_copy", a.register), 0, self.argument(arg))

    # ---- results ----

    def buffer(self, arg: int, size: int) -> None:
        """Kernel argument `arg` is memory of the frame's."""
        self.buffers[arg] = size

    def new(self, t: Type, arg: int) -> int:
        """A fresh array of type t for kernel argument `arg`."""
        words = [id(t.numpy), t.rank, *(int(d) for d in t.shape if isinstance(d, int))]
        return self.push("new", 0, self.table(words), self.argument(arg))

    def new_sized(self, t: Type, dims: Dims, arg: int) -> int:
        """A fresh array for kernel argument `arg`, whose extents are affine functions of kernel arguments."""
        first = self.sizes
        self.sizes += len(dims)
        for k, (const, terms) in enumerate(dims):
            words = [const, len(terms), *(w for j, c in terms for w in (self.cell(j), c))]
            self.op("size", 0, self.table(words), first + k)
        return self.push("new_sized", 0, self.table([id(t.numpy), t.rank, self.argument(arg)]), first)

    def run(self) -> None:
        """The kernel runs."""
        name = "long_kernel" if self.native.long else "kernel"
        self.op(name, self.raiser_word, self.native.packed, _ARGV)

    def scalar(self, kind: str, t: Type, arg: int) -> int:
        """A scalar result of the kernel as Python's "float", "int", "bool", or NumPy's "generic"."""
        if kind == "generic":
            return self.push("numpy_scalar", 0, id(t.numpy), self.cell(arg))
        return self.push(f"python_{kind}", 0, 0, self.cell(arg))

    def copy_back(self, arg: int, size: int, result: int) -> None:
        """The content of kernel argument `result` goes into `arg`."""
        self.op("copy", self.argument(arg), size, self.argument(result))

    def given(self, argv: int, arg: int) -> np.ndarray | None:
        """The strided array of which kernel argument `arg` is a copy, while a frame's kernel has run; None if it is none."""
        if arg not in self.spread:
            return None
        found = ctypes.c_void_p.from_address(argv + 8 * (self.spread[arg].register - _ARGV)).value
        array: np.ndarray = ctypes.cast(found or 0, ctypes.py_object).value
        return array

    def store_back(self, arg: int, array: int) -> None:
        """The content of the array in a register goes into the strided array that is kernel argument `arg`."""
        self.op("store", self.spread[arg].register, 0, array)

    def gather(self, kind: str, n: int, keys: Sequence[Any] = ()) -> int:
        """The last n registers become one "tuple", "list" or "dict"."""
        p = self.table([self.object(k) for k in keys]) if keys else 0
        return self.push(f"make_{kind}", 0, p, n, pops=n)
