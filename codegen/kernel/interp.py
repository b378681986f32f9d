"""The meaning of kernel form, one iteration after another, in Python: what the emitter's lanes must agree with.

Memory that a kernel makes is filled with NaN (integers: a rare number) before use, and an index outside of a buffer is an error.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import POLL
from irad.core.affine import substitute
from irad.core.lazy_dataclass import dataclass, field
from irad.core.types import DTYPES
from irad.ops.core import OPS
from irad.ops.loop import fold_width

_LANE = "lane"  # the iteration of the vec loop around
_RARE = 0x7FC0DEAD  # an integer that was never written
_LLVM: dict[str, Any] = {
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "i64": ctypes.c_int64,
    "i32": ctypes.c_int32,
    "i8": ctypes.c_uint8,
}


class _Lanes(list[Any]):
    """A variable with lanes, each an element of its own."""


class Raised(Exception):
    """A kernel left by `Raise`, or by a call, with this code."""


class KernelFault(Exception):
    """A kernel reads or writes outside of a buffer."""


class TooLong(Exception):
    """More statements than the caller wants to wait for."""


class NotInterpreted(Exception):
    """A kernel calls what only native code can run."""


@dataclass
class Machine:
    """Kernels that may call each other, with what they call outside (`symbols`: addresses) and memory by its address.

    `most`: statements to run at most. What has been run: `done` statements, among them `operations` on numbers; `moved`: bytes
    loaded and stored.
    """

    kernels: Mapping[str, kf.Kernel] = field(default_factory=dict)
    symbols: Mapping[str, int] = field(default_factory=dict)
    memory: dict[int, np.ndarray] = field(default_factory=dict)
    most: float = float("inf")
    done: int = 0
    operations: int = 0
    moved: int = 0

    def run(self, kernel: kf.Kernel, *args: Any) -> int:
        """Run on arrays (changed in place) and numbers; the kernel's code. vec, par and unroll loops run in order.

        Raises KernelFault, TooLong, NotInterpreted.
        """
        env: dict[str, Any] = {p.name: a for p, a in zip(kernel.params, args, strict=True)}
        try:
            with np.errstate(all="ignore"):
                _Frame(self).block(kernel.body, env)
        except Raised as e:
            return int(e.args[0])
        return 0

    def allocate(self, nbytes: int) -> int:
        """New memory; its address."""
        a = np.full(-(-nbytes // 8) + 1, np.nan).view(np.uint8)
        address = int(a.ctypes.data)
        self.memory[address] = a
        return address


def run(kernel: kf.Kernel, *args: Any) -> int:
    """Run one kernel that calls nothing."""
    return Machine().run(kernel, *args)


class _Frame:
    """One run of a kernel. `env`: names in scope to numbers, arrays and folds."""

    def __init__(self, machine: Machine):
        self.machine = machine
        self.table: dict[type, Callable[[Any, dict[str, Any]], None]] = {
            kf.Let: self.let, kf.Store: self.store, kf.Buffer: self.buffer, kf.View: self.view, kf.Deref: self.deref, kf.Var: self.var,
            kf.Assign: self.assign, kf.Fold: self.fold, kf.Combine: self.combine, kf.For: self.loop, kf.If: self.branch,
            kf.While: self.while_loop, kf.Call: self.call, kf.Parallel: self.parallel, kf.Raise: self.raise_if, kf.Swap: self.swap,
            kf.Prefetch: lambda s, env: None,
        }  # fmt: skip

    def block(self, body: Sequence[kf.Stmt], env: dict[str, Any]) -> None:
        self.machine.done += len(body)
        if self.machine.done > self.machine.most:
            raise TooLong
        table = self.table
        for s in body:
            rule = table.get(type(s))
            if rule is None:
                raise NotInterpreted(type(s).__name__)
            rule(s, env)

    # ---- numbers -----------------------------------------------------------------------------------------------

    def let(self, s: kf.Let, env: dict[str, Any]) -> None:
        e = s.expr
        if isinstance(e, kf.Load):
            env[s.name] = x = _element(env[e.buf], _at(e.idx, env), s)
            self.machine.moved += x.itemsize
        elif isinstance(e, kf.Part):
            env[s.name] = env[e.fold][1][_at(e.idx, env)][e.k]
        elif isinstance(e, kf.LinScan):
            env[e.var] = env[s.name] = _value(e.k, env) * env[e.var] + _value(e.x, env)
        else:
            self.machine.operations += 1
            args = [_value(a, env) for a in e.args]
            env[s.name] = (
                OPS["cast"].eval(args[0], dtype=s.dtype) if e.op == "cast" else OPS[e.op].eval(*args)  # type: ignore[misc]
            )

    def var(self, s: kf.Var, env: dict[str, Any]) -> None:
        init = _value(s.init, env)
        env[s.name] = _Lanes([init] * s.lanes) if s.lanes > 1 else init

    def assign(self, s: kf.Assign, env: dict[str, Any]) -> None:
        if isinstance(env.get(s.name), _Lanes):
            env[s.name][env[_LANE]] = _value(s.value, env)
        else:
            env[s.name] = _value(s.value, env)

    def fold(self, s: kf.Fold, env: dict[str, Any]) -> None:
        env[s.name] = (s.comb, {at: [_value(v, env) for v in s.init] for at in np.ndindex(*s.shape)})

    def combine(self, s: kf.Combine, env: dict[str, Any]) -> None:
        comb, slots = env[s.fold]
        self.machine.operations += 1
        at, new = _at(s.idx, env), [_value(v, env) for v in s.values]
        if at not in slots:
            raise KernelFault(f"{s.fold}{list(at)} is outside of its tile")
        old = slots[at]
        if fold_width(comb) == 2:
            forward = new[1] > old[1] or old[1] < 0
            best = np.array([old[0], new[0]])
            first = getattr(np, comb)(best if forward else best[::-1])
            slots[at] = new if old[1] < 0 or (first == 1) == forward else old
        else:
            slots[at] = [OPS[comb].eval(old[0], new[0])]  # type: ignore[misc]

    # ---- memory ------------------------------------------------------------------------------------------------

    def store(self, s: kf.Store, env: dict[str, Any]) -> None:
        at, v, buf = _at(s.idx, env), _value(s.value, env), env[s.buf]
        old = _element(buf, at, s)
        self.machine.moved += buf.itemsize * (2 if s.add else 1)
        buf[at] = old + v if s.add else v

    def buffer(self, s: kf.Buffer, env: dict[str, Any]) -> None:
        env[s.name] = _unwritten(s.dtype, s.shape, s.freed)

    def view(self, s: kf.View, env: dict[str, Any]) -> None:
        base = env[s.buf].reshape(-1)
        if s.dtype is not None and DTYPES[s.dtype] != base.dtype:
            base = _as(base, s.dtype)
        start = _index(s.offset, env)
        shape = tuple(_index(d, env) for d in s.shape)
        part = base[start : start + prod(shape)]
        env[s.name] = part.reshape(shape) if part.size == prod(shape) else part

    def deref(self, s: kf.Deref, env: dict[str, Any]) -> None:
        address = int(_element(env[s.buf], (_index(s.idx, env),), s))
        found = self.machine.memory.get(address)
        if found is None and address:
            raise KernelFault(f"{s.name}: there is no memory at {address}")
        env[s.name] = np.empty(0, DTYPES[s.dtype]) if found is None else _as(found, s.dtype)

    def swap(self, s: kf.Swap, env: dict[str, Any]) -> None:
        env[s.a], env[s.b] = env[s.b], env[s.a]

    # ---- control flow ------------------------------------------------------------------------------------------

    def loop(self, s: kf.For, env: dict[str, Any]) -> None:
        lo, hi = _index(s.lo, env), _index(s.hi, env)
        vec, body, block = s.kind == "vec", s.body, self.block
        for i in range(lo, hi, s.step):
            env[s.var] = np.int64(i)
            if vec:
                env[_LANE] = i - lo
            block(body, env)

    def branch(self, s: kf.If, env: dict[str, Any]) -> None:
        self.block(s.then if _value(s.cond, env) else s.orelse, env)

    def while_loop(self, s: kf.While, env: dict[str, Any]) -> None:
        while True:
            self.machine.done += 1
            self.block(s.test, env)
            if not _value(s.cond, env):
                break
            self.block(s.body, env)

    def raise_if(self, s: kf.Raise, env: dict[str, Any]) -> None:
        if _value(s.cond, env):
            for k, v in enumerate(s.values):
                x = np.asarray(_value(v, env))
                env["err"][k] = x.astype("f8").view("i8") if x.dtype.kind == "f" else x
            raise Raised(s.code)

    # ---- calls -------------------------------------------------------------------------------------------------

    def call(self, s: kf.Call, env: dict[str, Any]) -> None:
        args = [env[a] if isinstance(a, str) and isinstance(env[a], np.ndarray) else _value(a, env) for a in s.args]
        status = self.called(s, args)
        if s.name is not None:
            env[s.name] = status if s.dtype is None else DTYPES[s.dtype].type(status)
        if s.check and status:
            raise Raised(int(status))

    def called(self, s: kf.Call, args: list[Any]) -> Any:
        machine = self.machine
        if s.symbol in machine.kernels:
            return machine.run(machine.kernels[s.symbol], *args)
        if s.symbol == POLL:
            return 0
        if s.symbol == kf.GROW_NAME:
            return self.grow(*args)
        if s.symbol == "malloc":
            return machine.allocate(int(args[0]))
        if s.symbol == "free":
            machine.memory.pop(int(args[0]), None)
            return 0
        return self.outside(s, args)

    def grow(self, slot: np.ndarray, need: Any, code: Any) -> int:
        """More memory for a tape."""
        words = max(int(need), 2 * int(slot[1]), 512)
        old = self.machine.memory.pop(int(slot[0]), np.empty(0, np.uint8))
        slot[0] = self.machine.allocate(8 * words)
        self.machine.memory[int(slot[0])][: old.size] = old[: 8 * words]
        slot[1] = words
        return 0

    def outside(self, s: kf.Call, args: list[Any]) -> Any:
        """A function of a library, called as native code calls it."""
        address = self.machine.symbols.get(s.symbol)
        if address is None:
            raise NotInterpreted(s.symbol)
        result, *types = s.signature
        kinds = [ctypes.c_void_p if t == "ptr" else _LLVM[t] for t in types]
        f = ctypes.CFUNCTYPE(None if result == "void" else _LLVM[result], *kinds)(address)
        given = [a.ctypes.data if t == "ptr" else a.item() if isinstance(a, np.generic) else a for a, t in zip(args, types)]
        return f(*given)

    def parallel(self, s: kf.Parallel, env: dict[str, Any]) -> None:
        """Chunk after chunk, the last one first: no chunk may need another."""
        trips, kernel = _index(s.trips, env), self.machine.kernels[s.kernel]
        args = [env[a] if isinstance(env[a], np.ndarray) else _value(a, env) for a in s.args]
        for start in reversed(range(0, trips, s.chunk)):
            self.machine.run(kernel, *args, np.int64(start), np.int64(min(trips, start + s.chunk)))


def _index(x: Any, env: dict[str, Any]) -> int:
    return int(env[x]) if isinstance(x, str) else substitute(x, lambda name: int(env[name]))


def _value(x: Any, env: dict[str, Any]) -> Any:
    if isinstance(x, kf.Const):
        return DTYPES[x.dtype].type(x.value)
    if isinstance(x, str):
        v = env[x]
        return v[env[_LANE]] if isinstance(v, _Lanes) else v
    return np.int64(_index(x, env))


def _at(idx: Sequence[Any], env: dict[str, Any]) -> tuple[int, ...]:
    return tuple([_index(i, env) for i in idx])


def _element(buf: np.ndarray, at: tuple[int, ...], s: Any) -> Any:
    try:
        if min(at, default=0) < 0:
            raise IndexError
        return buf[at]
    except IndexError:
        name = getattr(s, "buf", None) or getattr(getattr(s, "expr", None), "buf", "?")
        raise KernelFault(f"{name}[{', '.join(map(str, at))}] is outside of a buffer of {buf.shape}") from None


def _unwritten(dtype: str, shape: tuple[int, ...], zero: bool) -> np.ndarray:
    d = DTYPES[dtype]
    fill: Any = 0 if zero else np.nan if d.kind == "f" else _RARE
    return np.full(shape, np.array(fill).astype(d), d)


def _as(a: np.ndarray, dtype: str) -> np.ndarray:
    """The memory of an array, read as another dtype."""
    flat = a.reshape(-1).view(np.uint8)
    d = DTYPES[dtype]
    return flat[: flat.size // d.itemsize * d.itemsize].view(d)
