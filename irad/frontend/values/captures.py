"""Captured state: what a function reads besides its arguments, by a path that is followed again at each call.

Everything that is found outside is one of three things (`Captures.take`): numbers and arrays, which become hidden parameters,
also those in containers and in attributes; what shapes the program (ints, flags, strings, functions, the length of a list, which
attributes there are), which is guarded; and objects that irad cannot look into, which a program may hold and compare, but not
hand to code that would read them once, at compile time (`Captures.hand`).
"""

from __future__ import annotations

import collections
import math
import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from irad.core.array_classes import is_of_class
from irad.core.foreign import (
    CODE,
    State,
    advice,
    as_array,
    base_items,
    base_method,
    fill,
    is_container,
    is_foreign_array,
    is_instance,
    is_sparse,
    is_value,
    own_names,
)
from irad.core.ir import Value
from irad.core.once import import_later
from irad.core.random_streams import is_stream
from irad.core.structured import SCALARS, Layout, Structured, field_type, is_structured, parts, why_not
from irad.core.tree import is_leaf
from irad.core.types import Type, is_plain, type_of
from irad.errors import IradTypeError, UnsupportedError
from irad.frontend.values.arr import Arr
from irad.frontend.values.guards import INT32, Capture, Fixed, Guard, Path, content, layout
from irad.frontend.values.objects import Array, Cell, describe
from irad.frontend.values.reach import Reach
from irad.ops.intervals import bound

_PLAIN = (str, bytes, bool, type(None), type(Ellipsis), int)
_PINNED = (type, types.ModuleType, types.BuiltinFunctionType, np.ufunc)  # guarded by identity wherever they are found
_COMPARED = 1 << 16  # elements of an array that each call compares with what was there
_SHAPING = "an array from outside is stored into, and its numbers decide a shape of the program: copy it, and store into the copy"
RECORD = "a record given as an argument, or captured, is stored into: pass the array and the index, p[i]['x'] = ..."


class Captures:
    """Hidden parameters and guards found while one function is read."""

    def __init__(self, live: frozenset[Path] = frozenset()):
        self.params: dict[Path, Capture] = {}
        self.guards: dict[tuple[Path, str, Any], Guard] = {}
        self.live = live  # captured ints that change from call to call: hidden parameters instead of guards
        self.frozen: set[Path] = set()  # captured numbers that must be known at compile time
        self.paths: dict[int, tuple[Any, Path]] = {}  # provenance; keeps the objects alive
        self.mirrors: dict[int, Any] = {}  # id of a captured container or array -> what stands for it here
        self.appending = False  # is the list that is taken next appended to, and nothing else?
        self.forgotten: set[Path] = set()  # of numbers and arrays that decide nothing, if nothing is computed of them
        self.read: set[int] = set()  # ids of lists that are not only appended to
        self.inputs: dict[int, tuple[Any, Path]] = {}  # containers and objects in the arguments by id, and where they are there
        self.leaves: dict[int, tuple[int, Any]] = {}  # id of what stands for an array among the arguments -> its number, itself
        self.identities: dict[tuple[Path | int, Path | int], bool] = {}  # pairs of arrays that were compared by identity
        self.callbacks: dict[str, Any] = {}  # Python functions that the program calls, by name
        self.builtins: dict[int, tuple[Path, dict[str, None]]] = {}  # by the id of globals: a function with them, names not there
        self.cells: list[Cell] = []  # of arrays that the caller knows
        self.originals: dict[int, Any] = {}  # id of such a stand-in -> the captured object
        self.kept: list[Any] = []  # stand-ins, so that their ids stay theirs
        self.array_classes: set[type] = set()  # subclasses of np.ndarray that were met
        self.records: dict[Structured, Path] = {}  # captured structured arrays by their stand-ins

    def path(self, obj: Any) -> Path | None:
        """Where an object was found, if it was captured."""
        found = self.paths.get(id(obj))
        return found[1] if found is not None and found[0] is obj else None

    def of_caller(self, x: Any) -> Path | None:
        """Where the caller's container or object is found that x stands for; None if it stands for none."""
        if id(x) in self.inputs:
            return self.inputs[id(x)][1]
        return self.path(self.originals[id(x)]) if id(x) in self.originals else None

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

    def identity(self, x: Any, y: Any) -> bool | None:
        """Are two things from outside one object? The program relies on it from now on. None if one of them is not from outside."""
        a, b = self._home(x), self._home(y)
        if a is None or b is None:
            if id(x) in self.inputs and id(y) in self.inputs and type(x) is type(y):
                raise UnsupportedError(f"'is' of two {type(x).__name__}s among the arguments; compare what they hold")
            return None
        (p, obj), (q, other) = a, b
        if isinstance(p, Path) and isinstance(q, Path):
            self.guard(p, "same" if obj is other else "other", q)
        else:
            self.identities[p, q] = obj is other
        return obj is other

    def check_callbacks(self, fn: Any, statics: Sequence[Any]) -> None:
        """Raises UnsupportedError where the program reads what a callback may change: it would see what was there at first."""
        for name, callback in self.callbacks.items():
            reach = Reach(callback)
            for k, x in self.leaves.values():
                for a in reach.written:
                    self._check_array(name, a, x, f"argument {k}")
                    self.identities[k, Path(Fixed(a))] = False
            captured = [(path, path.get(fn, statics)) for path in self.params]
            for path, x in captured:
                for a in reach.written:
                    self._check_array(name, a, x, str(path))
                if isinstance(x, np.ndarray) and reach.written:
                    found = [Path(Fixed(a)) for a in reach.written]
                    found += [Path(Fixed(owner), ((kind, variable),)) for owner, kind, variable in reach.names]
                    self.identities.update(((path, place), False) for place in found)
            for path in [*self.params, *(g.path for g in self.guards.values())]:
                self._check_path(name, reach, path, fn, statics)

    @staticmethod
    def _check_array(name: str, a: np.ndarray, x: Any, what: str) -> None:
        if isinstance(x, np.ndarray) and np.may_share_memory(a, x):
            raise UnsupportedError(
                f"{what} is read by compiled code and can be changed by the callback {name}, which it calls; pass it to the callback as "
                "an argument and return what is new, make it read-only (x.flags.writeable = False), or say pure=True if it changes nothing"
            )

    @staticmethod
    def _check_path(name: str, reach: Reach, path: Path, fn: Any, statics: Sequence[Any]) -> None:
        if path.steps and path.steps[-1][0] in ("attr", "item", "global", "cell"):
            kind, key = path.steps[-1]
            if reach.may_change(Path(path.root, path.steps[:-1]).get(fn, statics), kind, key):
                raise UnsupportedError(
                    f"{path} is read by compiled code and assigned by the callback {name}, which it calls; let the callback return it"
                )

    def _home(self, x: Any) -> tuple[Path | int, Any] | None:
        """Where a thing from outside is found, by a path or as a leaf of the arguments, and what it is there."""
        if isinstance(x, Array) and id(x) in self.leaves:
            return self.leaves[id(x)]
        obj = self.originals[id(x)] if id(x) in self.originals else x
        path = self.path(obj)
        return None if path is None else (path, obj)

    def hand(self, what: str, *objs: Any) -> None:
        """The program hands objects to code that is not read. Raises UnsupportedError for those whose content may change unseen."""
        for obj in objs:
            if type(obj) in (list, tuple, set, frozenset, collections.deque):
                self.hand(what, *obj)
            elif isinstance(obj, dict):
                self.hand(what, *obj, *obj.values())
            elif self.opaque(obj):
                raise UnsupportedError(
                    f"{describe(obj)} from outside is read by {what}, which compiled code cannot follow: it would be read once, "
                    f"at compile time; {advice(obj)}"
                )
        self.pin(*objs)

    def is_object(self, obj: Any) -> bool:
        """Is it an object from outside whose attributes are followed one by one?"""
        return is_instance(obj) and not isinstance(obj, type) and not is_container(obj) and self.path(obj) is not None

    def opaque(self, obj: Any) -> bool:
        """Was it found outside, and may it change without being another object?"""
        followed = id(obj) in self.originals or id(obj) in self.mirrors
        if followed or self.path(obj) is None or is_value(obj) or isinstance(obj, CODE):
            return False
        return type(obj).__module__.split(".")[0] != "irad" and not isinstance(obj, BaseException)

    def without(self, obj: Any, name: str) -> None:
        """The program relies on an object's not having an attribute."""
        found = self.path(obj)
        if found is not None:
            self.guard(found, "lacks", name)

    def rely_on_absence(self, fn: types.FunctionType, path: Path, name: str) -> None:
        """The program relies on a module's having no global of a name: that of a builtin, say."""
        self.builtins.setdefault(id(fn.__globals__), (path, {}))[1][name] = None

    def of_library(self, module: types.ModuleType, name: str) -> Any:
        """What a module of a library has under a name. The program relies on it: tests and users replace functions of libraries."""
        out = getattr(module, name)
        if vars(module).get(name) is out:
            place = Path(Fixed(module))
            self.guards.setdefault((place, "state", None), Guard(place, "state", State(module, {}))).expected.found[name] = out
        return out

    def all_guards(self) -> tuple[Guard, ...]:
        """What the program relies on outside."""
        return (*self.guards.values(), *(Guard(path, "no globals", tuple(names)) for path, names in self.builtins.values()))

    def note(self, obj: Any, path: Path) -> None:
        """An object is found by a path. If it was found by another one before, both must go on leading to one object."""
        first = self.paths.setdefault(id(obj), (obj, path))[1]
        if first != path and not isinstance(path.root, Fixed) and not is_value(obj) and not isinstance(obj, _PINNED):
            self.guard(path, "same", first)

    def guard(self, path: Path, kind: str, expected: Any) -> None:
        named = kind in ("lacks", "lacks own", "owns", "same", "other", "apart")  # there may be several of one kind
        self.guards.setdefault((path, kind, expected if named else None), Guard(path, kind, expected))

    def take(self, obj: Any, path: Path) -> Any:
        """What stands for a captured object in the program."""
        appending, self.appending = self.appending, False
        if type(obj) is list and not appending:
            self.read.add(id(obj))
        if id(obj) in self.mirrors and not isinstance(obj, (int, float, complex, np.generic)):
            self.note(obj, path)
            return self.mirrors[id(obj)]
        if type(obj) in _PLAIN and not self._live_int(obj, path):
            self.guard(path, "eq", obj)
            return obj
        if is_leaf(obj):
            return self._leaf(obj, path)
        if type(obj) is np.ndarray and obj.dtype.kind in "mMUS":
            return self._text(obj, path)
        if is_structured(obj):
            return self._structured(obj, path)
        if is_of_class(obj):
            return self._of_class(obj, path)
        if is_foreign_array(obj):
            self.guard(path, "type", type(obj))
            return self._foreign(obj, path)
        if is_container(obj):
            return self._container(obj, path)
        if type(obj) is types.MappingProxyType:
            self.guard(path, "type", type(obj))
            held = self._container(dict(obj), path.child("dict"))
            self._mirror(obj, held, path)
            return held
        if is_sparse(obj):
            out = import_later("irad.frontend.reading.sparse").stand_for(self, obj, path)
            self._mirror(obj, out, path)
            return out
        if is_stream(obj):
            self.guard(path, "type", type(obj))
            draws = import_later("irad.frontend.reading.random_draws")
            return draws.stand_for(obj, self._param(path.child("stream"), Type("i64"), False))
        self._opaque(obj, path)
        return obj

    def _foreign(self, obj: Any, path: Path) -> Any:
        """Another library's array, as NumPy's: one object gives one array."""
        array = self._leaf(as_array(obj), path.child("array"))
        self._mirror(obj, array, path)
        return array

    def _of_class(self, obj: np.ndarray, path: Path) -> Any:
        """An object of a subclass of np.ndarray: its numbers are read at each call."""
        array = obj.view(np.ndarray)
        found = self._array(array, path.child("base array"), type_of(array))
        out = import_later("irad.frontend.reading.array_classes").stand_for(self, obj, path, found)
        self._mirror(obj, out, path)
        self.kept.append(array)
        return out

    def _live_int(self, obj: Any, path: Path) -> bool:
        return type(obj) is int and path in self.live and path not in self.frozen

    def _leaf(self, obj: Any, path: Path) -> Any:
        if isinstance(obj, np.ndarray):
            try:
                t = type_of(obj)
            except TypeError as e:
                if not is_plain(obj) or obj.dtype.names is not None:
                    raise IradTypeError(f"{path}: {why_not(obj.dtype) if obj.dtype.names is not None else e}") from None
                return self._text(obj, path)
            return self._known_array(obj, path) if path in self.frozen else self._array(obj, path, t)
        if path in self.frozen or (type(obj) is float and obj in (math.inf, -math.inf)):  # no limit: a flag more than a number
            self.guard(path, "eq", obj)
            return obj
        weak = type(obj) in (int, float, complex)
        value = self._param(path, type_of(obj), weak)
        if type(obj) is int and INT32[0] <= obj <= INT32[1]:
            bound(value, *INT32)
        return Arr(value, weak)

    def _text(self, obj: np.ndarray, path: Path) -> np.ndarray:
        """An array of texts or times: a constant, compared at each call."""
        if obj.dtype.hasobject and not {type(e) for e in obj.ravel().tolist()} <= {str, bytes}:
            raise IradTypeError(f"{path}: an array of Python objects cannot be followed; pass an array of numbers, or a list")
        self.guard(path, "content", content(obj))
        self.note(obj, path)
        frozen = obj.copy()
        frozen.flags.writeable = False
        self.originals[id(frozen)] = obj
        self.mirrors[id(obj)] = frozen
        return frozen

    def _known_array(self, obj: np.ndarray, path: Path) -> Array:
        """An array of whole numbers that shape the program: it is known, and compared at each call."""
        self.guard(path, "content", content(obj))
        array = Array(Cell(np.array(obj), str(path)), frozen=_SHAPING).laid_out(strides_of(obj))
        self._mirror(obj, array, path)
        return array

    def _array(self, obj: Any, path: Path, t: Type, frozen: str = "") -> Array:
        value = self._param(path, t, False, layout(obj))
        array = Array(Cell(value, str(path), outside=True), frozen=frozen).laid_out(strides_of(obj))
        self._mirror(obj, array, path)
        self.note(array.cell, path)
        self.cells.append(array.cell)
        return array

    def _structured(self, obj: Any, path: Path) -> Structured:
        """A structured array: each of its fields is an array found by the field's name."""
        self.guard(path, "dtype", (type(obj), obj.dtype))
        out = self._fields(obj, path, RECORD if type(obj) in SCALARS else "")
        self._mirror(obj, out, path)
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

    def fixable(self, floats: bool = False) -> dict[Value, Path]:
        """What may be a constant where the program's structure needs it: numbers, and arrays of whole numbers that are compared
        quickly (labels, connectivity, boundary conditions, masks); with `floats` arrays of those too (distances that are delays)."""
        kinds = "iubf" if floats else "iub"
        small = lambda t: not t.shape or (t.dtype[0] in kinds and t.static and t.size <= _COMPARED)
        return {c.value: p for p, c in self.params.items() if small(c.type) and p.steps[-1:] != (("stream", None),)}

    def _param(self, path: Path, t: Type, weak: bool, steps: tuple[int, ...] | None = None) -> Value:
        if path not in self.params:
            self.params[path] = Capture(path, t, weak, Value(t, _hint(path)), steps)
        return self.params[path].value

    def _mirror(self, obj: Any, stand_in: Any, path: Path) -> None:
        self.mirrors[id(obj)] = stand_in
        self.note(obj, path)
        self.originals[id(stand_in)] = obj
        self.kept.append(stand_in)

    def forget(self, path: Path) -> None:
        """The program does not rely on what a list holds that is only appended to, but that it is one."""
        inside = lambda p: p.root == path.root and p.steps[: len(path.steps)] == path.steps
        for key in [k for k, g in self.guards.items() if inside(g.path) and g.kind not in ("same", "other", "apart")]:
            del self.guards[key]
        self.forgotten |= {p for p in self.params if inside(p)}
        self.guard(path, "type", list)

    def _container(self, obj: Any, path: Path) -> Any:
        """A container of the same class that holds what stands for its items."""
        cls: Any = type(obj)
        if isinstance(obj, (set, frozenset)):
            return self._set(obj, path)
        if isinstance(obj, dict):
            keys = tuple(base_method(obj, "keys")())
            self.guard(path, "keys", (cls, keys))
            for k, key in enumerate(keys):
                self._member(key, path.child("nth", k))
            out: Any = cls.__new__(cls)
            self._mirror(obj, out, path)
            fill(out, ((k, self.take(dict.__getitem__(obj, k), path.child("item", k))) for k in keys))
        elif isinstance(obj, (list, collections.deque, tuple)):
            self.guard(path, "len", (cls, base_method(obj, "__len__")()))
            if isinstance(obj, tuple):
                items = (self.take(v, path.child("item", k)) for k, v in enumerate(tuple.__iter__(obj)))
                return tuple(items) if cls is tuple else tuple.__new__(cls, items)
            out = collections.deque(maxlen=obj.maxlen) if isinstance(obj, collections.deque) else list.__new__(cls)
            self._mirror(obj, out, path)
            base_method(out, "extend")([self.take(v, path.child("item", k)) for k, v in enumerate(base_items(obj))])
        else:
            out = object.__new__(cls)
            self._mirror(obj, out, path)
            self.guard(path, "type", cls)
        if isinstance(obj, collections.deque):
            self.guard(path.child("attr", "maxlen"), "eq", obj.maxlen)
        self._own_attributes(obj, out, path)
        return out

    def _own_attributes(self, obj: Any, out: Any, path: Path) -> None:
        """What a container of a class of its own holds besides its items."""
        if isinstance(obj, collections.defaultdict):
            out.default_factory = self.take(obj.default_factory, path.child("attr", "default_factory"))
        if hasattr(obj, "__dict__"):
            self.guard(path, "attributes", own_names(obj))
            if vars(obj) is obj:  # self.__dict__ = self
                out.__dict__ = out
                return
            vars(out).update({k: self.take(v, path.child("attr", k)) for k, v in vars(obj).items()})

    def _set(self, obj: Any, path: Path) -> Any:
        """A set: its elements are constants, in the order in which it gives them."""
        self.guard(path, "elements", (type(obj), tuple(obj)))
        for k, x in enumerate(obj):
            self._member(x, path.child("nth", k))
        if not isinstance(obj, frozenset):
            self.note(obj, path)
            self.originals[id(obj)] = obj
        return obj

    def _member(self, x: Any, path: Path) -> None:
        """An element of a set or a key of a dict: objects among them are found by their place."""
        if not is_value(x) and not isinstance(x, (tuple, frozenset)):
            self.take(x, path)

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
        elif is_value(obj):
            self.guard(path, "eq", obj)
        elif is_instance(obj):
            self.guard(path, "type", type(obj))
        else:
            self.guard(path, "is", obj)


def _hint(path: Path) -> str:
    text = "_".join(str(k) for _, k in path.steps if isinstance(k, (str, int)))
    return "".join(c if c.isalnum() or c == "_" else "_" for c in text) if text and not text[0].isdigit() else "captured"


def strides_of(a: np.ndarray) -> tuple[int, ...] | None:
    """Strides in elements; None where they are no multiples of the element size."""
    return None if any(s % a.itemsize for s in a.strides) else tuple(s // a.itemsize for s in a.strides)
