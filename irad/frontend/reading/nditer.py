"""np.nditer: the elements of one or several arrays, as arrays of rank 0 that may be stored into, in their memory order."""

from __future__ import annotations

import collections.abc
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.errors import IradTypeError, IradValueError, UnsupportedError
from irad.frontend.control.array_like import array_like
from irad.frontend.control.sequences import Seq
from irad.frontend.control.stands import Stands
from irad.frontend.numpy import views
from irad.frontend.reader import Reader
from irad.frontend.reading.flat import elements_of
from irad.frontend.values.arr import broadcast_shapes, from_dim, size_of
from irad.frontend.values.layout import memory_order
from irad.frontend.values.objects import Array, Either, Env, describe
from irad.frontend.values.state import Name

_HARMLESS = {"buffered", "refs_ok", "zerosize_ok", "reduce_ok", "delay_bufalloc", "growinner", "ranged", "copy_if_overlap"}
_INDICES = {"multi_index", "c_index", "f_index"}
_READ_ONLY = "output array is read-only: np.nditer(..., op_flags=['readwrite'])"


class NdIter(Stands):
    """np.nditer(arrays). `axes`: those of the iteration from the slowest to the fastest; `state`: the position, "at"."""

    cls = np.nditer

    def __init__(self, r: Reader, operands: list[Array], single: bool, writes: list[bool], flags: set[str], axes: list[int]):
        self.operands, self.single, self.writes, self.flags, self.axes = operands, single, writes, flags, axes
        self.shape = broadcast_shapes(*(x.shape for x in operands))
        self.lines = [self._line(x) for x in operands]
        self.state = r.state.made(Env({"at": 0}))

    def _line(self, x: Array) -> Array | None:
        """The elements of an operand in the order of the iteration, where it has all of them."""
        if x.shape != self.shape:
            return None
        return elements_of(x if self.axes == list(range(len(x.shape))) else views.transposed(x, self.axes))

    # ---- where it is ----

    @property
    def position(self) -> Any:
        return self.state.names["at"]

    def move(self, r: Reader, to: Any) -> None:
        r.state.assign(Name(self.state, "at"), to)

    def size(self) -> Any:
        return from_dim(size_of(self.shape))

    def index(self, r: Reader) -> tuple[Any, ...]:
        """The position along each axis."""
        left, out = self.position, {}
        for k in self.axes[:0:-1]:
            n = from_dim(self.shape[k])
            out[k] = r.operator("mod", left, n)
            left = r.operator("floordiv", left, n)
        if self.axes:
            out[self.axes[0]] = left
        return tuple(out[k] for k in range(len(self.shape)))

    def flat_index(self, r: Reader) -> Any:
        """it.index: of the element in C or Fortran order."""
        if not self.flags & {"c_index", "f_index"}:
            raise IradValueError("Iterator does not have an index")
        at: Any = 0
        for k, i in sorted(enumerate(self.index(r)), reverse="f_index" in self.flags):
            at = r.operator("add", r.operator("mul", at, from_dim(self.shape[k])), i)
        return at

    def multi_index(self, r: Reader) -> tuple[Any, ...]:
        if "multi_index" not in self.flags:
            raise IradValueError("Iterator is not tracking a multi-index")
        return self.index(r)

    # ---- what is there ----

    def value(self, r: Reader, k: int) -> Array:
        """Operand k at the position: a view of rank 0."""
        x, line = self.operands[k], self.lines[k]
        if line is not None:
            out = views.at(r, line, (r.operand(self.position), Ellipsis))
        else:
            index = self.index(r)[len(self.shape) - len(x.shape) :]
            out = views.at(r, x, (*(0 if n == 1 else r.operand(i) for n, i in zip(x.shape, index)), Ellipsis))
        out.frozen = out.frozen or ("" if self.writes[k] else _READ_ONLY)
        return out

    def values(self, r: Reader) -> Any:
        found = tuple(self.value(r, k) for k in range(len(self.operands)))
        return found[0] if self.single or len(found) == 1 else found

    def elements(self, r: Reader) -> Seq:
        first = self.position

        def get(i: Any) -> Any:
            self.move(r, r.operator("add", first, i))
            return self.values(r)

        return Seq(r.operator("sub", self.size(), first), get)

    def item(self, r: Reader, key: Any) -> Any:
        keys = range(len(self.operands))[key] if isinstance(key, (int, slice)) else key
        return self.value(r, keys) if isinstance(keys, int) else tuple(self.value(r, k) for k in keys)

    def store(self, r: Reader, key: Any, value: Any) -> None:
        r.setitem(self.item(r, key), Ellipsis, value)

    def length(self, r: Reader) -> Any:
        return len(self.operands)

    def step(self, r: Reader) -> Any:
        """it.iternext(): is there another element?"""
        self.move(r, r.operator("add", self.position, 1))
        return r.operator("lt", self.position, self.size())

    def call(self, r: Reader, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if args and name != "__exit__" or kwargs:
            raise IradTypeError(f"nditer.{name}() takes no arguments")
        return super().call(r, name, (), {})

    METHODS = {
        "iternext": lambda r, it: it.step(r), "reset": lambda r, it: it.move(r, 0), "close": lambda r, it: None,
        "__enter__": lambda r, it: it, "__exit__": lambda r, it: None,
    }  # fmt: skip
    ATTRIBUTES = {
        "multi_index": lambda r, it: it.multi_index(r), "index": lambda r, it: it.flat_index(r), "value": lambda r, it: it.values(r),
        "finished": lambda r, it: r.operator("ge", it.position, it.size()), "iterindex": lambda r, it: it.position,
        "operands": lambda r, it: tuple(it.operands), "shape": lambda r, it: tuple(map(from_dim, it.shape)),
        "ndim": lambda r, it: len(it.shape), "nop": lambda r, it: len(it.operands), "itersize": lambda r, it: it.size(),
        "itviews": lambda r, it: tuple(it.operands), "dtypes": lambda r, it: tuple(x.type.numpy for x in it.operands),
    }  # fmt: skip


def nditer(
    r: Reader, op: Any, flags: Any = (), op_flags: Any = None, op_dtypes: Any = None, order: str = "K", **other: Any
) -> NdIter:
    """np.nditer(op, flags, op_flags, order=)."""
    given = set(flags) - _HARMLESS - _INDICES
    if given or other or op_dtypes is not None:
        what = ", ".join(map(repr, sorted(given))) or ", ".join(other) or "op_dtypes"
        raise UnsupportedError(f"np.nditer with {what} in compiled code; write the loop over positions, or use whole arrays")
    single = not isinstance(op, (list, tuple))
    found = [op] if single else list(op)
    modes = _modes(op_flags, found)
    arrays = [None if x is None else _array(r, x) for x in found]
    shape = broadcast_shapes(*(x.shape for x in arrays if x is not None))
    if any(x is None for x in arrays):
        dtype = np.result_type(*(x.type.numpy for x in arrays if x is not None))
        arrays = [r.call(np.empty, [[from_dim(n) for n in shape], dtype]) if x is None else x for x in arrays]
    operands = [x for x in arrays if x is not None]
    for x, mode in zip(operands, modes):
        if "readonly" not in mode and x.shape != shape:
            raise IradValueError(f"non-broadcastable operand with shape {x.shape} doesn't match the broadcast shape {shape}")
    return NdIter(r, operands, single, ["readonly" not in m for m in modes], set(flags), _axes(operands, len(shape), order))


def _array(r: Reader, x: Any) -> Array:
    out = r.call(np.asarray, [array_like(r, x)])
    if isinstance(x, Either):
        raise UnsupportedError("np.nditer of an array that is one of two, depending on data; copy it first")
    if not isinstance(out, Array):
        raise IradTypeError(f"np.nditer wants arrays, got {describe(x)}")
    return x if isinstance(x, Array) else out


def _modes(op_flags: Any, found: list[Any]) -> list[set[str]]:
    """The flags of each operand."""
    default = [{"writeonly", "allocate"} if x is None else {"readonly"} for x in found]
    if op_flags is None:
        return default
    lists = [m for m in op_flags if isinstance(m, collections.abc.Iterable) and not isinstance(m, str)]
    modes = [set(m) for m in op_flags] if lists else [set(op_flags)] * len(found)
    if len(modes) != len(found):
        raise IradValueError("op_flags must be a tuple or array of per-op flag-tuples")
    return [m if m & {"readonly", "readwrite", "writeonly"} else m | d for m, d in zip(modes, default)]


def _axes(operands: list[Array], rank: int, order: str) -> list[int]:
    """The axes of the iteration from the slowest to the fastest."""
    if order == "C" or rank < 2 and order != "K":
        return list(range(rank))
    if order == "F":
        return list(range(rank))[::-1]
    found = []
    for x in operands:
        if x.strides is None and x.loose or any(s < 0 for s in x.strides or ()):
            raise UnsupportedError("np.nditer of an array whose memory order is not known here, or reversed: give order='C'")
        lead = rank - len(x.shape)
        strides = [0] * lead + [0 if n == 1 else s for n, s in zip(x.shape, x.strides or ())]
        found.append(memory_order(strides) if x.strides is not None else list(range(rank)))
    if any(axes != found[0] for axes in found):
        raise UnsupportedError("np.nditer of arrays of different memory orders: give order='C'")
    return found[0]
