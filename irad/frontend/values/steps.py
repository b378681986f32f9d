"""The steps through which a view sees its storage: a basic index, another shape or order of axes, a part, picked elements.

Each step reads (`read(x)`: what the view shows of x) and stores (`store(base, v)`: the base after v was stored through it),
on graph values and on NumPy arrays alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irad.core.lazy_dataclass import dataclass
from irad.core.types import Dim
from irad.frontend.values.arr import Arr, is_traced, lift, size_of
from irad.frontend.values.index import Plan, setitem
from irad.frontend.values.reshapes import in_shape
from irad.ops.array import reshape_to, transpose_to, update
from irad.ops.complex import complex_, imag, real
from irad.ops.custom import stop_gradient


@dataclass(frozen=True, eq=False)
class At:
    """A basic index: the user's key, and the plan that reads and stores it (its checks are made once, here)."""

    key: Any
    plan: Plan

    def read(self, x: Any) -> Any:
        return x[self.key] if self._concrete(x) else Arr(self.plan.read(lift(x).value))

    def store(self, base: Any, v: Any) -> Any:
        if self._concrete(base) and isinstance(v, np.ndarray):
            out = base.copy()
            out[self.key] = v
            return out
        p, x, new = self.plan, lift(base).value, lift(v).value
        placed = p.place(new)
        return Arr(placed) if p.whole else Arr(update(x, placed, *p.operands, spec=p.spec))

    def _concrete(self, x: Any) -> bool:
        return isinstance(x, np.ndarray) and not is_traced(self.key)


@dataclass(frozen=True, eq=False)
class Reshape:
    """C-order reshape to `shape`."""

    shape: tuple[Dim, ...]

    def read(self, x: Any) -> Any:
        return x.reshape(self.shape) if isinstance(x, np.ndarray) else Arr(in_shape(x.value, self.shape))

    def store(self, base: Any, v: Any) -> Any:
        shape = base.shape
        return v.reshape(shape) if isinstance(v, np.ndarray) else Arr(in_shape(v.value, shape))


@dataclass(frozen=True, eq=False)
class Transpose:
    """Axis k of the view is axis perm[k] of the base."""

    perm: tuple[int, ...]

    def read(self, x: Any) -> Any:
        return x.transpose(self.perm) if isinstance(x, np.ndarray) else Arr(transpose_to(x.value, self.perm))

    def store(self, base: Any, v: Any) -> Any:
        back = tuple(sorted(range(len(self.perm)), key=self.perm.__getitem__))
        return v.transpose(back) if isinstance(v, np.ndarray) else Arr(transpose_to(v.value, back))


@dataclass(frozen=True, eq=False)
class ComplexPart:
    """The real or imaginary part of a complex array."""

    name: str  # "real" or "imag"

    def read(self, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return getattr(x, self.name)
        return Arr((real if self.name == "real" else imag)(lift(x).value))

    def store(self, base: Any, v: Any) -> Any:
        if isinstance(base, np.ndarray) and isinstance(v, np.ndarray):
            out = base.copy()
            setattr(out, self.name, v)
            return out
        z, new = lift(base).value, lift(v).value
        return Arr(complex_(new, imag(z)) if self.name == "real" else complex_(real(z), new))


@dataclass(frozen=True, eq=False)
class Stopped:
    """The array itself, but what is read is a constant for derivatives."""

    def read(self, x: Any) -> Any:
        return x if isinstance(x, np.ndarray) else Arr(stop_gradient(lift(x).value))

    def store(self, base: Any, v: Any) -> Any:
        return v


@dataclass(frozen=True, eq=False)
class Picked:
    """Elements as a function of NumPy picks them: `np.diagonal`, `np.broadcast_to`, windows.

    `pick` takes an `Arr` or a NumPy array. Where it picks an element twice the view may not be written.
    """

    pick: Callable[[Any], Any]
    shape: tuple[Dim, ...]

    def read(self, x: Any) -> Any:
        return self.pick(x)

    def store(self, base: Any, v: Any) -> Any:
        places = self.pick(np.arange(np.prod(base.shape, dtype=np.int64)).reshape(base.shape))
        if isinstance(base, np.ndarray) and isinstance(v, np.ndarray):
            out = base.copy(order="C")
            out.reshape(-1)[places] = v
            return out
        x = lift(base)
        flat = setitem(Arr(reshape_to(x.value, (size_of(x.shape),))), places, v)
        return Arr(reshape_to(flat, x.shape))


Step = At | Reshape | Transpose | ComplexPart | Stopped | Picked
