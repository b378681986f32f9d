"""Text of LLVM modules to native code in this process: one ORC LLJIT, one library per module.

No LLVM pass runs; codegen level 1 (level 0 aborts on AVX-512 masks), loop strength reduction off (the emitter does it).
Addresses outside of a module come in as imported symbols only, so that object bytes
hold no address of this process and can be kept on disk.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import time
from collections.abc import Iterable, Mapping, Set
from types import ModuleType
from typing import Any

import llvmlite
import llvmlite.binding

from irad.core import disk
from irad.core.lazy_dataclass import dataclass, field
from irad.core.once import COMPILER, held_at_fork, import_later, once
from irad.errors import IradError, IradValueError

_names = itertools.count()


class JitError(IradError):
    """LLVM does not accept a module or a symbol is missing: a fault of the code generator."""


@dataclass(frozen=True)
class Registers:
    """`count` vector registers of `bits` each."""

    bits: int = 512
    count: int = 32

    def of(self, lanes: int, itemsize: int) -> int:
        """How many a vector of so many lanes takes."""
        return max(1, -(-lanes * itemsize * 8 // self.bits))


WIDE = Registers()


@dataclass(frozen=True)
class Target:
    """A CPU to generate code for; None is this machine's. `triple`: the kind of machine, None: this one."""

    cpu: str | None = None
    triple: str | None = None

    @functools.cached_property
    def machine(self) -> Any:
        llvm = _llvm()
        if self.triple is not None:
            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
        features = llvm.get_host_cpu_features().flatten() if self.cpu is None else ""
        try:
            target = llvm.Target.from_triple(self.triple or llvm.get_default_triple())
        except RuntimeError as e:
            raise IradValueError(f"LLVM makes no code for the target {self.triple!r}: {e}") from None
        return target.create_target_machine(
            cpu=self.cpu or llvm.get_host_cpu_name(), features=features, opt=1, reloc="pic", codemodel="default"
        )


@dataclass(eq=False)
class Library:
    """Loaded code. It stays in memory as long as this object; `address` is of no use after it."""

    text: str
    object: bytes
    times: dict[str, float]
    exports: tuple[str, ...]
    _tracker: Any = field(repr=False)

    def address(self, name: str) -> int:
        """Where an exported function starts."""
        return self._tracker[name]

    @property
    def asm(self) -> str:
        """The assembly of this machine for the text."""
        return assembly(self.text)


@once
def _llvm() -> ModuleType:
    llvm = llvmlite.binding
    held_at_fork(llvm.ffi.lib._lock._lock)  # objects of LLVM are dropped, and other users of llvmlite call it, without COMPILER
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.set_option("irad", "-disable-lsr")
    return llvm


class _Plain(Target):
    """Code for any CPU of this kind, for text without vectors. Level 0 is four times faster to compile than level 1, and longer."""

    level = 0

    @functools.cached_property
    def machine(self) -> Any:
        llvm = _llvm()
        return llvm.Target.from_default_triple().create_target_machine(opt=self.level, reloc="pic", codemodel="default")


class _PlainKept(_Plain):
    level = 1


HOST = Target()
PLAIN, PLAIN_KEPT = _Plain(), _PlainKept()


def check_target(target: Target) -> None:
    """Raise IradValueError if LLVM knows no such kind of machine, or no such CPU: it says so on the standard error only, and
    may then end the process when it makes code."""
    with COMPILER:
        before, (heard, said) = os.dup(2), os.pipe()
        os.dup2(said, 2)
        os.close(said)
        try:
            assert target.machine is not None
        finally:
            os.dup2(before, 2)
            os.close(before)
            with open(heard, "rb") as f:
                text = f.read()
        if b"not a recognized processor" in text:
            raise IradValueError(f"cpu: LLVM knows no {target.cpu!r} of the kind {target.triple or _llvm().get_default_triple()}")


@once
def _jit() -> Any:
    llvm = _llvm()
    return llvm.create_lljit_compiler(Target().machine)


def vector_bits(target: Target = HOST) -> int:
    """The width of a vector register: 512, 256 or 128 bits."""
    if target.cpu is None:
        features = _llvm().get_host_cpu_features()
        return 512 if features.get("avx512f") and features.get("avx512vl") else 256 if features.get("avx2") else 128
    return 128 if target.cpu.startswith(("x86-64-v2", "generic", "nehalem")) or target.cpu == "x86-64" else 256


def registers(target: Target = HOST) -> Registers:
    """The vector registers of a target: 32 with AVX-512 and on AArch64, else 16."""
    bits, triple = vector_bits(target), target.triple or _llvm().get_default_triple()
    return Registers(bits, 32 if bits == 512 or triple.startswith(("aarch64", "arm64")) else 16)


def host_id() -> str:
    """What an object depends on besides its text: LLVM, CPU and features."""
    llvm = _llvm()
    cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    return f"llvmlite {llvmlite.__version__}, LLVM {llvm.llvm_version_info}, {llvm.get_default_triple()}, {cpu}, {features}"


def _parse(text: str, target: Target, context: Any = None) -> Any:
    llvm = _llvm()
    if (target.triple or llvm.get_default_triple()).startswith("x86_64"):
        text = import_later("irad.codegen.selections").without_branches(text, masks=vector_bits(target) == 512)
    try:
        module = llvm.parse_assembly(text, context or llvm.create_context())
        module.triple = target.triple or llvm.get_default_triple()
        module.data_layout = str(target.machine.target_data)
        module.verify()
    except RuntimeError as e:
        raise JitError(f"LLVM rejects a generated module: {e}") from e
    return module


def compile_object(text: str, target: Target = HOST, times: dict[str, float] | None = None) -> bytes:
    """The bytes of an object file. Raises JitError if LLVM rejects the text."""
    t = times if times is not None else {}
    with COMPILER:
        t0 = time.perf_counter()
        module = _parse(text, target)
        t1 = time.perf_counter()
        out = target.machine.emit_object(module)
        t["parse"], t["codegen"] = t1 - t0, time.perf_counter() - t1
        del module  # LLVM frees it, under a lock of llvmlite's, which a fork must not meet
    return out


def linked_object(texts: Iterable[str], exports: Set[str], target: Target = HOST) -> bytes:
    """The bytes of one object file for several modules, whose own functions and variables are seen nowhere else but for `exports`.

    A name that one module declares is what another one defines; two may define the same name, unless another uses it.
    Raises JitError if LLVM rejects a text.
    """
    with COMPILER:
        context = _llvm().create_context()
        modules = [_parse(text, target, context) for text in texts]
        declared = {v.name for m in modules for v in (*m.functions, *m.global_variables) if v.is_declaration}
        for m in modules:
            _hide(m, exports | declared)
        first, *others = modules
        try:
            for m in others:
                first.link_in(m)
        except RuntimeError as e:
            raise JitError(f"generated modules cannot be linked: {e}") from e
        _hide(first, exports)
        out: bytes = target.machine.emit_object(first)
        del modules, first, others, m, context  # LLVM frees them, see compile_object
    return out


def _hide(module: Any, exports: Set[str]) -> None:
    for v in (*module.functions, *module.global_variables):
        if not v.is_declaration and v.name not in exports:
            v.linkage = "internal"


def assembly(text: str, target: Target = HOST) -> str:
    """The assembly of a module."""
    with COMPILER:
        return target.machine.emit_assembly(_parse(text, target))


def load_kept(text: str, exports: Iterable[str], symbols: Mapping[str, int] | None = None) -> Library:
    """As `load` for text without vectors that is the same in each process: its machine code is kept on disk.

    What is kept is worth more time to make than what each process makes for itself.
    """
    target = PLAIN if disk.folder() is None else PLAIN_KEPT
    key = disk.digest(b"object", text.encode(), host_id().encode(), type(target).__name__.encode())
    data = disk.read(key)
    if data is not None:
        try:
            return load_object(data, exports, symbols, text=text)
        except JitError:  # made anew
            pass
    made = load(text, exports, symbols, target)
    disk.write(key, made.object)
    return made


def load(text: str, exports: Iterable[str], symbols: Mapping[str, int] | None = None, target: Target = HOST) -> Library:
    """Compile a module, for this machine, and load it. `symbols` are the addresses of the outside functions that it declares;
    functions of the C library are found without.

    Raises JitError if LLVM rejects the text, or a declared function is found nowhere.
    """
    times: dict[str, float] = {}
    data = compile_object(text, target, times)
    outside = {l.split("@", 1)[1].split("(", 1)[0] for l in text.splitlines() if l.startswith("declare ")}
    outside = {f for f in outside - set(symbols or ()) if not f.startswith("llvm.")}
    missing = sorted(f for f in outside if not hasattr(ctypes.CDLL(None), f)) if outside else []
    if missing:
        raise JitError(f"no address is given for the outside functions {', '.join(missing)}")
    return load_object(data, exports, symbols, text=text, times=times)


def load_object(
    data: bytes,
    exports: Iterable[str],
    symbols: Mapping[str, int] | None = None,
    *,
    text: str = "",
    times: dict[str, float] | None = None,
) -> Library:
    """Load object bytes made by `compile_object` for this machine (`host_id`)."""
    with COMPILER:
        return _linked(data, exports, symbols or {}, text, times if times is not None else {})


def _linked(data: bytes, exports: Iterable[str], symbols: Mapping[str, int], text: str, times: dict[str, float]) -> Library:
    t0 = time.perf_counter()
    exports = tuple(exports)
    builder = _llvm().JITLibraryBuilder().add_object_img(data).add_current_process()
    for name, address in symbols.items():
        builder.import_symbol(name, address)
    for name in exports:
        builder.export_symbol(name)
    try:
        tracker = builder.link(_jit(), f"irad{next(_names)}")
    except RuntimeError as e:
        raise JitError(f"a generated object cannot be linked: {e}") from e
    times["link"] = time.perf_counter() - t0
    return Library(text, data, times, exports, tracker)
