"""What a Python function may read and change when it is called: the objects that its code can reach, and what that code stores into.

Compiled code reads its captured state when it is called. A callback runs in the middle, so what it may change must not be read by the
program.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from irad.core.foreign import is_container, is_instance, is_library, is_value, own_attributes, own_dict

CHANGES = {
    "append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault", "popitem", "add", "discard",
    "appendleft", "popleft", "extendleft", "rotate", "difference_update", "intersection_update", "move_to_end", "subtract",
    "symmetric_difference_update", "__setitem__", "__delitem__", "__iadd__", "__imul__", "__ior__", "__iand__", "__ixor__", "__isub__",
}  # fmt: skip
_WRITERS = {
    "fill", "put", "partition", "itemset", "copyto", "place", "putmask", "put_along_axis", "fill_diagonal", "at", "shuffle",
    "resize",
}  # fmt: skip
_STORES = {
    "STORE_ATTR": "attr",
    "DELETE_ATTR": "attr",
    "STORE_GLOBAL": "global",
    "DELETE_GLOBAL": "global",
    "STORE_DEREF": "cell",
}


class Reach:
    """What a function can reach. `stores`: pairs like the steps of paths, ("attr", name), ("global", name), ("cell", name) or
    ("item", None), that its code assigns."""

    def __init__(self, fn: Any):
        self.arrays: list[np.ndarray] = []
        self.names: list[tuple[types.FunctionType, str, str]] = []  # functions, with names of arrays: ("global" or "cell", name)
        self.owners: dict[int, Any] = {}
        self.stores: set[tuple[str, str | None]] = set()
        self.writes = False  # into an array, perhaps
        self._names: set[str] = set()  # that the code mentions
        self._methods: list[tuple[str, Any]] = []  # of classes, not visited yet
        self._todo = [fn]
        self._own = _package(fn)
        while self._todo:
            self._visit(self._todo.pop())
            if not self._todo:
                self._todo = [f for name, f in self._methods if _asked(name, self._names)]
                self._methods = [(name, f) for name, f in self._methods if not _asked(name, self._names)]

    def _visit(self, x: Any) -> None:
        if id(x) in self.owners or is_value(x) or isinstance(x, types.BuiltinFunctionType):
            return
        self.owners[id(x)] = x
        if isinstance(x, np.ndarray):
            if x.flags.writeable:
                self.arrays.append(x)
        elif isinstance(x, types.FunctionType):
            if not self._skipped(x.__module__):
                self._function(x)
        elif isinstance(x, types.MethodType):
            self._todo += [x.__self__, x.__func__]
        elif isinstance(x, functools.partial):
            self._todo += [x.func, *x.args, *x.keywords.values()]
        elif isinstance(x, type):
            if not self._skipped(x.__module__):
                self._methods += [(name, getattr(v, "fget", None) or getattr(v, "__func__", v)) for name, v in vars(x).items()]
        elif is_container(x):
            self._todo += [*x, *x.values()] if isinstance(x, dict) else [*x]
            self._todo += own_dict(x).values()
        elif is_instance(x):
            self._todo += own_attributes(x).values()
            self._todo += type(x).__mro__

    def _function(self, fn: types.FunctionType) -> None:
        names, free = set[str](), set[str]()
        for code in codes(fn.__code__):
            names |= {*code.co_names}
            self.writes = self.writes or any(isinstance(c, tuple) and "out" in c for c in code.co_consts)
            for i in dis.get_instructions(code):
                kind = _STORES.get(i.opname)
                if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
                    free.add(i.argval)
                elif i.opname == "BINARY_OP" and "=" in i.argrepr:
                    self.writes = True
                elif kind is not None:
                    self.stores.add((kind, i.argval))
                elif i.opname in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"):
                    self.stores.add(("item", None))
        self._names |= names
        self.writes = self.writes or bool(names & _WRITERS)
        if names & CHANGES:
            self.stores.add(("item", None))
        known = [("global", n, fn.__globals__[n]) for n in free if n in fn.__globals__]
        known += [("cell", n, c.cell_contents) for n, c in zip(fn.__code__.co_freevars, fn.__closure__ or ()) if full(c)]
        self.names += [(fn, kind, n) for kind, n, x in known if isinstance(x, np.ndarray)]
        self._todo += [fn.__globals__[n] for n in free if n in fn.__globals__ and not self._skipped_module(fn.__globals__[n])]
        modules = [v for v in map(fn.__globals__.get, free) if isinstance(v, types.ModuleType) and not self._skipped(v.__name__)]
        self._todo += [vars(m)[n] for m in modules for n in names if n in vars(m)]
        self._todo += [c.cell_contents for c in fn.__closure__ or () if full(c)]
        self._todo += [*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()]

    def _skipped(self, module: str | None) -> bool:
        """Does a module belong to a library, which knows nothing of the user's state? The callback's own package does."""
        return _installed(module) and (is_library(module) or str(module).split(".")[0] != self._own)

    def _skipped_module(self, x: Any) -> bool:
        return isinstance(x, types.ModuleType) and self._skipped(x.__name__)

    @property
    def written(self) -> list[np.ndarray]:
        """Arrays that the function may store into."""
        return self.arrays if self.writes or ("item", None) in self.stores else []

    def may_change(self, owner: Any, kind: str, key: Any) -> bool:
        """May the function assign an attribute, item, global or cell `key` of an object?"""
        if kind in ("global", "cell"):
            return (kind, key) in self.stores
        if id(owner) not in self.owners:
            return False
        return ("attr", key) in self.stores if kind == "attr" else ("item", None) in self.stores


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Code, and that of the functions in it."""
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from codes(c)


def _package(fn: Any) -> str:
    """The package that a function, method or callable object belongs to."""
    while isinstance(fn, (types.MethodType, functools.partial)):
        fn = fn.__func__ if isinstance(fn, types.MethodType) else fn.func
    return str(getattr(fn, "__module__", None) or type(fn).__module__).split(".")[0]


def _installed(module: str | None) -> bool:
    """Is a module installed?"""
    file = getattr(sys.modules.get(str(module)), "__file__", None) or ""
    return is_library(module) or "site-packages" in file


def full(cell: types.CellType) -> bool:
    """Does a cell hold anything?"""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _asked(name: str, names: set[str]) -> bool:
    """May a method be called: by its name, or by an operator? What makes an object assigns that object's attributes only."""
    return name in names or (name.startswith("__") and name not in ("__init__", "__new__", "__post_init__"))
