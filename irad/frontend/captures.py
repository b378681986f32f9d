"""Captured state: what a function reads besides its arguments, by a path that is followed again at each call.

Arrays and floats found outside become hidden parameters; what shapes the program (ints, flags, strings, functions, the
length of a list) is guarded, and only if it was read.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irad.errors import IradTypeError
from irad.frontend.arr import Arr
from irad.frontend.objects import Array, Cell
from irad.frontend.source import is_library
from irad.ir import Value
from irad.ops.intervals import bound
from irad.records import dataclass
from irad.structured import SCALARS, Layout, Structured, child, field_type, fields, is_structured, parts, why_not
from irad.tree import is_leaf
from irad.types import Type, is_plain, type_of


@dataclass(frozen=True, eq=False)
class Fixed:
    """A root of paths that is always the same object: a function, class or module that was not found by a path."""

    obj: Any


Step = tuple[str, Any]  # ("cell" | "global" | "attr" | "item" | "default" | "kwdefault" | "self" | "func", key)


@dataclass(frozen=True)
class Path:
    """From the compiled function (root "fn"), the static part `k` of its arguments (root k), or a `Fixed` root, to an object."""

    root: Any = "fn"
    steps: tuple[Step, ...] = ()

    def child(self, kind: str, key: Any = None) -> Path:
        return Path(self.root, (*self.steps, (kind, key)))

    def get(self, fn: Any, statics: Sequence[Any] = ()) -> Any:
        """The object there now. Raises LookupError or AttributeError if the path leads nowhere."""
        obj = fn if self.root == "fn" else self.root.obj if isinstance(self.root, Fixed) else statics[self.root]
        for kind, key in self.steps:
            obj = _STEPS[kind](obj, key)
        return obj

    def __str__(self) -> str:
        shown = {"cell": "{}", "global": "{}", "attr": ".{}", "item": "[{!r}]", "default": "default {}", "kwdefault": "{}"}
        return "".join(shown.get(kind, "").format(key) for kind, key in self.steps) or str(self.root)


def _cell(fn: Any, name: str) -> Any:
    return fn.__closure__[fn.__code__.co_freevars.index(name)].cell_contents


_STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "cell": _cell,
    "global": lambda fn, name: fn.__globals__[name],
    "attr": lambda obj, name: getattr(obj, name),
    "item": lambda obj, key: obj[key],
    "bytes": lambda obj, name: child(np.asarray(obj), fields(obj.dtype)[obj.dtype.names.index(name)]),
    "default": lambda fn, k: fn.__defaults__[k],
    "kwdefault": lambda fn, name: fn.__kwdefaults__[name],
    "self": lambda method, _: method.__self__,
    "func": lambda method, _: method.__func__,
    "partial": lambda p, _: p.func,
    "partial_arg": lambda p, k: p.args[k],
    "partial_kw": lambda p, k: p.keywords[k],
    "wrapped": lambda fn, _: fn.__wrapped__,
}


@dataclass(frozen=True)
class Capture:
    """A hidden parameter: the number or array at `path`, of type `type`; `weak`: a Python number."""

    path: Path
    type: Type
    weak: bool
    value: Value

    def get(self, fn: Any, statics: Sequence[Any] = ()) -> Any:
        return self.path.get(fn, statics)


@dataclass(frozen=True)
class Guard:
    """A condition on outside state that the traced program relies on.

    `kind`: "is" the same object, "eq" the same type and value, "type" of the same class, "code" a function of the same
    code, "lacks" an object without an attribute, "len" or "keys" a container of the same class and length or keys,
    "dtype" a structured array of the same class and dtype.
    """

    path: Path
    kind: str
    expected: Any

    def holds(self, fn: Any, statics: Sequence[Any] = ()) -> bool:
        """Is it still so?"""
        try:
            return _GUARDS[self.kind](self.path.get(fn, statics), self.expected)
        except (LookupError, AttributeError, ValueError, TypeError):
            return False


_GUARDS: dict[str, Callable[[Any, Any], bool]] = {
    "is": lambda x, e: x is e,
    "eq": lambda x, e: type(x) is type(e) and bool(x == e),
    "type": lambda x, e: type(x) is e,
    "code": lambda x, e: getattr(x, "__code__", None) is e,
    "lacks": lambda x, e: not hasattr(x, e),
    "len": lambda x, e: (type(x), len(x)) == e,
    "keys": lambda x, e: type(x) is e[0] and tuple(x) == e[1],
    "dtype": lambda x, e: type(x) is e[0] and x.dtype == e[1],
}

_PLAIN = (str, bytes, bool, type(None), type(Ellipsis), int)
INT32 = (-(2**31), 2**31 - 1)
RECORD = "a record given as an argument, or captured, is stored into: pass the array and the index, p[i]['x'] = ..."


class Captures:
    """Hidden parameters and guards found while one function is read."""

    def __init__(self, live: frozenset[Path] = frozenset()):
        self.params: dict[Path, Capture] = {}
        self.guards: dict[tuple[Path, str], Guard] = {}
        self.live = live  # captured ints that change from call to call: hidden parameters instead of guards
        self.frozen: set[Path] = set()  # captured numbers that must be known at compile time
        self.paths: dict[int, tuple[Any, Path]] = {}  # provenance; keeps the objects alive
        self.mirrors: dict[int, Any] = {}  # id of a captured container or array -> what stands for it here
        self.inputs: dict[int, Any] = {}  # id of a container or instance in the arguments -> itself
        self.cells: list[Cell] = []  # of arrays that the caller knows
        self.originals: dict[int, Any] = {}  # id of such a stand-in -> the captured object
        self.records: dict[Structured, Path] = {}  # captured structured arrays by their stand-ins

    def path(self, obj: Any) -> Path | None:
        """Where an object was found, if it was captured."""
        found = self.paths.get(id(obj))
        return found[1] if found is not None and found[0] is obj else None

    def origin(self, obj: Any) -> Path:
        """Where a function, class or module was found; if that is not known, itself."""
        found = self.path(obj)
        if found is None:
            found = Path(Fixed(obj))
            self.note(obj, found)
        return found

    def pin(self, *objs: Any) -> None:
        """The program relies on which objects these are: compared by identity, or given to Python as a whole."""
        for obj in objs:
            found = self.path(obj)
            if found is not None and not isinstance(found.root, Fixed) and id(obj) not in self.mirrors:
                self.guard(found, "is", obj)

    def without(self, obj: Any, name: str) -> None:
        """The program relies on an object's not having an attribute."""
        found = self.path(obj)
        if found is not None:
            self.guard(found, "lacks", name)

    def note(self, obj: Any, path: Path) -> None:
        self.paths.setdefault(id(obj), (obj, path))

    def guard(self, path: Path, kind: str, expected: Any) -> None:
        self.guards.setdefault((path, kind), Guard(path, kind, expected))

    def take(self, obj: Any, path: Path) -> Any:
        """What stands for a captured object in the program."""
        if id(obj) in self.mirrors and not isinstance(obj, (int, float, complex, np.generic)):
            return self.mirrors[id(obj)]
        if type(obj) in _PLAIN and not self._live_int(obj, path):
            self.guard(path, "eq", obj)
            return obj
        if is_leaf(obj):
            return self._leaf(obj, path)
        if is_structured(obj):
            return self._structured(obj, path)
        if type(obj) in (list, tuple, dict) or (isinstance(obj, tuple) and hasattr(obj, "_fields")):
            return self._container(obj, path)
        self._opaque(obj, path)
        return obj

    def _live_int(self, obj: Any, path: Path) -> bool:
        return type(obj) is int and path in self.live and path not in self.frozen

    def _leaf(self, obj: Any, path: Path) -> Any:
        if isinstance(obj, np.ndarray):
            try:
                t = type_of(obj)
            except TypeError as e:
                if not is_plain(obj) or obj.dtype.names is not None:
                    raise IradTypeError(f"{path}: {why_not(obj.dtype) if obj.dtype.names is not None else e}") from None
                self.guard(path, "is", obj)
                return obj
            return self._array(obj, path, t)
        if path in self.frozen:
            self.guard(path, "eq", obj)
            return obj
        weak = type(obj) in (int, float, complex)
        value = self._param(path, type_of(obj), weak)
        if type(obj) is int and INT32[0] <= obj <= INT32[1]:
            bound(value, *INT32)
        return Arr(value, weak)

    def _array(self, obj: Any, path: Path, t: Type, frozen: str = "") -> Array:
        value = self._param(path, t, False)
        array = Array(Cell(value, str(path), outside=True), strides=strides_of(obj), frozen=frozen)
        self._mirror(obj, array)
        self.note(array.cell, path)
        self.cells.append(array.cell)
        return array

    def _structured(self, obj: Any, path: Path) -> Structured:
        """A structured array: each of its fields is an array found by the field's name."""
        self.guard(path, "dtype", (type(obj), obj.dtype))
        out = self._fields(obj, path, RECORD if type(obj) in SCALARS else "")
        self._mirror(obj, out)
        if type(obj) not in SCALARS:
            self.records[out] = path
        return out

    def _fields(self, obj: Any, path: Path, frozen: str) -> Structured:
        _, layout, children = parts(obj)
        found: list[Any] = []
        for f, x in zip(layout.fields, children):
            at = path.child("bytes" if f.kind == "bytes" else "item", f.name)
            t = field_type(x)
            found.append(self._fields(x, at, frozen) if t is None else self._array(x, at, t, frozen))
        return Structured(Layout(layout.dtype, layout.cls), found)

    def _param(self, path: Path, t: Type, weak: bool) -> Value:
        if path not in self.params:
            self.params[path] = Capture(path, t, weak, Value(t, _hint(path)))
        return self.params[path].value

    def _mirror(self, obj: Any, stand_in: Any) -> None:
        self.mirrors[id(obj)] = stand_in
        self.paths.setdefault(id(obj), (obj, Path()))
        self.originals[id(stand_in)] = obj

    def _container(self, obj: Any, path: Path) -> Any:
        if isinstance(obj, dict):
            self.guard(path, "keys", (type(obj), tuple(obj)))
            out: Any = {}
            self._mirror(obj, out)
            out.update({k: self.take(v, path.child("item", k)) for k, v in obj.items()})
            return out
        self.guard(path, "len", (type(obj), len(obj)))
        items = lambda: [self.take(v, path.child("item", k)) for k, v in enumerate(obj)]
        if isinstance(obj, tuple):
            out = type(obj)(*items()) if hasattr(obj, "_fields") else tuple(items())
        else:
            out = []
            self._mirror(obj, out)
            out.extend(items())
        return out

    def _opaque(self, obj: Any, path: Path) -> None:
        self.note(obj, path)
        if isinstance(obj, types.FunctionType):
            self.guard(path, "code", obj.__code__)
        elif isinstance(obj, (types.ModuleType, type)):
            self.guard(path, "is", obj)
        elif isinstance(obj, types.MethodType):
            self.note(obj.__self__, path.child("self"))
            self.note(obj.__func__, path.child("func"))
            self.guard(path, "type", types.MethodType)
            if isinstance(obj.__func__, types.FunctionType):
                self.guard(path.child("func"), "code", obj.__func__.__code__)
        elif isinstance(obj, enum.Enum) or _whole(type(obj).__module__):
            self.guard(path, "is", obj)
        elif hasattr(obj, "__dict__") and type(obj).__flags__ & (1 << 9):  # an instance of a class written in Python
            self.guard(path, "type", type(obj))
        else:
            self.guard(path, "is", obj)


def _whole(module: str) -> bool:
    """Do objects of a module's classes count as a whole (a Fraction, a Path), rather than by the attributes that are read?"""
    return is_library(module) and module.split(".")[0] != "irad"


def _hint(path: Path) -> str:
    names = [str(k) for _, k in path.steps if isinstance(k, (str, int))]
    text = "_".join(names)
    return "".join(c if c.isalnum() or c == "_" else "_" for c in text) if text and not text[0].isdigit() else "captured"


def strides_of(a: np.ndarray) -> tuple[int, ...] | None:
    """Strides in elements; None where they are no multiples of the element size."""
    if any(s % a.itemsize for s in a.strides):
        return None
    return tuple(s // a.itemsize for s in a.strides)
