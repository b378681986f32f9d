"""How the work of a program grows: counted by the kernel interpreter, and from NumPy's own run. No clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

import irad
from irad.codegen.interface import ERROR_SLOTS
from irad.codegen.kernel.interp import Machine
from irad.codegen.lower.arena import arena_size
from irad.codegen.lower.graph import lower
from irad.frontend.trace import trace
from irad.pipeline import optimise

Work = tuple[int, int]  # operations on numbers, bytes moved


def compiled_work(f: Callable[..., Any], args: Sequence[Any], grad: bool) -> Work:
    """What the kernels of f, or of its value and gradient, do for some arguments."""
    program = optimise(trace(irad.value_and_grad(f) if grad else f, tuple(args), {}).program)
    entry = next(iter(program.values()))
    lowered = lower(program, arena_size(entry))
    machine = Machine({k.name: k for k in lowered.kernels}, lowered.symbols)
    machine.memory.update({int(a.ctypes.data): a for a in lowered.constants})
    given = [np.array(a, p.type.numpy) for a, p in zip(args, entry.params, strict=True)]
    out = [np.zeros(v.type.dims, v.type.numpy) for v in entry.results]
    flat = [a.reshape(-1) if a.shape else a[()] for a in given] + [a.reshape(-1) if a.shape else a for a in out]
    arena = np.full(max(lowered.arena, 1) // 8 + 1, np.nan).view(np.uint8)
    context, record = np.array([*lowered.ctx, 0], np.int64), np.zeros(ERROR_SLOTS, np.int64)
    assert machine.run(lowered.kernels[0], *flat, arena, context, record) == 0
    return machine.operations, machine.moved


class Counted(np.ndarray):
    """An array that counts what NumPy does with it and with what is made of it."""

    operations = 0
    moved = 0

    @classmethod
    def reset(cls) -> None:
        cls.operations = cls.moved = 0

    def __getitem__(self, at: Any) -> Any:
        out = super().__getitem__(at)
        if not isinstance(out, np.ndarray) or out.base is None:
            Counted.moved += np.size(out) * self.itemsize
        return out

    def __setitem__(self, at: Any, value: Any) -> None:
        Counted.moved += 2 * np.size(np.ndarray.__getitem__(self, at)) * self.itemsize
        super().__setitem__(at, value)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **kwargs: Any) -> Any:
        plain = [x.view(np.ndarray) if isinstance(x, Counted) else x for x in inputs]
        if out:
            kwargs["out"] = tuple(x.view(np.ndarray) if isinstance(x, Counted) else x for x in out)
        new = getattr(ufunc, method)(*plain, **kwargs)
        arrays = [x for x in (*plain, new) if isinstance(x, np.ndarray)]
        Counted.moved += sum(x.nbytes for x in arrays)
        work = max((x.size for x in arrays), default=1)
        if ufunc is np.matmul:
            work = prod(plain[0].shape) * (plain[1].shape[-1] if np.ndim(plain[1]) > 1 else 1)
        Counted.operations += work
        if out:
            return out[0]
        return new.view(Counted) if isinstance(new, np.ndarray) else new

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        new = super().__array_function__(func, types, args, kwargs)
        Counted.moved += 2 * np.size(new) * 8
        return new.view(Counted) if isinstance(new, np.ndarray) else new


class _Numpy:
    """NumPy, whose fresh arrays are counted."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if name not in ("zeros", "empty", "ones", "zeros_like", "empty_like", "full", "arange"):
            return found
        return lambda *args, **kwargs: found(*args, **kwargs).view(Counted)


def numpy_work(f: Callable[..., Any], args: Sequence[Any]) -> Work:
    """What NumPy does in f for some arguments: elements of ufuncs, elements read and stored."""
    Counted.reset()
    given = [a.copy().view(Counted) if isinstance(a, np.ndarray) else a for a in args]
    names = f.__globals__
    before = names["np"]
    names["np"] = _Numpy()
    try:
        f(*given)
    finally:
        names["np"] = before
    return Counted.operations, Counted.moved
