"""Lowering of calls of Python: a C function pointer (a ctypes trampoline) that takes the addresses of operands and results.

The trampoline takes the GIL, gives the Python function copies of the operands and copies its results out. An exception
is kept for the thread, the native code returns at once, and the exception is raised again as it was.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.codegen.interface import ErrorCode
from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Call, Const, Let
from irad.codegen.lower.control import leave
from irad.codegen.lower.graph import KernelBuilder, rule
from irad.core.ir import Node, Value
from irad.core.lazy_dataclass import dataclass
from irad.core.types import Type
from irad.errors import UnsupportedError
from irad.ops.core import kept
from irad.ops.custom import HostFunction, host

_thread = threading.local()  # `error`: what the last failed call of this thread raised


@dataclass
class HostRaised(ErrorCode):
    """Stands for whatever a Python function raised."""

    def exception(self, record: int) -> BaseException:
        """It is handed out once."""
        found: BaseException = _thread.error
        del _thread.error
        return found


@rule("callback", "pure_callback")
def _callback(f: KernelBuilder, node: Node) -> None:
    call_host(f, node, host(node.attrs["name"]), node.attrs["name"])


@rule("print")
def host_op(f: KernelBuilder, node: Node) -> None:
    """Let Python run an op as its row says: output, and what there is no native code of our own for."""
    types = tuple(v.type for v in node.outputs)

    def run(*arrays: np.ndarray) -> list[Any]:
        assert node.op.eval is not None
        out = node.op.eval(*arrays, **node.attrs)
        return [np.asarray(x, t.numpy) for x, t in zip(out if isinstance(out, tuple) else (out,), types)]

    call = HostFunction(run, types, node.op.name)
    call_host(f, node, call, call.name)


def call_host(f: KernelBuilder, node: Node, call: HostFunction, name: str) -> None:
    """A call of a Python function on the node's operands; what it raises leaves the native code."""
    held = kept(node)
    operands = node.inputs[: len(node.inputs) - len(held)]
    values = (*operands, *node.outputs)
    if not all(v.type.static for v in values):
        raise UnsupportedError(f"{node.op.name} with an array of run-time extent: pass a whole array", node.loc)
    if not f.out.outside.python:
        raise UnsupportedError(f"{name} runs in Python, which exported code does without: leave it to the caller", node.loc)
    target = trampoline(call, [v.type for v in operands])
    f.out.keep += [target, call]
    symbol = f"irad_host_{name}"
    f.out.symbols[symbol] = ctypes.cast(target, ctypes.c_void_p).value or 0
    args = [placed(f, v, store=True) for v in operands]
    results = [placed(f, v, store=False) for v in node.outputs]
    status, failed = f.fresh("status"), f.fresh("failed")
    f.block += [
        Call(symbol, (*args, *results), ("i64", *["ptr"] * len(values)), status, "i64", writes=tuple(results)),
        Let(failed, "bool", Apply("ne", (status, Const(0, "i64")))),
    ]
    leave(f, failed, HostRaised("", "", (), node.loc), held)
    for v, place in zip(node.outputs, results):
        f.take_scalar(v, place)


def placed(f: KernelBuilder, v: Value, store: bool) -> str:
    """A buffer with the value: a scalar in memory of its own, `store`: with its content."""
    name = f.fresh("arg")
    if v.type.shape:
        place = f.address(v)
        f.block.append(kf.View(name, place.buf, (v.type.size,), place.offset))
        return name
    f.head.append(kf.Buffer(name, v.type.dtype, (1,)))
    if store:
        f.block.append(kf.Store(name, (0,), f.operand(v)))
    return name


def trampoline(call: HostFunction, operands: list[Type]) -> Any:
    """A C function `i64(ptr operands..., ptr results...)` around a HostFunction; 0, or 1 if it raised."""

    compute = (_plainly if call.plain else _on_copies)(call, operands)

    def run(*addresses: int) -> int:
        try:
            compute(*addresses)
        except BaseException as e:  # noqa: BLE001  (raised again by whoever called the native code)
            _thread.error = e
            return 1
        return 0

    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * (len(operands) + len(call.types)))(run)


Compute = Callable[..., None]  # of the addresses of operands and results


def _on_copies(call: HostFunction, operands: list[Type]) -> Compute:
    """The call on copies of its operands, its results checked."""

    def compute(*addresses: int) -> None:
        arrays = [_array(a, t).copy() for a, t in zip(addresses, operands)]
        out = call(*arrays)
        for a, t, x in zip(addresses[len(operands) :], call.types, out):
            _array(a, t)[...] = x

    return compute


_SCALARS: dict[str, Any] = {
    "f64": ctypes.c_double, "f32": ctypes.c_float, "bool": ctypes.c_bool, "i64": ctypes.c_int64, "i32": ctypes.c_int32,
    "i16": ctypes.c_int16, "i8": ctypes.c_int8, "u64": ctypes.c_uint64, "u32": ctypes.c_uint32, "u16": ctypes.c_uint16,
    "u8": ctypes.c_uint8,
}  # fmt: skip


def _plainly(call: HostFunction, operands: list[Type]) -> Compute:
    """The call of a function of our own: scalars go through memory as Python numbers, in a few microseconds."""
    count, run = len(operands), call.call
    reads, writes = list(map(_reader, operands)), list(map(_writer, call.types))

    def compute(*addresses: int) -> None:
        out = run(*[read(a) for read, a in zip(reads, addresses)])
        for write, a, x in zip(writes, addresses[count:], out):
            write(a, x)

    return _of_one(run, reads[0], writes[0]) if count == len(writes) == 1 else compute


def _of_one(run: Callable[..., Sequence[Any]], read: Callable[[int], Any], write: Callable[[int, Any], None]) -> Compute:
    """One operand and one result, as the many small calls have them."""

    def compute(operand: int, result: int) -> None:
        write(result, run(read(operand))[0])

    return compute


def _reader(t: Type) -> Callable[[int], Any]:
    kind = None if t.shape else _SCALARS.get(t.dtype)
    if kind is None:
        return (lambda a: _array(a, t).copy()) if t.shape else (lambda a: _array(a, t).item())
    at = kind.from_address
    return lambda a: at(a).value


def _writer(t: Type) -> Callable[[int, Any], None]:
    kind = None if t.shape else _SCALARS.get(t.dtype)
    if kind is None:

        def write(a: int, x: Any) -> None:
            _array(a, t)[...] = x

        return write
    at = kind.from_address

    def put(a: int, x: Any) -> None:
        at(a).value = x

    return put


def _array(address: int | None, t: Type) -> np.ndarray:
    """Memory as an array, valid during the call."""
    size = t.size * t.numpy.itemsize
    if not size:
        return np.empty(t.dims, t.numpy)
    memory = (ctypes.c_char * size).from_address(address or 0)
    return np.frombuffer(memoryview(memory), t.numpy).reshape(t.dims)
