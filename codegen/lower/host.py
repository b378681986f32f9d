"""Lowering of calls of Python: a C function pointer (a ctypes trampoline) that takes the addresses of operands and results.

The trampoline takes the GIL, gives the Python function copies of the operands and copies its results out. An exception
is kept for the thread, the native code returns at once, and the exception is raised again as it was.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import numpy as np

from irad.codegen.kernel import form as kf
from irad.codegen.kernel.form import Apply, Call, Const, Let
from irad.codegen.lower.control import leave
from irad.codegen.lower.graph import Frame, Raised, rule
from irad.core.ir import Node, Value
from irad.core.lazy_dataclass import dataclass
from irad.core.types import Type
from irad.errors import UnsupportedError
from irad.ops.core import kept
from irad.ops.custom import HostFunction, host

_thread = threading.local()  # `error`: what the last failed call of this thread raised


@dataclass
class HostRaised(Raised):
    """Stands for whatever a Python function raised."""

    def error(self) -> BaseException:
        """The exception; it is handed out once."""
        found: BaseException = _thread.error
        del _thread.error
        return found


@rule("callback", "pure_callback")
def _callback(f: Frame, node: Node) -> None:
    call_host(f, node, host(node.attrs["name"]), node.attrs["name"])


@rule("fft", "print")
def host_op(f: Frame, node: Node) -> None:
    """Let Python run an op as its row says: output, and what there is no native code of our own for."""
    types = tuple(v.type for v in node.outputs)

    def run(*arrays: np.ndarray) -> list[Any]:
        assert node.op.eval is not None
        out = node.op.eval(*arrays, **node.attrs)
        return [np.asarray(x, t.numpy) for x, t in zip(out if isinstance(out, tuple) else (out,), types)]

    call = HostFunction(run, types, node.op.name)
    call_host(f, node, call, call.name)


def call_host(f: Frame, node: Node, call: HostFunction, name: str) -> None:
    """A call of a Python function on the node's operands; what it raises leaves the native code."""
    held = kept(node)
    operands = node.inputs[: len(node.inputs) - len(held)]
    values = (*operands, *node.outputs)
    if not all(v.type.static for v in values):
        raise UnsupportedError(f"{node.op.name} with an array of run-time extent: pass a whole array", node.loc)
    target = trampoline(call, [v.type for v in operands])
    f.out.keep += [target, call]
    symbol = f"irad_host_{name}"
    f.out.symbols[symbol] = ctypes.cast(target, ctypes.c_void_p).value or 0
    args = [_address(f, v, store=True) for v in operands]
    results = [_address(f, v, store=False) for v in node.outputs]
    status, failed = f.fresh("status"), f.fresh("failed")
    f.block += [
        Call(symbol, (*args, *results), ("i64", *["ptr"] * len(values)), status, "i64", writes=tuple(results)),
        Let(failed, "bool", Apply("ne", (status, Const(0, "i64")))),
    ]
    leave(f, failed, HostRaised("", "", (), node.loc), held)
    for v, place in zip(node.outputs, results):
        if not v.type.shape:
            f.env[v] = f.let(kf.Load(place, (0,)), v.type.dtype, v.hint or "v")


def _address(f: Frame, v: Value, store: bool) -> str:
    """A buffer with the value: a scalar in memory of its own, `store`: with its content."""
    name = f.fresh("arg")
    if v.type.shape:
        place = f.place(v)
        f.block.append(kf.View(name, place.buf, (v.type.size,), place.offset))
        return name
    f.head.append(kf.Buffer(name, v.type.dtype, (1,)))
    if store:
        f.block.append(kf.Store(name, (0,), f.operand(v)))
    return name


def trampoline(call: HostFunction, operands: list[Type]) -> Any:
    """A C function `i64(ptr operands..., ptr results...)` around a HostFunction; 0, or 1 if it raised."""

    def run(*addresses: int) -> int:
        try:
            arrays = [_array(a, t).copy() for a, t in zip(addresses, operands)]
            out = call(*arrays)
            for a, t, x in zip(addresses[len(operands) :], call.types, out):
                _array(a, t)[...] = x
        except BaseException as e:  # noqa: BLE001  (raised again by whoever called the native code)
            _thread.error = e
            return 1
        return 0

    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * (len(operands) + len(call.types)))(run)


def _array(address: int | None, t: Type) -> np.ndarray:
    """Memory as an array, valid during the call."""
    size = t.size * t.numpy.itemsize
    if not size:
        return np.empty(t.dims, t.numpy)
    memory = (ctypes.c_char * size).from_address(address or 0)
    return np.frombuffer(memoryview(memory), t.numpy).reshape(t.dims)
