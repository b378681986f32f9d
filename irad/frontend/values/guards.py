"""What a trace relies on outside of it: paths that are followed again at each call, and conditions on what is found there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from irad.core.foreign import as_array
from irad.core.ir import Value
from irad.core.lazy_dataclass import dataclass
from irad.core.random_streams import number
from irad.core.structured import child, fields
from irad.core.types import Type, dtype_name
from irad.frontend.values.arr import PYTHON

INT32 = (-(2**31), 2**31 - 1)


@dataclass(frozen=True, eq=False)
class Fixed:
    """A root of paths that is always the same object: a function, class or module that was not found by a path. Two roots are
    one where their objects are, so that a path found in one reading of a function is the same in the next."""

    obj: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fixed) and self.obj is other.obj

    def __hash__(self) -> int:
        return id(self.obj)


Step = tuple[str, Any]  # (kind, key): the kinds are the keys of `STEPS`


@dataclass(frozen=True)
class Path:
    """The way to an object from the compiled function (root "fn"), the static part `k` of its arguments (root k), or a `Fixed` root."""

    root: Any = "fn"
    steps: tuple[Step, ...] = ()

    def child(self, kind: str, key: Any = None) -> Path:
        return Path(self.root, (*self.steps, (kind, key)))

    def get(self, fn: Any, statics: Sequence[Any] = ()) -> Any:
        """The object there now. Raises LookupError or AttributeError if the path leads nowhere."""
        obj = fn if self.root == "fn" else self.root.obj if isinstance(self.root, Fixed) else statics[self.root]
        for kind, key in self.steps:
            obj = STEPS[kind](obj, key)
        return obj

    def __str__(self) -> str:
        shown = {"cell": "{}", "global": "{}", "attr": ".{}", "item": "[{!r}]", "default": "default {}", "kwdefault": "{}"}
        names = [k for k, (kind, _) in enumerate(self.steps) if kind in ("cell", "global")]  # what leads to a name does not show
        return "".join(shown.get(kind, "").format(key) for kind, key in self.steps[max(names, default=0) :]) or str(self.root)


def _item(obj: Any, key: Any) -> Any:
    """An item that is there: nothing is made by asking for it, and no method of a subclass decides."""
    for cls in (dict, list, tuple):
        if isinstance(obj, cls):
            return cls.__getitem__(obj, key)  # type: ignore[index]
    return obj[key]


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "cell": lambda fn, name: fn.__closure__[fn.__code__.co_freevars.index(name)].cell_contents,
    "global": lambda fn, name: fn.__globals__[name],
    "attr": lambda obj, name: getattr(obj, name),
    "found": lambda cls, name: next(vars(k)[name] for k in cls.__mro__ if name in vars(k)),
    "item": _item,
    "nth": lambda obj, k: next(islice(obj, k, None)),
    "array": lambda obj, _: as_array(obj),
    "base array": lambda obj, _: obj.view(np.ndarray),
    "coo": lambda obj, _: obj.tocoo(),
    "dict": lambda obj, _: dict(obj),
    "bytes": lambda obj, name: child(np.asarray(obj), fields(obj.dtype)[obj.dtype.names.index(name)]),
    "default": lambda fn, k: fn.__defaults__[k],
    "kwdefault": lambda fn, name: fn.__kwdefaults__[name],
    "self": lambda method, _: method.__self__,
    "func": lambda method, _: method.__func__,
    "partial": lambda p, _: p.func,
    "partial_arg": lambda p, k: p.args[k],
    "partial_kw": lambda p, k: p.keywords[k],
    "stream": lambda obj, _: number(obj),
    "asked": lambda obj, call: getattr(obj, call[0])(*call[1:]),
    "wrapped": lambda fn, _: fn.__wrapped__,
}


@dataclass(frozen=True)
class Capture:
    """A hidden parameter: the number or array at `path`, of type `type`; `weak`: a Python number. `steps`: the strides of an array in
    bytes, if it is not C-contiguous."""

    path: Path
    type: Type
    weak: bool
    value: Value
    steps: tuple[int, ...] | None = None

    def get(self, fn: Any, statics: Sequence[Any] = ()) -> Any:
        return self.path.get(fn, statics)

    def fits(self, x: Any) -> bool:
        """Is x of its type? Python ints must have 32 bits, see `irad.call.runtime.Cache._live`."""
        if self.weak and type(x) is int:
            return self.type.dtype == "i64" and INT32[0] <= x <= INT32[1]
        if self.weak:
            return type(x) is PYTHON[self.type.dtype]
        if not isinstance(x, (np.ndarray, np.generic)) or layout(x) != self.steps:
            return False
        return Type(dtype_name(x.dtype.newbyteorder("=")) or "", x.shape) == self.type


@dataclass(frozen=True)
class Guard:
    """A condition on outside state that the traced program relies on. `irad.call.conditions` says what holds, and checks it.

    `kind`: "is" the same object, "eq" the same type and value, "type" of the same class, "code" a function of the same code,
    "lacks" an object without an attribute, "lacks own" one without such an attribute of its own, "owns" one with it, "no globals"
    a function whose module has none of these, "len" a container of the same class and length, "keys" and "elements" one of the
    same class with the same keys or elements in the same order, "attributes" an object with attributes of its own of these names,
    "dtype" a structured array of the same class and dtype, "content" an array of the same elements, "typed" a number or array
    that a `Capture` fits, "state" a class or module that has what a `State` says, "same" and "other" the object, or not the object, that is
    found by another path, "apart" an object that is none of those found by other paths, of which the first are different ones, too.
    """

    path: Path
    kind: str
    expected: Any


def layout(x: Any) -> tuple[int, ...] | None:
    """The strides of an array in bytes, if it is not C-contiguous."""
    return x.strides if isinstance(x, np.ndarray) and not x.flags.c_contiguous else None


def content(x: np.ndarray) -> tuple[Any, ...]:
    """What tells an array of texts or times from others."""
    held = tuple(x.ravel().tolist()) if x.dtype.hasobject else x.tobytes()  # texts of any length are objects
    return type(x), x.dtype, x.shape, x.strides, held
